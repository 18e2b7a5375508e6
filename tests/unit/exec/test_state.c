/* Ops that go through the states of sequences, on every backend: what may be recorded, and that a state belongs to its
 * sequence alone. */
#include "base/clean.h"
#include "fixture.h"
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

#define N_WRONG        23 /* ops that do not fit: convolutions, delta rules, unzippings */
#define N_WRONG_CONVS  8
#define N_WRONG_UNZIPS 5

static float numbers[CHANNELS * CHANNELS];
static const uint32_t *no_pages[200];

struct setting {
    struct exec *exec;
    struct exec_program *program;
    struct exec_mem *embd, *heads_embd, *taps, *row, *states, *other_states;
    uint32_t x, mixed, out, a, b, twice, wanted; /* slots; a and b a column a head */
};

static struct exec_op embed(uint32_t out, const struct exec_mem *weight)
{
    return (struct exec_op){ .kind = EXEC_EMBED, .out = out, .weight = weight };
}

static struct exec_op conv_op(const struct setting *setting)
{
    return (struct exec_op){
        .kind = EXEC_CONV, .in = setting->x, .out = setting->mixed, .weight = setting->taps, .states = setting->states
    };
}

static struct exec_op delta_op(const struct setting *setting)
{
    return (struct exec_op){ .kind = EXEC_DELTA,
                             .in = setting->mixed,
                             .in2 = setting->a,
                             .in3 = setting->b,
                             .out = setting->out,
                             .weight = setting->row,
                             .bias = setting->row,
                             .states = setting->states,
                             .n_heads = N_HEADS,
                             .n_kv_heads = N_KEYS,
                             .head_dim = KEY,
                             .eps = 1e-6f,
                             .scale = 0.5f };
}

static void set_up(struct setting *setting, int backend)
{
    struct exec_state_shape shape = {
        .n_layers = 1, .n_states = 3, .n_window = (TAPS - 1) * CHANNELS, .n_matrix = N_HEADS * KEY * VALUE
    };
    struct diag diag = DIAG_INIT;

    for (size_t i = 0; i < COUNTOF(numbers); i++) {
        numbers[i] = (float)(i * i * 7 % 31) / -31.0f;
    }
    setting->exec = fixture_open(fixture_backend(backend), 2);
    ck_assert_int_eq(exec_program_create(setting->exec, 0, 200, 2, &setting->program), 0);
    setting->embd = fixture_import(setting->exec, numbers, CHANNELS, N_TOKENS);
    setting->heads_embd = fixture_import(setting->exec, numbers, N_HEADS, N_TOKENS);
    setting->taps = fixture_import(setting->exec, numbers, TAPS, CHANNELS);
    setting->row = fixture_import(setting->exec, numbers, N_HEADS, 1);
    ck_assert_int_eq(exec_alloc_states(setting->exec, &shape, &setting->states, &diag), EXEC_OK);
    shape.n_window++;
    shape.n_matrix++;
    ck_assert_int_eq(exec_alloc_states(setting->exec, &shape, &setting->other_states, &diag), EXEC_OK);
    setting->x = exec_slot(setting->program, "x", CHANNELS, EXEC_ROWS_ALL);
    setting->mixed = exec_slot(setting->program, "mixed", CHANNELS, EXEC_ROWS_ALL);
    setting->out = exec_slot(setting->program, "out", INNER, EXEC_ROWS_ALL);
    setting->a = exec_slot(setting->program, "a", N_HEADS, EXEC_ROWS_ALL);
    setting->b = exec_slot(setting->program, "b", N_HEADS, EXEC_ROWS_ALL);
    setting->twice = exec_slot(setting->program, "twice", 2 * CHANNELS, EXEC_ROWS_ALL);
    setting->wanted = exec_slot(setting->program, "wanted", INNER, EXEC_ROWS_WANTED);
}

static void record(struct setting *setting, struct exec_op op)
{
    exec_record(setting->program, &op);
}

/* Records everything before the convolution, which is op 3. */
static void record_inputs(struct setting *setting)
{
    record(setting, embed(setting->x, setting->embd));
    record(setting, embed(setting->a, setting->heads_embd));
    record(setting, embed(setting->b, setting->heads_embd));
}

