/* FakeDrmNode: open nodes, which both halves of the fake share */
#ifndef SOTTO_TESTS_FAKEDRM_NODE_H
#define SOTTO_TESTS_FAKEDRM_NODE_H

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NODES   32
#define OBJECTS 64

/* An open node. Handles are 1 plus their index. */
struct open_node {
    bool live;
    int fd;
    char file[PATH_MAX];
    char driver[32];
    unsigned minor;
    struct {
        int fd; /* memfd; 0: free */
        ino_t ino;
    } buffers[OBJECTS];
    struct {
        bool live;
        bool signalled;
        uint64_t point;
    } syncs[OBJECTS];
};

extern struct open_node fakedrm_nodes[NODES];
extern pthread_mutex_t fakedrm_lock;

/* The C library's own function of that name. */
#define REAL(name) (__extension__(__typeof__(name) *) dlsym(RTLD_NEXT, #name))

/* Returns the node of @fd, or NULL: it is no fake node. */
struct open_node *fakedrm_node(int fd);

/* Reads the value of @key in the node's file, or "". */
void fakedrm_knob(const char *file, const char *key, char *value, size_t cap);

/* Answers an ioctl as the node's driver would; the lock is held. Returns as ioctl() does. */
int fakedrm_answer(struct open_node *node, unsigned long request, void *arg);

#endif
