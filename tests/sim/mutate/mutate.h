/*
 * Mutate: all mutants of the scheduler and the governor in one program
 *
 * schemata.py writes these calls into copies of the sources, which are compiled with this file before the first line.
 * Each place has one or two numbers, from 1 on. At most one mutant is on in a process; with none, nothing differs.
 */
#ifndef SOTTO_SIM_MUTATE_H
#define SOTTO_SIM_MUTATE_H

#include <stdbool.h>

#define MUTATE_MOST 8192u

/* The mutant that is on, from the environment's SOTTO_MUTANT; 0: none. */
extern unsigned mutate_id;

/* Whether a mutant would have had another value than sotto where it was asked. */
extern unsigned char mutate_differs[MUTATE_MOST];

/* Returns @value, true if mutant @id is on, false if the one after it is. */
static inline bool mutate_if(unsigned id, bool value)
{
    mutate_differs[id + value] = 1;
    return mutate_id - id < 2 ? mutate_id == id : value;
}

/* Returns @value, or its opposite if mutant @id is on. */
static inline bool mutate_not(unsigned id, bool value)
{
    mutate_differs[id] = 1;
    return value != (mutate_id == id);
}

/* Returns 1 if mutant @id is on, 2 if the one after it is, otherwise 0. */
static inline unsigned mutate_way(unsigned id)
{
    mutate_differs[id] = 1;
    mutate_differs[id + 1] = 1;
    return mutate_id - id < 2 ? mutate_id - id + 1 : 0;
}

/* The constant @value, halved or doubled by the two mutants from @id on. */
#define MUTATE_VALUE(id, value) (mutate_way(id) == 0 ? (value) : mutate_way(id) == 1 ? (value) / 2 : (value)*2)

#endif
