/* Names of engines and rings as the kernel's drivers print them; only those that certainly do not draw. */
#include "load/engine_class.h"
#include "base/clean.h"
#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    enum engine_class class;
} names[] = {
    { "compute", ENGINE_COMPUTE },      /* amdgpu, i915 */
    { "comp", ENGINE_COMPUTE },         /* rings of amdgpu: comp_1.0.0 */
    { "ccs", ENGINE_COMPUTE },          /* xe */
    { "csd", ENGINE_COMPUTE },          /* v3d */
    { "compute-only", ENGINE_COMPUTE }, /* panfrost */
    { "copy", ENGINE_OTHER },           /* i915 */
    { "bcs", ENGINE_OTHER },            /* xe */
    { "dma", ENGINE_OTHER },            /* amdgpu */
    { "sdma", ENGINE_OTHER },
    { "video", ENGINE_OTHER }, /* i915 */
    { "video-enhance", ENGINE_OTHER },
    { "vcs", ENGINE_OTHER }, /* xe */
    { "vecs", ENGINE_OTHER },
    { "dec", ENGINE_OTHER }, /* amdgpu */
    { "enc", ENGINE_OTHER },
    { "jpeg", ENGINE_OTHER },
    { "jpeg_dec", ENGINE_OTHER },
    { "vpe", ENGINE_OTHER },
    { "vcn_dec", ENGINE_OTHER },
    { "vcn_enc", ENGINE_OTHER },
    { "vcn_unified", ENGINE_OTHER },
    { "cpu", ENGINE_OTHER }, /* v3d: runs on the CPU */
};

/* Rings have their driver's name in front where fdinfo has none. */
#define RING_PREFIX "v3d_"

enum engine_class engine_class_of(const char *name)
{
    size_t n;

    if (strncmp(name, RING_PREFIX, sizeof(RING_PREFIX) - 1) == 0) {
        name += sizeof(RING_PREFIX) - 1;
    }
    n = strcspn(name, "0123456789");
    /* "ccs0" is an instance; "video4linux" would be another engine. */
    if (name[n + strspn(name + n, "0123456789._")] != '\0') {
        n = strlen(name);
    }
    while (n > 0 && (name[n - 1] == '_' || name[n - 1] == '.')) {
        n--;
    }
    for (size_t i = 0; i < COUNTOF(names); i++) {
        if (strlen(names[i].name) == n && memcmp(names[i].name, name, n) == 0) {
            return names[i].class;
        }
    }
    return ENGINE_GRAPHICS;
}
