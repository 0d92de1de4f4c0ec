"""People of a graph come and go before those who know them, with heavy-tailed session lengths."""

from pathlib import Path

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage.binaries import REPOSITORY

NAME = "churn"
ABOUT = "people of a graph come and go, with heavy-tailed session lengths; every screen is compared with the truth"
ROUNDS = 5
SMALL = {"rounds": 1, "duration": 20}
TIME_LIMIT = 1_800


def add_flags(parser) -> None:
    parser.add_argument("--graph", type=Path, default=REPOSITORY / "loadtest/examples/evening-graph.txt",
                        metavar="FILE", help="who knows whom, two names a line (a small one of examples/)")
    parser.add_argument("--people", type=int, default=0, help="of its people; 0 is everybody (%(default)s)")
    parser.add_argument("--duration", type=float, default=60, help="seconds (%(default)s)")
    parser.add_argument("--rate", type=float, default=50, help="arrivals a second (%(default)s)")
    parser.add_argument("--sessions", choices=["log-normal", "pareto"], default="log-normal",
                        help="how their lengths are distributed (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(options.graph.stem, graph=str(options.graph), rate=options.rate, duration=options.duration)
    arguments = ["--graph", options.graph.resolve(), "--people", options.people, "--duration", options.duration,
                 "--rate", options.rate, "--sessions", options.sessions]
    measuring.alternate(
        results, case, options.rounds, lambda: measuring.presence_round(stage, "churn", *arguments), None,
        {"events a second": "eventsPerSecond", "µs an event": "serverCPUMicrosecondsPerEvent",
         "p99 ms online": "onlineMilliseconds.p99", "differences": "differences"})


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    case = results.cases[0]
    steps = {"connectingMilliseconds": "connected", "onlineMilliseconds": "seen to\ncome",
             "offlineMilliseconds": "seen to\ngo"}
    for axis, percentile in zip(axes, ("p50", "p99")):
        pictures.columns(
            axis, [(label, case.values(PRESENCE, f"{step}.{percentile}")) for step, label in steps.items()],
            f"From its due time to its being seen, {percentile}", "ms")
    pictures.columns(
        axes[2],
        [(label, case.values(PRESENCE, figure)) for figure, label in
         {"serverCPUMicrosecondsPerEvent": "an event\nreceived", "serverCPUMicrosecondsPerChange": "a coming\nor going"}
         .items()],
        "Server CPU", "µs")
    return drawn
