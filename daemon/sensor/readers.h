/*
 * Readers: threads that read sources
 *
 * Reading a file of the kernel takes as long as the hardware behind it, and now and then for ever. So nothing is read
 * on the thread that talks to sottod: one reader has all quick sources, and each source that may block has one of its
 * own while there are enough of them; the others share the last. A reader with a source that hangs is left to it; if
 * it was the quick one, another takes over the rest. When the source returns, its reading is taken like any other.
 *
 * All calls come from one thread; readers share only what is under the lock.
 */
#ifndef SOTTO_SENSOR_READERS_H
#define SOTTO_SENSOR_READERS_H

#include "base/list.h"
#include "sense/source.h"
#include <pthread.h>

/* Threads that read; the finder's thread comes on top. */
#define READERS_MAX 16u

struct reader;

enum read_job_state {
    READ_JOB_IDLE,
    READ_JOB_QUEUED, /* in its reader's queue */
    READ_JOB_READING,
    READ_JOB_DONE, /* in readers::done */
};

/* A source and its next reading. Embedded in the owner of the source. */
struct read_job {
    struct list link;      /* reader::queue or readers::done */
    struct source *source; /* read by its reader alone */
    struct reader *reader; /* NULL: not assigned */
    uint64_t submitted_us;
    /* Under the lock unless the job is idle: */
    enum read_job_state state;
    struct reading reading;
    struct source_client *clients; /* SOURCE_CLIENTS_MAX entries, or NULL: it doesn't tell them apart */
    uint32_t n_clients;
};

struct readers {
    pthread_mutex_t lock;
    struct reader *all[READERS_MAX];
    uint32_t n;
    struct reader *quick;
    struct list done; /* read_job::link */
    int notify_fd;    /* an eventfd: a job is done */
};

/* Initialises; threads are started as they are needed. 0 or a fault. */
int readers_open(struct readers *readers, int notify_fd);

/* Ends the threads. False: one of them hangs inside a source, so nothing that it uses may be freed: end the process. */
bool readers_close(struct readers *readers);

/* Submits @job, which is idle. 0, or -ENOMEM, -EAGAIN: there is no thread for it, and it stays idle. */
int readers_submit(struct readers *readers, struct read_job *job, uint64_t now_us);

/* Returns the next job that is done, which is idle again, with its reading; NULL: none. */
struct read_job *readers_take(struct readers *readers);

/*
 * Returns true if @job was submitted @us ago or more and is not done. If it blocks the quick reader, that becomes its
 * own.
 */
bool readers_is_overdue(struct readers *readers, struct read_job *job, uint64_t now_us, uint64_t us);

#endif
