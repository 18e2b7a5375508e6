/*
 * Draws one panel below the other, all over the same time. What is denser than the picture (slices, tokens) is summed
 * over columns of COLUMN_PX. Lines keep the least and the greatest value of each column, so nothing short is lost.
 */
#include "chart.h"
#include "base/mem.h"
#include <assert.h>

#define LEFT_PX   190.0
#define WIDE_PX   1000.0
#define COLUMN_PX 2u
#define COLUMNS   500u
#define GAP_PX    34.0
#define TOP_PX    96.0
#define CHANGES   4096u

enum line {
    LINE_LOAD,
    LINE_DUTY,
    LINE_SLICE_US,
    LINE_REAL,
    LINE_ALONE,
    LINE_READ,
    LINE_QUEUE,
    LINE_COUNT,
};

/* The least and the greatest value of a column. */
struct column {
    double low;
    double high;
    bool is_set;
};

struct change {
    uint64_t at_ns;
    enum governor_mode mode;
    enum governor_cause cause;
};

struct chart {
    struct scenario scenario;
    double column_ns;
    struct column lines[LINE_COUNT][COLUMNS];
    double held_ns[2][COLUMNS]; /* by engine */
    double tokens[PRIORITY_COUNT][COLUMNS];
    uint32_t missed[2][COLUMNS]; /* with us, and without us */
    struct change changes[CHANGES];
    uint32_t n_changes;
};

/* The area of one panel: values from @low to @high. */
struct panel {
    double top;
    double height;
    double low;
    double high;
};

struct chart *chart_create(const struct scenario *scenario)
{
    struct chart *chart = mem_calloc(MEM_MISC, 1, sizeof(*chart));

    assert(chart);
    chart->scenario = *scenario;
    chart->column_ns = (double)scenario->run.lasts_ms * 1e6 / COLUMNS;
    return chart;
}

void chart_destroy(struct chart *chart)
{
    mem_free(chart);
}

/* ---- collecting */

static bool column_of(const struct chart *chart, uint64_t at_ns, uint32_t *ret_column)
{
    uint32_t column;

    if (!chart) {
        return false;
    }
    column = (uint32_t)((double)at_ns / chart->column_ns);
    if (column >= COLUMNS) {
        return false;
    }
    *ret_column = column;
    return true;
}

static void add_point(struct chart *chart, enum line which, uint64_t at_ns, double value)
{
    struct column *column;
    uint32_t i;

    if (!column_of(chart, at_ns, &i)) {
        return;
    }
    column = &chart->lines[which][i];
    if (!column->is_set || value < column->low) {
        column->low = value;
    }
    if (!column->is_set || value > column->high) {
        column->high = value;
    }
    column->is_set = true;
}

void chart_run(struct chart *chart, uint64_t from_ns, uint64_t to_ns, uint32_t engine)
{
    uint32_t i;

    while (column_of(chart, from_ns, &i) && from_ns < to_ns) {
        uint64_t end_ns = (uint64_t)(chart->column_ns * (i + 1)) + 1;

        end_ns = end_ns < to_ns ? end_ns : to_ns;
        chart->held_ns[engine % 2][i] += (double)(end_ns - from_ns);
        from_ns = end_ns;
    }
}

void chart_missed(struct chart *chart, uint64_t at_ns, bool is_ours)
{
    uint32_t i;

    if (column_of(chart, at_ns, &i)) {
        chart->missed[is_ours ? 0 : 1][i]++;
    }
}

void chart_limits(struct chart *chart, uint64_t at_ns, const struct governor_limits *limits)
{
    uint32_t i;

    if (!column_of(chart, at_ns, &i)) {
        return;
    }
    add_point(chart, LINE_DUTY, at_ns, limits->duty_permille / 1000.0);
    add_point(chart, LINE_SLICE_US, at_ns, limits->slice_us);
    if (chart->n_changes < CHANGES &&
        (chart->n_changes == 0 || chart->changes[chart->n_changes - 1].mode != limits->mode ||
         chart->changes[chart->n_changes - 1].cause != limits->cause)) {
        chart->changes[chart->n_changes++] =
            (struct change){ .at_ns = at_ns, .mode = limits->mode, .cause = limits->cause };
    }
}

void chart_heat(struct chart *chart, uint64_t at_ns, double real_mc, double alone_mc, double read_mc)
{
    add_point(chart, LINE_REAL, at_ns, real_mc / 1000.0);
    add_point(chart, LINE_ALONE, at_ns, alone_mc / 1000.0);
    add_point(chart, LINE_READ, at_ns, read_mc / 1000.0);
}

