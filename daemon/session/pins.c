#include "session/pins.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "registry/instance.h"
#include "registry/orders.h"
#include "session/pins_text.h"
#include "stream/request.h"
#include "stream/sequence.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#define TO(state) (1u << (state))

/* Every legal move of a pin. */
static const uint32_t moves[PIN_STATE_COUNT] = {
    [PIN_WAITING] = TO(PIN_TOKENIZING) | TO(PIN_COMPUTING) | TO(PIN_REFUSED),
    [PIN_TOKENIZING] = TO(PIN_WAITING) | TO(PIN_REFUSED),
    [PIN_COMPUTING] = TO(PIN_WAITING) | TO(PIN_HELD) | TO(PIN_REFUSED),
    [PIN_HELD] = TO(PIN_WAITING),
};

#undef TO

static const char *const names[PIN_STATE_COUNT] = {
    [PIN_WAITING] = "waiting", [PIN_TOKENIZING] = "tokenizing", [PIN_COMPUTING] = "computing",
    [PIN_HELD] = "held",       [PIN_REFUSED] = "refused",
};

static void move(struct pin *pin, enum pin_state to)
{
    const char *model = pin->instance->model->settings.name;

    assert(moves[pin->state] & (1u << to));
    log_debug("stream", "model %s, pin %s: %s -> %s", model, pin->settings.name, names[pin->state], names[to]);
    pin->state = to;
    if (to == PIN_HELD || to == PIN_REFUSED) {
        events_tell(pin->instance->registry->events, EVENTS_NO_UID, "model",
                    to == PIN_HELD ? "pin-held" : "pin-refused", "model", model, "pin", pin->settings.name, "why",
                    pin->why, NULL);
    }
}

static void refuse(struct pin *pin, const char *why)
{
    snprintf(pin->why, sizeof(pin->why), "%s", why);
    log_warn("stream", "event: pin-refused, model: %s, pin: %s, why: %s", pin->instance->model->settings.name,
             pin->settings.name, why);
    move(pin, PIN_REFUSED);
}

/* ---- room */

/* Returns the pages that pins may hold of @n_pages: half, and a whole context fits beside them. */
static uint32_t pages_of(const struct instance *instance, uint32_t n_pages)
{
    uint32_t n_context = (uint32_t)num_div_up(instance->facts.n_context, instance->facts.n_page_tok);

    return (uint32_t)num_min(n_pages / 2, n_pages > n_context ? n_pages - n_context : 0);
}

static uint32_t pages_now(const struct instance *instance)
{
    uint64_t permille = instance->registry->kv_permille;

    return pages_of(instance, (uint32_t)(instance->facts.n_pages * permille / 1000));
}

/* Returns the pages that all pins hold, or will. */
static uint32_t pages_held(const struct instance *instance)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &instance->pins) {
        const struct pin *pin = container_of(link, struct pin, link);

        n += pin->state == PIN_HELD || pin->state == PIN_COMPUTING ? pin->n_pages : 0;
    }
    return n;
}

/* Lets the engine drop the pin. @tells: there is an engine to tell. */
static void let_go(struct pin *pin, bool tells)
{
    struct instance *instance = pin->instance;

    if (tells) {
        orders_pin(instance, pin->number, 0);
    }
    instance->eq.n_pages_promised -= pin->n_pages;
    instance->eq.no_room = false;
    pin->number = 0;
    move(pin, PIN_WAITING);
}

/* Lets pins go if the governor has taken pages back, from the end of the list. */
static void make_room(struct instance *instance)
{
    struct list *link = instance->pins.prev;

    for (; link != &instance->pins && pages_held(instance) > pages_now(instance); link = link->prev) {
        struct pin *pin = container_of(link, struct pin, link);

        if (pin->state == PIN_HELD) {
            log_info("stream", "event: pin-let-go, model: %s, pin: %s", instance->model->settings.name,
                     pin->settings.name);
            let_go(pin, true);
            snprintf(pin->why, sizeof(pin->why), "memory is short: it is computed again when the machine has more");
        }
    }
}

/* ---- computing */

static void on_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
}

static void on_delta(void *owner, const Sotto__V1__Delta *delta)
{
}

static void on_notice(void *owner, const Sotto__V1__Notice *notice)
{
}

static void on_done(void *owner, const Sotto__V1__Done *done)
{
}

static void on_error(void *owner, const Sotto__V1__Error *error)
{
}

/* The sink ignores everything: the holder's on_ending() has what matters. */
static const struct stream_sink sink = {
    .on_accepted = on_accepted,
    .on_delta = on_delta,
    .on_notice = on_notice,
    .on_done = on_done,
    .on_error = on_error,
};

