/*
 * Two clocks, one difference.
 */
#include "sense/sleep.h"

uint64_t sleep_check(struct sleep *sleep, uint64_t mono_us, uint64_t boot_us)
{
    const uint64_t apart_us = boot_us > mono_us ? boot_us - mono_us : 0;
    uint64_t slept_us = 0;

    /* A reader that was held up between the clocks sees them further apart than they are; the least is the truth. */
    if (!sleep->has_apart || apart_us < sleep->apart_us) {
        sleep->apart_us = apart_us;
        sleep->has_apart = true;
    }
    if (apart_us - sleep->apart_us >= SLEEP_LEAST_US) {
        slept_us = apart_us - sleep->apart_us;
        sleep->apart_us = apart_us;
        sleep->total_us += slept_us;
    }
    return slept_us;
}
