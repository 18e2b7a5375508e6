/* Setting up a trace of jobs where that may be done, and saying what is missing where it may not. */
#include "failed_alloc.h"
#include "gpu.h"
#include "load/drm_sched.h"
#include <inttypes.h>

#define MS       1000ull
#define TRACING  "/sys/kernel/tracing"
#define INSTANCE TRACING "/instances/sotto"
#define SCHED    "events/gpu_scheduler/"

static const struct gpu *device;
static struct root machine;
static struct source *graphics;
static struct source *compute;
static struct reading reading;

static void make_driver(const char *driver)
{
    device = gpu_make(driver);
    machine = tree_root;
    machine.is_machine = true; /* so that files are written; the tree is ours */
}

static void make(void)
{
    make_driver("msm");
}

static void end(void)
{
    source_destroy(graphics);
    source_destroy(compute);
    tree_remove();
}

static void open_both(const struct root *root)
{
    ck_assert_int_eq(drm_sched_open(&graphics, &compute, root, device), 0);
}

static void look(uint64_t now_us)
{
    source_read(graphics, now_us, &reading);
}

/* An event in the trace's folder, and switched off in the instance's. */
static void make_event(const char *name)
{
    char path[160];

    snprintf(path, sizeof(path), TRACING "/events/%s/enable", name);
    tree_write(path, "0\n");
    snprintf(path, sizeof(path), INSTANCE "/events/%s/enable", name);
    tree_write(path, "0\n");
}

static void make_instance(void)
{
    tree_write(INSTANCE "/trace_clock", "[local] global counter uptime perf mono mono_raw boot tai\n");
    tree_write(INSTANCE "/tracing_on", "0\n");
    tree_write(INSTANCE "/trace_pipe", "");
}

static void make_new(void)
{
    make_instance();
    make_event("gpu_scheduler/drm_sched_job_run");
    make_event("gpu_scheduler/drm_sched_job_done");
}

static void append(const char *text)
{
    char path[256];
    int fd = open(tree_place(INSTANCE "/trace_pipe", path, sizeof(path)), O_WRONLY | O_APPEND);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void has_text(const char *path, const char *text)
{
    char is[64];
    size_t n;

    ck_assert_int_eq(root_read(&tree_root, path, is, sizeof(is), &n), 0);
    ck_assert_str_eq(is, text);
}

START_TEST(kernel_without_tracing_is_absent)
{
    open_both(&machine);
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "tracing"));
}
END_TEST

START_TEST(kernel_without_the_events_is_absent)
{
    tree_folder(TRACING "/events");
    open_both(&machine);
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "no trace events"));
}
END_TEST

START_TEST(forbidden_tracing_is_forbidden)
{
    tree_folder(TRACING);
    tree_errno(TRACING, EACCES);
    open_both(&tree_root);
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_FORBIDDEN);
}
END_TEST

START_TEST(trace_is_set_up_as_it_must_be)
{
    make_new();
    open_both(&machine);
    look(1000 * MS);

    has_text(INSTANCE "/trace_clock", "mono");
    has_text(INSTANCE "/tracing_on", "1");
    has_text(INSTANCE "/" SCHED "drm_sched_job_run/enable", "1");
    has_text(INSTANCE "/" SCHED "drm_sched_job_done/enable", "1");
    has_text(TRACING "/" SCHED "drm_sched_job_run/enable", "0\n"); /* not ours */
    ck_assert_int_eq(reading.state, READING_STALE);
    ck_assert_ptr_nonnull(strstr(reading.why, "no interval"));
}
END_TEST

START_TEST(jobs_are_load)
{
    struct source_client list[4];

    make_new();
    open_both(&machine);
    look(1000 * MS);
    append(" k-1 [0] . 1.010000: drm_sched_job_run: dev=fd00000.gpu, fence=1:1, ring=gpu-ring-0, client_id:5\n"
           " k-1 [0] . 1.035000: drm_sched_job_done: fence=1:1 signaled\n");
    look(1050 * MS);
    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 500);
    ck_assert_uint_eq(source_clients(graphics, list, 4), 1);
    ck_assert_uint_eq(list[0].id, 5);
    ck_assert(!graphics->is_mixed);

    look(1100 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 0);
}
END_TEST

