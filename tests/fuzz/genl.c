/*
 * Fuzzer: messages of the kernel's thermal family, and the answer of its controller
 *
 * The first byte chooses: events, samples, or the answer that names the family. No byte behind the input is read, and
 * the result is always a whole event.
 */
#include "netlink/genl.h"
#include "fuzz.h"
#include <string.h>

#define FAMILY 0x1c

static void on_event(void *owner, const struct thermal_event *event)
{
    FUZZ_PROMISE(event->kind < THERMAL_EVENT_KIND_COUNT);
    FUZZ_PROMISE(memchr(event->name, '\0', sizeof(event->name)));
    FUZZ_PROMISE(*thermal_event_name(event->kind));
    (*(uint32_t *)owner)++;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct genl_family family = { .id = 77 };
    uint32_t n_events = 0;
    int r;

    if (n == 0) {
        return 0;
    }
    if (bytes[0] % 3 == 2) {
        r = genl_parse_family(bytes + 1, n - 1, &family);
        FUZZ_PROMISE(r <= 0 && r > -4096);
        FUZZ_PROMISE(r == 0 ? family.id != 0 : family.id == 77);
        return 0;
    }
    FUZZ_PROMISE(genl_parse_events(bytes + 1, n - 1, FAMILY, bytes[0] % 3 == 1, on_event, &n_events) == n_events);
    FUZZ_PROMISE(n_events <= n / 16);
    return 0;
}
