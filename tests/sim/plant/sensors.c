#include "plant/sensors.h"
#include "base/num.h"

/* A reading of another kind of sensor, which can't be taken for a temperature. */
#define NONSENSE_MC (-274000)

static bool is_there(const struct sensors *sensors, enum gpu_client client)
{
    return client == GPU_BASE ||
           sensors->timeline->now_ns >= (uint64_t)sensors->scenario->screen.app_from_ms * TIMELINE_MS;
}

static void read_client(struct sensors *sensors, enum gpu_client which)
{
    struct sensors_client *client = &sensors->clients[which];
    uint64_t now_ns = sensors->timeline->now_ns;
    double busy_ns = gpu_busy_ns(sensors->gpu, which);

    if (now_ns > client->at_ns) {
        double permille = 1000.0 * (busy_ns - client->busy_ns) / (double)(now_ns - client->at_ns);

        client->permille = permille > 1000.0 ? 1000 : (uint32_t)permille;
    }
    client->at_ns = now_ns;
    client->busy_ns = busy_ns;
}

static void read_load(struct sensors *sensors)
{
    uint64_t now_ns = sensors->timeline->now_ns;
    bool walks = now_ns >= sensors->walk_ns;

    if (sensors->is_gone[MISHAP_LOAD_GONE]) {
        return;
    }

    if (walks) {
        sensors->walk_ns += SENSORS_WALK_NS;
    }
    for (int i = 0; i < GPU_CLIENT_COUNT; i++) {
        struct sensors_client *client = &sensors->clients[i];
        uint64_t pace_ns = client->permille > 0 ? SENSORS_BUSY_NS : SENSORS_REST_NS;

        if (!client->known && walks && is_there(sensors, (enum gpu_client)i)) {
            /* All that it did so far is known at once, as its counters began at 0. */
            client->known = true;
            client->at_ns = (uint64_t)num_max(now_ns - num_min(now_ns, SENSORS_BUSY_NS),
                                              (uint64_t)sensors->scenario->screen.app_from_ms * TIMELINE_MS);
            read_client(sensors, (enum gpu_client)i);
        } else if (client->known && now_ns >= client->at_ns + pace_ns) {
            read_client(sensors, (enum gpu_client)i);
        }
    }
}

/* Rounds down to whole steps, as drivers do that shift a register. */
static int32_t quantised(double mc, int64_t step_mc)
{
    int64_t whole = (int64_t)mc;

    if (step_mc > 1) {
        whole -= (whole % step_mc + step_mc) % step_mc;
    }
    return (int32_t)whole;
}

/* Reads slower quantities, at their own pace. */
static void read_heat(struct sensors *sensors)
{
    const struct scenario_sense *family = &sensors->scenario->sense;
    uint64_t now_ns = sensors->timeline->now_ns;
    uint64_t late = (uint64_t)family->temp_delay_ms * TIMELINE_MS / SENSORS_TICK_NS;

    if (now_ns < sensors->temp_due_ns) {
        return;
    }
    sensors->temp_due_ns = now_ns + (uint64_t)family->temp_period_ms * TIMELINE_MS;
    if (sensors->n_summed > 0) {
        sensors->mw = sensors->sum_mw / (double)sensors->n_summed;
        sensors->sum_mw = 0.0;
        sensors->n_summed = 0;
        sensors->meter_us = now_ns / TIMELINE_US;
    }
    if (sensors->is_gone[MISHAP_HEAT_GONE] || sensors->is_gone[MISHAP_HEAT_FROZEN] ||
        sensors->is_gone[MISHAP_HEAT_NONSENSE]) {
        return;
    }
    sensors->temp_us = now_ns / TIMELINE_US;
    if (sensors->is_gone[MISHAP_HEAT_STUCK]) {
        return;
    }
    sensors->temp_mc =
        quantised(sensors->past_mc[(sensors->n_ticks + SENSORS_PAST - 1 - late) % SENSORS_PAST], family->temp_step_mc);
}

static void on_sample(void *owner)
{
    struct sensors *sensors = owner;

    read_load(sensors);
    read_heat(sensors);
    timeline_enter(sensors->timeline, &sensors->sample, sensors->timeline->now_ns + SENSORS_BUSY_NS);
    if (sensors->told) {
        sensors->told(sensors->owner);
    }
}

