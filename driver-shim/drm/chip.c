/*
 * Table of chips, from the drivers of Linux 7.2 (names, compatibles, timeouts, features) and Mesa's device tables
 * (PowerVR cores). Of several rows that fit, the one with the most columns wins.
 */
#include "drm/chip.h"

#include "base/clean.h"
#include <assert.h>
#include <string.h>

#define Q(quirk) (1u << (quirk))

/* Quirks of every PowerVR, and those of the mainline driver in addition. */
#define VENDOR_POWERVR Q(CHIP_BARRIER_ALONE)
#define POWERVR        (VENDOR_POWERVR | Q(CHIP_NO_LOAD) | Q(CHIP_NO_PRIORITY))

/* clang-format off */
static const struct chip chips[] = {
    { "TI AM62 (PowerVR AXE-1-16M)", "powervr", NULL, { 33, 15, 11, 3 }, 500, POWERVR | Q(CHIP_NO_OVERLAP) },
    { "PowerVR BXS-4-64", "powervr", NULL, { 36, 53, 104, 796 }, 500, POWERVR },
    { "PowerVR BXM-4-64", "powervr", NULL, { 36, 52, 104, 182 }, 500, POWERVR | Q(CHIP_EXPERIMENTAL) },
    { "TI AM62 (PowerVR AXE-1-16M)", "powervr", "ti,am62-gpu", { 0 }, 500, POWERVR | Q(CHIP_NO_OVERLAP) },
    { "TI J721S2 / AM68 (PowerVR BXS-4-64)", "powervr", "ti,j721s2-gpu", { 0 }, 500, POWERVR },
    { "TI AM62P (PowerVR BXS-4-64)", "powervr", "ti,am62p-gpu", { 0 }, 500, POWERVR },
    { "T-Head TH1520 (PowerVR BXM-4-64)", "powervr", "thead,th1520-gpu", { 0 }, 500,
      POWERVR | Q(CHIP_EXPERIMENTAL) },
    { "Renesas R-Car M3-W (PowerVR GX6250)", NULL, "renesas,r8a7796-gpu", { 0 }, 500,
      VENDOR_POWERVR | Q(CHIP_NO_PRIORITY) | Q(CHIP_EXPERIMENTAL) },
    { "Renesas R-Car M3-W+ (PowerVR GX6250)", NULL, "renesas,r8a77961-gpu", { 0 }, 500,
      VENDOR_POWERVR | Q(CHIP_NO_PRIORITY) | Q(CHIP_EXPERIMENTAL) },
    { "Renesas R-Car M3-N (PowerVR GE7800)", NULL, "renesas,r8a77965-gpu", { 0 }, 500,
      VENDOR_POWERVR | Q(CHIP_NO_PRIORITY) | Q(CHIP_EXPERIMENTAL) },
    { "Renesas R-Car V3U (PowerVR GE7800)", NULL, "renesas,r8a779a0-gpu", { 0 }, 500,
      VENDOR_POWERVR | Q(CHIP_NO_PRIORITY) | Q(CHIP_EXPERIMENTAL) },
    { "PowerVR", "powervr", NULL, { 0 }, 500, POWERVR },
    { "PowerVR (vendor driver)", "pvr", NULL, { 0 }, 0, VENDOR_POWERVR | Q(CHIP_NO_SYNCOBJ) },
    { "PowerVR (vendor driver)", "pvrsrvkm", NULL, { 0 }, 0, VENDOR_POWERVR | Q(CHIP_NO_SYNCOBJ) },
    { "Rockchip RK3588 (Mali-G610)", "panthor", "rockchip,rk3588-mali", { 0 }, 5000,
      Q(CHIP_LOAD_SWITCHED) | Q(CHIP_ONE_ENGINE) },
    { "Mali, CSF", "panthor", NULL, { 0 }, 5000, Q(CHIP_LOAD_SWITCHED) | Q(CHIP_ONE_ENGINE) },
    { "Mali", "panfrost", NULL, { 0 }, 500, Q(CHIP_LOAD_SWITCHED) | Q(CHIP_BINARY_SYNCOBJ) },
    { "Mali-4xx", "lima", NULL, { 0 }, 0, Q(CHIP_NO_LOAD) | Q(CHIP_NO_COMPUTE) | Q(CHIP_BINARY_SYNCOBJ) },
    { "Adreno", "msm", NULL, { 0 }, 500, Q(CHIP_ONE_ENGINE) },
    { "Broadcom VideoCore VII (Raspberry Pi 5)", "v3d", "brcm,2712-v3d", { 0 }, 500,
      Q(CHIP_BINARY_SYNCOBJ) | Q(CHIP_NO_PRIORITY) },
    { "Broadcom VideoCore VI (Raspberry Pi 4)", "v3d", "brcm,2711-v3d", { 0 }, 500,
      Q(CHIP_BINARY_SYNCOBJ) | Q(CHIP_NO_PRIORITY) },
    { "Broadcom V3D", "v3d", NULL, { 0 }, 500, Q(CHIP_BINARY_SYNCOBJ) | Q(CHIP_NO_PRIORITY) },
    { "Broadcom VideoCore display", "vc4", NULL, { 0 }, 0, Q(CHIP_DISPLAY_ONLY) },
    { "Vivante", "etnaviv", NULL, { 0 }, 500, Q(CHIP_NO_LOAD) | Q(CHIP_NO_SYNCOBJ) | Q(CHIP_NO_PRIORITY) },
    { "AMD GPU", "amdgpu", NULL, { 0 }, 2000, 0 },
    { "Intel GPU", "i915", NULL, { 0 }, 0, 0 },
    { "Intel GPU", "xe", NULL, { 0 }, 0, 0 },
    { "NVIDIA GPU", "nouveau", NULL, { 0 }, 10000, Q(CHIP_NO_LOAD) },
    { "NVIDIA GPU", "nvidia-drm", NULL, { 0 }, 0, Q(CHIP_NO_LOAD) },
    { "Virtio GPU (virtual machine)", "virtio_gpu", NULL, { 0 }, 0, Q(CHIP_NO_LOAD) },
    { "vgem (no GPU: buffers for tests)", "vgem", NULL, { 0 }, 0,
      Q(CHIP_SOFTWARE) | Q(CHIP_NO_LOAD) | Q(CHIP_NO_SYNCOBJ) },
    { "vkms (no GPU: a display for tests)", "vkms", NULL, { 0 }, 0, Q(CHIP_SOFTWARE) | Q(CHIP_DISPLAY_ONLY) },
    { "TI display", "tidss", NULL, { 0 }, 0, Q(CHIP_DISPLAY_ONLY) },
    { "Renesas display", "rcar-du", NULL, { 0 }, 0, Q(CHIP_DISPLAY_ONLY) },
    { "Rockchip display", "rockchip", NULL, { 0 }, 0, Q(CHIP_DISPLAY_ONLY) },
    { "Display (virtual machine)", "bochs-drm", NULL, { 0 }, 0, Q(CHIP_DISPLAY_ONLY) },
    { "Display by the firmware", "simpledrm", NULL, { 0 }, 0, Q(CHIP_DISPLAY_ONLY) },
};
/* clang-format on */

