/* The link to a fake sotto-sense behind a socket: called, believed, caught lying, called again. */
#include "base/clean.h"
#include "base/clock.h"
#include "machine/machine_watch.h"
#include "proto/wire.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sotto/sense.pb-c.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PATIENCE_US 60000000u

struct scene {
    uv_loop_t loop;
    struct machine_watch *watch;
    char folder[64];
    char path[96];
    int listener;
    int peer; /* our end of the connection; -1: none */
    char events[1024];
    uint64_t said_us; /* the stamp of the last reading */
    uint32_t n_samples;
    bool has_ended;
};

static void on_sample(void *owner, bool early)
{
    ((struct scene *)owner)->n_samples++;
}

static void on_event(void *owner, const char *name, const char *const *pairs, size_t n_pairs)
{
    struct scene *scene = owner;
    size_t n = strlen(scene->events);

    snprintf(scene->events + n, sizeof(scene->events) - n, "%s ", name);
}

static const struct machine_watch_sink sink = { .on_sample = on_sample, .on_event = on_event };

static void open_door(struct scene *scene)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memcpy(address.sun_path, scene->path, strlen(scene->path) + 1);
    scene->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(scene->listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(scene->listener, 4), 0);
}

static void begin(struct scene *scene, enum machine_start start)
{
    struct machine_config config = { .start = start, .uid = UINT32_MAX, .pause_ms = { 1, 2, 3 } };

    memset(scene, 0, sizeof(*scene));
    signal(SIGPIPE, SIG_IGN);
    scene->peer = -1;
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/sotto-senses-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->folder));
    snprintf(scene->path, sizeof(scene->path), "%s/s", scene->folder);
    config.socket = scene->path;
    open_door(scene);
    ck_assert_int_eq(uv_loop_init(&scene->loop), 0);
    ck_assert_int_eq(machine_watch_create(&scene->watch, &scene->loop, &config, &sink, scene), 0);
    machine_watch_begin(scene->watch);
    scene->said_us = clock_mono_us();
}

static void on_ended(void *owner)
{
    ((struct scene *)owner)->has_ended = true;
}

static void end(struct scene *scene)
{
    machine_watch_end(scene->watch, on_ended, scene);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    ck_assert(scene->has_ended);
    machine_watch_destroy(scene->watch);
    ck_assert_int_eq(uv_loop_close(&scene->loop), 0);
    close(scene->listener);
    if (scene->peer >= 0) {
        close(scene->peer);
    }
    unlink(scene->path);
    rmdir(scene->folder);
}

/* Runs the loop until @is_so. */
static void until(struct scene *scene, bool (*is_so)(struct scene *scene))
{
    uint64_t end_us = clock_mono_us() + PATIENCE_US;

    while (!is_so(scene)) {
        ck_assert_uint_lt(clock_mono_us(), end_us);
        uv_run(&scene->loop, UV_RUN_NOWAIT);
        usleep(500);
    }
}

static bool has_called(struct scene *scene)
{
    if (scene->peer >= 0) {
        close(scene->peer);
    }
    scene->peer = accept4(scene->listener, NULL, NULL, SOCK_NONBLOCK);
    return scene->peer >= 0;
}

static bool has_left(struct scene *scene)
{
    char bytes[256];
    ssize_t n = recv(scene->peer, bytes, sizeof(bytes), 0);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}

static bool is_there(struct scene *scene)
{
    return machine_watch_is_there(scene->watch);
}

static bool has_sampled(struct scene *scene)
{
    return scene->n_samples > 0;
}

