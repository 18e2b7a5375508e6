/*
 * Status and ListModels.
 *
 * Engines are asked for their figures before a Status is answered, all at once and for 100 ms at most; questions that
 * come meanwhile share the next round.
 *
 * Sums over all users say how long others' prompts and answers are to a user that asks again and again. So they go only
 * to users that may observe; any other user gets what is its own.
 */
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "hub/hub_arena.h"
#include "hub/hub_state.h"
#include "proto/wire.h"
#include "registry/orders.h"
#include <errno.h>
#include <string.h>

#define FIGURES_MS 100u /* an engine in a long step can't answer between its parts */

/* The names of OpenMetrics. */
static const char *const count_names[COUNT_COUNT] = {
    [COUNT_STREAMS] = "sotto_streams_total",
    [COUNT_STREAMS_DONE] = "sotto_streams_done_total",
    [COUNT_STREAMS_CANCELLED] = "sotto_streams_cancelled_total",
    [COUNT_STREAMS_FAILED] = "sotto_streams_failed_total",
    [COUNT_REFUSED] = "sotto_requests_refused_total",
    [COUNT_PROMPT_TOK] = "sotto_prompt_tokens_total",
    [COUNT_CACHED_TOK] = "sotto_cached_tokens_total",
    [COUNT_PREFIX_HITS] = "sotto_prefix_hits_total",
    [COUNT_PINNED_TOK] = "sotto_pinned_tokens_total",
    [COUNT_PIN_HITS] = "sotto_pin_hits_total",
    [COUNT_GENERATED_TOK] = "sotto_generated_tokens_total",
    [COUNT_STEPS] = "sotto_steps_total",
    [COUNT_REBUILDS] = "sotto_rebuilds_total",
    [COUNT_PREEMPTIONS] = "sotto_preemptions_total",
    [COUNT_SUSPENDS] = "sotto_step_suspensions_total",
    [COUNT_WITHDRAWS] = "sotto_step_withdrawals_total",
    [COUNT_LATE] = "sotto_deadlines_missed_total",
    [COUNT_SLIDES] = "sotto_slides_total",
    [COUNT_ENGINE_STARTS] = "sotto_engine_starts_total",
    [COUNT_ENGINE_CRASHES] = "sotto_engine_crashes_total",
    [COUNT_TOKENISED] = "sotto_texts_total",
    [COUNT_EMBEDDED] = "sotto_embeddings_total",
    [COUNT_MODE_CHANGES] = "sotto_mode_changes_total",
    [COUNT_THROTTLED] = "sotto_throttled_notices_total",
    [COUNT_TICKS] = "sotto_governor_ticks_total",
    [COUNT_HINTS] = "sotto_graphics_hints_total",
    [COUNT_SLEEPS] = "sotto_sleeps_total",
    [COUNT_SESSIONS] = "sotto_sessions_opened_total",
    [COUNT_SESSION_TURNS] = "sotto_session_turns_total",
    [COUNT_SESSION_KEPT_TOK] = "sotto_session_kept_tokens_total",
    [COUNT_SESSIONS_GIVEN_UP] = "sotto_session_sequences_given_up_total",
};

/* ---- models */

static void fill_facts(const struct instance *instance, Sotto__V1__ModelInfo *ret_info)
{
    const struct instance_facts *facts = &instance->facts;

    ret_info->file_bytes = (uint64_t)instance->identity.size;
    ret_info->architecture = wire_str(facts->architecture);
    ret_info->format = wire_str(facts->format);
    ret_info->parameters = facts->n_parameters;
    ret_info->vocabulary = facts->n_vocab;
    ret_info->context_tokens = facts->n_context;
    ret_info->trained_context_tokens = facts->n_trained;
    ret_info->kv_bytes_per_token = facts->kv_token_bytes;
    ret_info->kv_pages = facts->n_pages;
    ret_info->backend = wire_str(facts->backend);
    ret_info->chat = instance->chat != NULL;
    ret_info->chat_reason = wire_str(instance->chat_diag.text);
    ret_info->load_fraction = instance->state == INSTANCE_READY ? 1.0f : instance->load_fraction;
    ret_info->load_us = facts->load_us;
    ret_info->embedding_values = facts->n_hidden;
    if (instance_is_troubled(instance) && ret_info->reason[0] == '\0') {
        ret_info->reason = wire_str("its engine was lost three times in a minute: it is started again after pauses");
    }
}