void chart_load(struct chart *chart, uint64_t at_ns, double share)
{
    add_point(chart, LINE_LOAD, at_ns, share > 1.0 ? 1.0 : share);
}

void chart_queue(struct chart *chart, uint64_t at_ns, uint32_t n_live)
{
    add_point(chart, LINE_QUEUE, at_ns, n_live);
}

void chart_tokens(struct chart *chart, uint64_t at_ns, uint32_t n, enum priority priority)
{
    uint32_t i;

    if (column_of(chart, at_ns, &i)) {
        chart->tokens[priority][i] += n;
    }
}

/* ---- writing */

static double y_of(const struct panel *panel, double value)
{
    double share = (value - panel->low) / (panel->high - panel->low);

    share = share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
    return panel->top + panel->height * (1.0 - share);
}

static double x_of(uint32_t column)
{
    return LEFT_PX + WIDE_PX * column / COLUMNS;
}

static void write_panel(FILE *out, const struct panel *panel, const char *name, const char *unit)
{
    fprintf(out,
            "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" class=\"panel\"/>\n"
            "<text x=\"10\" y=\"%.0f\" class=\"name\">%s</text><text x=\"10\" y=\"%.0f\">%s</text>\n",
            LEFT_PX, panel->top, WIDE_PX, panel->height, panel->top + 14, name, panel->top + 30, unit);
    for (int i = 0; i <= 2; i++) {
        double value = panel->low + (panel->high - panel->low) * i / 2.0;
        double y = y_of(panel, value);

        fprintf(out,
                "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>"
                "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.*f</text>\n",
                LEFT_PX, LEFT_PX + WIDE_PX, y, y, LEFT_PX - 6, y + 4, panel->high - panel->low < 4.0 ? 1 : 0, value);
    }
}

static void write_line(const struct chart *chart, FILE *out, const struct panel *panel, enum line which,
                       const char *priority)
{
    const struct column *before = NULL;

    fprintf(out, "<path class=\"%s\" d=\"", priority);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        const struct column *column = &chart->lines[which][i];

        if (!column->is_set) {
            continue;
        }
        fprintf(out, "%c%.1f %.1f", before ? 'L' : 'M', x_of(i), y_of(panel, column->low));
        if (column->high > column->low) {
            fprintf(out, "L%.1f %.1f", x_of(i), y_of(panel, column->high));
        }
        before = column;
    }
    fprintf(out, "\"/>\n");
}

static void write_bars(FILE *out, const struct panel *panel, const double *values, const double *below, double scale,
                       const char *priority)
{
    fprintf(out, "<path class=\"%s\" d=\"", priority);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        double foot = below ? below[i] * scale : 0.0;
        double y = y_of(panel, foot + values[i] * scale);

        if (values[i] > 0.0) {
            fprintf(out, "M%.1f %.1fh%uV%.1fh-%uz", x_of(i), y, COLUMN_PX, y_of(panel, foot), COLUMN_PX);
        }
    }
    fprintf(out, "\"/>\n");
}

/* Returns the greatest value of a line, and at least @least. */
static double top_of(const struct chart *chart, enum line which, double least)
{
    for (uint32_t i = 0; i < COLUMNS; i++) {
        const struct column *column = &chart->lines[which][i];

        if (column->is_set && column->high > least) {
            least = column->high;
        }
    }
    return least;
}

static double bottom_of(const struct chart *chart, enum line which, double most)
{
    for (uint32_t i = 0; i < COLUMNS; i++) {
        const struct column *column = &chart->lines[which][i];

        if (column->is_set && column->low < most) {
            most = column->low;
        }
    }
    return most;
}

static void write_key(FILE *out, double x, double y, const char *priority, const char *text)
{
    fprintf(out,
            "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.0f\" y2=\"%.0f\" class=\"%s key\"/><text x=\"%.0f\" "
            "y=\"%.0f\">%s</text>\n",
            x, x + 18, y - 4, y - 4, priority, x + 23, y, text);
}

static void write_screen(const struct chart *chart, FILE *out, const struct panel *panel)
{
    write_panel(out, panel, "screen", "share of the device");
    write_line(chart, out, panel, LINE_LOAD, "load");
    for (uint32_t i = 0; i < COLUMNS; i++) {
        if (chart->missed[0][i] > chart->missed[1][i]) {
            fprintf(out, "<path class=\"ours\" d=\"M%.1f %.1fv-12\"/>\n", x_of(i), panel->top + 14);
        } else if (chart->missed[1][i] > 0) {
            fprintf(out, "<path class=\"theirs\" d=\"M%.1f %.1fv-12\"/>\n", x_of(i), panel->top + 14);
        }
    }
    write_key(out, LEFT_PX + 4, panel->top - 6, "load", "drawing");
    write_key(out, LEFT_PX + 104, panel->top - 6, "ours", "frames missed because of us");
    write_key(out, LEFT_PX + 334, panel->top - 6, "theirs", "missed anyhow");
}

