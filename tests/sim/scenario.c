/*
 * One table describes a scenario; writing, reading and simplifying all walk it.
 */
#include "scenario.h"
#include "base/clean.h"
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 17u
#define LINE_BYTES  1024u
#define NO_COUNT    SIZE_MAX

struct column {
    const char *name;
    size_t offset; /* in the row */
};

/* Rows of one kind; @size is that of one row in bytes. */
struct section {
    const char *name;
    size_t offset;
    size_t size;
    size_t count; /* offset of the number of rows; NO_COUNT: always one row */
    struct column columns[COLUMNS_MAX];
};

#define ONE(member) #member, offsetof(struct scenario, member), sizeof(struct scenario_##member), NO_COUNT
#define MANY(name, row, member)                                                                                        \
    name, offsetof(struct scenario, member), sizeof(struct scenario_##row), offsetof(struct scenario, n_##member)
#define COLUMN(row, member)                                                                                            \
    {                                                                                                                  \
#member, offsetof(struct scenario_##row, member)                                                               \
    }

static const struct section sections[] = {
    { ONE(run),
      { COLUMN(run, seed), COLUMN(run, family), COLUMN(run, lasts_ms), COLUMN(run, settle_ms), COLUMN(run, mutant) } },
    { ONE(screen),
      { COLUMN(screen, hz), COLUMN(screen, jitter_permille), COLUMN(screen, tells), COLUMN(screen, app_from_ms),
        COLUMN(screen, submissions), COLUMN(screen, gap_us), COLUMN(screen, margin_us), COLUMN(screen, measures),
        COLUMN(screen, second_permille), COLUMN(screen, phase_permille) } },
    { MANY("load", load, loads), { COLUMN(load, at_ms), COLUMN(load, base_permille), COLUMN(load, app_permille) } },
    { ONE(chip),
      { COLUMN(chip, cores), COLUMN(chip, part_us), COLUMN(chip, latency_us), COLUMN(chip, noise_permille),
        COLUMN(chip, misjudged_permille), COLUMN(chip, submit_us), COLUMN(chip, slow_permille) } },
    { MANY("clock", clock, clocks), { COLUMN(clock, at_ms), COLUMN(clock, permille) } },
    { MANY("traffic", traffic, traffic), { COLUMN(traffic, at_ms), COLUMN(traffic, permille) } },
    { MANY("engine", engine, engines),
      { COLUMN(engine, fixed_us), COLUMN(engine, prefill_ns), COLUMN(engine, decode_ns), COLUMN(engine, attend_ns),
        COLUMN(engine, tile_rows), COLUMN(engine, cached_pages), COLUMN(engine, slots), COLUMN(engine, rows),
        COLUMN(engine, pages) } },
    { ONE(heat),
      { COLUMN(heat, ambient_mc), COLUMN(heat, start_mc), COLUMN(heat, r_die_mk_per_w), COLUMN(heat, r_case_mk_per_w),
        COLUMN(heat, tau_die_ms), COLUMN(heat, tau_case_ms), COLUMN(heat, ours_mw), COLUMN(heat, screen_mw),
        COLUMN(heat, target_mc), COLUMN(heat, passive_mc), COLUMN(heat, kept_permille) } },
    { MANY("other", other, others), { COLUMN(other, at_ms), COLUMN(other, mw) } },
    { ONE(sense),
      { COLUMN(sense, temp_step_mc), COLUMN(sense, temp_delay_ms), COLUMN(sense, temp_period_ms),
        COLUMN(sense, has_meter), COLUMN(sense, has_load), COLUMN(sense, has_heat) } },
    { ONE(policy),
      { COLUMN(policy, max_slice_us), COLUMN(policy, headroom_permille), COLUMN(policy, min_share_permille),
        COLUMN(policy, heat_grace_ms), COLUMN(policy, graphics_grace_ms) } },
    { MANY("clients", clients, clients),
      { COLUMN(clients, pattern), COLUMN(clients, n), COLUMN(clients, n_uids), COLUMN(clients, first_uid),
        COLUMN(clients, priority), COLUMN(clients, weight), COLUMN(clients, engine), COLUMN(clients, prompt),
        COLUMN(clients, answer), COLUMN(clients, think_ms), COLUMN(clients, at_once), COLUMN(clients, first_by_ms),
        COLUMN(clients, finish_by_ms), COLUMN(clients, tokens_a_minute), COLUMN(clients, from_ms),
        COLUMN(clients, asks), COLUMN(clients, leaves) } },
    { MANY("mishap", mishap, mishaps),
      { COLUMN(mishap, kind), COLUMN(mishap, at_ms), COLUMN(mishap, lasts_ms), COLUMN(mishap, engine) } },
};

#undef ONE
#undef MANY
#undef COLUMN

static int64_t *number(void *base, size_t offset)
{
    return (int64_t *)(void *)((char *)base + offset);
}

static int64_t rows_of(const struct scenario *scenario, const struct section *section)
{
    return section->count == NO_COUNT ? 1 : *(const int64_t *)(const void *)((const char *)scenario + section->count);
}

static void *row_of(struct scenario *scenario, const struct section *section, int64_t i)
{
    return (char *)scenario + section->offset + (size_t)i * section->size;
}

/* ---- text */

void scenario_write(const struct scenario *scenario, FILE *out)
{
    struct scenario copy = *scenario;

    fprintf(out, "# sotto-sim scenario, family %s\n", family_name((enum family)scenario->run.family));
    for (size_t s = 0; s < COUNTOF(sections); s++) {
        for (int64_t i = 0; i < rows_of(scenario, &sections[s]); i++) {
            const struct column *column = sections[s].columns;

            fprintf(out, "%s", sections[s].name);
            for (; column < sections[s].columns + COLUMNS_MAX && column->name; column++) {
                int64_t value = *number(row_of(&copy, &sections[s], i), column->offset);

                if (value != 0) {
                    fprintf(out, " %s=%lld", column->name, (long long)value);
                }
            }
            fprintf(out, "\n");
        }
    }
}

static const struct section *section_named(const char *name)
{
    for (size_t s = 0; s < COUNTOF(sections); s++) {
        if (strcmp(sections[s].name, name) == 0) {
            return &sections[s];
        }
    }
    return NULL;
}

/* Reads "column=value" into @row. */
static bool read_column(const struct section *section, void *row, char *word)
{
    char *equals = strchr(word, '=');
    char *end;

    if (!equals) {
        return false;
    }
    *equals = '\0';
    for (const struct column *column = section->columns; column < section->columns + COLUMNS_MAX && column->name;
         column++) {
        if (strcmp(column->name, word) == 0) {
            *number(row, column->offset) = strtoll(equals + 1, &end, 10);
            return *end == '\0' && end != equals + 1;
        }
    }
    return false;
}

static int read_line(struct scenario *scenario, char *line, int n, struct diag *diag)
{
    char *rest = NULL;
    char *word = strtok_r(line, " \t\n", &rest);
    const struct section *section;
    int64_t row = 0;

    if (!word || *word == '#') {
        return SCENARIO_OK;
    }
    section = section_named(word);
    if (!section) {
        diag_set(diag, "line %d: there is no row \"%s\"", n, word);
        return SCENARIO_BAD;
    }
    if (section->count != NO_COUNT) {
        row = (*number(scenario, section->count))++;
        if (row >= SCENARIO_ROWS_MAX) {
            diag_set(diag, "line %d: more than %u rows \"%s\"", n, SCENARIO_ROWS_MAX, word);
            return SCENARIO_BAD;
        }
    }
    while ((word = strtok_r(NULL, " \t\n", &rest))) {
        if (!read_column(section, row_of(scenario, section, row), word)) {
            diag_set(diag, "line %d: \"%s\" is no column=number of \"%s\"", n, word, section->name);
            return SCENARIO_BAD;
        }
    }
    return SCENARIO_OK;
}

static bool names_its_engines(const struct scenario *scenario)
{
    for (int64_t i = 0; i < scenario->n_clients; i++) {
        if (scenario->clients[i].engine < 0 || scenario->clients[i].engine >= scenario->n_engines) {
            return false;
        }
    }
    return true;
}

int scenario_read(struct scenario *ret_scenario, FILE *in, struct diag *diag)
{
    struct scenario scenario = { 0 };
    char line[LINE_BYTES];

    for (int n = 1; fgets(line, sizeof(line), in); n++) {
        int r = read_line(&scenario, line, n, diag);

        if (r) {
            return r;
        }
    }
    if (scenario.run.lasts_ms <= 0 || scenario.n_engines == 0 || scenario.engines[0].fixed_us <= 0 ||
        scenario.chip.part_us <= 0 || scenario.run.family >= FAMILY_COUNT || scenario.run.family < 0) {
        diag_set(diag, "a scenario needs run lasts_ms and family, chip part_us, and an engine with fixed_us");
        return SCENARIO_BAD;
    }
    if (!names_its_engines(&scenario)) {
        diag_set(diag, "clients name an engine that does not exist: engines count from 0 in the order of rows");
        return SCENARIO_BAD;
    }
    *ret_scenario = scenario;
    return SCENARIO_OK;
}

/* ---- simplifying */

/* There are three ways for each number, and one for each row. */
#define WAYS_A_COLUMN 2u

uint32_t scenario_n_ways(void)
{
    return (uint32_t)(COUNTOF(sections) * SCENARIO_ROWS_MAX * (1 + WAYS_A_COLUMN * COLUMNS_MAX));
}

static bool drop_row(struct scenario *scenario, const struct section *section, int64_t row)
{
    int64_t n = rows_of(scenario, section);
    int64_t least = strcmp(section->name, "engine") == 0 ? 1 : 0;

    if (section->count == NO_COUNT || n <= least) {
        return false;
    }
    memmove(row_of(scenario, section, row), row_of(scenario, section, row + 1), (size_t)(n - row - 1) * section->size);
    memset(row_of(scenario, section, n - 1), 0, section->size);
    *number(scenario, section->count) = n - 1;
    for (int64_t i = 0; i < scenario->n_clients; i++) {
        scenario->clients[i].engine -= scenario->clients[i].engine >= scenario->n_engines;
    }
    return true;
}

/* False for what identifies rows, and what a world can't be without. */
static bool may_change(const struct section *section, const struct column *column)
{
    static const char *const kept[] = { "seed", "family", "mutant", "part_us",    "fixed_us",    "seats",
                                        "rows", "pages",  "hz",     "tau_die_ms", "tau_case_ms", "target_mc" };

    for (size_t i = 0; i < COUNTOF(kept); i++) {
        if (strcmp(column->name, kept[i]) == 0) {
            return false;
        }
    }
    return strcmp(section->name, "policy") != 0;
}

bool scenario_simplify(struct scenario *scenario, uint32_t nth)
{
    uint32_t a_row = 1 + WAYS_A_COLUMN * COLUMNS_MAX;
    const struct section *section = &sections[nth / (SCENARIO_ROWS_MAX * a_row)];
    int64_t row = nth / a_row % SCENARIO_ROWS_MAX;
    uint32_t way = nth % a_row;
    const struct column *column;
    int64_t *value;
    int64_t simpler;

    if (row >= rows_of(scenario, section)) {
        return false;
    }
    if (way == 0) {
        return drop_row(scenario, section, row);
    }
    column = &section->columns[(way - 1) / WAYS_A_COLUMN];
    if (!column->name || !may_change(section, column)) {
        return false;
    }
    value = number(row_of(scenario, section, row), column->offset);
    simpler = (way - 1) % WAYS_A_COLUMN == 0 && strcmp(column->name, "lasts_ms") != 0 ? 0 : *value / 2;
    if (simpler == *value) {
        return false;
    }
    *value = simpler;
    return true;
}

/* ---- names */

static const char *const names[] = {
    [FAMILY_STEADY] = "steady",   [FAMILY_STEP] = "step",           [FAMILY_HINT] = "hint",
    [FAMILY_HEAT] = "heat",       [FAMILY_DISTURBED] = "disturbed", [FAMILY_HOT] = "hot",
    [FAMILY_BLIND] = "blind",     [FAMILY_OVERLOAD] = "overload",   [FAMILY_MODELS] = "models",
    [FAMILY_FAIR] = "fair",       [FAMILY_DEADLINE] = "deadline",   [FAMILY_IDLE] = "idle",
    [FAMILY_STARVE] = "starve",   [FAMILY_FAULT] = "fault",         [FAMILY_CHAOS] = "chaos",
    [FAMILY_SHARE] = "share",     [FAMILY_CLOCKS] = "clocks",       [FAMILY_BURSTS] = "bursts",
    [FAMILY_TWINS] = "twins",     [FAMILY_UNTOLD] = "untold",       [FAMILY_LOSSES] = "losses",
    [FAMILY_ENDLESS] = "endless", [FAMILY_PROMISES] = "promises",   [FAMILY_STUCK] = "stuck",
};

const char *family_name(enum family family)
{
    return family < FAMILY_COUNT ? names[family] : "any";
}

enum family family_find(const char *name)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            return (enum family)i;
        }
    }
    return FAMILY_COUNT;
}
