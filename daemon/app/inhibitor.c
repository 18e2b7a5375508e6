/*
 * Inhibitor: carries out what suspend.h decides
 */
#include "app/inhibitor.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include <inttypes.h>

#define LOOK_MS 5u /* a part ends within 20 */

static void act(struct inhibitor *inhibitor, enum suspend_do what);

static void look(struct inhibitor *inhibitor)
{
    act(inhibitor, suspend_on_look(&inhibitor->suspend, hub_is_still(inhibitor->hub), clock_mono_us()));
}

static void on_look(uv_timer_t *timer)
{
    look(timer->data);
}

static void act(struct inhibitor *inhibitor, enum suspend_do what)
{
    switch (what) {
    case SUSPEND_DO_NOTHING:
        break;
    case SUSPEND_DO_STOP:
        log_info("app", "event: sleep-begins");
        hub_sleep(inhibitor->hub);
        uv_update_time(inhibitor->look.loop);
        uv_timer_start(&inhibitor->look, on_look, LOOK_MS, LOOK_MS);
        break;
    case SUSPEND_DO_RELEASE:
        uv_timer_stop(&inhibitor->look);
        log_info("app", "event: sleep-ready, after_us: %" PRIu64, clock_mono_us() - inhibitor->suspend.announced_us);
        logind_release(inhibitor->logind);
        break;
    case SUSPEND_DO_WAKE:
        uv_timer_stop(&inhibitor->look);
        log_info("app", "event: sleep-ends");
        logind_lock(inhibitor->logind);
        hub_wake(inhibitor->hub);
        break;
    }
}

static void on_locked(void *owner)
{
    struct inhibitor *inhibitor = owner;

    suspend_on_locked(&inhibitor->suspend);
}

static void on_sleep(void *owner, bool is_going)
{
    struct inhibitor *inhibitor = owner;

    act(inhibitor, suspend_on_announced(&inhibitor->suspend, is_going, clock_mono_us()));
}

static void on_lost(void *owner)
{
    struct inhibitor *inhibitor = owner;

    act(inhibitor, suspend_on_lost(&inhibitor->suspend));
}

static const struct logind_sink sink = { .on_locked = on_locked, .on_sleep = on_sleep, .on_lost = on_lost };

int inhibitor_begin(struct inhibitor *inhibitor, uv_loop_t *loop, struct hub *hub)
{
    int r;

    suspend_init(&inhibitor->suspend);
    inhibitor->hub = hub;
    uv_timer_init(loop, &inhibitor->look);
    inhibitor->look.data = inhibitor;
    r = logind_open(&inhibitor->logind, loop, &sink, inhibitor);
    return err_up(r);
}

void inhibitor_end(struct inhibitor *inhibitor)
{
    logind_close(inhibitor->logind);
    inhibitor->logind = NULL;
}
