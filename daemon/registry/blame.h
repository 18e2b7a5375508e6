/*
 * Blame: which request crashed the engine?
 *
 * The sequences of the step (or of the opening) that was under way when an engine was lost become suspects. A suspect
 * runs alone; the others go on together. Losing the engine under a suspect that runs alone is charged to its request;
 * after the second time the request fails and its account's next requests are suspects for a while. A suspect is
 * cleared by BLAME_CLEAR_TOK tokens sampled alone.
 *
 * A SIGKILL that sottod did not send is charged to no request, unless it comes again and again: the kernel kills for
 * memory, too, and a request that takes it all would else take down every engine that is started for it. From the
 * BLAME_STRANGERS-th SIGKILL on that finds the same request under way, without BLAME_CLEAR_TOK tokens of it in between,
 * it is a crash like any other.
 *
 * Each guilty request costs all others an engine, twice. So its account pays: from the second one on, while it is still
 * a suspect, nothing is computed for it for a time that doubles with each (blame_bar_us).
 *
 * Crashes that are charged to no request count against the device: BLAME_DEVICE_CRASHES of them in a minute. When a
 * request turns out to be guilty, the crash that made it a suspect is taken off the device's account again: a request
 * that always crashes is no fault of the device.
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
#define BLAME_BAR_US         10000000ull  /* wait of an account after its second guilty request; then twice that */
#define BLAME_KEPT           8u           /* crashes remembered: the pauses allow no more in a minute */

/* The suspicion against one request; zeroed at its beginning. */
struct blame_mark {
    bool suspect;
    uint8_t n_strikes;
    uint8_t n_strangers;  /* SIGKILLs by others that found it under way */
    uint32_t n_tok;       /* sampled since the last one of them */
    uint32_t n_alone_tok; /* sampled alone since it became a suspect */
    uint64_t crash;       /* that made it a suspect; 0: its account's past did */
};

/* The crashes of an engine's device. */
struct blame {
    struct {
        uint64_t crash; /* its number, 0: free */
        uint64_t at_us;
    } kept[BLAME_KEPT];
    uint64_t n_crashes;
};

struct blame_verdict {
    struct blame_mark *charged; /* the guilty request, or NULL */
    bool fails;                 /* that request is to fail */
    bool device;                /* too many crashes that were no request's */
    uint32_t n_recent;          /* crashes charged to no request in the last minute, with this one */
};

/*
 * Judges the loss of an engine at @now_us, with the requests of @n @marks in the step or the openings under way.
 * @stranger: by a SIGKILL that sottod did not send.
 */
void blame_crash(struct blame *blame, struct blame_mark *const *marks, size_t n, bool stranger, uint64_t now_us,
                 struct blame_verdict *ret_verdict);

/* Makes a request suspect at its beginning, for its account. */
void blame_suspect(struct blame_mark *mark);

/* Returns how long an account waits after its @n_guilty-th guilty request; 0: not at all. */
uint64_t blame_bar_us(uint32_t n_guilty);

/* Notes that @n_tok tokens were sampled for a request, @alone: in a step of its own. Returns true if it is no suspect
 * any more. */
bool blame_served(struct blame_mark *mark, uint32_t n_tok, bool alone);

#endif
