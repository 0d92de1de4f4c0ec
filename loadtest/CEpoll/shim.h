// Glibc's Swift module lacks epoll and the affinity of threads.
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Lets the calling thread run on one core only. Returns 0, or -1 and errno.
static inline long cepoll_pin(int core)
{
    unsigned long mask[16] = {0};
    unsigned long bits = 8 * sizeof mask[0];
    if (core < 0 || core >= (int)(16 * bits)) return -1;
    mask[core / bits] = 1UL << (core % bits);
    return syscall(SYS_sched_setaffinity, 0, sizeof mask, mask);
}
