/*
 * The head is read whole, as JSON, up to HEAD_BYTES_MAX. Names may have any characters except a zero.
 */
#include "import/st.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/num.h"
#include "import/json.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The ceiling of the format. */
#define HEAD_BYTES_MAX (100u * 1000u * 1000u)
#define N_TENSORS_MAX  (1u << 20)
#define N_LENGTH       8u /* bytes of the length in front */

struct st {
    char *path;
    int fd;
    uint64_t file_bytes;
    uint64_t data_at; /* where the head ends */
    json_t *head;     /* the names lie in it */
    struct st_tensor *tensors;
    size_t n_tensors;
    struct map by_name;
};

static const struct dtype_row {
    const char *name;
    enum st_type type;
    uint32_t n_bytes;
} dtypes[] = {
    { "F32", ST_F32, 4 },       { "F16", ST_F16, 2 },       { "BF16", ST_BF16, 2 },  { "I32", ST_I32, 4 },
    { "F64", ST_OTHER, 8 },     { "I64", ST_OTHER, 8 },     { "I16", ST_OTHER, 2 },  { "I8", ST_OTHER, 1 },
    { "U64", ST_OTHER, 8 },     { "U32", ST_OTHER, 4 },     { "U16", ST_OTHER, 2 },  { "U8", ST_OTHER, 1 },
    { "F8_E4M3", ST_OTHER, 1 }, { "F8_E5M2", ST_OTHER, 1 }, { "BOOL", ST_OTHER, 1 },
};

static const struct dtype_row *find_dtype(const char *name)
{
    for (size_t i = 0; i < COUNTOF(dtypes); i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            return &dtypes[i];
        }
    }
    return NULL;
}

void st_close(struct st *st)
{
    if (!st) {
        return;
    }
    map_finish(&st->by_name);
    mem_free(st->tensors);
    json_decref(st->head);
    fd_closep(&st->fd);
    mem_free(st->path);
    mem_free(st);
}

void st_closep(struct st **st)
{
    st_close(*st);
    *st = NULL;
}

const char *st_path(const struct st *st)
{
    return st->path;
}

size_t st_n_tensors(const struct st *st)
{
    return st->n_tensors;
}

const struct st_tensor *st_tensor_at(const struct st *st, size_t i)
{
    return &st->tensors[i];
}

const struct st_tensor *st_find(const struct st *st, const char *name)
{
    const union map_value *value = map_find_bytes(&st->by_name, name, strlen(name));

    return value ? &st->tensors[value->number] : NULL;
}

uint32_t st_elem_bytes(const struct st_tensor *tensor)
{
    return find_dtype(tensor->dtype)->n_bytes;
}

int st_read(const struct st_tensor *tensor, uint64_t at, void *bytes, size_t n, struct diag *diag)
{
    size_t n_got;
    int r;

    r = file_pread(tensor->file->fd, bytes, n, tensor->at + at, &n_got);
    if (r) {
        return err_up(r);
    }
    if (n_got < n) {
        diag_set(diag, "%s: ends within tensor %s: the file was cut while it was read", tensor->file->path,
                 tensor->name);
        return ST_REFUSED;
    }
    return ST_OK;
}

/* ---- one entry of the head ---- */

static int refuse(const struct st *st, const char *name, const char *why, struct diag *diag)
{
    diag_set(diag, "%s: tensor %.80s: %s", st->path, name, why);
    return ST_REFUSED;
}

static int read_shape(const struct st *st, struct st_tensor *tensor, const json_t *shape, uint64_t *ret_n,
                      struct diag *diag)
{
    uint64_t n = 1;

    if (!json_is_array(shape) || json_array_size(shape) > ST_DIMS_MAX) {
        return refuse(st, tensor->name, "its shape must be a list of at most 4 sizes", diag);
    }
    tensor->n_dims = (uint32_t)json_array_size(shape);
    for (size_t i = 0; i < ST_DIMS_MAX; i++) {
        uint64_t dim = 1;

        if (i < tensor->n_dims && !json_count(json_array_get(shape, i), &dim)) {
            return refuse(st, tensor->name, "a size in its shape is not a whole number of 0 or more", diag);
        }
        tensor->dims[i] = dim;
        if (!num_mul(n, dim, &n)) {
            return refuse(st, tensor->name, "its shape has too many elements", diag);
        }
    }
    *ret_n = n;
    return ST_OK;
}

static int read_entry(const struct st *st, struct st_tensor *tensor, const json_t *entry, struct diag *diag)
{
    const char *name = json_string_value(json_object_get(entry, "dtype"));
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const struct dtype_row *dtype;
    uint64_t first;
    uint64_t last;
    uint64_t n;

    if (!name) {
        return refuse(st, tensor->name, "has no dtype", diag);
    }
    dtype = find_dtype(name);
    if (!dtype) {
        diag_set(diag, "%s: tensor %.80s: the dtype %.20s is not known", st->path, tensor->name, name);
        return ST_REFUSED;
    }
    tensor->dtype = dtype->name;
    tensor->type = dtype->type;
    if (read_shape(st, tensor, json_object_get(entry, "shape"), &n, diag)) {
        return ST_REFUSED;
    }
    if (json_array_size(offsets) != 2 || !json_count(json_array_get(offsets, 0), &first) ||
        !json_count(json_array_get(offsets, 1), &last) || first > last) {
        return refuse(st, tensor->name, "its data_offsets must be two rising numbers", diag);
    }
    if (last > st->file_bytes - st->data_at) {
        diag_set(diag, "%s: tensor %.80s: ends %" PRIu64 " bytes past the file", st->path, tensor->name,
                 last - (st->file_bytes - st->data_at));
        return ST_REFUSED;
    }
    if (!num_mul(n, dtype->n_bytes, &n) || n != last - first) {
        return refuse(st, tensor->name, "its shape and dtype do not fill the bytes between its data_offsets", diag);
    }
    tensor->at = st->data_at + first;
    tensor->n_bytes = n;
    return ST_OK;
}