START_TEST(earlier_events_are_not_counted)
{
    make_new();
    append(" k-1 [0] . 0.010000: drm_sched_job_run: dev=fd00000.gpu, fence=1:1, ring=gpu-ring-0, client_id:5\n"
           " k-1 [0] . 0.935000: drm_sched_job_done: fence=1:1 signaled\n");
    open_both(&machine);
    look(1000 * MS);
    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    ck_assert_int_eq(reading.value, 0);
}
END_TEST

START_TEST(old_events_do_not_tell_clients_apart)
{
    make_instance();
    make_event("gpu_scheduler/drm_run_job");
    make_event("gpu_scheduler/drm_sched_process_job");
    open_both(&machine);
    look(1000 * MS);
    append(" k-1 [0] . 1.010000: drm_run_job: entity=01, id=1, fence=0a, ring=gpu-ring-0, job count:0\n"
           " k-1 [0] . 1.020000: drm_sched_process_job: fence=0a signaled\n");

    look(1050 * MS);

    ck_assert_int_eq(reading.value, 200);
    ck_assert(graphics->is_mixed);
    ck_assert_ptr_nonnull(strstr(graphics->why, "all devices"));
}
END_TEST

START_TEST(events_of_powervr_take_precedence_over_the_scheduler_s)
{
    tree_remove();
    make_driver("powervr");
    make_new();
    make_event("pvr/pvr_job_create");
    make_event("pvr/pvr_job_submit_fw");
    make_event("pvr/pvr_job_done");
    open_both(&machine);
    look(1000 * MS);
    has_text(INSTANCE "/events/pvr/pvr_job_done/enable", "1");
    has_text(INSTANCE "/" SCHED "drm_sched_job_run/enable", "0\n");
    append(" a-1 [0] . 1.010000: pvr_job_create: job=aa job_type=compute\n"
           " a-1 [0] . 1.010000: pvr_job_submit_fw: job=aa done_seqno=1\n");

    look(1050 * MS);

    ck_assert_int_eq(reading.value, 0);
    ck_assert(!graphics->is_mixed);
    source_read(compute, 1050 * MS, &reading);
    ck_assert_int_eq(reading.value, 800);
    ck_assert(compute->is_mixed);
}
END_TEST

START_TEST(instance_made_by_another_process_is_only_read)
{
    make_new();
    tree_write(INSTANCE "/trace_clock", "local [mono] boot\n");
    tree_write(INSTANCE "/tracing_on", "1\n");
    tree_write(INSTANCE "/" SCHED "drm_sched_job_run/enable", "1\n");
    tree_write(INSTANCE "/" SCHED "drm_sched_job_done/enable", "1*\n");
    open_both(&tree_root); /* whose files are never written */
    look(1000 * MS);
    look(1050 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
    has_text(INSTANCE "/tracing_on", "1\n");
}
END_TEST

START_TEST(file_that_may_not_be_written_is_named)
{
    static const struct {
        const char *file;
        const char *word;
    } rows[] = {
        { INSTANCE "/trace_clock", "trace_clock" },
        { INSTANCE "/" SCHED "drm_sched_job_run/enable", "drm_sched_job_run" },
        { INSTANCE "/tracing_on", "tracing_on" },
    };

    make_new();
    tree_write(INSTANCE "/trace_clock", "local [mono] boot\n");
    tree_write(INSTANCE "/tracing_on", "1\n");
    tree_write(INSTANCE "/" SCHED "drm_sched_job_run/enable", "1\n");
    tree_write(INSTANCE "/" SCHED "drm_sched_job_done/enable", "1\n");
    tree_write(rows[_i].file, "0\n");
    open_both(&tree_root);
    look(1000 * MS);

    ck_assert_int_eq(reading.state, READING_FORBIDDEN);
    ck_assert_ptr_nonnull(strstr(reading.why, rows[_i].word));
}
END_TEST

START_TEST(instance_is_made_on_the_machine_and_never_in_a_tree)
{
    make_event("gpu_scheduler/drm_sched_job_run");
    tree_delete(TRACING "/instances/sotto");
    open_both(&tree_root);
    look(1000 * MS);
    ck_assert_int_eq(reading.state, READING_FORBIDDEN);
    ck_assert(!root_has(&tree_root, INSTANCE));
    source_destroy(graphics);
    source_destroy(compute);

    open_both(&machine);
    look(1000 * MS);

    ck_assert(root_has(&tree_root, INSTANCE)); /* empty: this is no kernel */
    ck_assert_int_eq(reading.state, READING_ABSENT);
    source_destroy(graphics);
    source_destroy(compute);
    graphics = NULL;
    compute = NULL;
    ck_assert(!root_has(&tree_root, INSTANCE));
}
END_TEST

START_TEST(second_reader_of_a_trace_takes_nothing_from_the_first)
{
    struct source *second;
    struct source *twin;

    make_new();
    open_both(&machine);
    look(1000 * MS);
    ck_assert_int_eq(drm_sched_open(&second, &twin, &machine, device), 0);

    source_read(second, 1000 * MS, &reading);

    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "another"));
    source_destroy(second);
    source_destroy(twin);
}
END_TEST

