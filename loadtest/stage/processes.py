"""The processes of a run: started pinned to a core, watched, and ended whatever happens, their children too."""

import ctypes
import os
import select
import signal
import subprocess
import time
from pathlib import Path

from stage import kernel
from stage.failure import Failure

PR_SET_CHILD_SUBREAPER = 36


class Process:
    """One process that we started; its standard error is in a file of the stage's directory."""

    def __init__(self, name: str, popen: subprocess.Popen, log: Path):
        self.name = name
        self.popen = popen
        self.log = log

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def is_running(self) -> bool:
        return self.popen.poll() is None

    def cpu_seconds(self) -> float:
        return kernel.cpu_seconds(self.pid)

    def read_line(self, patience: float) -> str:
        """The next line of its standard output, which must come within so many seconds."""
        deadline = time.monotonic() + patience
        line = bytearray()
        descriptor = self.popen.stdout.fileno()
        # Not select(), which takes descriptors below 1,024 only.
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while not line.endswith(b"\n"):
            ready = poll.poll(max(0, deadline - time.monotonic()) * 1_000)
            byte = os.read(descriptor, 1) if ready else b""
            if not byte:
                why = "ended" if ready else f"said nothing within {patience:.0f} s"
                raise Failure(f"{self.name} {why}; the end of its log:\n{self.last_words()}")
            line += byte
        return line.decode().strip()

    def last_words(self, lines: int = 20) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""

    def end(self, patience: float = 20) -> int:
        """Asks it to end, makes it end after so many seconds, and returns its status (negative: the signal)."""
        if self.is_running:
            self.popen.send_signal(signal.SIGTERM)
            try:
                self.popen.wait(patience)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.popen.returncode

    def kill(self) -> None:
        if self.is_running:
            self.popen.kill()
        self.popen.wait()


class Processes:
    """All processes of a stage, in the order of their starts."""

    def __init__(self, directory: Path):
        self.directory = directory
        self._started: list[Process] = []
        self._names: dict[str, int] = {}
        # Read before the stage pins itself to a core, which its children would inherit.
        self._all_cores = ",".join(str(core) for core in sorted(os.sched_getaffinity(0)))
        # Orphans of our children become our children, so that end_all finds them.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def start(self, name: str, command: list[str], *, core: int | None = None, **options) -> Process:
        """Starts a command; only from the main thread, whose end the kernel takes for ours."""
        # If we are killed without time to clean up, the kernel kills our children.
        prefix = ["setpriv", "--pdeathsig", "KILL"]
        prefix += ["taskset", "--cpu-list", self._all_cores if core is None else str(core)]
        count = self._names[name] = self._names.get(name, 0) + 1
        log = self.directory / f"{name}-{count}.log"
        with open(log, "wb") as errors:
            popen = subprocess.Popen(
                prefix + [str(word) for word in command], stdin=options.pop("stdin", subprocess.DEVNULL),
                stdout=options.pop("stdout", subprocess.PIPE), stderr=errors,
                # Ctrl-C in the terminal reaches us alone; we end the others in order.
                start_new_session=True, **options)
        process = Process(name, popen, log)
        self._started.append(process)
        return process

    def cpu_seconds(self) -> float:
        """The processor time of the running processes."""
        return sum(process.cpu_seconds() for process in self._started if process.is_running)

    def end_all(self) -> None:
        """Ends the newest first, since clients were started after servers and these after Redis; then leftovers."""
        for process in reversed(self._started):
            process.end()
            for stream in (process.popen.stdout, process.popen.stdin):
                if stream:
                    try:
                        stream.close()
                    except OSError:
                        pass  # The last output of an ended process.
        self._started.clear()
        self._end_leftovers()

    def kill_all(self) -> None:
        """Ends everything at once: for crowds whose goodbyes would take longer than the test."""
        for process in self._started:
            if process.is_running:
                process.popen.kill()

    def _end_leftovers(self) -> None:
        # Ending one may pass its children on to us: repeat as long as there is one.
        while children := self._children():
            for pid in children:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    @staticmethod
    def _children() -> list[int]:
        path = Path(f"/proc/{os.getpid()}/task")
        return [int(pid) for task in path.iterdir() for pid in (task / "children").read_text().split()]
