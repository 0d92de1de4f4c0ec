"""The cost of many idle clients: memory, heartbeats, and commands to Redis."""

import time

from report import pictures
from report.results import PRESENCE
from scenarios import measuring

NAME = "idle"
ABOUT = "19,000 idle connections that watch 20 people each: memory and CPU, beside the baseline"
SMALL = {"rounds": 1, "seconds": 25}
TIME_LIMIT = 1_800

CONNECTIONS = 19_000
MEMORY = "userKBPerConnection"
BASELINE_SECONDS = 5


def add_flags(parser) -> None:
    parser.add_argument("--connections", type=int, default=CONNECTIONS, help="how many are idle (%(default)s)")
    parser.add_argument("--watching", type=int, default=20, help="people that each watches (%(default)s)")
    parser.add_argument("--further", type=int, default=200, help="people that each watches after that (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60,
                        help="for so long; heartbeats are 20 s apart (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(f"{options.connections:,} connections", connections=options.connections,
                        watching=options.watching, seconds=options.seconds)
    arguments = ["--connections", options.connections, "--watching", options.watching]
    measuring.alternate(
        results, case, options.rounds,
        lambda: ours(stage, [*arguments, "--seconds", options.seconds, "--further", options.further]),
        # The baseline has no heartbeats, and does not know who watches whom.
        (lambda: measuring.baseline_round(
            stage, "idle", *arguments, "--seconds", BASELINE_SECONDS, "--further", 0)) if options.baseline else None,
        {"KB a connection": MEMORY, "bytes a further watch": "userBytesPerFurtherWatch",
         "of a core": "serverCPUShare", "Redis commands a second": "redisCommandsPerSecond",
         "with nobody there": "redisCommandsPerSecondWithNobody"})


def ours(stage, arguments: list) -> dict:
    stage.clear()
    redis = stage.redis()
    server = stage.presence(redis)
    nobody = commands_a_second(redis, seconds=10)
    report = stage.load(
        "idle", server, *arguments, "--server-pid", server.pid, "--redis-pid", redis.process.pid,
        "--redis-socket", redis.socket)
    report["redisCommandsPerSecondWithNobody"] = nobody
    return report


def commands_a_second(redis, seconds: float) -> float:
    """The commands of an empty server to Redis: leases, sweeps, canaries."""
    def count() -> int:
        return int(redis.info("stats")["total_commands_processed"])

    before, began = count(), time.monotonic()
    time.sleep(seconds)
    # Without the command of the reading itself.
    return (count() - before - 1) / (time.monotonic() - began)


def draw(results):
    drawn, axes = pictures.figure(results, columns=3, rows=2)
    case = results.cases[0]
    pictures.bars(axes[0], results, MEMORY, "User memory of the server, a connection", "KB", at_most=4)
    pictures.bars(axes[1], results, "userBytesPerFurtherWatch", "Of the server, each further person watched", "bytes",
                  at_most=24)
    pictures.columns(
        axes[2],
        [(label, case.values(PRESENCE, figure)) for figure, label in
         {"kernelSlabKBPerConnectionBothEnds": "objects", "kernelTCPKBPerConnectionBothEnds": "queues"}.items()],
        "Kernel memory, a connection, both ends", "KB")
    pictures.columns(
        axes[3],
        [(label, [100 * value for value in case.values(PRESENCE, figure)]) for figure, label in
         {"serverCPUShare": "server", "redisCPUShare": "Redis"}.items()],
        "Processor while idle, heartbeats included", "% of a core", at_most=1.3)
    pictures.columns(
        axes[4],
        [(label, case.values(PRESENCE, figure)) for figure, label in
         {"redisCommandsPerSecondWithNobody": "nobody there", "redisCommandsPerSecond": "all idle"}.items()],
        "Redis commands", "a second")
    axes[5].set_visible(False)
    return drawn
