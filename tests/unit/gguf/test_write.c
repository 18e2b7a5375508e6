/*
 * The parser reads what the writer wrote.
 */
#include "base/clean.h"
#include "failed_alloc.h"
#include "gguf/write.h"
#include "tensor/panel.h"
#include "unit.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static char folder[] = "/tmp/sotto-write-XXXXXX";
static char path[64];

static void set_up(void)
{
    strcpy(folder, "/tmp/sotto-write-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a.gguf", folder);
}

static void tear_down(void)
{
    unlink(path);
    ck_assert_msg(rmdir(folder) == 0, "something is left in %s", folder);
}

static const struct gguf_text weight = { "weight", 6 };
static const struct gguf_text bias = { "bias", 4 };
static const uint64_t weight_dims[] = { 5, 2 };
static const uint64_t bias_dims[] = { 3 };
static const float floats[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

static struct gguf_writer *new_writer(void)
{
    struct gguf_writer *writer;

    ck_assert_int_eq(gguf_writer_create(&writer), 0);
    return writer;
}

/* A file of two tensors. */
static int write_file(bool force, struct diag *diag)
{
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    int r;

    gguf_put_text(writer, "general.architecture", "llama", 5);
    gguf_put_tensor(writer, weight, ELEM_F32, 2, weight_dims);
    gguf_put_tensor(writer, bias, ELEM_F32, 1, bias_dims);
    r = gguf_writer_begin(writer, path, force, diag);
    if (r) {
        return r;
    }
    gguf_write_data(writer, floats, 8);
    gguf_write_data(writer, floats + 2, 32);
    gguf_write_data(writer, floats, 12);
    return gguf_writer_finish(writer, diag);
}

static struct gguf *read_back(void)
{
    cleanup(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct diag diag = DIAG_INIT;
    struct gguf *gguf = NULL;

    ck_assert_msg(fd >= 0 && gguf_read_head(&gguf, fd, 1 << 20, &diag) == GGUF_OK, "%s", diag.text);
    return gguf;
}

START_TEST(keys_come_back_as_they_were_put)
{
    const int32_t types[] = { 1, -1, 3 };
    const struct gguf_text words[] = { { "a", 1 }, { "", 0 }, { "x\0y", 3 } };
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    cleanup(gguf_destroyp) struct gguf *gguf = NULL;
    struct diag diag = DIAG_INIT;
    struct gguf_text text;
    uint64_t wide;
    size_t at = 0;
    float real;
    bool truth;

    gguf_put_u32(writer, "u32", 7);
    gguf_put_f32(writer, "f32", 0.25f);
    gguf_put_bool(writer, "bool", true);
    gguf_put_text(writer, "text", "\xC3\xBC", 2);
    gguf_put_texts(writer, "words", words, 3);
    gguf_put_numbers(writer, "types", GGUF_I32, types, 3);
    ck_assert_int_eq(gguf_writer_begin(writer, path, false, &diag), GGUF_WRITE_OK);
    ck_assert_int_eq(gguf_writer_finish(writer, &diag), GGUF_WRITE_OK);
    gguf = read_back();

    ck_assert_uint_eq(gguf_n_keys(gguf), 6);
    ck_assert_int_eq(gguf_get_u64(gguf, "u32", &wide, &diag), GGUF_GOT);
    ck_assert_uint_eq(wide, 7);
    ck_assert_int_eq(gguf_get_f32(gguf, "f32", &real, &diag), GGUF_GOT);
    ck_assert_float_eq(real, 0.25f);
    ck_assert_int_eq(gguf_get_bool(gguf, "bool", &truth, &diag), GGUF_GOT);
    ck_assert(truth);
    ck_assert_int_eq(gguf_get_text(gguf, "text", &text, &diag), GGUF_GOT);
    ck_assert_mem_eq(text.bytes, "\xC3\xBC", 2);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(gguf_next_text(gguf_find_key(gguf, "words"), &at, &text));
        ck_assert_uint_eq(text.n, words[i].n);
        ck_assert_mem_eq(text.bytes, words[i].bytes, text.n);
    }
    ck_assert_mem_eq(gguf_find_key(gguf, "types")->value, types, sizeof(types));
}
END_TEST

START_TEST(tensors_lie_aligned_with_their_data)
{
    cleanup(gguf_destroyp) struct gguf *gguf = NULL;
    struct diag diag = DIAG_INIT;
    const struct gguf_tensor *tensor;
    float got[10];
    int fd;

    ck_assert_msg(write_file(false, &diag) == GGUF_WRITE_OK, "%s", diag.text);
    gguf = read_back();
    fd = open(path, O_RDONLY | O_CLOEXEC);

    tensor = gguf_find_tensor(gguf, "weight");
    ck_assert_uint_eq(tensor->offset % 32, 0);
    ck_assert_uint_eq(tensor->dims[0], 5);
    ck_assert_uint_eq(tensor->dims[1], 2);
    ck_assert_int_eq(pread(fd, got, sizeof(got), (off_t)tensor->offset), sizeof(got));
    ck_assert_mem_eq(got, floats, sizeof(got));
    tensor = gguf_find_tensor(gguf, "bias");
    ck_assert_uint_eq(tensor->offset, gguf_head_bytes(gguf) + 64);
    ck_assert_int_eq(pread(fd, got, 12, (off_t)tensor->offset), 12);
    ck_assert_mem_eq(got, floats, 12);
    close(fd);
}
END_TEST

START_TEST(data_may_be_aligned_further)
{
    const uint64_t dims[] = { 32, 16 };
    const uint8_t panel[16 * 18] = { 1 };
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    cleanup(gguf_destroyp) struct gguf *gguf = NULL;
    struct diag diag = DIAG_INIT;

    gguf_writer_align(writer, 4096);
    gguf_put_tensor(writer, weight, ELEM_Q4_0 | ELEM_PANELS, 2, dims);
    gguf_put_tensor(writer, bias, ELEM_F32, 1, bias_dims);
    ck_assert_msg(gguf_writer_begin(writer, path, true, &diag) == GGUF_WRITE_OK, "%s", diag.text);
    gguf_write_data(writer, panel, sizeof(panel));
    gguf_write_data(writer, floats, 12);
    ck_assert_msg(gguf_writer_finish(writer, &diag) == GGUF_WRITE_OK, "%s", diag.text);

    gguf = read_back();
    ck_assert_uint_eq(gguf_find_tensor(gguf, "weight")->offset % 4096, 0);
    ck_assert(gguf_find_tensor(gguf, "weight")->in_panels);
    ck_assert_uint_eq(gguf_find_tensor(gguf, "bias")->offset, gguf_find_tensor(gguf, "weight")->offset + 4096);
}
END_TEST

START_TEST(keys_of_another_file_are_copied_as_they_are)
{
    const struct gguf_text words[] = { { "a", 1 }, { "bc", 2 } };
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    cleanup(gguf_writer_destroyp) struct gguf_writer *copier = new_writer();
    cleanup(gguf_destroyp) struct gguf *gguf = NULL;
    cleanup(gguf_destroyp) struct gguf *copy = NULL;
    struct diag diag = DIAG_INIT;

    gguf_put_texts(writer, "words", words, 2);
    gguf_put_text(writer, "text", "abc", 3);
    gguf_put_bool(writer, "bool", false);
    ck_assert_int_eq(gguf_writer_begin(writer, path, false, &diag), GGUF_WRITE_OK);
    ck_assert_int_eq(gguf_writer_finish(writer, &diag), GGUF_WRITE_OK);
    gguf = read_back();
    for (size_t i = 0; i < gguf_n_keys(gguf); i++) {
        gguf_put_key(copier, gguf_key_at(gguf, i));
    }
    ck_assert_int_eq(gguf_writer_begin(copier, path, true, &diag), GGUF_WRITE_OK);
    ck_assert_int_eq(gguf_writer_finish(copier, &diag), GGUF_WRITE_OK);
    copy = read_back();

    ck_assert_uint_eq(gguf_n_keys(copy), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct gguf_key *was = gguf_key_at(gguf, i);
        const struct gguf_key *is = gguf_key_at(copy, i);

        ck_assert_int_eq(was->type, is->type);
        ck_assert_uint_eq(was->n, is->n);
        ck_assert_uint_eq(was->n_value, is->n_value);
        ck_assert_mem_eq(was->value, is->value, is->n_value);
    }
}
END_TEST

START_TEST(an_existing_file_stays_unless_forced)
{
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(write_file(false, &diag), GGUF_WRITE_OK);

    ck_assert_int_eq(write_file(false, &diag), GGUF_WRITE_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "is there already"));
    ck_assert_int_eq(write_file(true, &diag), GGUF_WRITE_OK);
}
END_TEST

