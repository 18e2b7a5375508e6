#include "stream/journal.h"
#include "base/buf.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC      0x314a5453u /* "STJ1" */
#define VERSION    1u
#define HEAD_BYTES 16u

/* The largest body: a prompt of the longest context fits many times; a length beyond it is no record. */
#define BODY_MAX (64u << 20)

/* CRC-32C (Castagnoli polynomial, reflected), four bits at a time: records are short, tables would be larger. */
static uint32_t crc_of(uint32_t crc, const uint8_t *bytes, size_t n)
{
    static const uint32_t nibbles[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
        0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };

    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ nibbles[crc & 15];
        crc = (crc >> 4) ^ nibbles[crc & 15];
    }
    return ~crc;
}

static void put32(uint8_t *at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Computes the checksum of a record's head (without its last field) and its body. */
static uint32_t checksum(const uint8_t *head, const uint8_t *body, size_t n)
{
    return crc_of(crc_of(0, head, HEAD_BYTES - 4), body, n);
}

static void hold(struct journal *journal, uint64_t n)
{
    journal->n_bytes += n;
    mem_charge(MEM_STREAM, (int64_t)n);
    account_hold(journal->account, (int64_t)n);
}

int journal_open(struct journal *journal, struct account *account)
{
    int fd = memfd_create("sotto-journal", MFD_CLOEXEC);

    if (fd < 0) {
        return err_new(-errno);
    }
    *journal = (struct journal){ .fd = fd, .account = account };
    return 0;
}

void journal_close(struct journal *journal)
{
    if (!journal || journal->fd < 0) {
        return;
    }
    close(journal->fd);
    journal->fd = -1;
    if (journal->account) {
        mem_charge(MEM_STREAM, -(int64_t)journal->n_bytes);
        account_hold(journal->account, -(int64_t)journal->n_bytes);
    }
    journal->n_bytes = 0;
}

/* Writes the record. Its body lies at @record + HEAD_BYTES, @n bytes with room for padding behind. It is one write, so
 * that a record is whole or is not there. */
static int append(struct journal *journal, enum journal_kind kind, uint8_t *record, size_t n)
{
    size_t n_padded = (n + 3) & ~(size_t)3;
    ssize_t written;

    memset(record + HEAD_BYTES + n, 0, n_padded - n);
    put32(record, MAGIC);
    put32(record + 4, VERSION | (uint32_t)kind << 16);
    put32(record + 8, (uint32_t)n);
    put32(record + 12, checksum(record, record + HEAD_BYTES, n));
    do {
        written = pwrite(journal->fd, record, HEAD_BYTES + n_padded, (off_t)journal->n_bytes);
    } while (written < 0 && errno == EINTR);
    if (written < 0) {
        return err_new(-errno);
    }
    if ((size_t)written != HEAD_BYTES + n_padded) {
        return err_new(-ENOSPC);
    }
    hold(journal, HEAD_BYTES + n_padded);
    return 0;
}

int journal_request(struct journal *journal, const void *sampler, size_t n)
{
    cleanup(mem_freep) uint8_t *record = mem_alloc(MEM_STREAM, HEAD_BYTES + n + 4);

    if (!record) {
        return err_new(-ENOMEM);
    }
    memcpy(record + HEAD_BYTES, sampler, n);
    return append(journal, JOURNAL_REQUEST, record, n);
}

int journal_prompt(struct journal *journal, const uint32_t *tokens, size_t n)
{
    cleanup(mem_freep) uint8_t *record = mem_alloc(MEM_STREAM, HEAD_BYTES + 4 * n + 4);

    if (!record) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        put32(record + HEAD_BYTES + 4 * i, tokens[i]);
    }
    journal->n_prompt = (uint32_t)n;
    return append(journal, JOURNAL_PROMPT, record, 4 * n);
}

int journal_numerics(struct journal *journal, const char *numerics)
{
    uint8_t record[HEAD_BYTES + 4 + 128];
    size_t n = strnlen(numerics, 120);

    put32(record + HEAD_BYTES, journal->n_answer);
    memcpy(record + HEAD_BYTES + 4, numerics, n);
    return append(journal, JOURNAL_NUMERICS, record, 4 + n);
}

int journal_token(struct journal *journal, uint32_t token)
{
    uint8_t record[HEAD_BYTES + 8];
    int r;

    put32(record + HEAD_BYTES, journal->n_answer);
    put32(record + HEAD_BYTES + 4, token);
    r = append(journal, JOURNAL_TOKENS, record, 8);
    if (r) {
        return err_up(r);
    }
    journal->n_answer++;
    return 0;
}

