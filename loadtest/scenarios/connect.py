"""The cost of a connect for the server, and whether it grows with the number of connections."""

from report import pictures
from report.results import BASELINE, PRESENCE
from scenarios import measuring

NAME = "connect"
ABOUT = "19,000 clients connect, say who they are and subscribe to 20 people, beside the baseline"
SMALL = {"rounds": 3}
TIME_LIMIT = 1_200

CONNECTIONS = 19_000
COST = "serverCPUMicrosecondsPerConnection"


def add_flags(parser) -> None:
    parser.add_argument("--connections", type=int, default=CONNECTIONS, help="how many connect (%(default)s)")
    parser.add_argument("--watching", type=int, default=20, help="people that each subscribes to (%(default)s)")
    parser.add_argument("--subjects", choices=["pool", "clients"], default="pool",
                        help="who is watched: a pool of people who are there first, or each other (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(f"{options.connections:,} connections", connections=options.connections,
                        watching=options.watching, subjects=options.subjects)
    arguments = ["--connections", options.connections, "--watching", options.watching, "--subjects", options.subjects]
    measuring.alternate(
        results, case, options.rounds,
        lambda: measuring.presence_round(stage, "connect", *arguments, names_redis=True),
        (lambda: measuring.baseline_round(stage, "connect", *arguments)) if options.baseline else None,
        {"µs a connection": COST, "Redis µs": "redisCPUMicrosecondsPerConnection", "last step ÷ first": "lastStepToFirstStep", "a second": "connectionsPerSecond"})


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    pictures.bars(axes[0], results, COST, "Server CPU a connection", "µs", at_most=130)
    pictures.bars(axes[1], results, "latencyMilliseconds.p99", "From dialling to subscribed, p99", "ms")
    case = results.cases[0]
    for subject in (BASELINE, PRESENCE):
        for report in case.rounds.get(subject, []):
            steps = report["steps"]
            axes[2].plot([step["connections"] for step in steps], [step[COST] for step in steps],
                         color=pictures.COLOURS[subject], linewidth=1, marker="o", markersize=2,
                         label=pictures.LABELS[subject] + ", each round")
    axes[2].set_title("Server CPU a connection, by those who are there", fontsize=10)
    axes[2].set_xlabel("connections", fontsize=9)
    axes[2].set_ylabel("µs", fontsize=9)
    axes[2].set_ylim(bottom=0)
    axes[2].set_xlim(left=0)
    pictures.tidy(axes[2], legend_below=False)
    return drawn
