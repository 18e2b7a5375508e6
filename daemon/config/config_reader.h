/*
 * Reading: one pass over one configuration, and what it has to say
 *
 * A fault does not end the pass: it is said with line, path, value and what is allowed, and counted.
 */
#ifndef SOTTO_CONFIG_CONFIG_READER_H
#define SOTTO_CONFIG_CONFIG_READER_H

#include "config/config.h"
#include "config/config_keys.h"
#include "config/config_path.h"

/* One reading of one file. */
struct reading {
    struct config *config;
    const char *file; /* for sentences */
    const char *text;
    config_say_fn say;
    void *owner;
    unsigned n_complaints;
    size_t n_pinned; /* bytes of what models pin, so far */
};

/* Says "FILE:LINE: PATH: ..." */
void reading_complain(struct reading *reading, const struct where *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "... the number 10 is not allowed; allowed is ..." */
void reading_complain_value(struct reading *reading, const struct where *where, const json_t *value,
                            const char *allowed);

/* Reads every plain setting of the object @part into @target; bit i of @ret_present: key i was given. Unknown keys
 * and wrong values are complained about. 0, or -ENOMEM. */
int reading_part(struct reading *reading, const struct where *where, json_t *part, enum config_part which, void *target,
                 uint64_t *ret_present);

/* config_pins.c: the list @value (NULL: none) that the model at @model pins. 0, or -ENOMEM. */
int reading_pins(struct reading *reading, const struct where *model, json_t *value, struct model_settings *ret_model);

/* True if bits @present of @part have the one of the key @name. */
bool reading_was_given(enum config_part part, uint64_t present, const char *name);

#endif
