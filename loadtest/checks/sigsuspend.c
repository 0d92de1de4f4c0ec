// Preloaded under valgrind 3.19, which writes to the mask that a program passes to sigsuspend(2). The main thread waits
// in Dispatch, whose mask is in read-only memory, so valgrind itself crashes. A copy on the stack can be written to.

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, 8);  // The kernel's mask is 8 bytes long, whatever C's is.
}
