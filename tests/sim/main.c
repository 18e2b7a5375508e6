/*
 * sotto-sim: the daemon's scheduler and governor in random worlds
 *
 * See docs/simulator.md.
 */
#include "base/args.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/num.h"
#include "sweep.h"
#include <stdlib.h>
#include <string.h>

enum option {
    OPTION_SEED,
    OPTION_FAMILY,
    OPTION_MUTANT,
    OPTION_SVG,
    OPTION_TRACE,
    OPTION_JSON,
    OPTION_FROM,
    OPTION_COUNT,
    OPTION_OUT,
    OPTION_QUIET,
    OPTION_HELP
};

static const struct arg_row rows[] = {
    [OPTION_SEED] = { "seed", 's', ARG_UINT, "N", NULL, "the scenario's seed (run, shrink)" },
    [OPTION_FAMILY] = { "family", 'f', ARG_TEXT, "NAME", NULL, "only this family; otherwise the seed chooses" },
    [OPTION_MUTANT] = { "mutant", 'm', ARG_TEXT, "NAME", NULL, "sotto with one mechanism removed (run, shrink)" },
    [OPTION_SVG] = { "svg", 0, ARG_TEXT, "FILE", NULL, "draw the run (run, replay)" },
    [OPTION_TRACE] = { "trace", 't', ARG_FLAG, NULL, NULL, "a line for each event (run, replay)" },
    [OPTION_JSON] = { "json", 0, ARG_FLAG, NULL, NULL, "results as one JSON object (run, replay, sweep)" },
    [OPTION_FROM] = { "from", 0, ARG_UINT, "N", NULL, "first seed (sweep); 1" },
    [OPTION_COUNT] = { "count", 'n', ARG_UINT, "N", NULL, "number of seeds (sweep); 1000" },
    [OPTION_OUT] = { "out", 'o', ARG_TEXT, "FILE", NULL,
                     "file for the simplified scenario (shrink), or the scenario (run)" },
    [OPTION_QUIET] = { "quiet", 'q', ARG_FLAG, NULL, NULL, "no progress (sweep)" },
    [OPTION_HELP] = { "help", 'h', ARG_FLAG, NULL, NULL, "this page" },
    { NULL },
};

static int usage(FILE *out)
{
    fprintf(out, "sotto-sim COMMAND [OPTION...]\n\n"
                 "The scheduler and the governor of sottod under a virtual clock, beside a screen that "
                 "misses frames, on a\n"
                 "chip that grows warm, with clients that do as they like. The same seed gives the same run on every "
                 "machine.\n\n"
                 "  run --seed N       runs and judges one scenario\n"
                 "  sweep              runs many; a table by family and by invariant; exit code 1 if one fails\n"
                 "  replay FILE        runs a scenario from a file\n"
                 "  shrink --seed N    simplifies a failing scenario as far as it still fails, and writes it\n"
                 "  mutants            checks that each mutant is caught by its invariant\n"
                 "  families           lists the families of scenarios\n\n");
    args_help(rows, out);
    return out == stdout ? 0 : 2;
}

static int complain(const char *what, const char *word)
{
    fprintf(stderr, "sotto-sim: %s%s%s (--help tells more)\n", what, word ? ": " : "", word ? word : "");
    return 2;
}

static bool read_mutant(const char *name, struct sweep_options *options)
{
    for (int i = 0; i < MUTANT_COUNT; i++) {
        if (strcmp(mutants[i].name, name) == 0) {
            options->mutant = (enum mutant)i;
            return true;
        }
    }
    return false;
}

/* Takes one option into @options. Returns 0 or the exit code. */
static int take(const struct arg_found *found, struct sweep_options *options)
{
    switch ((enum option)found->row) {
    case OPTION_SEED:
        options->from = found->number;
        options->has_seed = true;
        return 0;
    case OPTION_FAMILY:
        options->family = family_find(found->text);
        return options->family == FAMILY_COUNT ? complain("there is no family", found->text) : 0;
    case OPTION_MUTANT:
        return read_mutant(found->text, options) ? 0 : complain("there is no mutant", found->text);
    case OPTION_SVG:
        options->svg = found->text;
        return 0;
    case OPTION_TRACE:
        options->trace = true;
        return 0;
    case OPTION_JSON:
        options->json = true;
        return 0;
    case OPTION_FROM:
        options->from = found->number;
        return 0;
    case OPTION_COUNT:
        options->count = found->number;
        return 0;
    case OPTION_OUT:
        options->out = found->text;
        return 0;
    case OPTION_QUIET:
        options->quiet = true;
        return 0;
    case OPTION_HELP:
        break;
    }
    return 0;
}

static int tell_families(void)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        printf("%s\n", family_name((enum family)i));
    }
    return 0;
}

static int run_command(const char *command, const struct sweep_options *options)
{
    if (strcmp(command, "run") == 0) {
        return options->has_seed ? sweep_run(options) : complain("run needs --seed", NULL);
    }
    if (strcmp(command, "sweep") == 0) {
        return sweep_many(options);
    }
    if (strcmp(command, "replay") == 0) {
        return options->file ? sweep_replay(options) : complain("replay needs a file", NULL);
    }
    if (strcmp(command, "shrink") == 0) {
        return options->has_seed || options->file ? sweep_shrink(options)
                                                  : complain("shrink needs --seed or a file", NULL);
    }
    if (strcmp(command, "mutants") == 0) {
        return sweep_mutants(options);
    }
    if (strcmp(command, "families") == 0) {
        return tell_families();
    }
    return complain("there is no command", command);
}

int main(int argc, char **argv)
{
    struct sweep_options options = { .from = 1, .count = 1000, .family = FAMILY_COUNT };
    struct diag diag = DIAG_INIT;
    struct arg_found found;
    struct args args;
    int r;

    if (argc < 2) {
        return usage(stderr);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        return usage(stdout);
    }
    args_init(&args, rows, argc - 2, argv + 2);
    while ((r = args_next(&args, &found, &diag)) == ARGS_FOUND) {
        if (found.row == OPTION_HELP) {
            return usage(stdout);
        }
        if (found.row < 0) {
            options.file = found.text;
            continue;
        }
        r = take(&found, &options);
        if (r) {
            return r;
        }
    }
    return r == ARGS_END ? run_command(argv[1], &options) : complain(diag.text, NULL);
}
