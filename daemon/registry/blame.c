#include "registry/blame.h"
#include "base/num.h"

/* Forgets what is older than a minute; returns how many are left. */
static uint32_t sweep(struct blame *blame, uint64_t now_us)
{
    uint32_t n = 0;

    for (size_t i = 0; i < BLAME_KEPT; i++) {
        if (blame->kept[i].crash != 0 && now_us - blame->kept[i].at_us >= BLAME_MINUTE_US) {
            blame->kept[i].crash = 0;
        }
        n += blame->kept[i].crash != 0;
    }
    return n;
}

/* Remembers a crash that is charged to no request, in place of the oldest. */
static void keep(struct blame *blame, uint64_t crash, uint64_t now_us)
{
    size_t oldest = 0;

    for (size_t i = 0; i < BLAME_KEPT; i++) {
        if (blame->kept[i].crash < blame->kept[oldest].crash) {
            oldest = i;
        }
    }
    blame->kept[oldest].crash = crash;
    blame->kept[oldest].at_us = now_us;
}

static void acquit_device(struct blame *blame, uint64_t crash)
{
    for (size_t i = 0; i < BLAME_KEPT; i++) {
        if (blame->kept[i].crash == crash) {
            blame->kept[i].crash = 0;
        }
    }
}

/* Counts the kill for all requests that it found under way. Returns true if for one of them it was one too many. */
static bool is_no_stranger(struct blame_mark *const *marks, size_t n)
{
    bool too_many = false;

    for (size_t i = 0; i < n; i++) {
        marks[i]->n_tok = 0;
        if (marks[i]->n_strangers < BLAME_STRANGERS) {
            marks[i]->n_strangers++;
        }
        too_many = too_many || marks[i]->n_strangers == BLAME_STRANGERS;
    }
    return too_many;
}

void blame_crash(struct blame *blame, struct blame_mark *const *marks, size_t n, bool stranger, uint64_t now_us,
                 struct blame_verdict *ret_verdict)
{
    uint64_t crash = ++blame->n_crashes;

    *ret_verdict = (struct blame_verdict){ 0 };
    sweep(blame, now_us);
    stranger = stranger && !is_no_stranger(marks, n);
    if (!stranger && n == 1 && marks[0]->suspect) {
        struct blame_mark *mark = marks[0];

        mark->n_strikes++;
        mark->n_alone_tok = 0;
        if (mark->crash != 0) {
            acquit_device(blame, mark->crash);
            mark->crash = 0;
        }
        ret_verdict->charged = mark;
        ret_verdict->fails = mark->n_strikes >= BLAME_STRIKES;
        ret_verdict->n_recent = sweep(blame, now_us);
        return;
    }
    keep(blame, crash, now_us);
    for (size_t i = 0; i < n && !stranger; i++) {
        if (!marks[i]->suspect) {
            marks[i]->suspect = true;
            marks[i]->crash = crash;
        }
    }
    ret_verdict->n_recent = sweep(blame, now_us);
    ret_verdict->device = ret_verdict->n_recent >= BLAME_DEVICE_CRASHES;
}

void blame_suspect(struct blame_mark *mark)
{
    *mark = (struct blame_mark){ .suspect = true };
}

uint64_t blame_bar_us(uint32_t n_guilty)
{
    uint64_t bar_us = BLAME_BAR_US;

    for (uint32_t i = 2; i < n_guilty && bar_us < BLAME_ACCOUNT_US; i++) {
        bar_us *= 2;
    }
    return n_guilty < 2 ? 0 : num_min(bar_us, BLAME_ACCOUNT_US);
}

bool blame_served(struct blame_mark *mark, uint32_t n_tok, bool alone)
{
    mark->n_tok += n_tok;
    if (mark->n_tok >= BLAME_CLEAR_TOK) {
        mark->n_strangers = 0;
    }
    if (!mark->suspect || !alone) {
        return false;
    }
    mark->n_alone_tok += n_tok;
    if (mark->n_alone_tok < BLAME_CLEAR_TOK) {
        return false;
    }
    *mark = (struct blame_mark){ 0 };
    return true;
}
