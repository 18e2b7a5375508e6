/*
 * Jinja lists: sorting, and attributes by path, as filters of sequences share them
 */
#ifndef SOTTO_JINJA_JINJA_LIST_H
#define SOTTO_JINJA_JINJA_LIST_H

#include "jinja/jinja_value.h"

/* value.a.b for the path "a.b", and value[0] for 0 or "0". */
int jinja_get_path(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *path,
                   struct jinja_value *ret);

/* What @item is compared by: what lies at @path (absent or none: itself), in small letters unless @case_sensitive. */
int jinja_sort_key(struct jinja_run *run, const struct jinja_value *item, const struct jinja_value *path,
                   bool case_sensitive, struct jinja_value *ret);

/* A new list. Stable. */
int jinja_sort(struct jinja_run *run, const struct jinja_list *list, const struct jinja_value *path,
               bool case_sensitive, bool reverse, struct jinja_value *ret);

/* The pairs of @dict as tuples. */
int jinja_dict_items(struct jinja_run *run, const struct jinja_dict *dict, enum jinja_flavour flavour,
                     struct jinja_value *ret);

#endif
