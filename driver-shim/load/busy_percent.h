/*
 * Busy percent: one figure that the device or its driver measures, everybody's work in it
 *
 * amdgpu: gpu_busy_percent. Qualcomm's own kernels: kgsl gpubusy ("busy total", us of the last interval), else
 * gpu_busy_percentage.
 */
#ifndef SOTTO_LOAD_BUSY_PERCENT_H
#define SOTTO_LOAD_BUSY_PERCENT_H

#include "load/load.h"

#define GPU_KGSL "/sys/class/kgsl/kgsl-3d0"

/* Pure. "42", "42 %", "42%". */
bool busy_percent_parse(const char *text, uint32_t *ret_permille);

/* Pure. "1234 10000"; "0 0" is a device that sleeps. */
bool busy_percent_parse_pair(const char *text, uint32_t *ret_permille);

/*
 * One reading for @device. -ENOENT: it has no such file. Faults are those of reading; -EPROTO: not in a known form.
 */
int busy_percent_read(const struct root *root, const struct gpu *device, uint32_t *ret_permille);

/* -ENOENT: @device has no such file; -ENOMEM. */
int busy_percent_open(struct source **ret_source, const struct root *root, const struct gpu *device);

#endif
