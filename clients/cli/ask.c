/*
 * Ask: numbers are checked for what the wire can carry; what they may be is the daemon's to judge.
 */
#include "ask.h"

#include "base/mem.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool ask_init(struct ask *ask)
{
    *ask = (struct ask){ .generate = sotto_generate_create() };
    if (!ask->generate) {
        fprintf(stderr, "sotto: no memory left\n");
    }
    return ask->generate != NULL;
}

void ask_finish(struct ask *ask)
{
    sotto_generate_destroy(ask->generate);
    json_decref(ask->variables);
    *ask = (struct ask){ .generate = NULL };
}

/* A number from @text up to @end, which holds one of @ends. False: there is none, or it passes 32 bits. */
static bool read_id(const char **text, const char *ends, uint32_t *ret_id)
{
    char *end;
    unsigned long long id;

    if (**text < '0' || **text > '9') {
        return false;
    }
    errno = 0;
    id = strtoull(*text, &end, 10);
    if (errno || id > UINT32_MAX || !strchr(ends, *end)) {
        return false;
    }
    *text = end;
    *ret_id = (uint32_t)id;
    return true;
}

int ask_read_ids(const struct cli *cli, const char *text, uint32_t **ret_ids, size_t *ret_n)
{
    size_t cap = strlen(text) / 2 + 1; /* a digit and a comma each */
    uint32_t *ids = mem_calloc(MEM_MISC, cap, sizeof(*ids));
    const char *at = text;
    size_t n = 0;

    if (!ids) {
        return cli_usage(cli, "no memory left for the token ids");
    }
    while (*at || n == 0) {
        if (!read_id(&at, ",", &ids[n++]) || (*at == ',' && !*++at)) {
            mem_free(ids);
            return cli_usage(cli, "\"%s\" is no list of token ids: 1,2,3 (each from 0 to 4294967295)", text);
        }
    }
    *ret_ids = ids;
    *ret_n = n;
    return CLI_OK;
}

/* "ID:B". */
static int take_bias(const struct cli *cli, struct ask *ask, const char *text)
{
    const char *at = text;
    uint32_t id;
    char *end;
    float bias;

    if (!read_id(&at, ":", &id) || *at != ':') {
        return cli_usage(cli, "--bias: \"%s\" is not ID:B", text);
    }
    bias = strtof(at + 1, &end);
    if (end == at + 1 || *end || isnan(bias)) {
        return cli_usage(cli, "--bias: \"%s\" is no number, as B of ID:B should be", at + 1);
    }
    sotto_generate_add_bias(ask->generate, id, bias);
    return CLI_OK;
}

/* Each value of the list in the file at @path is a tool. */
static int take_tools(const struct cli *cli, struct ask *ask, const char *path)
{
    json_error_t error;
    json_t *list = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    json_t *tool;
    size_t i;

    if (!json_is_array(list)) {
        json_decref(list);
        return cli_usage(cli, "--tools: %s: %s", path, list ? "is no JSON list" : error.text);
    }
    json_array_foreach(list, i, tool)
    {
        char *text = json_dumps(tool, JSON_ENCODE_ANY);

        sotto_generate_add_tool(ask->generate, text ? text : "", text ? strlen(text) : 0);
        free(text);
    }
    json_decref(list);
    return CLI_OK;
}

/* "NAME=JSON": all of them go together. */
static int take_variable(const struct cli *cli, struct ask *ask, const char *text)
{
    const char *sign = strchr(text, '=');
    json_t *value = sign ? json_loads(sign + 1, JSON_DECODE_ANY, NULL) : NULL;
    char *all;

    if (!value || sign == text) {
        json_decref(value);
        return cli_usage(cli, "--var: \"%s\" is not NAME=JSON (a text has double quotes in JSON)", text);
    }
    ask->variables = ask->variables ? ask->variables : json_object();
    json_object_setn_new(ask->variables, text, (size_t)(sign - text), value);
    all = json_dumps(ask->variables, 0);
    sotto_generate_set_variables(ask->generate, all ? all : "", all ? strlen(all) : 0);
    free(all);
    return CLI_OK;
}

enum sotto_class ask_class(const char *name)
{
    if (strcmp(name, "background") == 0) {
        return SOTTO_CLASS_BACKGROUND;
    }
    return strcmp(name, "realtime") == 0 ? SOTTO_CLASS_REALTIME : SOTTO_CLASS_INTERACTIVE;
}

static void take_float(struct sotto_generate *to, enum ask_row row, float value)
{
    static void (*const setters[ASK_ROWS_COUNT])(struct sotto_generate *, float) = {
        [ASK_TEMPERATURE] = sotto_generate_set_temperature,
        [ASK_TOP_P] = sotto_generate_set_top_p,
        [ASK_MIN_P] = sotto_generate_set_min_p,
        [ASK_REPETITION_PENALTY] = sotto_generate_set_repetition_penalty,
        [ASK_FREQUENCY_PENALTY] = sotto_generate_set_frequency_penalty,
        [ASK_PRESENCE_PENALTY] = sotto_generate_set_presence_penalty,
    };

    setters[row](to, value);
}

static int take_uint(const struct cli *cli, struct sotto_generate *to, const struct arg_found *found)
{
    static void (*const setters[ASK_ROWS_COUNT])(struct sotto_generate *, uint32_t) = {
        [ASK_TOP_K] = sotto_generate_set_top_k,
        [ASK_PENALTY_WINDOW] = sotto_generate_set_penalty_window,
        [ASK_MAX_TOKENS] = sotto_generate_set_max_tokens,
        [ASK_SLIDE] = sotto_generate_set_slide,
        [ASK_FIRST_TOKEN_BY] = sotto_generate_set_first_token_by,
        [ASK_FINISH_BY] = sotto_generate_set_finish_by,
    };

    if (found->number > UINT32_MAX) {
        return cli_usage(cli, "--%s: %s is more than 4294967295", cli->command->rows[found->row].name, found->text);
    }
    setters[found->row](to, (uint32_t)found->number);
    return CLI_OK;
}

int ask_take(const struct cli *cli, struct ask *ask, const struct arg_found *found)
{
    switch ((enum ask_row)found->row) {
    case ASK_MODEL:
        ask->model = found->text;
        sotto_generate_set_model(ask->generate, found->text);
        return CLI_OK;
    case ASK_TEMPERATURE:
    case ASK_TOP_P:
    case ASK_MIN_P:
    case ASK_REPETITION_PENALTY:
    case ASK_FREQUENCY_PENALTY:
    case ASK_PRESENCE_PENALTY:
        take_float(ask->generate, (enum ask_row)found->row, (float)found->real);
        return CLI_OK;
    case ASK_TOP_K:
    case ASK_PENALTY_WINDOW:
    case ASK_MAX_TOKENS:
    case ASK_SLIDE:
    case ASK_FIRST_TOKEN_BY:
    case ASK_FINISH_BY:
        return take_uint(cli, ask->generate, found);
    case ASK_SEED:
        sotto_generate_set_seed(ask->generate, found->number);
        return CLI_OK;
    case ASK_BIAS:
        return take_bias(cli, ask, found->text);
    case ASK_STOP:
        sotto_generate_add_stop(ask->generate, found->text, strlen(found->text));
        return CLI_OK;
    case ASK_CLASS:
        sotto_generate_set_class(ask->generate, ask_class(found->text));
        return CLI_OK;
    case ASK_TOOLS:
        return take_tools(cli, ask, found->text);
    case ASK_VAR:
        return take_variable(cli, ask, found->text);
    case ASK_ROWS_COUNT:
        break;
    }
    return CLI_OK;
}
