/*
 * Window: the layers of sliding-window attention; private to this module
 */
#ifndef SOTTO_IMPORT_WINDOW_H
#define SOTTO_IMPORT_WINDOW_H

#include "import/draft.h"

/* Returns whether @layer has the window, where config.json has no list of layers. */
typedef bool (*window_layer_fn)(const struct import *import, uint32_t layer);

/* Puts the keys of the window if the model has one. @is_local NULL: all layers have it. IMPORT_REFUSED, or a fault. */
int window_import(struct import *import, window_layer_fn is_local, struct diag *diag);

#endif
