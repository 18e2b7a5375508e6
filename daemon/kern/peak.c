/*
 * The loops are assembly: a compiler would leave out arithmetic without a use, and need flags for each set. Twelve
 * independent sums hide the latency of the instructions. Pieces are short, so that workers that lose their core for a
 * moment lose little, as in a step of a model.
 */
#include "kern/peak.h"

#include "base/clean.h"
#include "base/clock.h"
#include "kern/cpu.h"

#include <stdatomic.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define PIECES  16 /* of each worker */
#define ROUNDS  100000u
#define SUMS    12u
#define LINE    64u
#define AT_ONCE 8u /* lines that are read before the loop turns */
#define MINIMUM 1e-6

typedef void (*loop_fn)(uint64_t n_rounds);

/* Instructions of one kind of arithmetic, and what they do. */
struct loop {
    loop_fn run;
    uint32_t n_ops; /* of one instruction of each sum */
};

#if defined(__x86_64__)

/* clang-format off */
#define EACH(insn, reg, tail)                                                                                          \
    insn tail "%%" reg "0\n" insn tail "%%" reg "1\n" insn tail "%%" reg "2\n" insn tail "%%" reg "3\n"                \
    insn tail "%%" reg "4\n" insn tail "%%" reg "5\n" insn tail "%%" reg "6\n" insn tail "%%" reg "7\n"                \
    insn tail "%%" reg "8\n" insn tail "%%" reg "9\n" insn tail "%%" reg "10\n" insn tail "%%" reg "11\n"
#define CLOBBERS                                                                                                       \
    "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",   \
    "xmm13", "xmm14", "xmm15"
/* clang-format on */

/* Defines a loop of @step, in which registers 12 and 13 hold @word in each lane. Sums begin at 0. */
#define LOOP(name, reg, word, step)                                                                                    \
    static void name(uint64_t n_rounds)                                                                                \
    {                                                                                                                  \
        static const uint32_t lane = word;                                                                             \
                                                                                                                       \
        __asm__ volatile("vzeroall\n"                                                                                  \
                         "vbroadcastss %1, %%" reg "12\n"                                                              \
                         "vbroadcastss %1, %%" reg "13\n"                                                              \
                         "1:\n" step "dec %0\n"                                                                        \
                         "jnz 1b\n"                                                                                    \
                         "vzeroupper\n"                                                                                \
                         : "+r"(n_rounds)                                                                              \
                         : "m"(lane)                                                                                   \
                         : CLOBBERS);                                                                                  \
    }

#define BYTES_OF_ONE 0x01010101u
#define FLOAT_ONE    0x3f800000u
#define BF16_ONES    0x3f803f80u

/* Without VNNI a product of bytes takes three instructions, as in our AVX2 kernels. */
#define STEP_MADD(to)                                                                                                  \
    "vpmaddubsw %%ymm12, %%ymm13, %%ymm14\n"                                                                           \
    "vpmaddwd %%ymm12, %%ymm14, %%ymm14\n"                                                                             \
    "vpaddd %%ymm14, %%ymm" to ", %%ymm" to "\n"

LOOP(int8_avx512, "zmm", BYTES_OF_ONE, EACH("vpdpbusd ", "zmm", "%%zmm12, %%zmm13, "))
LOOP(f32_avx512, "zmm", FLOAT_ONE, EACH("vfmadd231ps ", "zmm", "%%zmm12, %%zmm13, "))
LOOP(bf16_avx512, "zmm", BF16_ONES, EACH("vdpbf16ps ", "zmm", "%%zmm12, %%zmm13, "))
LOOP(int8_avx2, "ymm", BYTES_OF_ONE,
     STEP_MADD("0") STEP_MADD("1") STEP_MADD("2") STEP_MADD("3") STEP_MADD("4") STEP_MADD("5") STEP_MADD("6")
         STEP_MADD("7") STEP_MADD("8") STEP_MADD("9") STEP_MADD("10") STEP_MADD("11"))
LOOP(f32_avx2, "ymm", FLOAT_ONE, EACH("vfmadd231ps ", "ymm", "%%ymm12, %%ymm13, "))

#undef STEP_MADD
#undef LOOP
#undef EACH
#undef CLOBBERS

static struct loop find_loop(enum peak_kind kind)
{
    const uint32_t cpu = cpu_detect();
    const bool has_avx512 = (cpu & CPU_AVX512) && (cpu & CPU_VNNI);

    if (has_avx512) {
        switch (kind) {
        case PEAK_INT8:
            return (struct loop){ int8_avx512, 2 * 64 };
        case PEAK_F32:
            return (struct loop){ f32_avx512, 2 * 16 };
        case PEAK_BF16:
            return (struct loop){ __builtin_cpu_supports("avx512bf16") ? bf16_avx512 : NULL, 2 * 32 };
        case PEAK_KIND_COUNT:
            break;
        }
    }
    if ((cpu & CPU_AVX2) && (cpu & CPU_FMA) && kind != PEAK_BF16) {
        return kind == PEAK_INT8 ? (struct loop){ int8_avx2, 2 * 32 } : (struct loop){ f32_avx2, 2 * 8 };
    }
    return (struct loop){ NULL, 0 };
}

