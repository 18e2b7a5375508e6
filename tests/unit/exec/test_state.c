/* Ops that go through the states of sequences: what is let in, and that a state is that of the sequence alone. */
#include "base/clean.h"
#include "exec/exec.h"
#include "tensor/type.h"
#include "unit.h"
#include <errno.h>
#include <string.h>

#define N_TOKENS 8
#define N_HEADS  4
#define N_KEYS   2
#define KEY      4
#define VALUE    6
#define INNER    (N_HEADS * VALUE)
#define CHANNELS (2 * N_KEYS * KEY + INNER)
#define TAPS     3

static float numbers[CHANNELS * CHANNELS];
static const uint32_t *no_pages[200];

struct fixture {
    struct exec *exec;
    struct exec_program *program;
    struct exec_mem *embd, *heads_embd, *taps, *row, *states, *other_states;
    uint32_t x, mixed, out, a, b, twice, wanted; /* slots; a and b a column a head */
};

static struct exec_mem *import(struct exec *exec, uint64_t n_cols, uint64_t n_rows)
{
    struct exec_mem *mem = NULL;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(
        exec_import(exec,
                    &(struct exec_tensor){
                        .name = "w", .type = ELEM_F32, .n_cols = n_cols, .n_rows = n_rows, .bytes = numbers },
                    &mem, &diag),
        EXEC_OK);
    return mem;
}

static struct exec_op embed(uint32_t out, const struct exec_mem *weight)
{
    return (struct exec_op){ .kind = EXEC_EMBED, .out = out, .weight = weight };
}

static struct exec_op conv_op(const struct fixture *fixture)
{
    return (struct exec_op){
        .kind = EXEC_CONV, .in = fixture->x, .out = fixture->mixed, .weight = fixture->taps, .states = fixture->states
    };
}

static struct exec_op delta_op(const struct fixture *fixture)
{
    return (struct exec_op){ .kind = EXEC_DELTA,
                             .in = fixture->mixed,
                             .in2 = fixture->a,
                             .in3 = fixture->b,
                             .out = fixture->out,
                             .weight = fixture->row,
                             .bias = fixture->row,
                             .states = fixture->states,
                             .n_heads = N_HEADS,
                             .n_kv_heads = N_KEYS,
                             .head_dim = KEY,
                             .eps = 1e-6f,
                             .scale = 0.5f };
}

static void set_up(struct fixture *fixture)
{
    struct exec_state_shape shape = {
        .n_layers = 1, .n_states = 3, .n_window = (TAPS - 1) * CHANNELS, .n_matrix = N_HEADS * KEY * VALUE
    };
    struct diag diag = DIAG_INIT;

    for (size_t i = 0; i < COUNTOF(numbers); i++) {
        numbers[i] = (float)(i * i * 7 % 31) / -31.0f;
    }
    ck_assert_int_eq(exec_open(&fixture->exec, &(struct exec_setup){ .backend = "cpu", .n_threads = 2 }, &diag),
                     EXEC_OK);
    ck_assert_int_eq(exec_program_create(fixture->exec, 0, 200, 2, &fixture->program), 0);
    fixture->embd = import(fixture->exec, CHANNELS, N_TOKENS);
    fixture->heads_embd = import(fixture->exec, N_HEADS, N_TOKENS);
    fixture->taps = import(fixture->exec, TAPS, CHANNELS);
    fixture->row = import(fixture->exec, N_HEADS, 1);
    ck_assert_int_eq(exec_alloc_states(fixture->exec, &shape, &fixture->states, &diag), EXEC_OK);
    shape.n_window++;
    shape.n_matrix++;
    ck_assert_int_eq(exec_alloc_states(fixture->exec, &shape, &fixture->other_states, &diag), EXEC_OK);
    fixture->x = exec_slot(fixture->program, "x", CHANNELS, EXEC_ROWS_ALL);
    fixture->mixed = exec_slot(fixture->program, "mixed", CHANNELS, EXEC_ROWS_ALL);
    fixture->out = exec_slot(fixture->program, "out", INNER, EXEC_ROWS_ALL);
    fixture->a = exec_slot(fixture->program, "a", N_HEADS, EXEC_ROWS_ALL);
    fixture->b = exec_slot(fixture->program, "b", N_HEADS, EXEC_ROWS_ALL);
    fixture->twice = exec_slot(fixture->program, "twice", 2 * CHANNELS, EXEC_ROWS_ALL);
    fixture->wanted = exec_slot(fixture->program, "wanted", INNER, EXEC_ROWS_WANTED);
}

static void record(struct fixture *fixture, struct exec_op op)
{
    exec_record(fixture->program, &op);
}

