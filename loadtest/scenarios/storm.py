"""A server restarts under many clients: when are all back and right, and what do others notice?"""

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage.control import Control
from stage.usage import Usage

NAME = "storm"
ABOUT = "19,000 clients reconnect after a restart, while bystanders on another server change and watch"
SMALL = {"clients": 10_000, "rounds": 1}
ROUNDS = 5
TIME_LIMIT = 1_800

# The restarted server keeps room for operators below its limit of open files.
CLIENTS = 19_000


def add_flags(parser) -> None:
    parser.add_argument("--clients", type=int, default=CLIENTS, help="how many reconnect (%(default)s)")
    parser.add_argument("--watch", type=int, default=20, help="people that each watches (%(default)s)")
    parser.add_argument("--politely", dest="at_once", action="store_false",
                        help="clients wait as the server advises, instead of coming all at once")
    parser.add_argument("--kill", action="store_true", help="the server is killed instead of ended")


def run(stage, options, results) -> None:
    case = results.case(f"{options.clients:,} clients", clients=options.clients, atOnce=options.at_once)
    measuring.alternate(
        results, case, options.rounds, lambda: storm(stage, options), None,
        {"s to the last back": "restartToLastBackSeconds", "s to all right": "restartToAllRightSeconds",
         "bystanders' p99 ms": "bystanderDuringMilliseconds.p99"})


def storm(stage, options) -> dict:
    stage.clear()
    redis = stage.redis()
    server = stage.presence(redis)
    # On any core with free time: it stands for another machine.
    bystander = stage.presence(redis, core=None)
    control = Control(stage.directory / "restart.sock", lambda: server.restart(kill=options.kill))
    usage = Usage(bystander, redis)
    arguments = ["--clients", options.clients, "--watch", min(options.watch, options.clients - 1),
                 "--bystander-url", bystander.url, "--restart-command", control.command]
    if options.at_once:
        arguments.append("--at-once")
    report = stage.load("storm", server, *arguments, control=control)
    report["usage"] = usage.report()
    # Of both servers: each write carried at least one change.
    report["writes"] = sum(figures["counted"]["batch_events_count"] for figures in report["serverMetrics"])
    # Each client's loss and return, to each of its watchers: the number of events if none were held back.
    report["goingsAndComings"] = 2 * report["clients"] * report["watchedEach"]
    report["writesPerGoingAndComing"] = report["writes"] / report["goingsAndComings"]
    report["restartedServerCPUSeconds"] = server.process.cpu_seconds()
    return report


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    case = results.cases[0]

    def columns(axis, figures: dict[str, str], *arguments, **options) -> None:
        pictures.columns(
            axis, [(label, case.values(PRESENCE, figure)) for figure, label in figures.items()], *arguments, **options)

    columns(axes[0], {"restartToServingSeconds": "serving", "restartToLastBackSeconds": "last one\nback",
                      "restartToAllRightSeconds": "all right"},
            "From the restart until", "s", at_most=5)
    columns(axes[1], {"bystanderBeforeMilliseconds.p99": "before", "bystanderDuringMilliseconds.p99": "during",
                      "bystanderAfterMilliseconds.p99": "after"},
            "Bystanders: change to receipt, p99", "ms", at_most=50)
    columns(axes[2], {"changesDue": "changes due to\nconnections", "writes": "writes that\ncarried them",
                      "eventsReceived": "events that\nclients received"},
            "Told from the restart until all was right", "count")
    return drawn
