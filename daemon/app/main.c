/*
 * sottod: serves language models to the programs of this computer
 *
 * What a process does once and for all stands here: whose memory libraries take, which signals it lives through,
 * that nobody may look into it. All else is built in wire_up.c.
 */
#include "app/cmdline.h"
#include "app/wire_up.h"
#include "base/file.h"
#include "base/log.h"
#include <jansson.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define EXIT_USAGE  2
#define LARGE_BLOCK (128 << 10)

static void *loop_malloc(size_t size)
{
    return mem_alloc(MEM_LOOP, size);
}

static void *loop_realloc(void *block, size_t size)
{
    return mem_realloc(MEM_LOOP, block, size);
}

static void *loop_calloc(size_t n, size_t size)
{
    return mem_calloc(MEM_LOOP, n, size);
}

static void *json_malloc(size_t size)
{
    return mem_alloc(MEM_MISC, size);
}

/* Libraries draw from our accounts, so that Status can say who holds what. Before their first use. */
static void charge_libraries(void)
{
    uv_replace_allocator(loop_malloc, loop_realloc, loop_calloc, mem_free);
    json_set_alloc_funcs(json_malloc, mem_free);
}

/* One prompt may be a hundred megabytes of pieces for a moment: large blocks go back to the system when they are
 * freed, in place of waiting in the C library for the next one. */
static void give_back_at_once(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BLOCK);
#endif
}

static void protect(void)
{
    signal(SIGPIPE, SIG_IGN); /* a peer that left is told by EPIPE */
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files, by EFBIG */
#ifndef __SANITIZE_ADDRESS__  /* its search for leaks must look into the process */
    prctl(PR_SET_DUMPABLE, 0);
#endif
}

static void print_sentence(void *owner, const char *sentence)
{
    (void)owner;
    fprintf(stderr, "sottod: %s\n", sentence);
}

static void log_sentence(void *owner, const char *sentence)
{
    (void)owner;
    log_error("app", "%s", sentence);
}

static int check_config(const struct options *options)
{
    struct config *config = NULL;

    if (config_read(&config, options->config, &options->extra, print_sentence, NULL) != CONFIG_OK) {
        return EXIT_FAILURE;
    }
    printf("%s: ok\n", config->file ? config->file : "built-in configuration");
    config_destroy(config);
    return EXIT_SUCCESS;
}

static int run(const struct options *options)
{
    struct config *config = NULL;

    if (!log_setup(options->log_levels, options->foreground)) {
        log_warn("app", "SOTTO_LOG: a word means nothing; it is TOPIC:LEVEL, with commas between");
    }
    if (config_read(&config, options->config, &options->extra, log_sentence, NULL) != CONFIG_OK) {
        return EXIT_FAILURE;
    }
    return sottod_run(options, config);
}

int main(int argc, char **argv)
{
    struct options options;
    struct diag diag = DIAG_INIT;
    int code;
    int r;

    if (file_hold_std()) {
        return EXIT_FAILURE;
    }
    give_back_at_once();
    charge_libraries();
    protect();
    r = options_read(&options, argc, argv, stdout, &diag);
    if (r == OPTIONS_RUN) {
        code = options.check_config ? check_config(&options) : run(&options);
    } else if (r == OPTIONS_ANSWERED) {
        code = EXIT_SUCCESS;
    } else {
        fprintf(stderr, "sottod: %s\n", diag_is_set(&diag) ? diag.text : "no memory");
        code = r == OPTIONS_BAD ? EXIT_USAGE : EXIT_FAILURE;
    }
    options_finish(&options);
    return code;
}
