#include "stream/pacer.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "base/trace.h"
#include "stream/models.h"
#include "stream/status.h"
#include <stdio.h>
#include <string.h>

static struct stream *stream_of(struct job *job)
{
    return container_of(job, struct stream, job);
}

static struct edition *edition_of(struct lane *lane)
{
    return container_of(lane, struct edition, lane);
}

/* ---- sequences */

static void tell_open(struct stream *stream, const struct ids *known)
{
    struct edition *edition = stream->edition;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Open open = SOTTO__ENGINE__OPEN__INIT;
    Sotto__Engine__Sampler sampler;
    uint8_t salt[4];

    stream_sampler(stream, &sampler);
    for (size_t i = 0; i < sizeof(salt); i++) {
        salt[i] = (uint8_t)(stream->grant.uid >> (8 * i));
    }
    open.sequence = stream->sequence;
    open.tokens = known->ids;
    open.n_tokens = known->n;
    open.n_prompt = stream->journal.n_prompt;
    open.slid_tokens = stream->journal.n_slid;
    open.reserve_tokens = (uint32_t)num_min(stream->max_tok - stream->n_answer, stream->n_context - known->n);
    open.sampler = &sampler;
    open.hidden = stream->embeds;
    if (edition->settings.share_prefixes && stream->journal.n_slid == 0 && !stream->embeds) {
        /* Inside one account, as the kernel names it; nothing that a client says widens that. */
        open.salt = (ProtobufCBinaryData){ .data = salt, .len = sizeof(salt) };
    }
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_OPEN;
    order.open = &open;
    engine_tell(edition->engine, &order);
}

/* The watchdog of what is awaited now: the step, or else an opening; nothing: none. */
static void watch(struct edition *edition)
{
    if (!edition->engine) {
        return;
    }
    if (edition->hub->pacer.edition == edition) {
        engine_await(edition->engine, edition->hub->pacer.plan.foretold_ns);
    } else if (edition->n_opening > 0) {
        engine_await(edition->engine, 0.0);
    } else {
        engine_rest(edition->engine);
    }
}

/* Asks the engine for a sequence with all that the journal knows. */
static void open_sequence(struct stream *stream)
{
    struct edition *edition = stream->edition;
    cleanup(ids_finish) struct ids known = { 0 };

    if (journal_known(&stream->journal, &known)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_DATA_LOSS, "the answer's journal could not be read back");
        return;
    }
    stream->sequence = ++edition->last_sequence;
    if (map_put(&edition->sequences, stream->sequence, (union map_value){ .pointer = stream })) {
        stream->sequence = 0;
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED,
                    "there is no memory for one more sequence");
        return;
    }
    job_move(&stream->job, JOB_OPENING, clock_mono_us());
    edition->lane.n_taken++;
    edition->n_opening++;
    edition->opening_alone = stream->mark.suspect;
    edition->figures.n_sequences = edition->lane.n_taken;
    tell_open(stream, &known);
    watch(edition);
}

void pacer_close(struct stream *stream)
{
    struct edition *edition = stream->edition;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Stop stop = SOTTO__ENGINE__STOP__INIT;
    Sotto__Engine__Trim trim = SOTTO__ENGINE__TRIM__INIT;
    Sotto__Engine__Close close = SOTTO__ENGINE__CLOSE__INIT;

    if (stream->sequence == 0) {
        return;
    }
    map_remove(&edition->sequences, stream->sequence);
    edition->lane.n_taken--;
    edition->lane.no_room = false;
    edition->figures.n_sequences = edition->lane.n_taken;
    if (edition_takes_orders(edition)) {
        /* Stop reaches it between the parts of a running step; the others wait for the step's end. */
        if (stream->job.n_sent > 0) {
            stop.sequence = stream->sequence;
            order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STOP;
            order.stop = &stop;
            engine_tell(edition->engine, &order);
        }
        /* What lies past a stop is no part of any later answer. */
        trim.sequence = stream->sequence;
        trim.n_tokens = stream->job.n_known;
        order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_TRIM;
        order.trim = &trim;
        engine_tell(edition->engine, &order);
        close.sequence = stream->sequence;
        close.keep = stream->end.code == SOTTO__V1__CODE__CODE_OK;
        order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_CLOSE;
        order.close = &close;
        engine_tell(edition->engine, &order);
    }
    stream->sequence = 0;
}

