#include "scripted.h"
#include "base/clean.h"
#include "base/err.h"
#include "tiny.h"
#include "unit.h"
#include <string.h>

const uint32_t scripted_prompt[SCRIPTED_PROMPT] = { 1, 50, 7,   123, 9,  77, 250, 3,   18, 4,
                                                    5, 6,  111, 99,  42, 31, 8,   200, 13, 17 };

struct model *scripted_open(const struct model_fixture_setup *setup)
{
    struct model_fixture_setup mine = *setup;
    char path[64];

    tiny_file(&(struct tiny){ .arch = NULL }, path, sizeof(path));
    mine.backend = mine.backend ? mine.backend : "fake";
    mine.kv_format = "f16";
    return model_fixture_open(path, &mine);
}

/* Writes @text to a file that the fake backend can play; gives its path. */
const char *scripted_script(const char *text)
{
    static char path[64];
    char name[] = "/tmp/sotto-script-XXXXXX";
    int fd = mkstemp(name);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    unlink(name);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}

int scripted_try(struct model *model, uint32_t id, uint32_t n_tokens, uint32_t n_reserve, struct seq_room *room)
{
    static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    uint32_t tokens[TINY_CONTEXT * 2];

    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = scripted_prompt[i % SCRIPTED_PROMPT];
    }
    return seq_open(model,
                    &(struct seq_request){ .id = id,
                                           .tokens = tokens,
                                           .n_tokens = n_tokens,
                                           .n_prompt = n_tokens,
                                           .n_reserve = n_reserve,
                                           .params = &greedy,
                                           .salt = (const uint8_t *)&id, /* published, but never found */
                                           .n_salt = sizeof(id) },
                    room);
}

void scripted_seq(struct model *model, uint32_t id, uint32_t n_tokens, uint32_t n_reserve)
{
    struct seq_room room;

    ck_assert_int_eq(scripted_try(model, id, n_tokens, n_reserve, &room), SEQ_OK);
}

/* Runs one step to its end. */
struct step_report scripted_run(struct model *model, const struct step_entry *entries, uint32_t n, step_poll_fn poll,
                                void *owner)
{
    struct step_report report;
    struct diag diag = DIAG_INIT;
    char trail[256];
    int r;

    ck_assert_msg(step_begin(model, 1, entries, n, &diag) == 0, "%s", diag.text);
    do {
        r = step_run(model, 1, poll, owner, &report);
    } while (r == STEP_SUSPENDED);
    ck_assert_msg(r == STEP_DONE, "%d: %s", r, err_trail(trail, sizeof(trail)));
    return report;
}

struct step_result scripted_run_one(struct model *model, uint32_t id, uint32_t n_prefill)
{
    const struct step_entry entry = { .seq = id, .n_prefill = n_prefill, .n_decode = n_prefill ? 0 : 1 };

    return scripted_run(model, &entry, 1, NULL, NULL).results[0];
}
