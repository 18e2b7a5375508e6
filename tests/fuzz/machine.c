/*
 * Fuzzer: the reports of a sotto-sense, read by the daemon
 *
 * The input is a connection. For any input the state of the machine stays within its bounds, a report that is refused
 * has a sentence, and the values for the governor and Status are possible ones.
 */
#include "base/utf8.h"
#include "fuzz.h"
#include "machine/machine_input.h"
#include "proto/wire.h"
#include <string.h>

#define NOW_US UINT64_C(1000000000000)

static struct machine_state book;

static void check_text(const char *text, size_t cap)
{
    FUZZ_PROMISE(memchr(text, '\0', cap) != NULL);
    FUZZ_PROMISE(utf8_is_valid(text, strlen(text), NULL));
}

static void check_book(void)
{
    FUZZ_PROMISE(book.n_sources <= MACHINE_SOURCES);
    FUZZ_PROMISE(book.n_devices <= MACHINE_DEVICES);
    FUZZ_PROMISE(book.n_clients <= MACHINE_CLIENTS);
    for (uint32_t i = 0; i < book.n_sources; i++) {
        check_text(book.sources[i].name, sizeof(book.sources[i].name));
        check_text(book.sources[i].now.why, sizeof(book.sources[i].now.why));
        FUZZ_PROMISE(book.sources[i].now.at_us <= NOW_US);
        for (uint32_t k = 0; k < i; k++) {
            FUZZ_PROMISE(book.sources[i].id == 0 || book.sources[i].id != book.sources[k].id);
        }
    }
}

static void check_use(bool is_alive)
{
    const struct machine_view view = {
        .now_us = NOW_US, .since_us = 1, .period_us = 50000, .is_wanted = true, .is_alive = is_alive
    };
    Sotto__V1__StatusReport report = SOTTO__V1__STATUS_REPORT__INIT;
    struct governor_input input = { 0 };
    struct arena arena;

    machine_input_fill(&book, &view, &input);
    FUZZ_PROMISE(input.graphics.busy_permille <= 1000 && input.graphics.blind_permille <= 1000);
    FUZZ_PROMISE(input.pressure_permille <= 1000 && input.n_zones <= GOVERNOR_ZONES_MAX);
    FUZZ_PROMISE(input.graphics.cur_hz <= input.graphics.max_hz);
    FUZZ_PROMISE(is_alive || input.graphics.sight != GOVERNOR_SEEN);
    for (uint32_t i = 0; i < input.n_zones; i++) {
        FUZZ_PROMISE(is_alive || input.zones[i].sight != GOVERNOR_SEEN);
    }
    arena_init(&arena, MEM_WIRE, 4u << 20);
    FUZZ_PROMISE(machine_report(&book, NOW_US, is_alive, &arena, &report) == 0);
    FUZZ_PROMISE(report.n_sensors == book.n_sources);
    arena_finish(&arena);
}

static int take(const Sotto__Sense__FromSense *message, struct diag *diag)
{
    switch (message->body_case) {
    case SOTTO__SENSE__FROM_SENSE__BODY_INVENTORY:
        return machine_state_inventory(&book, message->inventory, "1", diag);
    case SOTTO__SENSE__FROM_SENSE__BODY_SAMPLE:
        return machine_state_sample(&book, message->sample, NOW_US, diag);
    case SOTTO__SENSE__FROM_SENSE__BODY__NOT_SET:
        break;
    }
    machine_state_restart(&book); /* another connection begins */
    return MACHINE_TAKEN;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct wire wire;

    machine_state_init(&book);
    wire_init(&wire, MEM_WIRE);
    for (;;) {
        struct diag diag = DIAG_INIT;
        ProtobufCMessage *message;
        struct frame frame;
        size_t used;

        if (frame_take(bytes, n, 256u << 10, &frame, &used) != FRAME_OK) {
            break;
        }
        bytes += used;
        n -= used;
        if (wire_unpack(&wire, &sotto__sense__from_sense__descriptor, &frame, &message)) {
            continue;
        }
        if (take((const Sotto__Sense__FromSense *)message, &diag)) {
            FUZZ_PROMISE(diag_is_set(&diag) && utf8_is_valid(diag.text, strlen(diag.text), NULL));
        }
        check_book();
        machine_state_sweep(&book, false);
        machine_state_tick(&book, NOW_US, true);
        check_use(true);
        check_use(false);
    }
    wire_finish(&wire);
    return 0;
}
