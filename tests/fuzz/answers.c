/*
 * Fuzzer: the messages of a daemon, read by libsotto
 *
 * The input is what a daemon sends after Welcome, passed in pieces of a size that the first byte chooses. For any
 * input, a request with a callback gets exactly one last event and nothing after it, one without ends by sotto_next()
 * with an error or its last event, text has a zero behind it, and the end of the connection is reported once.
 */
#include "base/clean.h"
#include "clients/sotto.h"
#include "fuzz.h"
#include <string.h>
#include <sys/socket.h>

struct seen {
    unsigned n_last;
    uint64_t n_bytes;
};

/* Reads all that an event points to, under the eyes of the sanitizers. */
static void look(struct seen *seen, const struct sotto_event *event)
{
    switch (event->kind) {
    case SOTTO_EVENT_DELTA:
        FUZZ_PROMISE(event->delta->text[event->delta->n_text] == '\0');
        seen->n_bytes += event->delta->n_tokens ? event->delta->tokens[event->delta->n_tokens - 1] : 0;
        for (size_t i = 0; event->delta->logprobs && i < event->delta->n_tokens; i++) {
            const struct sotto_logprobs *one = &event->delta->logprobs[i];

            seen->n_bytes += one->n_top && one->top_ids[one->n_top - 1] && one->top_logprobs[one->n_top - 1] > 0;
        }
        break;
    case SOTTO_EVENT_DONE:
        FUZZ_PROMISE(event->done->stop[event->done->n_stop] == '\0');
        seen->n_bytes += strlen(event->done->reason_name);
        break;
    case SOTTO_EVENT_ERROR:
        FUZZ_PROMISE(event->error->code != SOTTO_OK);
        seen->n_bytes += strlen(event->error->message) + strlen(event->error->field);
        break;
    case SOTTO_EVENT_STATUS:
        for (size_t i = 0; i < event->status->n_models; i++) {
            seen->n_bytes += strlen(event->status->models[i].state_name) + strlen(event->status->models[i].name);
        }
        break;
    case SOTTO_EVENT_WATCHED:
        for (size_t i = 0; i < event->watched->n_pairs; i++) {
            seen->n_bytes += strlen(event->watched->pairs[i].key) + strlen(event->watched->pairs[i].value);
        }
        break;
    case SOTTO_EVENT_TOKENIZED:
        for (size_t i = 0; i < event->tokenized->n_pieces; i++) {
            FUZZ_PROMISE(event->tokenized->pieces[i].bytes[event->tokenized->pieces[i].n] == '\0');
        }
        break;
    default:
        break;
    }
}

static void on_event(void *owner, const struct sotto_event *event)
{
    struct seen *seen = owner;

    FUZZ_PROMISE(seen->n_last == 0);
    seen->n_last += event->last;
    look(seen, event);
}

/* Passes @bytes in pieces of @n_piece. False: the connection is over. */
static bool tell(struct sotto *sotto, int fd, const uint8_t *bytes, size_t n, size_t n_piece)
{
    for (size_t at = 0; at < n; at += n_piece) {
        size_t n_now = n - at < n_piece ? n - at : n_piece;

        if (send(fd, bytes + at, n_now, MSG_NOSIGNAL) != (ssize_t)n_now || sotto_dispatch(sotto, NULL)) {
            return false;
        }
    }
    return true;
}

static void drain(struct sotto *sotto, uint32_t stream, struct seen *seen)
{
    const struct sotto_event *event = NULL;
    struct sotto_error error;

    while (sotto_next(sotto, stream, &event, &error) == SOTTO_OK) {
        FUZZ_PROMISE(event && event->stream == stream);
        look(seen, event);
        if (event->last) {
            return;
        }
    }
    FUZZ_PROMISE(error.code != SOTTO_OK && error.message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const uint8_t welcome[] = { 4, 0, 0, 0, 0x12, 2, 8, 1 };
    struct seen pushed = { .n_last = 0 };
    struct seen pulled = { .n_last = 0 };
    struct sotto *sotto = NULL;
    uint32_t stream = 0;
    int ends[2];

    if (n == 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        return 0;
    }
    FUZZ_PROMISE(sotto_open_fd(&sotto, ends[0], "fuzz/1", NULL) == SOTTO_OK);
    FUZZ_PROMISE(sotto_send_watch(sotto, NULL, 0, on_event, &pushed, NULL, NULL) == SOTTO_OK);
    FUZZ_PROMISE(sotto_send_status(sotto, NULL, NULL, &stream, NULL) == SOTTO_OK);
    tell(sotto, ends[1], welcome, sizeof(welcome), sizeof(welcome));
    tell(sotto, ends[1], bytes + 1, n - 1, bytes[0] ? bytes[0] : 4096);
    close(ends[1]);
    while (sotto_dispatch(sotto, NULL) == SOTTO_OK) {
    }
    FUZZ_PROMISE(pushed.n_last == 1);
    drain(sotto, stream, &pulled);
    sotto_close(sotto);
    return 0;
}
