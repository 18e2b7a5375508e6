/*
 * Engine link, played: the plant's engine in place of a process
 *
 * sottod's own engine link frames messages, and starts, watches and reaps a process. Here the messages are the same,
 * and the plant answers them at the times that it decides. A sampler's seed is the number of the request that a
 * sequence serves; from that the engine knows the length of its answer, and what part of its prompt is cached.
 */
#include "child/engine_link.h"
#include "base/mem.h"
#include "monitor.h"
#include "proto/wire.h"
#include "real/daemon.h"
#include "real/model.h"
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define KV_TOKEN_BYTES 1024u /* any number */

/* The token that the engine samples until the end of an answer. */
#define SAMPLED 'a'

/* An open sequence. */
struct told {
    uint32_t sequence; /* 0: unused */
    uint32_t n_answer; /* tokens of the whole answer, the last of which ends it */
    uint32_t n_tok;    /* sampled so far */
};

struct engine_link {
    uv_loop_t *loop;
    uint32_t number;
    enum engine_state state;
    const struct engine_sink *sink;
    void *owner;
    struct told told[ENGINE_SEQUENCES];
    struct engine_end end;
};

static struct server *server;
static const struct daemon *sottod;
static struct engine_link *links[SERVER_ENGINES];

void engine_link_begin(struct server *of, const struct daemon *daemon)
{
    server = of;
    sottod = daemon;
    memset(links, 0, sizeof(links));
}

static struct told *find(struct engine_link *link, uint32_t sequence)
{
    for (uint32_t i = 0; i < ENGINE_SEQUENCES; i++) {
        if (link->told[i].sequence == sequence) {
            return &link->told[i];
        }
    }
    return NULL;
}

/* Counts an order that is nonsense. */
static void complain(const struct engine_link *link, const char *what)
{
    monitor_log(server->monitor, "engine %u: %s", link->number, what);
    monitor_on_nonsense(server->monitor);
}

/* ---- orders */

static void pass_on(const struct engine_link *link, const struct engine_message *order)
{
    engine_send(&server->engines[link->number], order);
}

static const struct request *request_of(uint64_t seed)
{
    struct list *link;

    list_for_each (link, &server->requests) {
        const struct request *request = container_of(link, struct request, link);

        if (request->job.order == seed) {
            return request;
        }
    }
    return NULL;
}

static void on_open(struct engine_link *link, const Sotto__Engine__Open *open)
{
    const struct request *request = request_of(open->sampler->seed);
    struct told *told = find(link, 0);
    struct engine_message order = {
        .what = ENGINE_OPEN,
        .sequence = open->sequence,
        .n_known = (uint32_t)open->n_tokens,
        .n_reserve = open->reserve_tokens,
    };

    if (!request || !told) {
        complain(link, request ? "a sequence too many" : "a sequence without a request");
        return;
    }
    order.n_cached = request->n_cached;
    *told = (struct told){
        .sequence = open->sequence,
        .n_answer = request->n_answer,
        .n_tok = (uint32_t)open->n_tokens - open->n_prompt,
    };
    pass_on(link, &order);
}

static void on_close(struct engine_link *link, uint32_t sequence)
{
    struct engine_message order = { .what = ENGINE_CLOSE, .sequence = sequence };
    struct told *told = find(link, sequence);

    if (told) {
        told->sequence = 0;
    }
    pass_on(link, &order);
}

/* Gives the step the load and the class that the planner has given it. */
static void on_step(struct engine_link *link, const Sotto__Engine__Step *step)
{
    const struct engine_queue *eq = daemon_eq(sottod, link->number);
    const struct dispatch *dispatch = daemon_dispatch(sottod);
    struct engine_work *work = mem_calloc(MEM_MISC, 1, sizeof(*work));
    struct engine_message order = { .what = ENGINE_STEP, .id = step->id, .slice_us = step->slice_us, .work = work };

    assert(work && step->n_entries <= PLAN_ENTRIES);
    for (uint32_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *own = &dispatch->steps[i];

        if (own->state != DISPATCH_FREE && own->eq == eq && own->id == step->id) {
            work->load = own->plan.load;
            work->priority = own->priority;
        }
    }
    work->id = step->id;
    work->n_entries = (uint32_t)step->n_entries;
    for (uint32_t i = 0; i < work->n_entries; i++) {
        const Sotto__Engine__Entry *entry = step->entries[i];

        work->entries[i].sequence = entry->sequence;
        if (entry->work_case == SOTTO__ENGINE__ENTRY__WORK_PREFILL) {
            work->entries[i].n_prefill = entry->prefill;
        }
    }
    pass_on(link, &order);
}

