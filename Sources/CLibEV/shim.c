#define _GNU_SOURCE
#include "shim.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static _Thread_local struct ev_loop *current;

struct ev_loop *clibev_current(void) { return current; }

void clibev_set_current(struct ev_loop *loop) { current = loop; }

void clibev_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

#if __has_feature(thread_sanitizer)
// ThreadSanitizer does not know pthread_clockjoin_np, and assumes that the thread still runs.
bool clibev_join_thread(pthread_t thread, int64_t until) {
    struct timespec now, pause = {.tv_nsec = 1000000};
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec * 1000000000ll + now.tv_nsec >= until) return false;
        nanosleep(&pause, NULL);
    }
    return true;
}
#else
bool clibev_join_thread(pthread_t thread, int64_t until) {
    struct timespec end = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end) == 0;
}
#endif

void clibev_reserve_memory(void)
{
    // Below the size for which glibc calls mmap. Memory freed at the heap's end is returned, but its pages stay
    // writable.
    enum { pieces = 600, size = 100 << 10 };
    void **first = NULL, **last = NULL;
    for (int count = 0; count < pieces; count++) {
        void **piece = malloc(size);
        if (!piece)
            break;
        *piece = NULL;
        if (last)
            *last = piece;
        else
            first = piece;
        last = piece;
    }
    // Frees the first piece first: only the last one joins them to the heap's free end, so glibc trims the heap once,
    // not 600 times.
    while (first) {
        void **next = *first;
        free(first);
        first = next;
    }
}
