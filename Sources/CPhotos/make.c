// The server's side: starts the decoding process and reads its output.
#define _GNU_SOURCE
#include "photos.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/// The process inherits the picture and the pipe, and nothing else of the server: no other descriptor, no environment
/// except the libraries' path, no ignored signal.
static int spawn(const char *program, int input, int output, pid_t *process)
{
    char libraries[4096];
    char *environment[2] = { NULL, NULL };
    const char *path = getenv("LD_LIBRARY_PATH");
    if (path && snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", path) < (int)sizeof libraries)
        environment[0] = libraries;
    char *arguments[] = { (char *)"presenced", (char *)photo_worker_name, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    int error = posix_spawn(process, program, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/// Reads until the output ends, the room is full or the time is over. Returns whether the output ended.
static bool read_all(int output, int timeout, uint8_t *room, size_t most, size_t *count)
{
    int64_t deadline = now() + timeout;
    for (;;) {
        int64_t left = deadline - now();
        struct pollfd wait = { .fd = output, .events = POLLIN };
        if (left <= 0 || *count == most)
            return false;
        if (poll(&wait, 1, (int)left) < 0 && errno != EINTR)
            return false;
        if (wait.revents == 0)
            continue;
        ssize_t came = read(output, room + *count, most - *count);
        if (came < 0 && errno == EINTR)
            continue;
        if (came <= 0)
            return came == 0;
        *count += (size_t)came;
    }
}

static size_t number(const uint8_t *bytes)
{
    return bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
}

struct photo_result photo_make(const char *program, int input, int timeout, uint8_t *room)
{
    enum { head = 8, most = head + 2 * photo_most_bytes };
    struct photo_result result = { .outcome = photo_failed };
    int pipes[2];
    pid_t process;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return result;
    int error = spawn(program, input, pipes[1], &process);
    close(pipes[1]);
    if (error != 0) {
        close(pipes[0]);
        return result;
    }
    size_t count = 0;
    bool is_whole = read_all(pipes[0], timeout, room, most, &count);
    close(pipes[0]);
    if (!is_whole && count < most)
        kill(process, SIGKILL);
    int status = 0;
    struct rusage used = { 0 };
    while (wait4(process, &status, 0, &used) < 0 && errno == EINTR)
        ;
    result.cpu_milliseconds = (int)((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000
                                    + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000 + 1);
    if (WIFSIGNALED(status)) {
        result.outcome = photo_killed;
        result.signal = WTERMSIG(status);
    } else if (WEXITSTATUS(status) == photo_not_an_image) {
        result.outcome = photo_not_an_image;
    } else if (WEXITSTATUS(status) == photo_done && count >= head) {
        result.picture = number(room);
        result.thumbnail = number(room + 4);
        if (result.picture <= photo_most_bytes && result.thumbnail <= photo_most_bytes
            && count == head + result.picture + result.thumbnail)
            result.outcome = photo_done;
    }
    return result;
}

int photo_confined(int cpu_seconds, void (*act)(void))
{
    pid_t process = fork();
    if (process == 0) {
        // As in `spawn`.
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (!confine(cpu_seconds))
            _exit(photo_failed);
        act();
        _exit(photo_done);
    }
    int status = -1;
    while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}