int hub_status_fill_model(const struct model_entry *model, const struct grant *grant, struct arena *arena,
                          Sotto__V1__ModelInfo *ret_info)
{
    const struct instance *instance = model_entry_pick(model);

    *ret_info = (Sotto__V1__ModelInfo)SOTTO__V1__MODEL_INFO__INIT;
    ret_info->name = hub_arena_copy(arena, model->settings.name);
    ret_info->state = model_entry_state(model);
    ret_info->reason = hub_arena_copy(arena, model->reason);
    ret_info->is_default = model_entry_find(model->registry, "") == model;
    if (grant->admin) {
        ret_info->file = hub_arena_copy(arena, model->settings.file);
    }
    if (instance) {
        fill_facts(instance, ret_info);
        ret_info->kv_pages_used = grant->observe ? instance->figures.n_pages_held : 0;
    }
    return arena->exceeded ? err_new(-ENOMEM) : err_up(hub_pins_fill(model, grant, arena, ret_info));
}

static size_t count_models(const struct hub *hub)
{
    struct list *link;
    size_t n = 0;

    list_for_each (link, &hub->registry.models) {
        n++;
    }
    return n;
}

static int fill_models(const struct hub *hub, const struct grant *grant, struct arena *arena, size_t *ret_n,
                       Sotto__V1__ModelInfo ***ret_list)
{
    Sotto__V1__ModelInfo *infos;
    struct list *link;
    void **list;
    size_t n = 0;
    int r;

    infos = hub_arena_list(arena, count_models(hub), sizeof(*infos), &list);
    if (!infos) {
        return err_new(-ENOMEM);
    }
    list_for_each (link, &hub->registry.models) {
        r = hub_status_fill_model(container_of(link, struct model_entry, link), grant, arena, &infos[n]);
        if (r) {
            return err_up(r);
        }
        n++;
    }
    *ret_n = n;
    *ret_list = (Sotto__V1__ModelInfo **)list;
    return 0;
}

int hub_list_models(struct hub *hub, const struct grant *grant, struct arena *arena, Sotto__V1__Models *ret_models)
{
    *ret_models = (Sotto__V1__Models)SOTTO__V1__MODELS__INIT;
    return fill_models(hub, grant, arena, &ret_models->n_models, &ret_models->models);
}

/* ---- engines */

static size_t count_instances(const struct hub *hub)
{
    const struct instance *instance = NULL;
    size_t n = 0;

    while ((instance = registry_next(&hub->registry, instance))) {
        n++;
    }
    return n;
}

static void fill_sums(const struct instance_figures *figures, Sotto__V1__EngineInfo *info)
{
    info->steps = figures->n_steps;
    info->tokens = figures->n_tok;
    info->rows = figures->n_rows;
    info->weight_passes = figures->n_weight_passes;
    info->step_allocations = figures->n_step_allocs;
    info->sequences = figures->n_sequences;
    info->pages_free = figures->n_pages_free;
    info->pages_cached = figures->n_pages_cached;
    info->pages_held = figures->n_pages_held;
    info->pages_evicted = figures->n_pages_evicted;
    info->draft_tokens = figures->n_drafts;
    info->draft_tokens_accepted = figures->n_drafts_accepted;
}

static void fill_engine(const struct instance *instance, const struct grant *grant, Sotto__V1__EngineInfo *info)
{
    *info = (Sotto__V1__EngineInfo)SOTTO__V1__ENGINE_INFO__INIT;
    info->model = wire_str(instance->model->settings.name);
    info->pid = instance->engine ? engine_pid(instance->engine) : 0;
    info->starts = instance->model->n_starts;
    info->last_exit = instance->model->last_exit;
    if (grant->observe) {
        fill_sums(&instance->figures, info);
    }
}

static int fill_engines(const struct hub *hub, const struct grant *grant, struct arena *arena,
                        Sotto__V1__StatusReport *report)
{
    const struct instance *instance = NULL;
    Sotto__V1__EngineInfo *infos;
    void **list;

    infos = hub_arena_list(arena, count_instances(hub), sizeof(*infos), &list);
    if (!infos) {
        return err_new(-ENOMEM);
    }
    while ((instance = registry_next(&hub->registry, instance))) {
        fill_engine(instance, grant, &infos[report->n_engines++]);
    }
    report->engines = (Sotto__V1__EngineInfo **)list;
    return 0;
}

/* ---- memory */

