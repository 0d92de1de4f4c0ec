// Preloaded under valgrind 3.19, which writes to the mask that a program gives to sigsuspend(2). Dispatch, which the main
// thread waits in, has its mask in read-only memory, and valgrind itself crashes. A copy on the stack can be written to.

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, 8);  // The kernel's mask is 8 bytes long, whatever C's is.
}
