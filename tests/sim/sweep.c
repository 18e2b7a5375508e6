#include "sweep.h"
#include "base/clean.h"
#include <stdlib.h>
#include <string.h>

/* Runs that simplifying a scenario may take. */
#define SHRINK_RUNS 4000u
#define MUTANT_RUNS 12u
#define FAILURES    12u /* failing runs that are named */

struct family_sum {
    uint64_t n_runs;
    uint64_t n_failed;
    uint64_t n_events;
    uint64_t n_frames;
    uint64_t n_missed;
    uint64_t n_missed_alone;
    uint64_t n_asked;
    uint64_t n_refused;
    uint64_t n_tok;
    uint64_t virtual_ms;
};

struct sums {
    struct tallies tallies;
    struct family_sum families[FAMILY_COUNT];
    struct {
        uint64_t seed;
        enum family family;
        enum invariant which;
        double worst;
    } failures[FAILURES];
    uint32_t n_failures;
};

/* ---- one run */

static void print_tallies(const struct tallies *tallies, bool with_seed)
{
    printf("%-10s %12s %10s %12s %-14s %s\n", "invariant", "cases", "beyond", "worst", "", "bound");
    for (int i = 0; i < INVARIANT_COUNT; i++) {
        const struct tally *tally = &tallies->of[i];
        const struct invariant_row *row = &invariants[i];

        if (tally->n == 0) {
            continue;
        }
        printf("%-10s %12llu %10llu %12.3f %-14s %s%s", row->name, (unsigned long long)tally->n,
               (unsigned long long)tally->n_bad, tally->worst, row->unit, row->bound,
               tally_fails(tally, (enum invariant)i) ? "  FAILS" : "");
        if (with_seed) {
            printf("  (seed %llu)", (unsigned long long)tally->seed);
        } else if (tally->n_bad > 0) {
            printf("  (first at %.3f s)", tally->worst_s);
        }
        printf("\n");
    }
}

static void print_tallies_json(const struct tallies *tallies)
{
    bool first = true;

    printf("{");
    for (int i = 0; i < INVARIANT_COUNT; i++) {
        const struct tally *tally = &tallies->of[i];

        if (tally->n > 0) {
            printf("%s\"%s\":{\"cases\":%llu,\"beyond\":%llu,\"may_miss_ppm\":%u,\"worst\":%.6g,\"at_s\":%.3f,"
                   "\"seed\":%llu,\"holds\":%s}",
                   first ? "" : ",", invariants[i].name, (unsigned long long)tally->n, (unsigned long long)tally->n_bad,
                   invariants[i].may_miss_ppm, tally->worst, tally->worst_s, (unsigned long long)tally->seed,
                   tally_fails(tally, (enum invariant)i) ? "false" : "true");
            first = false;
        }
    }
    printf("}");
}

static int run_scenario(const struct scenario *scenario, const struct sweep_options *options)
{
    struct chart *chart = options->svg ? chart_create(scenario) : NULL;
    struct world_view view = { .chart = chart, .trace = options->trace ? stdout : NULL };
    struct world_result result;
    enum invariant failed;
    bool is_drawn = true;

    world_run(scenario, &view, &result);
    failed = tallies_first_failure(&result.tallies);
    if (options->json) {
        printf("{\"seed\":%lld,\"family\":\"%s\",\"frames\":%llu,\"missed\":%llu,\"missed_alone\":%llu,"
               "\"tokens\":%llu,"
               "\"invariants\":",
               (long long)scenario->run.seed, family_name((enum family)scenario->run.family),
               (unsigned long long)result.n_frames, (unsigned long long)result.n_missed,
               (unsigned long long)result.n_missed_alone, (unsigned long long)result.n_tok);
        print_tallies_json(&result.tallies);
        printf("}\n");
    } else {
        printf("family %s, seed %lld: %.1f s, %llu events; %llu frames, %llu missed (%llu without us); %llu "
               "requests, "
               "%llu refused; %llu rows, %llu tokens; %llu changes of mode\n",
               family_name((enum family)scenario->run.family), (long long)scenario->run.seed,
               (double)scenario->run.lasts_ms / 1000.0, (unsigned long long)result.n_events,
               (unsigned long long)result.n_frames, (unsigned long long)result.n_missed,
               (unsigned long long)result.n_missed_alone, (unsigned long long)result.n_asked,
               (unsigned long long)result.n_refused, (unsigned long long)result.n_rows,
               (unsigned long long)result.n_tok, (unsigned long long)result.n_mode_changes);
        print_tallies(&result.tallies, false);
    }
    if (chart) {
        char title[160];

        snprintf(title, sizeof(title), "sotto-sim: %s%s", failed == INVARIANT_COUNT ? "all invariants hold" : "fails: ",
                 failed == INVARIANT_COUNT ? "" : invariants[failed].name);
        is_drawn = chart_write(chart, options->svg, title);
        chart_destroy(chart);
    }
    if (!is_drawn) {
        fprintf(stderr, "sotto-sim: %s can't be written\n", options->svg);
        return 2;
    }
    return failed == INVARIANT_COUNT ? 0 : 1;
}

