#include "jinja/jinja_run.h"
#include "jinja/jinja_fail.h"

/* Steps between two checks of the ceiling and the cancel flag. */
#define CHECK_EVERY 1024u

int jinja_run_count(struct jinja_run *run, uint64_t n)
{
    run->steps += n;
    if (run->steps < run->check_at) {
        return JINJA_OK;
    }
    run->check_at = run->steps + CHECK_EVERY;
    if (run->cancel && atomic_load_explicit(run->cancel, memory_order_relaxed)) {
        return JINJA_CANCELLED;
    }
    if (run->steps > run->limits.steps) {
        run->is_over = true;
        return jinja_fail(run, "TimeoutError", "the template takes more than %llu steps",
                          (unsigned long long)run->limits.steps);
    }
    return JINJA_OK;
}

int jinja_run_enter(struct jinja_run *run)
{
    if (run->depth >= JINJA_DEPTH_MAX) {
        return jinja_fail(run, "RecursionError", "the template calls itself or nests too deeply");
    }
    run->depth++;
    return JINJA_OK;
}

void jinja_run_leave(struct jinja_run *run)
{
    run->depth--;
}

void *jinja_run_alloc(struct jinja_run *run, size_t size)
{
    return arena_alloc(&run->arena, size ? size : 1);
}
