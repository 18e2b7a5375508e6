#include "engine/harden.h"

#include "base/clean.h"
#include "base/log.h"
#include "base/seccomp.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Added to sottod's score, which is above that of the graphics stack: an engine is rebuilt in a second, a screen is
 * not. */
#define OOM_MORE 300
#define OOM_MAX  1000

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
        return; /* the system forbids it, so the kernel chooses by size */
    }
}

void harden_begin(void)
{
    const struct rlimit none = { 0, 0 };

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    raise_oom_score(); /* before the next call, which makes root the owner of /proc/self */
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

/* The calls that a loaded engine needs: its socket, its memory, its threads, time, and its end. */
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

void harden_narrow(void)
{
    int r = 0;

    /* Without new privileges any user may set a filter, not only root. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        r = seccomp_allow(allowed, COUNTOF(allowed));
    }
    if (r) {
        log_warn("engine", "system calls could not be narrowed: %s", strerrordesc_np(-r));
    }
}
