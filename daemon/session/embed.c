/*
 * Embed: a stream with a different end
 *
 * An embedding waits, is scheduled, is cancelled and outlives its engine as an answer does; so it is a stream whose
 * budget is no token, and which ends when the engine gives the pooled hidden state of its prompt. What is left to do
 * is defined so that the bits depend on that state alone: unless the client wants it raw, the sum of all squares is
 * taken in float64, values ascending, and each value divided by its root and rounded once. A state of zeros stays.
 */
#include "base/clean.h"
#include "registry/models.h"
#include "stream/stream.h"
#include <math.h>
#include <stdio.h>

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

void embed_name_field(char *field)
{
    static const char theirs[] = "generate.";
    static const char ours[] = "embed."; /* shorter */
    char *rest = field + strlen(theirs);

    if (strncmp(field, theirs, strlen(theirs)) == 0) {
        memcpy(field, ours, strlen(ours));
        memmove(field + strlen(ours), rest, strlen(rest) + 1);
    }
}

int hub_embed(struct hub *hub, const Sotto__V1__Embed *ask, const struct grant *grant, const struct stream_sink *sink,
              void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms, struct diag *diag)
{
    Sotto__V1__Generate same = SOTTO__V1__GENERATE__INIT;
    int r;

    same.model = ask->model;
    same.priority = ask->priority;
    if (ask->input_case == SOTTO__V1__EMBED__INPUT_TOKENS) {
        same.input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
        same.tokens = ask->tokens;
    } else {
        same.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
        same.text = ask->text;
    }
    r = stream_make(hub, &same, ask, grant, sink, owner, ret_stream, ret_retry_ms, diag);
    if (r > 0) {
        embed_name_field(diag->field);
    }
    return r;
}

int embed_check(const struct stream *stream, struct diag *diag)
{
    if (stream->embeds && stream->instance->facts.n_hidden == 0) {
        diag_blame(diag, "embed.model",
                   "model %s is not made for embedding: its file does not say how hidden states are pooled "
                   "(key %s.pooling_type: mean, first or last)",
                   stream->instance->model->settings.name, stream->instance->facts.architecture);
        return SOTTO__V1__CODE__CODE_FAILED_PRECONDITION;
    }
    return 0;
}

bool embed_is_plausible(const struct stream *stream, const Sotto__Engine__EntryDone *done)
{
    const struct job *job = &stream->job;
    bool is_last = stream->embeds && job->n_done + done->rows == job->n_known &&
                   done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_DONE;

    if (stream->embeds && done->n_tokens > 0) {
        return false;
    }
    return done->n_hidden == (is_last ? stream->instance->facts.n_hidden : 0);
}

void embed_take(struct stream *stream, const float *hidden, size_t n)
{
    stream->hidden = mem_calloc(MEM_STREAM, n, sizeof(*hidden));
    if (!stream->hidden) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for the embedding");
        return;
    }
    memcpy(stream->hidden, hidden, n * sizeof(*hidden));
    stream->n_hidden = n;
    if (!stream->is_raw) {
        normalise(stream->hidden, n);
    }
    stream->hub->counts[HUB_EMBEDDED]++;
    stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END);
}

void embed_tell(struct stream *stream)
{
    Sotto__V1__Embedding embedding = SOTTO__V1__EMBEDDING__INIT;
    char name[72];

    snprintf(name, sizeof(name), "%s", stream->instance->model->settings.name);
    embedding.n_values = stream->n_hidden;
    embedding.values = stream->hidden;
    embedding.prompt_tokens = stream->journal.n_prompt;
    embedding.model = name;
    embedding.numerics = stream->numerics;
    stream->sink->on_embedding(stream->owner, &embedding);
}
