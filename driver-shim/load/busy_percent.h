/*
 * Busy percent: one figure of the device or its driver, for the work of all clients
 *
 * amdgpu: gpu_busy_percent. Qualcomm's own kernels: kgsl gpubusy ("busy total", us of the last interval), else
 * gpu_busy_percentage. The parsers are pure.
 */
#ifndef SOTTO_LOAD_BUSY_PERCENT_H
#define SOTTO_LOAD_BUSY_PERCENT_H

#include "load/load_source.h"

/* Parses "42", "42 %", "42%". */
bool busy_percent_parse(const char *text, uint32_t *ret_permille);

/* Parses "1234 10000"; "0 0" is a suspended device. */
bool busy_percent_parse_pair(const char *text, uint32_t *ret_permille);

/* Reads the figure of @device. -ENOENT: it has no such file; -EPROTO: unknown format; else the fault of reading. */
int busy_percent_read(const struct root *root, const struct gpu *device, uint32_t *ret_permille);

/* Opens a source. -ENOENT: @device has no such file; -ENOMEM. */
int busy_percent_open(struct source **ret_source, const struct root *root, const struct gpu *device);

#endif
