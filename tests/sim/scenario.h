/*
 * Scenario: the world of one run, as numbers
 *
 * It is made from a seed and a family, and written and read as a small text (a line for each row, "name column=value
 * ..."; a column that is not written is 0). So a failing one can be simplified, kept and replayed. Every value is an
 * integer, so the text holds all of it. The run follows from the scenario alone: its seed feeds the streams of rng.h.
 *
 * A scenario says what the world does. invariant.h says what sotto may not do in it.
 */
#ifndef SOTTO_SIM_SCENARIO_H
#define SOTTO_SIM_SCENARIO_H

#include "base/diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum family {
    FAMILY_STEADY,    /* graphics of constant load */
    FAMILY_STEP,      /* graphics that step up, unannounced */
    FAMILY_HINT,      /* the same, announced by the compositor */
    FAMILY_HEAT,      /* endless work against a temperature */
    FAMILY_DISTURBED, /* the same, with other heat that comes and goes */
    FAMILY_HOT,       /* starts above the target */
    FAMILY_BLIND,     /* sensors that stop, freeze or report nonsense */
    FAMILY_OVERLOAD,  /* 200 clients of 8 users, ten times the capacity */
    FAMILY_MODELS,    /* voice on one model, background on the other */
    FAMILY_FAIR,      /* accounts that always have work */
    FAMILY_DEADLINE,
    FAMILY_IDLE,     /* nothing else uses the chip */
    FAMILY_STARVE,   /* endless voice beside background */
    FAMILY_FAULT,    /* engines are lost or stall */
    FAMILY_CHAOS,    /* a bit of everything */
    FAMILY_SHARE,    /* as fair, with few slots, and prompts and answers of any length */
    FAMILY_CLOCKS,   /* clocks that halve and recover, beside a screen or on a warm chip */
    FAMILY_BURSTS,   /* work in bursts against a temperature */
    FAMILY_TWINS,    /* as fair, on two models */
    FAMILY_UNTOLD,   /* as steady, step and hint, on a GPU that reports no load */
    FAMILY_LOSSES,   /* as share, with engines that are lost */
    FAMILY_ENDLESS,  /* more answers without an end than slots */
    FAMILY_PROMISES, /* one user has many deadlines, others have few */
    FAMILY_STUCK,    /* a sensor that hangs and still answers, and others that grow hotter behind it */
    FAMILY_COUNT,
};

enum pattern {
    PATTERN_VOICE,    /* short turns; some are interrupted and asked again */
    PATTERN_CHAT,     /* turns with pauses for thought */
    PATTERN_DOCUMENT, /* long prompts, one after the other without a pause */
    PATTERN_STORM,    /* asks again as soon as it is refused or served */
    PATTERN_SLOW,     /* reads a few tokens, then nothing for a while */
    PATTERN_COUNT,
};

enum mishap {
    MISHAP_LOST,          /* an engine dies; the row names it */
    MISHAP_STALL,         /* an engine stalls for a while */
    MISHAP_HEAT_GONE,     /* the zone can't be read */
    MISHAP_HEAT_FROZEN,   /* it repeats its last reading */
    MISHAP_HEAT_NONSENSE, /* it reports what can't be true */
    MISHAP_LOAD_GONE,     /* the graphics load can't be read */
    MISHAP_HEAT_STUCK,    /* the zone repeats its last reading and calls it new */
    MISHAP_COUNT,
};

/* The seed chooses among the families before this one. Later ones run only by name, so seeds keep their meaning. */
#define FAMILY_BY_SEED FAMILY_SHARE

#define SCENARIO_ROWS_MAX 8u

struct scenario_run {
    int64_t seed;
    int64_t family;
    int64_t lasts_ms;
    int64_t settle_ms; /* steady state is judged from here on */
    int64_t mutant;    /* mutant.h; 0: none */
};

/* The screen, and what the machine reports of it. */
struct scenario_screen {
    int64_t hz;
    int64_t jitter_permille; /* of the work of a frame */
    int64_t tells;           /* 1: hints when frames grow heavy */
    int64_t app_from_ms;     /* the app's client is new from then on; 0: it was always there */
    int64_t submissions;     /* of a frame, at most 4; 0: one */
    int64_t gap_us;          /* on the cores, between two of them */
    int64_t margin_us;       /* the last would end this long before the scan-out; 0: it does not wait */
    int64_t measures;        /* 1: as the longest of the last frames took; 0: as it would take alone */
    int64_t second_permille; /* of the compositor's part: on a second screen */
    int64_t phase_permille;  /* of the period: by which the second screen is behind the first */
};

/* From @at_ms on, each frame needs this part of its period at the full clock. */
struct scenario_load {
    int64_t at_ms;
    int64_t base_permille; /* the compositor's part */
    int64_t app_permille;  /* the front app's part */
};

