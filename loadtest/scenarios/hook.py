"""Messages that a hook decides about: what its answer costs, and what others notice while it is gone and refuses everything."""

import base64
import os
import threading
import time

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage.client import Client, Mint, frame
from stage.neighbours import Neighbours, caution
from stage.outside import Outside
from stage.usage import Usage

NAME = "hook"
ABOUT = "a hook that is asked before each message: its cost for the server; and 10,000 messages a second while it is gone"
SMALL = {"rounds": 1, "duration": 4, "rate": 300, "flood": 2_000}
ROUNDS = 3
TIME_LIMIT = 1_200

CHANGES = 100
"""Changes of others, a second."""
EVERY = 0.05
"""Seconds between two messages, or groups of them, of one connection."""
TEXT = ("message " * 8)[:60]


def add_flags(parser) -> None:
    parser.add_argument("--rate", type=int, default=1_000, help="messages a second that it allows (%(default)s)")
    parser.add_argument("--answer", type=float, default=5, help="ms until it answers (%(default)s)")
    parser.add_argument("--duration", type=float, default=10, help="seconds of each part (%(default)s)")
    parser.add_argument("--flood", type=int, default=10_000, help="messages a second while it is gone (%(default)s)")
    parser.add_argument("--connections", type=int, default=100, help="people who write them (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(
        f"{options.rate:,} messages a second, and {options.flood:,} without the hook's answer", rate=options.rate,
        answer=options.answer, flood=options.flood)
    measuring.alternate(
        results, case, options.rounds, lambda: hook(stage, options), None,
        {"server µs a message without": "without.serverCPUMicrosecondsPerMessage",
         "with": "with.serverCPUMicrosecondsPerMessage", "more": "more.serverCPUMicroseconds",
         "Redis µs more": "more.redisCPUMicroseconds", "answered p50 ms": "with.answerMilliseconds.p50",
         "while it is gone, answered a second": "gone.answeredPerSecond", "others' p99 ms before": "before.latency.p99",
         "during": "during.latency.p99"})


def hook(stage, options) -> dict:
    without, having = allowed(stage, options, False), allowed(stage, options, True)
    more = {f"{who}CPUMicroseconds": having[f"{who}CPUMicrosecondsPerMessage"] - without[f"{who}CPUMicrosecondsPerMessage"]
            for who in ("server", "redis")}
    return {"without": without, "with": having, "more": more} | refused(stage, options, without, having)


# ---- It allows ----

def allowed(stage, options, is_asked: bool) -> dict:
    """Messages of `presence-load messages`, with the hook or without."""
    stage.clear()
    settings = {}
    if is_asked:
        service = Outside(stage, "hook", wait=options.answer, status=200, body='{"action":"allow"}')
        settings = asking(stage, service.url)
    redis = stage.redis()
    server = stage.presence(redis, environment=settings)
    usage = Usage(server, redis)
    found = stage.load(
        "messages", server, "--conversations", 200, "--members", 2, "--rate", options.rate, "--duration", options.duration,
        "--server-pid", server.pid, "--redis-pid", redis.process.pid)
    return found | {"usage": usage.report()}


def asking(stage, url: str) -> dict[str, str]:
    """The settings of a server that asks there."""
    secret = stage.directory / "hook.secret"
    secret.write_text("whsec_" + base64.b64encode(os.urandom(32)).decode())
    secret.chmod(0o600)
    return {"PRESENCE_HOOKS_BEFORE_MESSAGE_URL": f"{url}/check",
            "PRESENCE_HOOKS_BEFORE_MESSAGE_SECRET_FILE": str(secret)}


# ---- Without an answer ----

def refused(stage, options, *earlier: dict) -> dict:
    """A flood of messages that are all refused, beside others who change and watch."""
    stage.clear()
    gone = Outside(stage, "hook")
    settings = asking(stage, gone.url) | {"PRESENCE_HOOKS_BEFORE_MESSAGE_ON_FAILURE": "refuse"}
    gone.process.kill()
    redis = stage.redis()
    server = stage.presence(redis, environment=settings)
    changes = ["--people", 20, "--watchers", 20, "--rate", CHANGES, "--changes", int(options.duration * CHANGES),
               "--connect-rate", 0]
    before = stage.load("fanout", server, *changes)
    flood = Flood(server, options)
    usage, neighbours = Usage(server, redis), Neighbours(stage.cpu_seconds)
    try:
        flood.start()
        during = stage.load("fanout", server, *changes)
        flood.finish()
    finally:
        flood.close()
    machine = neighbours.report()
    failures = [failure for found in (*earlier, before, during) for failure in found.get("failures", [])] + flood.failures
    found = flood.report()
    if found["stored"]:
        failures.append(f"{found['stored']:,} messages were stored without a decision")
    return {"before": before, "during": during, "gone": found, "usage": usage.report(), "machine": machine,
            "settings": server.settings, "limitsMet": server.limits_met(), "bottlenecks": caution(machine), "failures": failures}


