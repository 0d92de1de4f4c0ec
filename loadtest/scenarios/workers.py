"""Very many jobs off the loop are offered at one moment: the pool stays bounded, and others' presence stays on time."""

import threading
import time

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage.client import Client, Mint, frame
from stage.failure import Failure
from stage.stage import Stage
from stage.usage import Usage

NAME = "workers"
ABOUT = "10,000 jobs of 20 ms offered at one moment, again and again: what is refused, and what others' presence notices"
SMALL = {"rounds": 1, "jobs": 2_000, "bursts": 2}
TIME_LIMIT = 900

POOL = "labour"
EVERY = 3
"""Seconds between two bursts."""
CHANGES = 100
"""Changes of others, a second."""
LEAVING = 60
"""Jobs of the connection that closes before it is answered."""
SETTINGS = {
    # One connection offers more at a moment than a client may.
    "PRESENCE_LIMITS_REQUESTS_PER_SECOND": "0", "PRESENCE_LIMITS_USER_REQUESTS_PER_SECOND": "0",
}


def add_flags(parser) -> None:
    parser.add_argument("--jobs", type=int, default=10_000, help="jobs offered at one moment (%(default)s)")
    parser.add_argument("--milliseconds", type=int, default=20, help="of a processor for each (%(default)s)")
    parser.add_argument("--connections", type=int, default=100, help="connections that offer them (%(default)s)")
    parser.add_argument("--bursts", type=int, default=5, help=f"how often, every {EVERY} s (%(default)s)")
    parser.add_argument("--watchers", type=int, default=20, help="who watch the others' changes (%(default)s)")


def run(stage: Stage, options, results) -> None:
    if not stage.binaries.log.exists():
        raise Failure(f"there is no program {stage.binaries.log}: swift build -c release -debug-info-format none --product presence-log")
    case = results.case(f"{options.jobs:,} jobs of {options.milliseconds} ms at one moment", jobs=options.jobs,
                        milliseconds=options.milliseconds)
    measuring.alternate(
        results, case, options.rounds, lambda: workers(stage, options), None,
        {"done": "jobs.done", "refused": "jobs.refused", "waited at most": "jobs.mostQueued",
         "others' p99 ms before": "before.latency.p99", "during": "during.latency.p99",
         "cancelled of those who left": "left.cancelled"})


def workers(stage: Stage, options) -> dict:
    stage.clear()
    redis = stage.redis()
    server = stage.presence(redis, binary=stage.binaries.log, name="presence-log", environment=SETTINGS)
    usage = Usage(server, redis)
    seconds = options.bursts * EVERY
    changes = ["--people", 20, "--watchers", options.watchers, "--rate", CHANGES, "--changes", seconds * CHANGES,
               "--connect-rate", 0]
    before = stage.load("fanout", server, *changes)
    offers = Offers(server, options)
    try:
        offers.start()
        during = stage.load("fanout", server, *changes, every=0.05, sample=offers.look)
        offers.finish()
    finally:
        offers.close()
    failures = before.get("failures", []) + during.get("failures", []) + offers.failures
    found = offers.report()
    if found["refused"] == 0:
        failures.append("no job was refused")
    if found["done"] + found["refused"] != found["offered"]:
        failures.append(f"of {found['offered']:,} jobs {found['done'] + found['refused']:,} were answered")
    gone = left(server, options.milliseconds, failures)
    return {"before": before, "during": during, "jobs": found, "left": gone, "usage": usage.report(),
            "settings": server.settings, "limitsMet": server.limits_met(), "machine": during["machine"],
            "bottlenecks": before["bottlenecks"] + during["bottlenecks"], "failures": failures}


