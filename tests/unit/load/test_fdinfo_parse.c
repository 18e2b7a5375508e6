/* What one fdinfo file says: both forms of counters, any order, and what can't be understood. */
#include "load/engine_class.h"
#include "load/fdinfo_parse.h"
#include "unit.h"
#include <stdlib.h>
#include <string.h>

static struct fdinfo fdinfo;

static bool parse(const char *text)
{
    return fdinfo_parse(&fdinfo, text, strlen(text));
}

static const struct fdinfo_engine *engine(const char *name)
{
    for (uint32_t i = 0; i < fdinfo.n_engines; i++) {
        if (strcmp(fdinfo.engines[i].name, name) == 0) {
            return &fdinfo.engines[i];
        }
    }
    ck_abort_msg("no engine %s", name);
    return NULL;
}

START_TEST(busy_time_in_nanoseconds_is_read)
{
    ck_assert(parse("pos:\t0\ndrm-driver:\tv3d\ndrm-client-id:\t17\ndrm-engine-bin:\t123456789 ns\n"
                    "drm-engine-render: 5 ns\n"));

    ck_assert(fdinfo.has_client);
    ck_assert_uint_eq(fdinfo.client, 17);
    ck_assert_str_eq(fdinfo.driver, "v3d");
    ck_assert_uint_eq(fdinfo.n_engines, 2);
    ck_assert(engine("bin")->has_ns);
    ck_assert_uint_eq(engine("bin")->ns, 123456789);
    ck_assert(!engine("bin")->has_cycles);
    ck_assert_uint_eq(engine("render")->ns, 5);
}
END_TEST

START_TEST(cycles_come_with_a_total_or_a_highest_clock)
{
    ck_assert(parse("drm-driver: xe\ndrm-client-id: 1\ndrm-pdev: 0000:00:02.0\ndrm-cycles-rcs: 100\n"
                    "drm-total-cycles-rcs: 1000\ndrm-cycles-ccs: 7\ndrm-maxfreq-ccs: 800 MHz\n"
                    "drm-curfreq-ccs: 300000 KHz\n"));

    ck_assert_str_eq(fdinfo.pdev, "0000:00:02.0");
    ck_assert(engine("rcs")->has_cycles);
    ck_assert(engine("rcs")->has_total);
    ck_assert_uint_eq(engine("rcs")->cycles, 100);
    ck_assert_uint_eq(engine("rcs")->total_cycles, 1000);
    ck_assert(!engine("ccs")->has_total);
    ck_assert_uint_eq(engine("ccs")->max_hz, 800000000);
    ck_assert_uint_eq(engine("ccs")->cur_hz, 300000000);
}
END_TEST

START_TEST(order_of_keys_does_not_matter)
{
    ck_assert(parse("drm-engine-capacity-render: 4\ndrm-total-cycles-render: 9\ndrm-cycles-render: 3\n"
                    "drm-engine-render: 8 ns\ndrm-client-id: 2\ndrm-driver: i915\n"));

    ck_assert_uint_eq(fdinfo.n_engines, 1);
    ck_assert_uint_eq(fdinfo.client, 2);
    ck_assert_uint_eq(engine("render")->ns, 8);
    ck_assert_uint_eq(engine("render")->cycles, 3);
    ck_assert_uint_eq(engine("render")->total_cycles, 9);
    ck_assert_uint_eq(engine("render")->capacity, 4);
}
END_TEST

START_TEST(capacity_is_no_time_and_total_cycles_are_no_memory)
{
    ck_assert(parse("drm-driver: i915\ndrm-client-id: 2\ndrm-engine-capacity-video: 4\ndrm-engine-video: 10 ns\n"
                    "drm-cycles-video: 1\ndrm-total-cycles-video: 123456 \ndrm-total-memory: 64 KiB\n"));

    ck_assert_uint_eq(fdinfo.n_engines, 1);
    ck_assert_uint_eq(engine("video")->capacity, 4);
    ck_assert_uint_eq(engine("video")->ns, 10);
    ck_assert_uint_eq(fdinfo.memory_kb, 64);
}
END_TEST

START_TEST(capacity_alone_is_no_engine)
{
    ck_assert(parse("drm-driver: i915\ndrm-client-id: 2\ndrm-engine-capacity-video: 4\ndrm-maxfreq-x: 3 MHz\n"));

    ck_assert_uint_eq(fdinfo.n_engines, 0);
}
END_TEST

