/*
 * The calls of a source's table.
 */
#include "sense/source.h"

void source_read(struct source *source, uint64_t now_us, struct reading *ret_reading)
{
    source->table->read(source, now_us, ret_reading);
}

void source_destroy(struct source *source)
{
    if (source) {
        source->table->destroy(source);
    }
}

uint32_t source_clients(const struct source *source, struct source_client *clients, uint32_t cap)
{
    return source->table->clients ? source->table->clients(source, clients, cap) : 0;
}
