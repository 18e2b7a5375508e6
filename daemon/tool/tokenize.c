/*
 * Tokenize: text to ids with the vocabulary of a file, without a daemon
 */
#include "base/clean.h"
#include "base/mem.h"
#include "token/token.h"
#include "tool/model_file.h"
#include "tool/table.h"
#include <string.h>

enum tokenize_row {
    TOKENIZE_FILE = TOOL_ROWS_COUNT,
    TOKENIZE_SPECIAL_TOO,
    TOKENIZE_HEX,
    TOKENIZE_PIECES,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [TOKENIZE_FILE] = { "file", 0, ARG_TEXT, "PATH", NULL, "the GGUF file with the vocabulary" },
    [TOKENIZE_SPECIAL_TOO] = { "special", 0, ARG_FLAG, NULL, NULL,
                               "recognise control tokens in TEXT, and put BOS before it" },
    [TOKENIZE_HEX] = { "hex", 0, ARG_FLAG, NULL, NULL, "TEXT is bytes in hexadecimal, such as 48c3bc" },
    [TOKENIZE_PIECES] = { "pieces", 0, ARG_FLAG, NULL, NULL, "also print the text of each token" },
    { NULL },
};

struct request {
    const char *path;
    const char *text;
    bool special;
    bool hex;
    bool pieces;
};

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 'a' - 'A' : c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Returns the bytes that @hex spells; NULL if it has an odd number of digits, or another character. */
static uint8_t *read_hex(const char *hex, size_t *ret_n)
{
    cleanup(mem_freep) uint8_t *bytes = mem_alloc(MEM_TEXT, strlen(hex) / 2 + 1);
    size_t n = 0;

    for (; bytes && *hex; hex += 2) {
        if (digit(hex[0]) < 0 || digit(hex[1]) < 0) {
            return NULL;
        }
        bytes[n++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
    }
    *ret_n = n;
    return steal(&bytes);
}

static json_t *json_of(const struct request *request, const struct vocab *vocab, const struct ids *ids)
{
    json_t *object = json_object();
    json_t *tokens = json_array();
    json_t *pieces = json_array();

    for (size_t i = 0; i < ids->n; i++) {
        struct gguf_text piece = vocab_text(vocab, ids->ids[i]);

        json_array_append_new(tokens, tool_number(ids->ids[i]));
        json_array_append_new(pieces, tool_text(piece.bytes, piece.n));
    }
    json_object_set_new(object, "tokens", tokens);
    if (request->pieces) {
        json_object_set(object, "pieces", pieces);
    }
    json_decref(pieces);
    return object;
}

static void print(const struct request *request, const struct vocab *vocab, const struct ids *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        if (request->pieces) {
            struct gguf_text piece = vocab_text(vocab, ids->ids[i]);

            printf("%u\t", ids->ids[i]);
            tool_put_text(stdout, piece.bytes, piece.n);
            putchar('\n');
        } else {
            printf("%s%u", i ? "," : "", ids->ids[i]);
        }
    }
    if (!request->pieces) {
        putchar('\n');
    }
}

static int tokenize(const struct tool_call *call, const struct request *request, const void *text, size_t n)
{
    const unsigned flags = request->special ? TOKENIZE_BOS | TOKENIZE_SPECIAL : 0;
    cleanup(vocab_destroyp) struct vocab *vocab = NULL;
    struct model_file file = { .fd = -1 };
    struct diag diag = DIAG_INIT;
    struct ids ids = { .n = 0 };
    int r = model_file_open(&file, request->path, &diag);

    if (!r) {
        r = vocab_create(&vocab, file.gguf, &diag);
    }
    model_file_close(&file);
    if (r) {
        return tool_fail(call, request->path, &diag, r);
    }
    r = vocab_tokenize(vocab, text, n, flags, &ids, &diag);
    if (r) {
        diag_set(&diag, "the text is too long");
        r = tool_fail(call, NULL, &diag, r);
    } else if (call->json) {
        r = tool_print(call, json_of(request, vocab, &ids));
    } else {
        print(request, vocab, &ids);
        r = tool_flush(call);
    }
    ids_finish(&ids);
    return r;
}

static int take(const struct tool_call *call, const struct request *request)
{
    cleanup(mem_freep) uint8_t *bytes = NULL;
    size_t n = strlen(request->text);

    if (!request->hex) {
        return tokenize(call, request, request->text, n);
    }
    bytes = read_hex(request->text, &n);
    if (!bytes) {
        return tool_usage(call, "--hex: TEXT must be whole bytes of two hexadecimal digits each");
    }
    return tokenize(call, request, bytes, n);
}

static int run(struct tool_call *call, struct args *args)
{
    struct request request = { .path = NULL };
    const struct tool_value values[] = {
        { TOKENIZE_FILE, .text = &request.path, .is_required = true },
        { TOKENIZE_SPECIAL_TOO, .flag = &request.special },
        { TOKENIZE_HEX, .flag = &request.hex },
        { TOKENIZE_PIECES, .flag = &request.pieces },
        { TOOL_OPERAND, "TEXT", &request.text },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    return r == TOOL_READ ? take(call, &request) : r;
}

const struct tool tool_tokenize = {
    .name = "tokenize",
    .summary = "show a text as token ids of a model file",
    .operands = "--file MODEL.gguf TEXT",
    .about = "Prints the token ids of TEXT, separated by commas. Text that spells a control token is ordinary\n"
             "text unless --special is given. Without --file the daemon does it.",
    .rows = rows,
    .run = run,
};
