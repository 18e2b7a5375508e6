/*
 * Stats: the answer to Query
 */
#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* Reads the resident bytes, and those among them that are pages of files (nearly all of the mapped model). 0:
 * unknown. */
static void read_resident(int fd, Sotto__Engine__Stats *stats)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t n_pages;
    uint64_t n_file_pages;
    char text[128];
    ssize_t n;

    n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
    if (n <= 0) {
        return;
    }
    text[n] = '\0';
    if (sscanf(text, "%*u %" SCNu64 " %" SCNu64, &n_pages, &n_file_pages) == 2) {
        stats->rss_bytes = n_pages * page_bytes;
        stats->rss_file_bytes = n_file_pages * page_bytes;
    }
}

static size_t read_memory(Sotto__Engine__MemoryRow *rows, Sotto__Engine__MemoryRow **places, char (*names)[16])
{
    size_t n = 0;

    for (int kind = 0; kind < MEM_KIND_COUNT; kind++) {
        struct mem_account account;

        mem_read((enum mem_kind)kind, &account);
        if (account.peak_bytes == 0) {
            continue;
        }
        snprintf(names[n], sizeof(names[n]), "%s", mem_kind_name((enum mem_kind)kind));
        sotto__engine__memory_row__init(&rows[n]);
        rows[n].kind = names[n];
        rows[n].bytes = account.bytes;
        rows[n].peak_bytes = account.peak_bytes;
        places[n] = &rows[n];
        n++;
    }
    return n;
}

void engine_send_stats(struct engine *engine)
{
    Sotto__Engine__Stats stats = SOTTO__ENGINE__STATS__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    Sotto__Engine__MemoryRow rows[MEM_KIND_COUNT];
    Sotto__Engine__MemoryRow *places[MEM_KIND_COUNT];
    char names[MEM_KIND_COUNT][16];
    const struct model_figures *warm = &engine->warm;
    struct model_figures figures;

    model_figures(engine->model, &figures);
    stats.n_memory = read_memory(rows, places, names);
    stats.memory = places;
    read_resident(engine->fd_memory, &stats);
    stats.sequences = figures.n_seqs;
    stats.pages_free = figures.n_free;
    stats.pages_cached = figures.n_cached;
    stats.pages_held = figures.n_held;
    stats.steps = figures.n_steps - warm->n_steps;
    stats.rows = figures.n_rows - warm->n_rows;
    stats.tokens = figures.n_tokens - warm->n_tokens;
    stats.weight_passes = figures.n_weight_passes - warm->n_weight_passes;
    stats.pages_evicted = figures.n_evicted;
    stats.draft_tokens = figures.n_drafts - warm->n_drafts;
    stats.draft_tokens_accepted = figures.n_drafts_accepted - warm->n_drafts_accepted;
    stats.step_allocations = figures.n_step_allocs - warm->n_step_allocs;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_STATS;
    message.stats = &stats;
    engine_send(engine, &message);
}
