/*
 * Window: which layers see only the last so many positions; private to this room
 */
#ifndef SOTTO_IMPORT_WINDOW_H
#define SOTTO_IMPORT_WINDOW_H

#include "import/draft.h"

/* Which layers look through the window where config.json has no list of them. */
typedef bool (*window_layer_fn)(const struct import *import, uint32_t layer);

/* Puts the keys of the window, if the model has one. @is_local NULL: all layers. IMPORT_REFUSED, or a fault. */
int window_import(struct import *import, window_layer_fn is_local, struct diag *diag);

#endif