START_TEST(a_file_that_appears_meanwhile_stays)
{
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    struct diag diag = DIAG_INIT;
    struct stat about;

    ck_assert_int_eq(gguf_writer_begin(writer, path, false, &diag), GGUF_WRITE_OK);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));

    ck_assert_int_eq(gguf_writer_finish(writer, &diag), GGUF_WRITE_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "File exists"));
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_int_eq(about.st_size, 0);
}
END_TEST

START_TEST(an_abandoned_writer_leaves_nothing)
{
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    struct diag diag = DIAG_INIT;

    gguf_put_tensor(writer, weight, ELEM_F32, 2, weight_dims);
    ck_assert_int_eq(gguf_writer_begin(writer, path, false, &diag), GGUF_WRITE_OK);
    ck_assert_uint_eq(gguf_writer_left(writer), 40);
    gguf_write_data(writer, floats, 8);
    ck_assert_uint_eq(gguf_writer_left(writer), 32);

    ck_assert_int_eq(gguf_writer_finish(writer, &diag), GGUF_WRITE_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "0 of 1 tensors have their data"));
    ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* Some file systems have no files without a name. */
START_TEST(an_unfinished_file_has_no_name_or_a_temporary_one)
{
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    struct diag diag = DIAG_INIT;
    struct dirent *entry;
    int n = 0;
    DIR *dir;

    ck_assert_int_eq(gguf_writer_begin(writer, path, true, &diag), GGUF_WRITE_OK);
    dir = opendir(folder);
    while ((entry = readdir(dir))) {
        n += entry->d_name[0] != '.' && !strstr(entry->d_name, ".part");
    }
    closedir(dir);

    ck_assert_int_eq(n, 0);
}
END_TEST

