#include "sched/job.h"
#include <assert.h>

#define TO(state) (1u << (state))

/* Every legal move of a job. A row without entries is a final state. */
static const uint32_t moves[JOB_STATE_COUNT] = {
    [JOB_HELD] = TO(JOB_WAITING) | TO(JOB_ENDED),
    [JOB_WAITING] = TO(JOB_OPENING) | TO(JOB_HELD) | TO(JOB_ENDED),
    [JOB_OPENING] = TO(JOB_SEATED) | TO(JOB_WAITING) | TO(JOB_HELD) | TO(JOB_ENDED),
    [JOB_SEATED] = TO(JOB_WAITING) | TO(JOB_HELD) | TO(JOB_ENDED),
};

#undef TO

bool job_may_move(const struct job *job, enum job_state to)
{
    return (moves[job->state] & (1u << to)) != 0;
}

/* Counts against the limit of waiting requests: everything live that holds no sequence. */
static bool waits(enum job_state state)
{
    return state == JOB_HELD || state == JOB_WAITING || state == JOB_OPENING;
}

void job_move(struct job *job, enum job_state to, uint64_t now_us)
{
    assert(job_may_move(job, to));
    job->account->n_waiting -= waits(job->state);
    job->account->n_waiting += waits(to);
    job->state = to;
    job->since_us = now_us;
}

void job_forget(struct job *job)
{
    job->n_done = 0;
    job->n_sent = 0;
}

bool job_decodes(const struct job *job)
{
    return job->n_done + 1 == job->n_known && job->n_known > job->n_prompt;
}
