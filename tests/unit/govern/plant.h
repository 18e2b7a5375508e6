/*
 * Plant: a chip on a board, and a sensor that reports late and in steps
 *
 * Two nodes: the chip, which our power and others' heats, and the board, through which all of it leaves. The sensor
 * reads once a period, reports what was true some time ago, and rounds it. Time goes in steps of PLANT_STEP_US.
 */
#ifndef SOTTO_GOVERN_PLANT_H
#define SOTTO_GOVERN_PLANT_H

#include <stdbool.h>
#include <stdint.h>

#define PLANT_STEP_US 10000u
#define PLANT_PAST    256u /* steps that the sensor may be late */

enum plant_rounding { PLANT_DOWN, PLANT_NEAREST, PLANT_UP, PLANT_ROUNDINGS };

struct plant {
    /* Properties: degrees Celsius, seconds; resistance in degrees for a full share of ours. */
    double ambient;
    double resistance;
    double chip_part; /* of the resistance, between chip and board */
    double chip_s;    /* time constants */
    double board_s;
    double step; /* of the sensor; 0: exact */
    enum plant_rounding rounding;
    uint64_t late_us;
    uint64_t period_us;

    double others; /* heat of others, in shares of ours */

    /* State. */
    double chip;
    double board;
    double past[PLANT_PAST];
    uint64_t n_steps;
    double reading;
    uint64_t reading_us; /* when it was read */
};

/* Starts both nodes at @temp. */
void plant_start(struct plant *plant, double temp);

/* Advances by one step with this share of ours. */
void plant_step(struct plant *plant, double share);

/* Returns a random number from 0 to below 1, the same for the same seed. */
double plant_chance(uint64_t *seed);

/* Draws a random plant of the kind that daemon/govern/thermostat.c describes, for a target of @target degrees. */
void plant_draw(struct plant *plant, uint64_t *seed, double target);

#endif