START_TEST(an_empty_tensor_needs_no_data)
{
    const uint64_t dims[] = { 4, 0 };
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    struct diag diag = DIAG_INIT;

    gguf_put_tensor(writer, weight, ELEM_F32, 2, dims);
    gguf_put_tensor(writer, bias, ELEM_F32, 1, bias_dims);
    ck_assert_int_eq(gguf_writer_begin(writer, path, false, &diag), GGUF_WRITE_OK);

    ck_assert_uint_eq(gguf_writer_left(writer), 12);
    gguf_write_data(writer, floats, 12);
    ck_assert_int_eq(gguf_writer_finish(writer, &diag), GGUF_WRITE_OK);
}
END_TEST

START_TEST(broken_keys_and_tensors_are_refused_with_a_reason)
{
    static const struct wrong {
        const char *key;
        uint32_t type;
        uint64_t n_cols;
        const char *said;
    } wrongs[] = {
        { "twice", ELEM_F32, 32, "or a duplicate" },
        { "", ELEM_F32, 32, "is empty" },
        { "general.alignment", ELEM_F32, 32, "is reserved" },
        { "key", ELEM_Q4_0, 33, "not whole blocks" },
        { "key", 63, 32, "no such type" },
    };

    for (size_t i = 0; i < COUNTOF(wrongs); i++) {
        cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
        struct diag diag = DIAG_INIT;

        gguf_put_u32(writer, "twice", 1);
        gguf_put_u32(writer, wrongs[i].key, 1);
        gguf_put_tensor(writer, weight, wrongs[i].type, 1, &wrongs[i].n_cols);

        ck_assert_int_eq(gguf_writer_begin(writer, path, false, &diag), GGUF_WRITE_REFUSED);
        ck_assert_msg(strstr(diag.text, wrongs[i].said) != NULL, "%s", diag.text);
    }
}
END_TEST

START_TEST(a_missing_folder_is_named)
{
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(gguf_writer_begin(writer, "/nowhere/a.gguf", false, &diag), GGUF_WRITE_REFUSED);

    ck_assert_ptr_nonnull(strstr(diag.text, "/nowhere/a.gguf"));
    ck_assert_ptr_nonnull(strstr(diag.text, "No such file"));
}
END_TEST