/* Returns whether a request refused with @code may be taken later. */
static bool is_passing(Sotto__V1__Code code)
{
    return code == SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED || code == SOTTO__V1__CODE__CODE_UNAVAILABLE;
}

/* Takes the sequence of the stream as the pin, if it is whole. */
static void on_ending(void *holder, struct stream *stream)
{
    struct instance *instance = stream->instance;
    struct pin *pin = holder;

    stream_detach(stream);
    pin->stream = NULL;
    if (stream->end.code != SOTTO__V1__CODE__CODE_OK && !is_passing(stream->end.code)) {
        refuse(pin, stream->end.sentence);
    } else if (stream->answer.n_tok == 0 || stream->sequence.number == 0 || stream->job.n_steps > 0 ||
               !instance_takes_orders(instance)) {
        snprintf(pin->why, sizeof(pin->why), "%s", stream->end.sentence);
        move(pin, PIN_WAITING);
    } else {
        pin->number = sequence_give(stream); /* the number is as free as any other */
        orders_pin(instance, pin->number, pin->number);
        instance_free_slot(instance);
        instance->eq.n_pages_promised += pin->n_pages;
        move(pin, PIN_HELD);
        log_info("stream", "event: pin-held, model: %s, pin: %s, tokens: %zu", instance->settings.name,
                 pin->settings.name, pin->tokens.n);
        pin_due(instance);
    }
}

static const struct stream_holder_ops holder_ops = { .on_ending = on_ending };

const struct pin *pins_computed_by(const struct stream *stream)
{
    return stream->holder.ops == &holder_ops ? stream->holder.self : NULL;
}

static const struct grant grant = {
    .uid = GRANT_DAEMON_UID,
    .class_ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND,
    .class_default = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND,
    .n_streams = UINT32_MAX, /* in fact one of each instance */
    .n_answer = 1,
};

/* Makes the request that computes the pin; its answer goes nowhere. */
static void compute(struct streams *streams, struct pin *pin)
{
    Sotto__V1__Generate generate = SOTTO__V1__GENERATE__INIT;
    Sotto__V1__Sampling sampling = SOTTO__V1__SAMPLING__INIT;
    Sotto__V1__TokenIds ids = SOTTO__V1__TOKEN_IDS__INIT;
    struct request request = {
        .streams = streams,
        .generate = &generate,
        .grant = &grant,
        .sink = &sink,
        .holder = { .ops = &holder_ops, .self = pin },
        .model = pin->instance->model,
        .yields = true,
    };
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms;

    ids.n_ids = pin->tokens.n;
    ids.ids = pin->tokens.ids;
    sampling.opt_temperature_case = SOTTO__V1__SAMPLING__OPT_TEMPERATURE_TEMPERATURE;
    sampling.temperature = 0.0f;
    generate.input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
    generate.tokens = &ids;
    generate.sampling = &sampling;
    generate.ignore_end = true;
    if (request_generate(&request, &pin->stream, &retry_ms, &diag)) {
        snprintf(pin->why, sizeof(pin->why), "%s", diag_is_set(&diag) ? diag.text : "no memory was left");
        return; /* it is tried again in another tick */
    }
    pin->why[0] = '\0';
    move(pin, PIN_COMPUTING);
}

/* Returns false if the pin is refused or has to wait. */
static bool has_room(struct pin *pin)
{
    const struct instance *instance = pin->instance;
    const struct instance_facts *facts = &instance->facts;
    uint32_t n_most = pages_of(instance, facts->n_pages);
    uint32_t n_held = pages_held(instance);
    char text[DIAG_BYTES];

    pin->n_pages = (uint32_t)num_div_up(pin->tokens.n, facts->n_page_tok);
    if (pin->tokens.n >= facts->n_context) {
        snprintf(text, sizeof(text),
                 "it has %zu tokens and the model's context %u: nothing could follow it, so pin less", pin->tokens.n,
                 facts->n_context);
        refuse(pin, text);
        return false;
    }
    if (n_held + pin->n_pages > n_most) {
        snprintf(text, sizeof(text),
                 "it needs %u pages of KV memory and pins may hold %u of %u (half, and a whole context beside "
                 "them), of which %u are taken: raise kv_bytes, lower context, or pin less",
                 pin->n_pages, n_most, facts->n_pages, n_held);
        refuse(pin, text);
        return false;
    }
    return n_held + pin->n_pages <= pages_now(instance);
}

static void on_tokens(struct pin *pin, const char *why)
{
    move(pin, PIN_WAITING);
    if (why) {
        refuse(pin, why);
    }
    pin_due(pin->instance);
}

