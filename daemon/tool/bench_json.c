/*
 * Bench: everything that was measured, as JSON
 */
#include "base/clean.h"
#include "tool/bench.h"
#include "tool/tool.h"
#include <string.h>

static json_t *case_json(const struct bench_case *what)
{
    json_t *object = json_object();

    json_object_set_new(object, "work", json_string(bench_work_name(what->work)));
    json_object_set_new(object, "threads", json_integer(what->n_threads));
    json_object_set_new(object, "batch", json_integer(what->n_batch));
    json_object_set_new(object, "context_tokens", json_integer(what->n_context));
    json_object_set_new(object, "kv_format", json_string(what->kv_format));
    return object;
}

static json_t *limits_json(const struct ceiling *limits)
{
    json_t *object = json_object();

    json_object_set_new(object, "memory_bytes_per_second", json_real(limits->read_bytes_s));
    for (int kind = 0; kind < PEAK_KIND_COUNT; kind++) {
        char name[BENCH_WORD];

        snprintf(name, sizeof(name), "%s_ops_per_second", peak_name((enum peak_kind)kind));
        json_object_set_new(object, name, limits->ops_s[kind] > 0 ? json_real(limits->ops_s[kind]) : json_null());
    }
    return object;
}

static json_t *row_json(const struct bench_model *model, const struct bench_row *row)
{
    json_t *object = case_json(&row->what);
    json_t *samples = json_array();
    struct bench_figures figures;

    bench_figure(row, model->arithmetic, &figures);
    for (uint32_t i = 0; i < row->n_samples; i++) {
        json_t *sample = json_object();

        json_object_set_new(sample, "seconds", json_real(row->samples[i].seconds));
        json_object_set_new(sample, "limits", limits_json(&row->samples[i].limits));
        json_array_append_new(samples, sample);
    }
    json_object_set_new(object, "tokens", json_real(row->n_tokens));
    json_object_set_new(object, "bytes", json_real(row->n_bytes));
    json_object_set_new(object, "ops", json_real(row->n_ops));
    json_object_set_new(object, "tokens_per_second", json_real(figures.rate));
    json_object_set_new(object, "tokens_per_second_min", json_real(figures.lowest));
    json_object_set_new(object, "tokens_per_second_max", json_real(figures.highest));
    json_object_set_new(object, "bound",
                        json_string(figures.is_memory_bound ? "memory" : peak_name(model->arithmetic)));
    json_object_set_new(object, "share_of_bound", figures.share > 0 ? json_real(figures.share) : json_null());
    json_object_set_new(object, "samples", samples);
    return object;
}

static json_t *gap_json(const struct bench_gap *gap)
{
    json_t *object = case_json(&gap->what);

    json_object_set_new(object, "why", tool_text(gap->why, strlen(gap->why)));
    return object;
}

static json_t *model_json(const struct bench_model *model)
{
    const struct ceiling limits = bench_ceiling(model);
    json_t *object = json_object();
    json_t *rows = json_array();
    json_t *gaps = json_array();

    for (uint32_t i = 0; i < model->n_rows; i++) {
        json_array_append_new(rows, row_json(model, &model->rows[i]));
    }
    for (uint32_t i = 0; i < model->n_gaps; i++) {
        json_array_append_new(gaps, gap_json(&model->gaps[i]));
    }
    json_object_set_new(object, "file", tool_text(model->path, strlen(model->path)));
    json_object_set_new(object, "architecture", json_string(model->architecture));
    json_object_set_new(object, "format", json_string(model->format));
    json_object_set_new(object, "backend", json_string(model->backend));
    json_object_set_new(object, "parameters", tool_number(model->n_parameters));
    json_object_set_new(object, "file_bytes", tool_number(model->file_bytes));
    json_object_set_new(object, "ready_seconds", json_real(model->open_s));
    json_object_set_new(object, "resident_bytes", tool_number(model->resident_bytes));
    json_object_set_new(object, "kv_bytes", tool_number(model->kv_bytes));
    json_object_set_new(object, "limits", limits_json(&limits));
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "left_out", gaps);
    return object;
}

static json_t *firsts_json(const struct bench *bench)
{
    json_t *object = json_object();
    json_t *list = json_array();

    for (size_t i = 0; i < COUNTOF(bench->firsts); i++) {
        const struct bench_firsts *firsts = &bench->firsts[i];
        json_t *one = json_object();
        json_t *times = json_array();
        double most_ms;
        double ms;

        bench_first(firsts, &ms, &most_ms);
        for (uint32_t k = 0; k < firsts->n; k++) {
            json_array_append_new(times, json_real(firsts->ms[k]));
        }
        json_object_set_new(one, "beside", json_integer(firsts->n_beside));
        json_object_set_new(one, "median_ms", json_real(ms));
        json_object_set_new(one, "ms", times);
        json_array_append_new(list, one);
    }
    json_object_set_new(object, "model", tool_text(bench->served, strlen(bench->served)));
    json_object_set_new(object, "first_tokens", list);
    return object;
}

json_t *bench_json(const struct bench *bench)
{
    json_t *object = json_object();
    json_t *models = json_array();

    if (bench->served[0]) {
        json_object_set_new(object, "daemon", firsts_json(bench));
    }

    for (uint32_t i = 0; i < bench->n_models; i++) {
        json_array_append_new(models, model_json(&bench->models[i]));
    }
    json_object_set_new(object, "models", models);
    return object;
}
