/*
 * Cores and cpu: thread counts from quotas, kernel sets from feature words; both from recorded machines
 */
#include "unit.h"

#include "base/clean.h"
#include "kern/cores.h"
#include "kern/kern.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>

/* A machine of files below a folder of its own. */
struct machine {
    char root[64];
};

static void make(struct machine *machine)
{
    snprintf(machine->root, sizeof(machine->root), "/tmp/sotto-cores-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(machine->root));
}

/* Writes @text at @path below the root, making the folders on the way. */
static void put(const struct machine *machine, const char *path, const char *text)
{
    char full[512];
    FILE *file;

    snprintf(full, sizeof(full), "%s%s", machine->root, path);
    for (char *at = full + strlen(machine->root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        ck_assert(mkdir(full, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void unmake(const struct machine *machine)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", machine->root);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(a_quota_of_one_and_a_half_processors_is_one)
{
    struct machine machine;

    make(&machine);
    put(&machine, "/proc/self/cgroup", "0::/system.slice/sottod.service\n");
    put(&machine, "/sys/fs/cgroup/system.slice/sottod.service/cpu.max", "150000 100000\n");

    ck_assert_uint_eq(cores_quota(machine.root), 1);
    unmake(&machine);
}
END_TEST

START_TEST(the_tightest_parent_decides)
{
    struct machine machine;

    make(&machine);
    put(&machine, "/proc/self/cgroup", "0::/a/b/c\n");
    put(&machine, "/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    put(&machine, "/sys/fs/cgroup/a/b/cpu.max", "390000 100000\n");
    put(&machine, "/sys/fs/cgroup/a/cpu.max", "800000 100000\n");

    ck_assert_uint_eq(cores_quota(machine.root), 3);
    unmake(&machine);
}
END_TEST

START_TEST(less_than_one_processor_is_one)
{
    struct machine machine;

    make(&machine);
    put(&machine, "/proc/self/cgroup", "0::/\n");
    put(&machine, "/sys/fs/cgroup/cpu.max", "20000 100000\n");

    ck_assert_uint_eq(cores_quota(machine.root), 1);
    unmake(&machine);
}
END_TEST

START_TEST(version_1_is_understood_by_either_mount)
{
    static const char *const mounts[] = { "cpu,cpuacct", "cpu" };
    struct machine machine;
    char path[128];

    make(&machine);
    put(&machine, "/proc/self/cgroup", "12:pids:/x\n4:cpu,cpuacct:/box\n1:name=systemd:/y\n0::/z\n");
    snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/box/cpu.cfs_quota_us", mounts[_i]);
    put(&machine, path, "250000\n");
    snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/box/cpu.cfs_period_us", mounts[_i]);
    put(&machine, path, "100000\n");

    ck_assert_uint_eq(cores_quota(machine.root), 2);
    unmake(&machine);
}
END_TEST

START_TEST(a_path_that_only_the_host_sees_ends_at_the_mount)
{
    struct machine machine;

    make(&machine);
    put(&machine, "/proc/self/cgroup", "0::/../../host/box\n");
    put(&machine, "/sys/fs/cgroup/cpu.max", "200000 100000\n");

    ck_assert_uint_eq(cores_quota(machine.root), 2);
    unmake(&machine);
}
END_TEST

START_TEST(nothing_readable_is_no_limit)
{
    static const char *const lines[] = { "", "0::/a\n", "nonsense", "4:cpuset:/a\n", "5:cpu:/a\n" };
    struct machine machine;

    make(&machine);
    put(&machine, "/proc/self/cgroup", lines[_i]);
    put(&machine, "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
    put(&machine, "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    put(&machine, "/sys/fs/cgroup/a/cpu.max", "garbage\n");

    ck_assert_uint_eq(cores_quota(machine.root), UINT32_MAX);
    ck_assert_uint_eq(cores_quota("/nowhere"), UINT32_MAX);
    unmake(&machine);
}
END_TEST

START_TEST(threads_follow_the_affinity_mask)
{
    struct cores cores;
    cpu_set_t set;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
    cores_choose(&cores, "", NULL, 0);
    ck_assert_uint_ge(cores.n_threads, 1);
    ck_assert_uint_le(cores.n_threads, (uint32_t)CPU_COUNT(&set));
    for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set) && kept++ > 0) {
            CPU_CLR(cpu, &set);
        }
    }
    ck_assert_int_eq(sched_setaffinity(0, sizeof(set), &set), 0);

    cores_choose(&cores, "", NULL, 0);

    ck_assert_uint_eq(cores.n_threads, 1);
    ck_assert_uint_eq(cores.n_at_once, 1);
}
END_TEST

/* A machine of eight cores, of which some are named by their capacity. */
static void make_cores(struct machine *machine, const char *const capacities[8], struct cores_set *ret_all)
{
    char path[128];

    make(machine);
    memset(ret_all, 0, sizeof(*ret_all));
    for (uint32_t i = 0; i < 8; i++) {
        CPU_SET_S(i, sizeof(*ret_all), ret_all->words);
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpu_capacity", i);
        if (capacities[i]) {
            put(machine, path, capacities[i]);
        }
    }
}

static const struct cores_row {
    const char *capacities[8];
    const char *quota; /* cpu.max */
    uint32_t n_wanted;
    uint32_t n_at_once;
    const char *text;
} cores_rows[] = {
    { { NULL }, NULL, 0, 8, "8 threads on cores 0-7" },
    { { NULL }, NULL, 3, 8, "3 threads on cores 0-7" },
    { { NULL }, "250000 100000\n", 0, 2, "2 threads on cores 0-7; the control group's quota allows 2 at once" },
    { { "400\n", "400\n", "400\n", "400\n", "1024\n", "1024\n", "1024\n", "1024\n" },
      NULL,
      0,
      4,
      "4 threads on cores 4-7; 4 slower cores (0-3) are left to others" },
    { { "1024\n", "400\n", "870\n", "512\n", "1024\n", "511\n", "511\n", "870\n" },
      NULL,
      0,
      5,
      "5 threads on cores 0,2-4,7; 3 slower cores (1,5-6) are left to others" },
    { { "1024\n", "400\n", "870\n", "512\n", "1024\n", "511\n", "511\n", "870\n" },
      NULL,
      6,
      7,
      "6 threads on cores 0,2-7; 1 slower core (1) is left to others" },
    { { "1024\n", "400\n", "870\n", "512\n", "1024\n", "511\n", "511\n", "870\n" },
      NULL,
      9,
      8,
      "9 threads on cores 0-7" },
    { { "1024\n", "1024\n", "1024\n", "1024\n", "400\n", "400\n", "400\n", NULL },
      NULL,
      0,
      8,
      "8 threads on cores 0-7" },
    { { "1024\n", "1024\n", "nonsense", "1024\n", "400\n", "400\n", "400\n", "400\n" },
      NULL,
      0,
      8,
      "8 threads on cores 0-7" },
    { { "400\n", "400\n", "400\n", "400\n", "1024\n", "1024\n", "1024\n", "1024\n" },
      "100000 100000\n",
      0,
      1,
      "1 thread on cores 4-7; 4 slower cores (0-3) are left to others; the control group's quota allows 1 at once" },
};

START_TEST(fast_cores_are_chosen_and_slow_ones_left)
{
    const struct cores_row *row = &cores_rows[_i];
    char text[CORES_TEXT];
    struct machine machine;
    struct cores_set all;
    struct cores cores;

    make_cores(&machine, row->capacities, &all);
    put(&machine, "/proc/self/cgroup", "0::/\n");
    if (row->quota) {
        put(&machine, "/sys/fs/cgroup/cpu.max", row->quota);
    }

    cores_choose(&cores, machine.root, &all, row->n_wanted);
    cores_describe(&cores, text, sizeof(text));

    ck_assert_uint_eq(cores.n_at_once, row->n_at_once);
    ck_assert_str_eq(text, row->text);
    unmake(&machine);
}
END_TEST

START_TEST(no_core_at_all_is_one_thread)
{
    const struct cores_set none = { 0 };
    struct cores cores;
    char text[8];

    cores_choose(&cores, "/nowhere", &none, 0);
    cores_describe(&cores, text, sizeof(text));

    ck_assert_uint_eq(cores.n_threads, 1);
    ck_assert_str_eq(text, "1 threa"); /* what does not fit is cut off */
}
END_TEST

/* A processor with everything, under a system that saves its registers. */
static const struct cpu_words full = {
    .max_leaf = 7,
    .leaf1_ecx = 1u << 27 | 1u << 28 | 1u << 12 | 1u << 29,
    .leaf7_ebx = 1u << 5 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31,
    .leaf7_ecx = 1u << 11,
    .xcr0 = 0xe7,
};

#define ALL_AVX2   (CPU_AVX2 | CPU_FMA | CPU_F16C)
#define ALL_AVX512 (CPU_AVX512 | CPU_VNNI)
#define ALL_NEON   (CPU_NEON | CPU_DOTPROD | CPU_I8MM)

START_TEST(feature_words_become_bits)
{
    ck_assert_uint_eq(cpu_decode(&full), ALL_AVX2 | ALL_AVX512);
}
END_TEST

START_TEST(registers_that_are_not_saved_are_not_used)
{
    struct cpu_words words = full;

    words.xcr0 = 0x3; /* the lower halves only */
    ck_assert_uint_eq(cpu_decode(&words), 0);
    words = full;
    words.leaf1_ecx &= ~(1u << 27);
    ck_assert_uint_eq(cpu_decode(&words), 0);
    words = full;
    words.leaf1_ecx &= ~(1u << 28);
    ck_assert_uint_eq(cpu_decode(&words), 0);
    words = full;
    words.xcr0 = 0x67; /* half of the wide registers only */
    ck_assert_uint_eq(cpu_decode(&words), ALL_AVX2);
}
END_TEST

START_TEST(a_missing_extension_is_missing)
{
    struct cpu_words words = full;

    words.max_leaf = 6; /* whatever the word says then */
    ck_assert_uint_eq(cpu_decode(&words), CPU_FMA | CPU_F16C);
    words = full;
    words.leaf7_ebx = ~(1u << 5);
    ck_assert_uint_eq(cpu_decode(&words), CPU_FMA | CPU_F16C | ALL_AVX512);
    words = full;
    words.leaf1_ecx &= ~(1u << 12);
    ck_assert_uint_eq(cpu_decode(&words), CPU_AVX2 | CPU_F16C | ALL_AVX512);
    words = full;
    words.leaf1_ecx &= ~(1u << 29);
    ck_assert_uint_eq(cpu_decode(&words), CPU_AVX2 | CPU_FMA | ALL_AVX512);
    words = full;
    words.leaf7_ecx = 0;
    ck_assert_uint_eq(cpu_decode(&words), ALL_AVX2 | CPU_AVX512);
    words = full;
    words.leaf7_1_eax = 1u << 4;
    ck_assert_uint_eq(cpu_decode(&words), ALL_AVX2 | ALL_AVX512 | CPU_AVX_VNNI);
    for (uint32_t bit = 16; bit < 32; bit++) { /* F, DQ, BW and VL are all needed */
        words = full;
        words.leaf7_ebx &= ~(1u << bit);
        ck_assert_uint_eq(cpu_decode(&words), words.leaf7_ebx == full.leaf7_ebx ? ALL_AVX2 | ALL_AVX512 : ALL_AVX2);
    }
}
END_TEST

START_TEST(words_of_arm_become_bits)
{
    const uint64_t asimd = 1u << 1;
    const uint64_t dotprod = 1u << 20;
    const uint64_t i8mm = 1u << 13; /* in the second word */

    ck_assert_uint_eq(cpu_decode_arm(asimd, 0), CPU_NEON);
    ck_assert_uint_eq(cpu_decode_arm(asimd | dotprod, ~i8mm), CPU_NEON | CPU_DOTPROD);
    ck_assert_uint_eq(cpu_decode_arm(asimd | dotprod, i8mm), ALL_NEON);
    ck_assert_uint_eq(cpu_decode_arm(asimd | i8mm, i8mm), CPU_NEON); /* no set uses i8mm alone */
    ck_assert_uint_eq(cpu_decode_arm(~asimd, UINT64_MAX), 0);
}
END_TEST

/* Returns the name of the set that a processor with the bits @cpu gets. */
static const char *expected_set(uint32_t cpu)
{
#if defined(__x86_64__)
    if ((cpu & ALL_AVX2) != ALL_AVX2) {
        return "scalar";
    }
    if ((cpu & ALL_AVX512) == ALL_AVX512) {
        return "avx512";
    }
    return cpu & (CPU_VNNI | CPU_AVX_VNNI) ? "avx2-vnni" : "avx2";
#elif defined(__aarch64__)
    if (!(cpu & CPU_NEON)) {
        return "scalar";
    }
    return (cpu & ALL_NEON) == ALL_NEON ? "neon-i8mm" : cpu & CPU_DOTPROD ? "neon-dotprod" : "neon";
#else
    return "scalar";
#endif
}

START_TEST(a_set_is_chosen_only_with_all_that_it_needs)
{
    for (uint32_t cpu = 0; cpu <= (ALL_AVX2 | ALL_AVX512 | CPU_AVX_VNNI | ALL_NEON); cpu++) {
        struct kern_ops ops = { 0 };

        kern_choose(&ops, cpu);

        ck_assert_str_eq(ops.name, expected_set(cpu));
        ck_assert(ops.unpack && ops.quantise && ops.matmul && ops.rms_norm && ops.rope && ops.silu_mul && ops.add);
        ck_assert(ops.store && ops.attend && ops.argmax);
    }
}
END_TEST

START_TEST(sets_have_names_and_others_are_refused)
{
    uint32_t mask = 77;

    ck_assert(!cpu_mask("avx3", &mask));
    ck_assert_uint_eq(mask, 77);
    ck_assert(cpu_mask("scalar", &mask));
    ck_assert_uint_eq(mask, 0);
    ck_assert(cpu_mask("avx2", &mask));
    ck_assert_uint_eq(mask, ALL_AVX2);
    ck_assert(cpu_mask("avx2-vnni", &mask));
    ck_assert_uint_eq(mask, ALL_AVX2 | CPU_VNNI | CPU_AVX_VNNI);
    ck_assert(cpu_mask("avx512", &mask));
    ck_assert_uint_eq(mask, ALL_AVX2 | ALL_AVX512);
    ck_assert(cpu_mask("neon", &mask));
    ck_assert_uint_eq(mask, CPU_NEON);
    ck_assert(cpu_mask("neon-dotprod", &mask));
    ck_assert_uint_eq(mask, CPU_NEON | CPU_DOTPROD);
    ck_assert(cpu_mask("neon-i8mm", &mask));
    ck_assert_uint_eq(mask, ALL_NEON);
    ck_assert(cpu_mask("", &mask));
    ck_assert_uint_eq(mask, UINT32_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kern-cores");
    TCase *quota = tcase_create("quota");
    TCase *cpu = tcase_create("cpu");

    unit_add(quota, a_quota_of_one_and_a_half_processors_is_one, the_tightest_parent_decides,
             less_than_one_processor_is_one);
    tcase_add_loop_test(quota, version_1_is_understood_by_either_mount, 0, 2);
    tcase_add_test(quota, a_path_that_only_the_host_sees_ends_at_the_mount);
    tcase_add_loop_test(quota, nothing_readable_is_no_limit, 0, 5);
    unit_add(quota, threads_follow_the_affinity_mask, no_core_at_all_is_one_thread);
    tcase_add_loop_test(quota, fast_cores_are_chosen_and_slow_ones_left, 0, COUNTOF(cores_rows));
    suite_add_tcase(suite, quota);
    unit_add(cpu, feature_words_become_bits, registers_that_are_not_saved_are_not_used, a_missing_extension_is_missing,
             words_of_arm_become_bits, a_set_is_chosen_only_with_all_that_it_needs,
             sets_have_names_and_others_are_refused);
    suite_add_tcase(suite, cpu);
    return unit_run(suite);
}
