/*
 * Fuzzer: messages of the kernel's device events
 *
 * For any input, an event has whole texts, and bytes that are no message change nothing.
 */
#include "netlink/uevent.h"
#include "fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct uevent event = { .minor = 4711 };
    const enum uevent_outcome outcome = uevent_parse(bytes, n, &event);

    if (outcome != UEVENT_OK) {
        FUZZ_PROMISE(event.minor == 4711);
        return 0;
    }
    FUZZ_PROMISE(event.action < UEVENT_ACTION_COUNT && event.subsystem < UEVENT_SUBSYSTEM_COUNT);
    FUZZ_PROMISE(event.path[0] == '/' && memchr(event.path, '\0', sizeof(event.path)));
    FUZZ_PROMISE(memchr(event.name, '\0', sizeof(event.name)));
    FUZZ_PROMISE(memchr(event.wedged, '\0', sizeof(event.wedged)));
    FUZZ_PROMISE(event.minor >= -1);
    FUZZ_PROMISE(event.is_wedged || !event.wedged[0]);
    return 0;
}
