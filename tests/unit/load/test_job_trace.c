/* Trace events of jobs, as kernels print them, become busy time. */
#include "load/job_trace.h"
#include "sense/source.h"
#include "unit.h"
#include <string.h>

#define S 1000000ull

static struct job_trace trace;
static uint32_t permille[ENGINE_CLASS_COUNT];

static struct job_line parse(const char *text)
{
    struct job_line line;

    job_line_parse(&line, text, strlen(text));
    return line;
}

static void feed(const char *text)
{
    job_trace_feed(&trace, text, strlen(text));
}

static void make(void)
{
    job_trace_init(&trace, false, 100 * S);
}

START_TEST(new_events_of_the_scheduler_are_read)
{
    const struct job_line run = parse("    kworker/u17:3-210   [002] .....   123.456789: drm_sched_job_run: "
                                      "dev=fd00000.gpu, fence=78:4711, "
                                      "ring=pvr-queue, job count:1, hw job count:2, client_id:17");
    const struct job_line done = parse("          <idle>-0       [000] d.h1.   123.500001: drm_sched_job_done: "
                                       "fence=78:4711 signaled");

    ck_assert_int_eq(run.event, JOB_EVENT_RUN);
    ck_assert_uint_eq(run.at_us, 123456789);
    ck_assert_uint_eq(run.key[0], 78);
    ck_assert_uint_eq(run.key[1], 4711);
    ck_assert_str_eq(run.device, "fd00000.gpu");
    ck_assert_str_eq(run.ring, "pvr-queue");
    ck_assert_uint_eq(run.client, 17);
    ck_assert_int_eq(done.event, JOB_EVENT_DONE);
    ck_assert_uint_eq(done.at_us, 123500001);
    ck_assert_uint_eq(done.key[0], 78);
    ck_assert_uint_eq(done.key[1], 4711);
}
END_TEST

START_TEST(old_events_of_the_scheduler_are_read)
{
    const struct job_line run =
        parse("           gfx-1021    [003] .....    98.000002: drm_run_job: entity=00000000a1b2c3d4, id=811, "
              "fence=00000000deadbeef, ring=gfx_0.0.0, job count:0, hw job count:1");
    const struct job_line done = parse("          <idle>-0       [003] d.h..    98.000102: "
                                       "drm_sched_process_job: fence=00000000deadbeef signaled");

    ck_assert_int_eq(run.event, JOB_EVENT_RUN);
    ck_assert_uint_eq(run.key[0], 0xdeadbeef);
    ck_assert_uint_eq(run.client, 0);
    ck_assert_str_eq(run.device, "");
    ck_assert_str_eq(run.ring, "gfx_0.0.0");
    ck_assert_int_eq(done.event, JOB_EVENT_DONE);
    ck_assert_uint_eq(done.key[0], 0xdeadbeef);
    ck_assert_uint_eq(done.key[1], 0);
}
END_TEST

START_TEST(events_of_powervr_are_read)
{
    const struct job_line create =
        parse("     app-77      [000] .....     5.000001: pvr_job_create: pvr_dev=00000000aa ctx=00000000bb "
              "fw_obj=00000000cc fw_addr=0xe0 hwrt_addr=0x0 job=00000000dd job_type=compute sync_op_count=2");
    const struct job_line run = parse("     app-77      [000] .....     5.000002: pvr_job_submit_fw: job=00000000dd "
                                      "done_seqno=9");
    const struct job_line done = parse("     app-77      [000] .....     5.000003: pvr_job_done: job=00000000dd");

    ck_assert_int_eq(create.event, JOB_EVENT_CREATE);
    ck_assert_uint_eq(create.key[0], 0xdd);
    ck_assert_str_eq(create.ring, "compute");
    ck_assert(create.is_typed);
    ck_assert_int_eq(run.event, JOB_EVENT_RUN);
    ck_assert_uint_eq(run.key[0], 0xdd);
    ck_assert_int_eq(done.event, JOB_EVENT_DONE);
}
END_TEST

START_TEST(process_may_be_called_like_an_event)
{
    const struct job_line line =
        parse(" 9.000000: drm_run-77 [000] .....     5.000001: drm_sched_job_done: fence=1:2 signaled");

    ck_assert_int_eq(line.event, JOB_EVENT_DONE);
    ck_assert_uint_eq(line.at_us, 5000001);
}
END_TEST

START_TEST(other_lines_and_torn_ones_are_none)
{
    static const char *const lines[] = {
        "",
        "# tracer: nop",
        "     app-77      [000] .....     5.000001: sched_switch: prev_comm=drm_run_job",
        "     app-77      [000] .....     5.000001: drm_sched_job_done: signaled",
        "     app-77      [000] .....     5.000001: drm_sched_job_done: fence=12",
        "     app-77      [000] .....     5.000001: drm_sched_job_done_x: fence=1:2",
        "     app-77      [000] .....     5.001: drm_sched_job_done: fence=1:2",
        "     app-77      [000] .....     500001: drm_sched_job_done: fence=1:2",
        "drm_sched_job_done: fence=1:2",
        ": drm_sched_job_done: fence=1:2",
        "     app-77      [000] .....     5.000001: pvr_job_done: xjob=12",
    };

    ck_assert_int_eq(parse(lines[_i]).event, JOB_EVENT_NONE);
}
END_TEST

