/*
 * sotto-sense: reads load, temperature, power and memory of the machine for sottod
 *
 * It is the only part that may look at other processes, so it does little else: it takes no input but a rate, opens
 * only files below its root that are named in the program, and reports only to peers that may know.
 */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "sensor/discovery.h"
#include "sensor/harden.h"
#include "sensor/listen.h"
#include "sensor/options.h"
#include "sensor/sensor.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXIT_USAGE 2

static bool is_socket(int fd)
{
    socklen_t n = sizeof(int);
    int type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_STREAM;
}

/* Finds the peer's socket, or the one to listen on. */
static bool find_socket(const struct options *options, struct sensor_config *config, struct diag *diag)
{
    config->listen_fd = -1;
    config->client_fd = -1;
    if (options->fd >= 0) {
        if (!is_socket(options->fd)) {
            diag_set(diag, "--fd %d: there is no socket; sottod starts sotto-sense with one", options->fd);
            return false;
        }
        fcntl(options->fd, F_SETFD, FD_CLOEXEC);
        config->client_fd = options->fd;
        return true;
    }
    if (options->socket) {
        return listen_open(options->socket, &config->listen_fd, diag);
    }
    if (!listen_passed_in(options->listen_pid, options->n_listen, &config->listen_fd, diag)) {
        return false;
    }
    if (config->listen_fd < 0) {
        diag_set(diag, "no socket: give --socket PATH, or let the service manager pass one in; see --help");
        return false;
    }
    return true;
}

static int run(const struct options *options)
{
    struct discovery *discovery = mem_calloc(MEM_MISC, 1, sizeof(*discovery));
    struct sensor_config config = { .uid = options->uid, .least_ms = options->least_ms };
    const struct discovery_setup setup = {
        .zones = options->zones,
        .n_zones = options->n_zones,
        .scales = options->scales,
        .n_scales = options->n_scales,
        .device = options->device,
    };
    const bool person = options->foreground || !log_is_journal(options->journal_stream);
    struct diag diag = DIAG_INIT;
    bool is_free;
    int code;

    if (!log_setup(options->log_levels, person)) {
        log_warn("sensor",
                 "SOTTO_LOG has an unknown word, which is ignored; expected LEVEL or TOPIC:LEVEL, separated by commas");
    }
    if (!discovery || !find_socket(options, &config, &diag) ||
        !discovery_open(discovery, options->root, &setup, &diag)) {
        fprintf(stderr, "sotto-sense: %s\n", diag_is_set(&diag) ? diag.text : "no memory");
        mem_free(discovery);
        return EXIT_USAGE;
    }
    harden(config.client_fd >= 0);
    config.is_limited = discovery->root.is_machine && !harden_sees_others();
    config.listens_to_kernel = discovery->root.is_machine;
    config.finder = &discovery_table;
    config.owner = discovery;
    code = sensor_run(&config, &is_free);
    if (!is_free) {
        _exit(code); /* a thread inside the kernel still uses its memory */
    }
    discovery_close(discovery);
    mem_free(discovery);
    return code;
}

int main(int argc, char **argv)
{
    struct options options;
    struct diag diag = DIAG_INIT;
    int r;

    if (file_hold_std()) {
        return EXIT_FAILURE;
    }
    r = options_read(&options, argc, argv, stdout, &diag);
    if (r == OPTIONS_RUN) {
        return run(&options);
    }
    if (r == OPTIONS_ANSWERED) {
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "sotto-sense: %s\n", diag.text);
    return EXIT_USAGE;
}