static struct stream *find(struct edition *edition, uint32_t sequence)
{
    union map_value *found = map_find(&edition->sequences, sequence);

    return found ? found->pointer : NULL;
}

static void answered_open(struct edition *edition)
{
    if (edition->n_opening == 0) {
        engine_kill(edition->engine, "it answered an Open that nobody sent");
        return;
    }
    edition->n_opening--;
    edition->opening_alone = false;
    watch(edition);
}

static void on_opened(struct edition *edition, const Sotto__Engine__Opened *opened)
{
    struct stream *stream = find(edition, opened->sequence);

    answered_open(edition);
    if (!stream) {
        return; /* it ended meanwhile; Close is on its way */
    }
    if (opened->cached_tokens >= stream->job.n_known) {
        engine_kill(edition->engine, "it says that it has computed more than there is");
        return;
    }
    stream_seated(stream, opened->cached_tokens);
}

static void on_refused(struct edition *edition, const Sotto__Engine__Refused *refused)
{
    struct stream *stream = find(edition, refused->sequence);
    char text[DIAG_BYTES];

    answered_open(edition);
    if (!stream) {
        return;
    }
    map_remove(&edition->sequences, stream->sequence);
    stream->sequence = 0;
    edition->lane.n_taken--;
    edition->lane.no_room = false; /* unless this very answer says so, and somebody is there to make room */
    edition->figures.n_sequences = edition->lane.n_taken;
    if ((refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES ||
         refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_TOO_MANY) &&
        edition->lane.n_taken > 0) {
        edition->lane.no_room = true;
        job_move(&stream->job, JOB_WAITING, clock_mono_us());
        return;
    }
    if (refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED ||
        refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_BAD_TOKEN) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT,
                    "the model's engine does not take these tokens");
        return;
    }
    snprintf(text, sizeof(text),
             "prompt and answer need %u pages of KV memory (%u tokens each) and the model has %u in all: ask "
             "for fewer "
             "tokens",
             refused->pages_needed, edition->facts.n_page_tok, edition->facts.n_pages);
    stream_fail(stream, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, text);
}

/* ---- steps */

static void tell_step(struct hub *hub)
{
    struct pacer *pacer = &hub->pacer;
    struct plan *plan = &pacer->plan;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Step step = SOTTO__ENGINE__STEP__INIT;
    Sotto__Engine__Entry entries[PLAN_ENTRIES];
    Sotto__Engine__Entry *list[PLAN_ENTRIES];

    for (uint32_t i = 0; i < plan->n_entries; i++) {
        struct plan_entry *entry = &plan->entries[i];

        entries[i] = (Sotto__Engine__Entry)SOTTO__ENGINE__ENTRY__INIT;
        entries[i].sequence = stream_of(entry->job)->sequence;
        if (entry->n_prefill > 0) {
            entries[i].work_case = SOTTO__ENGINE__ENTRY__WORK_PREFILL;
            entries[i].prefill = entry->n_prefill;
        } else {
            entries[i].work_case = SOTTO__ENGINE__ENTRY__WORK_DECODE;
            entries[i].decode = 1;
        }
        list[i] = &entries[i];
        entry->job->n_sent = entry->n_prefill ? entry->n_prefill : 1;
    }
    pacer->edition = edition_of(plan->lane);
    pacer->step_id = ++pacer->edition->last_step;
    pacer->sent_us = clock_mono_us();
    step.id = pacer->step_id;
    step.entries = list;
    step.n_entries = plan->n_entries;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STEP;
    order.step = &step;
    engine_tell(pacer->edition->engine, &order);
    watch(pacer->edition);
    trace_add(TRACE_STEP_SENT, pacer->step_id, plan->n_rows);
}

