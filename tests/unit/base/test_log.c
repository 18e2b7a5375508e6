/* Levels by topic, clean lines, one write each. */
#include "base/log.h"
#include "unit.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static char seen[2048];
static enum log_level seen_level;
static int n_seen;

static void on_line(void *owner, enum log_level level, const char *line)
{
    snprintf(seen, sizeof(seen), "%s", line);
    seen_level = level;
    n_seen++;
}

/* Logs one warning to a pipe in place of standard error and returns what the first read brings. */
static ssize_t catch_line(bool person, char *line, size_t cap)
{
    int old = dup(STDERR_FILENO);
    int ends[2];
    ssize_t n;

    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    log_setup(NULL, person);
    log_warn("ipc", "peer %d left", 7);
    dup2(old, STDERR_FILENO);
    n = read(ends[0], line, cap - 1);
    ck_assert_int_gt(n, 0);
    line[n] = '\0';
    return n;
}

START_TEST(default_level_is_info)
{
    ck_assert(log_setup(NULL, false));

    ck_assert(log_is_on("ipc", LOG_INFO));
    ck_assert(!log_is_on("ipc", LOG_DEBUG));
}
END_TEST

START_TEST(topics_have_levels_of_their_own)
{
    ck_assert(log_setup("stream:debug,ipc:error", false));

    ck_assert(log_is_on("stream", LOG_DEBUG));
    ck_assert(!log_is_on("ipc", LOG_WARN));
    ck_assert(!log_is_on("sched", LOG_DEBUG));
}
END_TEST

START_TEST(level_alone_is_for_all_topics)
{
    ck_assert(log_setup("debug,ipc:info", false));

    ck_assert(log_is_on("sched", LOG_DEBUG));
    ck_assert(!log_is_on("ipc", LOG_DEBUG));
}
END_TEST

START_TEST(unknown_words_are_reported_and_the_rest_holds)
{
    ck_assert(!log_setup("nowhere:debug,ipc:debug", false));
    ck_assert(log_is_on("ipc", LOG_DEBUG));
    ck_assert(!log_setup("ipc:loud", false));
    ck_assert(!log_setup("ipc:", false));
    ck_assert(!log_setup(":debug", false));
    ck_assert(log_setup("ipc:debug,,", false));
}
END_TEST

START_TEST(sink_gets_topic_level_and_text)
{
    log_setup(NULL, false);
    log_to(on_line, NULL);
    log_warn("stream", "stream: %d, model: %s", 3, "tiny");

    ck_assert_str_eq(seen, "stream: stream: 3, model: tiny");
    ck_assert_int_eq(seen_level, LOG_WARN);
}
END_TEST

START_TEST(line_below_the_level_is_not_made)
{
    log_setup("ipc:warn", false);
    log_to(on_line, NULL);
    log_info("ipc", "x");

    ck_assert_int_eq(n_seen, 0);
}
END_TEST

START_TEST(hostile_text_stays_one_clean_line)
{
    log_setup(NULL, false);
    log_to(on_line, NULL);
    log_info("ipc", "name %s", "a\n<0>fake\x1b[0m\xFF");

    ck_assert_str_eq(seen, "ipc: name a\xEF\xBF\xBD<0>fake\xEF\xBF\xBD[0m\xEF\xBF\xBD");
}
END_TEST

START_TEST(endless_text_is_cut)
{
    log_setup(NULL, false);
    log_to(on_line, NULL);
    log_info("ipc", "%0*d", 5000, 1);

    ck_assert_uint_lt(strlen(seen), 1100);
    ck_assert_uint_gt(strlen(seen), 1000);
}
END_TEST

START_TEST(journal_line_has_the_syslog_prefix)
{
    char line[200];

    catch_line(false, line, sizeof(line));

    ck_assert_str_eq(line, "<4>ipc: peer 7 left\n");
}
END_TEST

START_TEST(person_reads_time_and_severity)
{
    char line[200];
    int hour;
    int minute;
    double second;
    int n = 0;

    catch_line(true, line, sizeof(line));

    ck_assert_int_eq(sscanf(line, "%d:%d:%lf warning: ipc: peer 7 left\n%n", &hour, &minute, &second, &n), 3);
    ck_assert_int_eq(n, strlen(line));
}
END_TEST

START_TEST(journal_is_known_by_device_and_inode)
{
    struct stat st;
    char stream[64];

    ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    ck_assert(log_is_journal(stream));

    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino + 1);
    ck_assert(!log_is_journal(stream));
    ck_assert(!log_is_journal("journal"));
    ck_assert(!log_is_journal(NULL));
}
END_TEST

int main(void)
{
    return unit_facts("log", default_level_is_info, topics_have_levels_of_their_own, level_alone_is_for_all_topics,
                      unknown_words_are_reported_and_the_rest_holds, sink_gets_topic_level_and_text,
                      line_below_the_level_is_not_made, hostile_text_stays_one_clean_line, endless_text_is_cut,
                      journal_line_has_the_syslog_prefix, person_reads_time_and_severity,
                      journal_is_known_by_device_and_inode);
}
