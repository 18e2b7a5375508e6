/*
 * Texts are composed as the standard says, in linear time.
 */
#include "token/nfc.h"
#include "unit.h"
#include <string.h>
#include <time.h>

#define MANY_BYTES (1u << 20)

struct form {
    const char *from;
    const char *to;
};

/* Unicode Standard, Annex 15: composition, ordering of marks, singletons, Hangul, and characters that stay apart. */
static const struct form forms[] = {
    { "plain ASCII", "plain ASCII" },
    { "", "" },
    { "e\xcc\x81", "\xc3\xa9" },
    { "Ti\xe1\xba\xbfng", "Ti\xe1\xba\xbfng" },
    { "s\xcc\x87\xcc\xa3", "\xe1\xb9\xa9" },
    { "\xe2\x84\xab", "\xc3\x85" },
    { "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81" },
    { "\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc" },
};

static void compose(const void *text, size_t n, struct buf *out)
{
    size_t used;

    buf_init(out, MEM_MISC, 4 * MANY_BYTES);
    for (size_t at = 0; at < n; at += used) {
        ck_assert_int_eq(nfc_append((const uint8_t *)text + at, n - at, out, &used), 0);
        ck_assert_uint_gt(used, 0);
    }
}

START_TEST(texts_come_out_in_form_c)
{
    const struct form *form = &forms[_i];
    struct buf out;

    compose(form->from, strlen(form->from), &out);

    ck_assert_uint_eq(out.n, strlen(form->to));
    ck_assert_int_eq(memcmp(buf_data(&out), form->to, out.n), 0);
    buf_finish(&out);
}
END_TEST

/* Long texts are composed in pieces, each of which ends in front of an ASCII character. */
START_TEST(pieces_come_out_as_the_whole)
{
    static const char unit[] = "e\xcc\x81\xcc\xa3\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8 ";
    static const char composed[] = "\xe1\xba\xb9\xcc\x81\xea\xb0\x81 ";
    const size_t n = strlen(unit) * NFC_PIECE;
    uint8_t *text = mem_alloc(MEM_MISC, n);
    struct buf out;

    for (size_t i = 0; i < n; i++) {
        text[i] = (uint8_t)unit[i % strlen(unit)];
    }
    compose(text, n, &out);

    ck_assert_uint_eq(out.n, strlen(composed) * NFC_PIECE);
    for (size_t i = 0; i < out.n; i++) {
        ck_assert_int_eq(buf_data(&out)[i], (uint8_t)composed[i % strlen(composed)]);
    }
    buf_finish(&out);
    mem_free(text);
}
END_TEST

START_TEST(text_above_the_ceiling_is_an_outcome)
{
    struct buf out;
    size_t used;

    buf_init(&out, MEM_MISC, 1);

    ck_assert_int_eq(nfc_append((const uint8_t *)"e\xcc\x81", 3, &out, &used), BUF_FULL);
    ck_assert_uint_eq(out.n, 0);
    buf_finish(&out);
}
END_TEST

/* The marks are always in the wrong order: sorting them as one run would take hours. */
START_TEST(combining_marks_take_linear_time)
{
    uint8_t *marks = mem_alloc(MEM_MISC, MANY_BYTES);
    const clock_t before = clock();
    struct buf out;

    for (size_t i = 0; i < MANY_BYTES; i += 4) {
        memcpy(marks + i, "\xcc\x81\xcc\xa3", 4);
    }

    compose(marks, MANY_BYTES, &out);

    ck_assert_uint_eq(out.n, MANY_BYTES);
    ck_assert_int_lt((clock() - before) / CLOCKS_PER_SEC, 20);
    buf_finish(&out);
    mem_free(marks);
}
END_TEST

START_TEST(failing_allocation_is_a_fault)
{
    struct buf out;
    size_t used;

    buf_init(&out, MEM_MISC, 100);
    mem_fail_nth(0);

    ck_assert_int_lt(nfc_append((const uint8_t *)"e\xcc\x81", 3, &out, &used), 0);
    mem_fail_nth(-1);
    buf_finish(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token-nfc");
    TCase *tcase = tcase_create("nfc");

    tcase_add_loop_test(tcase, texts_come_out_in_form_c, 0, (int)(sizeof(forms) / sizeof(forms[0])));
    tcase_add_test(tcase, pieces_come_out_as_the_whole);
    tcase_add_test(tcase, text_above_the_ceiling_is_an_outcome);
    tcase_add_test(tcase, combining_marks_take_linear_time);
    tcase_add_test(tcase, failing_allocation_is_a_fault);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
