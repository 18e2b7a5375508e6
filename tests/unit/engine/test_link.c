/* The engine's end of the socketpair: whole orders from pieces, peeking that changes nothing, and memory that is
 * released. */
#include "engine/link.h"

#include "base/clean.h"
#include "unit.h"
#include <string.h>
#include <sys/socket.h>

struct pair {
    int fd; /* sottod's end */
    int engine_fd;
    struct link link;
};

static void begin(struct pair *pair)
{
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pair->fd = ends[0];
    pair->engine_fd = ends[1];
    ck_assert_int_eq(link_open(&pair->link, pair->engine_fd), 0);
}

static void finish(struct pair *pair)
{
    link_close(&pair->link);
    fd_closep(&pair->fd);
    close(pair->engine_fd);
}

static size_t pack(const Sotto__Engine__ToEngine *order, uint8_t *bytes)
{
    const size_t n = sotto__engine__to_engine__pack(order, bytes + FRAME_HEAD_BYTES);

    frame_head(bytes, (uint32_t)n);
    return FRAME_HEAD_BYTES + n;
}

static size_t pack_limits(uint32_t slice_us, uint64_t kv_bytes, uint8_t *bytes)
{
    Sotto__Engine__Limits limits = SOTTO__ENGINE__LIMITS__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;

    limits.slice_us = slice_us;
    limits.kv_bytes = kv_bytes;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_LIMITS;
    order.limits = &limits;
    return pack(&order, bytes);
}

static size_t pack_stop(uint32_t seq, uint8_t *bytes)
{
    Sotto__Engine__Stop stop = SOTTO__ENGINE__STOP__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;

    stop.sequence = seq;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STOP;
    order.stop = &stop;
    return pack(&order, bytes);
}

static void send_bytes(struct pair *pair, const uint8_t *bytes, size_t n)
{
    ck_assert_int_eq(send(pair->fd, bytes, n, 0), (ssize_t)n);
}

static void send_stop(struct pair *pair, uint32_t seq)
{
    uint8_t bytes[64];

    send_bytes(pair, bytes, pack_stop(seq, bytes));
}

/* Takes a Stop. Returns its sequence. */
static uint32_t take_stop(struct pair *pair)
{
    Sotto__Engine__ToEngine *order;

    ck_assert_int_eq(link_take(&pair->link, &order, NULL), LINK_OK);
    ck_assert_int_eq(order->body_case, SOTTO__ENGINE__TO_ENGINE__BODY_STOP);
    return order->stop->sequence;
}

START_TEST(glance_reads_the_numbers_of_an_order)
{
    uint8_t bytes[64];
    struct peeked_order peeked;
    struct pair pair;

    begin(&pair);
    send_bytes(&pair, bytes, pack_limits(300, UINT64_MAX, bytes));

    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_OK);

    ck_assert_int_eq(peeked.kind, SOTTO__ENGINE__TO_ENGINE__BODY_LIMITS);
    ck_assert_uint_eq(peeked.field[1], 300);
    ck_assert(peeked.field[3] == UINT64_MAX);
    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_NONE);
    finish(&pair);
}
END_TEST

START_TEST(peeking_removes_nothing_and_can_be_repeated)
{
    struct peeked_order peeked;
    struct pair pair;

    begin(&pair);
    send_stop(&pair, 5);

    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_OK);
    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_NONE);
    link_rewind(&pair.link);
    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_OK);

    ck_assert_uint_eq(take_stop(&pair), 5);
    finish(&pair);
}
END_TEST

START_TEST(dropped_order_leaves_the_others_in_their_order)
{
    struct peeked_order second;
    struct peeked_order peeked;
    struct pair pair;

    begin(&pair);
    for (uint32_t seq = 1; seq <= 4; seq++) {
        send_stop(&pair, seq);
    }
    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_OK);
    ck_assert_int_eq(link_peek(&pair.link, &second, NULL), LINK_OK);
    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_OK);

    link_drop(&pair.link, &peeked);
    link_drop(&pair.link, &second);

    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_OK);
    ck_assert_uint_eq(peeked.field[1], 4);
    ck_assert_uint_eq(take_stop(&pair), 1);
    ck_assert_uint_eq(take_stop(&pair), 4);
    finish(&pair);
}
END_TEST

START_TEST(order_in_pieces_is_taken_once_it_is_whole)
{
    uint8_t bytes[64];
    struct peeked_order peeked;
    struct pair pair;
    size_t n;

    begin(&pair);
    n = pack_stop(70000, bytes);
    for (size_t i = 0; i + 1 < n; i++) {
        send_bytes(&pair, bytes + i, 1);
        ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_NONE);
    }

    send_bytes(&pair, bytes + n - 1, 1);

    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_OK);
    ck_assert_uint_eq(peeked.field[1], 70000);
    finish(&pair);
}
END_TEST

START_TEST(orders_before_the_end_are_still_taken)
{
    Sotto__Engine__ToEngine *order;
    struct peeked_order peeked;
    struct pair pair;

    begin(&pair);
    send_stop(&pair, 1);
    fd_closep(&pair.fd);

    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_OK);
    ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_END);
    ck_assert_uint_eq(take_stop(&pair), 1);
    ck_assert_int_eq(link_take(&pair.link, &order, NULL), LINK_END);
    finish(&pair);
}
END_TEST

