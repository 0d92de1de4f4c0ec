"""A little of everything, started, loaded and checked once: for CI, with whatever binaries there are."""

from scenarios.measuring import BASELINE_PEER
from stage.binaries import REPOSITORY
from stage.control import Control
from stage.failure import Failure

NAME = "quick"
ABOUT = "a little of everything, in less than a minute: for CI"
TIME_LIMIT = 240
# Nothing is compared, so nothing is pinned.
PINNED = False

EXAMPLES = REPOSITORY / "loadtest/examples"
GRAPH = EXAMPLES / "evening-graph.txt"
FANOUTS = [
    ["--watchers", 200, "--people", 4, "--changes", 100],
    ["--watchers", 100, "--people", 32, "--pending", 32, "--changes", 320, "--change", "name"],
    ["--watchers", 100, "--people", 4, "--changes", 400, "--rate", 200],
]
# Scenarios that measure the server's process: name and flags.
MEASURED = [
    ("connect", ["--connections", 300, "--step", 100]),
    ("idle", ["--connections", 100, "--seconds", 1, "--further", 50]),
    ("slow", ["--watchers", 60, "--slow", 6, "--seconds", 1, "--patience", 3]),
    ("churn", ["--graph", GRAPH, "--people", 0, "--duration", 3, "--rate", 10, "--lost", 0]),
    ("typing", ["--conversations", 10, "--duration", 3]),
    ("messages", ["--conversations", 10, "--rate", 200, "--duration", 2]),
]
REPLAY = ["--trace", EXAMPLES / "evening.csv", "--graph", GRAPH, "--speed", 90, "--lost", 25]
DEMO = ["--people", 12, "--pace", 20, "--duration", 3]
STORM = ["--clients", 100, "--calm", 1, "--at-once"]


def add_flags(parser) -> None:
    pass


def run(stage, options) -> int:
    # With one shard per core and a Redis of the server's own: as users start it.
    server = stage.presence(None, shards=None)
    for arguments in FANOUTS:
        told(stage, "fanout", server, *arguments, "--server-pid", server.pid)
    for scenario, arguments in MEASURED:
        told(stage, scenario, server, *arguments, "--server-pid", server.pid)
    told(stage, "replay", server, *REPLAY)
    told(stage, "demo", server, *DEMO, is_quiet=True)
    server.process.end()
    if server.process.popen.returncode != 0:
        raise Failure(f"the server ended with {server.process.popen.returncode}:\n{server.process.last_words()}")

    stage.clear()
    baseline = stage.baseline()
    told(stage, "fanout", baseline, "--watchers", 100, "--changes", 50, "--peer", BASELINE_PEER,
         "--server-pid", baseline.pid)

    stage.clear()
    redis = stage.redis()
    server, bystander = stage.presence(redis), stage.presence(redis)
    control = Control(stage.directory / "restart.sock", server.restart)
    told(stage, "storm", server, *STORM, "--bystander-url", bystander.url, "--restart-command", control.command,
         control=control)
    print("All of it held.")
    return 0


def told(stage, scenario: str, server, *arguments, is_quiet: bool = False, control=None) -> None:
    """Runs it with its text on our standard output, and fails with it."""
    with open(stage.directory / "load.out", "w+b") as output:
        process = stage.start_load(scenario, *arguments, server=server, stdout=output)
        status = stage.wait(process, patience=120, control=control)
        output.seek(0)
        if not is_quiet or status != 0:
            print(output.read().decode(errors="replace"), end="", flush=True)
    if status != 0:
        raise Failure(f"presence-load {scenario} ended with {status}:\n{process.last_words()}\n"
                      f"the server's log ends:\n{server.process.last_words()}")
