/*
 * Bench: the picture
 *
 * On the left the roofline: what a second of arithmetic could be at each number of operations a byte, by the limits of
 * the first model's rows, and where each row lies below it. On the right how tokens a second grow with threads and with
 * sequences. Both axes of both panels are logarithmic.
 */
#include "base/clean.h"
#include "tool/bench.h"
#include <math.h>
#include <string.h>

#define WIDE   1040
#define HIGH   470
#define TOP    50.0
#define BOTTOM 370.0
#define DECADE 10.0

struct axis {
    double from; /* pixel of @low */
    double to;   /* pixel of @high */
    double low;
    double high;
};

struct panel {
    struct axis x;
    struct axis y;
};

static const char *const colours[] = { "#1f5fa8", "#c2571a", "#2a8a4a", "#8a3a9a", "#a08a10", "#b03a4a" };

static const char *colour_of(uint32_t i)
{
    return colours[i % COUNTOF(colours)];
}

static double place(const struct axis *axis, double value)
{
    double share = log(fmin(fmax(value, axis->low), axis->high) / axis->low) / log(axis->high / axis->low);

    return axis->from + (axis->to - axis->from) * share;
}

static void put_text(FILE *out, double x, double y, const char *anchor, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            putc((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f ? '?' : *text, out);
        }
    }
    fputs("</text>\n", out);
}

static void put_line(FILE *out, double x1, double y1, double x2, double y2, const char *style)
{
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

/* Draws the frame, and a mark at each power of @base on both axes. */
static void put_frame(FILE *out, const struct panel *panel, double x_base, const char *title, const char *x_name)
{
    char text[BENCH_WORD];

    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#888\"/>\n",
            panel->x.from, panel->y.to, panel->x.to - panel->x.from, panel->y.from - panel->y.to);
    put_text(out, panel->x.from, panel->y.to - 12, "start", title);
    put_text(out, (panel->x.from + panel->x.to) / 2, panel->y.from + 36, "middle", x_name);
    for (double value = panel->x.low; value <= panel->x.high * 1.001; value *= x_base) {
        double x = place(&panel->x, value);

        snprintf(text, sizeof(text), "%g", value);
        put_line(out, x, panel->y.from, x, panel->y.to, "stroke=\"#ddd\"");
        put_text(out, x, panel->y.from + 18, "middle", text);
    }
    for (double value = panel->y.low; value <= panel->y.high * 1.001; value *= DECADE) {
        double y = place(&panel->y, value);

        snprintf(text, sizeof(text), "%g", value);
        put_line(out, panel->x.from, y, panel->x.to, y, "stroke=\"#ddd\"");
        put_text(out, panel->x.from - 6, y + 4, "end", text);
    }
}

/* Draws one roof: bandwidth up to the peak, then the peak. In Gop/s over operations a byte. */
static void put_roof(FILE *out, const struct panel *panel, double read_bytes_s, double ops_s, const char *name)
{
    const double knee = ops_s / read_bytes_s;
    const double y = place(&panel->y, ops_s / 1e9);

    fprintf(out, "<polyline points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"none\" stroke=\"#333\"/>\n",
            place(&panel->x, panel->x.low), place(&panel->y, panel->x.low * read_bytes_s / 1e9), place(&panel->x, knee),
            y, panel->x.to, y);
    put_text(out, panel->x.to - 4, y - 5, "end", name);
}

static void put_dot(FILE *out, double x, double y, enum bench_work work, const char *colour)
{
    if (work == BENCH_PROMPT) {
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"7\" height=\"7\" fill=\"%s\"/>\n", x - 3.5, y - 3.5, colour);
    } else {
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x, y, colour);
    }
}

static void put_roofline(FILE *out, const struct bench *bench)
{
    const struct ceiling limits = bench_ceiling(&bench->models[0]);
    struct panel panel = { .x = { 70, 500, 1, 10000 }, .y = { BOTTOM, TOP, 1, 1000 } };

    while (panel.y.high * 1e9 < limits.ops_s[PEAK_INT8]) {
        panel.y.high *= DECADE;
    }
    put_frame(out, &panel, DECADE, "roofline: Gop/s", "operations a byte");
    for (int kind = 0; kind < PEAK_KIND_COUNT && limits.read_bytes_s > 0; kind++) {
        if (limits.ops_s[kind] > 0) {
            put_roof(out, &panel, limits.read_bytes_s, limits.ops_s[kind], peak_name((enum peak_kind)kind));
        }
    }
    for (uint32_t i = 0; i < bench->n_models; i++) {
        const struct bench_model *model = &bench->models[i];

        for (uint32_t k = 0; k < model->n_rows; k++) {
            struct bench_figures figures;

            if (model->rows[k].what.n_threads == bench->models[0].rows[0].what.n_threads) {
                bench_figure(&model->rows[k], model->arithmetic, &figures);
                put_dot(out, place(&panel.x, figures.intensity), place(&panel.y, figures.ops_s / 1e9),
                        model->rows[k].what.work, colour_of(i));
            }
        }
    }
}