/* Bodies that peeking must not follow past their ends. */
START_TEST(peeking_refuses_bytes_that_are_no_order)
{
    static const struct {
        uint8_t bytes[16];
        size_t n;
    } bodies[] = {
        { { 0 }, 0 },                                                                  /* nothing */
        { { 0x80 }, 1 },                                                               /* a tag without end */
        { { 0x42, 0x05, 0x08, 0x01 }, 4 },                                             /* longer than its frame */
        { { 0x42, 0x02, 0x08, 0x80 }, 4 },                                             /* a number without end */
        { { 0x40, 0x01 }, 2 },                                                         /* a number, no message */
        { { 0x42, 0x0c, 0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 }, 13 } /* a number of 70 bits */
    };

    for (size_t i = 0; i < COUNTOF(bodies); i++) {
        struct diag diag = DIAG_INIT;
        struct peeked_order peeked;
        uint8_t head[FRAME_HEAD_BYTES];
        struct pair pair;

        begin(&pair);
        frame_head(head, (uint32_t)bodies[i].n);
        send_bytes(&pair, head, sizeof(head));
        send_bytes(&pair, bodies[i].bytes, bodies[i].n);
        ck_assert_int_eq(link_peek(&pair.link, &peeked, &diag), LINK_BAD);
        ck_assert(diag_is_set(&diag));
        finish(&pair);
    }
}
END_TEST

static void *send_long(void *owner)
{
    enum { N = 3000000 };
    struct pair *pair = owner;
    uint32_t *tokens = calloc(N, sizeof(*tokens));
    uint8_t *bytes = malloc(5 * (size_t)N);
    Sotto__Engine__Open open = SOTTO__ENGINE__OPEN__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    size_t n;

    memset(tokens, 0x7, N * sizeof(*tokens));
    open.n_tokens = N;
    open.tokens = tokens;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_OPEN;
    order.open = &open;
    n = pack(&order, bytes);
    for (size_t at = 0; at < n;) {
        ssize_t r = send(pair->fd, bytes + at, n - at, 0);

        ck_assert_int_gt(r, 0);
        at += (size_t)r;
    }
    free(tokens);
    free(bytes);
    send_stop(pair, 3);
    return NULL;
}

START_TEST(longest_orders_arrive_whole_and_their_memory_is_released)
{
    Sotto__Engine__ToEngine *order;
    struct mem_account before;
    struct mem_account after;
    struct pair pair;
    pthread_t thread;

    begin(&pair);
    mem_read(MEM_WIRE, &before);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, send_long, &pair), 0);
        ck_assert_int_eq(link_take(&pair.link, &order, NULL), LINK_OK);
        ck_assert_uint_eq(order->open->n_tokens, 3000000);
        ck_assert_uint_eq(order->open->tokens[2999999], 0x07070707);
        ck_assert_uint_eq(take_stop(&pair), 3);
        pthread_join(thread, NULL);
    }

    mem_read(MEM_WIRE, &after);
    ck_assert_uint_le(after.bytes, before.bytes + (256 << 10));
    finish(&pair);
}
END_TEST

START_TEST(glances_and_short_answers_allocate_nothing)
{
    Sotto__Engine__Withdrawn withdrawn = SOTTO__ENGINE__WITHDRAWN__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    struct peeked_order peeked;
    uint64_t n_allocs;
    struct pair pair;

    begin(&pair);
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN;
    message.withdrawn = &withdrawn;
    n_allocs = mem_n_allocs();
    for (uint32_t i = 1; i < 50; i++) {
        send_stop(&pair, i);
        ck_assert_int_eq(link_peek(&pair.link, &peeked, NULL), LINK_OK);
        ck_assert_int_eq(link_send(&pair.link, &message), LINK_OK);
    }

    ck_assert_uint_eq(mem_n_allocs(), n_allocs);
    finish(&pair);
}
END_TEST

START_TEST(sending_to_a_closed_socket_is_the_end)
{
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    struct pair pair;

    begin(&pair);
    fd_closep(&pair.fd);

    ck_assert_int_eq(link_send(&pair.link, &message), LINK_END);
    finish(&pair);
}
END_TEST

START_TEST(answer_over_the_limit_is_a_fault_and_nothing_is_sent)
{
    enum { N = LIMIT_FROM_ENGINE };
    char *text = malloc(N + 1);
    Sotto__Engine__Fault fault = SOTTO__ENGINE__FAULT__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    struct pair pair;
    uint8_t byte;

    begin(&pair);
    memset(text, 'x', N);
    text[N] = '\0';
    fault.what = text;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_FAULT;
    message.fault = &fault;

    ck_assert_int_lt(link_send(&pair.link, &message), 0);

    ck_assert_int_lt(recv(pair.fd, &byte, 1, MSG_DONTWAIT), 0);
    finish(&pair);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, glance_reads_the_numbers_of_an_order);
    tcase_add_test(tests, peeking_removes_nothing_and_can_be_repeated);
    tcase_add_test(tests, dropped_order_leaves_the_others_in_their_order);
    tcase_add_test(tests, order_in_pieces_is_taken_once_it_is_whole);
    tcase_add_test(tests, orders_before_the_end_are_still_taken);
    tcase_add_test(tests, peeking_refuses_bytes_that_are_no_order);
    tcase_add_test(tests, longest_orders_arrive_whole_and_their_memory_is_released);
    tcase_add_test(tests, glances_and_short_answers_allocate_nothing);
    tcase_add_test(tests, sending_to_a_closed_socket_is_the_end);
    tcase_add_test(tests, answer_over_the_limit_is_a_fault_and_nothing_is_sent);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
