/*
 * Render: applies a chat template to a conversation, without a daemon
 *
 * The template is a file of its own or that of a model. The conversation is one JSON object with the variables of
 * the template. The output is what the model would read.
 */
#include "base/buf.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/file.h"
#include "text/chat.h"
#include "token/token.h"
#include "tool/model_file.h"
#include "tool/table.h"
#include <string.h>
#include <time.h>

/* More than the interpreter accepts of either, so that it refuses itself. */
#define INPUT_MAX (16u << 20)

#define OUTPUT_MAX (32u << 20)

enum render_row {
    RENDER_TEMPLATE = TOOL_ROWS_COUNT,
    RENDER_INPUT,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [RENDER_TEMPLATE] = { "template", 0, ARG_TEXT, "PATH", NULL, "a template, or a GGUF file with one" },
    [RENDER_INPUT] = { "input", 0, ARG_TEXT, "PATH", NULL, "a JSON object with messages, tools and so on" },
    { NULL },
};

/* The origin of the template; it lives until the text is written. */
struct source {
    struct vocab *vocab;
    char *text;
    struct chat *chat;
};

static void source_finish(struct source *source)
{
    chat_destroy(source->chat);
    vocab_destroy(source->vocab);
    mem_free(source->text);
}

/* Returns whether a file begins like a GGUF file. */
static bool is_model(const char *text, size_t n)
{
    return n >= 4 && memcmp(text, "GGUF", 4) == 0;
}

static int open_model(struct source *source, struct model_file *file, struct diag *diag)
{
    int r = vocab_create(&source->vocab, file->gguf, diag);

    model_file_close(file);
    return r ? r : chat_create(&source->chat, source->vocab, diag);
}

/* Opens a model if @path is one, else a template. Returns 0, or what tool_fail() takes; @diag is about *ret_about. */
static int open_source(struct source *source, const char *path, const char **ret_about, struct diag *diag)
{
    struct model_file file = { .fd = -1 };
    struct diag of_model = DIAG_INIT;
    size_t n;
    int r = model_file_open(&file, path, &of_model);

    *ret_about = path;
    if (r <= 0) {
        return r ? r : open_model(source, &file, diag);
    }
    r = file_read(path, MEM_TEXT, INPUT_MAX, &source->text, &n, diag);
    if (r) {
        *ret_about = NULL; /* the sentence begins with the path */
        return r;
    }
    if (is_model(source->text, n)) { /* a model with something wrong */
        *diag = of_model;
        return MODEL_FILE_REFUSED;
    }
    return chat_create_alone(&source->chat, (struct gguf_text){ .bytes = source->text, .n = n }, diag);
}

/* The interpreter's sentences about variables that are not JSON begin with this (jinja_json.h): the input is at
 * fault. */
#define BAD_INPUT "JSON: "

/* Reports a refusal; with --json it is a result, too. */
static int report_refusal(const struct tool_call *call, const char *path, const struct diag *diag, int r)
{
    json_t *object;

    if (!call->json || r < 0) {
        return tool_fail(call, path, diag, r);
    }
    object = json_object();
    json_object_set_new(object, "error", tool_text(diag->text, strlen(diag->text)));
    tool_print(call, object);
    return TOOL_FAILED;
}

static int render(const struct tool_call *call, const char *template_path, const char *input_path)
{
    cleanup(source_finish) struct source source = { .chat = NULL };
    cleanup(mem_freep) char *input = NULL;
    cleanup(buf_finish) struct buf out;
    struct diag diag = DIAG_INIT;
    const char *about = NULL;
    const time_t now = (time_t)(clock_real_us() / 1000000u);
    struct tm local;
    size_t n = 0;
    int r;

    localtime_r(&now, &local);
    buf_init(&out, MEM_TEXT, OUTPUT_MAX);
    r = file_read(input_path, MEM_TEXT, INPUT_MAX, &input, &n, &diag);
    if (r) {
        return tool_fail(call, NULL, &diag, r); /* the sentence begins with the path */
    }
    r = open_source(&source, template_path, &about, &diag);
    if (r) {
        return report_refusal(call, about, &diag, r);
    }
    r = chat_render_json(source.chat, (struct gguf_text){ .bytes = input, .n = n }, &local, &out, &diag);
    if (r) {
        bool is_input = strncmp(diag.text, BAD_INPUT, sizeof(BAD_INPUT) - 1) == 0;

        diag_set(&diag, "the text is too long");
        return report_refusal(call, is_input ? input_path : template_path, &diag, r);
    }
    if (call->json) {
        json_t *object = json_object();

        json_object_set_new(object, "text", tool_text((const char *)buf_data(&out), out.n));
        return tool_print(call, object);
    }
    fwrite(buf_data(&out), 1, out.n, stdout);
    return tool_flush(call);
}

static int run(struct tool_call *call, struct args *args)
{
    const char *template_path = NULL;
    const char *input_path = NULL;
    const struct tool_value values[] = {
        { RENDER_TEMPLATE, .text = &template_path, .is_required = true },
        { RENDER_INPUT, .text = &input_path, .is_required = true },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    return r == TOOL_READ ? render(call, template_path, input_path) : r;
}

const struct tool tool_render = {
    .name = "render",
    .summary = "apply a chat template to a conversation",
    .operands = "--template FILE.jinja|MODEL.gguf --input CONVERSATION.json",
    .about = "Prints the text that the model would read. The conversation is a JSON object: its members (messages,\n"
             "tools, add_generation_prompt, bos_token and any others) are the variables of the template, and so\n"
             "are those of its member \"extra\". If the template refuses it, its own message is printed.",
    .rows = rows,
    .run = run,
};
