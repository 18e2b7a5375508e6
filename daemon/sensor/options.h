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
    const char *socket; /* to listen at, or NULL */
    int fd;             /* a socket to one client; -1: none */
    uid_t uid;          /* who may connect, beside root and ourselves; (uid_t)-1: nobody */
    uint32_t least_ms;  /* 0: as asked */
    const char *zones[OPTIONS_PATTERNS_MAX];
    size_t n_zones;
    const char *scales[OPTIONS_PATTERNS_MAX];
    size_t n_scales;
    const char *device; /* whose load counts; NULL: by the rule of the house */
    bool foreground;
    const char *log_levels; /* SOTTO_LOG, or NULL */
    long listen_pid;        /* of socket activation: whom the sockets are for, and how many; 0: none */
    long n_listen;
};

enum options_outcome {
    OPTIONS_RUN,
    OPTIONS_ANSWERED, /* a page was printed: exit code 0 */
    OPTIONS_BAD,      /* @diag says what: exit code 2 */
};

/* Pages go to @out. Texts of @argv are kept. */
int options_read(struct options *ret_options, int argc, char **argv, FILE *out, struct diag *diag);

#endif
