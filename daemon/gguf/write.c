/*
 * The head is collected in two buffers, keys and directory, since the counts stand in front of both. Data goes straight
 * to the file; the padding behind a tensor is written together with its last byte.
 */
#include "gguf/write.h"
#include "base/buf.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/map.h"
#include "base/num.h"
#include "gguf/parse.h"
#include "tensor/panel.h"
#include "tensor/shape.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define VERSION        3
#define ALIGN          32 /* of data: the default of files without the key general.alignment */
#define ALIGN_MAX      4096
#define ALIGN_KEY      "general.alignment"
#define HEAD_BYTES_MAX (1u << 30)
#define TENSORS_MAX    (1u << 20)

struct gguf_writer {
    struct buf keys;
    struct buf directory;
    struct map names; /* of keys and tensors, to find duplicates; the values are their owned copies */
    struct buf sizes; /* uint64_t: bytes of each tensor */
    uint64_t n_keys;
    uint64_t n_tensors;
    uint64_t data_bytes; /* offset of the next tensor */
    uint32_t align;      /* of the data */
    bool puts_align;     /* its key is being put */
    int fault;           /* the first one */
    struct diag wrong;   /* why a key or tensor breaks the format */

    int fd; /* of the unfinished file; -1: not begun */
    char path[PATH_MAX];
    char part[PATH_MAX]; /* its name until it is finished */
    bool has_part;       /* the file is named @part; else it has no name and disappears with the descriptor */
    bool force;
    uint64_t i_tensor; /* current tensor */
    uint64_t n_left;   /* bytes that it lacks */
};

int gguf_writer_create(struct gguf_writer **ret_writer)
{
    struct gguf_writer *writer = mem_calloc(MEM_FILE, 1, sizeof(*writer));

    if (!writer) {
        return err_new(-ENOMEM);
    }
    buf_init(&writer->keys, MEM_FILE, HEAD_BYTES_MAX);
    buf_init(&writer->directory, MEM_FILE, HEAD_BYTES_MAX);
    buf_init(&writer->sizes, MEM_FILE, TENSORS_MAX * sizeof(uint64_t));
    map_init(&writer->names, MEM_FILE);
    writer->fd = -1;
    writer->align = ALIGN;
    *ret_writer = writer;
    return 0;
}

static void drop_part(struct gguf_writer *writer)
{
    if (writer->fd >= 0) {
        close(writer->fd);
        if (writer->has_part) {
            unlink(writer->part);
        }
        writer->fd = -1;
    }
}

void gguf_writer_destroy(struct gguf_writer *writer)
{
    struct map_entry *entry;
    size_t at = 0;

    if (!writer) {
        return;
    }
    drop_part(writer);
    while ((entry = map_next(&writer->names, &at))) {
        mem_free(entry->value.pointer);
    }
    map_finish(&writer->names);
    buf_finish(&writer->keys);
    buf_finish(&writer->directory);
    buf_finish(&writer->sizes);
    mem_free(writer);
}

void gguf_writer_destroyp(struct gguf_writer **writer)
{
    gguf_writer_destroy(*writer);
    *writer = NULL;
}

/* ---- the head ---- */

static void keep_fault(struct gguf_writer *writer, int r)
{
    if (r && !writer->fault) {
        writer->fault = r == BUF_FULL ? err_new(-EFBIG) : err_up(r);
    }
}

static void put(struct gguf_writer *writer, struct buf *buf, const void *bytes, size_t n)
{
    keep_fault(writer, buf_append(buf, bytes, n));
}

static void put_u32(struct gguf_writer *writer, struct buf *buf, uint32_t value)
{
    const uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24) };

    put(writer, buf, bytes, sizeof(bytes));
}

static void put_u64(struct gguf_writer *writer, struct buf *buf, uint64_t value)
{
    put_u32(writer, buf, (uint32_t)value);
    put_u32(writer, buf, (uint32_t)(value >> 32));
}

static void put_string(struct gguf_writer *writer, struct buf *buf, const char *bytes, size_t n)
{
    put_u64(writer, buf, n);
    put(writer, buf, bytes, n);
}

