/*
 * Err: the trail of a fault is the places that it passed
 *
 * There is one trail for each thread, of fixed size. A fault that passes more places than fit keeps its first, which
 * tells most, and the newest.
 */
#include "base/err.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TRAIL_PLACES 12 /* deeper chains have not been seen; the text of all fits a log line */

struct place {
    const char *file;
    int line;
};

static _Thread_local struct {
    int fault;
    size_t n; /* places in use */
    struct place places[TRAIL_PLACES];
} trail;

static void add_place(const char *file, int line)
{
    const char *slash = strrchr(file, '/');
    size_t at = trail.n < TRAIL_PLACES ? trail.n++ : TRAIL_PLACES - 1;

    trail.places[at] = (struct place){ .file = slash ? slash + 1 : file, .line = line };
}

int err_born(int fault, const char *file, int line)
{
    assert(fault < 0);

    trail.fault = fault;
    trail.n = 0;
    add_place(file, line);
    return fault;
}

int err_passed(int result, const char *file, int line)
{
    if (result == 0) {
        return 0;
    }
    if (result > 0) {
        return err_born(-ENOTRECOVERABLE, file, line);
    }
    if (trail.fault != result) {
        /* It did not begin with err_new(), but perhaps in a library: this is the first place that we know of. */
        return err_born(result, file, line);
    }
    add_place(file, line);
    return result;
}

const char *err_trail(char *text, size_t cap)
{
    size_t at = 0;

    assert(cap > 0);

    text[0] = '\0';
    for (size_t i = 0; i < trail.n && at < cap; i++) {
        const struct place *place = &trail.places[i];
        int n = snprintf(text + at, cap - at, "%s%s:%d", i ? " < " : "", place->file, place->line);

        if (n < 0) {
            break;
        }
        at += (size_t)n;
    }
    return text;
}