struct memory_list {
    Sotto__V1__MemoryKind *rows;
    size_t n;
    uint64_t rss_bytes;
};

static void add_memory(struct memory_list *list, const char *kind, const char *holder, uint64_t bytes,
                       uint64_t peak_bytes)
{
    Sotto__V1__MemoryKind *row = &list->rows[list->n++];

    *row = (Sotto__V1__MemoryKind)SOTTO__V1__MEMORY_KIND__INIT;
    row->kind = wire_str(kind);
    row->holder = wire_str(holder);
    row->bytes = bytes;
    row->peak_bytes = peak_bytes;
}

static void fill_memory_of(const struct instance *instance, struct memory_list *list)
{
    const struct instance_figures *figures = &instance->figures;

    for (uint32_t k = 0; k < figures->n_memory; k++) {
        add_memory(list, figures->memory[k].kind, instance->model->settings.name, figures->memory[k].bytes,
                   figures->memory[k].peak_bytes);
    }
    if (figures->rss_bytes > 0) {
        add_memory(list, "rss", instance->model->settings.name, figures->rss_bytes, figures->rss_bytes);
        add_memory(list, "mapped", instance->model->settings.name, figures->rss_file_bytes, figures->rss_file_bytes);
    }
    list->rss_bytes += figures->rss_bytes;
}

static int fill_memory(const struct hub *hub, struct arena *arena, Sotto__V1__StatusReport *report)
{
    size_t cap = (count_instances(hub) + 1) * (MEM_KIND_COUNT + 2);
    const struct instance *instance = NULL;
    struct memory_list memory = { 0 };
    void **list;

    memory.rows = hub_arena_list(arena, cap, sizeof(*memory.rows), &list);
    if (!memory.rows) {
        return err_new(-ENOMEM);
    }
    for (int kind = 0; kind < MEM_KIND_COUNT; kind++) {
        struct mem_account account;

        mem_read((enum mem_kind)kind, &account);
        if (account.peak_bytes > 0) {
            add_memory(&memory, mem_kind_name((enum mem_kind)kind), "sottod", account.bytes, account.peak_bytes);
        }
    }
    while ((instance = registry_next(&hub->registry, instance))) {
        fill_memory_of(instance, &memory);
    }
    report->memory = (Sotto__V1__MemoryKind **)list;
    report->n_memory = memory.n;
    report->rss_bytes = memory.rss_bytes;
    return 0;
}

/* ---- classes and counters */

/* Counts the requests that @grant may see in @rows, which has a row for each class. */
static void count_requests(const struct hub *hub, const struct grant *grant, Sotto__V1__ClassCounts *rows)
{
    struct list *link;

    list_for_each (link, &hub->streams.all) {
        const struct stream *stream = container_of(link, struct stream, link);
        const struct job *job = &stream->job;

        if (stream_is_over(stream) || (!grant->observe && stream->grant.uid != grant->uid)) {
            continue;
        }
        if (job->parked) {
            rows[job->priority].parked++;
        } else if (job->state == JOB_ASSIGNED) {
            rows[job->priority].running++;
        } else {
            rows[job->priority].queued++;
        }
    }
}

static int fill_classes(const struct hub *hub, const struct grant *grant, struct arena *arena,
                        Sotto__V1__StatusReport *report)
{
    Sotto__V1__ClassCounts *rows;
    void **list;

    rows = hub_arena_list(arena, PRIORITY_COUNT, sizeof(*rows), &list);
    if (!rows) {
        return err_new(-ENOMEM);
    }
    for (int i = 0; i < PRIORITY_COUNT; i++) {
        rows[i] = (Sotto__V1__ClassCounts)SOTTO__V1__CLASS_COUNTS__INIT;
        rows[i].priority = stream_class_of((enum priority)i);
    }
    count_requests(hub, grant, rows);
    report->classes = (Sotto__V1__ClassCounts **)list;
    report->n_classes = PRIORITY_COUNT;
    return 0;
}

static int fill_counters(const struct hub *hub, struct arena *arena, Sotto__V1__StatusReport *report)
{
    Sotto__V1__Counter *rows;
    void **list;

    rows = hub_arena_list(arena, COUNT_COUNT, sizeof(*rows), &list);
    if (!rows) {
        return err_new(-ENOMEM);
    }
    for (int i = 0; i < COUNT_COUNT; i++) {
        rows[i] = (Sotto__V1__Counter)SOTTO__V1__COUNTER__INIT;
        rows[i].name = wire_str(count_names[i]);
        rows[i].value = hub->events.counts[i];
    }
    report->counters = (Sotto__V1__Counter **)list;
    report->n_counters = COUNT_COUNT;
    return 0;
}

