/*
 * Fuzzer: an untrusted safetensors file
 *
 * For any head, an accepted tensor lies within the file, its shape fills its bytes, and its last byte can be read.
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "import/st.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void walk(const struct st *st, size_t n)
{
    uint64_t at = 0;

    for (size_t i = 0; i < st_n_tensors(st); i++) {
        const struct st_tensor *tensor = st_tensor_at(st, i);
        uint64_t n_elems = 1;
        uint8_t last;

        FUZZ_PROMISE(st_find(st, tensor->name) == tensor);
        FUZZ_PROMISE(tensor->at >= at && tensor->n_bytes <= n - tensor->at);
        for (uint32_t k = 0; k < ST_DIMS_MAX; k++) {
            n_elems *= tensor->dims[k];
        }
        FUZZ_PROMISE(n_elems * st_elem_bytes(tensor) == tensor->n_bytes);
        if (tensor->n_bytes > 0) {
            FUZZ_PROMISE(st_read(tensor, tensor->n_bytes - 1, &last, 1, NULL) == ST_OK);
        }
        at = tensor->at + tensor->n_bytes;
    }
    FUZZ_PROMISE(st_n_tensors(st) == 0 || at == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct diag diag = DIAG_INIT;
    struct st *st = NULL;
    char path[32];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    int r;

    FUZZ_PROMISE(fd >= 0);
    FUZZ_PROMISE(write(fd, bytes, n) == (ssize_t)n);
    snprintf(path, sizeof(path), "/dev/fd/%d", fd);
    r = st_open(&st, path, &diag);
    FUZZ_PROMISE(r == ST_OK || r == ST_REFUSED);
    FUZZ_PROMISE((r == ST_OK) == (st != NULL));
    if (r == ST_OK) {
        walk(st, n);
    } else {
        FUZZ_PROMISE(diag_is_set(&diag));
        FUZZ_PROMISE(utf8_is_valid(diag.text, strlen(diag.text), NULL));
    }
    st_close(st);
    close(fd);
    return 0;
}
