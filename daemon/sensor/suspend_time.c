#include "sensor/suspend_time.h"

uint64_t suspend_time_check(struct suspend_time *suspend, uint64_t mono_us, uint64_t boot_us)
{
    const uint64_t apart_us = boot_us > mono_us ? boot_us - mono_us : 0;
    uint64_t slept_us = 0;

    /* A thread that was delayed between the two clocks measures too large a difference; the smallest one is exact. */
    if (!suspend->has_apart || apart_us < suspend->apart_us) {
        suspend->apart_us = apart_us;
        suspend->has_apart = true;
    }
    if (apart_us - suspend->apart_us >= SUSPEND_TIME_LEAST_US) {
        slept_us = apart_us - suspend->apart_us;
        suspend->apart_us = apart_us;
        suspend->total_us += slept_us;
    }
    return slept_us;
}
