/*
 * Reader: threads that read sources
 *
 * Reading a file of the kernel may take as long as the hardware behind it likes, and now and then for ever. So nothing
 * is read on the thread that speaks with sottod: one reader has all quick sources, and each source that may block has
 * one of its own while there are enough of them; what is left shares the last. A source that hangs its reader is left
 * to itself: the reader stays with it, and if it was the quick one, another takes over the rest. When the source comes
 * back, its reading is taken as any other.
 *
 * All calls from one thread, but for what stands under the lock.
 */
#ifndef SOTTO_SENSOR_READERS_H
#define SOTTO_SENSOR_READERS_H

#include "base/list.h"
#include "sense/source.h"
#include <pthread.h>

/* As design says; the thread that looks for sources comes on top. */
#define READERS_MAX 16u

struct reader;

enum read_job_state {
    READ_JOB_IDLE,
    READ_JOB_QUEUED, /* in its reader's queue */
    READ_JOB_READING,
    READ_JOB_DONE, /* in the list of what is done */
};

/* A source and its next reading. Lies inside whoever keeps the source. */
struct read_job {
    struct list link;      /* reader::queue or readers::done */
    struct source *source; /* read by its reader alone */
    struct reader *reader; /* NULL: none yet */
    uint64_t submitted_us;
    /* Under the lock while it does not rest. */
    enum read_job_state state;
    struct reading reading;
    struct source_client *clients; /* SOURCE_CLIENTS_MAX of them, or NULL: it doesn't tell them apart */
    uint32_t n_clients;
};

struct readers {
    pthread_mutex_t lock;
    struct reader *all[READERS_MAX];
    uint32_t n;
    struct reader *quick;
    struct list done; /* job::link */
    int notify_fd;    /* an eventfd: something is done */
};

/* 0, or a fault. */
int readers_open(struct readers *readers, int notify_fd);

/*
 * Ends the threads. False: one of them is inside a source and stays there, so nothing that it uses may be freed: end
 * the process.
 */
bool readers_close(struct readers *readers);

/* Lets @job (at rest) be read. 0, or -ENOMEM, -EAGAIN: there is no thread for it now, and none was asked. */
int readers_submit(struct readers *readers, struct read_job *job, uint64_t now_us);

/* The next job that is done, now at rest with its reading; NULL: none is. */
struct read_job *readers_take(struct readers *readers);

/* Has @job been asked for, @us ago or more, and is not done? If it holds the quick reader up, that becomes its own. */
bool readers_is_overdue(struct readers *readers, struct read_job *job, uint64_t now_us, uint64_t us);

#endif