class Flood:
    """Connections of many people that write by the clock, on a thread of their own; answers are counted as bytes."""

    REFUSED, LATER, STORED = b'"code":"refused"', b'"code":"unavailable"', b'{"type":"sent"'

    def __init__(self, server, options):
        mint = Mint(server)
        self._seconds = options.duration + 1
        self._each = options.flood / options.connections * EVERY
        self._streams, self._frames = [], []
        for number in range(options.connections):
            client = Client(server, mint, f"flood-{number}")
            made, = client.ask("createConversation", participants=[f"flood-{number + 1}"])
            self._streams.append(client.hand_over())
            count = int(options.flood / options.connections * self._seconds)
            self._frames.append([frame(
                f'{{"type":"send","id":{place + 10},"conversation":"{made["conversation"]["id"]}",'
                f'"message":{{"id":"m{number}-{place}","text":"{TEXT}"}}}}') for place in range(count)])
        self._counts = {self.REFUSED: 0, self.LATER: 0, self.STORED: 0}
        self._rests = [b""] * options.connections
        self._unsent = [b""] * options.connections
        self._stops = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failures: list[str] = []

    def start(self) -> None:
        self._began = time.monotonic()
        self._thread.start()

    def finish(self) -> None:
        """Waits until every message is answered."""
        self._thread.join(timeout=120)
        if self._thread.is_alive():
            self.failures.append(f"of {self._offered:,} messages {self._answered:,} were answered")

    def close(self) -> None:
        self._stops = True
        if self._thread.is_alive():
            self._thread.join()
        for stream in self._streams:
            stream.close()

    def report(self) -> dict:
        return {"offered": self._offered, "refused": self._counts[self.REFUSED], "toldToTryLater": self._counts[self.LATER],
                "stored": self._counts[self.STORED], "answeredPerSecond": self._answered / self._ended}

    @property
    def _offered(self) -> int:
        return sum(map(len, self._frames))

    @property
    def _answered(self) -> int:
        return sum(self._counts.values())

    def _run(self) -> None:
        begun = 0.0
        try:
            while not self._stops and self._answered < self._offered:
                passed = time.monotonic() - self._began
                if begun < self._seconds and passed >= begun:
                    first, end = round(begun / EVERY * self._each), round((begun / EVERY + 1) * self._each)
                    for number, frames in enumerate(self._frames):
                        self._unsent[number] += b"".join(frames[first:end])
                    begun += EVERY
                for number in range(len(self._streams)):
                    self._serve(number)
                time.sleep(0.002)
            self._ended = time.monotonic() - self._began
        except OSError as failure:
            self.failures.append(f"a connection that writes broke: {failure}")
            self._ended = time.monotonic() - self._began

    def _serve(self, number: int) -> None:
        stream = self._streams[number]
        if self._unsent[number]:
            try:
                self._unsent[number] = self._unsent[number][stream.send(self._unsent[number]):]
            except BlockingIOError:
                pass
        try:
            data = stream.recv(1 << 16)
        except BlockingIOError:
            return
        if not data:
            raise OSError("the server closed it")
        # A needle that is cut stays in the rest; a counted one does not.
        text = self._rests[number] + data
        for needle in self._counts:
            self._counts[needle] += text.count(needle) - self._rests[number].count(needle)
        self._rests[number] = text[-(max(map(len, self._counts)) - 1):]


def draw(results):
    drawn, axes = pictures.figure(results, columns=2)
    case = results.cases[0]
    pictures.columns(
        axes[0], [(label, case.values(PRESENCE, figure)) for figure, label in
                  {"without.serverCPUMicrosecondsPerMessage": "server\nwithout", "with.serverCPUMicrosecondsPerMessage": "with",
                   "without.redisCPUMicrosecondsPerMessage": "Redis\nwithout", "with.redisCPUMicrosecondsPerMessage": "with"}.items()],
        "CPU of a message", "µs")
    pictures.columns(
        axes[1], [(label, case.values(PRESENCE, f"{figure}.latency.p99")) for figure, label in
                  {"before": "before", "during": "while it is gone"}.items()],
        "Others: change to receipt, p99", "ms", at_most=20)
    return drawn
