#include "sense/source.h"
#include "base/mem.h"
#include "sysfs/label.h"
#include <string.h>

void source_init(struct source *source, const struct source_table *table, enum reading_quantity quantity)
{
    *source = (struct source){
        .table = table,
        .quantity = quantity,
        .slow_ms = 1000,
        .passive_mc = INT32_MAX,
        .critical_mc = INT32_MAX,
    };
    list_init(&source->link);
}

struct source *source_create(size_t bytes, const struct source_table *table, enum reading_quantity quantity,
                             const struct root *root)
{
    struct source *source = mem_calloc(MEM_MISC, 1, bytes);

    if (source) {
        source_init(source, table, quantity);
        source->root = root;
    }
    return source;
}

void source_give(struct source *source, int fault, int64_t value, uint64_t now_us, struct reading *ret_reading)
{
    if (fault) {
        reading_fail(ret_reading, fault, &source->last);
        return;
    }
    reading_set(&source->last, value, now_us);
    *ret_reading = source->last;
}

uint32_t source_rank(const struct source *source)
{
    return source->is_aside ? SOURCE_PASSED_OVER : source->rank;
}

void source_read(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    if (source_rank(source) == SOURCE_PASSED_OVER) {
        *ret_reading = (struct reading){ .state = READING_ABSENT };
        label_set(ret_reading->why, "passed over");
        return;
    }
    source->table->read(source, now_us, ret_reading);
}

void source_destroy(struct source *source)
{
    if (source && source->table->destroy) {
        source->table->destroy(source);
    } else {
        mem_free(source);
    }
}

struct source *source_find(const struct list *sources, const char *kind, const char *id)
{
    struct list *link;

    list_for_each (link, sources) {
        struct source *source = container_of(link, struct source, link);

        if (strcmp(source->table->kind, kind) == 0 && strcmp(source->id, id) == 0) {
            return source;
        }
    }
    return NULL;
}

uint32_t source_clients(const struct source *source, struct source_client *clients, uint32_t cap)
{
    return source->table->clients ? source->table->clients(source, clients, cap) : 0;
}