/* Returns whether @row is the first decode row of its model but for threads, or (@by_batch) for the batch. */
static bool is_in_line(const struct bench_model *model, const struct bench_row *row, bool by_batch)
{
    const struct bench_case *base = NULL;

    for (uint32_t i = 0; i < model->n_rows && !base; i++) {
        base = model->rows[i].what.work == BENCH_DECODE ? &model->rows[i].what : NULL;
    }
    return base && row->what.work == BENCH_DECODE && row->what.n_context == base->n_context &&
           strcmp(row->what.kv_format, base->kv_format) == 0 &&
           (by_batch ? row->what.n_threads == base->n_threads : row->what.n_batch == base->n_batch);
}

/* Draws the rows of one line, joined in the order of their counts. */
static void put_scaling_line(FILE *out, const struct panel *panel, const struct bench *bench, uint32_t i, bool by_batch)
{
    const struct bench_model *model = &bench->models[i];
    double last_x = 0;
    double last_y = 0;

    for (uint32_t count = 1; count <= (uint32_t)panel->x.high; count++) {
        for (uint32_t k = 0; k < model->n_rows; k++) {
            const struct bench_row *row = &model->rows[k];
            struct bench_figures figures;
            double x;
            double y;

            if ((by_batch ? row->what.n_batch : row->what.n_threads) != count || !is_in_line(model, row, by_batch)) {
                continue;
            }
            bench_figure(row, model->arithmetic, &figures);
            x = place(&panel->x, count);
            y = place(&panel->y, figures.rate);
            put_dot(out, x, y, by_batch ? BENCH_DECODE : BENCH_PROMPT, colour_of(i));
            if (last_x > 0) {
                char style[BENCH_WORD];

                snprintf(style, sizeof(style), "stroke=\"%s\"%s", colour_of(i),
                         by_batch ? "" : " stroke-dasharray=\"4 3\"");
                put_line(out, last_x, last_y, x, y, style);
            }
            last_x = x;
            last_y = y;
        }
    }
}

static void put_scaling(FILE *out, const struct bench *bench)
{
    struct panel panel = { .x = { 600, 1020, 1, 2 }, .y = { BOTTOM, TOP, 1, 1000 } };

    for (uint32_t i = 0; i < bench->n_models; i++) {
        for (uint32_t k = 0; k < bench->models[i].n_rows; k++) {
            const struct bench_case *what = &bench->models[i].rows[k].what;

            while (panel.x.high < what->n_batch || panel.x.high < what->n_threads) {
                panel.x.high *= 2;
            }
        }
    }
    put_frame(out, &panel, 2, "scaling: tokens/s of decode", "sequences (round, solid), threads (square, dashed)");
    for (uint32_t i = 0; i < bench->n_models; i++) {
        put_scaling_line(out, &panel, bench, i, true);
        put_scaling_line(out, &panel, bench, i, false);
    }
}

void bench_plot(const struct bench *bench, FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            WIDE, HIGH + 18 * (int)bench->n_models, WIDE, HIGH + 18 * (int)bench->n_models);
    if (bench->n_models > 0 && bench->models[0].n_rows > 0) {
        put_roofline(out, bench);
        put_scaling(out, bench);
    }
    put_text(out, 70, 436, "start", "square: prompt, round: decode; a colour for each file");
    for (uint32_t i = 0; i < bench->n_models; i++) {
        const char *slash = strrchr(bench->models[i].path, '/');

        fprintf(out, "<rect x=\"70\" y=\"%u\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", 446 + 18 * i, colour_of(i));
        put_text(out, 86, 455 + 18 * i, "start", slash ? slash + 1 : bench->models[i].path);
    }
    fputs("</svg>\n", out);
}
