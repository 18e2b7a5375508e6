/*
 * Copy: files, links and faults of one root into a new tree
 *
 * The first fault of writing sticks: later calls do nothing, and the caller looks once at the end. What can't be
 * read is no fault: it becomes an empty file with a NAME.sotto-errno beside it. Things lie at their real paths, and
 * the links that lead there are made as they are.
 */
#ifndef SOTTO_RECORD_COPY_H
#define SOTTO_RECORD_COPY_H

#include "record/record.h"

/* The longest file: fdinfo of a process with many regions. */
#define COPY_FILE_BYTES 65536u

struct copy {
    const struct root *from;
    int into; /* folder of the new tree */
    struct record *record;
    char *text; /* COPY_FILE_BYTES of room */
    int fault;  /* the first of writing; 0 */
};

/* Writes @n bytes at @path, once: what is there already stays. */
void copy_put(struct copy *copy, const char *path, const void *bytes, size_t n);

/* Makes the folder @path and those above it. */
void copy_put_folder(struct copy *copy, const char *path);

/* Writes that @path can't be opened for @fault (-errno). @is_folder: it is one. */
void copy_put_fault(struct copy *copy, const char *path, int fault, bool is_folder);

/* Makes a link at @path, below folders without links, that says @target. */
void copy_put_link(struct copy *copy, const char *path, const char *target);

/* The file at @path, or its fault; nothing if there is none. */
void copy_file(struct copy *copy, const char *path);

/* The link at @path as it is, with the folder that it leads to, whose real path is put into @real ("" if none). */
void copy_link(struct copy *copy, const char *path, char *real, size_t cap);

/* The files directly in @folder with names that match one of @patterns (fnmatch; NULL ends them). */
void copy_matching(struct copy *copy, const char *folder, const char *const *patterns);

/* Names in @folder, each handed to @fn, without "." and "..", and without the marks of a tree. */
typedef void (*copy_fn)(struct copy *copy, const char *folder, const char *name);
void copy_each(struct copy *copy, const char *folder, copy_fn fn);

#endif
