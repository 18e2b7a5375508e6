/*
 * Merging with the heap gives the result of an exhaustive search, which looks at all pairs before each merge.
 */
#include "tiny.h"
#include "unit.h"
#include <string.h>

#define N_VOCABS   40
#define N_WORDS    60
#define N_MERGES   24
#define N_WORD_MAX 40
#define N_TEXT     16

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

/* A vocabulary over three letters: each entry joins two earlier ones. */
struct plan {
    char texts[N_MERGES][N_TEXT];
    char merges[N_MERGES][2 * N_TEXT + 2];
    float scores[N_MERGES]; /* few different ones, so that ties occur */
    size_t n;
};

static void pick(const struct plan *plan, char *out)
{
    const uint32_t i = random_below(3 + (uint32_t)plan->n);

    if (i < 3) {
        snprintf(out, N_TEXT, "%c", (char)('a' + i));
    } else {
        snprintf(out, N_TEXT, "%s", plan->texts[i - 3]);
    }
}

static bool is_known(const struct plan *plan, const char *text)
{
    for (size_t i = 0; i < plan->n; i++) {
        if (strcmp(plan->texts[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static void make_plan(struct plan *plan)
{
    *plan = (struct plan){ .n = 0 };
    for (int tries = 0; tries < 200 && plan->n < N_MERGES; tries++) {
        char left[N_TEXT];
        char right[N_TEXT];
        char both[2 * N_TEXT];

        pick(plan, left);
        pick(plan, right);
        snprintf(both, sizeof(both), "%s%s", left, right);
        if (strlen(both) < N_TEXT && !is_known(plan, both)) {
            memcpy(plan->texts[plan->n], both, strlen(both) + 1);
            snprintf(plan->merges[plan->n], sizeof(plan->merges[0]), "%s %s", left, right);
            plan->scores[plan->n] = -(float)random_below(4);
            plan->n++;
        }
    }
}

/* A symbol of the exhaustive search, identified by its text. */
struct plain {
    char texts[N_WORD_MAX][N_TEXT];
    size_t n;
};

/* Returns the rank or inverted score of joining these two; SIZE_MAX: they never join. */
static size_t order_of(const struct plan *plan, bool by_rank, const char *left, const char *right)
{
    char both[2 * N_TEXT];
    char merge[2 * N_TEXT + 2];

    snprintf(both, sizeof(both), "%s%s", left, right);
    snprintf(merge, sizeof(merge), "%s %s", left, right);
    for (size_t i = 0; i < plan->n; i++) {
        if (by_rank && strcmp(plan->merges[i], merge) == 0) {
            return i;
        }
        if (!by_rank && strcmp(plan->texts[i], both) == 0) {
            return (size_t)-plan->scores[i];
        }
    }
    return SIZE_MAX;
}

static void merge_plainly(const struct plan *plan, bool by_rank, struct plain *word)
{
    for (;;) {
        size_t best = SIZE_MAX;
        size_t at = 0;

        for (size_t i = 0; i + 1 < word->n; i++) {
            const size_t order = order_of(plan, by_rank, word->texts[i], word->texts[i + 1]);

            if (order < best) {
                best = order;
                at = i;
            }
        }
        if (best == SIZE_MAX) {
            return;
        }
        memcpy(word->texts[at] + strlen(word->texts[at]), word->texts[at + 1], strlen(word->texts[at + 1]) + 1);
        memmove(word->texts[at + 1], word->texts[at + 2], (word->n - at - 2) * sizeof(word->texts[0]));
        word->n--;
    }
}

/* Builds the vocabulary of @plan. Letters are ids 'a' to 'c' of a byte-level one, 256 to 258 of the other. */
static struct vocab *make_vocab(const struct plan *plan, bool by_rank)
{
    struct tiny_token tokens[3 + N_MERGES] = { { "a", TOKEN_NORMAL, -90 },
                                               { "b", TOKEN_NORMAL, -91 },
                                               { "c", TOKEN_NORMAL, -92 } };
    const char *merges[N_MERGES];
    struct maker maker;

    for (size_t i = 0; i < plan->n; i++) {
        tokens[3 + i] = (struct tiny_token){ plan->texts[i], TOKEN_NORMAL, plan->scores[i] };
        merges[i] = plan->merges[i];
    }
    maker_init(&maker, 3);
    if (by_rank) {
        tiny_bpe_keys(&maker, "gpt-2", tokens + 3, plan->n, merges, plan->n);
    } else {
        tiny_spm_keys(&maker, tokens, 3 + plan->n);
    }
    return tiny_vocab(&maker);
}

static void check_word(const struct plan *plan, const struct vocab *vocab, bool by_rank)
{
    struct plain word = { .n = 1 + random_below(N_WORD_MAX) };
    struct ids ids = { 0 };
    char text[N_WORD_MAX + 1] = "";

    for (size_t i = 0; i < word.n; i++) {
        text[i] = (char)('a' + random_below(3));
        word.texts[i][0] = text[i];
    }
    merge_plainly(plan, by_rank, &word);
    ck_assert_int_eq(vocab_tokenize(vocab, text, strlen(text), TOKENIZE_MIDDLE, &ids, NULL), TOKENIZE_OK);

    ck_assert_msg(ids.n == word.n, "\"%s\": %zu ids, the plain way gives %zu", text, ids.n, word.n);
    for (size_t i = 0; i < ids.n; i++) {
        const struct gguf_text piece = vocab_piece(vocab, ids.ids[i]);

        ck_assert_msg(piece.n == strlen(word.texts[i]) && memcmp(piece.bytes, word.texts[i], piece.n) == 0,
                      "\"%s\": piece %zu is not \"%s\"", text, i, word.texts[i]);
    }
    ids_finish(&ids);
}

START_TEST(heap_merges_like_exhaustive_search)
{
    const bool by_rank = _i == 0;

    random_state = (uint64_t)_i + 7;
    for (int i = 0; i < N_VOCABS; i++) {
        struct plan plan;
        struct vocab *vocab;

        make_plan(&plan);
        vocab = make_vocab(&plan, by_rank);
        for (int k = 0; k < N_WORDS; k++) {
            check_word(&plan, vocab, by_rank);
        }
        vocab_destroy(vocab);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token-merge");
    TCase *tcase = tcase_create("merge");

    tcase_add_loop_test(tcase, heap_merges_like_exhaustive_search, 0, 2);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
