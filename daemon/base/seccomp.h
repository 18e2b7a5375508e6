/*
 * Seccomp: which system calls this process may make, for good
 *
 * One classic BPF filter over the number of the call (seccomp(2)), for all threads. A refused call fails with EPERM; a
 * call by the numbers of another architecture kills the process. The caller has set PR_SET_NO_NEW_PRIVS.
 *
 * Nothing is refused in builds with sanitizers, which need calls of their own, and on architectures without a name
 * here.
 */
#ifndef SOTTO_BASE_SECCOMP_H
#define SOTTO_BASE_SECCOMP_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SECCOMP_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SECCOMP_HAS_SANITIZER 1
#endif
#endif

#define SECCOMP_CALLS_MAX 64

/* Allows these @n calls (__NR_x) alone, and mmap and mprotect without PROT_EXEC. 0 or a fault. */
int seccomp_allow(const int *calls, size_t n);

/* Refuses these @n calls. 0 or a fault. */
int seccomp_refuse(const int *calls, size_t n);

#endif