/* ---- the question */

struct status_ticket {
    struct ticket ticket;
    struct grant grant;
    ticket_status_fn done;
    const struct hub *hub;
    bool is_counted; /* its round of Query is under way */
};

static void call_status(struct ticket *ticket, const Sotto__V1__Error *error)
{
    const struct status_ticket *own = container_of(ticket, struct status_ticket, ticket);
    Sotto__V1__StatusReport report = SOTTO__V1__STATUS_REPORT__INIT;
    const struct hub *hub = own->hub;
    struct arena arena;
    int r;

    (void)error;
    arena_init(&arena, MEM_WIRE, 1u << 20);
    r = fill_models(hub, &own->grant, &arena, &report.n_models, &report.models);
    r = r ? r : fill_engines(hub, &own->grant, &arena, &report);
    r = r ? r : fill_classes(hub, &own->grant, &arena, &report);
    if (own->grant.observe) {
        r = r ? r : fill_memory(hub, &arena, &report);
        r = r ? r : fill_counters(hub, &arena, &report);
    }
    r = r ? r : machine_watch_report(hub->watch, clock_mono_us(), &arena, &report);
    r = r ? r : hub_governor_fill(hub, &own->grant, &arena, &report);
    report.sessions = sessions_count(&hub->sessions, &own->grant);
    (void)r; /* what found no memory is left out: the rest is still true */
    own->done(ticket->owner, &report, &arena);
    arena_finish(&arena);
}

static const struct ticket_ops ops = { .call = call_status };

/* Returns how many engines still owe their figures. */
static size_t count_owing(const struct hub *hub)
{
    const struct instance *instance = NULL;
    size_t n = 0;

    while ((instance = registry_next(&hub->registry, instance))) {
        n += instance->owes_figures && instance_takes_orders(instance);
    }
    return n;
}

static void ask_engines(struct hub *hub)
{
    struct instance *instance = NULL;

    while ((instance = registry_next(&hub->registry, instance))) {
        if (instance_takes_orders(instance) && !instance->owes_figures) {
            orders_query(instance);
        }
    }
}

static void on_time(uv_timer_t *timer);

/* Starts a round for the tickets that wait. */
static void start_round(struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->asking) {
        container_of(container_of(link, struct ticket, link), struct status_ticket, ticket)->is_counted = true;
    }
    ask_engines(hub);
    if (count_owing(hub) == 0) {
        hub_status_on_figures(hub);
        return;
    }
    uv_update_time(hub->events.loop);
    uv_timer_start(&hub->figures, on_time, FIGURES_MS, 0);
}

/* Answers the tickets of the round, and starts the next for those that came meanwhile. */
static void end_round(struct hub *hub)
{
    struct list *link;
    struct list *after;

    uv_timer_stop(&hub->figures);
    list_for_each_safe (link, after, &hub->asking) {
        struct ticket *ticket = container_of(link, struct ticket, link);

        if (container_of(ticket, struct status_ticket, ticket)->is_counted) {
            ticket_answer(ticket, SOTTO__V1__CODE__CODE_OK, NULL);
        }
    }
    if (!list_is_empty(&hub->asking)) {
        start_round(hub);
    }
}

static void on_time(uv_timer_t *timer)
{
    end_round(timer->data);
}

void hub_status_on_figures(struct hub *hub)
{
    if (!list_is_empty(&hub->asking) && count_owing(hub) == 0) {
        end_round(hub);
    }
}

int hub_status(struct hub *hub, const struct grant *grant, ticket_status_fn done, void *owner,
               struct ticket **ret_ticket, struct diag *diag)
{
    bool is_idle = list_is_empty(&hub->asking);
    struct status_ticket *own;
    struct ticket *ticket;
    int r;

    (void)diag;
    r = ticket_create(&ticket, sizeof(*own), TICKET_OTHER, &ops, &hub->tickets, NULL, owner);
    if (r) {
        return err_up(r);
    }
    own = container_of(ticket, struct status_ticket, ticket);
    own->grant = *grant;
    own->done = done;
    own->hub = hub;
    list_append(&hub->asking, &ticket->link);
    if (is_idle) {
        start_round(hub);
    }
    *ret_ticket = ticket;
    return 0;
}
