/* A tree of files in place of the machine: links stay inside, faults are staged, and nothing is read half. */
#include "base/clean.h"
#include "sysfs/root.h"
#include "tree.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static char text[8192];
static size_t n_text;

static void make(void)
{
    tree_make();
}

/* From here on this process has no openat2(), as on a kernel before 5.6. */
static void forget_openat2(void)
{
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = COUNTOF(rows), .filter = rows };

    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Odd turns of a loop test do without openat2(). */
static void maybe_forget(int turn)
{
    if (turn & 1) {
        forget_openat2();
    }
}

START_TEST(file_is_read_whole_and_zero_terminated)
{
    tree_write_bytes("/sys/a", "x\0y", 3);

    ck_assert_int_eq(root_read(&tree_root, "/sys/a", text, 4, &n_text), 0);

    ck_assert_uint_eq(n_text, 3);
    ck_assert_int_eq(memcmp(text, "x\0y\0", 4), 0);
}
END_TEST

START_TEST(file_of_one_byte_more_than_there_is_room_is_too_big)
{
    tree_write("/sys/a", "1234");

    n_text = 77;
    ck_assert_int_eq(root_read(&tree_root, "/sys/a", text, 4, &n_text), -EFBIG);

    ck_assert_uint_eq(n_text, 77);
}
END_TEST

START_TEST(empty_file_is_no_fault_and_no_number)
{
    int64_t number = 5;

    tree_write("/sys/a", "");

    ck_assert_int_eq(root_read(&tree_root, "/sys/a", text, sizeof(text), &n_text), 0);
    ck_assert_uint_eq(n_text, 0);
    ck_assert_int_eq(root_read_number(&tree_root, "/sys/a", &number), -EPROTO);
    ck_assert_int_eq(number, 5);
}
END_TEST

START_TEST(staged_errno_is_the_fault_of_reading)
{
    static const int faults[] = { EAGAIN, EIO, EINVAL, EACCES, ENODATA, EPERM };
    int64_t number;
    int fd;

    tree_write("/sys/a", "45000\n");
    for (size_t i = 0; i < COUNTOF(faults); i++) {
        tree_errno("/sys/a", faults[i]);

        ck_assert_int_eq(root_read_number(&tree_root, "/sys/a", &number), -faults[i]);
        ck_assert_int_eq(root_open_file(&tree_root, "/sys/a", &fd), -faults[i]);
        ck_assert(root_has(&tree_root, "/sys/a"));
    }
    tree_errno("/sys/a", 0);
    ck_assert_int_eq(root_read_number(&tree_root, "/sys/a", &number), 0);
    ck_assert_int_eq(number, 45000);
}
END_TEST

START_TEST(staged_errno_holds_for_folders)
{
    DIR *dir;

    tree_write("/proc/7/fd/0", "");
    tree_errno("/proc/7/fd", EACCES);

    ck_assert_int_eq(root_open_folder(&tree_root, "/proc/7/fd", &dir), -EACCES);
}
END_TEST

START_TEST(staged_errno_that_is_no_number_is_a_fault_too)
{
    tree_write("/sys/a", "1");
    tree_write("/sys/a.sotto-errno", "EIO\n");

    ck_assert_int_eq(root_read(&tree_root, "/sys/a", text, sizeof(text), &n_text), -EPROTO);
}
END_TEST

START_TEST(number_is_the_only_text)
{
    static const struct {
        const char *text;
        int r;
        int64_t number;
    } rows[] = {
        { "84000", 0, 84000 },
        { " -30000 \n", 0, -30000 },
        { "-32768000\n", 0, -32768000 },
        { "9223372036854775807\n", 0, INT64_MAX },
        { "9223372036854775808\n", -EPROTO, 0 },
        { "7", 0, 7 },
        { "45000 C\n", -EPROTO, 0 },
        { "0x10\n", -EPROTO, 0 },
        { "\n", -EPROTO, 0 },
        { "-", -EPROTO, 0 },
        { "1 2\n", -EPROTO, 0 },
    };

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        int64_t number = 0;

        tree_write("/sys/n", rows[i].text);
        ck_assert_int_eq(root_read_number(&tree_root, "/sys/n", &number), rows[i].r);
        ck_assert_int_eq(number, rows[i].number);
    }
}
END_TEST

START_TEST(number_with_a_zero_byte_in_it_is_none)
{
    int64_t number;

    tree_write_bytes("/sys/n", "45\0", 3);

    ck_assert_int_eq(root_read_number(&tree_root, "/sys/n", &number), -EPROTO);
}
END_TEST

START_TEST(five_kilobytes_are_no_number_and_no_word)
{
    int64_t number;

    memset(text, '4', 5000);
    text[5000] = '\0';
    tree_write("/sys/n", text);

    ck_assert_int_eq(root_read_number(&tree_root, "/sys/n", &number), -EPROTO);
    ck_assert_int_eq(root_read_word(&tree_root, "/sys/n", text, sizeof(text)), -EFBIG);
}
END_TEST