START_TEST(union_counts_overlap_once)
{
    struct job_union job_union = { 0 };

    job_union_begin(&job_union, 10);
    job_union_begin(&job_union, 20);
    job_union_end(&job_union, 30);
    job_union_end(&job_union, 50);
    job_union_begin(&job_union, 70);
    ck_assert_uint_eq(job_union_take(&job_union, 80), 50);
    ck_assert_uint_eq(job_union_take(&job_union, 90), 10);
    job_union_end(&job_union, 95);
    job_union_end(&job_union, 99);

    ck_assert_uint_eq(job_union_take(&job_union, 100), 5);
}
END_TEST

START_TEST(union_of_times_out_of_order_is_never_negative)
{
    struct job_union job_union = { 0 };

    job_union_begin(&job_union, 50);
    job_union_end(&job_union, 40);
    job_union_begin(&job_union, 60);

    ck_assert_uint_eq(job_union_take(&job_union, 55), 0);
}
END_TEST

#define RUN(time, key, ring, client)                                                                                   \
    " k-1 [000] ..... " time ": drm_sched_job_run: dev=fd00000.gpu, fence=" key ", ring=" ring                         \
    ", job count:0, hw job count:1, client_id:" client "\n"
#define DONE(time, key) " <idle>-0 [000] d.h.. " time ": drm_sched_job_done: fence=" key " signaled\n"

START_TEST(share_is_the_union_of_each_side)
{
    feed(RUN("100.100000", "1:1", "pvr-queue", "7") RUN("100.150000", "2:1", "pvr-queue", "8") DONE("100.200000", "1:1")
             DONE("100.300000", "2:1") RUN("100.500000", "3:1", "v3d_csd", "7") DONE("100.900000", "3:1"));

    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 200);
    ck_assert_uint_eq(permille[ENGINE_COMPUTE], 400);
}
END_TEST

START_TEST(job_that_still_runs_counts_up_to_now)
{
    feed(RUN("100.500000", "1:1", "gfx", "7"));
    ck_assert(job_trace_take(&trace, 101 * S, permille));
    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 500);

    ck_assert(job_trace_take(&trace, 102 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 1000);
}
END_TEST

START_TEST(clients_have_shares_of_their_own)
{
    struct source_client list[4];

    feed(RUN("100.000000", "1:1", "gfx", "7") RUN("100.000000", "2:1", "gfx", "8") DONE("100.250000", "1:1")
             DONE("100.500000", "2:1"));
    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 500);
    ck_assert_uint_eq(job_trace_list(&trace, 128, list, 4), 2);
    ck_assert_uint_eq(list[0].id, 7);
    ck_assert_uint_eq(list[0].minor, 128);
    ck_assert_uint_eq(list[0].graphics_permille, 250);
    ck_assert_uint_eq(list[1].id, 8);
    ck_assert_uint_eq(list[1].graphics_permille, 500);
}
END_TEST

START_TEST(more_clients_than_fit_take_the_place_of_the_idle)
{
    struct source_client list[JOB_TRACE_CLIENTS_MAX + 1];
    char text[256];

    for (int i = 1; i <= 70; i++) {
        snprintf(text, sizeof(text), RUN("100.%06d", "%d:1", "gfx", "%d") DONE("100.%06d", "%d:1"), i * 100, i, i,
                 i * 100 + 50, i);
        feed(text);
    }
    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(job_trace_list(&trace, 128, list, JOB_TRACE_CLIENTS_MAX + 1), JOB_TRACE_CLIENTS_MAX);
    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 3);
}
END_TEST

START_TEST(jobs_of_another_device_are_left_out_and_of_an_unknown_one_not)
{
    job_trace_leave_out(&trace, "0000:03:00.0");
    feed(" k-1 [000] ..... 100.000000: drm_sched_job_run: dev=0000:03:00.0, fence=1:1, ring=gfx, "
         "client_id:3\n");
    feed(" k-1 [000] ..... 100.800000: drm_sched_job_run: dev=5000000.gpu, fence=2:1, ring=gfx, "
         "client_id:3\n");
    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 200);
}
END_TEST

START_TEST(lines_come_in_pieces)
{
    static const char text[] = RUN("100.000000", "1:1", "gfx", "7") DONE("100.250000", "1:1");

    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        job_trace_feed(&trace, text + i, 1);
    }
    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 250);
}
END_TEST

START_TEST(line_that_is_too_long_is_left_out_and_the_next_is_read)
{
    char text[2000];

    memset(text, 'x', sizeof(text));
    job_trace_feed(&trace, text, sizeof(text));
    job_trace_feed(&trace, text, sizeof(text));
    feed("\n" RUN("100.000000", "1:1", "gfx", "7"));
    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 1000);
}
END_TEST

