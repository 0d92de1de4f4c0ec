"""Logs without Redis: a fast one with a quick, a slow and an absent reader, and what a delivery costs beside a register's."""

import time

from report import pictures
from report.results import BASELINE, PRESENCE
from scenarios import measuring
from stage import kernel
from stage.binaries import REPOSITORY
from stage.client import Client, Mint, percentiles
from stage.failure import Failure
from stage.neighbours import Neighbours, caution
from stage.readers import Reader, Readers
from stage.usage import Usage

NAME = "log"
ABOUT = "a log with 10,000 entries a second: a quick reader, one that stops for 20 s, one in the background; and a delivery's cost"
SMALL = {"rounds": 1, "seconds": 5, "stopped": 2, "deliveries": 100_000}
TIME_LIMIT = 1_800

LOG = "load"
PEOPLE = 8
"""People who change in turn, to measure the cost of a delivery."""
SETTINGS = {
    "PRESENCE_LIMITS_REQUESTS_PER_SECOND": "0", "PRESENCE_LIMITS_USER_REQUESTS_PER_SECOND": "0",
    # The slow reader answers no pings, and must not be disconnected.
    "PRESENCE_HEARTBEAT_INTERVAL": "600s", "PRESENCE_SLOW_CONSUMER_TIMEOUT": "600s",
}
COST = "serverCPUMicrosecondsPerDelivery"
PEERS = REPOSITORY / "loadtest/peers"
EVERY = 0.25
"""Seconds between looks at the server's memory."""
PATIENCE = 300
"""Seconds after the last entry until all readers must have it."""


def add_flags(parser) -> None:
    parser.add_argument("--rate", type=int, default=10_000, help="entries a second (%(default)s)")
    parser.add_argument("--seconds", type=int, default=60, help="for so long (%(default)s)")
    parser.add_argument("--stopped", type=int, default=20, help="seconds for which the slow reader reads nothing (%(default)s)")
    parser.add_argument("--bytes", type=int, default=150, help="of an entry's text (%(default)s)")
    parser.add_argument("--watchers", type=int, default=1_000, help="who watch, where deliveries are measured (%(default)s)")
    parser.add_argument("--deliveries", type=int, default=500_000, help="deliveries to measure in a round (%(default)s)")


def run(stage, options, results) -> None:
    if not stage.binaries.log.exists():
        raise Failure(f"there is no program {stage.binaries.log}: swift build -c release -debug-info-format none --product presence-log")
    if not 0 < options.stopped <= options.seconds - 2:
        raise Failure("--stopped is at least two seconds less than --seconds")
    readers = results.case(
        f"{options.rate:,} entries a second", rate=options.rate, seconds=options.seconds, stopped=options.stopped)
    measuring.alternate(
        results, readers, options.rounds, lambda: three_readers(stage, options), None,
        {"a second": "entriesPerSecond", "p50 ms": "quickMilliseconds.p50", "p99 ms": "quickMilliseconds.p99",
         "server µs an entry": "serverCPUMicrosecondsPerEntry", "KB for the slow one": "slow.userKB",
         "its socket KB": "slow.socketKB", "missed KB": "slow.missedKB"})
    fanned = results.case(f"an entry to {options.watchers:,}", watchers=options.watchers)
    measuring.alternate(
        results, fanned, options.rounds, lambda: deliveries(stage, options),
        (lambda: baseline(stage, options)) if options.baseline else None,
        {"entry µs a delivery": f"entry.{COST}", "register": f"register.{COST}", "ratio": "entryToRegister"})


def started(stage):
    stage.clear()
    redis = stage.redis()
    return stage.presence(redis, binary=stage.binaries.log, name="presence-log", environment=SETTINGS), redis


# ---- Three readers ----

