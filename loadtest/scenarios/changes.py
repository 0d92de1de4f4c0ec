"""How many presence changes a second go through one Redis and one shard, with watchers, and what ends it."""

from report import pictures
from report.results import PRESENCE
from scenarios import measuring

NAME = "changes"
ABOUT = "as many presence changes a second as one Redis with a core of its own and one shard take, five watchers of everybody"
SMALL = {"changes": 50_000}
TIME_LIMIT = 600
# Redis must be the bottleneck.
REDIS_APART = True

# The rest of a core is the cost of waiting for each other.
FULL = 0.9

# The default.
PARTITIONS = 128


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
        report = measuring.presence_round(stage, "fanout", *arguments, names_redis=True)
        report["changesPerSecond"] = report["changes"] / report["seconds"]
        # Without other work, Redis cannot do more than this.
        report["changesPerSecondOfAFullRedis"] = 1e6 / report["redisCPUMicrosecondsPerChange"]
        events = report["usage"]["metrics"]
        report["changesInATurn"] = events["batch_events_sum"] / events["batch_events_count"]
        report["ofOnePartition"] = of_one_partition(report["changesInATurn"])
        report["utilisation"] = utilisation(report, stage.cores)
        report["full"] = full(report)
        return report

    measuring.alternate(
        results, case, options.rounds, ours, None,
        {"changes a second": "changesPerSecond", "server µs": "serverCPUMicrosecondsPerChange",
         "Redis µs": "redisCPUMicrosecondsPerChange", "of a full Redis": "changesPerSecondOfAFullRedis",
         "changes in a turn": "changesInATurn", "clients µs": "ownCPUMicrosecondsPerChange",
         "p99 ms": "latency.p99"})


def of_one_partition(changes: float) -> float:
    """How many of so many changes one call would have, if a turn's changes of one partition were sent in one."""
    return changes / (PARTITIONS * (1 - (1 - 1 / PARTITIONS) ** changes))


def utilisation(report: dict, cores) -> dict:
    """The shares of one core of each of the three during the measurement, and the cores to which they were pinned."""
    found = {"server": report["serverCPUShare"], "redis": report["redisCPUShare"], "clients": report["ownCPUShare"]}
    for name, core in vars(cores).items():
        if core is not None:
            part = {"client": "clients"}.get(name, name)
            found[f"core{core}"] = found.get(f"core{core}", 0) + found[part]
    return found


def full(report: dict) -> str:
    """A sentence on what ended it."""
    shares = report["utilisation"]
    told = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    ended = [name for name, share in shares.items() if share >= FULL]
    if ended:
        return f"{' and '.join(ended)} full ({told})"
    if report["machine"]["otherCores"] > 1 - FULL:
        return f"nothing of this run was full: other work had the cores ({told})"
    return f"nothing was full: they waited for each other ({told})"


def draw(results):
    drawn, axes = pictures.figure(results, columns=4, width=3.6)
    case = results.cases[0]
    pictures.bars(axes[0], results, "changesPerSecond", "Changes through one Redis and one shard", "thousand a second",
                  scale=1e-3, at_least=20)
    pictures.columns(
        axes[1],
        [(label, case.values(PRESENCE, figure)) for figure, label in
         {"serverCPUMicrosecondsPerChange": "server", "redisCPUMicrosecondsPerChange": "Redis",
          "ownCPUMicrosecondsPerChange": "clients"}.items()],
        "Processor a change, its deliveries included", "µs")
    pictures.columns(
        axes[2],
        [(name, [share * 100 for share in case.values(PRESENCE, f"utilisation.{name}")])
         for name in ("server", "redis", "clients")],
        "What was full", "% of a core")
    pictures.bars(axes[3], results, "latency.p99", "Change to receipt, p99", "ms")
    return drawn
