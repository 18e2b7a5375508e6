/*
 * Config reader: one pass over one file, and its errors
 *
 * An error does not end the pass: it is reported with line, path, value and what is expected, and counted.
 */
#ifndef SOTTO_CONFIG_CONFIG_READER_H
#define SOTTO_CONFIG_CONFIG_READER_H

#include "config/config.h"
#include "config/config_keys.h"
#include "config/config_path.h"

struct config_reader {
    struct config *config;
    const char *file; /* its name, for sentences */
    const char *text;
    config_say_fn say;
    void *owner;
    unsigned n_complaints;
    size_t n_pinned; /* bytes of pins so far */
};

/* Reports "FILE:LINE: PATH: ..." */
void config_complain(struct config_reader *reader, const struct config_path *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports "... the number 10 is not allowed; expected @expected". */
void config_complain_value(struct config_reader *reader, const struct config_path *where, const json_t *value,
                           const char *expected);

/* Reads every plain setting of the object @part into @target and reports unknown keys and wrong values. Bit i of
 * @ret_present is set if key i was given. Returns 0 or -ENOMEM. */
int config_read_part(struct config_reader *reader, const struct config_path *where, json_t *part,
                     enum config_part which, void *target, uint64_t *ret_present);

/* Reads the pins @value (NULL: none) of the model at @model (config_pins.c). Returns 0 or -ENOMEM. */
int config_read_pins(struct config_reader *reader, const struct config_path *model, json_t *value,
                     struct model_settings *ret_model);

/* Returns whether the bits @present of @part include that of the key @name. */
bool config_is_given(enum config_part part, uint64_t present, const char *name);

#endif
