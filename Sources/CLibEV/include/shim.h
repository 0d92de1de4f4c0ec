/// libev for Swift: its header, and functions where libev offers only macros.
#pragma once
#include <ev.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

// ev_init and its like are macros, which Swift does not import. Each also stores `data`. The caller owns `data` and
// controls its lifetime.

static inline void clibev_timer_init(
    ev_timer *watcher, void (*callback)(struct ev_loop *, ev_timer *, int), void *data)
{
    ev_timer_init(watcher, callback, 0., 0.);
    watcher->data = data;
}

static inline void clibev_async_init(
    ev_async *watcher, void (*callback)(struct ev_loop *, ev_async *, int), void *data)
{
    ev_async_init(watcher, callback);
    watcher->data = data;
}

static inline void clibev_prepare_init(
    ev_prepare *watcher, void (*callback)(struct ev_loop *, ev_prepare *, int), void *data)
{
    ev_prepare_init(watcher, callback);
    watcher->data = data;
}

/// A check watcher of the highest priority: it is called before every other watcher of the turn.
static inline void clibev_check_init_first(
    ev_check *watcher, void (*callback)(struct ev_loop *, ev_check *, int), void *data)
{
    ev_check_init(watcher, callback);
    ev_set_priority(watcher, EV_MAXPRI);
    watcher->data = data;
}

static inline void clibev_io_init(
    ev_io *watcher, void (*callback)(struct ev_loop *, ev_io *, int), int fd, int events, void *data)
{
    ev_io_init(watcher, callback, fd, events);
    watcher->data = data;
}

/// Like `clibev_io_init`, for a descriptor that has been watched since it was opened: libev informs epoll only of
/// changes. (With `clibev_io_init` it informs epoll once more, since the number might belong to another file.)
static inline void clibev_io_init_watched(
    ev_io *watcher, void (*callback)(struct ev_loop *, ev_io *, int), int fd, int events, void *data)
{
    ev_io_init(watcher, callback, fd, events);
    // Without what ev_io_set has added: that the descriptor may be a new one (EV__IOFDSET).
    watcher->events = events;
    watcher->data = data;
}

/// Like `clibev_io_init`, but called before all others that watch the same descriptor.
static inline void clibev_io_init_first(
    ev_io *watcher, void (*callback)(struct ev_loop *, ev_io *, int), int fd, int events, void *data)
{
    clibev_io_init(watcher, callback, fd, events, data);
    ev_set_priority(watcher, EV_MAXPRI);
}

static inline bool clibev_timer_is_active(const ev_timer *watcher) { return ev_is_active(watcher); }

static inline void clibev_timer_set(ev_timer *watcher, double after, double repeat)
{
    ev_timer_set(watcher, after, repeat);
}

/// The loop that the calling thread runs, or NULL. Defined out of line, so that Swift's optimizer must call it again
/// after every `await`. It may reuse the result of `pthread_self()` (declared const) after an `await`, on another
/// thread.
struct ev_loop *clibev_current(void);
void clibev_set_current(struct ev_loop *loop);

/// Lets the calling thread's allocations grow by 60 MB without a system call each. Except in the first thread, glibc
/// grows the heap by a page at a time, with a call of mprotect for each. The function itself uses up no memory.
void clibev_reserve_memory(void);

/// Names the calling thread, in at most 15 bytes (pthread_setname_np is not imported).
void clibev_name_thread(const char *name);

/// Waits for a thread's end until CLOCK_MONOTONIC reaches `until`, in ns. Returns whether it has ended; it is then
/// joined.
bool clibev_join_thread(pthread_t thread, int64_t until);
