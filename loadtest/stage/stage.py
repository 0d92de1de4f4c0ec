"""The stage itself: a temporary directory, its processes, and the promise that nothing of either is left."""

import json
import os
import selectors
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Callable

from stage.binaries import Binaries
from stage.cores import Cores
from stage.failure import Failure, Interrupted
from stage.limits import raise_open_files
from stage.neighbours import Neighbours, caution
from stage.processes import Process, Processes
from stage.redis import RedisServer
from stage.servers import BaselineServer, PresenceServer, Server

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stage:
    """Use it in a `with`: at its end, on every path, all processes have ended and the directory is removed."""

    def __init__(self, binaries: Binaries | None, cores: Cores, time_limit: float, settings: dict[str, str] = {}):
        """`settings`: of all our servers, beside their defaults and what a scenario needs."""
        self.binaries = binaries
        self.cores = cores
        self._settings = settings
        self._deadline = time.monotonic() + time_limit
        self._time_limit = time_limit
        self._redis: list[RedisServer] = []
        self._servers: list[Server] = []
        self._made = 0
        self._kept: set[Path] = set()

    def __enter__(self) -> "Stage":
        self.open_files = raise_open_files()
        self.directory = Path(tempfile.mkdtemp(prefix="presence-load."))
        self.processes = Processes(self.directory)
        if self.cores.client is not None:
            os.sched_setaffinity(0, {self.cores.client})
        self._handlers = {number: signal.signal(number, self._interrupt) for number in SIGNALS}
        return self

    def __exit__(self, *exception) -> None:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        try:
            self.clear()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    @staticmethod
    def _interrupt(number: int, _frame) -> None:
        raise Interrupted(number)

    def clear(self) -> None:
        """Ends all that was started, so that the next measurement finds nothing of the last one."""
        for redis in self._redis:
            redis.stop_sync()
        self.processes.end_all()
        for entry in self.directory.iterdir():
            if entry in self._kept:
                continue
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        self._redis.clear()
        self._servers.clear()

    def keep_directory(self, name: str) -> Path:
        """A directory that stays until the stage ends."""
        path = self.directory / name
        path.mkdir()
        self._kept.add(path)
        return path

    # ---- Who is on it ----

    def redis(self, **options) -> RedisServer:
        """Starts a Redis, by default on the core of the clients; if Redis is measured, it has a core to itself."""
        options = {"core": self.cores.redis} | options
        redis = RedisServer(self.processes, self.directory / f"redis-{len(self._redis)}", **options)
        self._redis.append(redis)
        return redis

    def presence(self, redis: RedisServer | None, **options) -> PresenceServer:
        """Starts one of our servers, by default on the servers' core; all of a stage share their secret."""
        options = {"binary": self.binaries.presenced, "core": self.cores.server} | options
        options["environment"] = options.get("environment", {}) | self._settings
        server = PresenceServer(self.processes, data=self.directory / "data", redis=redis, **options)
        self._servers.append(server)
        return server

    def baseline(self) -> BaselineServer:
        server = BaselineServer(self.processes, self.binaries.load, self.cores.server)
        self._servers.append(server)
        return server

    # ---- Loading it ----

    def start_load(self, scenario: str, *arguments, server: Server | None = None, **options) -> Process:
        """Starts `presence-load SCENARIO` on the clients' core; its report is written where ``report`` reads it."""
        self._made += 1
        command = [self.binaries.load, scenario]
        if server is not None:
            command += ["--url", server.url]
        command += ["--data-dir", self.directory / "data", *arguments]
        return self.processes.start(f"load-{scenario}", command, **({"core": self.cores.client} | options))

    def load(
        self, scenario: str, server: Server, *arguments, patience: float = 600,
        every: float = 0.5, sample: Callable[[], None] | None = None, control: "Control | None" = None,
    ) -> dict:
        """Runs `presence-load SCENARIO` against a server to its end and returns its report.

        A report with `failures` is returned like any other. The method adds the other work on the machine (`machine`), and
        for a server of ours its settings and the limits that were met. A met limit fails the run, because only a server that
        serves all requests is to be measured.
        """
        file = self.directory / f"report-{self._made}.json"
        neighbours = Neighbours(self.cpu_seconds)
        with open(self.directory / "load.out", "wb") as output:
            process = self.start_load(scenario, *arguments, "--json", file, server=server, stdout=output)
        status = self.wait(process, patience, every=every, sample=sample, control=control)
        if not file.exists():
            raise Failure(f"presence-load {scenario} ended with {status}:\n{process.last_words()}")
        report = json.loads(file.read_text())
        report["machine"] = neighbours.report()
        report["bottlenecks"] = report.get("bottlenecks", []) + caution(report["machine"])
        if status != 0 and not report.get("failures"):
            report["failures"] = [f"presence-load {scenario} ended with {status}: {process.last_words(5)}"]
        if isinstance(server, PresenceServer):
            report["settings"] = server.settings
            report["limitsMet"] = server.limits_met()
            if report["limitsMet"]:
                report.setdefault("failures", []).append(f"limits of the server were met: {report['limitsMet']}")
        return report

    def cpu_seconds(self) -> float:
        """The processor time of the running processes."""
        return self.processes.cpu_seconds()

    def wait(
        self, process: Process, patience: float, every: float = 0.5, sample: Callable[[], None] | None = None,
        control: "Control | None" = None,
    ) -> int:
        """Waits for a process' end, looking meanwhile that no server died, and serving the control, if any."""
        deadline = min(time.monotonic() + patience, self._deadline)
        ended = os.pidfd_open(process.pid)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(ended, selectors.EVENT_READ)
                if control is not None:
                    selector.register(control.listener, selectors.EVENT_READ)
                while True:
                    for key, _ in selector.select(every):
                        if key.fileobj == ended:
                            return process.popen.wait()
                        control.serve()
                    if sample is not None:
                        sample()
                    self.check()
                    if time.monotonic() > deadline:
                        raise Failure(f"{process.name} had not ended in time; its log ends:\n{process.last_words()}")
        finally:
            os.close(ended)

    def check(self) -> None:
        """Fails if a process of the stage has ended on its own."""
        for server in self._servers:
            if not server.process.is_running:
                status = server.process.popen.returncode
                raise Failure(f"{server.name} ended with {status}:\n{server.process.last_words()}")
        for redis in self._redis:
            if not redis.process.is_running:
                raise Failure(f"redis-server ended:\n{redis.process.last_words()}")
        if time.monotonic() > self._deadline:
            raise Failure(f"the time limit of {self._time_limit:.0f} s is over (--time-limit)")
