#include "model/missing.h"
#include <stdio.h>
#include <string.h>

void missing_add(struct missing *missing, const char *name)
{
    size_t used = strlen(missing->names);
    size_t left = sizeof(missing->names) - used;

    missing->n++;
    if (missing->n == missing->n_named + 1 && strlen(name) + 3 <= left) {
        snprintf(missing->names + used, left, "%s%s", used ? ", " : "", name);
        missing->n_named++;
    }
}

bool missing_tell(const struct missing *missing, const char *what, struct diag *diag)
{
    if (missing->n == 0) {
        return false;
    }
    if (missing->n > missing->n_named) {
        diag_set(diag, "%s: %s and %u more", what, missing->names, missing->n - missing->n_named);
    } else {
        diag_set(diag, "%s: %s", what, missing->names);
    }
    return true;
}
