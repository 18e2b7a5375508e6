/*
 * Fake: scripted logits, for tests of everything above
 *
 * It computes nothing, so weights may be of any type and value. The logits of a row are a function of all tokens of its
 * sequence up to it, so a rebuilt sequence gives the same answer. The tokens are stored in the pages, where keys would
 * be: a page that is mixed up or not rewritten shows in the answer.
 *
 * Without a script the favoured token is a hash of all tokens. The script is a text file with a rule a line; "#" begins
 * a comment. The first rule that holds for a row decides; after `slow` and `wait` the search goes on.
 *
 *     CONDITION ACTION
 *     always | after ID | at POSITION | has ID     (last token; position of the row; any token of the sequence)
 *     token ID      this token is favoured (modulo the vocabulary)
 *     next          last token + 1 is favoured
 *     hash          the default
 *     nan | inf | -inf | equal     all logits are
 *     one-nan | two-inf            the hash's logits, but the favoured is NaN; the favoured and the next are +inf
 *     crash | hang                 the process crashes or hangs when it computes such a row (also one of a prompt)
 *     slow MS                      computing such a row takes so long
 *     wait MS                      the submission with such a row waits so long for the device
 */
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "exec/host.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SCRIPT_BYTES_MAX 65536
#define RULES_MAX        256
#define FAVOUR           10.0f /* logit of the favoured token; the others are in [0, 4) */

enum when { WHEN_ALWAYS, WHEN_AFTER, WHEN_AT, WHEN_HAS, WHEN_COUNT };

enum act {
    ACT_HASH,
    ACT_TOKEN,
    ACT_NEXT,
    ACT_NAN,
    ACT_INF,
    ACT_MINUS_INF,
    ACT_EQUAL,
    ACT_ONE_NAN,
    ACT_TWO_INF,
    ACT_CRASH,
    ACT_HANG,
    ACT_SLOW,
    ACT_WAIT,
    ACT_COUNT,
};

struct word {
    const char *name;
    bool has_number;
};

static const struct word whens[WHEN_COUNT] = {
    [WHEN_ALWAYS] = { "always", false },
    [WHEN_AFTER] = { "after", true },
    [WHEN_AT] = { "at", true },
    [WHEN_HAS] = { "has", true },
};

static const struct word acts[ACT_COUNT] = {
    [ACT_HASH] = { "hash", false },   [ACT_TOKEN] = { "token", true },      [ACT_NEXT] = { "next", false },
    [ACT_NAN] = { "nan", false },     [ACT_INF] = { "inf", false },         [ACT_MINUS_INF] = { "-inf", false },
    [ACT_EQUAL] = { "equal", false }, [ACT_ONE_NAN] = { "one-nan", false }, [ACT_TWO_INF] = { "two-inf", false },
    [ACT_CRASH] = { "crash", false }, [ACT_HANG] = { "hang", false },       [ACT_SLOW] = { "slow", true },
    [ACT_WAIT] = { "wait", true },
};

struct rule {
    enum when when;
    uint32_t when_number;
    enum act act;
    uint32_t act_number;
};

struct fake {
    struct rule rules[RULES_MAX];
    uint32_t n_rules;
    uint64_t n_tickets;
    uint64_t waited_us; /* by the present submission */
};

/* ---- script ---- */

/* Takes the next word off *line, with its number if it has one. Returns false if it is not in @words. */
static bool take_word(char **line, const struct word *words, unsigned n_words, unsigned *ret_word, uint32_t *ret_number)
{
    char *save = NULL;
    char *name = strtok_r(*line, " \t\r", &save);
    char *number;
    unsigned used;
    char tail;

    for (unsigned i = 0; name && i < n_words; i++) {
        if (strcmp(name, words[i].name) != 0) {
            continue;
        }
        if (words[i].has_number) {
            number = strtok_r(NULL, " \t\r", &save);
            if (!number || sscanf(number, "%u%c", &used, &tail) != 1) {
                return false;
            }
            *ret_number = used;
        }
        *ret_word = i;
        *line = save;
        return true;
    }
    return false;
}

static bool parse_rule(char *line, struct rule *ret_rule)
{
    unsigned when;
    unsigned act;

    if (!take_word(&line, whens, WHEN_COUNT, &when, &ret_rule->when_number) || !line ||
        !take_word(&line, acts, ACT_COUNT, &act, &ret_rule->act_number)) {
        return false;
    }
    ret_rule->when = (enum when)when;
    ret_rule->act = (enum act)act;
    return !line || line[strspn(line, " \t\r")] == '\0';
}

