/* The draft that a repetition suggests. */
#include "model/ngram.h"
#include "unit.h"

#define MOST 6

static const struct row {
    const char *what;
    uint32_t tokens[16];
    uint32_t n;
    uint32_t expected[MOST];
    bool is_found;
} rows[] = {
    { "nothing", { 0 }, 0, { 0 }, false },
    { "one token", { 5 }, 1, { 0 }, false },
    { "two equal ones: no place before them", { 5, 5 }, 2, { 0 }, false },
    { "no repetition", { 1, 2, 3, 4, 5, 6 }, 6, { 0 }, false },
    { "one equal token is none", { 1, 2, 3, 4, 5, 2 }, 6, { 0 }, false },
    { "what followed two tokens", { 1, 2, 3, 4, 5, 6, 7, 8, 1, 2 }, 10, { 3, 4, 5, 6, 7, 8 }, true },
    { "the latest of two places", { 1, 2, 3, 9, 1, 2, 4, 5, 6, 7, 8, 0, 1, 2 }, 14, { 4, 5, 6, 7, 8, 0 }, true },
    { "the longest match", { 7, 1, 2, 3, 4, 5, 6, 8, 1, 2, 9, 7, 1, 2 }, 14, { 3, 4, 5, 6, 8, 1 }, true },
    { "a period goes on", { 4, 8, 9, 8, 9, 8, 9 }, 7, { 8, 9, 8, 9, 8, 9 }, true },
    { "one token for ever", { 4, 4, 4, 4 }, 4, { 4, 4, 4, 4, 4, 4 }, true },
};

START_TEST(what_followed_before_is_the_draft)
{
    const struct row *row = &rows[_i];

    for (uint32_t n_most = 0; n_most <= MOST; n_most++) {
        uint32_t found[MOST + 1] = { 0 };
        uint32_t n = ngram_draft(row->tokens, row->n, n_most, found);

        found[n_most] = 77; /* nothing is written behind them */
        ck_assert_msg(n == (row->is_found ? n_most : 0), "%s: %u of %u", row->what, n, n_most);
        for (uint32_t i = 0; i < n; i++) {
            ck_assert_msg(found[i] == row->expected[i], "%s: %u at %u", row->what, found[i], i);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-ngram");
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, what_followed_before_is_the_draft, 0, sizeof(rows) / sizeof(*rows));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
