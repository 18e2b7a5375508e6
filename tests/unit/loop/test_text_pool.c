/*
 * The text that goes on is chosen by class, account and steps, between two pieces. Nothing here is timed.
 */
#include "loop/text_pool.h"
#include "proto/limit.h"
#include "tiny.h"
#include "unit.h"
#include <string.h>

/* The roles of messages choose how much the template does. */
#define TEMPLATE                                                                                                       \
    "{% for m in messages %}{% if m.role == 'long' %}{% for i in range(100000) %}{% endfor %}{% endif %}{{ m.content " \
    "}}"                                                                                                               \
    "{% endfor %}"

#define LONG_TEXT (300u << 10) /* many pieces */

static uv_loop_t loop;
static struct text_pool pool;
static struct vocab *vocab;
static struct chat *chat;
static struct account alice = { .uid = 1 };
static struct account bob = { .uid = 2 };
static struct account carol = { .uid = 3 };

/* What came back, in order. */
static const void *done[16];
static unsigned n_done;

static void setup(void)
{
    static const struct tiny_token tokens[] = { { "he", TOKEN_NORMAL, 0 }, { "ll", TOKEN_NORMAL, 0 } };
    static const char *const merges[] = { "h e", "l l" };
    struct maker maker;

    maker_init(&maker, 3);
    tiny_bpe_keys(&maker, "gpt-2", tokens, 2, merges, 2);
    maker_key_text(&maker, "tokenizer.chat_template", TEMPLATE);
    vocab = tiny_vocab(&maker);
    ck_assert_int_eq(chat_create(&chat, vocab, NULL), CHAT_OK);
    uv_loop_init(&loop);
    memset(alice.text_steps, 0, sizeof(alice.text_steps));
    memset(bob.text_steps, 0, sizeof(bob.text_steps));
    memset(carol.text_steps, 0, sizeof(carol.text_steps));
    n_done = 0;
}

