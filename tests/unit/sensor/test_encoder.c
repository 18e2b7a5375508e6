/* What is told to sottod is true to the gauges, and within what sottod believes. */
#include "bench.h"
#include "proto/wire.h"
#include "sensor/encoder.h"
#include "unit.h"
#include <string.h>

static struct encoder encoder;

/* Takes the one frame in @out. */
static const Sotto__Sense__FromSense *unpack(struct buf *out, struct wire *wire)
{
    ProtobufCMessage *message;
    struct frame frame;
    size_t used;

    ck_assert_int_eq(frame_take(buf_data(out), out->n, 256u << 10, &frame, &used), FRAME_OK);
    ck_assert_uint_eq(used, out->n);
    ck_assert_int_eq(wire_unpack(wire, &sotto__sense__from_sense__descriptor, &frame, &message), 0);
    return (const Sotto__Sense__FromSense *)message;
}

START_TEST(an_inventory_lists_all_sources)
{
    struct bench bench;
    struct fake heat;
    struct wire wire;
    struct buf out;
    const Sotto__Sense__Source *source;

    bench_open(&bench);
    fake_init(&heat, READING_TEMPERATURE, "zone gpu", 0);
    heat.source.passive_mc = 85000;
    bench_found(&bench, (struct fake *[]){ &heat }, 1);
    encoder_init(&encoder);
    wire_init(&wire, MEM_WIRE);
    buf_init(&out, MEM_WIRE, 256u << 10);

    ck_assert_int_eq(encoder_inventory(&encoder, &bench.sampler, true, &out), 0);

    source = unpack(&out, &wire)->inventory->sources[0];
    ck_assert_str_eq(source->name, "zone gpu");
    ck_assert_str_eq(source->unit, "m°C");
    ck_assert(source->in_use);
    ck_assert_int_eq(source->passive_mc, 85000);
    ck_assert_int_eq(source->opt_critical_case, 0);
    ck_assert(unpack(&out, &wire)->inventory->is_limited);
    ck_assert_str_eq(unpack(&out, &wire)->inventory->build, SOTTO_VERSION);
    buf_finish(&out);
    wire_finish(&wire);
    bench_close(&bench);
}
END_TEST

START_TEST(the_largest_inventory_fits_into_a_frame)
{
    static struct fake fakes[FINDER_SOURCES_MAX];
    static struct fake *list[FINDER_SOURCES_MAX];
    struct bench bench;
    struct buf out;

    bench_open(&bench);
    for (size_t i = 0; i < FINDER_SOURCES_MAX; i++) {
        fake_init(&fakes[i], READING_TEMPERATURE, "", 0);
        memset(fakes[i].source.name, 'n', sizeof(fakes[i].source.name) - 1);
        memset(fakes[i].source.path, 'p', sizeof(fakes[i].source.path) - 1);
        memset(fakes[i].source.why, 'w', sizeof(fakes[i].source.why) - 1);
        list[i] = &fakes[i];
    }
    bench_found(&bench, list, FINDER_SOURCES_MAX);
    encoder_init(&encoder);
    buf_init(&out, MEM_WIRE, 256u << 10);

    ck_assert_int_eq(encoder_inventory(&encoder, &bench.sampler, false, &out), 0);

    buf_finish(&out);
    bench_close(&bench);
}
END_TEST

START_TEST(a_sample_has_new_readings_or_all_or_none)
{
    static const struct {
        enum encoder_scope scope;
        size_t n;
    } rows[] = { { ENCODER_NEW, 1 }, { ENCODER_ALL, 2 }, { ENCODER_NOTHING, 0 } };
    struct bench bench;
    struct fake one;
    struct fake other;

    bench_open(&bench);
    fake_init(&one, READING_TEMPERATURE, "one", 0);
    fake_init(&other, READING_TEMPERATURE, "other", 1);
    bench_found(&bench, (struct fake *[]){ &one, &other }, 2);
    bench_run(&bench, 100);
    container_of(list_first(&bench.sampler.channels), struct channel, link)->is_new = false;
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        struct wire wire;
        struct buf out;

        encoder_init(&encoder);
        wire_init(&wire, MEM_WIRE);
        buf_init(&out, MEM_WIRE, 256u << 10);

        ck_assert_int_eq(encoder_sample(&encoder, &bench.sampler, rows[i].scope, true, UINT64_MAX / 2, 7, &out), 0);

        ck_assert_uint_eq(unpack(&out, &wire)->sample->n_readings, rows[i].n);
        ck_assert(unpack(&out, &wire)->sample->event);
        buf_finish(&out);
        wire_finish(&wire);
    }
    bench_close(&bench);
}
END_TEST

START_TEST(shares_above_the_whole_and_times_ahead_are_cut)
{
    struct bench bench;
    struct fake load;
    struct wire wire;
    struct buf out;
    const Sotto__Sense__Sample *sample;

    bench_open(&bench);
    fake_init_clients(&load, READING_GRAPHICS_LOAD, "fdinfo", 0);
    load.clients[0] = (struct source_client){ .minor = 128, .id = 7, .graphics_permille = 1200 };
    load.n_clients = 1;
    fake_says(&load, READING_OK, 1003);
    bench_found(&bench, (struct fake *[]){ &load }, 1);
    bench_run(&bench, 100);
    encoder_init(&encoder);
    wire_init(&wire, MEM_WIRE);
    buf_init(&out, MEM_WIRE, 256u << 10);

    ck_assert_int_eq(encoder_sample(&encoder, &bench.sampler, ENCODER_NEW, false, 5, 0, &out), 0);

    sample = unpack(&out, &wire)->sample;
    ck_assert_int_eq(sample->readings[0]->value, 1000);
    ck_assert_uint_eq(sample->readings[0]->at_us, 5);
    ck_assert(sample->has_clients);
    ck_assert_uint_eq(sample->clients[0]->graphics_permille, 1000);
    buf_finish(&out);
    wire_finish(&wire);
    bench_close(&bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paper");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, an_inventory_lists_all_sources);
    tcase_add_test(facts, the_largest_inventory_fits_into_a_frame);
    tcase_add_test(facts, a_sample_has_new_readings_or_all_or_none);
    tcase_add_test(facts, shares_above_the_whole_and_times_ahead_are_cut);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
