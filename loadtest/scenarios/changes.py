"""How many presence changes a second go through one Redis and one shard, with watchers."""

from report import pictures
from report.results import PRESENCE
from scenarios import measuring

NAME = "changes"
ABOUT = "as many presence changes a second as one Redis and one shard take, five watchers of everybody"
SMALL = {"changes": 50_000}
TIME_LIMIT = 600


def add_flags(parser) -> None:
    parser.add_argument("--people", type=int, default=1_000, help="who change (%(default)s)")
    parser.add_argument("--watchers", type=int, default=5, help="who watch all of them (%(default)s)")
    parser.add_argument("--pending", type=int, default=500, help="changes under way at once (%(default)s)")
    parser.add_argument("--changes", type=int, default=200_000, help="changes in a round (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(f"{options.people:,} people, {options.watchers} watchers", people=options.people,
                        watchers=options.watchers)
    arguments = ["--people", options.people, "--watchers", options.watchers, "--pending", options.pending,
                 "--changes", options.changes, "--warm-up", options.people]

    def ours() -> dict:
        report = measuring.presence_round(stage, "fanout", *arguments)
        report["changesPerSecond"] = report["changes"] / report["seconds"]
        # All of Redis' time, connecting included.
        report["redisCPUMicrosecondsPerChange"] = (
            report["usage"]["redis"]["cpuSeconds"] * 1e6 / (report["changes"] + options.people))
        report["serverCPUMicrosecondsPerChange"] = report["serverCPUMicrosecondsPerDelivery"] * options.watchers
        return report

    measuring.alternate(
        results, case, options.rounds, ours, None,
        {"changes a second": "changesPerSecond", "server µs": "serverCPUMicrosecondsPerChange",
         "Redis µs": "redisCPUMicrosecondsPerChange", "p99 ms": "latency.p99"})


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    case = results.cases[0]
    pictures.bars(axes[0], results, "changesPerSecond", "Changes through one Redis and one shard", "thousand a second",
                  scale=1e-3, at_least=20)
    pictures.columns(
        axes[1],
        [(label, case.values(PRESENCE, figure)) for figure, label in
         {"serverCPUMicrosecondsPerChange": "server", "redisCPUMicrosecondsPerChange": "Redis"}.items()],
        "Processor a change, its deliveries included", "µs")
    pictures.bars(axes[2], results, "latency.p99", "Change to receipt, p99", "ms")
    return drawn
