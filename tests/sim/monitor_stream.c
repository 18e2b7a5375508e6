/*
 * Judges each request by itself: however many others there are, it advances in time.
 *
 * What is promised (docs/scheduling.md): a class moves on within five seconds, and the slots that it has go round among
 * its accounts by weight, and among the requests of an account. So a request waits for a quantum as often as its
 * account has more requests than its share of those slots. Time in which its account has had more than others does not
 * count, nor that in which an earlier prompt of its account is computed.
 *
 * And each account by itself: however much others were promised, it is promised what its share does.
 */
#include "base/num.h"
#include "monitor.h"
#include <math.h>

#define TICK_S     0.02
#define ROOM_TIMES 4.0 /* a deadline is easy if it is so many times what the fair share takes, */
#define ROOM_S     1.0 /* and this much more: a step, a slot */
#define CLASS_S    5.0 /* as for the class (INVARIANT_PROGRESS) */

/* Counts the requests that could run of the class of @job at its engine, of @account. */
static uint32_t count(const struct monitor *monitor, const struct job *job, const struct account *account)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &monitor->server->queue.jobs[job->priority]) {
        const struct job *other = container_of(link, struct job, link);

        n += other->eq == job->eq && other->account == account && monitor_is_ready(monitor, other);
    }
    return n;
}

/* Returns how long @job keeps its slot: until it goes on, and for its quantum. */
static double held_s(const struct monitor *monitor, const struct job *job)
{
    uint64_t now_us = monitor->timeline->now_ns / TIMELINE_US;
    uint64_t until_us = job->went_on_us > 0 ? job->went_on_us : now_us;

    if (job->state != JOB_ASSIGNED) {
        return (double)QUEUE_QUANTUM_US / 1e6;
    }
    return (double)(until_us - num_min(until_us, job->assigned_us) + queue_quantum_us(job)) / 1e6;
}

/* Returns how long @job may wait: for its class, and for its turn as often as its account has more requests than its
 * share of the slots of the class. */
static double bound_of(const struct monitor *monitor, const struct job *job)
{
    const struct engine_queue *eq = job->eq;
    double n_slots = (double)num_max(1, eq->n_held[job->priority]);
    double weights = 0.0;   /* of all accounts, in units of its own; each of their requests adds its part */
    double quantum_s = 0.0; /* the longest */
    struct list *link;

    list_for_each (link, &monitor->server->queue.jobs[job->priority]) {
        const struct job *other = container_of(link, struct job, link);
        double other_s = held_s(monitor, other);

        if (other->eq == eq && monitor_is_ready(monitor, other)) {
            weights += (double)account_unit(&job->limits) / (double)account_unit(&other->limits) /
                       count(monitor, other, other->account);
            quantum_s = other_s > quantum_s ? other_s : quantum_s;
        }
    }
    return CLASS_S + quantum_s * (1.0 + ceil(count(monitor, job, job->account) * weights / n_slots));
}

/* True if the account of @job has had more than each other one of the class that has a slot: it waits for those. */
static bool is_ahead(const struct monitor *monitor, const struct job *job)
{
    bool any = false;
    struct list *link;

    list_for_each (link, &monitor->server->queue.jobs[job->priority]) {
        const struct job *other = container_of(link, struct job, link);

        if (other->eq == job->eq && other->state == JOB_ASSIGNED) {
            any = true;
            if (job_start(other) >= job_start(job)) {
                return false;
            }
        }
    }
    return any;
}

/* True if @job has a slot, and an earlier prompt of its account comes before its own. */
static bool is_behind_prompt(const struct monitor *monitor, const struct job *job)
{
    struct list *link;

    list_for_each (link, &monitor->server->queue.jobs[job->priority]) {
        const struct job *other = container_of(link, struct job, link);

        if (job->state == JOB_ASSIGNED && !job->has_first && other->account == job->account && other->eq == job->eq &&
            other->state == JOB_ASSIGNED && !other->has_first && other->order < job->order) {
            return true;
        }
    }
    return false;
}

void monitor_stream_on_served(struct request *request)
{
    request->starved_s = 0.0;
    request->may_starve_s = 0.0;
}

/* True if a request of a higher class is in progress that came after @request. */
static bool has_later(const struct monitor *monitor, const struct request *request)
{
    const struct list *link;

    list_for_each (link, &monitor->server->requests) {
        const struct request *other = container_of(link, const struct request, link);

        if (!other->is_over && other->job.priority > request->job.priority && other->asked_ns > request->asked_ns) {
            return true;
        }
    }
    return false;
}

void monitor_streams(struct monitor *monitor)
{
    struct list *link;

    list_for_each (link, &monitor->server->requests) {
        struct request *request = container_of(link, struct request, link);
        double before_s;
        double bound;

        if (request->is_promised && !request->is_over && has_later(monitor, request)) {
            request->later_s += TICK_S;
        }
        if (request->is_over || monitor_is_troubled(monitor) || !monitor_is_ready(monitor, &request->job)) {
            monitor_stream_on_served(request);
            continue;
        }
        if (!governor_lets_run(server_limits(monitor->server), request->job.priority) ||
            is_ahead(monitor, &request->job) || is_behind_prompt(monitor, &request->job)) {
            continue;
        }
        before_s = floor(request->starved_s);
        request->starved_s += TICK_S;
        if (request->starved_s <= CLASS_S || floor(request->starved_s) <= before_s) {
            continue; /* once a second is enough */
        }
        bound = bound_of(monitor, &request->job);
        request->may_starve_s = bound > request->may_starve_s ? bound : request->may_starve_s;
        tally_add(&monitor->tallies, INVARIANT_STREAM, request->starved_s / request->may_starve_s,
                  request->starved_s > request->may_starve_s, monitor_now_s(monitor));
    }
}

/* Returns the time of all of @request out of the share that its account has beside all others of the run. */
static double share_s(const struct monitor *monitor, const struct request *request)
{
    const struct scenario_engine *engine = &monitor->scenario->engines[0];
    const struct job *job = &request->job;
    double n_accounts = (double)monitor->server->queue.accounts.by_uid.n;
    double pages = ((double)job->n_prompt + request->n_most) / job->eq->page_tokens;
    double row_ns = (double)engine->prefill_ns + pages * (double)engine->attend_ns;
    double step_ns = (double)engine->fixed_us * 1000.0 +
                     (double)engine->slots * ((double)engine->decode_ns + pages * (double)engine->attend_ns);

    return (job->n_prompt * row_ns * n_accounts + (request->n_most + 1.0) * step_ns) / 1e9;
}

/* Judges promises of accounts that have nothing else to do, where no other work than that of the class takes time. */
void monitor_stream_on_verdict(struct monitor *monitor, const struct request *request, bool is_promised)
{
    const struct job *job = &request->job;
    uint64_t by_us = queue_deadline_us(job);
    double left_s = (double)(by_us - num_min(by_us, monitor->timeline->now_ns / TIMELINE_US)) / 1e6;
    double easy_s = ROOM_TIMES * share_s(monitor, request) + ROOM_S;

    if (monitor->scenario->run.family == FAMILY_PROMISES && by_us > 0 && job->account->n_live == 0 && left_s > easy_s) {
        tally_add(&monitor->tallies, INVARIANT_ROOM, is_promised ? 0.0 : left_s / easy_s, !is_promised,
                  monitor_now_s(monitor));
    }
}