static int write_scenario(const struct scenario *scenario, const char *path)
{
    FILE *out = path ? fopen(path, "w") : stdout;

    if (!out) {
        fprintf(stderr, "sotto-sim: %s can't be written\n", path);
        return 2;
    }
    scenario_write(scenario, out);
    return path && fclose(out) ? 2 : 0;
}

int sweep_run(const struct sweep_options *options)
{
    struct scenario scenario;
    int r = 0;

    scenario_make(&scenario, options->from, options->family);
    scenario.run.mutant = options->mutant;
    if (options->out) {
        r = write_scenario(&scenario, options->out);
    }
    return r ? r : run_scenario(&scenario, options);
}

static int read_scenario(struct scenario *scenario, const char *path)
{
    struct diag diag = DIAG_INIT;
    FILE *in = fopen(path, "r");
    int r;

    if (!in) {
        fprintf(stderr, "sotto-sim: %s can't be read\n", path);
        return 2;
    }
    r = scenario_read(scenario, in, &diag);
    fclose(in);
    if (r) {
        fprintf(stderr, "sotto-sim: %s: %s\n", path, diag.text);
        return 2;
    }
    return 0;
}

int sweep_replay(const struct sweep_options *options)
{
    struct scenario scenario;
    int r = read_scenario(&scenario, options->file);

    return r ? r : run_scenario(&scenario, options);
}

/* ---- many */

static void add_run(struct sums *sums, const struct scenario *scenario, const struct world_result *result)
{
    struct family_sum *family = &sums->families[scenario->run.family];
    enum invariant failed = INVARIANT_COUNT;

    tally_merge(&sums->tallies, &result->tallies, (uint64_t)scenario->run.seed);
    for (int i = 0; i < INVARIANT_COUNT; i++) {
        if (invariants[i].may_miss_ppm == 0 && tally_fails(&result->tallies.of[i], (enum invariant)i)) {
            failed = (enum invariant)i;
            break;
        }
    }
    family->n_runs++;
    family->n_failed += failed != INVARIANT_COUNT;
    family->n_events += result->n_events;
    family->n_frames += result->n_frames;
    family->n_missed += result->n_missed;
    family->n_missed_alone += result->n_missed_alone;
    family->n_asked += result->n_asked;
    family->n_refused += result->n_refused;
    family->n_tok += result->n_tok;
    family->virtual_ms += (uint64_t)scenario->run.lasts_ms;
    if (failed != INVARIANT_COUNT && sums->n_failures < FAILURES) {
        sums->failures[sums->n_failures].seed = (uint64_t)scenario->run.seed;
        sums->failures[sums->n_failures].family = (enum family)scenario->run.family;
        sums->failures[sums->n_failures].which = failed;
        sums->failures[sums->n_failures++].worst = result->tallies.of[failed].worst;
    }
}

static void sweep(const struct sweep_options *options, struct sums *sums)
{
    for (uint64_t i = 0; i < options->count; i++) {
        struct world_result result;
        struct scenario scenario;

        scenario_make(&scenario, options->from + i, options->family);
        scenario.run.mutant = options->mutant;
        world_run(&scenario, NULL, &result);
        add_run(sums, &scenario, &result);
        if (!options->quiet && (i + 1) % 100 == 0) {
            fprintf(stderr, "\r%llu of %llu", (unsigned long long)(i + 1), (unsigned long long)options->count);
        }
    }
    if (!options->quiet && options->count >= 100) {
        fprintf(stderr, "\n");
    }
}

static void print_sums(const struct sums *sums)
{
    printf("%-10s %7s %7s %10s %10s %8s %8s %10s %9s %10s\n", "family", "runs", "failed", "seconds", "frames", "missed",
           "without", "requests", "refused", "tokens");
    for (int i = 0; i < FAMILY_COUNT; i++) {
        const struct family_sum *family = &sums->families[i];

        if (family->n_runs > 0) {
            printf("%-10s %7llu %7llu %10.0f %10llu %8llu %8llu %10llu %9llu %10llu\n", family_name((enum family)i),
                   (unsigned long long)family->n_runs, (unsigned long long)family->n_failed,
                   (double)family->virtual_ms / 1000.0, (unsigned long long)family->n_frames,
                   (unsigned long long)family->n_missed, (unsigned long long)family->n_missed_alone,
                   (unsigned long long)family->n_asked, (unsigned long long)family->n_refused,
                   (unsigned long long)family->n_tok);
        }
    }
    printf("\n");
    print_tallies(&sums->tallies, true);
    for (uint32_t i = 0; i < sums->n_failures; i++) {
        printf("%sfails: --seed %llu --family %s: %s, %.3f %s\n", i == 0 ? "\n" : "",
               (unsigned long long)sums->failures[i].seed, family_name(sums->failures[i].family),
               invariants[sums->failures[i].which].name, sums->failures[i].worst,
               invariants[sums->failures[i].which].unit);
    }
}

