/* Both sources count as references to the shared body. */
#include "load/pair.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>

enum side {
    SIDE_GRAPHICS,
    SIDE_COMPUTE,
    SIDE_COUNT,
};

struct shared {
    pthread_mutex_t lock;
    struct source_table source_table;
    const struct pair_table *table;
    void *body;       /* owned */
    uint32_t n_sides; /* still open */
    uint64_t measured_us;
    bool is_fresh[SIDE_COUNT]; /* not returned yet */
    struct reading readings[SIDE_COUNT];
};

struct half {
    struct source source;
    struct shared *shared;
    enum side side;
};

static struct half *half_of(const struct source *source)
{
    return container_of(source, struct half, source);
}

static void read_half(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct half *half = half_of(source);
    struct shared *shared = half->shared;

    pthread_mutex_lock(&shared->lock);
    if (!shared->is_fresh[half->side] || now_us - shared->measured_us >= source->slow_ms * 1000ull) {
        shared->table->measure(shared->body, now_us, &shared->readings[SIDE_GRAPHICS], &shared->readings[SIDE_COMPUTE]);
        shared->measured_us = now_us;
        shared->is_fresh[SIDE_GRAPHICS] = true;
        shared->is_fresh[SIDE_COMPUTE] = true;
    }
    shared->is_fresh[half->side] = false;
    *ret_reading = shared->readings[half->side];
    pthread_mutex_unlock(&shared->lock);
}

static void destroy_half(struct source *source)
{
    struct half *half = half_of(source);
    struct shared *shared = half->shared;
    bool is_last;

    pthread_mutex_lock(&shared->lock);
    is_last = --shared->n_sides == 0;
    pthread_mutex_unlock(&shared->lock);
    if (is_last) {
        shared->table->destroy(shared->body);
        pthread_mutex_destroy(&shared->lock);
        mem_free(shared);
    }
    mem_free(half);
}

static uint32_t list_clients(const struct source *source, struct source_client *clients, uint32_t cap)
{
    struct shared *shared = half_of(source)->shared;
    uint32_t n;

    pthread_mutex_lock(&shared->lock);
    n = shared->table->clients(shared->body, clients, cap);
    pthread_mutex_unlock(&shared->lock);
    return n;
}

static struct half *make_half(struct shared *shared, enum side side)
{
    struct half *half = mem_calloc(MEM_MISC, 1, sizeof(*half));

    if (half) {
        source_init(&half->source, &shared->source_table,
                    side == SIDE_GRAPHICS ? READING_GRAPHICS_LOAD : READING_COMPUTE_LOAD);
        half->shared = shared;
        half->side = side;
    }
    return half;
}

int pair_open(struct source **ret_graphics, struct source **ret_compute, const struct pair_table *table, void *body)
{
    cleanup(mem_freep) struct shared *shared = mem_calloc(MEM_MISC, 1, sizeof(*shared));
    cleanup(mem_freep) struct half *graphics = shared ? make_half(shared, SIDE_GRAPHICS) : NULL;
    cleanup(mem_freep) struct half *compute = shared ? make_half(shared, SIDE_COMPUTE) : NULL;

    if (!graphics || !compute || pthread_mutex_init(&shared->lock, NULL) != 0) {
        table->destroy(body);
        return err_new(-ENOMEM);
    }
    shared->source_table = (struct source_table){
        .kind = table->kind,
        .read = read_half,
        .destroy = destroy_half,
        .clients = table->clients ? list_clients : NULL,
    };
    shared->table = table;
    shared->body = body;
    shared->n_sides = SIDE_COUNT;
    steal(&shared);
    *ret_graphics = &((struct half *)steal(&graphics))->source;
    *ret_compute = &((struct half *)steal(&compute))->source;
    if (table->describe) {
        table->describe(*ret_graphics, body);
        table->describe(*ret_compute, body);
    }
    return 0;
}

void *pair_body(const struct source *source)
{
    return half_of(source)->shared->body;
}
