/*
 * Ids: token ids on a command line, "1,15,7"
 */
#ifndef SOTTO_TOOL_IDS_H
#define SOTTO_TOOL_IDS_H

#include "base/diag.h"
#include "token/token.h"

enum ids_outcome {
    IDS_OK,
    IDS_BAD, /* @diag names the place */
};

/* Appends what @text lists; an empty text is no list. IDS_BAD, or -ENOMEM. */
int ids_read(struct ids *ids, const char *text, struct diag *diag);

#endif
