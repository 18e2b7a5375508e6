/*
 * sotto-engine: runs one model for sottod, over the socket at descriptor 3
 *
 * sottod starts it. It takes no options: all it needs is in the first message.
 */
#include "engine/engine.h"
#include "engine/harden.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The socket's descriptor, by agreement with sottod. */
#define SOTTOD_FD 3

static int usage(FILE *out, int code)
{
    fprintf(out, "usage: sotto-engine --help | --version\n"
                 "sottod starts sotto-engine with a socket at descriptor 3; it is not meant to be run by hand.\n");
    return code;
}

static bool has_socket(void)
{
    int type;
    socklen_t n = sizeof(type);

    return getsockopt(SOTTOD_FD, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_STREAM;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        return usage(stdout, 0);
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("sotto-engine %s\n", SOTTO_BUILD);
        return 0;
    }
    if (argc != 1 || !has_socket()) {
        return usage(stderr, 2);
    }
    harden_begin();
    return engine_run(SOTTOD_FD, harden_narrow);
}
