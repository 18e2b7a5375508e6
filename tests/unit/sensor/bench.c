#include "bench.h"
#include "unit.h"
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

/* Time limit of a reader that does not hang. */
#define PATIENCE_MS 60000

void bench_open(struct bench *bench)
{
    memset(bench, 0, sizeof(*bench));
    bench->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_eq(readers_open(&bench->readers, bench->notify_fd), 0);
    sampler_init(&bench->sampler, &bench->readers);
    bench->now_us = 1000000000;
}

void bench_close(struct bench *bench)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        sampler_collect(&bench->sampler, bench->now_us);
        if (!sampler_is_pending(&bench->sampler)) {
            break;
        }
        usleep(1000);
    }
    usleep(20000);
    ck_assert(readers_close(&bench->readers));
    sampler_finish(&bench->sampler);
    close(bench->notify_fd);
}

void bench_found(struct bench *bench, struct fake *const *fakes, uint32_t n)
{
    memset(&bench->scan_result, 0, sizeof(bench->scan_result));
    for (uint32_t i = 0; i < n; i++) {
        scan_result_add(&bench->scan_result, &fakes[i]->source);
    }
    ck_assert_int_eq(sampler_take_scan(&bench->sampler, &bench->scan_result, bench->now_us), 0);
}

static bool is_shut(const struct channel *channel)
{
    struct fake *fake = container_of(channel->job.source, struct fake, source);
    bool shut;

    pthread_mutex_lock(&fake->lock);
    shut = fake->is_shut;
    pthread_mutex_unlock(&fake->lock);
    return shut;
}

/* Returns true if a reader is inside a source that the test has shut, and @channel waits for the same reader. */
static bool is_behind_a_shut_one(struct bench *bench, const struct channel *channel)
{
    struct list *link;
    bool is_behind = false;

    pthread_mutex_lock(&bench->readers.lock);
    list_for_each (link, &bench->sampler.channels) {
        const struct channel *other = container_of(link, struct channel, link);

        is_behind = is_behind || (other->job.submitted_us && other->job.state == READ_JOB_READING && is_shut(other) &&
                                  other->job.reader == channel->job.reader);
    }
    pthread_mutex_unlock(&bench->readers.lock);
    return is_behind;
}

/* Returns true if a reading is pending that will come: its reader does not hang. */
static bool is_pending(struct bench *bench)
{
    struct list *link;

    list_for_each (link, &bench->sampler.channels) {
        const struct channel *channel = container_of(link, struct channel, link);

        if (channel->job.submitted_us && !is_behind_a_shut_one(bench, channel)) {
            return true;
        }
    }
    return false;
}

static void settle(struct bench *bench)
{
    sampler_collect(&bench->sampler, bench->now_us);
    for (int i = 0; i < PATIENCE_MS && is_pending(bench); i++) {
        if (!sampler_collect(&bench->sampler, bench->now_us)) {
            usleep(1000);
        }
    }
}

void bench_run(struct bench *bench, uint32_t ms)
{
    for (uint32_t at = 0; at < ms; at += 10) {
        bench->now_us += 10000;
        sampler_step(&bench->sampler, bench->now_us);
        settle(bench);
    }
}

const struct channel *bench_channel(const struct bench *bench, const struct fake *fake)
{
    struct list *link;

    list_for_each (link, &bench->sampler.channels) {
        const struct channel *channel = container_of(link, struct channel, link);

        if (channel->job.source == &fake->source) {
            return channel;
        }
    }
    ck_abort_msg("no such gauge");
    return NULL;
}
