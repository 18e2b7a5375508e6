#include "plant.h"
#include <math.h>

static double rounded(const struct plant *plant, double temp)
{
    double n = plant->step > 0.0 ? temp / plant->step : 0.0;

    if (plant->step <= 0.0) {
        return temp;
    }
    switch (plant->rounding) {
    case PLANT_DOWN:
        return floor(n) * plant->step;
    case PLANT_NEAREST:
        return floor(n + 0.5) * plant->step;
    case PLANT_UP:
        return ceil(n) * plant->step;
    case PLANT_ROUNDINGS:
        break;
    }
    return temp;
}

void plant_start(struct plant *plant, double temp)
{
    plant->chip = temp;
    plant->board = temp;
    plant->n_steps = 0;
    plant->reading_us = 0;
    for (uint32_t i = 0; i < PLANT_PAST; i++) {
        plant->past[i] = temp;
    }
    plant->reading = rounded(plant, temp);
}

void plant_step(struct plant *plant, double share)
{
    double s = PLANT_STEP_US / 1e6;
    double inner = plant->resistance * plant->chip_part;
    double outer = plant->resistance - inner;
    double flow = (plant->chip - plant->board) / inner;
    uint64_t now_us = plant->n_steps * PLANT_STEP_US;
    uint64_t late = plant->late_us / PLANT_STEP_US;

    plant->chip += s * (share + plant->others - flow) * inner / plant->chip_s;
    plant->board += s * (flow - (plant->board - plant->ambient) / outer) * outer / plant->board_s;
    plant->past[plant->n_steps % PLANT_PAST] = plant->chip;
    if (plant->n_steps == 0 || now_us - plant->reading_us >= plant->period_us) {
        plant->reading = rounded(plant, plant->past[(plant->n_steps + PLANT_PAST - late) % PLANT_PAST]);
        plant->reading_us = now_us;
    }
    plant->n_steps++;
}

double plant_chance(uint64_t *seed)
{
    /* xorshift64* */
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (double)((*seed * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

void plant_draw(struct plant *plant, uint64_t *seed, double target)
{
    const uint64_t periods_us[] = { 50000, 250000, 1000000, 250000 };

    *plant = (struct plant){ 0 };
    plant->ambient = 25.0 + 20.0 * plant_chance(seed);
    plant->resistance = 65.0 * pow(2.0, 2.0 * plant_chance(seed) - 1.0);
    plant->chip_part = 0.1 + 0.5 * plant_chance(seed);
    plant->board_s = pow(60.0, plant_chance(seed));
    plant->chip_s = fmax(1.0, plant->board_s * (0.03 + 0.3 * plant_chance(seed)));
    plant->step = plant_chance(seed) < 0.8 ? 1.0 : 0.0;
    plant->rounding = (enum plant_rounding)(PLANT_ROUNDINGS * plant_chance(seed));
    plant->late_us = (uint64_t)(2e6 * plant_chance(seed));
    plant->period_us = periods_us[(uint32_t)(4.0 * plant_chance(seed))];
    plant->others = 0.8 * plant_chance(seed) * (target - plant->ambient) / plant->resistance;
}
