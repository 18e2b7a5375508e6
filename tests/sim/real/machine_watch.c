/*
 * Machine watch, played: the plant's sensors in place of sotto-sense
 *
 * sottod's own machine watch stands for a process and its protocol; what the governor gets of it is a governor_input.
 * Here the plant fills that in.
 */
#include "machine/machine_watch.h"
#include "base/mem.h"
#include "plant/sensors.h"
#include "real/daemon.h"
#include <errno.h>

struct machine_watch {
    uv_loop_t *loop;
    const struct machine_watch_sink *sink;
    void *owner;
    void (*ended)(void *owner);
    void *ended_owner;
};

static struct sensors *sensors;
static struct machine_watch *watches; /* the one that has begun */

void machine_watch_plug(struct sensors *plant)
{
    sensors = plant;
}

void machine_watch_sample(void)
{
    if (watches) {
        uv_update_time(watches->loop); /* as it does before it calls back */
        watches->sink->on_sample(watches->owner, false);
    }
}

bool machine_watch_settle(void)
{
    struct machine_watch *watch = watches;

    if (!watch || !watch->ended) {
        return false;
    }
    watches = NULL;
    watch->ended(watch->ended_owner);
    return true;
}

int machine_watch_create(struct machine_watch **ret_watch, uv_loop_t *loop, const struct machine_config *config,
                         const struct machine_watch_sink *sink, void *owner)
{
    struct machine_watch *watch = mem_calloc(MEM_MISC, 1, sizeof(*watch));

    if (!watch) {
        return -ENOMEM;
    }
    watch->loop = loop;
    watch->sink = sink;
    watch->owner = owner;
    *ret_watch = watch;
    return 0;
}

void machine_watch_begin(struct machine_watch *watch)
{
    watches = watch;
}

void machine_watch_end(struct machine_watch *watch, void (*done)(void *owner), void *owner)
{
    watch->ended = done;
    watch->ended_owner = owner;
}

void machine_watch_destroy(struct machine_watch *watch)
{
    mem_free(watch);
}

int machine_watch_configure(struct machine_watch *watch, const struct machine_config *config)
{
    return 0;
}

bool machine_watch_is_there(const struct machine_watch *watch)
{
    return true;
}

void machine_watch_rate(struct machine_watch *watch, uint32_t period_ms)
{
}

void machine_watch_fill(const struct machine_watch *watch, uint64_t now_us, struct governor_input *input)
{
    sensors_fill(sensors, input);
}

bool machine_watch_energy(const struct machine_watch *watch, uint64_t now_us, uint64_t *ret_at_us, uint64_t *ret_uj)
{
    return false;
}

int machine_watch_report(const struct machine_watch *watch, uint64_t now_us, struct arena *arena,
                         Sotto__V1__StatusReport *report)
{
    return 0;
}
