"""The same with 32 changes of different people under way at once: what coalescing gives."""

from report import pictures
from scenarios import fanout, measuring

NAME = "burst"
ABOUT = "32 changes of different people pending, to 1,000 and 10,000 watchers of all of them, beside the baseline"
SMALL = {"deliveries": 1_280_000}
TIME_LIMIT = 2_400

# The baseline sends every message separately: its figure is steady, so a part of the deliveries suffices.
BASELINE_SHARE = 4


def add_flags(parser) -> None:
    fanout.add_size_flags(parser, deliveries=6_400_000)
    parser.add_argument("--pending", type=int, default=32, help="changes under way at once, and people (32)")


def run(stage, options, results) -> None:
    for watchers in options.watchers:
        case = results.case(f"{watchers:,} watchers", watchers=watchers, pending=options.pending)
        changes = max(2 * options.pending, options.deliveries // watchers)

        def arguments(changes: int) -> list:
            return ["--watchers", watchers, "--people", options.pending, "--pending", options.pending,
                    "--warm-up", 2 * options.pending, "--changes", changes, "--connect-rate", 0]

        measuring.alternate(
            results, case, options.rounds,
            lambda: measuring.presence_round(stage, "fanout", *arguments(changes), names_redis=True),
            (lambda: measuring.baseline_round(
                stage, "fanout", *arguments(max(options.pending, changes // BASELINE_SHARE))))
            if options.baseline else None,
            fanout.TOLD)


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    pictures.bars(axes[0], results, fanout.COST, "Server CPU a delivery", "µs", at_most_ratio=0.12)
    pictures.bars(axes[1], results, "deliveriesPerSecond", "Deliveries a second, one core", "million a second",
                  scale=1e-6, at_least=2)
    pictures.bars(axes[2], results, "latency.p99", "Change to receipt, p99", "ms")
    return drawn
