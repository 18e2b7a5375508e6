#include "sensor/finder.h"
#include "base/err.h"
#include "base/log.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

void scan_result_add(struct scan_result *scan_result, struct source *source)
{
    struct source_facts *facts = &scan_result->sources[scan_result->n_sources];

    if (scan_result->n_sources == FINDER_SOURCES_MAX) {
        return;
    }
    scan_result->n_sources++;
    *facts = (struct source_facts){
        .source = source,
        .quantity = source->quantity,
        .rank = source_rank(source),
        .all_count = source->quantity == READING_TEMPERATURE || source->quantity == READING_THROTTLE,
        .slow_ms = source->slow_ms,
        .passive_mc = source->passive_mc,
        .critical_mc = source->critical_mc,
        .most = source->most,
        .tells_clients = source->table->clients != NULL,
        .is_mixed = source->is_mixed,
        .is_bound = source->is_bound,
    };
    memcpy(facts->name, source->name, sizeof(facts->name));
    memcpy(facts->path, source->path, sizeof(facts->path));
    if (source->is_aside) {
        label_format(facts->why, sizeof(facts->why), "passed over: of a device that is not ours");
    } else {
        memcpy(facts->why, source->why, sizeof(facts->why));
    }
}

static void notify(int notify_fd)
{
    const uint64_t one = 1;
    ssize_t n;

    do {
        n = write(notify_fd, &one, sizeof(one));
    } while (n < 0 && errno == EINTR);
}

static void scan(struct finder *finder)
{
    int r;

    finder->work.n_sources = 0;
    finder->work.n_devices = 0;
    r = finder->table->scan(finder->owner, &finder->work);
    if (r) {
        log_warn("sensor", "the scan for sensors is not whole: %s", strerrordesc_np(-r));
    }
}

static void *run(void *owner)
{
    struct finder *finder = owner;

    pthread_mutex_lock(&finder->lock);
    while (!finder->is_ending) {
        if (!finder->is_requested) {
            pthread_cond_wait(&finder->wake, &finder->lock);
            continue;
        }
        finder->is_requested = false;
        finder->is_scanning = true;
        pthread_mutex_unlock(&finder->lock);
        scan(finder);
        pthread_mutex_lock(&finder->lock);
        finder->is_scanning = false;
        finder->result = finder->work;
        finder->is_done = true;
        notify(finder->notify_fd);
    }
    pthread_mutex_unlock(&finder->lock);
    return NULL;
}

int finder_open(struct finder *finder, const struct finder_table *table, void *owner, int notify_fd)
{
    sigset_t all;
    sigset_t before;
    int r;

    finder->table = table;
    finder->owner = owner;
    finder->notify_fd = notify_fd;
    pthread_mutex_init(&finder->lock, NULL);
    pthread_cond_init(&finder->wake, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&finder->thread, NULL, run, finder);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r ? err_new(-r) : 0;
}

void finder_request(struct finder *finder)
{
    pthread_mutex_lock(&finder->lock);
    finder->is_requested = true;
    pthread_cond_signal(&finder->wake);
    pthread_mutex_unlock(&finder->lock);
}

bool finder_take(struct finder *finder, struct scan_result *ret_result)
{
    bool is_done;

    pthread_mutex_lock(&finder->lock);
    is_done = finder->is_done;
    if (is_done) {
        *ret_result = finder->result;
        finder->is_done = false;
    }
    pthread_mutex_unlock(&finder->lock);
    return is_done;
}

bool finder_close(struct finder *finder, bool clears)
{
    bool is_scanning;

    pthread_mutex_lock(&finder->lock);
    is_scanning = finder->is_scanning;
    finder->is_ending = true;
    pthread_cond_signal(&finder->wake);
    pthread_mutex_unlock(&finder->lock);
    if (is_scanning) {
        return false;
    }
    pthread_join(finder->thread, NULL);
    pthread_cond_destroy(&finder->wake);
    pthread_mutex_destroy(&finder->lock);
    if (clears) {
        finder->table->clear(finder->owner); /* its thread is gone: now this one is the only one */
    }
    return true;
}
