/*
 * Alarm: a timer that counts microseconds of the boot clock
 *
 * The loop's own timers count milliseconds, which is too coarse for a rest of two, and they stand still while the
 * machine sleeps. The boot clock runs on.
 *
 * The loop's thread.
 */
#ifndef SOTTO_LOOP_ALARM_H
#define SOTTO_LOOP_ALARM_H

#include <stdint.h>
#include <uv.h>

struct alarm {
    uv_poll_t poll;
    int fd;         /* -1: not open */
    uint64_t at_us; /* 0: not set */
    void (*ring)(void *owner);
    void (*closed)(void *owner);
    void *owner;
};

/* Opens the alarm. 0 or a fault: no descriptor is left. */
int alarm_open(struct alarm *alarm);

/* Closes an alarm that was opened and not started; does nothing with fd -1. */
void alarm_drop(struct alarm *alarm);

/* Puts the alarm into the loop; from here on it is closed by alarm_close(). */
void alarm_start(struct alarm *alarm, uv_loop_t *loop, void (*ring)(void *owner), void *owner);

/* Has the alarm ring once at @at_us of the boot clock, at once if that is past; 0: not any more. */
void alarm_set(struct alarm *alarm, uint64_t at_us);

/* Closes the alarm; @closed is called from the loop, last. */
void alarm_close(struct alarm *alarm, void (*closed)(void *owner), void *owner);

#endif
