#include "engine/script.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include "model/seq.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SCRIPT_BYTES_MAX (1u << 20)

enum argument { NOTHING, NUMBER, LIST, TEXT, REFUSAL };

static const struct action_row {
    const char *word;
    enum argument argument;
} actions[SCRIPT_ACTION_COUNT] = {
    [SCRIPT_TOKENS] = { "tokens", LIST },      [SCRIPT_CRASH] = { "crash", NOTHING },
    [SCRIPT_KILL] = { "kill", NOTHING },       [SCRIPT_EXIT] = { "exit", NOTHING },
    [SCRIPT_HANG] = { "hang", NOTHING },       [SCRIPT_SLOW] = { "slow", NUMBER },
    [SCRIPT_WAIT] = { "wait", NUMBER },        [SCRIPT_STALL] = { "stall", NUMBER },
    [SCRIPT_NUMERIC] = { "numeric", NOTHING }, [SCRIPT_ALLOCATE] = { "allocate", NOTHING },
    [SCRIPT_GARBAGE] = { "garbage", NOTHING }, [SCRIPT_FAULT] = { "fault", TEXT },
    [SCRIPT_HOPELESS] = { "hopeless", TEXT },  [SCRIPT_REFUSE] = { "refuse", REFUSAL },
};

static const struct {
    const char *word;
    enum seq_outcome outcome;
} refusals[] = {
    { "no-pages", SEQ_NO_PAGES },
    { "never-fits", SEQ_NEVER_FITS },
    { "too-many", SEQ_TOO_MANY },
    { "bad-token", SEQ_BAD_TOKEN },
};

/* Returns the next word of the line, terminated in place, or NULL at its end. */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, " \t");
    size_t n = strcspn(word, " \t");

    if (n == 0) {
        return NULL;
    }
    *line = word + n;
    if (**line != '\0') {
        *(*line)++ = '\0';
    }
    return word;
}

static bool read_number(const char *word, uint32_t *ret)
{
    char *end;
    unsigned long long value;

    if (!word || !isdigit((unsigned char)*word)) {
        return false;
    }
    errno = 0;
    value = strtoull(word, &end, 10);
    if (errno != 0 || *end != '\0' || value > UINT32_MAX) {
        return false;
    }
    *ret = (uint32_t)value;
    return true;
}

static bool read_list(char *word, struct script_rule *rule)
{
    if (!word) {
        return false;
    }
    rule->tokens = mem_calloc(MEM_MISC, strlen(word) + 1, sizeof(*rule->tokens));
    if (!rule->tokens) {
        return false;
    }
    while (word) {
        char *rest = strchr(word, ',');

        if (rest) {
            *rest++ = '\0';
        }
        if (!read_number(word, &rule->tokens[rule->n_tokens++])) {
            return false;
        }
        word = rest;
    }
    return true;
}

static bool read_refusal(const char *word, struct script_rule *rule)
{
    for (size_t i = 0; word && i < COUNTOF(refusals); i++) {
        if (strcmp(word, refusals[i].word) == 0) {
            rule->number = (uint32_t)refusals[i].outcome;
            return true;
        }
    }
    return false;
}

static bool read_argument(enum argument argument, char **line, struct script_rule *rule)
{
    switch (argument) {
    case NOTHING:
        return true;
    case NUMBER:
        return read_number(next_word(line), &rule->number);
    case LIST:
        return read_list(next_word(line), rule);
    case REFUSAL:
        return read_refusal(next_word(line), rule);
    case TEXT:
        snprintf(rule->text, sizeof(rule->text), "%s", *line + strspn(*line, " \t"));
        *line += strlen(*line);
        return true;
    }
    return false;
}

static bool read_action(char **line, struct script_rule *rule)
{
    const char *word = next_word(line);

    for (int i = 0; word && i < SCRIPT_ACTION_COUNT; i++) {
        if (strcmp(word, actions[i].word) == 0) {
            rule->action = (enum script_action)i;
            return read_argument(actions[i].argument, line, rule) && !next_word(line);
        }
    }
    return false;
}

/* Opens the file of a rule that acts once: later, an engine cannot open files. */
static bool read_once(const char *path, struct script_rule *rule)
{
    struct stat st;

    if (!path) {
        return false;
    }
    rule->once_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (rule->once_fd < 0 || fstat(rule->once_fd, &st) < 0) {
        return false;
    }
    rule->is_spent = st.st_size > 0;
    return true;
}