void engine_tell(struct engine_link *link, const Sotto__Engine__ToEngine *order)
{
    if (link->state != ENGINE_READY) {
        return;
    }
    switch (order->body_case) {
    case SOTTO__ENGINE__TO_ENGINE__BODY_OPEN:
        on_open(link, order->open);
        break;
    case SOTTO__ENGINE__TO_ENGINE__BODY_CLOSE:
        on_close(link, order->close->sequence);
        break;
    case SOTTO__ENGINE__TO_ENGINE__BODY_STEP:
        on_step(link, order->step);
        break;
    case SOTTO__ENGINE__TO_ENGINE__BODY_CONTINUE:
        pass_on(link, &(struct engine_message){ .what = ENGINE_CONTINUE,
                                                .id = order->continue_->step,
                                                .slice_us = order->continue_->slice_us });
        break;
    case SOTTO__ENGINE__TO_ENGINE__BODY_SUSPEND:
        pass_on(link, &(struct engine_message){ .what = ENGINE_SUSPEND, .id = order->suspend->step });
        break;
    case SOTTO__ENGINE__TO_ENGINE__BODY_WITHDRAW:
        pass_on(link, &(struct engine_message){ .what = ENGINE_WITHDRAW, .id = order->withdraw->step });
        break;
    case SOTTO__ENGINE__TO_ENGINE__BODY_STOP: /* the Close that follows ends its work in the plant */
    case SOTTO__ENGINE__TO_ENGINE__BODY_TRIM:
    case SOTTO__ENGINE__TO_ENGINE__BODY_LIMITS: /* of pages under memory pressure, which the plant does not have */
        break;
    default:
        complain(link, "it does not know this order");
        break;
    }
}

/* ---- answers */

static void tell(struct engine_link *link, Sotto__Engine__FromEngine *message)
{
    uv_update_time(link->loop); /* as it does before it calls back */
    link->sink->on_answer(link->owner, message);
}

static uint32_t pages_of(const struct engine *engine, uint32_t sequence)
{
    for (uint32_t i = 0; i < ENGINE_SEQUENCES; i++) {
        if (engine->sequences[i].number == sequence) {
            return engine->sequences[i].n_pages;
        }
    }
    return 0;
}

static void answer_opened(struct engine_link *link, const struct engine *engine, const struct engine_message *answer)
{
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    Sotto__Engine__Opened opened = SOTTO__ENGINE__OPENED__INIT;
    Sotto__Engine__Refused refused = SOTTO__ENGINE__REFUSED__INIT;
    struct told *told = find(link, answer->sequence);

    if (answer->what == ENGINE_OPENED) {
        opened.sequence = answer->sequence;
        opened.cached_tokens = answer->n_cached;
        opened.pages_held = pages_of(engine, answer->sequence);
        opened.pages_free = engine->n_pages_free;
        message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED;
        message.opened = &opened;
    } else {
        refused.sequence = answer->sequence;
        refused.why = SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES;
        refused.pages_free = engine->n_pages_free;
        refused.pages_needed = engine->n_pages_free + 1;
        message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED;
        message.refused = &refused;
        if (told) {
            told->sequence = 0;
        }
    }
    tell(link, &message);
}

static void fill_entry(struct engine_link *link, const struct engine_entry *entry, uint32_t *token,
                       Sotto__Engine__EntryDone *ret_done)
{
    struct told *told = find(link, entry->sequence);

    sotto__engine__entry_done__init(ret_done);
    ret_done->sequence = entry->sequence;
    ret_done->rows = entry->n_rows;
    ret_done->outcome =
        entry->n_rows > 0 ? SOTTO__ENGINE__OUTCOME__OUTCOME_DONE : SOTTO__ENGINE__OUTCOME__OUTCOME_UNKNOWN;
    if (entry->n_tok > 0) {
        *token = told && ++told->n_tok == told->n_answer ? MODEL_END_ID : SAMPLED;
        ret_done->n_tokens = 1;
        ret_done->tokens = token;
    }
}

static void answer_done(struct engine_link *link, const struct engine *engine, const struct engine_message *answer)
{
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    Sotto__Engine__StepDone done = SOTTO__ENGINE__STEP_DONE__INIT;
    Sotto__Engine__EntryDone entries[PLAN_ENTRIES];
    Sotto__Engine__EntryDone *list[PLAN_ENTRIES];
    uint32_t tokens[PLAN_ENTRIES];

    for (uint32_t i = 0; i < answer->work->n_entries; i++) {
        fill_entry(link, &answer->work->entries[i], &tokens[i], &entries[i]);
        list[i] = &entries[i];
    }
    done.id = answer->id;
    done.n_entries = answer->work->n_entries;
    done.entries = list;
    done.held_us = answer->held_us;
    done.waited_us = answer->waited_us;
    done.weight_passes = 1;
    done.pages_free = engine->n_pages_free;
    done.pages_held = (uint32_t)engine->family->pages - engine->n_pages_free;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE;
    message.step_done = &done;
    tell(link, &message);
}