int sweep_many(const struct sweep_options *options)
{
    struct sums sums = { 0 };

    sweep(options, &sums);
    if (options->json) {
        uint64_t n_tok = 0;
        uint64_t n_refused = 0;
        uint64_t n_failed = 0;

        for (int i = 0; i < FAMILY_COUNT; i++) {
            n_tok += sums.families[i].n_tok;
            n_refused += sums.families[i].n_refused;
            n_failed += sums.families[i].n_failed;
        }
        printf("{\"from\":%llu,\"count\":%llu,\"failed\":%llu,\"tokens\":%llu,\"refused\":%llu,\"invariants\":",
               (unsigned long long)options->from, (unsigned long long)options->count, (unsigned long long)n_failed,
               (unsigned long long)n_tok, (unsigned long long)n_refused);
        print_tallies_json(&sums.tallies);
        printf("}\n");
    } else {
        print_sums(&sums);
    }
    return tallies_first_failure(&sums.tallies) == INVARIANT_COUNT ? 0 : 1;
}

/* ---- simplifying */

static bool still_fails(const struct scenario *scenario, enum invariant which)
{
    struct world_result result;

    world_run(scenario, NULL, &result);
    return tally_fails(&result.tallies.of[which], which);
}

int sweep_shrink(const struct sweep_options *options)
{
    struct world_result result;
    struct scenario best;
    enum invariant which;
    uint32_t n_runs = 0;
    bool smaller = true;

    if (options->file) {
        int r = read_scenario(&best, options->file);

        if (r) {
            return r;
        }
    } else {
        scenario_make(&best, options->from, options->family);
        best.run.mutant = options->mutant;
    }
    world_run(&best, NULL, &result);
    which = tallies_first_failure(&result.tallies);
    if (which == INVARIANT_COUNT) {
        fprintf(stderr, "sotto-sim: this scenario does not fail\n");
        return 2;
    }
    while (smaller && n_runs < SHRINK_RUNS) {
        smaller = false;
        for (uint32_t i = 0; i < scenario_n_ways() && n_runs < SHRINK_RUNS; i++) {
            struct scenario tried = best;

            if (scenario_simplify(&tried, i) && ++n_runs && still_fails(&tried, which)) {
                best = tried;
                smaller = true;
            }
        }
    }
    fprintf(stderr, "%s still fails after %u runs\n", invariants[which].name, n_runs);
    return write_scenario(&best, options->out);
}

/* ---- mutants */

static const struct tally *sum_of(struct sums *sums, const struct sweep_options *base, enum mutant mutant,
                                  const struct mutant_row *row)
{
    struct sweep_options options = *base;

    options.mutant = mutant;
    options.family = row->family;
    options.from = row->from > 0 ? row->from : base->from;
    options.count = MUTANT_RUNS;
    options.quiet = true;
    *sums = (struct sums){ 0 };
    sweep(&options, sums);
    return &sums->tallies.of[row->caught_by];
}

int sweep_mutants(const struct sweep_options *options)
{
    int r = 0;

    printf("%-12s %-10s %-10s %-8s %12s %12s  %s\n", "mutant", "family", "invariant", "verdict", "worst",
           "sotto's worst", "what is taken away");
    for (int i = MUTANT_NONE + 1; i < MUTANT_COUNT; i++) {
        const struct mutant_row *row = &mutants[i];
        struct sums with;
        struct sums without;
        const struct tally *mutated = sum_of(&with, options, (enum mutant)i, row);
        const struct tally *sound = sum_of(&without, options, MUTANT_NONE, row);
        bool is_caught = tally_fails(mutated, row->caught_by);
        bool is_sound = !tally_fails(sound, row->caught_by) && sound->n > 0;

        printf("%-12s %-10s %-10s %-8s %12.3f %12.3f  %s\n", row->name, family_name(row->family),
               invariants[row->caught_by].name,
               !is_sound   ? "UNSOUND"
               : is_caught ? "caught"
                           : "ESCAPES",
               mutated->worst, sound->worst, row->what);
        if (!is_caught || !is_sound) {
            r = 1;
        }
    }
    return r;
}
