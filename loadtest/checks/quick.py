"""A little of everything, started, loaded and checked once: for CI, with whatever binaries there are."""

from stage.binaries import REPOSITORY
from stage.failure import Failure

NAME = "quick"
ABOUT = "a little of everything, in less than a minute: for CI"
TIME_LIMIT = 240
# Nothing is compared, so nothing has to be kept apart.
PINNED = False

EXAMPLES = REPOSITORY / "loadtest/examples"
FANOUTS = [
    ["--watchers", 200, "--people", 4, "--changes", 100],
    ["--watchers", 100, "--people", 32, "--pending", 32, "--changes", 320, "--change", "name"],
    ["--watchers", 100, "--people", 4, "--changes", 400, "--rate", 200],
]
REPLAY = ["--trace", EXAMPLES / "evening.csv", "--graph", EXAMPLES / "evening-graph.txt", "--speed", 60, "--lost", 25]
DEMO = ["--people", 12, "--pace", 20, "--duration", 5]


def add_flags(parser) -> None:
    pass


def run(stage, options) -> int:
    # With as many shards as there are cores and a Redis of the server's own: as people start it.
    server = stage.presence(None, shards=None)
    for arguments in FANOUTS:
        told(stage, "fanout", server, *arguments, "--server-pid", server.pid)
    told(stage, "replay", server, *REPLAY)
    told(stage, "demo", server, *DEMO, is_quiet=True)
    server.process.end()
    if server.process.popen.returncode != 0:
        raise Failure(f"the server ended with {server.process.popen.returncode}:\n{server.process.last_words()}")
    print("All of it held.")
    return 0


def told(stage, scenario: str, server, *arguments, is_quiet: bool = False) -> None:
    """Runs it with its text on our standard output, and fails with it."""
    with open(stage.directory / "load.out", "w+b") as output:
        process = stage.start_load(scenario, *arguments, server=server, stdout=output)
        status = stage.wait(process, patience=120)
        output.seek(0)
        if not is_quiet or status != 0:
            print(output.read().decode(errors="replace"), end="", flush=True)
    if status != 0:
        raise Failure(f"presence-load {scenario} ended with {status}:\n{process.last_words()}\n"
                      f"the server's log ends:\n{server.process.last_words()}")