START_TEST(capacity_of_zero_or_thousands_is_malformed_and_counts_as_one)
{
    ck_assert(parse("drm-engine-a: 1 ns\ndrm-engine-capacity-a: 0\ndrm-engine-b: 1 ns\n"
                    "drm-engine-capacity-b: 4294967296\n"));

    ck_assert_uint_eq(engine("a")->capacity, 1);
    ck_assert_uint_eq(engine("b")->capacity, 1);
    ck_assert_uint_eq(fdinfo.n_unparsed, 2);
}
END_TEST

START_TEST(value_without_a_unit_is_in_the_smallest)
{
    ck_assert(parse("drm-engine-gpu: 4711\ndrm-maxfreq-gpu: 500000000\ndrm-cycles-gpu: 3\ndrm-total-memory: 4096\n"));

    ck_assert_uint_eq(engine("gpu")->ns, 4711);
    ck_assert_uint_eq(engine("gpu")->max_hz, 500000000);
    ck_assert_uint_eq(fdinfo.memory_kb, 4);
    ck_assert_uint_eq(fdinfo.n_unparsed, 0);
}
END_TEST

START_TEST(value_that_is_no_number_is_malformed_and_not_zero)
{
    static const char *const values[] = { "",
                                          "ns",
                                          "-5 ns",
                                          "12abc ns",
                                          "0x10 ns",
                                          "1.5 ns",
                                          "5 parsec",
                                          "99999999999999999999 ns",
                                          "18446744073709551615 ms" };
    char text[96];

    snprintf(text, sizeof(text), "drm-client-id: 1\ndrm-engine-gpu: %s\n", values[_i]);
    ck_assert(parse(text));

    ck_assert_uint_eq(fdinfo.n_engines, 0);
    ck_assert_uint_eq(fdinfo.n_unparsed, 1);
}
END_TEST

START_TEST(name_of_an_engine_may_be_anything_but_empty)
{
    ck_assert(parse("drm-engine-: 5 ns\ndrm-engine-npu-tensor-9000: 5 ns\n"
                    "drm-engine-a-name-that-is-far-too-long-for-any-engine: 5 ns\n"));

    ck_assert_uint_eq(fdinfo.n_engines, 1);
    ck_assert_uint_eq(engine("npu-tensor-9000")->ns, 5);
    ck_assert_uint_eq(fdinfo.n_unparsed, 2);
}
END_TEST

START_TEST(names_that_only_begin_like_a_key_are_other_keys)
{
    ck_assert(!parse("drm: 1\nxdrm-engine-render: 5 ns\n drm-engine-render: 5 ns\ndrm-engine-render 5 ns\n"));
    ck_assert_uint_eq(fdinfo.n_engines, 0);

    ck_assert(parse("drm-client-id-foo: 3\ndrm-client-identity: 4\ndrm-drivers: x\ndrm-engines-x: 3 ns\n"));
    ck_assert(!fdinfo.has_client);
    ck_assert_str_eq(fdinfo.driver, "");
    ck_assert_uint_eq(fdinfo.n_engines, 0);
}
END_TEST

START_TEST(file_without_drm_keys_reports_nothing)
{
    ck_assert(!parse("pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t603\n"));
    ck_assert(!parse(""));
    ck_assert(!fdinfo.has_client);
}
END_TEST

START_TEST(memory_is_the_total_else_the_resident_else_the_old_key)
{
    ck_assert(parse("drm-memory-vram: 1 MiB\ndrm-memory-gtt: 1 MiB\n"));
    ck_assert_uint_eq(fdinfo.memory_kb, 2048);

    ck_assert(parse("drm-memory-vram: 1 MiB\ndrm-resident-vram: 3 MiB\n"));
    ck_assert_uint_eq(fdinfo.memory_kb, 3072);

    ck_assert(parse("drm-total-vram: 5 MiB\ndrm-total-gtt: 1 KiB\ndrm-memory-vram: 1 MiB\ndrm-resident-vram: 3 MiB\n"
                    "drm-shared-vram: 1 GiB\n"));
    ck_assert_uint_eq(fdinfo.memory_kb, 5121);
}
END_TEST

START_TEST(more_engines_than_fit_are_marked_as_cut)
{
    char text[2048] = "drm-client-id: 1\n";

    for (int i = 0; i < 17; i++) {
        size_t n = strlen(text);

        snprintf(text + n, sizeof(text) - n, "drm-engine-e%d: %d ns\n", i, i);
    }
    ck_assert(parse(text));

    ck_assert_uint_eq(fdinfo.n_engines, FDINFO_ENGINES_MAX);
    ck_assert(fdinfo.is_cut);
}
END_TEST

