/*
 * Jinja sorting: a stable merge sort that counts its steps
 */
#ifndef SOTTO_JINJA_JINJA_SORT_H
#define SOTTO_JINJA_JINJA_SORT_H

#include "jinja/jinja_dict.h"

/* Sorts @n pairs by their keys. JINJA_FAILED where two keys have no order. */
int jinja_sort_pairs(struct jinja_run *run, struct jinja_pair *pairs, size_t n, bool reverse);

#endif