/* Reads what is between the first word and the action: [ID] [at A] [once PATH] do. */
static bool read_conditions(char **line, struct script_rule *rule)
{
    const char *word;
    uint32_t at;

    if (rule->when == SCRIPT_WHEN && !read_number(next_word(line), &rule->token)) {
        return false;
    }
    while ((word = next_word(line))) {
        if (strcmp(word, "do") == 0) {
            return read_action(line, rule);
        }
        if (strcmp(word, "once") == 0 && rule->once_fd < 0) {
            if (!read_once(next_word(line), rule)) {
                return false;
            }
            continue;
        }
        if (strcmp(word, "at") != 0 || rule->when == SCRIPT_AT_LOAD || !(word = next_word(line))) {
            return false;
        }
        if (strcmp(word, "open") == 0) {
            rule->at = SCRIPT_AT_OPEN;
        } else if (read_number(word, &at)) {
            rule->at = at;
        } else {
            return false;
        }
    }
    return false;
}

static bool read_rule(struct script *script, enum script_when when, char **line)
{
    struct script_rule *rules = mem_realloc(MEM_MISC, script->rules, (script->n + 1) * sizeof(*rules));

    if (!rules) {
        return false;
    }
    script->rules = rules;
    rules[script->n] = (struct script_rule){ .when = when, .at = SCRIPT_AT_ANY, .once_fd = -1 };
    return read_conditions(line, &rules[script->n++]);
}

static bool read_line(struct script *script, char *line)
{
    const char *word;

    line[strcspn(line, "#\r")] = '\0';
    word = next_word(&line);
    if (!word) {
        return true;
    }
    if (strcmp(word, "load") == 0) {
        return read_rule(script, SCRIPT_AT_LOAD, &line);
    }
    if (strcmp(word, "always") == 0) {
        return read_rule(script, SCRIPT_ALWAYS, &line);
    }
    if (strcmp(word, "when") == 0) {
        return read_rule(script, SCRIPT_WHEN, &line);
    }
    if (strcmp(word, "vocabulary") == 0) {
        return read_number(next_word(&line), &script->n_vocab);
    }
    if (strcmp(word, "pages") == 0) {
        return read_number(next_word(&line), &script->n_pages);
    }
    if (strcmp(word, "context") == 0) {
        return read_number(next_word(&line), &script->n_context);
    }
    return false;
}

int script_read(struct script *ret_script, const char *path, struct diag *diag)
{
    cleanup(mem_freep) char *text = NULL;
    struct script script = { .n = 0 };
    unsigned n_line = 0;
    size_t n;
    int r;

    if (path[0] == '\0') {
        *ret_script = script;
        return SCRIPT_OK;
    }
    r = file_read(path, MEM_MISC, SCRIPT_BYTES_MAX, &text, &n, diag);
    if (r == FILE_ABSENT) {
        diag_set(diag, "script %s: there is no such file", path);
    }
    if (r > 0) {
        return SCRIPT_REFUSED;
    }
    if (r < 0) {
        return err_up(r);
    }
    for (char *line = text; line;) {
        char *rest = strchr(line, '\n');

        if (rest) {
            *rest++ = '\0';
        }
        n_line++;
        if (!read_line(&script, line)) {
            diag_set(diag, "script %s, line %u: not understood", path, n_line);
            script_finish(&script);
            return SCRIPT_REFUSED;
        }
        line = rest;
    }
    *ret_script = script;
    return SCRIPT_OK;
}

void script_finish(struct script *script)
{
    for (size_t i = 0; i < script->n; i++) {
        mem_free(script->rules[i].tokens);
        fd_closep(&script->rules[i].once_fd);
    }
    mem_free(script->rules);
    *script = (struct script){ .n = 0 };
}

static bool holds(const uint32_t *tokens, size_t n, uint32_t token)
{
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] == token) {
            return true;
        }
    }
    return false;
}

const struct script_rule *script_find(const struct script *script, const uint32_t *tokens, size_t n_tokens,
                                      int64_t moment, size_t *at)
{
    while (*at < script->n) {
        const struct script_rule *rule = &script->rules[(*at)++];

        if (rule->is_spent || (rule->at != moment && rule->at != SCRIPT_AT_ANY) ||
            (rule->when == SCRIPT_AT_LOAD) != !tokens) {
            continue;
        }
        if (rule->when != SCRIPT_WHEN || holds(tokens, n_tokens, rule->token)) {
            return rule;
        }
    }
    return NULL;
}

void script_spend(const struct script *script, const struct script_rule *rule)
{
    struct script_rule *own = &script->rules[rule - script->rules];

    if (own->once_fd >= 0) {
        own->is_spent = write(own->once_fd, "x", 1) == 1;
    }
}
