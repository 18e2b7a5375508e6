#include "session/embed.h"
#include "base/clean.h"
#include "base/err.h"
#include "registry/model_entry.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>

/* Holds the stream of one embedding; freed with it. */
struct embed {
    bool is_raw;   /* as the model gives it, and not of length 1 */
    float *values; /* owned; NULL: not there yet */
    size_t n_values;
};

static void normalise(float *values, size_t n)
{
    double sum = 0.0;
    double length;

    for (size_t i = 0; i < n; i++) {
        sum += (double)values[i] * (double)values[i];
    }
    length = sqrt(sum);
    for (size_t i = 0; length > 0.0 && i < n; i++) {
        values[i] = (float)((double)values[i] / length);
    }
}

static void on_hidden(void *holder, struct stream *stream, const float *hidden, size_t n)
{
    struct embed *embed = holder;

    embed->values = mem_calloc(MEM_STREAM, n, sizeof(*hidden));
    if (!embed->values) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for the embedding");
        return;
    }
    memcpy(embed->values, hidden, n * sizeof(*hidden));
    embed->n_values = n;
    if (!embed->is_raw) {
        normalise(embed->values, n);
    }
    stream->streams->events->counts[COUNT_EMBEDDED]++;
    stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END);
}

static bool report_embedding(void *holder, struct stream *stream)
{
    Sotto__V1__Embedding embedding = SOTTO__V1__EMBEDDING__INIT;
    const struct embed *embed = holder;
    char name[72];

    if (!embed->values || stream->end.code != SOTTO__V1__CODE__CODE_OK || stream->is_forgotten) {
        return false;
    }
    snprintf(name, sizeof(name), "%s", stream->instance->model->settings.name);
    embedding.n_values = embed->n_values;
    embedding.values = embed->values;
    embedding.prompt_tokens = stream->journal.n_prompt;
    embedding.model = name;
    embedding.numerics = stream->reported.numerics;
    stream->sink->on_embedding(stream->owner, &embedding);
    return true;
}

static void destroy(struct embed *embed)
{
    if (embed) {
        mem_free(embed->values);
        mem_free(embed);
    }
}

static void destroyp(struct embed **embed)
{
    destroy(*embed);
}

static void on_freed(void *holder, struct stream *stream)
{
    (void)stream;
    destroy(holder);
}

static const struct stream_holder_ops holder_ops = {
    .on_hidden = on_hidden,
    .report_end = report_embedding,
    .on_freed = on_freed,
};

int embed_open(struct streams *streams, const Sotto__V1__Embed *asked, const struct grant *grant,
               const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
               struct diag *diag)
{
    cleanup(destroyp) struct embed *embed = mem_calloc(MEM_STREAM, 1, sizeof(*embed));
    Sotto__V1__Generate generate = SOTTO__V1__GENERATE__INIT;
    struct request request = {
        .streams = streams,
        .generate = &generate,
        .grant = grant,
        .sink = sink,
        .owner = owner,
        .holder = { .ops = &holder_ops, .self = embed },
        .message = "embed",
        .pools = true,
    };
    int r;

    *ret_retry_ms = 0;
    if (!embed) {
        return err_new(-ENOMEM);
    }
    embed->is_raw = asked->raw;
    generate.model = asked->model;
    generate.priority = asked->priority;
    if (asked->input_case == SOTTO__V1__EMBED__INPUT_TOKENS) {
        generate.input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
        generate.tokens = asked->tokens;
    } else {
        generate.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
        generate.text = asked->text;
    }
    r = request_generate(&request, ret_stream, ret_retry_ms, diag);
    if (r) {
        stream_name_field(diag->field, sizeof(diag->field), "embed");
        return err_pass(r);
    }
    (void)steal(&embed); /* is the stream's */
    return 0;
}
