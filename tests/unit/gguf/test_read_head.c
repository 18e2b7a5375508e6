/*
 * Heads are read from a descriptor: no more than the head, and never past the ceiling.
 */
#include "maker.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define CEILING (64u << 20)

/* Returns a file in memory with the made bytes and then a hole of @n_more bytes. */
static int file_of(struct maker *maker, off_t n_more)
{
    int fd = memfd_create("head", MFD_CLOEXEC);
    size_t n;
    const uint8_t *bytes = maker_file(maker, &n);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    ck_assert_int_eq(ftruncate(fd, (off_t)n + n_more), 0);
    maker_finish(maker);
    return fd;
}

/* Makes a head with one text of @n bytes. */
static void make_long(struct maker *maker, size_t n)
{
    maker_init(maker, 3);
    maker_key(maker, "long", GGUF_STRING);
    maker_u64(maker, n);
    for (size_t i = 0; i < n / 16; i++) {
        maker_bytes(maker, "0123456789abcdef", 16);
    }
    maker_key_u32(maker, "behind", 5);
}

START_TEST(head_longer_than_the_first_block_is_read)
{
    struct maker maker;
    struct gguf *gguf = NULL;
    uint32_t value = 0;
    int fd;

    make_long(&maker, 5u << 20);
    fd = file_of(&maker, 1 << 20);

    ck_assert_int_eq(gguf_read_head(&gguf, fd, CEILING, NULL), GGUF_OK);
    ck_assert_int_eq(gguf_get_u32(gguf, "behind", &value, NULL), GGUF_GOT);
    ck_assert_uint_eq(value, 5);
    gguf_destroy(gguf);
    close(fd);
}
END_TEST

START_TEST(data_of_a_large_file_is_not_read)
{
    struct maker maker;
    struct gguf *gguf = NULL;
    struct mem_account account;
    int fd;

    make_long(&maker, 1024);
    fd = file_of(&maker, (off_t)8 << 30);

    ck_assert_int_eq(gguf_read_head(&gguf, fd, CEILING, NULL), GGUF_OK);
    ck_assert_uint_eq(gguf_file_bytes(gguf) >> 33, 1);
    mem_read(MEM_FILE, &account);
    ck_assert_uint_lt(account.peak_bytes, 2u << 20);
    gguf_destroy(gguf);
    close(fd);
}
END_TEST

START_TEST(head_past_the_ceiling_is_refused)
{
    struct maker maker;
    struct gguf *gguf = NULL;
    struct diag diag = DIAG_INIT;
    struct mem_account account;
    int fd;

    maker_init(&maker, 3);
    maker_key(&maker, "claimed", GGUF_STRING);
    maker_u64(&maker, 1u << 30);
    fd = file_of(&maker, (off_t)2 << 30);

    ck_assert_int_eq(gguf_read_head(&gguf, fd, 2u << 20, &diag), GGUF_REFUSED);
    ck_assert(diag_is_set(&diag));
    mem_read(MEM_FILE, &account);
    ck_assert_uint_lt(account.peak_bytes, 2u << 20);
    ck_assert_uint_eq(account.bytes, 0);
    close(fd);
}
END_TEST

START_TEST(file_that_is_not_regular_is_refused)
{
    struct gguf *gguf = NULL;
    struct diag diag = DIAG_INIT;
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(gguf_read_head(&gguf, fd, CEILING, &diag), GGUF_REFUSED);
    ck_assert(diag_is_set(&diag));
    close(fd);
}
END_TEST

START_TEST(empty_file_is_refused)
{
    struct gguf *gguf = NULL;
    struct diag diag = DIAG_INIT;
    int fd = memfd_create("empty", MFD_CLOEXEC);

    ck_assert_int_eq(gguf_read_head(&gguf, fd, CEILING, &diag), GGUF_REFUSED);
    ck_assert(diag_is_set(&diag));
    close(fd);
}
END_TEST

START_TEST(bad_descriptor_is_a_fault)
{
    struct gguf *gguf = NULL;

    ck_assert_int_eq(gguf_read_head(&gguf, -1, CEILING, NULL), -EBADF);
}
END_TEST

START_TEST(real_models_open)
{
    static const char *const names[] = { "models/stories260K-f32.gguf", "models/stories260K-q4_0.gguf",
                                         "models/stories260K-wide-q4_k_m.gguf", "tokenizers/vocab-qwen3.gguf" };
    char path[4096];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct gguf *gguf = NULL;
        struct diag diag = DIAG_INIT;
        int fd;

        if (!unit_truth(names[i], path, sizeof(path))) {
            continue;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
        ck_assert_msg(gguf_read_head(&gguf, fd, CEILING, &diag) == GGUF_OK, "%s: %s", names[i], diag.text);
        gguf_destroy(gguf);
        close(fd);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gguf-read-head");
    TCase *tcase = tcase_create("read-head");

    tcase_add_test(tcase, head_longer_than_the_first_block_is_read);
    tcase_add_test(tcase, data_of_a_large_file_is_not_read);
    tcase_add_test(tcase, head_past_the_ceiling_is_refused);
    tcase_add_test(tcase, file_that_is_not_regular_is_refused);
    tcase_add_test(tcase, empty_file_is_refused);
    tcase_add_test(tcase, bad_descriptor_is_a_fault);
    tcase_add_test(tcase, real_models_open);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
