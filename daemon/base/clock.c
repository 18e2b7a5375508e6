/*
 * Clock: the kernel's three clocks and its random bytes
 */
#include "base/clock.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

static uint64_t read_us(clockid_t id)
{
    struct timespec now;
    int r = clock_gettime(id, &now);

    assert(r == 0); /* all three exist since Linux 2.6.39 */
    (void)r;
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

uint64_t clock_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_boot_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

uint64_t clock_real_us(void)
{
    return read_us(CLOCK_REALTIME);
}

void clock_entropy(void *bytes, uint32_t n)
{
    uint8_t *at = bytes;

    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            fprintf(stderr, "no random bytes from the kernel (getrandom: error %d)\n", errno);
            abort();
        }
        at += got;
        n -= (uint32_t)got;
    }
}