START_TEST(line_ends_of_windows_and_zero_bytes_do_no_harm)
{
    static const char text[] = "drm-client-id: 7\r\ndrm-engine-gpu: 5 ns\r\n\0\0drm-engine-x: 5 ns\ndrm-engine-y: 6 ns";

    ck_assert(fdinfo_parse(&fdinfo, text, sizeof(text) - 1));

    ck_assert_uint_eq(fdinfo.client, 7);
    ck_assert_uint_eq(fdinfo.n_engines, 2);
    ck_assert_uint_eq(engine("y")->ns, 6);
}
END_TEST

START_TEST(sixty_four_kilobytes_of_engines_are_read_to_the_end)
{
    char *text = malloc(FDINFO_BYTES_MAX);
    size_t n = 0;

    for (unsigned i = 0; n + 64 < FDINFO_BYTES_MAX; i++) {
        n += (size_t)snprintf(text + n, 64, "drm-engine-e%u: 5 ns\n", i);
    }
    n += (size_t)snprintf(text + n, 64, "drm-client-id: 99\n");
    ck_assert(fdinfo_parse(&fdinfo, text, n));

    ck_assert_uint_eq(fdinfo.client, 99);
    ck_assert_uint_eq(fdinfo.n_engines, FDINFO_ENGINES_MAX);
    free(text);
}
END_TEST

START_TEST(engines_belong_to_a_side_by_name)
{
    static const struct {
        const char *name;
        enum engine_class class;
    } rows[] = {
        { "gpu", ENGINE_GRAPHICS },
        { "panthor", ENGINE_GRAPHICS },
        { "render", ENGINE_GRAPHICS },
        { "bin", ENGINE_GRAPHICS },
        { "gfx", ENGINE_GRAPHICS },
        { "fragment", ENGINE_GRAPHICS },
        { "vertex-tiler", ENGINE_GRAPHICS },
        { "rcs", ENGINE_GRAPHICS },
        { "rcs0", ENGINE_GRAPHICS },
        { "pvr-queue", ENGINE_GRAPHICS },
        { "never-seen", ENGINE_GRAPHICS },
        { "", ENGINE_GRAPHICS },
        { "3d", ENGINE_GRAPHICS },
        { "computed", ENGINE_GRAPHICS },
        { "csd", ENGINE_COMPUTE },
        { "v3d_csd", ENGINE_COMPUTE },
        { "compute", ENGINE_COMPUTE },
        { "compute-only", ENGINE_COMPUTE },
        { "ccs", ENGINE_COMPUTE },
        { "ccs0", ENGINE_COMPUTE },
        { "comp_1.0.0", ENGINE_COMPUTE },
        { "copy", ENGINE_OTHER },
        { "bcs0", ENGINE_OTHER },
        { "enc_1", ENGINE_OTHER },
        { "cpu", ENGINE_OTHER },
        { "video-enhance", ENGINE_OTHER },
        { "v3d_cpu", ENGINE_OTHER },
        { "vcs0x", ENGINE_GRAPHICS },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_msg(engine_class_of(rows[i].name) == rows[i].class, "%s", rows[i].name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fdinfo_parse");
    TCase *tcase = tcase_create("fdinfo_parse");

    tcase_add_test(tcase, busy_time_in_nanoseconds_is_read);
    tcase_add_test(tcase, cycles_come_with_a_total_or_a_highest_clock);
    tcase_add_test(tcase, order_of_keys_does_not_matter);
    tcase_add_test(tcase, capacity_is_no_time_and_total_cycles_are_no_memory);
    tcase_add_test(tcase, capacity_alone_is_no_engine);
    tcase_add_test(tcase, capacity_of_zero_or_thousands_is_malformed_and_counts_as_one);
    tcase_add_test(tcase, value_without_a_unit_is_in_the_smallest);
    tcase_add_loop_test(tcase, value_that_is_no_number_is_malformed_and_not_zero, 0, 9);
    tcase_add_test(tcase, name_of_an_engine_may_be_anything_but_empty);
    tcase_add_test(tcase, names_that_only_begin_like_a_key_are_other_keys);
    tcase_add_test(tcase, file_without_drm_keys_reports_nothing);
    tcase_add_test(tcase, memory_is_the_total_else_the_resident_else_the_old_key);
    tcase_add_test(tcase, more_engines_than_fit_are_marked_as_cut);
    tcase_add_test(tcase, line_ends_of_windows_and_zero_bytes_do_no_harm);
    tcase_add_test(tcase, sixty_four_kilobytes_of_engines_are_read_to_the_end);
    tcase_add_test(tcase, engines_belong_to_a_side_by_name);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
