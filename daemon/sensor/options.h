/*
 * Options: the command line and the environment of sotto-sense
 */
#ifndef SOTTO_SENSOR_OPTIONS_H
#define SOTTO_SENSOR_OPTIONS_H

#include "base/diag.h"
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define OPTIONS_PATTERNS_MAX 32

struct options {
    const char *root;   /* "/" unless given */
    const char *socket; /* path to listen on, or NULL */
    int fd;             /* a socket connected to one peer; -1: none */
    uid_t uid;          /* user that may connect, beside root and our own; (uid_t)-1: none */
    uint32_t least_ms;  /* 0: as asked */
    const char *zones[OPTIONS_PATTERNS_MAX];
    size_t n_zones;
    const char *scales[OPTIONS_PATTERNS_MAX];
    size_t n_scales;
    const char *device; /* device, the load of which counts; NULL: as inventory_ours() finds it */
    bool foreground;
    const char *log_levels;     /* SOTTO_LOG, or NULL */
    const char *journal_stream; /* JOURNAL_STREAM, or NULL */
    long listen_pid;            /* of socket activation: the process, and the number of sockets; 0: none */
    long n_listen;
};

enum options_outcome {
    OPTIONS_RUN,
    OPTIONS_ANSWERED, /* help or version was printed: exit code 0 */
    OPTIONS_BAD,      /* exit code 2, with @diag */
};

/* Parses @argv, of which texts are kept; help is printed to @out. */
int options_read(struct options *ret_options, int argc, char **argv, FILE *out, struct diag *diag);

#endif