/* Sends to the watch; the loop empties a full socket, and a closed one takes nothing more. */
static void say(struct scene *scene, const Sotto__Sense__FromSense *message)
{
    struct buf out;
    ssize_t n;

    buf_init(&out, MEM_WIRE, 1u << 16);
    ck_assert_int_eq(wire_pack(&message->base, &out), 0);
    while ((n = send(scene->peer, buf_data(&out), out.n, 0)) < 0 && errno == EAGAIN) {
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    ck_assert(n == (ssize_t)out.n || errno == EPIPE);
    buf_finish(&out);
}

/* Reports an inventory with one load that is in use. */
static void say_inventory(struct scene *scene)
{
    static char build[] = SOTTO_VERSION;
    static char name[] = "pvr status";
    Sotto__Sense__FromSense message = SOTTO__SENSE__FROM_SENSE__INIT;
    Sotto__Sense__Inventory inventory = SOTTO__SENSE__INVENTORY__INIT;
    Sotto__Sense__Source source = SOTTO__SENSE__SOURCE__INIT;
    Sotto__Sense__Source *sources[] = { &source };

    source.id = 1;
    source.name = name;
    source.in_use = true;
    inventory.build = build;
    inventory.n_sources = 1;
    inventory.sources = sources;
    message.body_case = SOTTO__SENSE__FROM_SENSE__BODY_INVENTORY;
    message.inventory = &inventory;
    say(scene, &message);
}

static void say_load(struct scene *scene, int64_t permille)
{
    Sotto__Sense__FromSense message = SOTTO__SENSE__FROM_SENSE__INIT;
    Sotto__Sense__Sample sample = SOTTO__SENSE__SAMPLE__INIT;
    Sotto__Sense__Reading reading = SOTTO__SENSE__READING__INIT;
    Sotto__Sense__Reading *readings[] = { &reading };

    reading.source = 1;
    reading.value = permille;
    reading.at_us = clock_mono_us();
    scene->said_us = reading.at_us;
    sample.at_us = reading.at_us;
    sample.n_readings = 1;
    sample.readings = readings;
    message.body_case = SOTTO__SENSE__FROM_SENSE__BODY_SAMPLE;
    message.sample = &sample;
    say(scene, &message);
}

/* Returns the sight at the time of the last reading: readings grow old while a busy machine lets the test wait. */
static enum governor_sight sight(const struct scene *scene, uint32_t *ret_permille)
{
    struct governor_input input = { 0 };

    machine_watch_fill(scene->watch, scene->said_us, &input);
    *ret_permille = input.graphics.busy_permille;
    return input.graphics.sight;
}

/* Says more than a second's worth of messages at a time, so that a busy machine does not make a brook of the flood. */
static bool has_left_the_flood(struct scene *scene)
{
    for (int i = 0; i < 450 && !has_left(scene); i++) {
        say_load(scene, 1);
    }
    return has_left(scene);
}

static void tell_the_truth(struct scene *scene, int64_t permille)
{
    do { /* again if it has become silent meanwhile, on a busy machine */
        scene->n_samples = 0;
        say_inventory(scene);
        say_load(scene, permille);
        until(scene, has_sampled);
    } while (!is_there(scene));
}

START_TEST(without_protection_no_sotto_sense_is_started)
{
    static struct scene scene;
    uint32_t permille;

    begin(&scene, MACHINE_NEVER);

    ck_assert_int_eq(uv_run(&scene.loop, UV_RUN_DEFAULT), 0);
    ck_assert(!has_called(&scene));
    ck_assert_int_eq(sight(&scene, &permille), GOVERNOR_NONE);
    end(&scene);
}
END_TEST

START_TEST(what_is_reported_is_seen)
{
    static struct scene scene;
    uint32_t permille;

    begin(&scene, MACHINE_SOCKET);
    ck_assert_int_eq(sight(&scene, &permille), GOVERNOR_EARLY);
    until(&scene, has_called);

    tell_the_truth(&scene, 320);

    ck_assert(is_there(&scene));
    ck_assert_int_eq(sight(&scene, &permille), GOVERNOR_SEEN);
    ck_assert_uint_eq(permille, 320);
    ck_assert_str_eq(scene.events, "sense-ready ");
    end(&scene);
}
END_TEST

START_TEST(the_rate_is_sent_when_it_changes_and_again_to_the_next_process)
{
    static struct scene scene;
    uint8_t bytes[64];

    begin(&scene, MACHINE_SOCKET);
    machine_watch_rate(scene.watch, 50);
    until(&scene, has_called);
    tell_the_truth(&scene, 1);
    ck_assert_int_eq(recv(scene.peer, bytes, sizeof(bytes), 0), 8);
    ck_assert_mem_eq(bytes, "\x04\0\0\0\x0a\x02\x08\x32", 8);

    machine_watch_rate(scene.watch, 50);
    uv_run(&scene.loop, UV_RUN_NOWAIT);
    ck_assert_int_lt(recv(scene.peer, bytes, sizeof(bytes), 0), 0);
    machine_watch_rate(scene.watch, 100);
    uv_run(&scene.loop, UV_RUN_NOWAIT);

    ck_assert_int_eq(recv(scene.peer, bytes, sizeof(bytes), 0), 8);
    ck_assert_uint_eq(bytes[7], 100);
    end(&scene);
}
END_TEST

START_TEST(a_liar_is_dropped_makes_blind_and_the_next_one_is_believed_again)
{
    static struct scene scene;
    uint32_t permille;

    begin(&scene, MACHINE_SOCKET);
    until(&scene, has_called);
    tell_the_truth(&scene, 320);

    say_load(&scene, 1001);
    until(&scene, has_left);

    ck_assert_int_eq(sight(&scene, &permille), GOVERNOR_BLIND);
    until(&scene, has_called);
    tell_the_truth(&scene, 10);
    ck_assert_int_eq(sight(&scene, &permille), GOVERNOR_SEEN);
    ck_assert_uint_eq(permille, 10);
    ck_assert_str_eq(scene.events, "sense-ready sense-lost sense-ready ");
    end(&scene);
}
END_TEST

START_TEST(bytes_that_are_no_message_a_flood_and_a_frame_too_large_end_it)
{
    static struct scene scene;

    begin(&scene, MACHINE_SOCKET);
    until(&scene, has_called);
    ck_assert_int_eq(send(scene.peer, "\x04\0\0\0\xff\xff\xff\xff", 8, 0), 8);
    until(&scene, has_left);
    until(&scene, has_called);
    ck_assert_int_eq(send(scene.peer, "\x01\0\x04\0", 4, 0), 4);
    until(&scene, has_left);
    until(&scene, has_called);
    say_inventory(&scene);
    until(&scene, has_left_the_flood);
    end(&scene);
}
END_TEST

START_TEST(an_unanswered_socket_is_reported_once_however_often_it_is_tried)
{
    static struct scene scene;

    begin(&scene, MACHINE_SOCKET);
    close(scene.listener);
    for (int i = 0; i < 50; i++) {
        uv_run(&scene.loop, UV_RUN_NOWAIT);
        usleep(1000);
    }

    ck_assert_str_eq(scene.events, "sense-lost ");
    unlink(scene.path);
    open_door(&scene);
    until(&scene, has_called);
    end(&scene);
}
END_TEST

START_TEST(another_configuration_ends_the_link_and_forgets_what_is_gone)
{
    static struct scene scene;
    const struct machine_config never = { .start = MACHINE_NEVER };
    struct machine_config again = { .start = MACHINE_SOCKET, .uid = UINT32_MAX, .pause_ms = { 1, 1, 1 } };
    uint32_t permille;

    begin(&scene, MACHINE_SOCKET);
    until(&scene, has_called);
    tell_the_truth(&scene, 320);

    ck_assert_int_eq(machine_watch_configure(scene.watch, &never), 0);
    until(&scene, has_left);
    ck_assert_int_eq(sight(&scene, &permille), GOVERNOR_NONE);
    again.socket = scene.path;
    ck_assert_int_eq(machine_watch_configure(scene.watch, &again), 0);
    until(&scene, has_called);
    tell_the_truth(&scene, 5);

    ck_assert_int_eq(sight(&scene, &permille), GOVERNOR_SEEN);
    end(&scene);
}
END_TEST

START_TEST(it_ends_in_the_middle_of_a_call)
{
    static struct scene scene;

    begin(&scene, MACHINE_SOCKET);

    end(&scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machine-watch");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, without_protection_no_sotto_sense_is_started);
    tcase_add_test(facts, what_is_reported_is_seen);
    tcase_add_test(facts, the_rate_is_sent_when_it_changes_and_again_to_the_next_process);
    tcase_add_test(facts, a_liar_is_dropped_makes_blind_and_the_next_one_is_believed_again);
    tcase_add_test(facts, bytes_that_are_no_message_a_flood_and_a_frame_too_large_end_it);
    tcase_add_test(facts, an_unanswered_socket_is_reported_once_however_often_it_is_tried);
    tcase_add_test(facts, another_configuration_ends_the_link_and_forgets_what_is_gone);
    tcase_add_test(facts, it_ends_in_the_middle_of_a_call);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