START_TEST(word_is_the_first_line_trimmed)
{
    tree_write("/sys/w", "  gpu thermal\t\nsecond\n");

    ck_assert_int_eq(root_read_word(&tree_root, "/sys/w", text, 12), 0);
    ck_assert_str_eq(text, "gpu thermal");
    ck_assert_int_eq(root_read_word(&tree_root, "/sys/w", text, 11), -EFBIG);
}
END_TEST

START_TEST(absent_file_is_enoent)
{
    maybe_forget(_i);

    ck_assert_int_eq(root_read(&tree_root, "/sys/none", text, sizeof(text), &n_text), -ENOENT);
    ck_assert(!root_has(&tree_root, "/sys/none"));
}
END_TEST

START_TEST(absolute_link_is_followed_below_the_root)
{
    tree_write("/sys/devices/z/type", "gpu\n");
    tree_link("/sys/class/z", "/sys/devices/z");
    maybe_forget(_i);

    ck_assert_int_eq(root_read_word(&tree_root, "/sys/class/z/type", text, sizeof(text)), 0);

    ck_assert_str_eq(text, "gpu");
}
END_TEST

START_TEST(link_with_dots_is_followed_and_cannot_climb_out)
{
    tree_write("/sys/devices/z/type", "gpu\n");
    tree_link("/sys/class/z", "../../../../../../../../sys/devices/z/./");
    maybe_forget(_i);

    ck_assert_int_eq(root_read_word(&tree_root, "/sys/class/z/type", text, sizeof(text)), 0);

    ck_assert_str_eq(text, "gpu");
}
END_TEST

START_TEST(link_to_a_file_of_the_real_machine_finds_nothing)
{
    tree_link("/sys/a", "/proc/self/status");
    maybe_forget(_i);

    ck_assert_int_eq(root_read(&tree_root, "/sys/a", text, sizeof(text), &n_text), -ENOENT);
}
END_TEST

START_TEST(circular_links_are_eloop)
{
    tree_link("/a", "b");
    tree_link("/b", "a");
    maybe_forget(_i);

    ck_assert_int_eq(root_read(&tree_root, "/a", text, sizeof(text), &n_text), -ELOOP);
    ck_assert_int_eq(root_real_path(&tree_root, "/a", text, sizeof(text)), -ELOOP);
}
END_TEST

START_TEST(link_target_is_read)
{
    tree_link("/sys/a/driver", "../../bus/powervr");
    tree_write("/sys/a/plain", "");
    maybe_forget(_i);

    ck_assert_int_eq(root_read_link(&tree_root, "/sys/a/driver", text, sizeof(text)), 0);
    ck_assert_str_eq(text, "../../bus/powervr");
    ck_assert_int_eq(root_read_link(&tree_root, "/sys/a/driver", text, 17), -ENAMETOOLONG);
    ck_assert_int_eq(root_read_link(&tree_root, "/sys/a/plain", text, sizeof(text)), -EINVAL);
    ck_assert_int_eq(root_read_link(&tree_root, "/sys/a/none", text, sizeof(text)), -ENOENT);
}
END_TEST

START_TEST(two_ways_to_one_thing_give_one_path)
{
    tree_write("/sys/devices/platform/gpu/temp", "");
    tree_link("/sys/class/thermal/thermal_zone0", "../../devices/platform/gpu");

    ck_assert_int_eq(root_real_path(&tree_root, "/sys/class/thermal/thermal_zone0/temp", text, sizeof(text)), 0);
    ck_assert_str_eq(text, "/sys/devices/platform/gpu/temp");
    ck_assert_int_eq(root_real_path(&tree_root, "//sys/./class/../devices/platform/gpu/temp/", text, sizeof(text)), 0);
    ck_assert_str_eq(text, "/sys/devices/platform/gpu/temp");
    ck_assert_int_eq(root_real_path(&tree_root, "/", text, sizeof(text)), 0);
    ck_assert_str_eq(text, "/");
    ck_assert_int_eq(root_real_path(&tree_root, "/sys/none", text, sizeof(text)), -ENOENT);
    ck_assert_int_eq(root_real_path(&tree_root, "/sys/devices", text, 12), -ENAMETOOLONG);
}
END_TEST

START_TEST(folder_is_listed)
{
    DIR *dir = NULL;
    int n = 0;

    tree_write("/sys/f/a", "");
    tree_write("/sys/f/b", "");
    maybe_forget(_i);

    ck_assert_int_eq(root_open_folder(&tree_root, "/sys/f", &dir), 0);
    for (struct dirent *entry; (entry = readdir(dir));) {
        n += entry->d_name[0] != '.';
    }
    closedir(dir);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(root_open_folder(&tree_root, "/sys/f/a", &dir), -ENOTDIR);
}
END_TEST

START_TEST(checking_for_a_pipe_does_not_wait)
{
    tree_pipe("/sys/temp");
    maybe_forget(_i);

    ck_assert(root_has(&tree_root, "/sys/temp"));
}
END_TEST