static const char *const quirk_texts[] = {
    [CHIP_NO_LOAD] = "Q1: the driver reports no load",
    [CHIP_LOAD_SWITCHED] = "Q2: load counters stay zero until the driver's profiling switch is set",
    [CHIP_ONE_ENGINE] = "Q3: one engine for all: graphics and compute can't be told apart",
    [CHIP_BARRIER_ALONE] = "Q4: a compute kernel with a barrier keeps graphics out while it runs",
    [CHIP_NO_OVERLAP] = "Q5: compute and graphics alternate, they never overlap",
    [CHIP_NO_PRIORITY] = "Q6: no low priority: short submissions are the only way to yield",
    [CHIP_NO_SYNCOBJ] = "Q7: no sync objects",
    [CHIP_BINARY_SYNCOBJ] = "Q8: no timeline sync objects",
    [CHIP_EXPERIMENTAL] = "Q9: the kernel driver takes it only with exp_hw_support=1",
    [CHIP_NO_COMPUTE] = "Q10: it can't compute",
    [CHIP_SOFTWARE] = "Q11: not a GPU: a virtual device for tests",
    [CHIP_DISPLAY_ONLY] = "Q12: a display without a GPU",
};

/* Returns true if @word is among @words, which are separated by blanks. */
static bool word_is_among(const char *word, const char *words)
{
    size_t n = strlen(word);

    for (const char *at = words; at && *at; at += strspn(at, " ")) {
        size_t here = strcspn(at, " ");

        if (here == n && memcmp(at, word, n) == 0) {
            return true;
        }
        at += here;
    }
    return false;
}

static bool is_core(const struct chip *chip, const struct pvr_core *core)
{
    return core && core->branch == chip->core[0] && core->version == chip->core[1] && core->cores == chip->core[2] &&
           core->config == chip->core[3];
}

/* Returns the number of columns that agree; 0: the row does not fit. */
static uint32_t agreement(const struct chip *chip, const struct chip_signs *signs)
{
    uint32_t n = 0;

    if (chip->driver) {
        if (!signs->driver || strcmp(chip->driver, signs->driver) != 0) {
            return 0;
        }
        n++;
    }
    if (chip->compatible) {
        if (!word_is_among(chip->compatible, signs->compatible)) {
            return 0;
        }
        n += 2;
    }
    if (chip->core[0] != 0) {
        if (!is_core(chip, signs->core)) {
            return 0;
        }
        n++;
    }
    return n;
}

const struct chip *chip_find(const struct chip_signs *signs)
{
    const struct chip *best = NULL;
    uint32_t most = 0;

    for (size_t i = 0; i < COUNTOF(chips); i++) {
        uint32_t n = agreement(&chips[i], signs);

        if (n > most) {
            most = n;
            best = &chips[i];
        }
    }
    return best;
}

bool chip_has(const struct chip *chip, enum chip_quirk quirk)
{
    return chip && (chip->quirks & Q(quirk)) != 0;
}

const char *chip_quirk_text(enum chip_quirk quirk)
{
    assert(quirk < CHIP_QUIRK_COUNT);
    return quirk_texts[quirk];
}