/* All that stands before the convolution, which is op 3. */
static void record_inputs(struct fixture *fixture)
{
    record(fixture, embed(fixture->x, fixture->embd));
    record(fixture, embed(fixture->a, fixture->heads_embd));
    record(fixture, embed(fixture->b, fixture->heads_embd));
}

static void seal_whole(struct fixture *fixture)
{
    struct diag diag = DIAG_INIT;

    set_up(fixture);
    record_inputs(fixture);
    record(fixture, conv_op(fixture));
    record(fixture, delta_op(fixture));
    ck_assert_msg(exec_seal(fixture->program, &diag) == EXEC_OK, "%s", diag.text);
}

/* What is wrong with the convolution, the delta rule or the unzipping behind it; @what counts up. */
static struct exec_op wrong_op(const struct fixture *fixture, int what)
{
    struct exec_op conv = conv_op(fixture);
    struct exec_op delta = delta_op(fixture);
    struct exec_op unzip = { .kind = EXEC_UNZIP, .in = fixture->x, .out = fixture->a, .head_dim = 2, .part = 0 };

    switch (what) {
    case 0:
        conv.states = NULL;
        return conv;
    case 1:
        conv.states = fixture->other_states;
        return conv;
    case 2:
        conv.layer = 1;
        return conv;
    case 3:
        conv.weight = fixture->row;
        return conv;
    case 4:
        conv.weight = NULL;
        return conv;
    case 5:
        conv.out = conv.in;
        return conv;
    case 6:
        conv.out = fixture->out;
        return conv;
    case 7:
        conv.in = fixture->twice;
        return conv;
    case 8:
        delta.states = fixture->other_states;
        return delta;
    case 9:
        delta.states = NULL;
        return delta;
    case 10:
        delta.in2 = fixture->mixed;
        return delta;
    case 11:
        delta.in3 = fixture->twice;
        return delta;
    case 12:
        delta.n_kv_heads = 3;
        return delta;
    case 13:
        delta.n_kv_heads = 0;
        return delta;
    case 14:
        delta.head_dim = KEY + 1;
        return delta;
    case 15:
        delta.weight = fixture->embd;
        return delta;
    case 16:
        delta.bias = NULL;
        return delta;
    case 17:
        delta.out = fixture->wanted;
        return delta;
    case 18:
        unzip.head_dim = 0;
        return unzip;
    case 19:
        unzip.part = CHANNELS / N_HEADS;
        return unzip;
    case 20:
        unzip.head_dim = 3;
        return unzip;
    case 21:
        unzip.out = fixture->out;
        return unzip;
    default:
        unzip.out = unzip.in;
        return unzip;
    }
}

#define N_WRONG 23

