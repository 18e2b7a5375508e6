/*
 * Drawing: a run as a picture
 *
 * Collects what happened, and writes an SVG with one time axis for all: frames and misses, our slices and the
 * duty, the temperature against its target, the governor's modes and causes, requests under way, tokens a
 * second. Everything takes a NULL drawing and does nothing then.
 */
#ifndef SOTTO_SIM_DRAWING_H
#define SOTTO_SIM_DRAWING_H

#include "govern/governor.h"
#include "scenario.h"

struct drawing;

struct drawing *drawing_create(const struct scenario *scenario);
void drawing_destroy(struct drawing *drawing);

void drawing_run(struct drawing *drawing, uint64_t from_ns, uint64_t to_ns, uint32_t eq);
void drawing_missed(struct drawing *drawing, uint64_t at_ns, bool is_ours);
void drawing_limits(struct drawing *drawing, uint64_t at_ns, const struct governor_limits *limits);
void drawing_heat(struct drawing *drawing, uint64_t at_ns, double real_mc, double alone_mc, double read_mc);
void drawing_load(struct drawing *drawing, uint64_t at_ns, double share);
void drawing_queue(struct drawing *drawing, uint64_t at_ns, uint32_t n_live);
void drawing_tokens(struct drawing *drawing, uint64_t at_ns, uint32_t n, enum priority priority);

/* @title in one line, above. False: the file could not be written. */
bool drawing_write(const struct drawing *drawing, const char *path, const char *title);

#endif
