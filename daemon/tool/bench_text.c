/*
 * Bench: the table for people
 */
#include "base/clean.h"
#include "tool/bench.h"
#include "tool/tool.h"
#include <string.h>

/* Returns the part of @path behind the last slash. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void show_head(const struct bench_model *model, FILE *out)
{
    const struct ceiling limits = bench_ceiling(model);
    char text[TOOL_BYTES];

    tool_put_text(out, name_of(model->path), strlen(name_of(model->path)));
    fprintf(out, "  %s, %s, %.0f M parameters, %s, on %s\n", model->architecture, model->format,
            (double)model->n_parameters / 1e6, tool_bytes(model->file_bytes, text), model->backend);
    fprintf(out, "ready in %.2f s; resident %s", model->open_s, tool_bytes(model->resident_bytes, text));
    fprintf(out, ", of it %s of keys and values\n", tool_bytes(model->kv_bytes, text));
    if (model->n_rows == 0) {
        return;
    }
    fprintf(out, "limits of %u threads beside it: memory %.1f GB/s", model->rows[0].what.n_threads,
            limits.read_bytes_s / 1e9);
    for (int kind = 0; kind < PEAK_KIND_COUNT; kind++) {
        if (limits.ops_s[kind] > 0) {
            fprintf(out, ", %s %.0f Gop/s", peak_name((enum peak_kind)kind), limits.ops_s[kind] / 1e9);
        }
    }
    putc('\n', out);
}

static void show_case(const struct bench_case *what, FILE *out)
{
    fprintf(out, "%-7s %7u %6u %8u  %-4s", bench_work_name(what->work), what->n_threads, what->n_batch, what->n_context,
            what->kv_format);
}

static void show_row(const struct bench_model *model, const struct bench_row *row, FILE *out)
{
    struct bench_figures figures;

    bench_figure(row, model->arithmetic, &figures);
    show_case(&row->what, out);
    fprintf(out, " %9.1f %9.1f %9.1f", figures.rate, figures.lowest, figures.highest);
    if (figures.share > 0) {
        fprintf(out, "  %3.0f %% of %s", 100 * figures.share,
                figures.is_memory_bound ? "memory" : peak_name(model->arithmetic));
    }
    putc('\n', out);
}

static void show_gaps(const struct bench_model *model, FILE *out)
{
    if (model->n_gaps > 0) {
        fputs("left out:\n", out);
    }
    for (uint32_t i = 0; i < model->n_gaps; i++) {
        show_case(&model->gaps[i].what, out);
        fprintf(out, "  %s\n", model->gaps[i].why);
    }
}

static void show_firsts(const struct bench *bench, FILE *out)
{
    fputs("first token at the daemon (", out);
    tool_put_text(out, bench->served, strlen(bench->served));
    fprintf(out, "), of %u short prompts:\n                          median  greatest\n", bench->firsts[0].n);
    for (size_t i = 0; i < COUNTOF(bench->firsts); i++) {
        double most_ms;
        double ms;

        bench_first(&bench->firsts[i], &ms, &most_ms);
        fprintf(out, "beside %2u long answers  %8.1f  %8.1f ms\n", bench->firsts[i].n_beside, ms, most_ms);
    }
    if (bench->n_models > 0) {
        putc('\n', out);
    }
}

void bench_text(const struct bench *bench, FILE *out)
{
    if (bench->served[0]) {
        show_firsts(bench, out);
    }
    for (uint32_t i = 0; i < bench->n_models; i++) {
        const struct bench_model *model = &bench->models[i];

        if (i > 0) {
            putc('\n', out);
        }
        show_head(model, out);
        fputs("\nwork    threads  batch  context  KV    tokens/s     least  greatest  of the limit\n", out);
        for (uint32_t k = 0; k < model->n_rows; k++) {
            show_row(model, &model->rows[k], out);
        }
        show_gaps(model, out);
    }
}
