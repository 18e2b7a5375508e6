/*
 * Inspect: shows what is in a model file, and what sotto does with it
 *
 * A file is shown whether sotto runs it or not, with the reasons at the end. Only a file that is not GGUF, or is
 * broken, is an error.
 */
#include "tool/inspect.h"
#include "base/clean.h"
#include "base/err.h"
#include "tool/table.h"

static const struct arg_row rows[] = { TOOL_ROWS, { NULL } };

static int show(const struct tool_call *call, const char *path)
{
    struct diag diag = DIAG_INIT;
    struct model_file file = { .fd = -1 };
    struct survey survey;
    int r = model_file_open(&file, path, &diag);

    if (r) {
        return tool_fail(call, path, &diag, r);
    }
    r = survey_create(&survey, &file);
    if (r) {
        model_file_close(&file);
        return tool_fail(call, path, NULL, r);
    }
    if (call->json) {
        r = tool_print(call, inspect_json(&file, &survey));
    } else {
        inspect_text(&file, &survey, stdout);
        r = tool_flush(call);
    }
    survey_finish(&survey);
    model_file_close(&file);
    return r;
}

static int run(struct tool_call *call, struct args *args)
{
    const char *path = NULL;
    const struct tool_value values[] = { { TOOL_OPERAND, "FILE", &path } };
    int r = tool_read(call, args, values, COUNTOF(values));

    return r == TOOL_READ ? show(call, path) : r;
}

const struct tool tool_inspect = {
    .name = "inspect",
    .summary = "show what is in a model file and what sotto does with it",
    .operands = "FILE",
    .about = "Shows the keys and tensors of a GGUF file, sizes by format, the memory of a token of context in\n"
             "each format of keys and values, the vocabulary, whether sotto understands the chat template, and\n"
             "whether it runs the model, or why not. A tensor is \"used\" if the model's family reads it, else\n"
             "\"surplus\".",
    .rows = rows,
    .run = run,
};
