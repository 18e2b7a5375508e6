/*
 * The directory of tensors, and the ranges of their data
 *
 * Every size is checked: rows must be whole blocks, products must not wrap, each range must lie in the file, begin on
 * the alignment and overlap no other. Gaps between tensors are allowed.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "gguf/parse.h"
#include "tensor/panel.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int refuse_tensor(struct parse *parse, const struct gguf_tensor *tensor, const char *why)
{
    char name[GGUF_TENSOR_NAME_MAX + 1];

    snprintf(name, sizeof(name), "%.*s", (int)num_min(tensor->name.n, GGUF_TENSOR_NAME_MAX), tensor->name.bytes);
    diag_blame(parse->diag, name, "tensor %s: %s", name, why);
    return GGUF_REFUSED;
}

/* Sets n_bytes from type and dims. */
static int size_tensor(struct parse *parse, struct gguf_tensor *tensor)
{
    const struct elem_info *info = elem_info(tensor->type);
    char why[128];
    uint64_t n_bytes;

    if (!info) {
        snprintf(why, sizeof(why), "its element type %" PRIu32 " is unknown or was withdrawn", tensor->type);
        return refuse_tensor(parse, tensor, why);
    }
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        if (tensor->dims[i] == 0) {
            return refuse_tensor(parse, tensor, "has a dimension of 0");
        }
    }
    if (tensor->in_panels && (info->n_block == 1 || tensor->n_dims != 2 || tensor->dims[1] % ELEM_PANEL_ROWS != 0)) {
        snprintf(why, sizeof(why), "is packed in panels of %d rows, for which its type or shape is wrong",
                 ELEM_PANEL_ROWS);
        return refuse_tensor(parse, tensor, why);
    }
    if (!elem_row_bytes(tensor->type, tensor->dims[0], &n_bytes)) {
        snprintf(why, sizeof(why), "its rows of %" PRIu64 " elements are not a whole number of %s blocks of %u",
                 tensor->dims[0], info->name, (unsigned)info->n_block);
        return refuse_tensor(parse, tensor, why);
    }
    for (uint32_t i = 1; i < tensor->n_dims; i++) {
        if (!num_mul(n_bytes, tensor->dims[i], &n_bytes)) {
            return refuse_tensor(parse, tensor, "its dimensions multiply to more than 2^64 bytes");
        }
    }
    tensor->n_bytes = n_bytes;
    return GGUF_OK;
}

/* Reads one row of the directory; its offset is still relative. */
static int parse_tensor(struct parse *parse, struct gguf_tensor *tensor)
{
    struct cursor *cursor = &parse->cursor;
    const size_t i_tensor = parse->gguf->n_tensors;
    char why[64];

    tensor->name = parse_text(parse);
    tensor->n_dims = cursor_u32(cursor);
    if (cursor->failed) {
        return parse_short(parse, "directory row of tensor", i_tensor);
    }
    if (tensor->name.n == 0 || tensor->name.n > GGUF_TENSOR_NAME_MAX) {
        diag_set(parse->diag, "tensor %zu: its name has %zu bytes; 1 to %u are allowed", i_tensor, tensor->name.n,
                 GGUF_TENSOR_NAME_MAX);
        return GGUF_REFUSED;
    }
    if (tensor->n_dims < 1 || tensor->n_dims > COUNTOF(tensor->dims)) {
        snprintf(why, sizeof(why), "has %" PRIu32 " dimensions; 1 to 4 are allowed", tensor->n_dims);
        return refuse_tensor(parse, tensor, why);
    }
    for (uint32_t i = 0; i < COUNTOF(tensor->dims); i++) {
        tensor->dims[i] = i < tensor->n_dims ? cursor_u64(cursor) : 1;
    }
    tensor->type = cursor_u32(cursor);
    tensor->in_panels = tensor->type & ELEM_PANELS;
    tensor->type &= ~ELEM_PANELS;
    tensor->offset = cursor_u64(cursor);
    if (cursor->failed) {
        return parse_short(parse, "directory row of tensor", i_tensor);
    }
    return size_tensor(parse, tensor);
}