void sensors_init(struct sensors *sensors, struct timeline *timeline, const struct scenario *scenario, struct gpu *gpu,
                  const struct thermal *thermal)
{
    *sensors = (struct sensors){
        .timeline = timeline,
        .scenario = scenario,
        .gpu = gpu,
        .thermal = thermal,
    };
    rng_init(&sensors->rng, (uint64_t)scenario->run.seed, RNG_SENSORS);
    for (int i = 0; i < GPU_CLIENT_COUNT; i++) {
        sensors->clients[i].known = i == GPU_BASE || scenario->screen.app_from_ms == 0;
    }
    for (size_t i = 0; i < SENSORS_PAST; i++) {
        sensors->past_mc[i] = thermal->now.die_mc;
    }
    sensors->temp_mc = (int32_t)thermal->now.die_mc;
    sensors->walk_ns = (uint64_t)rng_between(&sensors->rng, 0, (int64_t)(SENSORS_WALK_NS));
    timeline_event_init(&sensors->sample, on_sample, sensors);
    timeline_enter(timeline, &sensors->sample, (uint64_t)rng_between(&sensors->rng, 0, (int64_t)(SENSORS_BUSY_NS)));
}

void sensors_finish(struct sensors *sensors)
{
    timeline_cancel(sensors->timeline, &sensors->sample);
}

void sensors_tick(struct sensors *sensors, double mw)
{
    sensors->past_mc[sensors->n_ticks++ % SENSORS_PAST] = sensors->thermal->now.die_mc;
    sensors->sum_mw += mw;
    sensors->n_summed++;
}

void sensors_mishap(struct sensors *sensors, enum mishap mishap, bool begins)
{
    sensors->is_gone[mishap] = begins;
}

static void fill_load(const struct sensors *sensors, struct governor_input *input)
{
    const struct scenario *scenario = sensors->scenario;
    uint64_t at_ns = 0;

    if (!scenario->sense.has_load) {
        /* Where neither a screen nor our work needs one, there is no GPU. */
        input->graphics.sight = scenario->screen.hz > 0 || !scenario->chip.cores ? GOVERNOR_UNTOLD : GOVERNOR_NONE;
        return;
    }
    input->graphics.busy_permille = 0;
    for (int i = 0; i < GPU_CLIENT_COUNT; i++) {
        input->graphics.busy_permille += sensors->clients[i].known ? sensors->clients[i].permille : 0;
        at_ns = num_max(at_ns, sensors->clients[i].at_ns);
    }
    input->graphics.busy_permille = (uint32_t)num_min(input->graphics.busy_permille, 1000);
    input->graphics.sight = sensors->is_gone[MISHAP_LOAD_GONE] ? GOVERNOR_BLIND : GOVERNOR_SEEN;
    input->graphics.at_us = at_ns / TIMELINE_US;
    input->graphics.cur_hz = GPU_MAX_HZ * (uint64_t)gpu_clock_permille(scenario, sensors->timeline->now_ns) / 1000;
    input->graphics.max_hz = GPU_MAX_HZ;
}

void sensors_fill(struct sensors *sensors, struct governor_input *input)
{
    const struct scenario *scenario = sensors->scenario;
    struct governor_zone *zone = &input->zones[0];

    fill_load(sensors, input);
    input->n_zones = scenario->sense.has_heat ? 1 : 0;
    if (scenario->sense.has_heat) {
        *zone = (struct governor_zone){
            .sight = sensors->is_gone[MISHAP_HEAT_GONE] ? GOVERNOR_BLIND : GOVERNOR_SEEN,
            .at_us = sensors->temp_us,
            .temp_mc = sensors->is_gone[MISHAP_HEAT_NONSENSE] ? NONSENSE_MC : sensors->temp_mc,
            .passive_mc = (int32_t)scenario->heat.passive_mc,
            .critical_mc = (int32_t)scenario->heat.passive_mc + 10000,
        };
    }
    input->power.sight = scenario->sense.has_meter ? GOVERNOR_SEEN : GOVERNOR_NONE;
    input->power.at_us = sensors->meter_us;
    input->power.mw = (uint32_t)sensors->mw;
}
