#include "sensor/readers.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* A reader's stack holds a few paths and a file's text. */
#define STACK_BYTES ((size_t)256 << 10)

struct reader {
    pthread_t thread;
    pthread_cond_t wake;
    struct readers *readers;
    struct list queue;       /* job::link */
    struct read_job *inside; /* the source it is reading; NULL: none */
    bool is_shared;          /* takes more than one source */
    bool is_ending;
};

static void notify(int notify_fd)
{
    const uint64_t one = 1;
    ssize_t n;

    do {
        n = write(notify_fd, &one, sizeof(one));
    } while (n < 0 && errno == EINTR);
}

/* One source, without the lock. */
static void read_source(struct read_job *job)
{
    struct reading reading = { .state = READING_ABSENT };
    uint32_t n_clients = 0;

    source_read(job->source, clock_mono_us(), &reading);
    if (job->clients) {
        n_clients = source_clients(job->source, job->clients, SOURCE_CLIENTS_MAX);
    }
    job->reading = reading; /* nobody else looks at it before it is done */
    job->n_clients = n_clients;
}

static void *run(void *owner)
{
    struct reader *reader = owner;
    struct readers *readers = reader->readers;
    struct list *link;

    pthread_mutex_lock(&readers->lock);
    while (!reader->is_ending) {
        link = list_first(&reader->queue);
        if (!link) {
            pthread_cond_wait(&reader->wake, &readers->lock);
            continue;
        }
        list_remove(link);
        reader->inside = container_of(link, struct read_job, link);
        reader->inside->state = READ_JOB_READING;
        pthread_mutex_unlock(&readers->lock);
        read_source(reader->inside);
        pthread_mutex_lock(&readers->lock);
        reader->inside->state = READ_JOB_DONE;
        list_append(&readers->done, &reader->inside->link);
        reader->inside = NULL;
        notify(readers->notify_fd);
    }
    pthread_mutex_unlock(&readers->lock);
    return NULL;
}

static int start_thread(struct reader *reader)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t before;
    int r;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
    r = pthread_create(&reader->thread, &attr, run, reader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return r ? err_new(-r) : 0;
}

/* One more reader; there is room for it. */
static int add_reader(struct readers *readers, struct reader **ret_reader)
{
    struct reader *reader = mem_calloc(MEM_MISC, 1, sizeof(*reader));
    int r;

    if (!reader) {
        return err_new(-ENOMEM);
    }
    reader->readers = readers;
    list_init(&reader->queue);
    pthread_cond_init(&reader->wake, NULL);
    r = start_thread(reader);
    if (r) {
        pthread_cond_destroy(&reader->wake);
        mem_free(reader);
        return err_up(r);
    }
    readers->all[readers->n++] = reader;
    *ret_reader = reader;
    return 0;
}

int readers_open(struct readers *readers, int notify_fd)
{
    int r;

    *readers = (struct readers){ .notify_fd = notify_fd };
    list_init(&readers->done);
    pthread_mutex_init(&readers->lock, NULL);
    r = add_reader(readers, &readers->quick);
    if (r) {
        pthread_mutex_destroy(&readers->lock);
        return err_up(r);
    }
    readers->quick->is_shared = true;
    return 0;
}

bool readers_close(struct readers *readers)
{
    bool is_free = true;

    pthread_mutex_lock(&readers->lock);
    for (uint32_t i = 0; i < readers->n; i++) {
        readers->all[i]->is_ending = true;
        is_free = is_free && !readers->all[i]->inside;
        pthread_cond_signal(&readers->all[i]->wake);
    }
    pthread_mutex_unlock(&readers->lock);
    if (!is_free) {
        return false;
    }
    for (uint32_t i = 0; i < readers->n; i++) {
        pthread_join(readers->all[i]->thread, NULL);
        pthread_cond_destroy(&readers->all[i]->wake);
        mem_free(readers->all[i]);
    }
    pthread_mutex_destroy(&readers->lock);
    return true;
}

/* The last place is for all that find no reader of their own. */
static int choose_reader(struct readers *readers, struct read_job *job)
{
    struct reader *last = readers->all[readers->n - 1];

    if (job->reader) {
        return 0;
    }
    if (!job->source->may_block) {
        job->reader = readers->quick;
        return 0;
    }
    if (readers->n == READERS_MAX) {
        last->is_shared = true;
        job->reader = last;
        return 0;
    }
    return add_reader(readers, &job->reader);
}

int readers_submit(struct readers *readers, struct read_job *job, uint64_t now_us)
{
    int r = choose_reader(readers, job);

    if (r) {
        return err_up(r);
    }
    pthread_mutex_lock(&readers->lock);
    job->state = READ_JOB_QUEUED;
    job->submitted_us = now_us;
    list_append(&job->reader->queue, &job->link);
    pthread_cond_signal(&job->reader->wake);
    pthread_mutex_unlock(&readers->lock);
    return 0;
}

struct read_job *readers_take(struct readers *readers)
{
    struct read_job *job = NULL;
    struct list *link;

    pthread_mutex_lock(&readers->lock);
    link = list_first(&readers->done);
    if (link) {
        list_remove(link);
        job = container_of(link, struct read_job, link);
        job->state = READ_JOB_IDLE;
    }
    pthread_mutex_unlock(&readers->lock);
    return job;
}

/*
 * The quick reader is inside a source that hangs: it becomes that source's own, and what waits behind it goes to a new
 * one. Without room for another the rest waits, and is stale.
 */
static void split(struct readers *readers)
{
    struct reader *hung = readers->quick;
    struct reader *fresh;
    struct list *link;

    if (readers->n == READERS_MAX || add_reader(readers, &fresh)) {
        return;
    }
    pthread_mutex_lock(&readers->lock);
    fresh->is_shared = true;
    hung->is_shared = false;
    while ((link = list_first(&hung->queue))) {
        list_remove(link);
        container_of(link, struct read_job, link)->reader = fresh;
        list_append(&fresh->queue, link);
    }
    pthread_cond_signal(&fresh->wake);
    pthread_mutex_unlock(&readers->lock);
    readers->quick = fresh;
}

bool readers_is_overdue(struct readers *readers, struct read_job *job, uint64_t now_us, uint64_t us)
{
    enum read_job_state state;
    bool is_overdue;
    bool is_inside;

    pthread_mutex_lock(&readers->lock);
    state = job->state;
    is_overdue = (state == READ_JOB_QUEUED || state == READ_JOB_READING) && now_us - job->submitted_us >= us;
    is_inside = is_overdue && state == READ_JOB_READING && job->reader == readers->quick;
    pthread_mutex_unlock(&readers->lock);
    if (is_inside) {
        split(readers);
    }
    return is_overdue;
}