START_TEST(an_op_that_does_not_fit_its_states_is_refused)
{
    struct fixture fixture;
    struct diag diag = DIAG_INIT;

    set_up(&fixture);
    record_inputs(&fixture);
    record(&fixture, conv_op(&fixture));
    record(&fixture, wrong_op(&fixture, _i));

    ck_assert_int_eq(exec_seal(fixture.program, &diag), EXEC_REFUSED);
    ck_assert_msg(strstr(diag.text, "op 4"), "%s", diag.text);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(states_that_cannot_be_are_refused)
{
    const struct exec_state_shape shapes[] = {
        { .n_layers = 0, .n_states = 1, .n_window = 1, .n_matrix = 1 },
        { .n_layers = 1, .n_states = 0, .n_window = 1, .n_matrix = 1 },
        { .n_layers = 1, .n_states = 1 },
    };
    struct exec_mem *mem;
    struct fixture fixture;

    set_up(&fixture);
    for (size_t i = 0; i < COUNTOF(shapes); i++) {
        struct diag diag = DIAG_INIT;

        ck_assert_int_eq(exec_alloc_states(fixture.exec, &shapes[i], &mem, &diag), EXEC_REFUSED);
        ck_assert(strstr(diag.text, "cannot be had"));
    }
    exec_close(fixture.exec);
}
END_TEST

/* Three rows whose states and positions do not go together. */
static const struct wrong_rows {
    uint32_t states[3];
    uint32_t positions[3];
} wrong_rows[] = {
    { { 0, 0, 3 }, { 0, 1, 0 } }, /* there are 3 */
    { { 0, 0, 1 }, { 0, 2, 0 } }, /* a gap */
    { { 1, 1, 1 }, { 5, 6, 6 } }, /* twice the same */
    { { 0, 1, 0 }, { 0, 0, 1 } }, /* apart */
};

START_TEST(rows_of_a_sequence_stand_together_and_in_order)
{
    const uint32_t tokens[3] = { 0 };
    struct exec_batch batch = { .n_rows = 3, .tokens = tokens };
    struct fixture fixture;

    seal_whole(&fixture);
    batch.positions = wrong_rows[_i].positions;
    ck_assert_int_eq(exec_bind(fixture.program, &batch), -EINVAL); /* no states at all */

    batch.states = wrong_rows[_i].states;

    ck_assert_int_eq(exec_bind(fixture.program, &batch), -EINVAL);
    exec_close(fixture.exec);
}
END_TEST

/* Runs rows @first .. @first + @n - 1 of the text on state @state, beside @n_beside rows of another sequence. */
static void run(struct fixture *fixture, uint32_t state, uint32_t first, uint32_t n, uint32_t n_beside, float *out)
{
    uint32_t tokens[200];
    uint32_t positions[200];
    uint32_t states[200];
    const struct exec_batch batch = {
        .n_rows = n_beside + n, .tokens = tokens, .positions = positions, .pages = no_pages, .states = states
    };
    uint64_t ticket;

    for (uint32_t i = 0; i < n_beside + n; i++) {
        uint32_t position = i < n_beside ? i : first + i - n_beside;

        tokens[i] = i < n_beside ? 5 : position * 3 % N_TOKENS;
        positions[i] = position;
        states[i] = i < n_beside ? 2 : state;
    }
    ck_assert_int_eq(exec_bind(fixture->program, &batch), 0);
    while (exec_is_left(fixture->program)) {
        ck_assert_int_eq(exec_submit(fixture->program, 1, 0, &ticket), 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_int_eq(exec_read(fixture->program, fixture->out, n_beside + i, out + (size_t)i * INNER, INNER), 0);
    }
}

/* 150 rows: more than two laps. */
START_TEST(a_state_is_that_of_its_sequence_however_its_rows_came)
{
    static float whole[150 * INNER];
    static float pieces[150 * INNER];
    struct fixture fixture;

    seal_whole(&fixture);
    run(&fixture, 0, 0, 150, 0, whole);
    run(&fixture, 1, 0, 1, 3, pieces);
    run(&fixture, 1, 1, 1, 70, pieces + INNER);
    run(&fixture, 1, 2, 68, 100, pieces + 2 * INNER);
    run(&fixture, 1, 70, 80, 0, pieces + 70 * INNER);
    ck_assert(memcmp(whole, pieces, sizeof(whole)) == 0);
    ck_assert(memcmp(whole, whole + INNER, INNER * sizeof(float)) != 0);

    run(&fixture, 0, 0, 150, 40, pieces); /* what stood there is forgotten */

    ck_assert(memcmp(whole, pieces, sizeof(whole)) == 0);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(unzipping_takes_every_second_run)
{
    const uint32_t tokens[1] = { 2 };
    const uint32_t positions[1] = { 0 };
    const struct exec_batch batch = { .n_rows = 1, .tokens = tokens, .positions = positions, .pages = no_pages };
    struct diag diag = DIAG_INIT;
    struct fixture fixture;
    float in[CHANNELS];
    float out[CHANNELS / 2];
    uint64_t ticket;
    uint32_t half;

    set_up(&fixture);
    half = exec_slot(fixture.program, "half", CHANNELS / 2, EXEC_ROWS_ALL);
    record(&fixture, embed(fixture.x, fixture.embd));
    record(&fixture, (struct exec_op){ .kind = EXEC_UNZIP, .in = fixture.x, .out = half, .head_dim = 5, .part = 1 });
    ck_assert_msg(exec_seal(fixture.program, &diag) == EXEC_OK, "%s", diag.text);
    ck_assert_int_eq(exec_bind(fixture.program, &batch), 0);
    while (exec_is_left(fixture.program)) {
        ck_assert_int_eq(exec_submit(fixture.program, 1, 0, &ticket), 0);
    }

    ck_assert_int_eq(exec_read(fixture.program, fixture.x, 0, in, CHANNELS), 0);
    ck_assert_int_eq(exec_read(fixture.program, half, 0, out, CHANNELS / 2), 0);
    for (uint32_t i = 0; i < CHANNELS / 2; i++) {
        ck_assert(memcmp(&out[i], &in[i / 5 * 10 + 5 + i % 5], sizeof(float)) == 0);
    }
    exec_close(fixture.exec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec-state");
    TCase *tcase = tcase_create("state");

    tcase_add_loop_test(tcase, an_op_that_does_not_fit_its_states_is_refused, 0, N_WRONG);
    tcase_add_test(tcase, states_that_cannot_be_are_refused);
    tcase_add_loop_test(tcase, rows_of_a_sequence_stand_together_and_in_order, 0, (int)COUNTOF(wrong_rows));
    tcase_add_test(tcase, a_state_is_that_of_its_sequence_however_its_rows_came);
    tcase_add_test(tcase, unzipping_takes_every_second_run);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
