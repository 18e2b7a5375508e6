/*
 * Kvsize: the formats that keys and values may be kept in, and what a token takes in each
 */
#ifndef SOTTO_TOOL_KVSIZE_H
#define SOTTO_TOOL_KVSIZE_H

#include "model/arch.h"

struct kvsize {
    const char *name; /* as in the configuration: "f16" */
    enum exec_kv_format format;
};

#define KVSIZE_COUNT 4

extern const struct kvsize kvsizes[KVSIZE_COUNT];

/* Bytes of one position, keys and values of all layers, a page's share; 0: the format does not fit these heads. */
uint64_t kvsize_token(const struct kvsize *kvsize, const struct arch_params *params);

#endif
