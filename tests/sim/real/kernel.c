#include "real/kernel.h"
#include "base/num.h"
#include "rng.h"
#include <assert.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define ALARMS 4u
#define JOBS   64u /* of libuv's pool at once: text_pool.h gives it no more than it has threads */

/* Real time at the start. Only chat templates and events show it. */
#define EPOCH_S 1700000000

/* Replaces a function of a shared library, for that library's own calls as well. */
#define REPLACES __attribute__((visibility("default")))

struct kernel_alarm {
    int fd; /* an event counter, which is readable as a timer that has rung is */
    bool is_open;
    uint64_t at_ns; /* 0: not set */
};

static struct {
    const struct timeline *timeline; /* NULL: the kernel's own clock */
    struct rng rng;
    struct kernel_alarm alarms[ALARMS];
    uv_work_t *jobs[JOBS]; /* a ring */
    uint32_t first_job;
    uint32_t n_jobs;
} kernel;

void kernel_begin(const struct timeline *timeline, uint64_t seed)
{
    memset(&kernel, 0, sizeof(kernel));
    rng_init(&kernel.rng, seed, RNG_SCENARIO);
    kernel.timeline = timeline;
}

void kernel_end(void)
{
    assert(kernel.n_jobs == 0);
    kernel.timeline = NULL;
}

/* ---- time */

REPLACES int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    uint64_t now_ns;

    if (!kernel.timeline) {
        return (int)syscall(SYS_clock_gettime, id, ret_time);
    }
    now_ns = num_max(kernel.timeline->now_ns, TIMELINE_US); /* no clock of a machine that runs shows 0 */
    ret_time->tv_sec = (time_t)(now_ns / TIMELINE_S) + (id == CLOCK_REALTIME ? EPOCH_S : 0);
    ret_time->tv_nsec = (long)(now_ns % TIMELINE_S);
    return 0;
}

static struct kernel_alarm *alarm_of(int fd)
{
    for (uint32_t i = 0; i < ALARMS; i++) {
        if (kernel.alarms[i].is_open && kernel.alarms[i].fd == fd) {
            return &kernel.alarms[i];
        }
    }
    return NULL;
}

REPLACES int timerfd_create(clockid_t id, int flags)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    (void)id;
    (void)flags;
    for (uint32_t i = 0; i < ALARMS && fd >= 0; i++) {
        if (!kernel.alarms[i].is_open) {
            kernel.alarms[i] = (struct kernel_alarm){ .fd = fd, .is_open = true };
            return fd;
        }
    }
    assert(false); /* sottod has one */
    return -1;
}

REPLACES int timerfd_settime(int fd, int flags, const struct itimerspec *set, struct itimerspec *ret_old)
{
    struct kernel_alarm *alarm = alarm_of(fd);
    eventfd_t n;

    assert(alarm && (flags & TFD_TIMER_ABSTIME) && !ret_old);
    (void)eventfd_read(fd, &n); /* one that has rung and was not heard does not ring any more */
    alarm->at_ns = (uint64_t)set->it_value.tv_sec * TIMELINE_S + (uint64_t)set->it_value.tv_nsec;
    return 0;
}

bool kernel_ring(void)
{
    bool rang = false;

    for (uint32_t i = 0; i < ALARMS; i++) {
        struct kernel_alarm *alarm = &kernel.alarms[i];

        if (alarm->is_open && alarm->at_ns > 0 && alarm->at_ns <= kernel.timeline->now_ns) {
            alarm->at_ns = 0;
            eventfd_write(alarm->fd, 1);
            rang = true;
        }
    }
    return rang;
}

uint64_t kernel_next_ns(void)
{
    uint64_t next_ns = UINT64_MAX;

    for (uint32_t i = 0; i < ALARMS; i++) {
        if (kernel.alarms[i].is_open && kernel.alarms[i].at_ns > 0) {
            next_ns = num_min(next_ns, kernel.alarms[i].at_ns);
        }
    }
    return next_ns;
}

/* ---- random bytes */

REPLACES ssize_t getrandom(void *bytes, size_t n, unsigned flags)
{
    if (!kernel.timeline) {
        return syscall(SYS_getrandom, bytes, n, flags);
    }
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)rng_next(&kernel.rng);
    }
    return (ssize_t)n;
}

/* ---- the pool */

REPLACES int uv_queue_work(uv_loop_t *loop, uv_work_t *job, uv_work_cb work, uv_after_work_cb done)
{
    assert(kernel.n_jobs < JOBS);
    job->loop = loop;
    job->work_cb = work;
    job->after_work_cb = done;
    kernel.jobs[(kernel.first_job + kernel.n_jobs++) % JOBS] = job;
    return 0;
}

bool kernel_work(void)
{
    bool worked = false;

    while (kernel.n_jobs > 0) {
        uv_work_t *job = kernel.jobs[kernel.first_job];

        kernel.first_job = (kernel.first_job + 1) % JOBS;
        kernel.n_jobs--;
        job->work_cb(job);
        job->after_work_cb(job, 0);
        worked = true;
    }
    return worked;
}
