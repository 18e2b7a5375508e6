/*
 * Chart: a run as a picture
 *
 * Collects what happened, and writes an SVG with one time axis for all: frames and misses, our slices and the duty, the
 * temperature against its target, the governor's modes and causes, requests in progress, tokens a second. All functions
 * take a NULL chart and do nothing then.
 */
#ifndef SOTTO_SIM_CHART_H
#define SOTTO_SIM_CHART_H

#include "govern/governor.h"
#include "scenario.h"

struct chart;

struct chart *chart_create(const struct scenario *scenario);
void chart_destroy(struct chart *chart);

void chart_run(struct chart *chart, uint64_t from_ns, uint64_t to_ns, uint32_t engine);
void chart_missed(struct chart *chart, uint64_t at_ns, bool is_ours);
void chart_limits(struct chart *chart, uint64_t at_ns, const struct governor_limits *limits);
void chart_heat(struct chart *chart, uint64_t at_ns, double real_mc, double alone_mc, double read_mc);
void chart_load(struct chart *chart, uint64_t at_ns, double share);
void chart_queue(struct chart *chart, uint64_t at_ns, uint32_t n_live);
void chart_tokens(struct chart *chart, uint64_t at_ns, uint32_t n, enum priority priority);

/* Writes the picture, with @title in one line at the top. Returns false if the file could not be written. */
bool chart_write(const struct chart *chart, const char *path, const char *title);

#endif
