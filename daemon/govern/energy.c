#include "govern/energy.h"
#include <math.h>

#define IDLE_MOST  0.02 /* share held up to which we count as idle: a meter's own averaging */
#define WORK_LEAST 0.10 /* share held from which on the difference means something */
#define FORGET_US  10e6 /* time constant of both watts */
#define PAY_US     1e6  /* debts are charged over this much time held */
#define GAP_US     60e6 /* between readings: energy of a longer gap is charged to no request */

void energy_init(struct energy *energy, const struct energy_stated *stated)
{
    *energy = (struct energy){ .stated = *stated };
}

void energy_configure(struct energy *energy, const struct energy_stated *stated)
{
    energy->stated = *stated;
}

void energy_lose_meter(struct energy *energy)
{
    energy_init(energy, &energy->stated);
}

static void approach(double *value, bool *known, double now, double past_us)
{
    if (*known) {
        *value += (now - *value) * (1.0 - exp(-past_us / FORGET_US));
    } else {
        *value = now;
        *known = true;
    }
}

static void learn(struct energy *energy, double uj, double past_us, double held_us)
{
    double share = held_us / past_us;
    double ours_uj;

    energy->owed_uj -= energy->charged_uj; /* also for a step that was measured before and has ended only now */
    if (share <= IDLE_MOST) {
        approach(&energy->without_us, &energy->knows_without, uj / past_us, past_us);
        return;
    }
    if (!energy->knows_without) {
        return;
    }
    ours_uj = fmax(0.0, uj - energy->without_us * past_us);
    if (share >= WORK_LEAST) {
        approach(&energy->with_us, &energy->knows_with, ours_uj / held_us, past_us);
    }
    energy->owed_uj += ours_uj;
}

void energy_read(struct energy *energy, uint64_t at_us, uint64_t uj, uint64_t held_us)
{
    bool is_first = energy->read_us == 0 || at_us < energy->read_us || uj < energy->read_uj;
    double held = held_us > energy->held_us ? (double)(held_us - energy->held_us) : 0.0;
    double past_us = is_first ? 0.0 : (double)(at_us - energy->read_us);

    if (!is_first && at_us == energy->read_us) {
        return;
    }
    if (past_us > 0.0 && past_us < GAP_US) {
        learn(energy, (double)(uj - energy->read_uj), past_us, fmin(held, past_us));
    }
    energy->read_us = at_us;
    energy->read_uj = uj;
    energy->held_us = held_us;
    energy->charged_uj = 0.0;
}

uint64_t energy_charge(struct energy *energy, uint64_t held_us, enum energy_source *ret_source)
{
    double held = (double)held_us;
    double uj;
    double paid;

    if (energy->knows_with || energy->knows_without) {
        paid = energy->owed_uj * fmin(1.0, held / PAY_US);
        uj = fmax(0.0, held * energy->with_us + paid);
        energy->owed_uj -= uj - held * energy->with_us;
        energy->charged_uj += held * energy->with_us;
        *ret_source = ENERGY_MEASURED;
        return (uint64_t)llround(uj);
    }
    if (energy->stated.active_mw > energy->stated.idle_mw) {
        *ret_source = ENERGY_ESTIMATED;
        return (uint64_t)llround(held * (energy->stated.active_mw - energy->stated.idle_mw) / 1000.0);
    }
    *ret_source = ENERGY_UNKNOWN;
    return 0;
}

void energy_divide(uint64_t uj, const double *parts, size_t n, uint64_t *ret_uj)
{
    double sum = 0.0;
    double before = 0.0;
    uint64_t given = 0;

    for (size_t i = 0; i < n; i++) {
        sum += parts[i];
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t until;

        before += sum > 0.0 ? parts[i] / sum : 1.0 / (double)n;
        until = i + 1 == n ? uj : (uint64_t)fmin((double)uj, (double)uj * before);
        ret_uj[i] = until > given ? until - given : 0;
        given += ret_uj[i];
    }
}

enum energy_source energy_sum_source(enum energy_source a, enum energy_source b)
{
    if (a == ENERGY_UNKNOWN || b == ENERGY_UNKNOWN) {
        return a > b ? a : b;
    }
    return a < b ? a : b;
}
