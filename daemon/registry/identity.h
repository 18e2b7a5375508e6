/*
 * Identity: what names a file's content, as far as that is known without reading it
 */
#ifndef SOTTO_REGISTRY_IDENTITY_H
#define SOTTO_REGISTRY_IDENTITY_H

#include <stdbool.h>
#include <sys/stat.h>

struct identity {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime;
};

static inline struct identity identity_of(const struct stat *stat)
{
    return (struct identity){
        .dev = stat->st_dev,
        .ino = stat->st_ino,
        .size = stat->st_size,
        .mtime = stat->st_mtim,
    };
}

static inline bool identity_is_same(const struct identity *a, const struct identity *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
           a->mtime.tv_nsec == b->mtime.tv_nsec;
}

#endif
