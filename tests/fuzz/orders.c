/*
 * Fuzzer: the orders of a sottod, read by an engine
 *
 * The input follows a good Start on the socket of an engine with the scripted model. For any input the engine answers
 * in whole messages of its schema and ends: normally at the end of the input, or with a Fault that gives a reason. The
 * first byte makes one in four steps slow, so that orders are read between parts.
 */
#include "base/clean.h"
#include "base/utf8.h"
#include "engine/engine.h"
#include "fuzz.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Far below the buffer of the socket, since everything is written before the engine runs. */
#define INPUT_BYTES 65536

static const char plain_script[] = "vocabulary 64\npages 32\ncontext 256\nwhen 9 do numeric\n";
static const char slow_script[] = "vocabulary 64\npages 32\ncontext 256\nalways do slow 2\n";

/* Makes a file in memory and the path for Start. */
static int make_script(const char *text, char *path, size_t cap)
{
    int fd = memfd_create("script", MFD_CLOEXEC);

    FUZZ_PROMISE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, cap, "/proc/self/fd/%d", fd);
    return fd;
}

static void send_start(int fd, char *script, int model_fd)
{
    char build[] = SOTTO_BUILD;
    char backend[] = "fake";
    Sotto__Engine__Start start = SOTTO__ENGINE__START__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    uint8_t bytes[512];
    size_t n;

    start.build = build;
    start.backend = backend;
    start.model_fd = (uint32_t)model_fd;
    start.fake_script = script;
    start.max_sequences = 4;
    start.max_step_rows = 32;
    start.guard_allocations = true;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_START;
    order.start = &start;
    n = sotto__engine__to_engine__pack(&order, bytes + FRAME_HEAD_BYTES);
    frame_head(bytes, (uint32_t)n);
    FUZZ_PROMISE(send(fd, bytes, FRAME_HEAD_BYTES + n, 0) == (ssize_t)(FRAME_HEAD_BYTES + n));
}

struct reader {
    int fd;
    Sotto__Engine__FromEngine__BodyCase last;
    bool last_is_valid; /* a Fault has a sentence */
};

/* Reads all answers to the end of the file. */
static void *read_answers(void *owner)
{
    struct reader *reader = owner;
    struct buf in;
    struct wire wire;
    uint8_t *room;
    ssize_t n;

    buf_init(&in, MEM_MISC, (size_t)LIMIT_FROM_ENGINE * 2);
    wire_init(&wire, MEM_MISC);
    for (;;) {
        struct frame frame;
        size_t used;

        FUZZ_PROMISE(buf_reserve(&in, 65536, &room) == 0);
        n = recv(reader->fd, room, 65536, 0);
        if (n <= 0) {
            break;
        }
        buf_grew(&in, (size_t)n);
        while (frame_take(buf_data(&in), in.n, LIMIT_FROM_ENGINE, &frame, &used) == FRAME_OK) {
            ProtobufCMessage *message;
            const Sotto__Engine__FromEngine *answer;

            FUZZ_PROMISE(wire_unpack(&wire, &sotto__engine__from_engine__descriptor, &frame, &message) == WIRE_OK);
            answer = (const Sotto__Engine__FromEngine *)message;
            reader->last = answer->body_case;
            reader->last_is_valid = answer->body_case == SOTTO__ENGINE__FROM_ENGINE__BODY_FAULT &&
                                    answer->fault->what[0] &&
                                    utf8_is_valid(answer->fault->what, strlen(answer->fault->what), NULL);
            buf_eat(&in, used);
        }
    }
    FUZZ_PROMISE(in.n == 0);
    buf_finish(&in);
    wire_finish(&wire);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    cleanup(fd_closep) int model_fd = memfd_create("model", MFD_CLOEXEC);
    cleanup(fd_closep) int script_fd = -1;
    const int buffer_bytes = 4 * INPUT_BYTES;
    struct reader reader = { .last_is_valid = false };
    pthread_t thread;
    char script[64];
    int ends[2];
    int code;

    if (n == 0 || n > INPUT_BYTES) {
        return 0;
    }
    script_fd = make_script(bytes[0] % 4 == 3 ? slow_script : plain_script, script, sizeof(script));
    FUZZ_PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
    send_start(ends[0], script, model_fd);
    FUZZ_PROMISE(n == 1 || send(ends[0], bytes + 1, n - 1, 0) == (ssize_t)(n - 1));
    shutdown(ends[0], SHUT_WR);
    reader.fd = ends[0];
    FUZZ_PROMISE(pthread_create(&thread, NULL, read_answers, &reader) == 0);

    code = engine_run(ends[1], NULL);

    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
    FUZZ_PROMISE(code == 0 || code == 1);
    FUZZ_PROMISE((code == 1) == reader.last_is_valid);
    return 0;
}