static void teardown(void)
{
    while (!text_pool_is_idle(&pool)) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    ck_assert_uint_eq(pool.begun_bytes, 0);
    ck_assert_uint_eq(pool.n_jobs, 0);
    ck_assert_uint_eq(alice.bytes + bob.bytes + carol.bytes, 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    chat_destroy(chat);
    vocab_destroy(vocab);
}

static void on_done(void *owner, struct text_job *job)
{
    ck_assert_int_eq(job->outcome, TOKENIZE_OK);
    done[n_done++] = owner;
}

static struct text_job *push(struct text_job *job, enum priority priority)
{
    job->vocab = vocab;
    job->chat = chat;
    job->priority = priority;
    text_pool_push(&pool, job, on_done, job);
    return job;
}

static struct text_job *push_text(struct account *account, enum priority priority, size_t n)
{
    char *text = mem_alloc(MEM_MISC, n);
    struct text_job *job;

    memset(text, 'h', n);
    ck_assert_int_eq(text_job_tokenize(&job, account, text, n), 0);
    mem_free(text);
    return push(job, priority);
}

static struct text_job *push_chat(struct account *account, enum priority priority, const char *role)
{
    Sotto__V1__ChatMessage message = SOTTO__V1__CHAT_MESSAGE__INIT;
    Sotto__V1__ChatMessage *messages[] = { &message };
    Sotto__V1__Chat asked = SOTTO__V1__CHAT__INIT;
    uint8_t hello[] = "hello";
    char name[8];
    struct text_job *job;

    snprintf(name, sizeof(name), "%s", role);
    message.role = name;
    message.content = (ProtobufCBinaryData){ .len = 5, .data = hello };
    asked.messages = messages;
    asked.n_messages = 1;
    ck_assert_int_eq(text_job_chat(&job, account, &asked), 0);
    return push(job, priority);
}

static void until_pieces(uint64_t n)
{
    while (pool.n_pieces < n) {
        uv_run(&loop, UV_RUN_ONCE);
    }
}

static void until_done(unsigned n)
{
    while (n_done < n) {
        uv_run(&loop, UV_RUN_ONCE);
    }
}

START_TEST(a_realtime_text_waits_for_a_piece_and_not_for_a_text)
{
    const void *short_text;

    text_pool_init(&pool, &loop, 1);
    push_text(&alice, PRIORITY_BACKGROUND, LONG_TEXT);
    push_text(&carol, PRIORITY_INTERACTIVE, LONG_TEXT);
    short_text = push_text(&bob, PRIORITY_REALTIME, 30);
    until_done(1);

    ck_assert_ptr_eq(done[0], short_text);
    ck_assert_uint_eq(pool.n_pieces, 2);
    until_done(3);
    ck_assert_uint_gt(pool.n_pieces, 10);
}
END_TEST

START_TEST(an_account_with_many_texts_lets_the_others_pass)
{
    const void *only;

    text_pool_init(&pool, &loop, 1);
    for (unsigned i = 0; i < 10; i++) {
        push_text(&alice, PRIORITY_INTERACTIVE, 3000);
    }
    until_done(3);
    only = push_text(&bob, PRIORITY_INTERACTIVE, 3000);
    until_done(5);

    ck_assert(done[3] == only || done[4] == only);
    until_done(11);
}
END_TEST

START_TEST(two_accounts_with_long_texts_get_on_alike)
{
    uint64_t most = 0;

    text_pool_init(&pool, &loop, 1);
    push_text(&alice, PRIORITY_INTERACTIVE, LONG_TEXT);
    push_text(&bob, PRIORITY_INTERACTIVE, LONG_TEXT);
    while (n_done == 0) {
        uint64_t a = alice.text_steps[PRIORITY_INTERACTIVE];
        uint64_t b = bob.text_steps[PRIORITY_INTERACTIVE];

        most = most > a - b && a > b ? most : a > b ? a - b : most > b - a ? most : b - a;
        uv_run(&loop, UV_RUN_ONCE);
    }
    ck_assert_uint_le(most, 2 * TEXT_PIECE_STEPS);
    until_done(2);
}
END_TEST

START_TEST(an_account_that_comes_back_gets_no_credit_for_its_absence)
{
    text_pool_init(&pool, &loop, 1);
    push_text(&alice, PRIORITY_INTERACTIVE, LONG_TEXT);
    until_done(1);
    push_text(&alice, PRIORITY_INTERACTIVE, LONG_TEXT);
    push_text(&bob, PRIORITY_INTERACTIVE, 30);

    ck_assert_uint_gt(bob.text_steps[PRIORITY_INTERACTIVE], LONG_TEXT / 2);
    until_done(3);
}
END_TEST

/* Two threads: a long piece has one, the other is for short ones. */
START_TEST(one_long_template_at_a_time_and_short_ones_pass_it)
{
    struct text_job *first;
    struct text_job *second;
    struct text_job *quick;

    text_pool_init(&pool, &loop, 2);
    first = push_chat(&alice, PRIORITY_INTERACTIVE, "long");
    until_pieces(1); /* the quick try, which found that it is long */
    second = push_chat(&bob, PRIORITY_INTERACTIVE, "long");
    ck_assert(first->is_running && pool.has_long);
    until_pieces(2); /* that of the second, or already the long piece of the first */
    if (pool.has_long) {
        ck_assert(first->is_running && !second->is_running);
        quick = push_chat(&carol, PRIORITY_BACKGROUND, "short");
        ck_assert(quick->is_running);
    } else {
        push_chat(&carol, PRIORITY_BACKGROUND, "short");
    }
    until_done(3);
}
END_TEST

/* Gives the ids of @n euro signs, a byte each: no piece has a multiple of three. */
static struct text_job *push_ids(struct account *account, enum priority priority, size_t n)
{
    uint32_t *ids = mem_alloc(MEM_MISC, 3 * n * sizeof(*ids));
    struct text_job *job;

    for (size_t i = 0; i < n; i++) {
        memcpy(ids + 3 * i, (const uint32_t[]){ 0xE2, 0x82, 0xAC }, 3 * sizeof(*ids));
    }
    ck_assert_int_eq(text_job_detokenize(&job, account, ids, 3 * n), 0);
    mem_free(ids);
    return push(job, priority);
}

static void on_euros(void *owner, struct text_job *job)
{
    const uint8_t *text = buf_data(&job->mended);

    on_done(owner, job);
    ck_assert_uint_eq(job->mended.n, job->ids.n);
    for (size_t i = 0; i < job->mended.n; i += 3) {
        ck_assert_int_eq(memcmp(text + i, "\xE2\x82\xAC", 3), 0);
    }
}

START_TEST(ids_are_spelled_in_pieces_and_no_character_is_cut)
{
    struct text_job *first;
    struct text_job *second;

    text_pool_init(&pool, &loop, 1);
    first = push_ids(&alice, PRIORITY_INTERACTIVE, 100000);
    first->done = on_euros;
    ck_assert(!first->is_long);
    second = push_ids(&bob, PRIORITY_INTERACTIVE, 10);
    until_pieces(2);
    ck_assert(n_done == 1 && done[0] == second);
    until_done(2);

    ck_assert_uint_ge(pool.n_pieces, 1 + 300000 / TEXT_PIECE_STEPS);
}
END_TEST

START_TEST(realtime_finds_a_thread_beside_work_of_the_others)
{
    text_pool_init(&pool, &loop, 4);
    for (unsigned i = 0; i < 4; i++) {
        push_text(&alice, PRIORITY_INTERACTIVE, LONG_TEXT);
        push_text(&bob, PRIORITY_BACKGROUND, LONG_TEXT);
    }
    ck_assert_uint_eq(pool.n_running, pool.n_low_threads);
    ck_assert(push_text(&carol, PRIORITY_REALTIME, 30)->is_running);
    until_done(9);
}
END_TEST

START_TEST(begun_texts_are_bounded_and_leave_room_for_higher_classes)
{
    struct text_job *first;
    struct text_job *second;
    struct text_job *higher;
    struct text_job *little;
    bool was_begun_beside = false;

    text_pool_init(&pool, &loop, 1);
    first = push_text(&alice, PRIORITY_BACKGROUND, LIMIT_TEXT);
    second = push_text(&bob, PRIORITY_BACKGROUND, LIMIT_TEXT);
    until_pieces(3);
    ck_assert(first->is_begun && !second->is_begun); /* though bob has had nothing */
    higher = push_text(&carol, PRIORITY_INTERACTIVE, LIMIT_TEXT);
    little = push_text(&bob, PRIORITY_BACKGROUND, 30);
    while (n_done < 3) {
        was_begun_beside = was_begun_beside || (n_done < 1 && pool.begun_bytes == 2 * LIMIT_TEXT);
        ck_assert_uint_le(pool.begun_bytes, 2 * LIMIT_TEXT);
        uv_run(&loop, UV_RUN_ONCE);
    }
    ck_assert(was_begun_beside);
    ck_assert_ptr_eq(done[0], higher);
    ck_assert_ptr_eq(done[1], little);
    ck_assert_ptr_eq(done[2], first);
    until_done(4);
    ck_assert_ptr_eq(done[3], second);
}
END_TEST

START_TEST(a_dropped_text_ends_at_its_next_piece)
{
    struct text_job *running;
    struct text_job *waiting;
    const void *last;

    text_pool_init(&pool, &loop, 1);
    running = push_text(&alice, PRIORITY_INTERACTIVE, LONG_TEXT);
    waiting = push_text(&alice, PRIORITY_INTERACTIVE, LONG_TEXT);
    last = push_text(&alice, PRIORITY_INTERACTIVE, 30);
    ck_assert_uint_eq(text_pool_jobs_of(&pool, &alice), 3);
    text_pool_drop(waiting);
    text_pool_drop(running);
    until_done(1);

    ck_assert_ptr_eq(done[0], last);
    ck_assert_uint_eq(pool.n_pieces, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop-text-pool");
    TCase *tcase = tcase_create("pool");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_realtime_text_waits_for_a_piece_and_not_for_a_text);
    tcase_add_test(tcase, an_account_with_many_texts_lets_the_others_pass);
    tcase_add_test(tcase, two_accounts_with_long_texts_get_on_alike);
    tcase_add_test(tcase, an_account_that_comes_back_gets_no_credit_for_its_absence);
    tcase_add_test(tcase, one_long_template_at_a_time_and_short_ones_pass_it);
    tcase_add_test(tcase, ids_are_spelled_in_pieces_and_no_character_is_cut);
    tcase_add_test(tcase, realtime_finds_a_thread_beside_work_of_the_others);
    tcase_add_test(tcase, begun_texts_are_bounded_and_leave_room_for_higher_classes);
    tcase_add_test(tcase, a_dropped_text_ends_at_its_next_piece);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
