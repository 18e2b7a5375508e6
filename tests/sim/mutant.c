#include "mutant.h"
#include "base/clean.h"
#include "base/num.h"

const struct mutant_row mutants[MUTANT_COUNT] = {
    [MUTANT_NONE] = { "none", "sotto as it is", FAMILY_CHAOS, INVARIANT_COUNT },
    [MUTANT_NO_INTEGRAL] = { "no-integral", "the heat controller forgets what it had learnt", FAMILY_HEAT,
                             INVARIANT_CYCLE },
    [MUTANT_NO_SLICE] = { "no-slice", "steps run through, whatever their slice", FAMILY_STEADY,
                          INVARIANT_FRAMES },
    [MUTANT_NO_REST] = { "no-rest", "the place is not left alone between slices", FAMILY_STEADY,
                         INVARIANT_REST },
    [MUTANT_NO_SUSPEND] = { "no-suspend", "nothing that runs is interrupted for a higher class",
                            FAMILY_MODELS, INVARIANT_FIRST },
    [MUTANT_NO_AGE] = { "no-age", "nobody grows older by waiting", FAMILY_STARVE, INVARIANT_PROGRESS },
    [MUTANT_NO_WEIGHT] = { "no-weight", "all accounts weigh the same", FAMILY_FAIR, INVARIANT_FAIR },
    [MUTANT_NO_LEARN] = { "no-learn", "the cost model stays as the warm-up left it", FAMILY_IDLE,
                          INVARIANT_COST },
    [MUTANT_NO_ADMIT] = { "no-admit", "every deadline is promised", FAMILY_DEADLINE, INVARIANT_DEADLINE },
    [MUTANT_NO_LINE] = { "no-line", "who is told to come again has no place in line", FAMILY_OVERLOAD,
                         INVARIANT_BACK },
    [MUTANT_BLIND_IDLE] = { "blind-idle", "what can't be read is taken for nothing", FAMILY_BLIND,
                            INVARIANT_BLIND },
    [MUTANT_DEAF] = { "deaf", "hints are not heard", FAMILY_HINT, INVARIANT_HINT },
    [MUTANT_LEAK] = { "leak", "a cancelled request's sequence stays open", FAMILY_STEADY, INVARIANT_LEAK },
};

void mutant_blinds(enum mutant mutant, struct governor_input *input)
{
    if (mutant != MUTANT_BLIND_IDLE) {
        return;
    }
    for (uint32_t i = 0; i < input->n_zones; i++) {
        if (input->zones[i].sight == GOVERNOR_BLIND || input->zones[i].temp_mc < -50000) {
            input->zones[i].sight = GOVERNOR_NONE;
        }
        input->zones[i].at_us = input->now_us;
    }
    if (input->graphics.sight == GOVERNOR_BLIND) {
        input->graphics.sight = GOVERNOR_NONE;
    }
}

void mutant_forgets(enum mutant mutant, struct governor *governor)
{
    if (mutant == MUTANT_NO_INTEGRAL) {
        governor->heat.thermostat.integral = 1.0;
    }
}

void mutant_rejuvenates(struct queue *queue, uint64_t now_us)
{
    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        struct list *link;

        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);

            job->since_us = now_us;
            job->lane->asked_us[i] = now_us;
        }
    }
}
