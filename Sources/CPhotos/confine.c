// The rights of the decoding process: compute, read and write what is open, and exit. Any other system call ends it. So
// a picture that takes over a decoder gains nothing: no file, no socket, no other process.
#include "photos.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the system calls of this architecture are unknown"
#endif

enum { memory_bytes = 768 * 1024 * 1024 };

/// The size of the memory that the program has mapped already, above all its libraries.
static rlim_t mapped(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%lu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static bool limit_between(int resource, rlim_t soft, rlim_t most)
{
    struct rlimit limits = { soft, most };
    return setrlimit((__rlimit_resource_t)resource, &limits) == 0;
}

static bool limit(int resource, rlim_t most)
{
    return limit_between(resource, most, most);
}

/// At the soft limit the kernel sends SIGXCPU, which ends the process and shows the cause; at the hard limit SIGKILL,
/// which has other causes too.
static bool limit_cpu(int seconds)
{
    return limit_between(RLIMIT_CPU, (rlim_t)seconds, (rlim_t)seconds + 1);
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), ALLOW
/// Allows calls that map memory, but not as executable. (The lower half of the third argument: the byte order is
/// little-endian.)
#define ALLOW_MAPPING(name) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 4), LOAD(args[2]), \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), KILL, ALLOW

// At the process' end AddressSanitizer asks for the signal stack. Shipped programs do not have it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ALLOW_SANITIZER ALLOW_CALL(sigaltstack),
#endif
#endif
#ifndef ALLOW_SANITIZER
#define ALLOW_SANITIZER
#endif

bool confine(int cpu_seconds)
{
    rlim_t memory = mapped() + memory_bytes;
    if (!limit(RLIMIT_AS, memory) || !limit_cpu(cpu_seconds) || !limit(RLIMIT_NOFILE, 0)
        || !limit(RLIMIT_FSIZE, 0) || !limit(RLIMIT_NPROC, 0) || !limit(RLIMIT_CORE, 0))
        return false;
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCHITECTURE, 1, 0),
        KILL,
        LOAD(nr),
        ALLOW_CALL(read),
        ALLOW_CALL(write),
        ALLOW_CALL(brk),
        ALLOW_CALL(munmap),
        ALLOW_CALL(mremap),
        ALLOW_CALL(madvise),
        ALLOW_CALL(rt_sigreturn),
        ALLOW_CALL(exit),
        ALLOW_CALL(exit_group),
        ALLOW_SANITIZER
        ALLOW_MAPPING(mmap),
        ALLOW_MAPPING(mprotect),
        KILL,
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
