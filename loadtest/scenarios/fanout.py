"""People change one at a time, many watch: what does a delivery cost, and how long does it take?"""

from report import pictures
from scenarios import measuring

NAME = "fanout"
ABOUT = "one change at a time to 1,000 and 10,000 watchers, beside the baseline"
SMALL = {"deliveries": 200_000}
TIME_LIMIT = 1_800

# People who change in turn: a single one would exceed a user's limit of changes per second.
PEOPLE = 8

COST = "serverCPUMicrosecondsPerDelivery"
TOLD = {"µs a delivery": COST, "p50 ms": "latency.p50", "p99 ms": "latency.p99", "a second": "deliveriesPerSecond"}


def add_flags(parser) -> None:
    add_size_flags(parser, deliveries=1_000_000)


def add_size_flags(parser, deliveries: int) -> None:
    parser.add_argument("--watchers", type=sizes, default=[1_000, 10_000], metavar="N,N",
                        help="how many watch, a case each (1000,10000)")
    parser.add_argument("--deliveries", type=int, default=deliveries,
                        help=f"deliveries to measure in a round ({deliveries:,})")


def sizes(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def run(stage, options, results) -> None:
    for watchers in options.watchers:
        case = results.case(f"{watchers:,} watchers", watchers=watchers, people=PEOPLE)
        changes = max(10, options.deliveries // watchers)
        arguments = ["--watchers", watchers, "--people", PEOPLE, "--changes", changes, "--connect-rate", 0]
        measuring.alternate(
            results, case, options.rounds,
            lambda: measuring.presence_round(stage, "fanout", *arguments, names_redis=True),
            (lambda: measuring.baseline_round(stage, "fanout", *arguments)) if options.baseline else None,
            TOLD)


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    pictures.bars(axes[0], results, COST, "Server CPU a delivery", "µs", at_most_ratio=1.15)
    pictures.bars(axes[1], results, "latency.p50", "Change to receipt, p50", "ms", at_most_ratio=1.15)
    pictures.bars(axes[2], results, "latency.p99", "Change to receipt, p99", "ms", at_most_ratio=1.2)
    return drawn
