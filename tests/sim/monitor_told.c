/*
 * Judges refusals: whether the time after which to ask again was about the time that it took.
 */
#include "base/num.h"
#include "monitor.h"

/* A time told may be so many times the real one, or such a part of it. */
#define TOLD_TIMES 4.0

/* True if requests of a higher class than @priority would fill half of the slots. */
static bool is_crowded_out(const struct monitor *monitor, enum priority priority)
{
    const struct queue *queue = &monitor->server->queue;
    int64_t n = 0;

    for (const struct job *job = queue_first_from(queue, (size_t)priority + 1); job; job = queue_next(queue, job)) {
        n++;
    }
    return 2 * n >= monitor->scenario->engines[0].slots;
}

/* Begins to watch how long it takes until as many requests of the user have ended as are live; one refusal at a time,
 * and the longest time that the user is told meanwhile. A higher class that is as many may keep on coming for
 * ever, which no time can tell. */
static void watch_ends(struct monitor *monitor, const struct job *job, uint64_t retry_us, bool is_late)
{
    struct monitor_full *full = &monitor->full;

    if (full->n_left == 0 && !is_crowded_out(monitor, job->priority)) {
        *full = (struct monitor_full){
            .at_ns = monitor->timeline->now_ns,
            .uid = job->account->uid,
            .priority = job->priority,
            .n_left = job->account->n_live,
            .is_late = is_late,
        };
    }
    if (full->n_left > 0 && full->uid == job->account->uid) {
        full->retry_us = num_max(full->retry_us, retry_us);
    }
}

void monitor_on_full(struct monitor *monitor, const struct job *job, uint64_t retry_us)
{
    watch_ends(monitor, job, retry_us, false);
}

void monitor_judge_told(struct monitor *monitor, const struct request *request, enum server_end how)
{
    struct monitor_full *full = &monitor->full;
    double took_us;
    double times;

    if (full->n_left > 0 && is_crowded_out(monitor, full->priority)) {
        full->n_left = 0;
    }
    if (request->job.account->uid != full->uid) {
        return;
    }
    if (full->is_late && how == SERVER_CANCELLED) {
        full->n_left = 0; /* its client left earlier than could be known */
    }
    if (monitor->server->is_closed || full->n_left == 0 || --full->n_left > 0) {
        return;
    }
    took_us = (double)(monitor->timeline->now_ns - full->at_ns) / TIMELINE_US;
    times = (double)full->retry_us / took_us;
    times = full->is_late || times > 1.0 ? times : 1.0 / times;
    monitor_log(monitor, "full: told %llu us, drained in %.0f us", (unsigned long long)full->retry_us, took_us);
    tally_add(&monitor->tallies, INVARIANT_TOLD, times, times > TOLD_TIMES, monitor_now_s(monitor));
}

void monitor_on_refused(struct monitor *monitor, const struct request *request, uint64_t retry_us)
{
    monitor_log(monitor, "refused: uid %u, class %d, prompt %u, again in %llu us", request->job.account->uid,
                (int)request->job.priority, request->job.n_prompt, (unsigned long long)retry_us);
    if (queue_deadline_us(&request->job) > 0 && request->job.limits.tokens_a_minute == 0 && retry_us > 0) {
        watch_ends(monitor, &request->job, retry_us, true);
    }
}