int journal_slide(struct journal *journal, uint32_t n_keep, uint32_t n_gone)
{
    uint8_t record[HEAD_BYTES + 8];
    int r;

    put32(record + HEAD_BYTES, n_keep);
    put32(record + HEAD_BYTES + 4, n_gone);
    r = append(journal, JOURNAL_SLIDE, record, 8);
    if (r) {
        return err_up(r);
    }
    journal->n_slid += n_gone;
    return 0;
}

int journal_delivered(struct journal *journal, uint32_t n_tok, uint64_t n_bytes)
{
    uint8_t record[HEAD_BYTES + 12];

    put32(record + HEAD_BYTES, n_tok);
    put32(record + HEAD_BYTES + 4, (uint32_t)n_bytes);
    put32(record + HEAD_BYTES + 8, (uint32_t)(n_bytes >> 32));
    return append(journal, JOURNAL_DELIVERED, record, 12);
}

int journal_finish(struct journal *journal, uint32_t reason, uint32_t code)
{
    uint8_t record[HEAD_BYTES + 8];

    put32(record + HEAD_BYTES, reason);
    put32(record + HEAD_BYTES + 4, code);
    return append(journal, JOURNAL_FINISH, record, 8);
}

int journal_read(int fd, uint64_t *at, struct buf *room, struct journal_record *ret_record)
{
    uint8_t head[HEAD_BYTES];
    uint8_t *body;
    size_t got;
    size_t n;
    int r;

    r = file_pread(fd, head, sizeof(head), *at, &got);
    if (r) {
        return err_up(r);
    }
    if (got < sizeof(head)) {
        return got == 0 ? JOURNAL_END : JOURNAL_TORN;
    }
    n = get32(head + 8);
    if (get32(head) != MAGIC || n > BODY_MAX) {
        return JOURNAL_TORN;
    }
    if ((get32(head + 4) & 0xffff) != VERSION) {
        return JOURNAL_FOREIGN;
    }
    buf_eat(room, room->n);
    r = buf_reserve(room, n + 4, &body);
    if (r) {
        return r == BUF_FULL ? JOURNAL_TORN : err_up(r);
    }
    r = file_pread(fd, body, n, *at + HEAD_BYTES, &got);
    if (r) {
        return err_up(r);
    }
    if (got < n || checksum(head, body, n) != get32(head + 12)) {
        return JOURNAL_TORN;
    }
    *ret_record = (struct journal_record){ .kind = (enum journal_kind)(get32(head + 4) >> 16), .body = body, .n = n };
    *at += HEAD_BYTES + ((n + 3) & ~(size_t)3);
    return JOURNAL_OK;
}

static int push_all(struct ids *ids, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i + 4 <= n; i += 4) {
        int r = ids_push(ids, get32(bytes + i));

        if (r) {
            return r < 0 ? err_up(r) : err_new(-E2BIG);
        }
    }
    return 0;
}

/* Takes @n_gone tokens behind the first @n_keep out. False: there are not so many. */
static bool slide(struct ids *ids, uint32_t n_keep, uint32_t n_gone)
{
    if (n_keep > ids->n || n_gone > ids->n - n_keep) {
        return false;
    }
    memmove(ids->ids + n_keep, ids->ids + n_keep + n_gone, (ids->n - n_keep - n_gone) * sizeof(*ids->ids));
    ids->n -= n_gone;
    return true;
}

int journal_known(const struct journal *journal, struct ids *ids)
{
    cleanup(buf_finish) struct buf room;
    struct journal_record record;
    uint64_t at = 0;
    int r;

    buf_init(&room, MEM_STREAM, BODY_MAX + HEAD_BYTES);
    while ((r = journal_read(journal->fd, &at, &room, &record)) == JOURNAL_OK) {
        if (record.kind == JOURNAL_PROMPT) {
            r = push_all(ids, record.body, record.n);
        } else if (record.kind == JOURNAL_TOKENS && record.n >= 4) {
            r = push_all(ids, record.body + 4, record.n - 4);
        } else if (record.kind == JOURNAL_SLIDE && record.n == 8 &&
                   !slide(ids, get32(record.body), get32(record.body + 4))) {
            return JOURNAL_TORN;
        }
        if (r) {
            return err_up(r);
        }
    }
    if (r < 0) {
        return err_up(r);
    }
    return r == JOURNAL_END && ids->n + journal->n_slid == journal->n_prompt + journal->n_answer ? 0 : JOURNAL_TORN;
}
