#include "sensor/harden.h"
#include "base/clean.h"
#include "base/log.h"
#include "base/seccomp.h"
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Ways to run something, to write into others, or to reach files past the paths that are opened here. */
static const int forbidden[] = {
    __NR_execve,
    __NR_execveat,
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_kcmp,
    __NR_open_by_handle_at,
    __NR_bpf,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_setns,
    __NR_unshare,
    __NR_init_module,
    __NR_finit_module,
    __NR_kexec_load,
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    __NR_userfaultfd,
    __NR_pidfd_open,
    __NR_pidfd_send_signal,
};

void harden(bool is_child)
{
    const struct rlimit none = { 0, 0 };
    int r = 0;

    if (is_child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    setrlimit(RLIMIT_CORE, &none);
#ifndef SECCOMP_HAS_SANITIZER /* sanitizers inspect the process from outside when it ends */
    prctl(PR_SET_DUMPABLE, 0);
#endif
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        r = seccomp_refuse(forbidden, COUNTOF(forbidden));
    }
    if (r) {
        log_warn("sensor", "system calls could not be narrowed: %s", strerrordesc_np(-r));
    }
}

bool harden_sees_others(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    return syscall(__NR_capget, &header, data) == 0 &&
           (data[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE)) != 0;
}