static void seal_whole(struct setting *setting, int backend)
{
    struct diag diag = DIAG_INIT;

    set_up(setting, backend);
    record_inputs(setting);
    record(setting, conv_op(setting));
    record(setting, delta_op(setting));
    ck_assert_msg(exec_seal(setting->program, &diag) == EXEC_OK, "%s", diag.text);
}

/* Returns a convolution, a delta rule or an unzipping with one mistake. */
static struct exec_op wrong_op(const struct setting *setting, int which)
{
    const struct exec_op unzip = { .kind = EXEC_UNZIP, .in = setting->x, .out = setting->a, .head_dim = 2 };
    struct exec_op ops[N_WRONG];

    for (int i = 0; i < N_WRONG; i++) {
        ops[i] = i < N_WRONG_CONVS ? conv_op(setting) : i < N_WRONG - N_WRONG_UNZIPS ? delta_op(setting) : unzip;
    }
    ops[0].states = NULL;
    ops[1].states = setting->other_states;
    ops[2].layer = 1;
    ops[3].weight = setting->row;
    ops[4].weight = NULL;
    ops[5].out = ops[5].in;
    ops[6].out = setting->out;
    ops[7].in = setting->twice;
    ops[8].states = setting->other_states;
    ops[9].states = NULL;
    ops[10].in2 = setting->mixed;
    ops[11].in3 = setting->twice;
    ops[12].n_kv_heads = 3;
    ops[13].n_kv_heads = 0;
    ops[14].head_dim = KEY + 1;
    ops[15].weight = setting->embd;
    ops[16].bias = NULL;
    ops[17].out = setting->wanted;
    ops[18].head_dim = 0;
    ops[19].part = CHANNELS / N_HEADS;
    ops[20].head_dim = 3;
    ops[21].out = setting->out;
    ops[22].out = ops[22].in;
    return ops[which];
}

START_TEST(an_op_that_does_not_fit_its_states_is_refused)
{
    struct setting setting;
    struct diag diag = DIAG_INIT;

    set_up(&setting, _i);
    record_inputs(&setting);
    record(&setting, conv_op(&setting));
    record(&setting, wrong_op(&setting, _i / FIXTURE_BACKENDS));

    ck_assert_int_eq(exec_seal(setting.program, &diag), EXEC_REFUSED);
    ck_assert_msg(strstr(diag.text, "op 4"), "%s", diag.text);
    exec_close(setting.exec);
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
    struct setting setting;

    set_up(&setting, _i);
    for (size_t i = 0; i < COUNTOF(shapes); i++) {
        struct diag diag = DIAG_INIT;

        ck_assert_int_eq(exec_alloc_states(setting.exec, &shapes[i], &mem, &diag), EXEC_REFUSED);
        ck_assert(strstr(diag.text, "cannot be had"));
    }
    exec_close(setting.exec);
}
END_TEST

/* Three rows with states and positions that do not fit together. */
static const struct wrong_rows {
    uint32_t states[3];
    uint32_t positions[3];
} wrong_rows[] = {
    { { 0, 0, 3 }, { 0, 1, 0 } }, /* there are 3 */
    { { 0, 0, 1 }, { 0, 2, 0 } }, /* a gap */
    { { 1, 1, 1 }, { 5, 6, 6 } }, /* a position twice */
    { { 0, 1, 0 }, { 0, 0, 1 } }, /* not adjacent */
};

START_TEST(rows_of_a_sequence_stand_together_and_in_order)
{
    const uint32_t tokens[3] = { 0 };
    struct exec_batch batch = { .n_rows = 3, .tokens = tokens };
    struct setting setting;

    seal_whole(&setting, _i);
    batch.positions = wrong_rows[_i / FIXTURE_BACKENDS].positions;
    ck_assert_int_eq(exec_bind(setting.program, &batch), -EINVAL); /* no states at all */

    batch.states = wrong_rows[_i / FIXTURE_BACKENDS].states;

    ck_assert_int_eq(exec_bind(setting.program, &batch), -EINVAL);
    exec_close(setting.exec);
}
END_TEST

