#include "traits.h"
#include "base/num.h"
#include "plant/gpu.h"
#include "rng.h"

/* Returns what frames need of their period at most, in permille, without jitter. */
static int64_t heaviest(const struct scenario *scenario)
{
    int64_t clock = 1000;
    int64_t most = 0;

    for (int64_t i = 0; i < scenario->n_clocks; i++) {
        clock = (int64_t)num_min((uint64_t)clock, (uint64_t)scenario->clocks[i].permille);
    }
    for (int64_t i = 0; i < scenario->n_loads; i++) {
        int64_t load = scenario->loads[i].base_permille + scenario->loads[i].app_permille;

        most = (int64_t)num_max((uint64_t)most, (uint64_t)load);
    }
    return most * 1000 / clock;
}

/*
 * Makes frames as compositors and their apps draw them: two to four submissions, with up to a third of the room of the
 * heaviest frame between them, or in one of five eight that follow each other closely, as a renderer's passes do. Of
 * the compositors a third begin the last one at a fixed time, some ms before they must (Weston's repaint window is 7 ms
 * with the work), and a third 1 ms and the longest of their last frames before it (Mutter's constant). A quarter of the
 * machines have a second screen.
 */
static void split_frames(struct scenario *scenario, struct rng *rng)
{
    struct scenario_screen *screen = &scenario->screen;
    int64_t room_us;

    if (screen->hz == 0 || rng_chance(rng, 300)) {
        return;
    }
    room_us = 1000 * (1000 - (int64_t)num_min(1000, (uint64_t)heaviest(scenario))) / screen->hz;
    if (rng_chance(rng, 800)) {
        screen->submissions = rng_between(rng, 2, 4);
        screen->gap_us = rng_between(rng, 0, room_us / 3 / (screen->submissions - 1));
    } else {
        screen->submissions = GPU_SUBMISSIONS_MAX;
        screen->gap_us = rng_between(rng, 0, 100);
    }
    switch (rng_between(rng, 0, 2)) {
    case 0:
        screen->margin_us = rng_spread(rng, 2000, 6000);
        break;
    case 1:
        screen->margin_us = 1000;
        screen->measures = 1;
        break;
    default: /* the last one is made as soon as the others are drawn */
        break;
    }
    if (rng_chance(rng, 250)) {
        screen->second_permille = rng_between(rng, 200, 500);
        screen->phase_permille = rng_between(rng, 0, 999);
    }
}

/*
 * Makes costs of another form than the cost model's, in half of the worlds: prompt rows in tiles, as matrix kernels
 * compute them; contexts that leave the cache; a submission that takes its time; and steps that are slow for no reason,
 * unless they would be taken for another user of a device that tells no load.
 */
static void bend_costs(struct scenario *scenario, struct rng *rng)
{
    if (rng_chance(rng, 500)) {
        return;
    }
    for (int64_t i = 0; i < scenario->n_engines; i++) {
        if (rng_chance(rng, 500)) {
            scenario->engines[i].tile_rows = 4 << rng_between(rng, 0, 2);
        }
        if (rng_chance(rng, 500)) {
            scenario->engines[i].cached_pages = rng_spread(rng, 64, 4096);
        }
    }
    scenario->chip.submit_us = rng_chance(rng, 500) ? rng_between(rng, 0, 100) : 0;
    if (scenario->sense.has_load && rng_chance(rng, 500)) {
        scenario->chip.slow_permille = rng_between(rng, 0, 20);
    }
}

void traits_make(struct scenario *scenario, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, RNG_TRAITS);
    split_frames(scenario, &rng);
    bend_costs(scenario, &rng);
}