#elif defined(__aarch64__)

#define EACH(insn, lanes, tail)                                                                                        \
    insn " v0." lanes tail insn " v1." lanes tail insn " v2." lanes tail insn " v3." lanes tail insn                   \
         " v4." lanes tail insn " v5." lanes tail insn " v6." lanes tail insn " v7." lanes tail insn                   \
         " v16." lanes tail insn " v17." lanes tail insn " v18." lanes tail insn " v19." lanes tail

/* Defines a loop of @step. All registers begin at 0, and so stay finite. */
#define LOOP(name, extension, step)                                                                                    \
    static void name(uint64_t n_rounds)                                                                                \
    {                                                                                                                  \
        __asm__ volatile(extension "movi v20.16b, #0\n"                                                                \
                                   "movi v21.16b, #0\n" EACH("movi", "16b, #0\n", "") "1:\n" step "subs %0, %0, #1\n"  \
                                                                                      "b.ne 1b\n"                      \
                         : "+r"(n_rounds)                                                                              \
                         :                                                                                             \
                         : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20",    \
                           "v21");                                                                                     \
    }

LOOP(int8_dotprod, ".arch armv8.2-a+dotprod\n", EACH("sdot", "4s, ", "v20.16b, v21.16b\n"))
LOOP(f32_neon, "", EACH("fmla", "4s, ", "v20.4s, v21.4s\n"))
LOOP(bf16_neon, ".arch armv8.6-a+bf16\n", EACH("bfdot", "4s, ", "v20.8h, v21.8h\n"))

#undef LOOP
#undef EACH

static struct loop find_loop(enum peak_kind kind)
{
    switch (kind) {
    case PEAK_INT8:
        return (struct loop){ getauxval(AT_HWCAP) & 1ul << 20 ? int8_dotprod : NULL, 2 * 16 }; /* ASIMDDP */
    case PEAK_F32:
        return (struct loop){ f32_neon, 2 * 4 };
    case PEAK_BF16:
        return (struct loop){ getauxval(AT_HWCAP2) & 1ul << 14 ? bf16_neon : NULL, 2 * 8 }; /* BF16 */
    case PEAK_KIND_COUNT:
        break;
    }
    return (struct loop){ NULL, 0 };
}

#else

static struct loop find_loop(enum peak_kind kind)
{
    return (struct loop){ NULL, 0 };
}

#endif

const char *peak_name(enum peak_kind kind)
{
    static const char *const names[PEAK_KIND_COUNT] = { "int8", "fp32", "bf16" };

    return names[kind];
}

static double seconds_since(uint64_t from_us)
{
    const double seconds = (double)(clock_mono_us() - from_us) / 1e6;

    return seconds > MINIMUM ? seconds : MINIMUM;
}

static void compute(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    const struct loop *loop = ctx;

    loop->run((uint64_t)n * ROUNDS);
}

double peak_compute(struct pool *pool, enum peak_kind kind)
{
    struct loop loop = find_loop(kind);
    const uint32_t n_pieces = PIECES * pool_n_workers(pool);
    uint64_t from_us;

    if (!loop.run) {
        return 0;
    }
    from_us = clock_mono_us();
    pool_run(pool, compute, &loop, n_pieces, 1);
    return (double)n_pieces * ROUNDS * SUMS * loop.n_ops / seconds_since(from_us);
}

struct reading {
    const uint8_t *bytes;
    size_t n_piece;
    _Atomic uint64_t sum; /* makes the reads necessary */
};

static void read_pieces(void *ctx, uint32_t first, uint32_t n, uint32_t worker)
{
    struct reading *reading = ctx;
    const uint8_t *at = reading->bytes + first * reading->n_piece;
    const uint8_t *end = at + n * reading->n_piece;
    uint64_t sums[AT_ONCE] = { 0 };
    uint64_t sum = 0;

    for (; at < end; at += AT_ONCE * LINE) {
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            uint64_t word;

            memcpy(&word, at + i * LINE, sizeof(word));
            sums[i] += word;
        }
    }
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        sum += sums[i];
    }
    atomic_fetch_add(&reading->sum, sum);
}

double peak_read(struct pool *pool, const void *bytes, size_t n_bytes)
{
    const uint32_t n_pieces = PIECES * pool_n_workers(pool);
    struct reading reading = { .bytes = bytes, .n_piece = n_bytes / n_pieces / (AT_ONCE * LINE) * (AT_ONCE * LINE) };
    uint64_t from_us = clock_mono_us();

    pool_run(pool, read_pieces, &reading, n_pieces, 1);
    return (double)n_pieces * (double)reading.n_piece / seconds_since(from_us);
}
