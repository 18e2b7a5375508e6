/*
 * Tool: parts that all commands share: command line, sentences, JSON, numbers for people
 */
#include "tool/tool.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

const struct tool *tool_find(const char *name)
{
    for (const struct tool *const *tool = tools; *tool; tool++) {
        if (strcmp((*tool)->name, name) == 0) {
            return *tool;
        }
    }
    return NULL;
}

void tool_page(const struct tool *tool, FILE *out)
{
    fprintf(out, "usage: sotto %s [OPTION]...%s%s\n\n%s\n\n", tool->name, *tool->operands ? " " : "", tool->operands,
            tool->about);
    args_help(tool->rows, out);
}

int tool_usage(const struct tool_call *call, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "sotto %s: ", call->tool->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry \"sotto %s --help\".\n", call->tool->name);
    return TOOL_USAGE;
}

int tool_fail(const struct tool_call *call, const char *what, const struct diag *diag, int r)
{
    char trail[256];

    fprintf(stderr, "sotto %s: %s%s", call->tool->name, what ? what : "", what ? ": " : "");
    if (diag && diag_is_set(diag)) {
        fprintf(stderr, "%s\n", diag->text);
    } else if (r < 0) {
        fprintf(stderr, "%s (%s)\n", strerrordesc_np(-r), err_trail(trail, sizeof(trail)));
    } else {
        fprintf(stderr, "refused\n");
    }
    return TOOL_FAILED;
}

int tool_flush(const struct tool_call *call)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return TOOL_OK;
    }
    if (errno != EPIPE) {
        fprintf(stderr, "sotto %s: can't write to standard output: %s\n", call->tool->name, strerrordesc_np(errno));
    }
    return TOOL_FAILED;
}

int tool_print(const struct tool_call *call, json_t *object)
{
    const size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII;

    if (!object) {
        return tool_fail(call, NULL, NULL, err_new(-ENOMEM));
    }
    json_dumpf(object, stdout, flags);
    putchar('\n');
    json_decref(object);
    return tool_flush(call);
}

json_t *tool_text(const char *bytes, size_t n)
{
    json_t *string = json_stringn(bytes, n);
    uint8_t *mended;

    if (string) {
        return string;
    }
    mended = mem_alloc(MEM_MISC, 3 * n + 1);
    if (!mended) {
        return NULL;
    }
    n = utf8_mend((const uint8_t *)bytes, n, mended, 3 * n);
    string = json_stringn((const char *)mended, n);
    mem_free(mended);
    return string;
}

json_t *tool_number(uint64_t value)
{
    /* jansson has signed numbers; larger ones lose their last digits rather than their sign. */
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

void tool_put_text(FILE *out, const char *bytes, size_t n)
{
    while (n > 0) {
        uint8_t mended[3 * 64];
        size_t n_piece = n < 64 ? n : 64;

        /* A piece does not end within a character: its other bytes would be replaced, too. */
        while (n_piece < n && n_piece > 60 && ((uint8_t)bytes[n_piece] & 0xC0) == 0x80) {
            n_piece--;
        }
        fwrite(mended, 1, utf8_mend_line((const uint8_t *)bytes, n_piece, mended, sizeof(mended)), out);
        bytes += n_piece;
        n -= n_piece;
    }
}

const char *tool_bytes(uint64_t bytes, char *text)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    snprintf(text, TOOL_BYTES, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

void tool_progress(const char *what, uint64_t done, uint64_t all)
{
    if (!isatty(STDERR_FILENO)) {
        return;
    }
    if (done == all) {
        fputs("\r\033[K", stderr);
    } else {
        fprintf(stderr, "\r\033[K%s %llu of %llu", what, (unsigned long long)done, (unsigned long long)all);
    }
    fflush(stderr);
}

/* Returns whether an operand takes no more. */
static bool is_full(const struct tool_value *value)
{
    return value->operands ? value->operands->n == TOOL_OPERANDS : *value->text != NULL;
}

static bool is_missing(const struct tool_value *value)
{
    return value->operands ? value->is_required && value->operands->n == 0 : !*value->text;
}

/* Stores what was found; returns false if no value is for it. */
static bool store(const struct tool_value *values, size_t n, const struct arg_found *found)
{
    for (size_t i = 0; i < n; i++) {
        const struct tool_value *value = &values[i];

        if (value->row != found->row || (value->row == TOOL_OPERAND && is_full(value))) {
            continue;
        }
        if (value->operands) {
            value->operands->texts[value->operands->n++] = found->text;
        } else if (value->text) {
            *value->text = found->text;
        } else if (value->number) {
            *value->number = found->number;
        } else {
            *value->flag = true;
        }
        return true;
    }
    return false;
}

static int check_required(const struct tool_call *call, const struct tool_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_operand = values[i].row == TOOL_OPERAND;

        if ((is_operand || values[i].is_required) && is_missing(&values[i])) {
            return tool_usage(call, "%s%s is missing", is_operand ? "" : "--",
                              is_operand ? values[i].name : call->tool->rows[values[i].row].name);
        }
    }
    return TOOL_READ;
}

int tool_read(struct tool_call *call, struct args *args, const struct tool_value *values, size_t n)
{
    struct diag diag = DIAG_INIT;
    struct arg_found found;
    int r;

    while ((r = args_next(args, &found, &diag)) == ARGS_FOUND) {
        if (found.row == TOOL_HELP) {
            tool_page(call->tool, stdout);
            return tool_flush(call);
        }
        if (found.row == TOOL_JSON) {
            call->json = true;
        } else if (!store(values, n, &found)) {
            return tool_usage(call, "unexpected argument \"%s\"; put text with blanks in quotes", found.text);
        }
    }
    return r == ARGS_END ? check_required(call, values, n) : tool_usage(call, "%s", diag.text);
}
