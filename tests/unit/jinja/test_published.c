/*
 * Published templates give the texts that Jinja2 made of them.
 */
#include "base/clean.h"
#include "load.h"
#include "rendering.h"
#include "unit.h"
#include <string.h>

static const char *const names[] = {
    "Hermes-2-Pro-Llama-3-8B-tool_use",
    "Llama-3.2-3B-Instruct",
    "Mistral-7B-Instruct-v0.2",
    "Mistral-Nemo-Instruct-2407",
    "Phi-3.5-mini-instruct",
    "Phi-4-mini-instruct",
    "Qwen2.5-7B-Instruct",
    "Qwen3-0.6B",
    "SmolLM2-Instruct",
    "TinyLlama-1.1B-Chat-v1.0",
    "gemma-2-2b-it",
    "gemma-3-1b-it",
    "phi-4",
};

/* Asserts that @source with @variables (consumed) gives the text of @wanted, or its error. */
static void assert_gives(const char *source, json_t *variables, const json_t *wanted, const char *what)
{
    const struct jinja_limits limits = JINJA_LIMITS;
    const json_t *text = json_object_get(wanted, "text");
    const char *error = json_string_value(json_object_get(wanted, "error"));
    char *json = json_dumps(variables, JSON_ENSURE_ASCII);
    cleanup(buf_finish) struct buf out;
    struct diag diag = DIAG_INIT;
    int r;

    buf_init(&out, MEM_MISC, 1 << 20);
    r = rendering_of(source, strlen(source), json, &limits, &out, &diag);
    if (text) {
        ck_assert_msg(r == JINJA_OK, "%s: %s", what, diag.text);
        ck_assert_msg(out.n == json_string_length(text) && memcmp(buf_data(&out), json_string_value(text), out.n) == 0,
                      "%s:\nwanted \"%s\"\ngot    \"%.*s\"", what, json_string_value(text), (int)out.n,
                      (const char *)buf_data(&out));
    } else {
        ck_assert_msg(r == JINJA_FAILED && strcmp(diag.text, error) == 0, "%s:\nwanted \"%s\"\ngot    %d \"%s\"", what,
                      error, r, diag.text);
    }
    free(json);
    json_decref(variables);
}

/* Returns the variables of a conversation, as transformers passes them. */
static json_t *variables_of(const json_t *conversation, const json_t *tokens)
{
    json_t *variables = json_deep_copy(json_object_get(conversation, "extra"));

    json_object_update(variables, (json_t *)(uintptr_t)tokens);
    json_object_set(variables, "messages", json_object_get(conversation, "messages"));
    json_object_set(variables, "tools", json_object_get(conversation, "tools"));
    json_object_set(variables, "add_generation_prompt", json_object_get(conversation, "add_generation_prompt"));
    return variables;
}

START_TEST(published_template_gives_the_published_text)
{
    json_t *conversations = load_json("templates/conversations.json");
    json_t *tokens = load_json("templates/tokens.json");
    char path[128];
    char *source;
    json_t *expected;
    json_t *row;
    size_t i;

    snprintf(path, sizeof(path), "templates/%s.jinja", names[_i]);
    source = load_text(path);
    snprintf(path, sizeof(path), "templates/expected/%s.json", names[_i]);
    expected = load_json(path);
    if (!conversations || !tokens || !source || !expected) {
        return;
    }
    ck_assert_uint_eq(json_array_size(conversations), json_object_size(expected));
    json_array_foreach(conversations, i, row)
    {
        const char *id = json_string_value(json_object_get(row, "id"));

        snprintf(path, sizeof(path), "%s, %s", names[_i], id);
        assert_gives(source, variables_of(row, json_object_get(tokens, names[_i])), json_object_get(expected, id),
                     path);
    }
    json_decref(conversations);
    json_decref(tokens);
    json_decref(expected);
    mem_free(source);
}
END_TEST

/* Rows on which huggingface.js and Jinja2 differ (a list added to a text) are left out. */
START_TEST(third_party_templates_give_their_published_targets)
{
    json_t *rows = load_json("templates/third-party-targets.json");
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *source = json_string_value(json_object_get(row, "chat_template"));
        json_t *wanted;

        if (!json_is_true(json_object_get(row, "python_jinja2_gives_the_same"))) {
            continue;
        }
        wanted = json_pack("{sO}", "text", json_object_get(row, "target"));
        assert_gives(source, json_incref(json_object_get(row, "data")), wanted,
                     json_string_value(json_object_get(row, "name")));
        json_decref(wanted);
    }
    json_decref(rows);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jinja-published");
    TCase *tcase = tcase_create("jinja-published");

    tcase_add_loop_test(tcase, published_template_gives_the_published_text, 0, (int)COUNTOF(names));
    tcase_add_test(tcase, third_party_templates_give_their_published_targets);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