static int reserve_tensor(struct gguf *gguf, size_t *cap)
{
    struct gguf_tensor *tensors;

    if (gguf->n_tensors < *cap) {
        return 0;
    }
    tensors = mem_realloc(MEM_FILE, gguf->tensors, (*cap ? 2 * *cap : 64) * sizeof(*tensors));
    if (!tensors) {
        return err_new(-ENOMEM);
    }
    gguf->tensors = tensors;
    *cap = *cap ? 2 * *cap : 64;
    return 0;
}

static int parse_directory(struct parse *parse)
{
    struct gguf *gguf = parse->gguf;
    size_t cap = 0;
    int r;

    while (gguf->n_tensors < parse->n_tensors) {
        struct gguf_tensor *tensor;

        r = reserve_tensor(gguf, &cap);
        if (r) {
            return err_up(r);
        }
        tensor = &gguf->tensors[gguf->n_tensors];
        r = parse_tensor(parse, tensor);
        if (r) {
            return r;
        }
        r = map_put_bytes(&gguf->tensor_names, tensor->name.bytes, tensor->name.n,
                          (union map_value){ .number = gguf->n_tensors });
        if (r == MAP_EXISTS) {
            return refuse_tensor(parse, tensor, "is a duplicate");
        }
        if (r) {
            return err_up(r);
        }
        gguf->n_tensors++;
    }
    return GGUF_OK;
}

/* Makes the offset absolute and checks that the data lies in the file, on the alignment. */
static int place_tensor(struct parse *parse, struct gguf_tensor *tensor)
{
    const struct gguf *gguf = parse->gguf;
    char why[160];
    uint64_t end;

    if (tensor->offset % gguf->alignment != 0) {
        snprintf(why, sizeof(why), "its offset %" PRIu64 " is not a multiple of the alignment %" PRIu64, tensor->offset,
                 gguf->alignment);
        return refuse_tensor(parse, tensor, why);
    }
    if (!num_add(gguf->data_at, tensor->offset, &tensor->offset) || !num_add(tensor->offset, tensor->n_bytes, &end)) {
        return refuse_tensor(parse, tensor, "its offset and size add up to more than 2^64");
    }
    if (end > gguf->file_bytes) {
        snprintf(why, sizeof(why), "ends %" PRIu64 " bytes past the file; it is cut or damaged, fetch it again",
                 end - gguf->file_bytes);
        return refuse_tensor(parse, tensor, why);
    }
    return GGUF_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct gguf_tensor *left = *(const struct gguf_tensor *const *)a;
    const struct gguf_tensor *right = *(const struct gguf_tensor *const *)b;

    return (left->offset > right->offset) - (left->offset < right->offset);
}

static int check_overlap(struct parse *parse)
{
    const struct gguf *gguf = parse->gguf;
    cleanup(mem_freep) const struct gguf_tensor **order = NULL;
    char why[128];

    if (gguf->n_tensors < 2) {
        return GGUF_OK;
    }
    order = mem_calloc(MEM_FILE, gguf->n_tensors, sizeof(struct gguf_tensor *));
    if (!order) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        order[i] = &gguf->tensors[i];
    }
    qsort(order, gguf->n_tensors, sizeof(struct gguf_tensor *), by_offset);
    for (size_t i = 1; i < gguf->n_tensors; i++) {
        if (order[i - 1]->offset + order[i - 1]->n_bytes > order[i]->offset) {
            snprintf(why, sizeof(why), "shares bytes with tensor %.*s", (int)order[i - 1]->name.n,
                     order[i - 1]->name.bytes);
            return refuse_tensor(parse, order[i], why);
        }
    }
    return GGUF_OK;
}

int parse_tensors(struct parse *parse)
{
    struct gguf *gguf = parse->gguf;
    int r;

    r = parse_directory(parse);
    if (r) {
        return r;
    }

    /* Without tensors there is no padding: a file with a vocabulary only may end here. */
    gguf->data_at = parse->cursor.at;
    if (gguf->n_tensors > 0) {
        gguf->data_at = num_div_up(gguf->data_at, gguf->alignment) * gguf->alignment;
    }
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        r = place_tensor(parse, &gguf->tensors[i]);
        if (r) {
            return r;
        }
    }
    return check_overlap(parse);
}