def three_readers(stage, options) -> dict:
    server, redis = started(stage)
    mint = Mint(server)
    clients = {name: Client(server, mint, name) for name in ("quick", "slow", "background")}
    for client in clients.values():
        client.ask("watchLog", log=LOG)
    readers = {name: Reader(name, client.hand_over(), LOG) for name, client in clients.items()}
    crowd = Readers(list(readers.values()))
    neighbours = Neighbours(stage.cpu_seconds)
    usage = Usage(server, redis)
    with Client(server, mint, "starter") as starter:
        entries = options.rate * options.seconds
        answer, = starter.ask("run", log=LOG, rate=options.rate, entries=entries, bytes=options.bytes)
    course = Course(server, crowd, readers, options, began=answer["began"] / 1e6, entries=entries)
    try:
        course.run()
    finally:
        crowd.close()
    stage.check()
    used = usage.report()
    failures = [failure for reader in readers.values() for failure in reader.failures]
    failures += [f"the {reader.name} reader has {reader.last:,} of {entries:,} entries"
                 for reader in readers.values() if reader.last != entries]
    failures += course.failures()
    limits = server.limits_met()
    failures += [f"limits of the server were met: {limits}"] if limits else []
    report = course.report() | {
        "entries": entries, "serverCPUMicrosecondsPerEntry": 1e6 * used["serverCPUSeconds"] / entries,
        # To three readers each, including entries that were computed again from their numbers.
        COST: 1e6 * used["serverCPUSeconds"] / (3 * entries),
        "usage": used, "settings": server.settings, "limitsMet": limits, "machine": neighbours.report(), "failures": failures}
    return report | {"bottlenecks": caution(report["machine"])}


class Course:
    """The entries of one run as its readers take them: at a sixth of the time the slow one stops, for so long as asked."""

    def __init__(self, server, crowd: Readers, readers: dict[str, Reader], options, began: float, entries: int):
        self.server, self.crowd, self.readers, self.options = server, crowd, readers, options
        self.began, self.entries = began, entries
        self.stops_at = began + options.seconds / 6
        self.resumes_at = self.stops_at + options.stopped
        self.ends_at = began + options.seconds
        self.slow_port = readers["slow"].socket.getsockname()[1]
        self.slow_is_back_at = 0.0
        self.samples: list[dict] = []
        self.looks_at = began
        self.made = 0.0
        self.slow_missed = self.background_missed = 0
        self.all_have_it_at = 0.0
        self.before: dict = {}

    def run(self) -> None:
        slow, background = self.readers["slow"], self.readers["background"]
        background.say('{"type":"activity","state":"background"}')
        is_through = False
        while not all(reader.last >= self.entries for reader in self.readers.values()):
            now = time.monotonic()
            if now > self.ends_at + PATIENCE:
                return
            self.crowd.take(min(0.05, max(0.001, self.looks_at - now)), self.readers["quick"],
                            (self.began, 1 / self.options.rate))
            if not self.before and now >= self.stops_at:
                self.before = self.look(now)
                self.crowd.pause(slow)
            elif self.before and not slow.is_reading and not self.slow_missed and now >= self.resumes_at:
                self.look(now)
                self.slow_missed = self.readers["quick"].last - slow.last
                self.crowd.resume(slow)
            elif self.slow_missed and not self.slow_is_back_at:
                # The quick reader reads as entries arrive.
                if self.readers["quick"].last - slow.last < self.options.rate / 10:
                    self.slow_is_back_at = now
            if not self.made and self.readers["quick"].last >= self.entries:
                self.made = now
            if self.made and not is_through:
                is_through = True
                self.background_missed = self.entries - background.last
                background.say('{"type":"activity","state":"active"}')
            if now >= self.looks_at:
                self.look(now)
        self.all_have_it_at = time.monotonic()

    def look(self, now: float) -> dict:
        metrics = self.server.metrics()
        sample = {
            "second": now - self.began, "isSlow": not self.readers["slow"].is_reading,
            "userBytes": kernel.user_memory(self.server.pid), "socketBytes": kernel.queued(self.slow_port),
            **{name: metrics.get(name, 0) for name in ("log_entries", "log_bytes", "outbox_bytes", "log_catch_ups_total")}}
        self.samples.append(sample)
        self.looks_at = now + EVERY
        return sample

    def failures(self) -> list[str]:
        """A reader that was never slow, or never away, has measured nothing."""
        found = []
        if self.slow_missed < self.options.rate * self.options.stopped // 2:
            found.append(f"the slow reader missed only {self.slow_missed:,} entries")
        if self.background_missed < self.entries * 9 // 10:
            found.append(f"the reader in the background missed only {self.background_missed:,} entries")
        return found

    def report(self) -> dict:
        stopped = [sample for sample in self.samples if sample["isSlow"]] or [self.before]
        quick = self.readers["quick"]
        size = self.options.bytes + len(f'{{"type":"entry","log":"{LOG}","number":{self.entries},"text":""}}') + 4

        def most(figure: str) -> float:
            return max(sample[figure] for sample in stopped) - self.before[figure]

        return {
            "entriesPerSecond": quick.last / max(1e-9, self.made - self.began) if self.made else 0,
            "quickMilliseconds": percentiles(list(quick.lateness)) if quick.lateness else {},
            "slow": {
                "missedEntries": self.slow_missed, "missedKB": self.slow_missed * size / 1024,
                "userKB": most("userBytes") / 1024, "socketKB": most("socketBytes") / 1024,
                "outboxKB": most("outbox_bytes") / 1024, "caughtUpSeconds": self.slow_is_back_at - self.resumes_at},
            "background": {
                "missedEntries": self.background_missed, "caughtUpSeconds": self.all_have_it_at - self.made},
            "ringEntries": max(sample["log_entries"] for sample in self.samples),
            "ringKB": max(sample["log_bytes"] for sample in self.samples) / 1024,
            "catchUps": self.samples[-1]["log_catch_ups_total"], "samples": self.samples}


