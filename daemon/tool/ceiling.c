/*
 * Ceiling: a block of memory, and a pool of threads of its own
 */
#include "tool/ceiling.h"
#include "base/err.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

int ceiling_open(struct ceiling_probe *probe, uint32_t n_threads)
{
    struct cores cores;
    uintptr_t first;
    int r;

    *probe = (struct ceiling_probe){ .n_block = CEILING_BLOCK };
    probe->block = mem_alloc(MEM_SCRATCH, CEILING_BLOCK);
    if (!probe->block) {
        return err_new(-ENOMEM);
    }
    /* Small pages cost up to a tenth of the bandwidth. The kernel may ignore the wish. */
    first = ((uintptr_t)probe->block + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    (void)madvise((void *)first, CEILING_BLOCK - HUGE_PAGE, MADV_HUGEPAGE);
    memset(probe->block, 1, CEILING_BLOCK);
    cores_choose(&cores, "", NULL, n_threads);
    r = pool_create(&probe->pool, &cores);
    if (r) {
        ceiling_close(probe);
        return err_up(r);
    }
    return 0;
}

void ceiling_close(struct ceiling_probe *probe)
{
    pool_destroy(probe->pool);
    mem_free(probe->block);
    *probe = (struct ceiling_probe){ .pool = NULL };
}

void ceiling_measure(struct ceiling_probe *probe, struct ceiling *ret_limits)
{
    ret_limits->read_bytes_s = peak_read(probe->pool, probe->block, probe->n_block);
    for (int kind = 0; kind < PEAK_KIND_COUNT; kind++) {
        ret_limits->ops_s[kind] = peak_compute(probe->pool, (enum peak_kind)kind);
    }
}

struct ceiling ceiling_between(const struct ceiling *before, const struct ceiling *after)
{
    struct ceiling mean = { .read_bytes_s = (before->read_bytes_s + after->read_bytes_s) / 2 };

    for (int kind = 0; kind < PEAK_KIND_COUNT; kind++) {
        mean.ops_s[kind] = (before->ops_s[kind] + after->ops_s[kind]) / 2;
    }
    return mean;
}