static int parse_script(struct fake *fake, char *text, const char *path, struct diag *diag)
{
    unsigned n_lines = 0;

    for (char *line = text, *end; line; line = end) {
        n_lines++;
        end = strchr(line, '\n');
        if (end) {
            *end++ = '\0';
        }
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r")] == '\0') {
            continue;
        }
        if (fake->n_rules == RULES_MAX || !parse_rule(line, &fake->rules[fake->n_rules])) {
            diag_set(diag, "%s:%u: no rule of the fake backend (\"after 17 token 3\", \"always slow 5\")", path,
                     n_lines);
            return EXEC_REFUSED;
        }
        fake->n_rules++;
    }
    return EXEC_OK;
}

static int open_fake(struct exec *exec, const struct exec_setup *setup, struct diag *diag)
{
    cleanup(mem_freep) char *text = NULL;
    struct fake *fake;
    size_t n;
    int r;

    fake = mem_calloc(MEM_MISC, 1, sizeof(*fake));
    if (!fake) {
        return err_new(-ENOMEM);
    }
    exec->private = fake;
    if (!setup->fake_script || !*setup->fake_script) {
        return EXEC_OK;
    }
    r = file_read(setup->fake_script, MEM_MISC, SCRIPT_BYTES_MAX, &text, &n, diag);
    if (r > 0) {
        diag_set(diag, "there is no script %s for the fake backend", setup->fake_script);
    }
    r = r ? r : parse_script(fake, text, setup->fake_script, diag);
    if (r) {
        mem_free(fake);
        exec->private = NULL;
    }
    return r < 0 ? err_up(r) : r > 0 ? EXEC_REFUSED : EXEC_OK;
}

static void close_fake(struct exec *exec)
{
    mem_free(exec->private);
}

static void facts(const struct exec *exec, struct exec_facts *ret_facts)
{
    *ret_facts = (struct exec_facts){ .backend = "fake", .set = "", .arithmetic = "scripted" };
}

static bool may_import(const struct exec *exec, uint32_t type)
{
    return true;
}

static int seal(struct exec_program *program)
{
    return 0;
}

/* ---- rows ---- */

/* Returns where the token of position @position of row @row is stored, or NULL if the program has no pages. */
static uint32_t *token_at(const struct exec_program *program, uint32_t row, uint32_t position)
{
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const struct exec_mem *kv = program->ops[i].kv;

        if (kv) {
            uint32_t page = program->batch.pages[row][position / EXEC_PAGE_TOK];

            return (uint32_t *)(void *)(host_of(kv)->owned + page * kv->row_bytes) + position % EXEC_PAGE_TOK;
        }
    }
    return NULL;
}

static bool has_token(const struct exec_program *program, uint32_t row, uint32_t token)
{
    for (uint32_t i = 0; i <= program->batch.positions[row]; i++) {
        if (*token_at(program, row, i) == token) {
            return true;
        }
    }
    return false;
}

static bool rule_holds(const struct exec_program *program, uint32_t row, const struct rule *rule)
{
    switch (rule->when) {
    case WHEN_ALWAYS:
        return true;
    case WHEN_AFTER:
        return program->batch.tokens[row] == rule->when_number;
    case WHEN_AT:
        return program->batch.positions[row] == rule->when_number;
    case WHEN_HAS:
        return has_token(program, row, rule->when_number);
    case WHEN_COUNT:
        break;
    }
    return false;
}

/* Lets @ms pass. Returns the microseconds that did. */
static uint64_t pass_ms(uint32_t ms)
{
    uint64_t from_us = clock_mono_us();

    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
    return clock_mono_us() - from_us;
}

/* Returns the rule that decides the row's logits, or NULL for the default. With @computes the row is being computed,
 * and rules that act do so. */
static const struct rule *find_rule(const struct exec_program *program, uint32_t row, bool computes)
{
    struct fake *fake = program->exec->private;

    for (uint32_t i = 0; i < fake->n_rules; i++) {
        const struct rule *rule = &fake->rules[i];

        if (!rule_holds(program, row, rule)) {
            continue;
        }
        if (rule->act == ACT_SLOW || rule->act == ACT_WAIT) {
            if (computes) {
                uint64_t took_us = pass_ms(rule->act_number);

                fake->waited_us += rule->act == ACT_WAIT ? took_us : 0;
            }
            continue;
        }
        if (computes && rule->act == ACT_CRASH) {
            raise(SIGABRT);
        }
        while (computes && rule->act == ACT_HANG) {
            sigsuspend(&(sigset_t){ 0 });
        }
        return rule;
    }
    return NULL;
}

