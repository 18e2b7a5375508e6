/*
 * One pattern cuts like the two stages it replaces, a difference that published ids hardly show (T24 of the trap list),
 * and classes are those of Unicode, which published ids do not show at all.
 */
#include "base/utf8.h"
#include "token/split.h"
#include "unit.h"
#include <string.h>
#include <utf8proc.h>

#define N_TEXTS    20000
#define WORDS_MAX  512
#define N_TEXT_MAX 128

struct words {
    size_t ends[WORDS_MAX];
    size_t n;
    size_t n_bytes;
};

static void add_word(struct words *words, size_t n)
{
    ck_assert_uint_gt(n, 0);
    ck_assert_uint_lt(words->n, WORDS_MAX);
    words->n_bytes += n;
    words->ends[words->n++] = words->n_bytes;
}

/* Appends the words of @text by the split @name. */
static void cut(const char *name, const uint8_t *text, size_t n, struct words *words)
{
    struct split_cursor *cursor = NULL;
    struct split *split = NULL;
    const uint8_t *word;
    size_t n_taken = 0;
    size_t n_word;

    ck_assert_int_eq(split_create(&split, name, strlen(name)), SPLIT_OK);
    ck_assert_int_eq(split_cursor_create(&cursor, split), 0);
    split_begin(cursor, text, n);
    while (split_next(cursor, &word, &n_word) == SPLIT_OK) {
        ck_assert_ptr_eq(word, text + n_taken);
        n_taken += n_word;
        add_word(words, n_word);
    }
    split_cursor_destroy(cursor);
    split_destroy(split);
}

static void assert_words(const char *name, const char *text, size_t n_words)
{
    struct words words = { .n = 0 };

    cut(name, (const uint8_t *)text, strlen(text), &words);
    ck_assert_uint_eq(words.n_bytes, strlen(text));
    ck_assert_msg(words.n == n_words, "%s cuts \"%s\" into %zu words, not %zu", name, text, words.n, n_words);
}

START_TEST(unknown_name_is_an_outcome)
{
    struct split *split = NULL;

    ck_assert_int_eq(split_create(&split, "gpt-3", 5), SPLIT_UNKNOWN);
    ck_assert_int_eq(split_create(&split, "gpt-", 4), SPLIT_UNKNOWN);
    ck_assert_ptr_null(split);
}
END_TEST

START_TEST(classes_are_those_of_unicode)
{
    static const char *const names[] = { "gpt-2", "smollm", "llama-bpe" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_words(names[i], "!\xc2\xa0!", 3);       /* a no-break space separates two marks */
        assert_words(names[i], "\xc3\x9f\xd0\xb6", 1); /* letters of two scripts are one word */
        assert_words(names[i], "a\xe3\x80\x80", 2);    /* an ideographic space is one */
    }
}
END_TEST

START_TEST(digits_are_split_singly_by_threes_or_not_at_all)
{
    assert_words("smollm", "12345", 5);
    assert_words("starcoder", "x 12", 4);
    assert_words("llama-bpe", "12345", 2);
    assert_words("gpt-2", "12345", 1);
    assert_words("falcon", "12345", 2);
    assert_words("smollm", "\xd9\xa3\xe2\x85\xa7", 2); /* an Arabic digit and a Roman numeral are numbers */
}
END_TEST

/* ---- smollm and starcoder against digits first, then gpt-2 on what lies between */

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

/* Blanks, digits, letters, marks and apostrophes, in and outside of ASCII, so that all branches meet each other. */
static size_t make_text(uint8_t *out)
{
    static const uint32_t points[] = { ' ',  ' ',  ' ',   '\n',  '\t',   '\r',   '1',    '7',    'a',
                                       't',  's',  'L',   '\'',  '.',    '!',    '_',    0x85,   0xa0,
                                       0xb2, 0xdf, 0x301, 0x663, 0x3042, 0x2167, 0x2009, 0x3000, 0x1f642 };
    const uint32_t n = 1 + random_below(20);
    size_t n_out = 0;

    for (uint32_t i = 0; i < n; i++) {
        n_out += utf8_write(points[random_below(sizeof(points) / sizeof(points[0]))], out + n_out);
    }
    return n_out;
}

static bool is_number(uint32_t point)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);

    return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO;
}

static void cut_in_stages(const uint8_t *text, size_t n, struct words *words)
{
    size_t done = 0;
    size_t used;

    for (size_t at = 0; at < n; at += used) {
        uint32_t point;

        ck_assert_int_eq(utf8_step(text + at, n - at, &used, &point), UTF8_WHOLE);
        if (is_number(point)) {
            cut("gpt-2", text + done, at - done, words);
            add_word(words, used);
            done = at + used;
        }
    }
    cut("gpt-2", text + done, n - done, words);
}

START_TEST(one_pattern_cuts_like_two_stages)
{
    uint8_t text[N_TEXT_MAX];

    for (int i = 0; i < N_TEXTS / 20; i++) {
        const size_t n = make_text(text);
        struct words one = { .n = 0 };
        struct words two = { .n = 0 };

        cut("smollm", text, n, &one);
        cut_in_stages(text, n, &two);
        ck_assert_msg(one.n == two.n && memcmp(one.ends, two.ends, one.n * sizeof(one.ends[0])) == 0,
                      "differs on text %d of %zu bytes: %zu and %zu words", i, n, one.n, two.n);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token-split");
    TCase *tcase = tcase_create("split");

    tcase_add_test(tcase, unknown_name_is_an_outcome);
    tcase_add_test(tcase, classes_are_those_of_unicode);
    tcase_add_test(tcase, digits_are_split_singly_by_threes_or_not_at_all);
    tcase_add_test(tcase, one_pattern_cuts_like_two_stages);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