static void write_share(const struct chart *chart, FILE *out, const struct panel *panel)
{
    double scale = 1.0 / chart->column_ns;

    write_panel(out, panel, "our work", "share of time");
    write_bars(out, panel, chart->held_ns[0], NULL, scale, "first");
    write_bars(out, panel, chart->held_ns[1], chart->held_ns[0], scale, "second");
    write_line(chart, out, panel, LINE_DUTY, "duty");
    write_key(out, LEFT_PX + 4, panel->top - 6, "duty", "duty allowed");
    write_key(out, LEFT_PX + 134, panel->top - 6, "first", "held by the first model");
    write_key(out, LEFT_PX + 314, panel->top - 6, "second", "by the second");
}

static void write_slices(const struct chart *chart, FILE *out, const struct panel *panel)
{
    write_panel(out, panel, "longest slice", "us (0: no bound)");
    write_line(chart, out, panel, LINE_SLICE_US, "duty");
}

static void write_heat(const struct chart *chart, FILE *out, const struct panel *panel)
{
    double target = (double)chart->scenario.heat.target_mc / 1000.0;

    write_panel(out, panel, "temperature", "degrees Celsius");
    write_line(chart, out, panel, LINE_ALONE, "alone");
    write_line(chart, out, panel, LINE_READ, "read");
    write_line(chart, out, panel, LINE_REAL, "real");
    fprintf(out, "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" class=\"target\"/>\n", LEFT_PX,
            LEFT_PX + WIDE_PX, y_of(panel, target), y_of(panel, target));
    write_key(out, LEFT_PX + 4, panel->top - 6, "real", "the die's");
    write_key(out, LEFT_PX + 104, panel->top - 6, "read", "as read");
    write_key(out, LEFT_PX + 204, panel->top - 6, "alone", "without us");
    write_key(out, LEFT_PX + 314, panel->top - 6, "target", "target");
}

/* Draws the modes as a band, with the cause where there is room. */
static void write_modes(const struct chart *chart, FILE *out, const struct panel *panel)
{
    fprintf(out,
            "<text x=\"10\" y=\"%.0f\" class=\"name\">mode</text><text x=\"10\" y=\"%.0f\">and its "
            "cause</text>\n",
            panel->top + 14, panel->top + 30);
    for (uint32_t i = 0; i < chart->n_changes; i++) {
        const struct change *change = &chart->changes[i];
        double from = LEFT_PX + WIDE_PX * (double)change->at_ns / (chart->column_ns * COLUMNS);
        double to = LEFT_PX + WIDE_PX;

        if (i + 1 < chart->n_changes) {
            to = LEFT_PX + WIDE_PX * (double)chart->changes[i + 1].at_ns / (chart->column_ns * COLUMNS);
        }
        fprintf(out, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" class=\"mode-%s\"/>\n", from,
                panel->top, to > from ? to - from : 0.0, panel->height, governor_mode_name(change->mode));
        if (to - from > 90.0) {
            fprintf(out, "<text x=\"%.1f\" y=\"%.0f\">%s</text><text x=\"%.1f\" y=\"%.0f\">%s</text>\n", from + 4,
                    panel->top + 13, governor_mode_name(change->mode), from + 4, panel->top + 27,
                    governor_cause_name(change->cause));
        }
    }
}

static void write_tokens(const struct chart *chart, FILE *out, struct panel *panel)
{
    double scale = 1e9 / chart->column_ns;
    double below[COLUMNS] = { 0.0 };
    static const char *const classes[] = { "background", "interactive", "realtime" };

    panel->high = 1.0;
    for (uint32_t i = 0; i < COLUMNS; i++) {
        double sum = 0.0;

        for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
            sum += chart->tokens[priority][i] * scale;
        }
        panel->high = sum > panel->high ? sum : panel->high;
    }
    write_panel(out, panel, "tokens", "a second, computed");
    for (int priority = PRIORITY_COUNT - 1; priority >= 0; priority--) {
        write_bars(out, panel, chart->tokens[priority], below, scale, classes[priority]);
        for (uint32_t i = 0; i < COLUMNS; i++) {
            below[i] += chart->tokens[priority][i];
        }
        write_key(out, LEFT_PX + 4 + 120 * (PRIORITY_COUNT - 1 - priority), panel->top - 6, classes[priority],
                  classes[priority]);
    }
}

