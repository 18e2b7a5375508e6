#include "engine/harden.h"

#include "base/clean.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Above sottod, which is above the graphics stack: an engine is rebuilt in a second, a screen is not. */
#define OOM_MORE 300
#define OOM_MAX  1000

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#if defined(__x86_64__)
#define HOST_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define HOST_ARCH AUDIT_ARCH_AARCH64
#endif

static void raise_oom_score(void)
{
    cleanup(fd_closep) int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    char text[16] = "";
    int score;
    int n;

    if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) <= 0 || sscanf(text, "%d", &score) != 1) {
        return;
    }
    score = score + OOM_MORE < OOM_MAX ? score + OOM_MORE : OOM_MAX;
    n = snprintf(text, sizeof(text), "%d", score);
    if (pwrite(fd, text, (size_t)n, 0) != n) {
        return; /* a system that forbids it: then the kernel chooses by size */
    }
}

void harden_begin(void)
{
    const struct rlimit none = { 0, 0 };

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    raise_oom_score(); /* before the next call, which gives /proc/self to root */
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

#if defined(HOST_ARCH) && !defined(HAS_SANITIZER)

/* What a loaded engine calls: its socket, its memory, its threads, time, and its end. */
static const int allowed[] = {
    __NR_read,
    __NR_write,
    __NR_pread64,
    __NR_recvfrom,
    __NR_recvmsg,
    __NR_sendto,
    __NR_sendmsg,
    __NR_ppoll,
    __NR_close,
    __NR_fstat,
    __NR_lseek,
    __NR_fcntl,
    __NR_munmap,
    __NR_mremap,
    __NR_madvise,
    __NR_brk,
    __NR_mincore,
    __NR_futex,
    __NR_set_robust_list,
    __NR_clone,
    __NR_exit,
    __NR_exit_group,
    __NR_sched_yield,
    __NR_sched_getaffinity,
    __NR_sched_setaffinity,
    __NR_getcpu,
    __NR_membarrier,
    __NR_clock_gettime,
    __NR_clock_nanosleep,
    __NR_nanosleep,
    __NR_gettimeofday,
    __NR_restart_syscall,
    __NR_rt_sigaction,
    __NR_rt_sigprocmask,
    __NR_rt_sigreturn,
    __NR_tgkill,
    __NR_getpid,
    __NR_gettid,
    __NR_getrandom,
    __NR_getrusage,
    __NR_prctl,
#ifdef __NR_poll
    __NR_poll,
#endif
#ifdef __NR_clone3
    __NR_clone3,
#endif
#ifdef __NR_rseq
    __NR_rseq,
#endif
};

#define AT(member)          ((uint32_t)offsetof(struct seccomp_data, member))
#define LOAD(member)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(member))
#define IF_IS(value, y, n)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), y, n)
#define IF_HAS(value, y, n) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(value), y, n)
#define GIVE(verdict)       BPF_STMT(BPF_RET | BPF_K, (verdict))

/* mmap and mprotect have the protection as third argument; its low half is at the lower address on both machines. */
static const struct sock_filter head[] = {
    LOAD(arch),
    IF_IS(HOST_ARCH, 1, 0),
    GIVE(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    IF_IS(__NR_mmap, 1, 0),
    IF_IS(__NR_mprotect, 0, 4),
    LOAD(args[2]),
    IF_HAS(PROT_EXEC, 0, 1),
    GIVE(SECCOMP_RET_ERRNO | EPERM),
    GIVE(SECCOMP_RET_ALLOW),
};

/* The number is still loaded here. Each allowed call is a comparison and its answer. */
static void narrow_calls(void)
{
    struct sock_filter filter[COUNTOF(head) + 2 * COUNTOF(allowed) + 1];
    struct sock_fprog program = { .filter = filter };
    size_t n = COUNTOF(head);

    memcpy(filter, head, sizeof(head));
    for (size_t i = 0; i < COUNTOF(allowed); i++) {
        filter[n++] = (struct sock_filter)IF_IS(allowed[i], 0, 1);
        filter[n++] = (struct sock_filter)GIVE(SECCOMP_RET_ALLOW);
    }
    filter[n++] = (struct sock_filter)GIVE(SECCOMP_RET_ERRNO | EPERM);
    program.len = (unsigned short)n;
    if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
        log_warn("engine", "system calls could not be narrowed: %s", strerrordesc_np(errno));
    }
}

#undef AT
#undef LOAD
#undef IF_IS
#undef IF_HAS
#undef GIVE

#else

static void narrow_calls(void)
{
}

#endif

void harden_narrow(void)
{
    /* Not for root alone: a filter may be set by anybody who can gain nothing by exec any more. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        narrow_calls();
    }
}
