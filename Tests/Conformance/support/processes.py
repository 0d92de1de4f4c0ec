"""Processes that the tests start, and checks that none of them is left."""

import contextlib
import ctypes
import os
import shutil
import signal
import time


WITH_PARENT = ["setpriv", "--pdeathsig", "TERM", "--"]
"""Before a command: the same without a copy of this process, which takes as long as a start."""


def end_with_parent():
    """In a child, before it runs: it gets a signal when its parent process dies, for any reason."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def find(needle):
    """Ids of the living processes whose command line or working directory names `needle` (a temporary directory)."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read().decode(errors="replace")
            # (The kernel's own threads have none.)
            if command and (needle in command or needle in os.readlink(f"/proc/{entry}/cwd")) and is_alive(entry):
                found.append(int(entry))
        except OSError:
            continue
    return found


def is_alive(process):
    with open(f"/proc/{process}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


def children(parent):
    """Ids of the living children of a process."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                state, mother = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z" and int(mother) == parent:
            found.append(int(entry))
    return found


@contextlib.contextmanager
def on_processors_of_their_own(parent):
    """Gives the last processor to a process and its children, and the others to the tests, so that its work after an
    answer does not delay their reads. With one processor this does nothing."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        yield
        return
    for process in [parent, *children(parent)]:
        run_on(process, processors[-1:])
    run_on(os.getpid(), processors[:-1])
    try:
        yield
    finally:
        run_on(os.getpid(), processors)


def run_on(process, processors):
    for thread in os.listdir(f"/proc/{process}/task"):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread), processors)


def gone(needle, within):
    """Waits until no process names `needle`; returns those that are left at the end."""
    deadline = time.monotonic() + within
    while (left := find(needle)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def sweep(directory):
    """Ends whatever a test left behind in its directory, and removes the directory."""
    left = find(directory)
    for process in left:
        for number in (signal.SIGCONT, signal.SIGKILL):
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass
    if left:
        gone(directory, within=5)
    shutil.rmtree(directory, ignore_errors=True)