/* False: the answer for one job contradicts what was asked. */
static bool is_plausible(const struct edition *edition, const struct job *job, uint32_t sequence,
                         const Sotto__Engine__EntryDone *done)
{
    if (done->rows > job->n_sent || done->n_tokens > 1 ||
        (done->n_logprobs != 0 && done->n_logprobs != done->n_tokens) ||
        (sequence != 0 && done->sequence != sequence)) {
        return false;
    }
    if (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_UNSPECIFIED ||
        (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_UNKNOWN && sequence != 0)) {
        return false;
    }
    return done->n_tokens == 0 ||
           (job->n_done + done->rows == job->n_known && done->tokens[0] < edition->facts.n_vocab);
}

/* What a step computed for one job. */
static void take_result(struct edition *edition, struct job *job, const Sotto__Engine__EntryDone *done,
                        uint64_t now_us, uint64_t boot_us)
{
    struct stream *stream = stream_of(job);

    job->n_sent = 0;
    if (stream_is_over(stream)) {
        stream_soon(stream);
        return;
    }
    job->n_done += done->rows;
    queue_charge(&edition->hub->queue, job, done->rows, (uint32_t)done->n_tokens, now_us, boot_us);
    if (done->n_tokens == 1) {
        if (blame_served(&stream->mark, 1, edition->hub->pacer.plan.alone)) {
            job->alone = false;
        }
        stream_token(stream, done->tokens[0], done->n_logprobs ? done->logprobs[0] : NULL);
    }
    if (done->n_hidden > 0) {
        embed_take(stream, done->hidden, done->n_hidden);
    } else if (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_NO_ROOM && stream->embeds) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED,
                    "there is no room left for the text: try again later");
    } else if (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_NO_ROOM) {
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_CONTEXT);
    } else if (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_NUMERIC) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_INTERNAL,
                    "the model gave no finite number for this request");
    }
}

/* Rows, tokens and passes, for Status; and what the cost model learns. */
static void count_step(struct edition *edition, const Sotto__Engine__StepDone *done)
{
    struct edition_figures *figures = &edition->figures;
    const struct plan *plan = &edition->hub->pacer.plan;
    uint32_t n_rows = 0;

    for (size_t i = 0; i < done->n_entries; i++) {
        n_rows += done->entries[i]->rows;
        figures->n_tok += done->entries[i]->n_tokens;
    }
    figures->n_steps++;
    figures->n_rows += n_rows;
    figures->n_weight_passes += done->weight_passes;
    figures->n_step_allocs += done->allocations;
    figures->n_pages_free = done->pages_free;
    figures->n_pages_cached = done->pages_cached;
    figures->n_pages_held = done->pages_held;
    edition->hub->counts[HUB_STEPS]++;
    if (n_rows == plan->n_rows && done->host_us > 0) {
        cost_learn(&edition->lane.cost, &plan->load, done->host_us * 1000);
    }
}

static void on_step_done(struct edition *edition, const Sotto__Engine__StepDone *done)
{
    struct pacer *pacer = &edition->hub->pacer;
    uint64_t now_us = clock_mono_us();
    uint64_t boot_us = clock_boot_us();

    if (pacer->edition != edition || done->id != pacer->step_id || done->n_entries != pacer->plan.n_entries) {
        engine_kill(edition->engine, "it finished a step that it was not asked for");
        return;
    }
    for (uint32_t i = 0; i < pacer->plan.n_entries; i++) {
        struct job *job = pacer->plan.entries[i].job;

        if (!is_plausible(edition, job, stream_of(job)->sequence, done->entries[i]) ||
            !embed_is_plausible(stream_of(job), done->entries[i])) {
            engine_kill(edition->engine, "its answer to a step contradicts what it was asked");
            return; /* the step is still under way: the end of the engine finds who was in it */
        }
    }
    trace_add(TRACE_STEP_DONE, done->id, now_us - pacer->sent_us);
    count_step(edition, done);
    for (uint32_t i = 0; i < pacer->plan.n_entries; i++) {
        take_result(edition, pacer->plan.entries[i].job, done->entries[i], now_us, boot_us);
    }
    pacer->edition = NULL;
    watch(edition);
}

