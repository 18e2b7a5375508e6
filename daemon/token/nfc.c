/*
 * utf8proc composes the text in pieces, which keep it linear. Canonical ordering is an insertion sort over each run of
 * combining marks: a megabyte of them in falling order would take hours. So a piece ends where such a run has
 * NFC_RUN_MAX marks. Most texts are ASCII and are copied.
 */
#include "token/nfc.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/utf8.h"
#include <errno.h>
#include <utf8proc.h>

#define FORM_C (UTF8PROC_STABLE | UTF8PROC_COMPOSE)

static bool is_ascii(const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

static bool is_mark(uint32_t point)
{
    return utf8proc_get_property((utf8proc_int32_t)point)->combining_class != 0;
}

/* Returns the length of the next piece. */
static size_t piece_of(const uint8_t *text, size_t n)
{
    uint32_t n_marks = 0;
    size_t at = 0;

    while (at < n && n_marks < NFC_RUN_MAX && (at < NFC_PIECE || text[at] >= 0x80)) {
        uint32_t point = 0;
        size_t used;

        utf8_step(text + at, n - at, &used, &point);
        n_marks = is_mark(point) ? n_marks + 1 : 0;
        at += used;
    }
    return at;
}

static int append_piece(const uint8_t *text, size_t n, struct buf *out)
{
    cleanup(mem_freep) utf8proc_int32_t *points = NULL;
    const utf8proc_ssize_t n_points = utf8proc_decompose(text, (utf8proc_ssize_t)n, NULL, 0, FORM_C);
    utf8proc_ssize_t n_bytes;

    if (n_points < 0) {
        return err_new(-EINVAL);
    }
    /* The points are encoded in place, with a zero behind them: four bytes a point are enough. */
    points = mem_alloc(MEM_TEXT, ((size_t)n_points + 1) * sizeof(*points));
    if (!points) {
        return err_new(-ENOMEM);
    }
    utf8proc_decompose(text, (utf8proc_ssize_t)n, points, n_points, FORM_C);
    n_bytes = utf8proc_reencode(points, n_points, FORM_C);
    if (n_bytes < 0) {
        return err_new(-EINVAL);
    }
    return buf_append(out, points, (size_t)n_bytes);
}

int nfc_append(const uint8_t *text, size_t n, struct buf *out, size_t *ret_used)
{
    const size_t piece = piece_of(text, n);
    int r = is_ascii(text, piece) ? buf_append(out, text, piece) : append_piece(text, piece, out);

    if (!r) {
        *ret_used = piece;
    }
    return r;
}
