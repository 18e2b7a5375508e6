/*
 * Log: a line is composed on the stack and written by one write()
 *
 * So lines of several threads and processes on the same descriptor do not mix. Levels are set before there are threads
 * and only read afterwards.
 */
#include "base/log.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/utf8.h"
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 1024 /* longer lines are cut at a whole character */

/* Topics are the modules. */
static const char *const topics[] = {
    "base", "proto", "drm",   "sense",  "compute", "tensor", "sched", "gguf",   "import", "token", "text", "kern",
    "exec", "gpu",   "model", "engine", "sensor",  "stream", "ipc",   "config", "device", "tool",  "app",
};

/* This state is global: a log that had to be passed to every function would not be used. */
static struct {
    enum log_level general;
    uint8_t topic[COUNTOF(topics)]; /* a level plus 1; 0: the general one */
    bool person;
    log_sink_fn sink;
    void *owner;
} state = { .general = LOG_INFO };

static const struct level {
    const char *name;
    char syslog;        /* number of syslog(3) */
    const char *person; /* before the line, for a person */
} levels[LOG_LEVEL_COUNT] = {
    [LOG_ERROR] = { "error", '3', "error: " },
    [LOG_WARN] = { "warn", '4', "warning: " },
    [LOG_INFO] = { "info", '6', "" },
    [LOG_DEBUG] = { "debug", '7', "" },
};

/* Returns the index of the topic of @n bytes at @name, or -1. */
static int topic_find(const char *name, size_t n)
{
    for (size_t i = 0; i < COUNTOF(topics); i++) {
        if (strlen(topics[i]) == n && memcmp(topics[i], name, n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static int level_find(const char *name, size_t n)
{
    for (int i = 0; i < LOG_LEVEL_COUNT; i++) {
        if (strlen(levels[i].name) == n && memcmp(levels[i].name, name, n) == 0) {
            return i;
        }
    }
    return -1;
}

/* Applies one word of SOTTO_LOG: "LEVEL" for all topics, or "TOPIC:LEVEL". Returns false if it is unknown. */
static bool set_level(const char *word, size_t n)
{
    const char *colon = memchr(word, ':', n);
    size_t n_topic = colon ? (size_t)(colon - word) : 0;
    int level = colon ? level_find(colon + 1, n - n_topic - 1) : level_find(word, n);
    int topic = colon ? topic_find(word, n_topic) : -1;

    if (level < 0 || (colon && topic < 0)) {
        return false;
    }
    if (colon) {
        state.topic[topic] = (uint8_t)(level + 1);
    } else {
        state.general = (enum log_level)level;
    }
    return true;
}

bool log_setup(const char *levels_text, bool person)
{
    const char *word = levels_text ? levels_text : "";
    bool understood = true;

    state.general = LOG_INFO;
    memset(state.topic, 0, sizeof(state.topic));
    state.person = person;
    while (*word) {
        size_t n = strcspn(word, ",");

        if (n > 0 && !set_level(word, n)) {
            understood = false;
        }
        word += n + (word[n] == ',');
    }
    return understood;
}

bool log_is_journal(const char *stream)
{
    unsigned long long device, inode;
    struct stat st;

    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

void log_to(log_sink_fn sink, void *owner)
{
    state.sink = sink;
    state.owner = owner;
}

bool log_is_on(const char *topic, enum log_level level)
{
    int i = topic_find(topic, strlen(topic));

    return level <= (i >= 0 && state.topic[i] ? (enum log_level)(state.topic[i] - 1) : state.general);
}

/* Writes the text before the topic: for the journal "<6>", for a person "12:34:56.789 warning: ". */
static size_t write_head(char *line, size_t cap, enum log_level level)
{
    uint64_t now_us;
    time_t now;
    struct tm tm;
    int n;

    if (!state.person) {
        n = snprintf(line, cap, "<%c>", levels[level].syslog);
        return (size_t)n;
    }
    now_us = clock_real_us();
    now = (time_t)(now_us / 1000000);
    localtime_r(&now, &tm);
    n = snprintf(line, cap, "%02d:%02d:%02d.%03d %s", tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(now_us / 1000 % 1000),
                 levels[level].person);
    return (size_t)n;
}

void log_line(const char *topic, enum log_level level, const char *format, ...)
{
    char raw[LINE_BYTES];
    char line[LINE_BYTES + 64]; /* with head and end */
    size_t n = 0;
    va_list args;
    int n_raw;

    assert(level < LOG_LEVEL_COUNT);
    if (!log_is_on(topic, level)) {
        return;
    }
    n_raw = snprintf(raw, sizeof(raw), "%s: ", topic);
    va_start(args, format);
    vsnprintf(raw + n_raw, sizeof(raw) - (size_t)n_raw, format, args);
    va_end(args);

    if (!state.sink) {
        n = write_head(line, sizeof(line), level);
    }
    n += utf8_mend_line((const uint8_t *)raw, strlen(raw), (uint8_t *)line + n, sizeof(line) - n - 2);
    if (state.sink) {
        line[n] = '\0';
        state.sink(state.owner, level, line);
        return;
    }
    line[n++] = '\n';
    /* There is no place to report that the log can't be written. */
    if (write(STDERR_FILENO, line, n) < 0) {
        return;
    }
}
