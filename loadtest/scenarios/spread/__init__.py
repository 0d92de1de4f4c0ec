"""A message to a conversation of 10 whose members are on 8 servers, beside a status that the same 10 watch."""

import statistics
import time

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from scenarios.spread.members import Crowd
from scenarios.spread.writing import MESSAGE, REGISTER, Writing
from stage.neighbours import Neighbours, caution

NAME = "spread"
ABOUT = "messages to conversations of 10 over 8 servers, and statuses to the same people: what they cost those who only push"
SMALL = {"rounds": 1, "duration": 4, "conversations": 20, "rate": 200}
TIME_LIMIT = 1_800

MEMBERS = 10
ORDER = (MESSAGE, REGISTER, REGISTER, MESSAGE)
"""The stretches of a round: what changes in the course of one hits both alike."""


def add_flags(parser) -> None:
    parser.add_argument("--servers", type=int, default=8, help="servers of one shard; who writes is on the first (%(default)s)")
    parser.add_argument("--conversations", type=int, default=100, help="conversations of 10 people (%(default)s)")
    parser.add_argument("--rate", type=float, default=500, help="messages, and then statuses, a second (%(default)s)")
    parser.add_argument("--duration", type=float, default=10, help="seconds of each of the four stretches (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(f"{options.servers} servers, {options.rate:g} a second", servers=options.servers,
                        conversations=options.conversations, members=MEMBERS, rate=options.rate)
    measuring.alternate(
        results, case, options.rounds, lambda: spread(stage, options), None,
        {"µs where a message is only pushed": "message.pushingCPUMicroseconds",
         "where a status is": "register.pushingCPUMicroseconds", "ratio": "messageToRegister.pushingCPUMicroseconds",
         "all servers": "messageToRegister.serverCPUMicroseconds",
         "Redis' µs in PUBLISH for a message": "message.redisPublishMicroseconds",
         "for a status": "register.redisPublishMicroseconds"})


class Clocks:
    """The processor time so far of the first server, which writes, of the others, which only push, and of Redis."""

    def __init__(self, servers, redis):
        self.seconds = time.monotonic()
        used = [server.process.cpu_seconds() for server in servers]
        told = dict(pair.split("=") for pair in redis.info("commandstats").get("cmdstat_publish", "calls=0,usec=0").split(","))
        self.figures = {
            "writingCPU": used[0] * 1e6, "pushingCPU": sum(used[1:]) * 1e6, "redisCPU": redis.process.cpu_seconds() * 1e6,
            # Only the command itself, by Redis' own clock: Redis writes to its subscribers' sockets later.
            "redisPublish": float(told["usec"]), "redisPublishes": float(told["calls"])}

    def since(self, before: "Clocks") -> tuple[float, dict[str, float]]:
        return self.seconds - before.seconds, {name: value - before.figures[name] for name, value in self.figures.items()}


def spread(stage, options) -> dict:
    stage.clear()
    redis = stage.redis()
    servers = [stage.presence(redis) for _ in range(options.servers)]
    crowd = Crowd(servers, options.conversations, MEMBERS)
    failures: list[str] = []
    stretches: dict[str, list[dict]] = {MESSAGE: [], REGISTER: []}
    used: list[tuple[str, float, dict]] = []
    first = 1
    # Waits until the after-effects of connecting are over, and each path was used once.
    for kind in (MESSAGE, REGISTER):
        first = write(crowd, kind, first, options.rate, 1, failures)[0]
    neighbours = Neighbours(stage.cpu_seconds)
    before = Clocks(servers, redis)
    rest(crowd, options.duration)
    seconds, quiet = Clocks(servers, redis).since(before)
    for kind in ORDER:
        before = Clocks(servers, redis)
        first, report = write(crowd, kind, first, options.rate, options.duration, failures)
        stretches[kind].append(report)
        used.append((kind, *Clocks(servers, redis).since(before)))
    report = {kind: summary(stretches[kind], [each[1:] for each in used if each[0] == kind], seconds, quiet)
              for kind in stretches}
    met = [server.limits_met() for server in servers]
    if any(met):
        failures.append(f"limits of the servers were met: {[each for each in met if each]}")
    machine = neighbours.report()
    crowd.close()
    return report | {
        "messageToRegister": {name: report[MESSAGE][name] / value for name, value in report[REGISTER].items()
                              if name.endswith("Microseconds") and value},
        "quiet": {"seconds": seconds} | {f"{name}Share": value / 1e6 / seconds for name, value in quiet.items()
                                        if name.endswith("CPU")},
        "machine": machine, "bottlenecks": caution(machine), "settings": servers[0].settings, "failures": failures[:20]}


def write(crowd, kind: str, first: int, rate: float, seconds: float, failures: list[str]) -> tuple[int, dict]:
    """A stretch; the number of the next one's first, and the report."""
    writing = Writing(crowd, kind, first)
    writing.run(rate, seconds)
    failures += writing.failures
    return first + writing.made, writing.report()


def rest(crowd, seconds: float) -> None:
    """Nothing is written; pings are answered."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        for _ in crowd.listen(left):
            pass


def summary(reports: list[dict], used: list[tuple[float, dict]], rested: float, quiet: dict[str, float]) -> dict:
    """Microseconds for each that was written, without those that the same time costs when nothing is."""
    made = sum(report["made"] for report in reports)
    seconds = sum(each[0] for each in used)
    costs = {name: (sum(each[1][name] for each in used) - value / rested * seconds) / made for name, value in quiet.items()}
    publishes = costs.pop("redisPublishes")
    return {f"{name}Microseconds": cost for name, cost in costs.items()} | {
        "serverCPUMicroseconds": costs["writingCPU"] + costs["pushingCPU"],
        "redisPublishes": publishes, "made": made, "received": sum(report["received"] for report in reports),
        "eventBytes": statistics.mean(report["eventBytes"] for report in reports),
        "sentLateMilliseconds": max(report["sentLateMilliseconds"] for report in reports),
        "receiptMilliseconds": {name: statistics.mean(report["receiptMilliseconds"][name] for report in reports)
                                for name in ("p50", "p99") if all(report["receiptMilliseconds"] for report in reports)}}


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    case = results.cases[0]

    def columns(axis, figures: dict[str, str], title: str, unit: str, **bounds) -> None:
        pictures.columns(axis, [(label, case.values(PRESENCE, figure)) for figure, label in figures.items()], title, unit,
                         **bounds)

    both = {MESSAGE: "a message", REGISTER: "a status"}
    columns(axes[0], {f"{kind}.pushingCPUMicroseconds": label for kind, label in both.items()},
            "Servers that only push it", "µs of CPU")
    columns(axes[1], {"messageToRegister.pushingCPUMicroseconds": "message ÷ status"}, "The same, the ratio", "×", at_most=1.2)
    columns(axes[2], {f"{kind}.{figure}": f"{label},\n{where}" for figure, where in
                      {"writingCPUMicroseconds": "server", "redisCPUMicroseconds": "Redis"}.items()
                      for kind, label in both.items()}, "Where it is stored", "µs of CPU")
    return drawn
