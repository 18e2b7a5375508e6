#include "fake.h"
#include "base/clean.h"
#include "sysfs/label.h"
#include <string.h>

static void read_fake(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    struct fake *fake = container_of(source, struct fake, source);

    pthread_mutex_lock(&fake->lock);
    fake->n_reads++;
    while (fake->is_shut) {
        pthread_cond_wait(&fake->turn, &fake->lock);
    }
    *ret_reading = fake->says;
    ret_reading->at_us = fake->is_early ? 0 : now_us;
    pthread_mutex_unlock(&fake->lock);
}

static void destroy_fake(struct source *source)
{
    (void)source;
}

static uint32_t clients_of_fake(const struct source *source, struct source_client *clients, uint32_t cap)
{
    const struct fake *fake = container_of(source, const struct fake, source);

    (void)cap;
    memcpy(clients, fake->clients, sizeof(fake->clients));
    return fake->n_clients;
}

static const struct source_table plain = { .kind = "fake", .read = read_fake, .destroy = destroy_fake };
static const struct source_table telling = {
    .kind = "fake", .read = read_fake, .destroy = destroy_fake, .clients = clients_of_fake
};

static void init(struct fake *fake, const struct source_table *table, enum reading_quantity quantity, const char *name,
                 uint32_t rank)
{
    memset(fake, 0, sizeof(*fake));
    source_init(&fake->source, table, quantity);
    label_set(fake->source.name, "%s", name);
    fake->source.rank = rank;
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->turn, NULL);
    fake->says = (struct reading){ .state = READING_OK, .value = 1 };
}

void fake_init(struct fake *fake, enum reading_quantity quantity, const char *name, uint32_t rank)
{
    init(fake, &plain, quantity, name, rank);
}

void fake_init_clients(struct fake *fake, enum reading_quantity quantity, const char *name, uint32_t rank)
{
    init(fake, &telling, quantity, name, rank);
}

void fake_finish(struct fake *fake)
{
    pthread_mutex_destroy(&fake->lock);
    pthread_cond_destroy(&fake->turn);
}

void fake_says(struct fake *fake, enum reading_state state, int64_t value)
{
    pthread_mutex_lock(&fake->lock);
    fake->says = (struct reading){ .state = state, .value = value };
    fake->is_early = false;
    pthread_mutex_unlock(&fake->lock);
}

void fake_early(struct fake *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->says = (struct reading){ .state = READING_STALE };
    fake->is_early = true;
    pthread_mutex_unlock(&fake->lock);
}

void fake_shut(struct fake *fake, bool shut)
{
    pthread_mutex_lock(&fake->lock);
    fake->is_shut = shut;
    pthread_cond_broadcast(&fake->turn);
    pthread_mutex_unlock(&fake->lock);
}

uint32_t fake_n_reads(struct fake *fake)
{
    uint32_t n;

    pthread_mutex_lock(&fake->lock);
    n = fake->n_reads;
    pthread_mutex_unlock(&fake->lock);
    return n;
}
