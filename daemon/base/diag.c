/*
 * Diag: whatever an untrusted name contains, the sentence stays one clean line
 */
#include "base/diag.h"
#include "base/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copies @raw as one clean line of at most @cap bytes with its zero. */
static void set_text(char *text, size_t cap, const char *raw)
{
    size_t n = utf8_mend_line((const uint8_t *)raw, strlen(raw), (uint8_t *)text, cap - 1);

    text[n] = '\0';
}

__attribute__((format(printf, 2, 0))) static void set_sentence(struct diag *diag, const char *format, va_list args)
{
    /* A few bytes more than fit, so that a character that vsnprintf() cuts is behind the cut at a whole one. */
    char raw[DIAG_BYTES + 8];

    vsnprintf(raw, sizeof(raw), format, args);
    set_text(diag->text, sizeof(diag->text), raw);
}

void diag_set(struct diag *diag, const char *format, ...)
{
    va_list args;

    if (!diag || diag_is_set(diag)) {
        return;
    }
    va_start(args, format);
    set_sentence(diag, format, args);
    va_end(args);
}

void diag_blame(struct diag *diag, const char *field, const char *format, ...)
{
    va_list args;

    if (!diag || diag_is_set(diag)) {
        return;
    }
    va_start(args, format);
    set_sentence(diag, format, args);
    va_end(args);
    set_text(diag->field, sizeof(diag->field), field);
}

void diag_prefix(struct diag *diag, const char *before)
{
    char raw[2 * DIAG_BYTES + 4];

    if (!diag || !diag_is_set(diag)) {
        return;
    }
    snprintf(raw, sizeof(raw), "%.*s: %s", DIAG_BYTES, before, diag->text);
    set_text(diag->text, sizeof(diag->text), raw);
}

bool diag_is_set(const struct diag *diag)
{
    return diag && diag->text[0] != '\0';
}

void diag_clear(struct diag *diag)
{
    if (diag) {
        diag->text[0] = '\0';
        diag->field[0] = '\0';
    }
}
