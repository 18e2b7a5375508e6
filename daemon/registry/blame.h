/*
 * Blame: who crashed the engine?
 *
 * The sequences of the step (or of the opening) that was under way when an engine was lost become suspects. A
 * suspect runs alone; the others go on together. Losing the engine under a suspect that runs alone is charged to its
 * request; after the second time the request fails and its account's next requests are suspects for a while. A
 * suspect is cleared by BLAME_CLEAR_TOK tokens sampled alone.
 *
 * A SIGKILL that sottod did not send is charged to no request, unless it comes again and again: the kernel kills for
 * memory, too, and a request that takes it all would else take down every engine that is started for it. From the
 * BLAME_STRANGERS-th on that finds the same request under way, without BLAME_CLEAR_TOK tokens of it in between, a
 * SIGKILL is a crash like any other.
 *
 * Each guilty request costs all others an engine, twice. So its account pays: from the second one on, while it is still
 * a suspect, nothing is computed for it for a time that doubles with each (blame_bar_us).
 *
 * What is charged to no request counts against the device: BLAME_DEVICE_CRASHES of those in a minute.
 * When a request turns out to be guilty, the crash that made it a suspect is taken off the device's account again:
 * a request that always crashes is no fault of the device.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_REGISTRY_BLAME_H
#define SOTTO_REGISTRY_BLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLAME_STRIKES        2u
#define BLAME_CLEAR_TOK      16u
#define BLAME_STRANGERS      3u
#define BLAME_DEVICE_CRASHES 3u
#define BLAME_MINUTE_US      60000000ull
#define BLAME_ACCOUNT_US     300000000ull /* how long the account of a guilty request stays suspect */
#define BLAME_BAR_US         10000000ull  /* that an account waits after its second guilty request; then twice that */
#define BLAME_KEPT           8u           /* crashes remembered: more in a minute can't be, with the pauses */

/* What is held against one request; zeroed at its beginning. */
struct blame_mark {
    bool suspect;
    uint8_t n_strikes;
    uint8_t n_strangers;  /* SIGKILLs of others that found it under way */
    uint32_t n_tok;       /* sampled since the last one of them */
    uint32_t n_alone_tok; /* sampled alone since it became a suspect */
    uint64_t crash;       /* that made it one; 0: its account's past did */
};

/* What is held against an engine's device. */
struct blame {
    struct {
        uint64_t crash; /* its number, 0: free */
        uint64_t at_us;
    } kept[BLAME_KEPT];
    uint64_t n_crashes;
};

struct blame_verdict {
    struct blame_mark *charged; /* the request that it was, or NULL */
    bool fails;                 /* that request has struck out */
    bool device;                /* too many crashes that were no request's */
    uint32_t n_recent;          /* crashes charged to nobody in the last minute, with this one */
};

/*
 * An engine was lost at @now_us with the @n requests @marks in the step or the openings under way. @stranger: by a
 * SIGKILL that was not sottod's.
 */
void blame_crash(struct blame *blame, struct blame_mark *const *marks, size_t n, bool stranger, uint64_t now_us,
                 struct blame_verdict *ret_verdict);

/* A request of an account that is suspect begins. */
void blame_suspect(struct blame_mark *mark);

/* How long an account waits after its @n_guilty-th guilty request; 0: not at all. */
uint64_t blame_bar_us(uint32_t n_guilty);

/* @n_tok tokens were sampled for a request, @alone: in a step of its own. True: it is no suspect any more. */
bool blame_served(struct blame_mark *mark, uint32_t n_tok, bool alone);

#endif
