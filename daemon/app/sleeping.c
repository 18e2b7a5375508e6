#include "app/sleeping.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include <inttypes.h>

#define LOOK_MS 5u /* a part ends within 20 */

static void act(struct sleeping *sleeping, enum sleep_do what);

static void look(struct sleeping *sleeping)
{
    act(sleeping, sleep_on_look(&sleeping->sleep, hub_is_still(sleeping->hub), clock_mono_us()));
}

static void on_look(uv_timer_t *timer)
{
    look(timer->data);
}

static void act(struct sleeping *sleeping, enum sleep_do what)
{
    switch (what) {
    case SLEEP_DO_NOTHING:
        break;
    case SLEEP_DO_STOP:
        log_info("app", "event: sleep-begins");
        hub_sleep(sleeping->hub);
        uv_update_time(sleeping->look.loop);
        uv_timer_start(&sleeping->look, on_look, LOOK_MS, LOOK_MS);
        break;
    case SLEEP_DO_RELEASE:
        uv_timer_stop(&sleeping->look);
        log_info("app", "event: sleep-ready, after_us: %" PRIu64, clock_mono_us() - sleeping->sleep.told_us);
        logind_release(sleeping->logind);
        break;
    case SLEEP_DO_WAKE:
        uv_timer_stop(&sleeping->look);
        log_info("app", "event: sleep-ends");
        logind_lock(sleeping->logind);
        hub_wake(sleeping->hub);
        break;
    }
}

static void on_locked(void *owner)
{
    struct sleeping *sleeping = owner;

    sleep_on_locked(&sleeping->sleep);
}

static void on_sleep(void *owner, bool is_going)
{
    struct sleeping *sleeping = owner;

    act(sleeping, sleep_on_told(&sleeping->sleep, is_going, clock_mono_us()));
}

static void on_lost(void *owner)
{
    struct sleeping *sleeping = owner;

    act(sleeping, sleep_on_lost(&sleeping->sleep));
}

static const struct logind_sink sink = { .on_locked = on_locked, .on_sleep = on_sleep, .on_lost = on_lost };

int sleeping_begin(struct sleeping *sleeping, uv_loop_t *loop, struct hub *hub)
{
    int r;

    sleep_init(&sleeping->sleep);
    sleeping->hub = hub;
    uv_timer_init(loop, &sleeping->look);
    sleeping->look.data = sleeping;
    r = logind_open(&sleeping->logind, loop, &sink, sleeping);
    return r ? err_up(r) : 0;
}

void sleeping_end(struct sleeping *sleeping)
{
    logind_close(sleeping->logind);
    sleeping->logind = NULL;
}