/* Runs rows @first .. @first + @n - 1 of the text on state @state, beside @n_beside rows of another sequence. */
static void run(struct setting *setting, uint32_t state, uint32_t first, uint32_t n, uint32_t n_beside, float *out)
{
    uint32_t tokens[200];
    uint32_t positions[200];
    uint32_t states[200];
    const struct exec_batch batch = {
        .n_rows = n_beside + n, .tokens = tokens, .positions = positions, .pages = no_pages, .states = states
    };

    for (uint32_t i = 0; i < n_beside + n; i++) {
        uint32_t position = i < n_beside ? i : first + i - n_beside;

        tokens[i] = i < n_beside ? 5 : position * 3 % N_TOKENS;
        positions[i] = position;
        states[i] = i < n_beside ? 2 : state;
    }
    ck_assert_int_eq(exec_bind(setting->program, &batch), 0);
    fixture_run(setting->exec, setting->program);
    for (uint32_t i = 0; i < n; i++) {
        fixture_read(setting->program, setting->out, n_beside + i, out + (size_t)i * INNER, INNER);
    }
}

/* 150 rows are more than two chunks. */
START_TEST(a_state_is_that_of_its_sequence_however_its_rows_came)
{
    static float whole[150 * INNER];
    static float pieces[150 * INNER];
    struct setting setting;

    seal_whole(&setting, _i);
    run(&setting, 0, 0, 150, 0, whole);
    run(&setting, 1, 0, 1, 3, pieces);
    run(&setting, 1, 1, 1, 70, pieces + INNER);
    run(&setting, 1, 2, 68, 100, pieces + 2 * INNER);
    run(&setting, 1, 70, 80, 0, pieces + 70 * INNER);
    ck_assert(memcmp(whole, pieces, sizeof(whole)) == 0);
    ck_assert(memcmp(whole, whole + INNER, INNER * sizeof(float)) != 0);

    run(&setting, 0, 0, 150, 40, pieces); /* the old state is overwritten */

    ck_assert(memcmp(whole, pieces, sizeof(whole)) == 0);
    exec_close(setting.exec);
}
END_TEST

START_TEST(unzipping_takes_every_second_run)
{
    const uint32_t tokens[1] = { 2 };
    const uint32_t positions[1] = { 0 };
    const struct exec_batch batch = { .n_rows = 1, .tokens = tokens, .positions = positions, .pages = no_pages };
    struct diag diag = DIAG_INIT;
    struct setting setting;
    float in[CHANNELS];
    float out[CHANNELS / 2];
    uint32_t half;

    set_up(&setting, _i);
    half = exec_slot(setting.program, "half", CHANNELS / 2, EXEC_ROWS_ALL);
    record(&setting, embed(setting.x, setting.embd));
    record(&setting, (struct exec_op){ .kind = EXEC_UNZIP, .in = setting.x, .out = half, .head_dim = 5, .part = 1 });
    ck_assert_msg(exec_seal(setting.program, &diag) == EXEC_OK, "%s", diag.text);
    ck_assert_int_eq(exec_bind(setting.program, &batch), 0);
    fixture_run(setting.exec, setting.program);

    fixture_read(setting.program, setting.x, 0, in, CHANNELS);
    fixture_read(setting.program, half, 0, out, CHANNELS / 2);
    for (uint32_t i = 0; i < CHANNELS / 2; i++) {
        ck_assert(memcmp(&out[i], &in[i / 5 * 10 + 5 + i % 5], sizeof(float)) == 0);
    }
    exec_close(setting.exec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec-state");
    TCase *tcase = tcase_create("state");
    const int all = FIXTURE_BACKENDS;

    tcase_add_loop_test(tcase, an_op_that_does_not_fit_its_states_is_refused, 0, all * N_WRONG);
    tcase_add_loop_test(tcase, states_that_cannot_be_are_refused, 0, all);
    tcase_add_loop_test(tcase, rows_of_a_sequence_stand_together_and_in_order, 0, all * (int)COUNTOF(wrong_rows));
    tcase_add_loop_test(tcase, a_state_is_that_of_its_sequence_however_its_rows_came, 0, FIXTURE_COMPUTING);
    tcase_add_loop_test(tcase, unzipping_takes_every_second_run, 0, FIXTURE_COMPUTING);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