class Offers:
    """Connections that offer all jobs of a burst at one moment, on a thread of their own; answers are counted as bytes."""

    DONE, REFUSED, TIMED = b'"type":"laboured"', b'"code":"unavailable"', b'"retryAfter":'

    def __init__(self, server, options):
        self._server, self._options = server, options
        mint = Mint(server)
        self._sockets = [Client(server, mint, f"offers-{number}").hand_over() for number in range(options.connections)]
        each = options.jobs // options.connections
        self._blob = b"".join(
            frame(f'{{"type":"labour","id":{number},"milliseconds":{options.milliseconds}}}') for number in range(1, each + 1))
        self._each = each
        self._counts = {self.DONE: 0, self.REFUSED: 0, self.TIMED: 0}
        self._rests = [b""] * options.connections
        self._unsent = [b""] * options.connections
        self._offered = 0
        self._most_queued = 0
        self._stops = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failures: list[str] = []

    def start(self) -> None:
        self._thread.start()

    def look(self) -> None:
        self._most_queued = max(self._most_queued, int(jobs(self._server)["queued"]))

    def finish(self) -> None:
        """Waits until every job that was offered is answered."""
        deadline = time.monotonic() + 60
        while self._answered < self._offered and time.monotonic() < deadline and self._thread.is_alive():
            self.look()
            time.sleep(0.05)

    def close(self) -> None:
        self._stops = True
        if self._thread.is_alive():
            self._thread.join()
        for stream in self._sockets:
            stream.close()

    def report(self) -> dict:
        return {"offered": self._offered, "done": self._counts[self.DONE], "refused": self._counts[self.REFUSED],
                "toldWhenToRetry": self._counts[self.TIMED], "mostQueued": self._most_queued,
                "pool": jobs(self._server)}

    @property
    def _answered(self) -> int:
        return self._counts[self.DONE] + self._counts[self.REFUSED]

    def _run(self) -> None:
        began, burst = time.monotonic(), 0
        try:
            while not self._stops:
                # After the others' clients have connected.
                if burst < self._options.bursts and time.monotonic() >= began + 1 + burst * EVERY:
                    burst += 1
                    self._unsent = [rest + self._blob for rest in self._unsent]
                    self._offered += self._each * len(self._sockets)
                busy = [self._serve(number) for number in range(len(self._sockets))]
                if not any(busy):
                    time.sleep(0.002)
        except OSError as failure:
            self.failures.append(f"a connection that offers jobs broke: {failure}")

    def _serve(self, number: int) -> bool:
        stream, moved = self._sockets[number], False
        if self._unsent[number]:
            try:
                sent = stream.send(self._unsent[number])
                self._unsent[number] = self._unsent[number][sent:]
                moved = True
            except BlockingIOError:
                pass
        try:
            data = stream.recv(1 << 16)
        except BlockingIOError:
            return moved
        if not data:
            raise OSError("the server closed it")
        # A needle that is cut stays in the rest; a counted one does not.
        text = self._rests[number] + data
        for needle in self._counts:
            self._counts[needle] += text.count(needle) - self._rests[number].count(needle)
        self._rests[number] = text[-(max(map(len, self._counts)) - 1):]
        return True


def left(server, milliseconds: int, failures: list[str]) -> dict:
    """A connection that offers jobs and closes: its waiting jobs are not run."""
    settle(server)
    before = jobs(server)
    stream = Client(server, Mint(server), "leaves").hand_over()
    stream.sendall(b"".join(
        frame(f'{{"type":"labour","id":{number},"milliseconds":{milliseconds}}}') for number in range(1, LEAVING + 1)))
    deadline = time.monotonic() + 10
    while jobs(server)["queued"] == 0 and time.monotonic() < deadline:
        pass
    stream.close()
    settle(server)
    now = jobs(server)
    found = {name: now[name] - before[name] for name in ("run", "cancelled")}
    if found["cancelled"] == 0 or found["run"] + found["cancelled"] < LEAVING:
        failures.append(f"of {LEAVING} jobs of a connection that went, {found['run']:.0f} ran and "
                        f"{found['cancelled']:.0f} were cancelled")
    return found


def settle(server) -> None:
    deadline = time.monotonic() + 60
    while (now := jobs(server))["queued"] + now["running"] > 0 and time.monotonic() < deadline:
        time.sleep(0.02)


def jobs(server) -> dict[str, float]:
    metrics = server.metrics()
    names = {"queued": "workers_queued", "running": "workers_running", "refused": "workers_refused_total",
             "cancelled": "workers_cancelled_total", "run": "workers_running_seconds_count"}
    return {short: metrics.get(f'{name}{{pool="{POOL}"}}', 0) for short, name in names.items()}


def draw(results):
    drawn, axes = pictures.figure(results, columns=2)
    case = results.cases[0]
    pictures.columns(
        axes[0], [(label, case.values(PRESENCE, f"{figure}.latency.p99")) for figure, label in
                  {"before": "before", "during": "during"}.items()], "Others: change to receipt, p99", "ms", at_most=20)
    pictures.columns(
        axes[1], [(label, case.values(PRESENCE, f"jobs.{figure}")) for figure, label in
                  {"done": "done", "refused": "refused", "mostQueued": "waited\nat most"}.items()], "Jobs", "jobs")
    return drawn
