"""The cost of clients that stop reading, for all others."""

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage.usage import Usage

NAME = "slow"
ABOUT = "1,000 of 10,000 watchers stop reading for 60 s: what the others notice, and what it costs"
SMALL = {"rounds": 1, "seconds": 15}
ROUNDS = 5
TIME_LIMIT = 1_800


def add_flags(parser) -> None:
    parser.add_argument("--watchers", type=int, default=10_000, help="how many watch (%(default)s)")
    parser.add_argument("--slow", type=int, default=1_000, help="of these, how many stop reading (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="for so long (%(default)s)")
    parser.add_argument("--rate", type=float, default=40, help="changes a second (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(f"{options.slow:,} of {options.watchers:,}", slow=options.slow, watchers=options.watchers,
                        seconds=options.seconds)
    arguments = ["--watchers", options.watchers, "--slow", options.slow, "--seconds", options.seconds,
                 "--rate", options.rate, "--connect-rate", 0]
    measuring.alternate(
        results, case, options.rounds, lambda: ours(stage, options, arguments), None,
        {"p99 ms all reading": "allRead.latencyMilliseconds.p99", "some not": "someDoNot.latencyMilliseconds.p99",
         "queues KB": "kernelTCPKBPerSlowReader", "user KB": "userKBPerSlowReader"})


def ours(stage, options, arguments: list) -> dict:
    """With a server that keeps them so long: as it is built, it closes them before."""
    stage.clear()
    redis = stage.redis()
    longer = f"{int(options.seconds * 3 + 60)}s"
    server = stage.presence(redis, environment={
        "PRESENCE_SLOW_CONSUMER_TIMEOUT": longer,
        # The slow readers do not answer pings either.
        "PRESENCE_HEARTBEAT_INTERVAL": longer,
    })
    usage = Usage(server, redis)
    report = stage.load("slow", server, *arguments, "--server-pid", server.pid)
    report["usage"] = usage.report()
    report["latencyRatio"] = {
        name: report["someDoNot"]["latencyMilliseconds"][name] / report["allRead"]["latencyMilliseconds"][name]
        for name in ("p50", "p99")}
    report["costRatio"] = (report["someDoNot"]["serverCPUMicrosecondsPerDelivery"]
                           / report["allRead"]["serverCPUMicrosecondsPerDelivery"])
    # Queues and the objects around them.
    report["kernelKBPerSlowReader"] = report["kernelTCPKBPerSlowReader"] + max(0, report["kernelSlabKBPerSlowReader"])
    return report


def draw(results):
    drawn, axes = pictures.figure(results, columns=4, width=3.6)
    case = results.cases[0]

    def columns(axis, figures: dict[str, str], *arguments, **options) -> None:
        pictures.columns(
            axis, [(label, case.values(PRESENCE, figure)) for figure, label in figures.items()], *arguments, **options)

    for axis, percentile in zip(axes, ("p50", "p99")):
        columns(axis, {f"allRead.latencyMilliseconds.{percentile}": "all read",
                       f"someDoNot.latencyMilliseconds.{percentile}": "some do not"},
                f"The others' change to receipt, {percentile}", "ms")
    columns(axes[2], {"kernelTCPKBPerSlowReader": "queues", "kernelSlabKBPerSlowReader": "objects"},
            "Kernel, a slow reader, both ends", "KB", at_most=200)
    columns(axes[3], {"userKBPerSlowReader": "server"}, "User memory, a slow reader", "KB", at_most=4)
    return drawn
