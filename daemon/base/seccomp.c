#include "base/seccomp.h"
#include "base/err.h"
#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define HOST_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define HOST_ARCH AUDIT_ARCH_AARCH64
#endif

#if defined(HOST_ARCH) && !defined(SECCOMP_HAS_SANITIZER)

#define AT(member)          ((uint32_t)offsetof(struct seccomp_data, member))
#define LOAD(member)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(member))
#define IF_IS(value, y, n)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), y, n)
#define IF_HAS(value, y, n) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(value), y, n)
#define RETURN(verdict)     BPF_STMT(BPF_RET | BPF_K, (verdict))
#define REFUSE              (SECCOMP_RET_ERRNO | EPERM)

/* Leaves the number of the call loaded. */
static const struct sock_filter check_arch[] = {
    LOAD(arch),
    IF_IS(HOST_ARCH, 1, 0),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
};

/* Decides mmap and mprotect, and leaves the number of any other call loaded. Both have the protection as third
 * argument; its low half is at the lower address on both architectures. */
static const struct sock_filter check_exec[] = {
    IF_IS(__NR_mmap, 1, 0), IF_IS(__NR_mprotect, 0, 4), LOAD(args[2]), IF_HAS(PROT_EXEC, 0, 1),
    RETURN(REFUSE),         RETURN(SECCOMP_RET_ALLOW),
};

#define HEAD_MAX (sizeof(check_arch) / sizeof(check_arch[0]) + sizeof(check_exec) / sizeof(check_exec[0]))

/* Sets the filter: @filter's first @n_head instructions, then @listed for these calls and @others for all others. */
static int set_filter(struct sock_filter *filter, size_t n_head, const int *calls, size_t n_calls, uint32_t listed,
                      uint32_t others)
{
    struct sock_fprog program = { .filter = filter };
    size_t n = n_head;

    assert(n_calls <= SECCOMP_CALLS_MAX);
    for (size_t i = 0; i < n_calls; i++) {
        filter[n++] = (struct sock_filter)IF_IS(calls[i], 0, 1);
        filter[n++] = (struct sock_filter)RETURN(listed);
    }
    filter[n++] = (struct sock_filter)RETURN(others);
    program.len = (unsigned short)n;
    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0 ? 0
                                                                                                    : err_new(-errno);
}

int seccomp_allow(const int *calls, size_t n)
{
    struct sock_filter filter[HEAD_MAX + 2 * SECCOMP_CALLS_MAX + 1];

    memcpy(filter, check_arch, sizeof(check_arch));
    memcpy((char *)filter + sizeof(check_arch), check_exec, sizeof(check_exec));
    return set_filter(filter, HEAD_MAX, calls, n, SECCOMP_RET_ALLOW, REFUSE);
}

int seccomp_refuse(const int *calls, size_t n)
{
    struct sock_filter filter[HEAD_MAX + 2 * SECCOMP_CALLS_MAX + 1];

    memcpy(filter, check_arch, sizeof(check_arch));
    return set_filter(filter, sizeof(check_arch) / sizeof(check_arch[0]), calls, n, REFUSE, SECCOMP_RET_ALLOW);
}

#else

int seccomp_allow(const int *calls, size_t n)
{
    return 0;
}

int seccomp_refuse(const int *calls, size_t n)
{
    return 0;
}

#endif