/* Source: splitmix64's finaliser. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t hash_tokens(const struct exec_program *program, uint32_t row)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i <= program->batch.positions[row]; i++) {
        hash = mix(hash + *token_at(program, row, i) + UINT64_C(0x9e3779b97f4a7c15));
    }
    return hash;
}

static void fill(float *out, uint32_t n, float value)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = value;
    }
}

static void write_logits(const struct exec_program *program, uint32_t row, float *out, uint32_t n)
{
    const struct rule *rule = find_rule(program, row, false);
    uint64_t hash = hash_tokens(program, row);
    uint32_t best = (uint32_t)(hash % n);

    for (uint32_t i = 0; i < n; i++) {
        out[i] = (float)(mix(hash + i) >> 40) * 0x1p-22f;
    }
    switch (rule ? rule->act : ACT_HASH) {
    case ACT_TOKEN:
        best = rule->act_number % n;
        break;
    case ACT_NEXT:
        best = (program->batch.tokens[row] + 1) % n;
        break;
    case ACT_NAN:
        fill(out, n, NAN);
        return;
    case ACT_INF:
        fill(out, n, INFINITY);
        return;
    case ACT_MINUS_INF:
        fill(out, n, -INFINITY);
        return;
    case ACT_EQUAL:
        fill(out, n, 1.0f);
        return;
    case ACT_ONE_NAN:
        out[best] = NAN;
        return;
    case ACT_TWO_INF:
        out[best] = INFINITY;
        out[(best + 1) % n] = INFINITY;
        return;
    case ACT_HASH:
    case ACT_CRASH:
    case ACT_HANG:
    case ACT_SLOW:
    case ACT_WAIT:
    case ACT_COUNT:
        break;
    }
    out[best] = FAVOUR;
}

/* ---- parts: one op each ---- */

/* Stores the rows' tokens, then lets the rules of these rows act. */
static void run_embed(const struct exec_program *program)
{
    const struct exec_batch *batch = &program->batch;

    for (uint32_t row = 0; row < batch->n_rows; row++) {
        *token_at(program, row, batch->positions[row]) = batch->tokens[row];
    }
    for (uint32_t row = 0; row < batch->n_rows; row++) {
        find_rule(program, row, true);
    }
}

static void run_matmul(struct exec_program *program, const struct exec_op *op)
{
    const struct exec_slot *out = &program->slots[op->out];

    for (uint32_t i = 0; out->rows == EXEC_ROWS_WANTED && i < program->batch.n_wanted; i++) {
        write_logits(program, program->batch.wanted[i], host_slot(program, op->out, i), out->n_cols);
    }
    program->figures.weight_bytes += op->weight->row_bytes * out->n_cols;
}

static int submit(struct exec_program *program, uint32_t n_parts, uint32_t bound_us, uint64_t *ret_ticket)
{
    struct fake *fake = program->exec->private;
    uint8_t phase = program->ops[program->op].phase;
    uint64_t began_us = clock_mono_us();

    fake->waited_us = 0;
    for (uint32_t i = 0; i < n_parts && exec_is_left(program) && program->ops[program->op].phase == phase; i++) {
        const struct exec_op *op = &program->ops[program->op];

        if (op->kind == EXEC_EMBED) {
            run_embed(program);
        } else if (op->kind == EXEC_MATMUL) {
            run_matmul(program, op);
        }
        exec_advance(program, 0, 1, 0);
    }
    program->figures.device_ns = (clock_mono_us() - began_us - fake->waited_us) * 1000;
    program->figures.phase_ns[phase] += program->figures.device_ns;
    *ret_ticket = ++fake->n_tickets;
    return 0;
}

static int wait_for(struct exec *exec, uint64_t ticket, uint32_t timeout_ms)
{
    const struct fake *fake = exec->private;

    return ticket != 0 && ticket <= fake->n_tickets ? EXEC_OK : err_new(-EINVAL);
}

const struct exec_ops exec_fake = {
    .name = "fake",
    .open = open_fake,
    .close = close_fake,
    .facts = facts,
    .may_import = may_import,
    .import = host_import,
    .alloc = host_alloc,
    .free = host_free,
    .write = host_write,
    .copy_page = host_copy_page,
    .seal = seal,
    .bind = host_touch,
    .submit = submit,
    .wait = wait_for,
    .fetch = host_fetch,
};
