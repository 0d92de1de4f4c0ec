"""How every scenario measures: fresh servers for each round, ours and the baseline in turn."""

import sys
from typing import Callable

from report.results import BASELINE, PRESENCE, Case, Results
from stage.binaries import REPOSITORY
from stage.redis import RedisServer
from stage.servers import PresenceServer
from stage.stage import Stage
from stage.usage import Usage

# The protocol between the clients and the baseline: the templates of its subscribe and publish.
BASELINE_PEER = REPOSITORY / "loadtest/peers/baseline.json"


def presence_round(
    stage: Stage, scenario: str, *arguments, shards: int = 1, names_server: bool = True, names_redis: bool = False,
    environment: dict[str, str] = {}, sampler: Callable[[RedisServer], Callable[[], None]] | None = None,
    after: Callable[[PresenceServer, dict], None] | None = None, **options,
) -> dict:
    """`presence-load SCENARIO` against a server of ours with a Redis beside it, both new.

    - `names_server`, `names_redis`: whether the scenario takes that process, to measure it.
    - `environment`: settings of the server that must differ from the defaults here.
    - `sampler`: of the Redis, makes what is called again and again meanwhile.
    - `after`: called with the server and the report when the clients are through.
    """
    stage.clear()
    redis = stage.redis()
    server = stage.presence(redis, shards=shards, environment=environment)
    usage = Usage(server, redis)
    named = ["--server-pid", server.pid] if names_server else []
    named += ["--redis-pid", redis.process.pid] if names_redis else []
    sample = sampler(redis) if sampler else None
    report = stage.load(scenario, server, *arguments, *named, sample=sample, **options)
    report["usage"] = usage.report()
    if after:
        after(server, report)
    return report


def baseline_round(stage: Stage, scenario: str, *arguments, **options) -> dict:
    """The same clients against the baseline."""
    stage.clear()
    server = stage.baseline()
    usage = Usage(server)
    report = stage.load(scenario, server, *arguments, "--peer", BASELINE_PEER, "--server-pid", server.pid, **options)
    report["usage"] = usage.report()
    return report


def alternate(
    results: Results, case: Case, rounds: int, presence: Callable[[], dict], baseline: Callable[[], dict] | None,
    told: dict[str, str],
) -> None:
    """Runs rounds, our server and the baseline in turn, and prints a line after each.

    Other influences of the machine (other work, a change of clock frequency) affect both alike.
    """
    for _ in range(rounds):
        for subject, measure in ((PRESENCE, presence), (BASELINE, baseline)):
            if measure is not None:
                results.add(case, subject, measure())
                tell(results, case, subject, told)


def tell(results: Results, case: Case, subject: str, told: dict[str, str]) -> None:
    """The figures of the latest round, as {what to call it: figure}."""
    number = len(case.rounds[subject])
    values = [(name, case.values(subject, figure)) for name, figure in told.items()]
    words = [f"{name} {found[-1]:,.4g}" for name, found in values if found]
    if machine := case.rounds[subject][-1].get("machine"):
        words.append(f"other work on {machine['otherCores']:.2f} cores")
    careful = case.rounds[subject][-1].get("bottlenecks", [])
    if full := case.rounds[subject][-1].get("full"):
        words.append(full)
    print(f"{results.scenario}: {case.name}, {subject}, round {number}: " + ", ".join(words), file=sys.stderr)
    for sentence in careful:
        print(f"  careful: {sentence}", file=sys.stderr)
