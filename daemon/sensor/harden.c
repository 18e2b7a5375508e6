#include "sensor/harden.h"
#include "base/clean.h"
#include "base/log.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sanitizers inspect the process from outside when it ends. */
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

#if defined(HOST_ARCH) && !defined(HAS_SANITIZER)

/*
 * System calls that run programs, write into other processes, or reach files by other means than the paths opened here.
 */
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

#define AT(member) ((uint32_t)offsetof(struct seccomp_data, member))

static const struct sock_filter head[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, HOST_ARCH, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(nr)),
};

#undef AT

static void forbid_calls(void)
{
    struct sock_filter filter[COUNTOF(head) + 2 * COUNTOF(forbidden) + 1];
    struct sock_fprog program = { .filter = filter };
    size_t n = COUNTOF(head);

    memcpy(filter, head, sizeof(head));
    for (size_t i = 0; i < COUNTOF(forbidden); i++) {
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)forbidden[i], 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = (unsigned short)n;
    if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
        log_warn("sensor", "system calls could not be narrowed: %s", strerrordesc_np(errno));
    }
}

#else

static void forbid_calls(void)
{
}

#endif

void harden(bool is_child)
{
    const struct rlimit none = { 0, 0 };

    if (is_child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    setrlimit(RLIMIT_CORE, &none);
#ifndef HAS_SANITIZER
    prctl(PR_SET_DUMPABLE, 0);
#endif
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        forbid_calls();
    }
}

bool harden_sees_others(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    return syscall(__NR_capget, &header, data) == 0 &&
           (data[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE)) != 0;
}
