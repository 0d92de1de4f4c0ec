"""A real chat on a real graph, then a comparison of all shown states with the truth."""

from pathlib import Path

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage.binaries import REPOSITORY

NAME = "replay"
ABOUT = "a chat of real people before those who know them; every screen is compared with the truth at the end"
ROUNDS = 1
SMALL = {"speed": 60}
TIME_LIMIT = 3_600

EXAMPLES = REPOSITORY / "loadtest/examples"
STEPS = {"connecting": "connected", "online": "seen to\ncome", "renaming": "seen\nrenamed", "typing": "seen\ntyping",
         "offline": "seen to\ngo"}


def add_flags(parser) -> None:
    parser.add_argument("--trace", type=Path, default=EXAMPLES / "evening.csv", metavar="FILE.csv",
                        help="what happened: time_ms,event,user,text_length (examples/evening.csv)")
    parser.add_argument("--graph", type=Path, default=EXAMPLES / "evening-graph.txt", metavar="FILE",
                        help="who knows whom, two names a line (examples/evening-graph.txt)")
    parser.add_argument("--speed", type=float, default=60, help="how many times faster than it happened (%(default)s)")
    parser.add_argument("--lost", type=int, default=25,
                        help="of a hundred who leave, how many lose their line instead (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(options.trace.stem, trace=str(options.trace), graph=str(options.graph), speed=options.speed)
    arguments = ["--trace", options.trace.resolve(), "--graph", options.graph.resolve(), "--speed", options.speed,
                 "--lost", options.lost]
    measuring.alternate(
        results, case, options.rounds,
        lambda: measuring.presence_round(
            stage, "replay", *arguments, names_server=False, environment=limits(options.speed)), None,
        {"facts compared": "compared", "differences": "differences", "p99 ms online": "online.p99",
         "p99 ms typing": "typing.p99"})


def limits(speed: float) -> dict[str, str]:
    """Requests a second that the server lets a connection, and a user, make: a person who writes for a second in the chat
    does so in a part of one here. The defaults are enough for 60 times as fast."""
    times = max(1, speed / 60)
    return {"PRESENCE_LIMITS_REQUESTS_PER_SECOND": str(round(100 * times)),
            "PRESENCE_LIMITS_REQUEST_BURST": str(round(1_500 * times)),
            "PRESENCE_LIMITS_USER_REQUESTS_PER_SECOND": str(round(200 * times)),
            "PRESENCE_LIMITS_USER_REQUEST_BURST": str(round(3_000 * times))} if times > 1 else {}


def draw(results):
    drawn, axes = pictures.figure(results, columns=2)
    case = results.cases[0]
    for axis, percentile in zip(axes, ("p50", "p99")):
        pictures.columns(
            axis, [(label, case.values(PRESENCE, f"{step}.{percentile}")) for step, label in STEPS.items()],
            f"From its due time to its being seen, {percentile}", "ms")
    return drawn