/* Remembers @name. @mark tells keys from tensors, which may have equal names. */
static void take_name(struct gguf_writer *writer, char mark, struct gguf_text name)
{
    cleanup(mem_freep) char *copy = mem_alloc(MEM_FILE, name.n + 1);
    int r;

    if (!copy) {
        keep_fault(writer, err_new(-ENOMEM));
        return;
    }
    copy[0] = mark;
    memcpy(copy + 1, name.bytes, name.n);
    r = map_put_bytes(&writer->names, copy, name.n + 1, (union map_value){ .pointer = copy });
    if (r == MAP_EXISTS || name.n == 0) {
        diag_set(&writer->wrong, "the name \"%.*s\" is empty or a duplicate", (int)num_min(name.n, 64), name.bytes);
    }
    if (r == MAP_OK) {
        (void)steal(&copy);
    } else if (r < 0) {
        keep_fault(writer, r);
    }
}

static void put_name(struct gguf_writer *writer, struct gguf_text name, enum gguf_type type)
{
    if (name.n == strlen(ALIGN_KEY) && memcmp(name.bytes, ALIGN_KEY, name.n) == 0 && !writer->puts_align) {
        diag_set(&writer->wrong, "the key " ALIGN_KEY " is reserved: the writer puts it itself");
    }
    take_name(writer, 'k', name);
    put_string(writer, &writer->keys, name.bytes, name.n);
    put_u32(writer, &writer->keys, type);
    writer->n_keys++;
}

static struct gguf_text text_of(const char *name)
{
    return (struct gguf_text){ .bytes = name, .n = strlen(name) };
}

void gguf_put_u32(struct gguf_writer *writer, const char *name, uint32_t value)
{
    put_name(writer, text_of(name), GGUF_U32);
    put_u32(writer, &writer->keys, value);
}

void gguf_put_f32(struct gguf_writer *writer, const char *name, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_name(writer, text_of(name), GGUF_F32);
    put_u32(writer, &writer->keys, bits);
}

void gguf_put_bool(struct gguf_writer *writer, const char *name, bool value)
{
    put_name(writer, text_of(name), GGUF_BOOL);
    put(writer, &writer->keys, value ? "\1" : "\0", 1);
}

void gguf_put_text(struct gguf_writer *writer, const char *name, const char *bytes, size_t n)
{
    put_name(writer, text_of(name), GGUF_STRING);
    put_string(writer, &writer->keys, bytes, n);
}

static void put_array(struct gguf_writer *writer, struct gguf_text name, enum gguf_type elem, uint64_t n)
{
    put_name(writer, name, GGUF_ARRAY);
    put_u32(writer, &writer->keys, elem);
    put_u64(writer, &writer->keys, n);
}

void gguf_put_texts(struct gguf_writer *writer, const char *name, const struct gguf_text *texts, size_t n)
{
    put_array(writer, text_of(name), GGUF_STRING, n);
    for (size_t i = 0; i < n; i++) {
        put_string(writer, &writer->keys, texts[i].bytes, texts[i].n);
    }
}

