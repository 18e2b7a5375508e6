/*
 * Worlds: runs those that are named on standard input, and prints one JSON line for each
 *
 *     FAMILY SEED LIMIT_MS, or - FILE LIMIT_MS, a line
 *
 * A world that takes more CPU time than its limit ends the process by SIGPROF. With --reached each line lists the
 * mutants that would have differed.
 */
#include "mutate.h"
#include "world.h"
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static uint64_t cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static bool find_scenario(struct scenario *ret_scenario, const char *family, const char *name)
{
    struct diag diag = DIAG_INIT;
    FILE *in;
    int r;

    if (strcmp(family, "-") != 0) {
        scenario_make(ret_scenario, strtoull(name, NULL, 10), family_find(family));
        return family_find(family) != FAMILY_COUNT;
    }
    in = fopen(name, "r");
    if (!in) {
        return false;
    }
    r = scenario_read(ret_scenario, in, &diag);
    fclose(in);
    return r == 0;
}

/* Prints the invariants that have cases, as name: [cases, beyond, allowed in a million, worst]. */
static void print_tallies(const struct tallies *tallies)
{
    const char *before = "";

    for (int i = 0; i < INVARIANT_COUNT; i++) {
        const struct tally *tally = &tallies->of[i];

        if (tally->n > 0) {
            double worst = tally->worst - tally->worst == 0 ? tally->worst : 0; /* JSON knows no infinity */

            printf("%s\"%s\":[%llu,%llu,%u,%.6g]", before, invariants[i].name, (unsigned long long)tally->n,
                   (unsigned long long)tally->n_bad, invariants[i].may_miss_ppm, worst);
            before = ",";
        }
    }
}

static void print_reached(void)
{
    const char *before = "";

    printf(",\"reached\":[");
    for (unsigned i = 1; i < MUTATE_MOST; i++) {
        if (mutate_differs[i]) {
            printf("%s%u", before, i);
            before = ",";
        }
    }
    printf("]");
}

static void run(const struct scenario *scenario, const char *family, const char *name, bool with_reached)
{
    struct world_result result;
    uint64_t began_us = cpu_us();

    memset(mutate_differs, 0, sizeof(mutate_differs));
    world_run(scenario, NULL, &result);
    printf("{\"world\":\"%s %s\",\"us\":%llu,\"figures\":[%llu,%llu,%llu,%llu,%llu,%llu],\"invariants\":{", family,
           name, (unsigned long long)(cpu_us() - began_us), (unsigned long long)result.n_tok,
           (unsigned long long)result.n_rows, (unsigned long long)result.n_asked, (unsigned long long)result.n_refused,
           (unsigned long long)result.n_missed, (unsigned long long)result.n_mode_changes);
    print_tallies(&result.tallies);
    printf("}");
    if (with_reached) {
        print_reached();
    }
    printf("}\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bool with_reached = argc > 1 && strcmp(argv[1], "--reached") == 0;
    char family[32];
    char name[256];
    unsigned limit_ms;

    while (scanf("%31s %255s %u", family, name, &limit_ms) == 3) {
        struct itimerval timer = { .it_value = { .tv_sec = limit_ms / 1000, .tv_usec = limit_ms % 1000 * 1000 } };
        struct scenario scenario;

        if (!find_scenario(&scenario, family, name)) {
            fprintf(stderr, "there is no scenario %s %s\n", family, name);
            return 2;
        }
        setitimer(ITIMER_PROF, &timer, NULL);
        run(&scenario, family, name, with_reached);
    }
    return 0;
}