static void on_stats(struct edition *edition, const Sotto__Engine__Stats *stats)
{
    struct edition_figures *figures = &edition->figures;

    figures->n_steps = stats->steps;
    figures->n_rows = stats->rows;
    figures->n_tok = stats->tokens;
    figures->n_weight_passes = stats->weight_passes;
    figures->n_step_allocs = stats->step_allocations;
    figures->n_sequences = stats->sequences;
    figures->n_pages_free = stats->pages_free;
    figures->n_pages_cached = stats->pages_cached;
    figures->n_pages_held = stats->pages_held;
    figures->n_pages_evicted = stats->pages_evicted;
    figures->rss_bytes = stats->rss_bytes;
    figures->rss_file_bytes = stats->rss_file_bytes;
    figures->n_memory = 0;
    for (size_t i = 0; i < stats->n_memory && figures->n_memory < COUNTOF(figures->memory); i++) {
        const Sotto__Engine__MemoryRow *row = stats->memory[i];

        snprintf(figures->memory[i].kind, sizeof(figures->memory[i].kind), "%s", row->kind);
        figures->memory[i].bytes = row->bytes;
        figures->memory[i].peak_bytes = row->peak_bytes;
        figures->n_memory++;
    }
    edition->owes_figures = false;
    status_figures(edition->hub);
}

void pacer_query(struct edition *edition)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Query query = SOTTO__ENGINE__QUERY__INIT;

    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_QUERY;
    order.query = &query;
    edition->owes_figures = true;
    engine_tell(edition->engine, &order);
}

void pacer_on_answer(struct edition *edition, const Sotto__Engine__FromEngine *answer)
{
    switch (answer->body_case) {
    case SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED:
        on_opened(edition, answer->opened);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED:
        on_refused(edition, answer->refused);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE:
        on_step_done(edition, answer->step_done);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_STATS:
        on_stats(edition, answer->stats);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN:
        engine_kill(edition->engine, "it answered an order that it was not given");
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_SLOW:
        break; /* the step's own answer has the times that costs are fitted to */
    case SOTTO__ENGINE__FROM_ENGINE__BODY_PROGRESS:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_READY:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_FAULT:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_LOG:
    case SOTTO__ENGINE__FROM_ENGINE__BODY__NOT_SET:
        break; /* the link's own */
    }
    hub_poke(edition->hub);
}

/* ---- an engine is lost */

/* Marks of all that was under way: entries of the step, and sequences being opened. */
static size_t gather_marks(struct edition *edition, struct blame_mark **ret_marks, size_t cap)
{
    struct pacer *pacer = &edition->hub->pacer;
    struct list *link;
    size_t n = 0;

    for (uint32_t i = 0; pacer->edition == edition && i < pacer->plan.n_entries && n < cap; i++) {
        ret_marks[n++] = &stream_of(pacer->plan.entries[i].job)->mark;
    }
    list_for_each (link, &edition->streams) {
        struct stream *stream = container_of(link, struct stream, edition_link);

        if (stream->job.state == JOB_OPENING && n < cap) {
            ret_marks[n++] = &stream->mark;
        }
    }
    return n;
}

static void strike_out(struct stream *stream, uint64_t now_us)
{
    stream->job.account->suspect_us = now_us + BLAME_ACCOUNT_US;
    log_warn("stream", "event: request-guilty, stream: %llu, uid: %u, model: %s",
             (unsigned long long)stream->number, stream->grant.uid, stream->edition->model->settings.name);
    stream_fail(stream, SOTTO__V1__CODE__CODE_INTERNAL,
                "the engine was lost twice while it worked on this request alone: it is not tried again");
}

static uint32_t lay_blame(struct edition *edition, const struct engine_end *end)
{
    struct blame_mark *marks[2 * PLAN_ENTRIES];
    struct blame_verdict verdict;
    size_t n = gather_marks(edition, marks, COUNTOF(marks));
    uint64_t now_us = clock_mono_us();

    blame_crash(&edition->blame, marks, n, end->stranger, now_us, &verdict);
    for (size_t i = 0; i < n; i++) {
        struct stream *stream = container_of(marks[i], struct stream, mark);

        stream->job.alone = stream->mark.suspect;
        if (marks[i] == verdict.charged && verdict.fails && !stream_is_over(stream)) {
            strike_out(stream, now_us);
        }
    }
    if (verdict.device) {
        log_error("stream", "event: device-troubled, model: %s, crashes: %u", edition->model->settings.name,
                  verdict.n_recent);
        hub_event(edition->hub, UINT32_MAX, "engine", "device-troubled", "model",
                  edition->model->settings.name, NULL);
    }
    return verdict.n_recent;
}