/* Numbers are little endian in the file, as on all machines that sotto supports. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied without conversion");

void gguf_put_numbers(struct gguf_writer *writer, const char *name, enum gguf_type elem, const void *values, size_t n)
{
    assert(gguf_type_bytes(elem) > 0);
    put_array(writer, text_of(name), elem, n);
    put(writer, &writer->keys, values, n * gguf_type_bytes(elem));
}

void gguf_put_key(struct gguf_writer *writer, const struct gguf_key *key)
{
    if (key->type == GGUF_ARRAY) {
        put_array(writer, key->name, key->elem, key->n);
    } else {
        put_name(writer, key->name, key->type);
    }
    if (key->type == GGUF_STRING) {
        put_u64(writer, &writer->keys, key->n_value);
    }
    put(writer, &writer->keys, key->value, key->n_value);
}

void gguf_writer_align(struct gguf_writer *writer, uint32_t align)
{
    assert(align >= ALIGN && align <= ALIGN_MAX && (align & (align - 1)) == 0 && writer->n_tensors == 0);
    writer->align = align;
    writer->puts_align = true;
    gguf_put_u32(writer, ALIGN_KEY, align);
    writer->puts_align = false;
}

void gguf_put_tensor(struct gguf_writer *writer, struct gguf_text name, uint32_t type, uint32_t n_dims,
                     const uint64_t *dims)
{
    struct shape shape;
    uint64_t n_bytes;

    take_name(writer, 't', name);
    if (!shape_make(&shape, type & ~ELEM_PANELS, n_dims, dims) ||
        shape_bytes(&shape) > INT64_MAX - ALIGN_MAX - writer->data_bytes) {
        diag_set(&writer->wrong, "tensor %.*s: no such type, or rows that are not whole blocks of it",
                 (int)num_min(name.n, 64), name.bytes);
        return;
    }
    n_bytes = shape_bytes(&shape);
    put_string(writer, &writer->directory, name.bytes, name.n);
    put_u32(writer, &writer->directory, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) {
        put_u64(writer, &writer->directory, dims[i]);
    }
    put_u32(writer, &writer->directory, type);
    put_u64(writer, &writer->directory, writer->data_bytes);
    put(writer, &writer->sizes, &n_bytes, sizeof(n_bytes));
    writer->data_bytes += num_div_up(n_bytes, writer->align) * writer->align;
    writer->n_tensors++;
}

/* ---- the file ---- */

static void write_all(struct gguf_writer *writer, const void *bytes, size_t n)
{
    while (n > 0 && !writer->fault) {
        ssize_t wrote = write(writer->fd, bytes, n);

        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            writer->fault = err_new(-errno);
            return;
        }
        bytes = (const char *)bytes + wrote;
        n -= (size_t)wrote;
    }
}

static void pad(struct gguf_writer *writer, uint64_t n_written)
{
    static const uint8_t zeros[ALIGN_MAX];

    write_all(writer, zeros, (size_t)(num_div_up(n_written, writer->align) * writer->align - n_written));
}

static uint64_t size_at(const struct gguf_writer *writer, uint64_t i)
{
    uint64_t n;

    memcpy(&n, buf_data(&writer->sizes) + i * sizeof(n), sizeof(n));
    return n;
}

/* Goes on to the next tensor that needs data; one without elements needs none. */
static void seek_tensor(struct gguf_writer *writer)
{
    while (writer->n_left == 0 && writer->i_tensor < writer->n_tensors) {
        writer->n_left = size_at(writer, writer->i_tensor);
        writer->i_tensor += writer->n_left == 0;
    }
}

static void write_head(struct gguf_writer *writer)
{
    uint8_t begin[24] = "GGUF";

    for (int i = 0; i < 8; i++) {
        begin[4 + i % 4] = (uint8_t)(VERSION >> 8 * (i % 4));
        begin[8 + i] = (uint8_t)(writer->n_tensors >> 8 * i);
        begin[16 + i] = (uint8_t)(writer->n_keys >> 8 * i);
    }
    write_all(writer, begin, sizeof(begin));
    write_all(writer, buf_data(&writer->keys), writer->keys.n);
    write_all(writer, buf_data(&writer->directory), writer->directory.n);
    pad(writer, sizeof(begin) + writer->keys.n + writer->directory.n);
}

static int refuse(const char *path, int fault, struct diag *diag)
{
    diag_set(diag, "%s can't be written: %s", path, strerrordesc_np(fault));
    return GGUF_WRITE_REFUSED;
}

/*
 * Opens a file without a name in the folder of writer->path, of which an interrupted program leaves no trace; or, where
 * the file system or a missing /proc does not allow it, a file named writer->part. Returns 0 or an errno.
 */
