/*
 * sottod: serves language models to the programs of this computer
 *
 * This file does what a process does once: it sets the allocators of libraries, ignores signals, and closes the process
 * to debuggers. Everything else is built in wire_up.c.
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
#define LARGE_BLOCK (16 << 20)

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

/* Makes libraries allocate from our accounts, so that Status covers all memory. Call it before their first use. */
static void charge_libraries(void)
{
    uv_replace_allocator(loop_malloc, loop_realloc, loop_calloc, mem_free);
    json_set_alloc_funcs(json_malloc, mem_free);
}

/* Makes the C library keep the pages of a large frame, its fields and its text for the next one. To map and unmap them
 * each time took the loop longer than the rest of the work with them. mem_return_spare() gives them back. */
static void keep_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK);
#endif
}

static void protect(void)
{
    signal(SIGPIPE, SIG_IGN); /* writing to a closed connection fails with EPIPE */
    signal(SIGXFSZ, SIG_IGN); /* exceeding the limit on file sizes fails with EFBIG */
#ifndef __SANITIZE_ADDRESS__  /* its leak checker must read the process */
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

static int check_config(const struct cmdline *options)
{
    struct config *config = NULL;

    if (config_read(&config, options->config, &options->extra, print_sentence, NULL) != CONFIG_OK) {
        return EXIT_FAILURE;
    }
    printf("%s: ok\n", config->file ? config->file : "default configuration");
    config_destroy(config);
    return EXIT_SUCCESS;
}

static int run(const struct cmdline *options)
{
    struct config *config = NULL;

    const bool person = options->foreground || !log_is_journal(options->journal_stream);

    if (!log_setup(options->log_levels, person)) {
        log_warn("app",
                 "SOTTO_LOG has an unknown word, which is ignored; expected LEVEL or TOPIC:LEVEL, separated by commas");
    }
    if (config_read(&config, options->config, &options->extra, log_sentence, NULL) != CONFIG_OK) {
        return EXIT_FAILURE;
    }
    return sottod_run(options, config);
}

int main(int argc, char **argv)
{
    struct cmdline options;
    struct diag diag = DIAG_INIT;
    int code;
    int r;

    if (file_hold_std()) {
        return EXIT_FAILURE;
    }
    keep_large_blocks();
    charge_libraries();
    protect();
    r = cmdline_read(&options, argc, argv, stdout, &diag);
    if (r == CMDLINE_RUN) {
        code = options.check_config ? check_config(&options) : run(&options);
    } else if (r == CMDLINE_ANSWERED) {
        code = EXIT_SUCCESS;
    } else {
        fprintf(stderr, "sottod: %s\n", diag_is_set(&diag) ? diag.text : "no memory");
        code = r == CMDLINE_BAD ? EXIT_USAGE : EXIT_FAILURE;
    }
    cmdline_finish(&options);
    return code;
}
