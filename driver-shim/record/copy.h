/*
 * Copy: files, links and faults of one root into a new tree
 *
 * The first fault of writing is kept: later calls do nothing, and the caller checks once at the end. An unreadable file
 * is no fault: it becomes an empty file with a NAME.sotto-errno beside it. Files are written at their real paths, and
 * the links that lead there are copied as links.
 */
#ifndef SOTTO_RECORD_COPY_H
#define SOTTO_RECORD_COPY_H

#include "record/record.h"

/* The longest file: fdinfo of a process with many regions. */
#define COPY_FILE_BYTES 65536u

struct copy {
    const struct root *from;
    int into; /* the new tree's folder */
    struct record *record;
    char *text; /* COPY_FILE_BYTES of room */
    int fault;  /* the first fault of writing; 0: none */
};

/* Writes @n bytes at @path, unless it exists. */
void copy_put(struct copy *copy, const char *path, const void *bytes, size_t n);

/* Makes the folder @path and its parents. */
void copy_put_folder(struct copy *copy, const char *path);

/* Records that opening @path fails with @fault (-errno). */
void copy_put_fault(struct copy *copy, const char *path, int fault, bool is_folder);

/* Makes a link to @target at @path, the folders of which are no links. */
void copy_put_link(struct copy *copy, const char *path, const char *target);

/* Copies the file at @path, or its fault; nothing if there is none. */
void copy_file(struct copy *copy, const char *path);

/*
 * Copies the link at @path, and makes the folder that it leads to, the real path of which is put into @real ("" if
 * none).
 */
void copy_link(struct copy *copy, const char *path, char *real, size_t cap);

/* Copies the files directly in @folder with names that match one of @patterns (fnmatch; NULL-terminated). */
void copy_matching(struct copy *copy, const char *folder, const char *const *patterns);

/* Calls @fn for each name in @folder except "." and ".." and *.sotto-errno. */
typedef void (*copy_fn)(struct copy *copy, const char *folder, const char *name);
void copy_each(struct copy *copy, const char *folder, copy_fn fn);

#endif
