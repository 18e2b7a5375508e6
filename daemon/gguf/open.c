/*
 * The fixed header, and heads read piece by piece
 *
 * The order is that of the file: magic, version, two counts, keys, directory. Both counts are compared with the size of
 * the file before they are used: a key takes at least 14 bytes, a tensor at least 33.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include "base/num.h"
#include "gguf/parse.h"
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#define HEADER_BYTES     24u /* magic, version, number of tensors, number of keys */
#define KEY_BYTES_MIN    14u /* length, one byte of name, type, one byte of value */
#define TENSOR_BYTES_MIN 33u /* length, one byte of name, dimensions, one of them, type, offset */

/* The first block read of a head. Most of a head is the vocabulary: 0.7 MB for 32,000 tokens, 8 MB for 128,000. */
#define HEAD_BLOCK_BYTES (1u << 20)

static int check_magic(struct parse *parse)
{
    const uint8_t *magic = cursor_take(&parse->cursor, 4);

    if (!magic) {
        return parse_short(parse, "magic at", 0);
    }
    if (memcmp(magic, "GGUF", 4) == 0) {
        return GGUF_OK;
    }
    if (memcmp(magic, "FUGG", 4) == 0) {
        diag_set(parse->diag, "this is a big-endian GGUF file; only little-endian ones are read");
    } else {
        diag_set(parse->diag, "this is not a GGUF file: it begins with %02x %02x %02x %02x, not with \"GGUF\"",
                 magic[0], magic[1], magic[2], magic[3]);
    }
    return GGUF_REFUSED;
}

static int check_counts(struct parse *parse)
{
    const uint64_t left = parse->gguf->file_bytes - HEADER_BYTES;

    if (parse->n_keys > left / KEY_BYTES_MIN || parse->n_keys > GGUF_KEYS_MAX) {
        diag_set(parse->diag,
                 "the header claims %" PRIu64 " keys, more than fit a file of %" PRIu64 " bytes (at most %u)",
                 parse->n_keys, parse->gguf->file_bytes, GGUF_KEYS_MAX);
        return GGUF_REFUSED;
    }
    if (parse->n_tensors > left / TENSOR_BYTES_MIN || parse->n_tensors > GGUF_TENSORS_MAX) {
        diag_set(parse->diag,
                 "the header claims %" PRIu64 " tensors, more than fit a file of %" PRIu64 " bytes (at most %u)",
                 parse->n_tensors, parse->gguf->file_bytes, GGUF_TENSORS_MAX);
        return GGUF_REFUSED;
    }
    return GGUF_OK;
}

static const char *version_hint(uint32_t version)
{
    if (version == 1) {
        return "; convert the model again";
    }
    return version != 0 && (version & 0xffffu) == 0 ? "; this looks like a big-endian file" : "";
}

static int parse_header(struct parse *parse)
{
    uint32_t version;
    int r;

    r = check_magic(parse);
    if (r) {
        return r;
    }

    version = cursor_u32(&parse->cursor);
    parse->n_tensors = cursor_u64(&parse->cursor);
    parse->n_keys = cursor_u64(&parse->cursor);
    if (parse->cursor.failed) {
        return parse_short(parse, "header at", 0);
    }
    if (version != 2 && version != 3) {
        diag_set(parse->diag, "GGUF version %" PRIu32 " is not supported, only 2 and 3%s", version,
                 version_hint(version));
        return GGUF_REFUSED;
    }
    parse->gguf->version = version;
    return check_counts(parse);
}

int gguf_parse(struct gguf **ret_gguf, const void *bytes, size_t n_bytes, uint64_t file_bytes, uint64_t *ret_wanted,
               struct diag *diag)
{
    cleanup(gguf_destroyp) struct gguf *gguf = mem_calloc(MEM_FILE, 1, sizeof(*gguf));
    struct parse parse = { .gguf = gguf, .diag = diag };
    int r;

    if (!gguf) {
        return err_new(-ENOMEM);
    }
    gguf->file_bytes = file_bytes;
    gguf->alignment = GGUF_ALIGN_DEFAULT;
    map_init(&gguf->key_names, MEM_FILE);
    map_init(&gguf->tensor_names, MEM_FILE);
    cursor_init(&parse.cursor, bytes, n_bytes);

    r = parse_header(&parse);
    r = r ? r : parse_keys(&parse);
    r = r ? r : parse_tensors(&parse);
    if (r == GGUF_MORE) {
        *ret_wanted = parse.wanted;
        return GGUF_MORE;
    }
    if (r == GGUF_REFUSED) {
        return GGUF_REFUSED;
    }
    if (r) {
        return err_up(r);
    }
    *ret_gguf = steal(&gguf);
    return GGUF_OK;
}

static int check_file(int fd, uint64_t *ret_bytes, struct diag *diag)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        return err_new(-errno);
    }
    if (!S_ISREG(st.st_mode)) {
        diag_set(diag, "this is not a regular file; a model must be one");
        return GGUF_REFUSED;
    }
    *ret_bytes = (uint64_t)st.st_size;
    return GGUF_OK;
}

/* Grows *block and reads it on from *n_have to @n_want bytes of @fd. */
static int read_on(int fd, char **block, size_t *n_have, size_t n_want, struct diag *diag)
{
    char *bigger = mem_realloc(MEM_FILE, *block, n_want);
    size_t got;
    int r;

    if (!bigger) {
        return err_new(-ENOMEM);
    }
    *block = bigger;
    r = file_pread(fd, bigger + *n_have, n_want - *n_have, *n_have, &got);
    if (r) {
        return err_up(r);
    }
    if (got < n_want - *n_have) {
        diag_set(diag, "the file became shorter while it was read; put a new model in place by renaming, not "
                       "by writing");
        return GGUF_REFUSED;
    }
    *n_have = n_want;
    return GGUF_OK;
}

int gguf_read_head(struct gguf **ret_gguf, int fd, size_t max_head_bytes, struct diag *diag)
{
    cleanup(mem_freep) char *block = NULL;
    struct gguf *gguf;
    uint64_t file_bytes = 0;
    uint64_t wanted = HEAD_BLOCK_BYTES;
    size_t n_have = 0;
    int r;

    r = check_file(fd, &file_bytes, diag);
    if (r) {
        return err_pass(r);
    }

    for (;;) {
        /* The block at least doubles each time, so that all rounds before the last parse no more bytes than it. */
        const uint64_t ceiling = num_min(file_bytes, max_head_bytes);
        const uint64_t n_want = num_min(num_max(wanted, 2 * (uint64_t)n_have), ceiling);

        r = read_on(fd, &block, &n_have, (size_t)n_want, diag);
        if (r) {
            return err_pass(r);
        }
        r = gguf_parse(&gguf, block, n_have, file_bytes, &wanted, diag);
        if (r != GGUF_MORE) {
            break;
        }
        if (n_have == ceiling || wanted > ceiling) {
            diag_set(diag, "the head of the file is longer than %zu bytes, the most that is read", max_head_bytes);
            return GGUF_REFUSED;
        }
    }
    if (r) {
        return err_pass(r);
    }
    gguf->head = steal(&block);
    *ret_gguf = gguf;
    return GGUF_OK;
}

void gguf_destroy(struct gguf *gguf)
{
    if (!gguf) {
        return;
    }
    map_finish(&gguf->key_names);
    map_finish(&gguf->tensor_names);
    mem_free(gguf->keys);
    mem_free(gguf->tensors);
    mem_free(gguf->head);
    mem_free(gguf);
}

void gguf_destroyp(struct gguf **gguf)
{
    gguf_destroy(*gguf);
    *gguf = NULL;
}
