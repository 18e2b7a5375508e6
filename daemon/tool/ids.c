#include "tool/ids.h"
#include "base/err.h"
#include <errno.h>
#include <string.h>

int ids_read(struct ids *ids, const char *text, struct diag *diag)
{
    const char *at = text;

    for (;;) {
        uint64_t id = 0;
        size_t n = strspn(at, "0123456789");

        for (size_t i = 0; i < n && id <= UINT32_MAX; i++) {
            id = id * 10 + (uint64_t)(at[i] - '0');
        }
        if (n == 0 || id > UINT32_MAX || (at[n] != ',' && at[n] != '\0')) {
            diag_set(diag, "\"%.32s\" is no token id; ids stand apart by commas: 1,15,7", at);
            return IDS_BAD;
        }
        if (ids_push(ids, (uint32_t)id)) {
            return err_new(-ENOMEM);
        }
        if (at[n] == '\0') {
            return IDS_OK;
        }
        at += n + 1;
    }
}
