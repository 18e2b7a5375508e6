/*
 * List: doubly linked, circular, intrusive
 *
 * A link that is in no list points to itself. A comment at each link says which list it is in:
 *     struct list link;  // queue::jobs
 */
#ifndef SOTTO_BASE_LIST_H
#define SOTTO_BASE_LIST_H

#include "base/clean.h"
#include <stdbool.h>

struct list {
    struct list *prev;
    struct list *next;
};

#define LIST_INIT(head)                                                                                                \
    {                                                                                                                  \
        &(head), &(head)                                                                                               \
    }

static inline void list_init(struct list *list)
{
    list->prev = list;
    list->next = list;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->next == list;
}

/* Inserts @link (in no list) after @at; if @at is a head, @link becomes the first. */
static inline void list_insert(struct list *at, struct list *link)
{
    link->prev = at;
    link->next = at->next;
    at->next->prev = link;
    at->next = link;
}

/* Appends @link (in no list) to the list of @head. */
static inline void list_append(struct list *head, struct list *link)
{
    list_insert(head->prev, link);
}

/* Removes @link from its list; does nothing if it is in none. */
static inline void list_remove(struct list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

/* Returns the first link, or NULL. */
static inline struct list *list_first(const struct list *head)
{
    return head->next == head ? NULL : head->next;
}

#define list_for_each(link, head) for ((link) = (head)->next; (link) != (head); (link) = (link)->next)

/* The body may remove @link, but not @after. */
#define list_for_each_safe(link, after, head)                                                                          \
    for ((link) = (head)->next, (after) = (link)->next; (link) != (head); (link) = (after), (after) = (link)->next)

#endif
