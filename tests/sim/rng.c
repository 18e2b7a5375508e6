/*
 * xoshiro256** (Blackman and Vigna 2018), seeded through splitmix64 as its authors recommend.
 */
#include "rng.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rng_init(struct rng *rng, uint64_t seed, enum rng_stream stream)
{
    uint64_t state = seed * RNG_STREAM_COUNT + (uint64_t)stream;

    for (int i = 0; i < 4; i++) {
        rng->state[i] = splitmix(&state);
    }
}

static uint64_t rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

int64_t rng_between(struct rng *rng, int64_t low, int64_t high)
{
    uint64_t n;

    if (high <= low) {
        return low;
    }
    /* The remainder's bias is below 2^-32 for all ranges here. */
    n = (uint64_t)(high - low) + 1;
    return low + (int64_t)(rng_next(rng) % n);
}

int64_t rng_spread(struct rng *rng, int64_t low, int64_t high)
{
    int64_t octaves = 0;
    int64_t at;

    for (int64_t top = low; top < high; top *= 2) {
        octaves++;
    }
    if (octaves == 0) {
        return low;
    }
    at = low << rng_between(rng, 0, octaves - 1);
    at = rng_between(rng, at, 2 * at);
    return at < high ? at : high;
}

bool rng_chance(struct rng *rng, uint32_t permille)
{
    return rng_next(rng) % 1000 < permille;
}

double rng_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

/*
 * Von Neumann's method for the exponential distribution by comparisons alone (1951): a run of falling numbers has odd
 * length with the wanted probability; each run of even length adds one to the whole part.
 */
uint64_t rng_wait(struct rng *rng, uint64_t mean)
{
    double whole = 0.0;

    for (;;) {
        double first = rng_unit(rng);
        double last = first;
        uint32_t length = 1;

        for (;;) {
            double next = rng_unit(rng);

            if (next >= last) {
                break;
            }
            last = next;
            length++;
        }
        if (length % 2 == 1) {
            return (uint64_t)((whole + first) * (double)mean);
        }
        whole += 1.0;
    }
}

int64_t rng_one_of(struct rng *rng, const int64_t *values, size_t n)
{
    return values[rng_next(rng) % n];
}