# ---- A delivery ----

def deliveries(stage, options) -> dict:
    """One change at a time: of a log, then of a register, by the same clients on a server of the same kind."""
    entry, register = (fanned(stage, options, peer) for peer in ("log", "value"))
    return {
        "entry": entry, "register": register, "entryToRegister": entry[COST] / register[COST],
        "settings": entry["settings"], "limitsMet": entry["limitsMet"] | register["limitsMet"], "machine": entry["machine"],
        "bottlenecks": entry["bottlenecks"] + register["bottlenecks"],
        "failures": entry.get("failures", []) + register.get("failures", [])}


def fanned(stage, options, peer: str) -> dict:
    server, _ = started(stage)
    return stage.load("fanout", server, *flags(options), "--peer", PEERS / f"{peer}.json", "--server-pid", server.pid)


def baseline(stage, options) -> dict:
    report = measuring.baseline_round(stage, "fanout", *flags(options))
    # Beside each of the two.
    return {"entry": report, "register": report, "machine": report["machine"], "bottlenecks": report["bottlenecks"],
            "failures": report.get("failures", [])}


def flags(options) -> list:
    return ["--watchers", options.watchers, "--people", PEOPLE, "--connect-rate", 0,
            "--changes", max(10, options.deliveries // options.watchers), "--message-bytes", options.bytes + 50]


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    readers, fanned = results.cases[0], results.cases[-1]
    pictures.columns(
        axes[0], [(label, readers.values(PRESENCE, f"quickMilliseconds.{label}")) for label in ("p50", "p99")],
        "The quick reader: due to receipt", "ms")
    pictures.columns(
        axes[1], [(label, readers.values(PRESENCE, f"slow.{figure}")) for label, figure in
                  {"missed": "missedKB", "server": "userKB", "its socket": "socketKB"}.items()],
        "While the slow reader stops: more than before", "KB")
    pictures.columns(
        axes[2], [(label, fanned.values(subject, f"{kind}.{COST}")) for label, subject, kind in
                  (("entry", PRESENCE, "entry"), ("register", PRESENCE, "register"), ("baseline", BASELINE, "entry"))],
        "Server CPU a delivery", "µs")
    return drawn
