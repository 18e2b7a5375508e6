/*
 * Numbers are checked for what 32 bits can carry; their ranges are checked by the daemon.
 */
#include "generate_options.h"
#include "base/mem.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int generate_options_init(struct generate_options *options)
{
    *options = (struct generate_options){ .generate = sotto_generate_create() };
    return options->generate ? CLI_OK : cli_no_memory();
}

void generate_options_finish(struct generate_options *options)
{
    sotto_generate_destroy(options->generate);
    json_decref(options->variables);
    *options = (struct generate_options){ .generate = NULL };
}

/* Reads a number at *text that is followed by one of @ends or the end of the text. False: there is none of 32 bits. */
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

int generate_options_read_ids(const struct cli *cli, const char *text, uint32_t **ret_ids, size_t *ret_n)
{
    size_t cap = strlen(text) / 2 + 1; /* a digit and a comma each */
    uint32_t *ids = mem_calloc(MEM_MISC, cap, sizeof(*ids));
    const char *at = text;
    size_t n = 0;

    if (!ids) {
        return cli_no_memory();
    }
    while (*at || n == 0) {
        if (!read_id(&at, ",", &ids[n++]) || (*at == ',' && !*++at)) {
            mem_free(ids);
            return cli_usage(cli, "\"%s\" is not a list of token ids; write 1,2,3 (each from 0 to 4294967295)", text);
        }
    }
    *ret_ids = ids;
    *ret_n = n;
    return CLI_OK;
}

/* Takes "ID:B". */
static int take_bias(const struct cli *cli, struct generate_options *options, const char *text)
{
    const char *at = text;
    uint32_t id;
    char *end;
    float bias;

    if (!read_id(&at, ":", &id) || *at != ':') {
        return cli_usage(cli, "--bias: \"%s\" is not ID:B, a token id and a number", text);
    }
    bias = strtof(at + 1, &end);
    if (end == at + 1 || *end || isnan(bias)) {
        return cli_usage(cli, "--bias: \"%s\" is not a number, as B of ID:B must be", at + 1);
    }
    sotto_generate_add_bias(options->generate, id, bias);
    return CLI_OK;
}

/* Adds each value of the JSON list in the file at @path as a tool. */
static int take_tools(const struct cli *cli, struct generate_options *options, const char *path)
{
    json_error_t error;
    json_t *list = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    json_t *tool;
    size_t i;

    if (!json_is_array(list)) {
        json_decref(list);
        return cli_usage(cli, "--tools: %s: %s", path,
                         list ? "holds no JSON list; each of its values would be a tool" : error.text);
    }
    json_array_foreach(list, i, tool)
    {
        char *text = json_dumps(tool, JSON_ENCODE_ANY);

        sotto_generate_add_tool(options->generate, text ? text : "", text ? strlen(text) : 0);
        free(text);
    }
    json_decref(list);
    return CLI_OK;
}

/* Takes "NAME=JSON"; all variables given so far are sent as one object. */
static int take_variable(const struct cli *cli, struct generate_options *options, const char *text)
{
    const char *sign = strchr(text, '=');
    json_t *value = sign ? json_loads(sign + 1, JSON_DECODE_ANY, NULL) : NULL;
    char *all;

    if (!value || sign == text) {
        json_decref(value);
        return cli_usage(cli, "--var: \"%s\" is not NAME=JSON; in JSON a text stands in double quotes", text);
    }
    options->variables = options->variables ? options->variables : json_object();
    json_object_setn_new(options->variables, text, (size_t)(sign - text), value);
    all = json_dumps(options->variables, 0);
    sotto_generate_set_variables(options->generate, all ? all : "", all ? strlen(all) : 0);
    free(all);
    return CLI_OK;
}

enum sotto_class generate_options_class(const char *name)
{
    if (strcmp(name, "background") == 0) {
        return SOTTO_CLASS_BACKGROUND;
    }
    return strcmp(name, "realtime") == 0 ? SOTTO_CLASS_REALTIME : SOTTO_CLASS_INTERACTIVE;
}

/* Setters that take their option's number as it is. */
static void (*const float_setters[OPTION_COUNT])(struct sotto_generate *, float) = {
    [OPTION_TEMPERATURE] = sotto_generate_set_temperature,
    [OPTION_TOP_P] = sotto_generate_set_top_p,
    [OPTION_MIN_P] = sotto_generate_set_min_p,
    [OPTION_REPETITION_PENALTY] = sotto_generate_set_repetition_penalty,
    [OPTION_FREQUENCY_PENALTY] = sotto_generate_set_frequency_penalty,
    [OPTION_PRESENCE_PENALTY] = sotto_generate_set_presence_penalty,
};

static void (*const u32_setters[OPTION_COUNT])(struct sotto_generate *, uint32_t) = {
    [OPTION_TOP_K] = sotto_generate_set_top_k,
    [OPTION_PENALTY_WINDOW] = sotto_generate_set_penalty_window,
    [OPTION_MAX_TOKENS] = sotto_generate_set_max_tokens,
    [OPTION_SLIDE] = sotto_generate_set_slide,
    [OPTION_FIRST_TOKEN_BY] = sotto_generate_set_first_token_by,
    [OPTION_FINISH_BY] = sotto_generate_set_finish_by,
};

int generate_options_take(const struct cli *cli, struct generate_options *options, const struct arg_found *found)
{
    uint32_t number;
    int r;

    if (float_setters[found->row]) {
        float_setters[found->row](options->generate, (float)found->real);
        return CLI_OK;
    }
    if (u32_setters[found->row]) {
        r = cli_take_u32(cli, found, &number);
        if (r == CLI_OK) {
            u32_setters[found->row](options->generate, number);
        }
        return r;
    }
    switch (found->row) {
    case OPTION_MODEL:
        options->model = found->text;
        sotto_generate_set_model(options->generate, found->text);
        return CLI_OK;
    case OPTION_SEED:
        sotto_generate_set_seed(options->generate, found->number);
        return CLI_OK;
    case OPTION_BIAS:
        return take_bias(cli, options, found->text);
    case OPTION_STOP:
        sotto_generate_add_stop(options->generate, found->text, strlen(found->text));
        return CLI_OK;
    case OPTION_CLASS:
        sotto_generate_set_class(options->generate, generate_options_class(found->text));
        return CLI_OK;
    case OPTION_TOOLS:
        return take_tools(cli, options, found->text);
    case OPTION_VAR:
        return take_variable(cli, options, found->text);
    default:
        return CLI_OK;
    }
}