/* Takes the next step with a waiting pin. Returns true if it is busy now. */
static bool start(struct streams *streams, struct pin *pin)
{
    if (!pin->instance->facts.shares_prefixes) {
        refuse(pin, "the model's family keeps a state that no prefix gives back: nothing of it can be pinned");
        return false;
    }
    if (pin->tokens.n == 0) {
        if (pins_text_tokenize(pin, on_tokens)) {
            refuse(pin, "there is no memory to make its tokens");
            return false;
        }
        move(pin, PIN_TOKENIZING);
        return true;
    }
    if (has_room(pin)) {
        compute(streams, pin);
    }
    return pin->state == PIN_COMPUTING;
}

/* Goes on with one pin at a time, in the order of the settings. */
static void run(struct streams *streams, struct instance *instance)
{
    struct list *link;

    instance->pins_due = false;
    if (!instance_is_ready(instance) || streams->events->is_stopping || model_entry_pick(instance->model) != instance) {
        return;
    }
    make_room(instance);
    list_for_each (link, &instance->pins) {
        const struct pin *pin = container_of(link, struct pin, link);

        if (pin->state == PIN_TOKENIZING || pin->state == PIN_COMPUTING) {
            return;
        }
    }
    list_for_each (link, &instance->pins) {
        struct pin *pin = container_of(link, struct pin, link);

        if (pin->state == PIN_WAITING && start(streams, pin)) {
            return;
        }
    }
}

void pins_run(struct streams *streams)
{
    struct instance *instance = NULL;

    while ((instance = registry_next(streams->registry, instance))) {
        if (instance->pins_due) {
            run(streams, instance);
        }
    }
}

/* ---- coming and going */

static void destroy(struct pin *pin)
{
    text_pool_drop(steal(&pin->text_job));
    if (pin->stream) {
        stream_detach(pin->stream);
        stream_forget(pin->stream);
    }
    if (pin->state == PIN_HELD) {
        let_go(pin, instance_takes_orders(pin->instance));
    }
    list_remove(&pin->link);
    ids_finish(&pin->tokens);
    mem_free(pin->block);
    mem_free(pin);
}

static int create(struct instance *instance, const struct pin_settings *settings, struct list *list)
{
    struct pin *pin = mem_calloc(MEM_STREAM, 1, sizeof(*pin));

    if (!pin) {
        return err_new(-ENOMEM);
    }
    list_init(&pin->link);
    pin->instance = instance;
    pin->block = mem_alloc(MEM_STREAM, settings_pins_bytes(settings, 1));
    if (!pin->block) {
        mem_free(pin);
        return err_new(-ENOMEM);
    }
    pin->settings = *settings_copy_pins(settings, 1, pin->block);
    list_append(list, &pin->link);
    return 0;
}

static struct pin *find_equal(struct list *list, const struct pin_settings *settings)
{
    struct list *link;

    list_for_each (link, list) {
        struct pin *pin = container_of(link, struct pin, link);

        if (pin_settings_equal(&pin->settings, settings)) {
            return pin;
        }
    }
    return NULL;
}

static void destroy_all(struct list *list)
{
    struct list *link;

    while ((link = list_first(list))) {
        destroy(container_of(link, struct pin, link));
    }
}

int pins_configure(struct instance *instance, const struct pin_settings *pins, size_t n)
{
    struct list fresh;
    struct list all;

    list_init(&fresh);
    list_init(&all);
    for (size_t i = 0; i < n; i++) {
        if (!find_equal(&instance->pins, &pins[i]) && create(instance, &pins[i], &fresh)) {
            destroy_all(&fresh);
            return err_new(-ENOMEM);
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct pin *pin = find_equal(&instance->pins, &pins[i]);

        pin = pin ? pin : find_equal(&fresh, &pins[i]);
        list_remove(&pin->link);
        list_append(&all, &pin->link);
    }
    destroy_all(&instance->pins);
    while (!list_is_empty(&all)) {
        struct pin *pin = container_of(list_first(&all), struct pin, link);

        /* There may be room now. */
        if (pin->state == PIN_REFUSED) {
            pin->state = PIN_WAITING;
            pin->why[0] = '\0';
        }
        list_remove(&pin->link);
        list_append(&instance->pins, &pin->link);
    }
    pin_due(instance);
    return 0;
}

void pins_lose(struct instance *instance)
{
    struct list *link;

    list_for_each (link, &instance->pins) {
        struct pin *pin = container_of(link, struct pin, link);

        if (pin->state == PIN_HELD) {
            let_go(pin, false);
        }
    }
}

void pins_end(struct instance *instance)
{
    destroy_all(&instance->pins);
}

void pins_end_all(const struct registry *registry)
{
    struct instance *instance = NULL;

    while ((instance = registry_next(registry, instance))) {
        pins_end(instance);
    }
}