START_TEST(failed_set_up_is_tried_again_after_ten_seconds)
{
    tree_folder(TRACING);
    tree_errno(TRACING, EACCES);
    open_both(&tree_root);
    look(1000 * MS);
    tree_errno(TRACING, 0);
    look(5000 * MS);
    ck_assert_int_eq(reading.state, READING_FORBIDDEN);

    look(11000 * MS);

    ck_assert_int_eq(reading.state, READING_ABSENT);
}
END_TEST

START_TEST(lost_events_are_not_idle)
{
    make_new();
    open_both(&machine);
    look(1000 * MS);
    look(1050 * MS);
    append("CPU:0 [LOST 77 EVENTS]\n");
    look(1100 * MS);
    ck_assert_int_eq(reading.state, READING_ABSENT);
    ck_assert_ptr_nonnull(strstr(reading.why, "lost"));

    look(1150 * MS);

    ck_assert_int_eq(reading.state, READING_OK);
}
END_TEST

START_TEST(tracing_in_debugfs_serves_where_there_is_no_other)
{
    tree_write("/sys/kernel/debug/tracing/" SCHED "drm_sched_job_run/enable", "0\n");
    open_both(&machine);

    ck_assert_str_eq(graphics->path, "/sys/kernel/debug/tracing");
    ck_assert_uint_eq(graphics->rank, LOAD_RANK_SCHED);
}
END_TEST

static int open_once(void *data)
{
    int r = drm_sched_open(&graphics, &compute, &machine, device);

    if (!r) {
        source_destroy(graphics);
        source_destroy(compute);
    }
    graphics = NULL;
    compute = NULL;
    return r;
}

START_TEST(want_of_memory_in_opening_is_a_fault)
{
    for_each_failed_alloc(open_once, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("drm_sched");
    TCase *tcase = tcase_create("drm_sched");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, kernel_without_tracing_is_absent);
    tcase_add_test(tcase, kernel_without_the_events_is_absent);
    tcase_add_test(tcase, forbidden_tracing_is_forbidden);
    tcase_add_test(tcase, trace_is_set_up_as_it_must_be);
    tcase_add_test(tcase, jobs_are_load);
    tcase_add_test(tcase, earlier_events_are_not_counted);
    tcase_add_test(tcase, old_events_do_not_tell_clients_apart);
    tcase_add_test(tcase, events_of_powervr_take_precedence_over_the_scheduler_s);
    tcase_add_test(tcase, instance_made_by_another_process_is_only_read);
    tcase_add_loop_test(tcase, file_that_may_not_be_written_is_named, 0, 3);
    tcase_add_test(tcase, instance_is_made_on_the_machine_and_never_in_a_tree);
    tcase_add_test(tcase, second_reader_of_a_trace_takes_nothing_from_the_first);
    tcase_add_test(tcase, failed_set_up_is_tried_again_after_ten_seconds);
    tcase_add_test(tcase, lost_events_are_not_idle);
    tcase_add_test(tcase, tracing_in_debugfs_serves_where_there_is_no_other);
    tcase_add_test(tcase, want_of_memory_in_opening_is_a_fault);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