uint32_t pacer_engine_lost(struct edition *edition, const struct engine_end *end)
{
    struct pacer *pacer = &edition->hub->pacer;
    struct list *link;
    struct list *after;
    uint32_t n_recent = 0;

    if (end->was_ready && !end->wanted) {
        n_recent = lay_blame(edition, end);
    }
    edition->lane.n_taken = 0; /* only now: who struck out gave a seat back */
    edition->lane.no_room = false;
    for (uint32_t i = 0; pacer->edition == edition && i < pacer->plan.n_entries; i++) {
        pacer->plan.entries[i].job->n_sent = 0;
        stream_soon(stream_of(pacer->plan.entries[i].job));
    }
    if (pacer->edition == edition) {
        pacer->edition = NULL;
    }
    edition->n_opening = 0;
    edition->opening_alone = false;
    list_for_each_safe (link, after, &edition->streams) {
        struct stream *stream = container_of(link, struct stream, edition_link);

        if (!stream_is_over(stream)) {
            stream_unseated(stream);
        }
    }
    map_finish(&edition->sequences);
    map_init(&edition->sequences, MEM_STREAM);
    return n_recent;
}

/* ---- once a turn */

/* Opens what has a seat. A suspect is opened when nothing else is under way at its engine, and nothing else then. */
static void seat(struct hub *hub, const struct plan_input *in)
{
    struct job *job;

    while ((job = queue_find_victim(&hub->queue, in->limits, in->now_us, in->boot_us)) && job->n_sent == 0) {
        stream_preempt(stream_of(job));
    }
    while ((job = queue_next_seat(&hub->queue, in->limits, in->now_us, in->boot_us))) {
        struct stream *stream = stream_of(job);
        struct edition *edition = stream->edition;
        bool busy = hub->pacer.edition == edition || edition->n_opening > 0;
        bool alone_runs = edition->opening_alone || (hub->pacer.edition == edition && hub->pacer.plan.alone);

        if (alone_runs || (stream->mark.suspect && busy)) {
            return;
        }
        open_sequence(stream);
    }
}

static bool is_opening(const struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->models) {
        struct model *model = container_of(link, struct model, link);
        struct list *at;

        list_for_each (at, &model->editions) {
            if (container_of(at, struct edition, link)->n_opening > 0) {
                return true;
            }
        }
    }
    return false;
}

static void on_wake(uv_timer_t *timer)
{
    hub_poke(timer->data);
}

/* Somebody waits for a budget: comes back then, and says so to those who were running. */
static void sleep_until(struct hub *hub, uint64_t wake_us, uint64_t boot_us)
{
    struct list *link;

    list_for_each (link, &hub->streams) {
        struct stream *stream = container_of(link, struct stream, link);

        if (stream->state == STREAM_RUNNING && stream->job.n_sent == 0 &&
            account_wait_us(stream->job.account, stream->grant.tokens_a_minute, boot_us) > 0) {
            stream_throttled(stream);
        }
    }
    uv_update_time(hub->loop);
    uv_timer_start(&hub->wake, on_wake, num_div_up(wake_us - boot_us, 1000), 0);
}

void pacer_run(struct hub *hub)
{
    struct plan_input in = { .now_us = clock_mono_us(), .boot_us = clock_boot_us() };

    memcpy(in.limits, hub->governor.limits, sizeof(in.limits));
    seat(hub, &in);
    if (hub->pacer.edition || is_opening(hub)) {
        return;
    }
    plan_make(&hub->planner, &hub->queue, &in, &hub->pacer.plan);
    if (hub->pacer.plan.lane) {
        tell_step(hub);
    }
    if (hub->pacer.plan.wake_us > 0) {
        sleep_until(hub, hub->pacer.plan.wake_us, in.boot_us);
    }
}
