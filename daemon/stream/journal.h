/*
 * Journal: all that is needed to go on with an answer
 *
 * An append-only file in memory (memfd) of versioned, checksummed records: what was asked, the prompt's tokens, the
 * answer's tokens as they were sampled, the numerics that they were computed with, what was delivered, how it ended.
 * An engine that was lost is rebuilt from it, and a later daemon may take it over by its descriptor. Each record is
 *
 *     u32 magic "STJ1" | u16 version 1 | u16 kind | u32 length of the body | u32 CRC-32C of all but this field | body
 *
 * little-endian, body padded with zeros to a multiple of 4. A torn last record (its writer died) ends the reading,
 * what stands before it counts. Bytes are charged to the account that pays for the stream.
 *
 * The loop's thread.
 */
#ifndef SOTTO_STREAM_JOURNAL_H
#define SOTTO_STREAM_JOURNAL_H

#include "sched/account.h"
#include "token/token.h"

enum journal_kind {
    JOURNAL_REQUEST = 1,   /* packed sotto.engine.Sampler: all values in force, the seed among them */
    JOURNAL_PROMPT = 2,    /* u32 tokens */
    JOURNAL_NUMERICS = 3,  /* u32 first token that has them, then their name */
    JOURNAL_TOKENS = 4,    /* u32 index of the first, then u32 tokens of the answer */
    JOURNAL_DELIVERED = 5, /* u32 tokens, u64 bytes of text handed to the connection so far */
    JOURNAL_FINISH = 6,    /* u32 FinishReason (0: an error), u32 Code */
    JOURNAL_SLIDE = 7,     /* u32 n, u32 m: of the known tokens up to here, m behind the first n are known no more */
};

struct journal {
    int fd;
    uint64_t n_bytes;
    struct account *account; /* pays; outlives it */
    uint32_t n_prompt;
    uint32_t n_answer; /* tokens in it */
    uint32_t n_slid;   /* tokens of prompt and answer that slid away */
};

/* Opens an empty journal. 0, or a fault: no descriptor, no memory. */
int journal_open(struct journal *journal, struct account *account);
void journal_close(struct journal *journal); /* NULL, closed and zeroed ones with fd -1 are fine */

int journal_request(struct journal *journal, const void *sampler, size_t n);
int journal_prompt(struct journal *journal, const uint32_t *tokens, size_t n);
int journal_numerics(struct journal *journal, const char *numerics);
int journal_token(struct journal *journal, uint32_t token);
int journal_slide(struct journal *journal, uint32_t n_keep, uint32_t n_gone);
int journal_delivered(struct journal *journal, uint32_t n_tok, uint64_t n_bytes);
int journal_finish(struct journal *journal, uint32_t reason, uint32_t code);

struct journal_record {
    enum journal_kind kind;
    const uint8_t *body; /* the caller's room, until the next read */
    size_t n;
};

enum journal_outcome {
    JOURNAL_OK,
    JOURNAL_END,     /* no further record */
    JOURNAL_TORN,    /* what follows is no whole record */
    JOURNAL_FOREIGN, /* of a version that this build does not know */
};

/* Reads the record at *at (0 first) of the file @fd and moves *at behind it. @room grows as needed. */
struct buf;
int journal_read(int fd, uint64_t *at, struct buf *room, struct journal_record *ret_record);

/* Appends all known tokens, prompt then answer, to @ids, which is empty; without those that slid away. 0, JOURNAL_TORN,
 * or a fault. */
int journal_known(const struct journal *journal, struct ids *ids);

#endif
