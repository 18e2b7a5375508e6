/*
 * Plant: a chip on a board, and a sensor that tells of it late and in steps
 *
 * Two nodes: the chip, which our watts and others' heat, and the board, through which all of it leaves. The sensor
 * reads once a period, says what was true some time ago, and rounds it. Time goes in steps of PLANT_STEP_US.
 */
#ifndef SOTTO_GOVERN_PLANT_H
#define SOTTO_GOVERN_PLANT_H

#include <stdbool.h>
#include <stdint.h>

#define PLANT_STEP_US 10000u
#define PLANT_PAST    256u /* steps that the sensor may be late */

enum plant_rounding { PLANT_DOWN, PLANT_NEAREST, PLANT_UP, PLANT_ROUNDINGS };

struct plant {
    /* What it is. Degrees Celsius, seconds; resistance in degrees for a full share of ours. */
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

    /* How it is. */
    double chip;
    double board;
    double past[PLANT_PAST];
    uint64_t n_steps;
    double reading;
    uint64_t reading_us; /* when it was read */
};

/* At rest at @temp for both nodes. */
void plant_start(struct plant *plant, double temp);

/* One step with that share of ours. */
void plant_step(struct plant *plant, double share);

/* Numbers by chance: the same for the same seed. From 0 to below 1. */
double plant_chance(uint64_t *seed);

/* One drawn by chance, of the kind that daemon/sched/thermostat.c speaks of, for a target of @target degrees. */
void plant_draw(struct plant *plant, uint64_t *seed, double target);

#endif
