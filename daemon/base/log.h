/*
 * Log: lines for people and for the journal
 *
 * A topic is a module ("stream"); SOTTO_LOG=stream:debug,ipc:info sets levels, the default is info. A line says what
 * happened to which request and model, in fixed field order. A line for the journal carries the syslog prefix "<6>", a
 * line for a person the time. Lines are valid UTF-8 and never hold a prompt, an answer or a token id. Events that tools
 * read have one form: "event: name, key: value, ...". Any thread; a line is one write.
 */
#ifndef SOTTO_BASE_LOG_H
#define SOTTO_BASE_LOG_H

#include <stdbool.h>

enum log_level {
    LOG_ERROR,
    LOG_WARN,
    LOG_INFO,
    LOG_DEBUG,
    LOG_LEVEL_COUNT,
};

typedef void (*log_sink_fn)(void *owner, enum log_level level, const char *line);

/*
 * Sets the levels from @levels (text of SOTTO_LOG, or NULL). With @person lines carry the time, else the journal's
 * prefix. Returns false if @levels has a word that is unknown; the other words hold. Call it once, before there are
 * threads.
 */
bool log_setup(const char *levels, bool person);

/* Returns whether standard error is the stream @stream: "DEVICE:INODE", as systemd sets JOURNAL_STREAM, or NULL. */
bool log_is_journal(const char *stream);

/* Sends lines to @sink instead of standard error (in engines: to sottod). NULL: back to standard error. */
void log_to(log_sink_fn sink, void *owner);

bool log_is_on(const char *topic, enum log_level level);

void log_line(const char *topic, enum log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define log_error(topic, ...) log_line((topic), LOG_ERROR, __VA_ARGS__)
#define log_warn(topic, ...)  log_line((topic), LOG_WARN, __VA_ARGS__)
#define log_info(topic, ...)  log_line((topic), LOG_INFO, __VA_ARGS__)
#define log_debug(topic, ...) log_line((topic), LOG_DEBUG, __VA_ARGS__)

#endif