/* Otherwise "--force ... /dev/null" by root would remove the device. */
START_TEST(a_file_that_is_not_regular_is_never_replaced)
{
    struct stat about;

    ck_assert_int_eq(mkfifo(path, 0600), 0);
    for (int force = 0; force < 2; force++) {
        cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
        struct diag diag = DIAG_INIT;

        gguf_put_u32(writer, "key", 1);
        ck_assert_int_eq(gguf_writer_begin(writer, path, force, &diag), GGUF_WRITE_REFUSED);
        ck_assert_msg(strstr(diag.text, "not a regular file") != NULL, "%s", diag.text);
    }
    ck_assert_int_eq(lstat(path, &about), 0);
    ck_assert(S_ISFIFO(about.st_mode));
}
END_TEST

START_TEST(a_link_to_no_regular_file_is_never_replaced)
{
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(symlink("/dev/zero", path), 0);
    gguf_put_u32(writer, "key", 1);

    ck_assert_int_eq(gguf_writer_begin(writer, path, true, &diag), GGUF_WRITE_REFUSED);
}
END_TEST

START_TEST(a_full_disk_is_reported_at_the_end)
{
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = new_writer();
    struct diag diag = DIAG_INIT;
    struct stat about;

    if (stat("/dev/full", &about) != 0) {
        return;
    }
    gguf_put_tensor(writer, weight, ELEM_F32, 2, weight_dims);
    ck_assert_int_eq(gguf_writer_begin(writer, path, false, &diag), GGUF_WRITE_OK);
    /* Returns the descriptor that is open in the folder. */
    for (int fd = 3; fd < 64; fd++) {
        char link[64];
        char place[96];

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, place, sizeof(place) - 1);

        if (n > 0 && strncmp(place, folder, strlen(folder)) == 0) {
            int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

            ck_assert_int_eq(dup2(full, fd), fd);
            close(full);
        }
    }
    gguf_write_data(writer, floats, 40);

    ck_assert_int_eq(gguf_writer_finish(writer, &diag), GGUF_WRITE_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "No space left"));
}
END_TEST

/* Writes a file while the n-th allocation fails: it succeeds or ends with -ENOMEM. */
static int scenario(void *owner)
{
    struct gguf_writer *writer;
    struct diag diag = DIAG_INIT;
    int r = gguf_writer_create(&writer);

    if (r) {
        return r;
    }
    gguf_put_u32(writer, "key", 1);
    gguf_put_tensor(writer, weight, ELEM_F32, 2, weight_dims);
    r = gguf_writer_begin(writer, path, true, &diag);
    if (!r) {
        gguf_write_data(writer, floats, 40);
        r = gguf_writer_finish(writer, &diag);
    }
    gguf_writer_destroy(writer);
    return r;
}

START_TEST(each_allocation_may_fail)
{
    for_each_failed_alloc(scenario, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gguf-write");
    TCase *tcase = tcase_create("facts");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, keys_come_back_as_they_were_put);
    tcase_add_test(tcase, tensors_lie_aligned_with_their_data);
    tcase_add_test(tcase, data_may_be_aligned_further);
    tcase_add_test(tcase, keys_of_another_file_are_copied_as_they_are);
    tcase_add_test(tcase, an_existing_file_stays_unless_forced);
    tcase_add_test(tcase, a_file_that_appears_meanwhile_stays);
    tcase_add_test(tcase, an_abandoned_writer_leaves_nothing);
    tcase_add_test(tcase, an_unfinished_file_has_no_name_or_a_temporary_one);
    tcase_add_test(tcase, an_empty_tensor_needs_no_data);
    tcase_add_test(tcase, broken_keys_and_tensors_are_refused_with_a_reason);
    tcase_add_test(tcase, a_missing_folder_is_named);
    tcase_add_test(tcase, a_file_that_is_not_regular_is_never_replaced);
    tcase_add_test(tcase, a_link_to_no_regular_file_is_never_replaced);
    tcase_add_test(tcase, a_full_disk_is_reported_at_the_end);
    tcase_add_test(tcase, each_allocation_may_fail);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
