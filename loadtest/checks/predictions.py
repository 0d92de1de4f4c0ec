"""The cost of a change and a connect with many servers: a line through 1, 2 and 8 of them predicts 4, 16 and 52, which are
then measured."""

import argparse

from scenarios.million.changing import Changing
from scenarios.million.crowd import Crowd

NAME = "predictions"
ABOUT = "the cost of a change and of a connect with 4, 16 and 52 servers, predicted from 1, 2 and 8, then measured"
TIME_LIMIT = 3_600
PINNED = False

FITTED, PREDICTED = (1, 2, 8), (4, 16, 52)
FIGURES = ("Redis, a change", "all servers, a change", "Redis, a connect")


def add_flags(parser) -> None:
    parser.add_argument("--connections", type=int, default=3_200, help="how many people (%(default)s)")
    parser.add_argument("--change-rate", type=float, default=200, help="changes a second (%(default)s)")
    parser.add_argument("--change-seconds", type=float, default=20, help="for so long (%(default)s)")
    parser.add_argument("--fitted", type=int, nargs="+", default=list(FITTED), help="numbers of servers that are measured first")
    parser.add_argument("--predicted", type=int, nargs="+", default=list(PREDICTED), help="those that are predicted from them")


def run(stage, options) -> int:
    known = {}
    for servers in options.fitted:
        known[servers] = measure(stage, options, servers)
        print(f"{servers:3} servers: " + told(known[servers]), flush=True)
    lines = [fit([(servers, found[place]) for servers, found in known.items()]) for place in range(len(FIGURES))]
    for figure, (base, each) in zip(FIGURES, lines):
        print(f"{figure}: {base:.0f} + {each:.1f} N µs")
    for servers in options.predicted:
        print(f"{servers:3} servers, predicted: " + told([base + each * servers for base, each in lines]), flush=True)
    for servers in options.predicted:
        found = measure(stage, options, servers)
        print(f"{servers:3} servers, measured:  " + told(found) + "; predicted ÷ measured " + ", ".join(
            f"{(base + each * servers) / value:.2f}" for (base, each), value in zip(lines, found)), flush=True)
    return 0


def told(values) -> str:
    return ", ".join(f"{figure} {value:.0f} µs" for figure, value in zip(FIGURES, values))


def measure(stage, options, servers: int) -> list[float]:
    """Microseconds of each of the figures, without what the same time costs when nothing changes."""
    stage.clear()
    crowd = Crowd(stage, argparse.Namespace(
        connections=options.connections, servers=servers, watch=5, rate=1_000, heartbeat="60s", reserve=1.0,
        changes=0, change_rate=options.change_rate, change_seconds=options.change_seconds))
    try:
        crowd.start_servers()
        crowd.connect()
        connecting = crowd.report()
        idle = crowd.watch_idle(seconds=5)
        changes = Changing(crowd, crowd.options).run()["byTheClock"]["microsecondsPerChange"]
    finally:
        stage.processes.kill_all()
    leases = idle["cores"]["redis"] * connecting["seconds"] * 1e6 / connecting["open"]
    return [changes["redis"], changes["servers"], connecting["perConnection"]["redisCPUMicroseconds"] - leases]


def fit(points: list[tuple[float, float]]) -> tuple[float, float]:
    """The line of least squares, as its value at 0 and what it grows by."""
    across = sum(x for x, _ in points) / len(points)
    up = sum(y for _, y in points) / len(points)
    slope = sum((x - across) * (y - up) for x, y in points) / sum((x - across) ** 2 for x, _ in points)
    return up - slope * across, slope
