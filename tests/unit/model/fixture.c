#include "fixture.h"
#include "../exec/far.h"
#include "unit.h"
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#ifdef MODEL_FIXTURE_ONE_HASH
const bool model_fixture_has_one_hash = true;
#else
const bool model_fixture_has_one_hash = false;
#endif

#ifndef MODEL_FIXTURE_BACKEND
#define MODEL_FIXTURE_BACKEND "cpu"
#endif

static const struct exec_ops *const backends[] = { &exec_cpu, &exec_truth, &exec_fake, &exec_far, NULL };

static uint64_t one_hash(const void *bytes, size_t n, uint64_t salt)
{
    return 7;
}

int model_fixture_try(struct model **ret_model, const char *path, const struct model_fixture_setup *setup,
                      struct diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r;

    ck_assert_msg(fd >= 0, "cannot open %s", path);
    r = model_open(ret_model,
                   &(struct model_setup){ .fd = fd,
                                          .backends = backends,
                                          .backend = setup->backend ? setup->backend : MODEL_FIXTURE_BACKEND,
                                          .cpu_mask = setup->cpu_mask ? setup->cpu_mask : "",
                                          .kv_format = setup->kv_format ? setup->kv_format : "f32",
                                          .fake_script = setup->script,
                                          .n_threads = setup->n_threads ? setup->n_threads : 1,
                                          .n_context = setup->n_context,
                                          .n_sequences = setup->n_sequences,
                                          .n_rows = setup->n_rows,
                                          .kv_bytes = setup->kv_bytes,
                                          .n_parts = setup->n_parts,
                                          .prefix_hash = model_fixture_has_one_hash ? one_hash : NULL },
                   NULL, NULL, diag);
    close(fd);
    return r;
}

struct model *model_fixture_open(const char *path, const struct model_fixture_setup *setup)
{
    struct model *model = NULL;
    struct diag diag = DIAG_INIT;
    int r = model_fixture_try(&model, path, setup, &diag);

    ck_assert_msg(r == MODEL_OK, "%s: %d: %s", path, r, diag.text);
    return model;
}

/* Opens or extends with the prompt and the answer so far. */
static void open_stream(struct model *model, struct model_fixture_stream *stream)
{
    const char *salt = stream->salt ? stream->salt : "salt";
    uint32_t tokens[2 * MODEL_FIXTURE_TOKENS];
    const struct seq_salt pins = { .bytes = (const uint8_t *)stream->pins,
                                   .n = stream->pins ? strlen(stream->pins) : 0 };
    const struct sample_params params = { .temperature = stream->temperature,
                                          .top_p = 1.0f,
                                          .seed = stream->seed,
                                          .repetition_penalty = 1.0f,
                                          .logprobs = stream->n_drafts == 0,
                                          .n_top = stream->logprobs ? MODEL_FIXTURE_VOCAB : 0 };
    struct seq_request request = { .id = stream->id,
                                   .tokens = tokens,
                                   .n_tokens = stream->n_prompt + stream->n_answer,
                                   .n_prompt = stream->n_prompt,
                                   .n_reserve = stream->n_wanted - stream->n_answer,
                                   .params = &params,
                                   .salt = (const uint8_t *)salt,
                                   .n_salt = strlen(salt),
                                   .pins = &pins,
                                   .n_pins = pins.n > 0 };
    struct seq_room room;
    int r;

    memcpy(tokens, stream->prompt, stream->n_prompt * sizeof(*tokens));
    memcpy(tokens + stream->n_prompt, stream->answer, stream->n_answer * sizeof(*tokens));
    r = stream->extends ? seq_extend(model, &request, &room) : seq_open(model, &request, &room);
    ck_assert_int_eq(r, SEQ_OK);
    stream->n_rows = room.n_cached;
    stream->n_cached = stream->n_answer == 0 ? room.n_cached : stream->n_cached;
    stream->n_pinned = stream->n_answer == 0 ? room.n_pinned : stream->n_pinned;
}

static uint32_t min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t plan(const struct model_fixture_stream *streams, uint32_t n_streams, uint32_t n_chunk,
                     struct step_entry *entries)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_streams; i++) {
        uint32_t n_known = streams[i].n_prompt + streams[i].n_answer;
        uint32_t n_left = n_known - streams[i].n_rows;

        if (streams[i].n_answer == streams[i].n_wanted) {
            continue;
        }
        entries[n] = (struct step_entry){ .seq = streams[i].id };
        if (n_left > 1 || streams[i].n_rows < streams[i].n_prompt) {
            entries[n].n_prefill = n_left < n_chunk ? n_left : n_chunk;
        } else {
            entries[n].n_decode = min(1 + streams[i].n_drafts, streams[i].n_wanted - streams[i].n_answer);
        }
        n++;
    }
    return n;
}

static void take(struct model_fixture_stream *stream, const struct step_result *result)
{
    float *row = stream->logprobs ? stream->logprobs + (size_t)stream->n_answer * MODEL_FIXTURE_VOCAB : NULL;

    ck_assert_int_eq(result->outcome, STEP_ENTRY_DONE);
    stream->n_rows += result->n_rows;
    if (result->n_tokens == 0) {
        return;
    }
    for (uint32_t i = 0; row && i < result->n_top; i++) {
        row[result->top_ids[i]] = result->top_logprobs[i];
    }
    for (uint32_t i = 0; i < result->n_tokens; i++) {
        stream->answer[stream->n_answer++] = result->tokens[i];
    }
    stream->n_accepted += result->n_tokens - 1;
}