START_TEST(lost_events_make_the_interval_unknown)
{
    feed(RUN("100.000000", "1:1", "gfx", "7") "CPU:1 [LOST 1234 EVENTS]\n");
    ck_assert(!job_trace_take(&trace, 101 * S, permille));

    ck_assert(job_trace_take(&trace, 102 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 0);
}
END_TEST

START_TEST(job_with_a_missed_end_is_forgotten_in_time)
{
    feed(RUN("100.000000", "1:1", "gfx", "7"));
    ck_assert(job_trace_take(&trace, 109 * S, permille));
    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 1000);
    ck_assert(job_trace_take(&trace, 111 * S, permille));

    ck_assert(job_trace_take(&trace, 112 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 0);
}
END_TEST

START_TEST(end_of_an_unknown_job_is_ignored)
{
    feed(DONE("100.500000", "9:9"));
    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 0);
}
END_TEST

START_TEST(more_jobs_than_fit_are_events_lost)
{
    char text[256];

    for (unsigned i = 0; i <= JOB_TRACE_JOBS_MAX; i++) {
        snprintf(text, sizeof(text), RUN("100.%06u", "%u:1", "gfx", "7"), i, i);
        feed(text);
    }

    ck_assert(!job_trace_take(&trace, 101 * S, permille));
}
END_TEST

START_TEST(no_time_is_no_interval)
{
    ck_assert(!job_trace_take(&trace, 100 * S, permille));
    ck_assert(!job_trace_take(&trace, 99 * S, permille));
}
END_TEST

#define CREATE(time, job, type)                                                                                        \
    " a-1 [000] ..... " time ": pvr_job_create: pvr_dev=01 ctx=02 job=" job " job_type=" type " sync_op_count=0\n"
#define SUBMIT(time, job) " a-1 [000] ..... " time ": pvr_job_submit_fw: job=" job " done_seqno=1\n"
#define ENDED(time, job)  " a-1 [000] ..... " time ": pvr_job_done: job=" job "\n"

START_TEST(events_of_powervr_separate_3d_from_compute)
{
    job_trace_init(&trace, true, 100 * S);
    feed(CREATE("100.000000", "aa", "fragment") CREATE("100.000000", "bb", "compute") SUBMIT("100.100000", "aa")
             SUBMIT("100.100000", "bb") ENDED("100.300000", "aa") ENDED("100.800000", "bb"));
    /* The same jobs, as the scheduler tells them. */
    feed(RUN("100.000000", "1:1", "pvr-queue", "7"));
    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 200);
    ck_assert_uint_eq(permille[ENGINE_COMPUTE], 700);
}
END_TEST

START_TEST(reused_address_is_another_job)
{
    job_trace_init(&trace, true, 100 * S);
    feed(CREATE("100.000000", "aa", "fragment") SUBMIT("100.000000", "aa") CREATE("100.100000", "aa", "compute")
             SUBMIT("100.500000", "aa") ENDED("100.700000", "aa"));
    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 100);
    ck_assert_uint_eq(permille[ENGINE_COMPUTE], 200);
}
END_TEST

START_TEST(job_created_before_the_trace_counts_as_graphics)
{
    job_trace_init(&trace, true, 100 * S);
    feed(SUBMIT("100.000000", "aa") ENDED("100.700000", "aa"));
    ck_assert(job_trace_take(&trace, 101 * S, permille));

    ck_assert_uint_eq(permille[ENGINE_GRAPHICS], 700);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_trace");
    TCase *tcase = tcase_create("job_trace");

    tcase_add_checked_fixture(tcase, make, NULL);
    tcase_add_test(tcase, new_events_of_the_scheduler_are_read);
    tcase_add_test(tcase, old_events_of_the_scheduler_are_read);
    tcase_add_test(tcase, events_of_powervr_are_read);
    tcase_add_test(tcase, process_may_be_called_like_an_event);
    tcase_add_loop_test(tcase, other_lines_and_torn_ones_are_none, 0, 11);
    tcase_add_test(tcase, union_counts_overlap_once);
    tcase_add_test(tcase, union_of_times_out_of_order_is_never_negative);
    tcase_add_test(tcase, share_is_the_union_of_each_side);
    tcase_add_test(tcase, job_that_still_runs_counts_up_to_now);
    tcase_add_test(tcase, clients_have_shares_of_their_own);
    tcase_add_test(tcase, more_clients_than_fit_take_the_place_of_the_idle);
    tcase_add_test(tcase, jobs_of_another_device_are_left_out_and_of_an_unknown_one_not);
    tcase_add_test(tcase, lines_come_in_pieces);
    tcase_add_test(tcase, line_that_is_too_long_is_left_out_and_the_next_is_read);
    tcase_add_test(tcase, lost_events_make_the_interval_unknown);
    tcase_add_test(tcase, job_with_a_missed_end_is_forgotten_in_time);
    tcase_add_test(tcase, end_of_an_unknown_job_is_ignored);
    tcase_add_test(tcase, more_jobs_than_fit_are_events_lost);
    tcase_add_test(tcase, no_time_is_no_interval);
    tcase_add_test(tcase, events_of_powervr_separate_3d_from_compute);
    tcase_add_test(tcase, reused_address_is_another_job);
    tcase_add_test(tcase, job_created_before_the_trace_counts_as_graphics);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