static int open_part(struct gguf_writer *writer)
{
    char folder[PATH_MAX];
    char *slash;

    memcpy(folder, writer->path, sizeof(folder));
    slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = '\0';
    }
    if (access("/proc/self/fd", X_OK) == 0) {
        writer->fd = open(slash ? folder : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    }
    if (writer->fd < 0) {
        writer->fd = open(writer->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        writer->has_part = writer->fd >= 0;
    }
    return writer->fd < 0 ? errno : 0;
}

int gguf_writer_begin(struct gguf_writer *writer, const char *path, bool force, struct diag *diag)
{
    struct stat there;
    int fault;

    assert(writer->fd < 0);
    if (diag_is_set(&writer->wrong)) {
        diag_set(diag, "%s", writer->wrong.text);
        return GGUF_WRITE_REFUSED;
    }
    if (writer->fault) {
        return err_up(writer->fault);
    }
    /* Replacing renames over the old file, which would destroy a device or a pipe. */
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        diag_set(diag, "%s is not a regular file; it is not replaced", path);
        return GGUF_WRITE_REFUSED;
    }
    if (!force && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        diag_set(diag, "%s is there already", path);
        return GGUF_WRITE_REFUSED;
    }
    if (snprintf(writer->path, sizeof(writer->path), "%s", path) >= (int)sizeof(writer->path) ||
        snprintf(writer->part, sizeof(writer->part), "%s.%d.part", path, (int)getpid()) >= (int)sizeof(writer->part)) {
        return refuse(path, ENAMETOOLONG, diag);
    }
    writer->force = force;
    fault = open_part(writer);
    if (fault) {
        return refuse(path, fault, diag);
    }
    write_head(writer);
    seek_tensor(writer);
    return GGUF_WRITE_OK;
}

void gguf_write_data(struct gguf_writer *writer, const void *bytes, size_t n)
{
    assert(writer->fd >= 0 && n <= writer->n_left);
    write_all(writer, bytes, n);
    writer->n_left -= n;
    if (writer->n_left == 0 && writer->i_tensor < writer->n_tensors) {
        pad(writer, size_at(writer, writer->i_tensor));
        writer->i_tensor++;
        seek_tensor(writer);
    }
}

uint64_t gguf_writer_left(const struct gguf_writer *writer)
{
    return writer->n_left;
}

/* Gives the file without a name the name @name. Returns 0 or an errno. */
static int give_first_name(struct gguf_writer *writer, const char *name)
{
    char self[32];

    snprintf(self, sizeof(self), "/proc/self/fd/%d", writer->fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Names the finished file. Without @force a file that has appeared at the path stays, since link() never replaces. */
static int give_name(struct gguf_writer *writer)
{
    if (!writer->has_part && !writer->force) {
        return give_first_name(writer, writer->path);
    }
    if (!writer->has_part) { /* only a file with a name can replace another */
        int fault = give_first_name(writer, writer->part);

        if (fault) {
            return fault;
        }
        writer->has_part = true;
    }
    if (writer->force) {
        return rename(writer->part, writer->path) == 0 ? 0 : errno;
    }
    if (link(writer->part, writer->path) == 0) {
        unlink(writer->part);
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP) {
        return errno;
    }
    /* The file system has no links. */
    return renameat2(AT_FDCWD, writer->part, AT_FDCWD, writer->path, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

int gguf_writer_finish(struct gguf_writer *writer, struct diag *diag)
{
    int fault;

    assert(writer->fd >= 0);
    if (!writer->fault && writer->i_tensor < writer->n_tensors) {
        diag_set(diag, "%s: %llu of %llu tensors have their data", writer->path, (unsigned long long)writer->i_tensor,
                 (unsigned long long)writer->n_tensors);
        drop_part(writer);
        return GGUF_WRITE_REFUSED;
    }
    if (!writer->fault && fsync(writer->fd) != 0 && errno != EINVAL) {
        writer->fault = err_new(-errno);
    }
    fault = writer->fault ? -writer->fault : give_name(writer);
    if (fault) {
        drop_part(writer);
        return refuse(writer->path, fault, diag);
    }
    close(writer->fd);
    writer->fd = -1;
    return GGUF_WRITE_OK;
}