static void reopen(struct model *model, struct model_fixture_stream *stream)
{
    if (stream->reopen_at > 0 && stream->n_answer == stream->reopen_at) {
        seq_close(model, stream->id, stream->keeps);
        stream->id += 1000;
        stream->reopen_at = 0;
        open_stream(model, stream);
    }
}

void model_fixture_begin(struct model_fixture_run *run)
{
    for (uint32_t i = 0; i < run->n_streams; i++) {
        open_stream(run->model, &run->streams[i]);
    }
}

/* Takes the results of a step that has ended. */
static void take_all(struct model_fixture_run *run, const struct step_report *report)
{
    ck_assert_uint_eq(report->n_allocs, 0);
    for (uint32_t i = 0; i < report->n_results; i++) {
        for (uint32_t j = 0; j < run->n_streams; j++) {
            if (run->streams[j].id == report->results[i].seq) {
                take(&run->streams[j], &report->results[i]);
            }
        }
    }
    for (uint32_t i = 0; i < run->n_streams; i++) {
        reopen(run->model, &run->streams[i]);
    }
    run->is_begun = false;
}

bool model_fixture_turn(struct model_fixture_run *run, step_poll_fn poll, void *owner)
{
    struct step_entry entries[64];
    struct step_report report;
    struct diag diag = DIAG_INIT;
    uint32_t n;
    int r;

    if (!run->is_begun) {
        n = plan(run->streams, run->n_streams, run->n_chunk, entries);
        if (n == 0) {
            return false;
        }
        ck_assert_msg(step_begin(run->model, run->step, entries, n, &diag) == 0, "%s", diag.text);
        run->is_begun = true;
    }
    r = step_run(run->model, run->step, poll, owner, &report);
    if (r == STEP_DONE) {
        take_all(run, &report);
    } else {
        ck_assert_int_eq(r, STEP_SUSPENDED);
    }
    return true;
}

void model_fixture_end(struct model_fixture_run *run)
{
    for (uint32_t i = 0; i < run->n_streams; i++) {
        seq_close(run->model, run->streams[i].id, run->streams[i].keeps);
    }
    ck_assert(model_check(run->model));
}

void model_fixture_drive(struct model *model, struct model_fixture_stream *streams, uint32_t n_streams,
                         uint32_t n_chunk, step_poll_fn poll, void *owner)
{
    struct model_fixture_run run = {
        .model = model, .streams = streams, .n_streams = n_streams, .n_chunk = n_chunk, .step = 1
    };

    model_fixture_begin(&run);
    while (model_fixture_turn(&run, poll, owner)) {
    }
    model_fixture_end(&run);
}

/* ---- truth files ---- */

static uint32_t read_ids(const json_t *array, uint32_t *ids)
{
    size_t n = json_array_size(array);

    ck_assert_uint_le(n, MODEL_FIXTURE_TOKENS);
    for (size_t i = 0; i < n; i++) {
        ids[i] = (uint32_t)json_integer_value(json_array_get(array, i));
    }
    return (uint32_t)n;
}

static void read_case(const json_t *from, struct model_fixture_case *to)
{
    const json_t *margins = json_object_get(from, "margins");
    const json_t *logits = json_object_get(from, "first_logits");

    to->n_prompt = read_ids(json_object_get(from, "prompt_ids"), to->prompt);
    to->n_answer = read_ids(json_object_get(from, "greedy_ids"), to->answer);
    for (uint32_t i = 0; i < to->n_answer; i++) {
        to->margins[i] = json_number_value(json_array_get(margins, i));
    }
    to->has_logits = json_array_size(logits) == MODEL_FIXTURE_VOCAB;
    for (uint32_t i = 0; to->has_logits && i < MODEL_FIXTURE_VOCAB; i++) {
        to->logits[i] = json_number_value(json_array_get(logits, i));
    }
}

static json_t *read_json(const char *name)
{
    char path[512];
    char relative[256];
    json_error_t error;
    json_t *root;

    snprintf(relative, sizeof(relative), "models/%s", name);
    if (!unit_truth(relative, path, sizeof(path))) {
        return NULL;
    }
    root = json_load_file(path, 0, &error);
    ck_assert_msg(root != NULL, "%s: %s", path, error.text);
    return root;
}

struct model_fixture_case *model_fixture_cases(const char *name, size_t *ret_n)
{
    json_t *root = read_json(name);
    json_t *array = json_object_get(root, "cases");
    size_t n = json_array_size(array);
    struct model_fixture_case *cases;

    if (!root) {
        return NULL;
    }
    cases = calloc(n, sizeof(*cases));
    for (size_t i = 0; i < n; i++) {
        read_case(json_array_get(array, i), &cases[i]);
    }
    json_decref(root);
    *ret_n = n;
    return cases;
}

struct model_fixture_case *model_fixture_long_case(const char *name)
{
    json_t *root = read_json(name);
    struct model_fixture_case *one;

    if (!root) {
        return NULL;
    }
    one = calloc(1, sizeof(*one));
    read_case(root, one);
    json_decref(root);
    return one;
}

struct model_fixture_case *model_fixture_forced_case(const char *file, size_t i)
{
    json_t *root = read_json("stories260K-long.json");
    const json_t *texts = json_object_get(json_object_get(root, "teacher_forced"), file);
    const json_t *text = json_array_get(texts, i);
    const json_t *logprobs = json_object_get(text, "logprobs_of_next");
    struct model_fixture_case *one = NULL;

    if (text) {
        one = calloc(1, sizeof(*one));
        one->n_prompt = read_ids(json_object_get(text, "ids"), one->prompt);
        for (uint32_t j = 0; j + 1 < one->n_prompt; j++) {
            one->margins[j] = json_number_value(json_array_get(logprobs, j));
        }
    }
    json_decref(root);
    return one;
}
