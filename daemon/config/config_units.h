/*
 * Config units: sizes in bytes and times in milliseconds, as the configuration's texts name them
 */
#ifndef SOTTO_CONFIG_CONFIG_UNITS_H
#define SOTTO_CONFIG_CONFIG_UNITS_H

#include <stdint.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

#endif