START_TEST(pipe_is_read_after_a_write)
{
    int64_t number = 0;
    char full[512];

    tree_pipe("/sys/temp");
    if (fork() == 0) {
        int fd = open(tree_place("/sys/temp", full, sizeof(full)), O_WRONLY);

        _exit(write(fd, "61000\n", 6) != 6);
    }

    ck_assert_int_eq(root_read_number(&tree_root, "/sys/temp", &number), 0);

    ck_assert_int_eq(number, 61000);
}
END_TEST

START_TEST(root_must_be_a_folder)
{
    struct root root;
    char full[512];

    tree_write("/file", "");

    ck_assert_int_eq(root_open(&root, tree_place("/file", full, sizeof(full))), -ENOTDIR);
    ck_assert_int_eq(root_open(&root, "/sotto-nowhere"), -ENOENT);
}
END_TEST

START_TEST(machine_is_recognised_under_any_path)
{
    struct root root;

    ck_assert(!tree_root.is_machine);
    ck_assert_int_eq(root_open(&root, "/tmp/.."), 0);
    ck_assert(root.is_machine);
    ck_assert_int_eq(root_read_word(&root, "/proc/self/comm", text, sizeof(text)), 0);
    root_close(&root);
    ck_assert_int_eq(root.fd, -1);
    root_close(NULL);
}
END_TEST

START_TEST(target_of_a_process_descriptor_is_read)
{
    struct root root;
    char path[64];
    int fd = open("/dev/null", O_RDONLY);

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ck_assert_int_eq(root_open(&root, "/"), 0);
    maybe_forget(_i);

    ck_assert_int_eq(root_read_link(&root, path, text, sizeof(text)), 0);

    ck_assert_str_eq(text, "/dev/null");
    root_close(&root);
    close(fd);
}
END_TEST

START_TEST(name_and_limit_that_are_pipes_are_refused_without_waiting)
{
    int64_t number;
    char word[32];

    tree_pipe("/sys/name");
    tree_write("/sys/real", "7\n");
    tree_pipe("/sys/real.sotto-errno");

    ck_assert_int_eq(root_read_word(&tree_root, "/sys/name", word, sizeof(word)), -EPROTO);
    ck_assert_int_eq(root_read_fixed(&tree_root, "/sys/name", &number), -EPROTO);
    ck_assert_int_eq(root_read_word(&tree_root, "/sys/real", word, sizeof(word)), -EPROTO);
}
END_TEST

START_TEST(fixed_number_is_read_as_any)
{
    int64_t number;

    tree_write("/sys/real", " 7000\n");
    ck_assert_int_eq(root_read_fixed(&tree_root, "/sys/real", &number), 0);
    ck_assert_int_eq(number, 7000);
    ck_assert_int_eq(root_read_fixed(&tree_root, "/sys/none", &number), -ENOENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("root");
    TCase *tcase = tcase_create("root");

    tcase_add_checked_fixture(tcase, make, tree_remove);
    tcase_add_test(tcase, file_is_read_whole_and_zero_terminated);
    tcase_add_test(tcase, file_of_one_byte_more_than_there_is_room_is_too_big);
    tcase_add_test(tcase, empty_file_is_no_fault_and_no_number);
    tcase_add_test(tcase, staged_errno_is_the_fault_of_reading);
    tcase_add_test(tcase, staged_errno_holds_for_folders);
    tcase_add_test(tcase, staged_errno_that_is_no_number_is_a_fault_too);
    tcase_add_test(tcase, number_is_the_only_text);
    tcase_add_test(tcase, number_with_a_zero_byte_in_it_is_none);
    tcase_add_test(tcase, five_kilobytes_are_no_number_and_no_word);
    tcase_add_test(tcase, word_is_the_first_line_trimmed);
    tcase_add_loop_test(tcase, absent_file_is_enoent, 0, 2);
    tcase_add_loop_test(tcase, absolute_link_is_followed_below_the_root, 0, 2);
    tcase_add_loop_test(tcase, link_with_dots_is_followed_and_cannot_climb_out, 0, 2);
    tcase_add_loop_test(tcase, link_to_a_file_of_the_real_machine_finds_nothing, 0, 2);
    tcase_add_loop_test(tcase, circular_links_are_eloop, 0, 2);
    tcase_add_loop_test(tcase, link_target_is_read, 0, 2);
    tcase_add_test(tcase, two_ways_to_one_thing_give_one_path);
    tcase_add_loop_test(tcase, folder_is_listed, 0, 2);
    tcase_add_loop_test(tcase, checking_for_a_pipe_does_not_wait, 0, 2);
    tcase_add_test(tcase, pipe_is_read_after_a_write);
    tcase_add_test(tcase, root_must_be_a_folder);
    tcase_add_test(tcase, name_and_limit_that_are_pipes_are_refused_without_waiting);
    tcase_add_test(tcase, fixed_number_is_read_as_any);
    tcase_add_test(tcase, machine_is_recognised_under_any_path);
    tcase_add_loop_test(tcase, target_of_a_process_descriptor_is_read, 0, 2);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
