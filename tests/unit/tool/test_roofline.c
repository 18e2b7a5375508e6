/*
 * The formulas, the quantities of a command line, and every number in the tables of docs/roofline.md.
 */
#include "base/clean.h"
#include "base/file.h"
#include "tool/roofline.h"
#include "unit.h"
#include <math.h>
#include <string.h>

#define CELLS_MAX 8

/* The numbers of a row of a table: 0 for a cell without one; "7 x 10^9" is 7e9. Gives how many cells there are. */
static size_t read_cells(const char *line, double *cells)
{
    size_t n = 0;

    while (*line == '|' && line[1] && n < CELLS_MAX) {
        char *end;

        line++;
        cells[n] = strtod(line, &end);
        if (strncmp(end, " x 10^9", 7) == 0) {
            cells[n] *= 1e9;
        }
        n++;
        line += strcspn(line, "|");
    }
    return n;
}

/* Equal to a number that was rounded to @places decimals. */
static void assert_rounded(double got, double shown, int places, const char *line)
{
    double scale = pow(10, places);

    ck_assert_msg(round(got * scale) == round(shown * scale), "%g is computed for: %s", got, line);
}

static void check_floor(const double *cells, const char *line)
{
    double bytes = roofline_weight_bytes(cells[0], cells[1]);

    assert_rounded(bytes / 1e9, cells[3], 2, line);
    assert_rounded(roofline_step_ms(bytes, 0, 0, 1, cells[2] * 1e9), cells[4], 1, line);
}

static void check_kv(const double *cells, const char *line)
{
    double bytes = roofline_kv_bytes((uint32_t)cells[0], (uint32_t)cells[1], (uint32_t)cells[2], cells[3]);

    assert_rounded(bytes / 1024, cells[4], 2, line);
}

static void check_fit(const double *cells, const char *line)
{
    assert_rounded(roofline_context(cells[0] * 1e9, cells[1] * 1e9, cells[2] * 1024), cells[3], 0, line);
}

static void check_batch(const double *cells, const char *line)
{
    double bytes = roofline_weight_bytes(cells[0], cells[1]);

    assert_rounded(roofline_step_ms(bytes, cells[2] * 1024, cells[3], cells[4], cells[5] * 1e9), cells[6], 1, line);
}

static const struct table {
    const char *head; /* how its first line begins */
    size_t n_cells;
    void (*check)(const double *cells, const char *line);
    int n_rows;
} tables[] = {
    { "| weights | bits each | bandwidth", 5, check_floor, 5 },
    { "| layers", 5, check_kv, 6 },
    { "| memory", 4, check_fit, 4 },
    { "| weights | bits each | KV", 7, check_batch, 4 },
};

static const struct table *find_table(const char *line)
{
    for (size_t i = 0; i < COUNTOF(tables); i++) {
        if (strncmp(line, tables[i].head, strlen(tables[i].head)) == 0) {
            return &tables[i];
        }
    }
    ck_abort_msg("a table that nobody computes: %s", line);
    return NULL;
}

START_TEST(every_number_of_the_page_is_right)
{
    cleanup(mem_freep) char *page = NULL;
    const struct table *table = NULL;
    struct diag diag = DIAG_INIT;
    int n_rows[COUNTOF(tables)] = { 0 };
    size_t n;
    char *at;

    ck_assert_msg(file_read(ROOFLINE_PAGE, MEM_MISC, 1 << 20, &page, &n, &diag) == FILE_OK, "%s", diag.text);
    at = page;
    for (char *line; (line = strsep(&at, "\n"));) {
        double cells[CELLS_MAX];

        if (line[0] != '|') {
            table = NULL;
        } else if (!table) {
            table = find_table(line);
        } else if (line[1] != '-') {
            ck_assert_uint_eq(read_cells(line, cells), table->n_cells);
            table->check(cells, line);
            n_rows[table - tables]++;
        }
    }

    for (size_t i = 0; i < COUNTOF(tables); i++) {
        ck_assert_int_eq(n_rows[i], tables[i].n_rows);
    }
}
END_TEST

START_TEST(common_claims_are_within_the_bounds)
{
    double seven = roofline_weight_bytes(7e9, 4);

    ck_assert_double_eq_tol(roofline_step_ms(seven, 0, 0, 1, 34e9), 103, 0.1);
    ck_assert_double_eq(roofline_kv_bytes(12, 32, 128, 16), 192 * 1024);
    ck_assert_double_eq(roofline_kv_bytes(12, 32, 128, 4), 48 * 1024);
}
END_TEST

START_TEST(occupied_memory_holds_no_context)
{
    ck_assert_double_eq(roofline_context(100, 100, 7), 0);
    ck_assert_double_eq(roofline_context(100, 200, 7), 0);
    ck_assert_double_eq(roofline_context(120, 100, 7), 2);
}
END_TEST

START_TEST(quantities_have_units_of_1000_and_1024)
{
    static const struct quantity {
        const char *text;
        double bytes;
    } quantities[] = {
        { "34GB/s", 34e9 }, { "4GiB", 4294967296.0 }, { "4 GB", 4e9 }, { "1.5M", 1.5e6 },    { "512KiB/s", 524288 },
        { "7", 7 },         { "2k", 2000 },           { "2TB", 2e12 }, { "100 B/s", 100.0 },
    };

    for (size_t i = 0; i < COUNTOF(quantities); i++) {
        double bytes = 0;

        ck_assert_msg(roofline_read(quantities[i].text, &bytes) == ROOFLINE_OK, "%s", quantities[i].text);
        ck_assert_double_eq(bytes, quantities[i].bytes);
    }
}
END_TEST

START_TEST(other_text_is_refused)
{
    static const char *const texts[] = { "",      "GB",    "0GB",    "-1GB",   "4XB",       "4GBs",
                                         "4GB/m", "nan",   "1..2GB", "0x1f",   " 4GB",      "4gb",
                                         "1e9",   "4  GB", "0.5",    "0.1B/s", "1000001TB", "99999999999999999999GB" };
    double bytes = 0;

    for (size_t i = 0; i < COUNTOF(texts); i++) {
        ck_assert_msg(roofline_read(texts[i], &bytes) == ROOFLINE_NO_QUANTITY, "\"%s\"", texts[i]);
    }
}
END_TEST

int main(void)
{
    return unit_facts("tool-roofline", every_number_of_the_page_is_right, common_claims_are_within_the_bounds,
                      occupied_memory_holds_no_context, quantities_have_units_of_1000_and_1024, other_text_is_refused);
}