/* Labels the time axis in seconds, at a round distance of at most twelve. */
static void write_time(const struct chart *chart, FILE *out, double top, double bottom)
{
    double lasts_s = (double)chart->scenario.run.lasts_ms / 1000.0;
    double step_s = 1.0;

    while (lasts_s / step_s > 12.0) {
        step_s *= lasts_s / step_s > 24.0 ? 5.0 : 2.0;
    }
    for (double s = 0.0; s <= lasts_s; s += step_s) {
        double x = LEFT_PX + WIDE_PX * s / lasts_s;

        fprintf(out,
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\" class=\"grid\"/>"
                "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.0f s</text>\n",
                x, x, top, bottom, x, bottom + 16, s);
    }
}

static const char style[] =
    "text{font:12px sans-serif;fill:#222}.title{font-size:16px;font-weight:bold}.name{font-weight:bold}\n"
    ".panel{fill:#fafafa;stroke:#999}.grid{stroke:#ccc;stroke-width:0.5}path{fill:none;stroke-width:1.5}.key{"
    "stroke-width:4}\n"
    ".load{stroke:#4a7}.ours{stroke:#d00;stroke-width:2.5}.theirs{stroke:#888;stroke-width:2}.duty{stroke:#"
    "333}\n"
    "path.first{fill:#7aaede}path.second{fill:#e2a15e}line.first{stroke:#7aaede}line.second{stroke:#e2a15e}\n"
    ".real{stroke:#c33}.read{stroke:#e9a;stroke-width:1}.alone{stroke:#58a;stroke-dasharray:4 "
    "3}.target{stroke:#000;stroke-dasharray:2 3}\n"
    ".queue{stroke:#639}path.background{fill:#9ab}path.interactive{fill:#5a9}path.realtime{fill:#d73}\n"
    "line.background{stroke:#9ab}line.interactive{stroke:#5a9}line.realtime{stroke:#d73}\n"
    ".mode-full{fill:#bfe3c0}.mode-shared{fill:#f7e6a2}.mode-thin{fill:#f3b98a}.mode-cpu{fill:#b9c8ee}.mode-"
    "paused{fill:#e79a9a}\n";

bool chart_write(const struct chart *chart, const char *path, const char *title)
{
    double target = (double)chart->scenario.heat.target_mc / 1000.0;
    struct panel panels[] = {
        { .height = 90, .high = 1.0 },                                         /* screen */
        { .height = 90, .high = 1.0 },                                         /* our share */
        { .height = 50, .high = top_of(chart, LINE_SLICE_US, 2000.0) * 1.05 }, /* slices */
        { .height = 34 },                                                      /* modes */
        { .height = 130,
          .low = bottom_of(chart, LINE_ALONE, target) - 2.0,
          .high = top_of(chart, LINE_REAL, target) + 3.0 },
        { .height = 60, .high = top_of(chart, LINE_QUEUE, 1.0) },
        { .height = 90 },
    };
    double top = TOP_PX;
    FILE *out = fopen(path, "w");

    if (!out) {
        return false;
    }
    for (size_t i = 0; i < sizeof(panels) / sizeof(panels[0]); i++) {
        panels[i].top = top;
        top += panels[i].height + GAP_PX;
    }
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\"><style>%s</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/><text x=\"10\" y=\"24\" "
            "class=\"title\">%s</text>\n",
            LEFT_PX + WIDE_PX + 30, top + 10, style, title);
    fprintf(out, "<text x=\"10\" y=\"46\">family %s, seed %lld, %lld Hz, target %.0f degrees</text>\n",
            family_name((enum family)chart->scenario.run.family), (long long)chart->scenario.run.seed,
            (long long)chart->scenario.screen.hz, target);
    write_screen(chart, out, &panels[0]);
    write_share(chart, out, &panels[1]);
    write_slices(chart, out, &panels[2]);
    write_modes(chart, out, &panels[3]);
    write_heat(chart, out, &panels[4]);
    write_panel(out, &panels[5], "requests", "under way");
    write_line(chart, out, &panels[5], LINE_QUEUE, "queue");
    write_tokens(chart, out, &panels[6]);
    write_time(chart, out, TOP_PX, top - GAP_PX);
    fprintf(out, "</svg>\n");
    return fclose(out) == 0;
}