static void answer_stands(struct engine_link *link, const struct engine_message *answer)
{
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    Sotto__Engine__Suspended suspended = SOTTO__ENGINE__SUSPENDED__INIT;
    Sotto__Engine__Withdrawn withdrawn = SOTTO__ENGINE__WITHDRAWN__INIT;

    if (answer->what == ENGINE_SUSPENDED) {
        suspended.step = answer->id;
        suspended.held_us = answer->held_us;
        suspended.waited_us = answer->waited_us;
        message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED;
        message.suspended = &suspended;
    } else {
        withdrawn.step = answer->id;
        withdrawn.done = answer->done;
        message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN;
        message.withdrawn = &withdrawn;
    }
    tell(link, &message);
}

void engine_link_answer(const struct engine *engine, const struct engine_message *answer)
{
    struct engine_link *link = links[engine->number];

    if (!link || link->state != ENGINE_READY) {
        return;
    }
    if (answer->what == ENGINE_OPENED || answer->what == ENGINE_REFUSED) {
        answer_opened(link, engine, answer);
    } else if (answer->what == ENGINE_DONE) {
        answer_done(link, engine, answer);
    } else {
        answer_stands(link, answer);
    }
}

/* ---- life */

int engine_start(struct engine_link **ret_link, uv_loop_t *loop, const struct engine_spec *spec,
                 const Sotto__Engine__Start *start, const struct engine_sink *sink, void *owner)
{
    struct engine_link *link = mem_calloc(MEM_MISC, 1, sizeof(*link));

    if (!link) {
        return -ENOMEM;
    }
    link->loop = loop;
    link->number = model_number(spec->name);
    link->sink = sink;
    link->owner = owner;
    assert(!links[link->number]);
    links[link->number] = link;
    *ret_link = link;
    return 0;
}

static void tell_ready(struct engine_link *link)
{
    const struct scenario_engine *family = &server->scenario->engines[link->number];
    uint64_t misjudged = (uint64_t)server->scenario->chip.misjudged_permille;
    Sotto__Engine__Ready ready = SOTTO__ENGINE__READY__INIT;
    Sotto__Engine__Cost cost = SOTTO__ENGINE__COST__INIT;

    cost.fixed_ns = (uint64_t)family->fixed_us * 1000 * misjudged / 1000;
    cost.prefill_row_ns = (uint64_t)family->prefill_ns * misjudged / 1000;
    cost.decode_row_ns = (uint64_t)family->decode_ns * misjudged / 1000;
    cost.attend_page_ns = (uint64_t)family->attend_ns * misjudged / 1000;
    ready.build = wire_str(SOTTO_VERSION);
    ready.architecture = wire_str("plant");
    ready.format = wire_str("none");
    ready.backend = wire_str("plant");
    ready.numerics = wire_str("plant");
    ready.vocabulary = MODEL_VOCABULARY;
    ready.page_tokens = ENGINE_PAGE_TOKENS;
    ready.pages = (uint32_t)family->pages;
    ready.context_tokens = ready.pages * ENGINE_PAGE_TOKENS;
    ready.trained_context_tokens = ready.context_tokens;
    ready.kv_bytes_per_token = KV_TOKEN_BYTES;
    ready.cost = &cost;
    link->state = ENGINE_READY;
    link->sink->on_ready(link->owner, &ready);
}

/* The process is gone, for whatever reason. */
static void end(struct engine_link *link)
{
    link->state = ENGINE_DYING;
    engine_die(&server->engines[link->number]);
}

static bool settle(struct engine_link *link)
{
    if (link->state == ENGINE_STARTING && server->engines[link->number].is_alive) {
        tell_ready(link);
        return true;
    }
    if (link->state == ENGINE_DYING) {
        links[link->number] = NULL;
        link->sink->on_end(link->owner, &link->end);
        mem_free(link);
        return true;
    }
    return false;
}

bool engine_link_settle(void)
{
    bool any = false;

    for (uint32_t i = 0; i < SERVER_ENGINES; i++) {
        any = (links[i] && settle(links[i])) || any;
    }
    return any;
}

void engine_link_lose(uint32_t engine)
{
    struct engine_link *link = links[engine];

    if (link && link->state != ENGINE_DYING) {
        link->end = (struct engine_end){ .was_ready = link->state == ENGINE_READY, .stranger = true };
        snprintf(link->end.exit, sizeof(link->end.exit), "signal 9 (killed)");
        end(link);
    }
}

void engine_quit(struct engine_link *link)
{
    link->end.wanted = true;
    end(link);
}

void engine_kill(struct engine_link *link, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(link->end.why, sizeof(link->end.why), format, args);
    va_end(args);
    if (!server->is_closed) {
        complain(link, link->end.why);
    }
    link->end.was_ready = link->state == ENGINE_READY;
    end(link);
}

/* The watchdogs are the process's. */
void engine_await(struct engine_link *link, double estimated_ns)
{
}

void engine_rest(struct engine_link *link)
{
}

bool engine_is_overdue(const struct engine_link *link)
{
    return false;
}

enum engine_state engine_state(const struct engine_link *link)
{
    return link->state;
}

uint32_t engine_pid(const struct engine_link *link)
{
    return link->number + 1;
}