struct scenario_chip {
    int64_t cores; /* 1: our work runs on the cores, not on the GPU */
    int64_t part_us;
    int64_t latency_us; /* of a message between sottod and an engine */
    int64_t noise_permille;
    int64_t misjudged_permille; /* initial error of the cost model */
    int64_t submit_us;          /* a submission takes up to this long before its first part */
    int64_t slow_permille;      /* of all steps: they take up to twice their time */
};

struct scenario_clock {
    int64_t at_ms;
    int64_t permille; /* of the highest */
};

/* Memory traffic of others, as a part of the memory's capacity; our parts wait for it. */
struct scenario_traffic {
    int64_t at_ms;
    int64_t permille;
};

struct scenario_engine {
    int64_t fixed_us;
    int64_t prefill_ns;
    int64_t decode_ns;
    int64_t attend_ns;
    int64_t tile_rows;    /* prompt rows are computed in whole tiles of so many; 0: one by one */
    int64_t cached_pages; /* pages of a step beyond these take twice as long; 0: none does */
    int64_t slots;
    int64_t rows;
    int64_t pages;
};

/* Two nodes: the die and what it is mounted on. */
struct scenario_heat {
    int64_t ambient_mc;
    int64_t start_mc;        /* of both nodes; 0: their equilibrium without us */
    int64_t r_die_mk_per_w;  /* die to board */
    int64_t r_case_mk_per_w; /* board to air */
    int64_t tau_die_ms;
    int64_t tau_case_ms;
    int64_t ours_mw;   /* while our work runs */
    int64_t screen_mw; /* while a frame is drawn */
    int64_t target_mc;
    int64_t passive_mc;
    int64_t kept_permille; /* gains kept from an earlier run, of the true ones; 0: the chip is unknown */
};

struct scenario_other {
    int64_t at_ms;
    int64_t mw; /* of all others on the chip */
};

struct scenario_sense {
    int64_t temp_step_mc;
    int64_t temp_delay_ms;
    int64_t temp_period_ms;
    int64_t has_meter;
    int64_t has_load; /* 0: the machine reports no graphics load */
    int64_t has_heat;
};

struct scenario_policy {
    int64_t max_slice_us;
    int64_t headroom_permille;
    int64_t min_share_permille;
    int64_t heat_grace_ms;
    int64_t graphics_grace_ms;
};

struct scenario_clients {
    int64_t pattern;
    int64_t n;
    int64_t n_uids; /* uids of the clients, dealt in turn */
    int64_t first_uid;
    int64_t priority;
    int64_t weight;
    int64_t engine;
    int64_t prompt;
    int64_t answer;
    int64_t think_ms;
    int64_t at_once; /* requests of one client in progress */
    int64_t first_by_ms;
    int64_t finish_by_ms;
    int64_t tokens_a_minute;
    int64_t from_ms;
    int64_t asks;   /* accepted requests after which a client leaves; 0: it stays */
    int64_t leaves; /* 1: a client that is refused does not come back */
};

struct scenario_mishap {
    int64_t kind;
    int64_t at_ms;
    int64_t lasts_ms;
    int64_t engine;
};

struct scenario {
    struct scenario_run run;
    struct scenario_screen screen;
    struct scenario_load loads[SCENARIO_ROWS_MAX];
    struct scenario_chip chip;
    struct scenario_clock clocks[SCENARIO_ROWS_MAX];
    struct scenario_traffic traffic[SCENARIO_ROWS_MAX];
    struct scenario_engine engines[SCENARIO_ROWS_MAX];
    struct scenario_heat heat;
    struct scenario_other others[SCENARIO_ROWS_MAX];
    struct scenario_sense sense;
    struct scenario_policy policy;
    struct scenario_clients clients[SCENARIO_ROWS_MAX];
    struct scenario_mishap mishaps[SCENARIO_ROWS_MAX];
    int64_t n_loads;
    int64_t n_clocks;
    int64_t n_traffic;
    int64_t n_engines;
    int64_t n_others;
    int64_t n_clients;
    int64_t n_mishaps;
};

/* Makes the world of @seed. FAMILY_COUNT: the seed chooses the family as well. */
void scenario_make(struct scenario *scenario, uint64_t seed, enum family family);

void scenario_write(const struct scenario *scenario, FILE *out);

enum scenario_outcome {
    SCENARIO_OK,
    SCENARIO_BAD, /* @diag says which line, and what is wrong */
};

int scenario_read(struct scenario *ret_scenario, FILE *in, struct diag *diag);

/*
 * Makes @scenario simpler in the @nth way (a row less, a number 0 or halved); returns false if that changes nothing.
 * Ways are numbered from 0 to scenario_n_ways() - 1.
 */
bool scenario_simplify(struct scenario *scenario, uint32_t nth);
uint32_t scenario_n_ways(void);

const char *family_name(enum family family);
enum family family_find(const char *name); /* or FAMILY_COUNT */

#endif