/* ---- all of them ---- */

static int by_place(const void *left, const void *right)
{
    const struct st_tensor *a = left;
    const struct st_tensor *b = right;

    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return a->n_bytes < b->n_bytes ? -1 : a->n_bytes > b->n_bytes;
}

static int check_cover(const struct st *st, struct diag *diag)
{
    uint64_t at = st->data_at;

    for (size_t i = 0; i < st->n_tensors; i++) {
        if (st->tensors[i].at != at) {
            return refuse(st, st->tensors[i].name,
                          st->tensors[i].at < at ? "its data overlaps that of another tensor"
                                                 : "there are bytes in front of its data that belong to none",
                          diag);
        }
        at += st->tensors[i].n_bytes;
    }
    if (at != st->file_bytes) {
        diag_set(diag, "%s: has %" PRIu64 " bytes behind the last tensor", st->path, st->file_bytes - at);
        return ST_REFUSED;
    }
    return ST_OK;
}

static int index_names(struct st *st)
{
    int r = map_reserve(&st->by_name, st->n_tensors);

    for (size_t i = 0; !r && i < st->n_tensors; i++) {
        const char *name = st->tensors[i].name;

        r = map_put_bytes(&st->by_name, name, strlen(name), (union map_value){ .number = i });
    }
    return r ? err_up(r) : 0;
}

static int read_entries(struct st *st, struct diag *diag)
{
    const size_t n = json_object_size(st->head);
    const char *name;
    json_t *entry;

    if (n > N_TENSORS_MAX) {
        diag_set(diag, "%s: lists %zu tensors; %u are possible", st->path, n, N_TENSORS_MAX);
        return ST_REFUSED;
    }
    st->tensors = mem_calloc(MEM_FILE, n, sizeof(*st->tensors));
    if (!st->tensors) {
        return err_new(-ENOMEM);
    }
    json_object_foreach(st->head, name, entry)
    {
        struct st_tensor *tensor = &st->tensors[st->n_tensors];

        if (strcmp(name, "__metadata__") == 0) {
            continue;
        }
        tensor->name = name;
        tensor->file = st;
        if (read_entry(st, tensor, entry, diag)) {
            return ST_REFUSED;
        }
        st->n_tensors++;
    }
    qsort(st->tensors, st->n_tensors, sizeof(*st->tensors), by_place);
    if (check_cover(st, diag)) {
        return ST_REFUSED;
    }
    return index_names(st);
}

static int open_file(struct st *st, struct diag *diag)
{
    struct stat status;

    /* Links are followed, since downloaders keep their files behind links. Pipes and devices are refused below. */
    st->fd = open(st->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (st->fd < 0 || fstat(st->fd, &status) != 0) {
        diag_set(diag, "%s: can't be opened: %s", st->path, strerrordesc_np(errno));
        return ST_REFUSED;
    }
    if (!S_ISREG(status.st_mode)) {
        diag_set(diag, "%s: is not a regular file", st->path);
        return ST_REFUSED;
    }
    st->file_bytes = (uint64_t)status.st_size;
    return ST_OK;
}

static int read_head(struct st *st, struct diag *diag)
{
    cleanup(mem_freep) char *text = NULL;
    uint8_t length[N_LENGTH];
    uint64_t n = 0;
    size_t n_got;
    int r;

    r = file_pread(st->fd, length, sizeof(length), 0, &n_got);
    if (r) {
        return err_up(r);
    }
    for (unsigned i = 0; i < N_LENGTH; i++) {
        n |= (uint64_t)length[i] << (8 * i);
    }
    if (n_got < N_LENGTH || n > st->file_bytes - N_LENGTH) {
        diag_set(diag, "%s: is not a safetensors file, or was cut: its head does not fit into its %" PRIu64 " bytes",
                 st->path, st->file_bytes);
        return ST_REFUSED;
    }
    if (n > HEAD_BYTES_MAX) {
        diag_set(diag, "%s: its head claims %" PRIu64 " bytes; the format allows %u", st->path, n, HEAD_BYTES_MAX);
        return ST_REFUSED;
    }
    text = mem_alloc(MEM_FILE, (size_t)n);
    if (!text) {
        return err_new(-ENOMEM);
    }
    r = file_pread(st->fd, text, (size_t)n, N_LENGTH, &n_got);
    if (r) {
        return err_up(r);
    }
    st->data_at = N_LENGTH + n;
    st->head = json_parse(text, n_got, st->path, diag);
    return st->head ? ST_OK : ST_REFUSED;
}

int st_open(struct st **ret_st, const char *path, struct diag *diag)
{
    cleanup(st_closep) struct st *st = mem_calloc(MEM_FILE, 1, sizeof(*st));
    int r;

    if (!st) {
        return err_new(-ENOMEM);
    }
    st->fd = -1;
    map_init(&st->by_name, MEM_FILE);
    st->path = mem_strndup(MEM_FILE, path, strlen(path));
    if (!st->path) {
        return err_new(-ENOMEM);
    }
    r = open_file(st, diag);
    r = r ? r : read_head(st, diag);
    r = r ? r : read_entries(st, diag);
    if (r) {
        return r < 0 ? err_up(r) : ST_REFUSED;
    }
    *ret_st = steal(&st);
    return ST_OK;
}
