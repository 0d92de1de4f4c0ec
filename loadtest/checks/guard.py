"""The guard: the server's system calls per delivery and per message, which know no clock, against recorded bounds; and how long
Redis is busy with each request at its bounds (costs.py), against a bound that is far from what a slow machine makes of it.

System calls do not depend on how fast the machine is or on how the binary was built; a loop that wakes twice, a write
for each message where one would do, or a socket asked whether it can take more shows at once.
"""

import shutil
import time
import tomllib
from pathlib import Path

from checks import costs
from checks.work import WORKS, Work
from stage.binaries import REPOSITORY
from stage.failure import Failure
from stage.usage import difference

NAME = "guard"
ABOUT = "system calls per delivery and per message against loadtest/bounds.toml: for CI, independent of the clock"
TIME_LIMIT = 300
PINNED = False

BOUNDS = REPOSITORY / "loadtest/bounds.toml"
ATTEMPTS = 3
"""A busy machine cuts what is read and written at once into pieces: that adds calls now and then, and takes none away."""


def add_flags(parser) -> None:
    parser.add_argument("--calls", action="store_true", help="tell the most frequent calls too")


def run(stage, options) -> int:
    if not shutil.which("strace"):
        raise Failure("the guard needs strace: make setup-tests installs it")
    bounds = tomllib.loads(BOUNDS.read_text())
    status = 0
    for work in WORKS:
        bound = bounds[work.name]["calls"]
        for attempt in range(ATTEMPTS):
            few, many = calls(stage, work, work.few), calls(stage, work, work.many)
            further = difference(many, few)
            measured = sum(further.values()) / work.units
            held = measured <= bound
            print(f"{'ok' if held else 'OVER':4}  {work.name}: {measured:.3f} system calls a {work.unit}, "
                  f"bound {bound:.3f}", flush=True)
            if options.calls or not held:
                for name, number in sorted(further.items(), key=lambda pair: -abs(pair[1]))[:8]:
                    print(f"        {name:16} {number / work.units:8.3f}")
            if held:
                break
        else:
            status = 1
    most = bounds["costs"]["guard"]
    for name in costs.over(stage, most):
        print(f"OVER  {name} keeps Redis busy for longer than {most} ms at a time")
        status = 1
    if status:
        print("Over a bound: find what calls more, or, if it must, raise the bound in bounds.toml with its reason.")
    return status


def calls(stage, work: Work, count: int) -> dict[str, int]:
    """The system calls of a whole run with so many changes or clients, by name."""
    stage.clear()
    summary = stage.directory / "calls"
    # -D: the server, not strace, is our child, so that signals and its process id are its own.
    strace = ["strace", "-D", "-f", "-c", "-U", "calls,name", "-o", summary]
    # A Redis that is not the server's child: its calls are not counted.
    server = stage.presence(stage.redis(), under=strace)
    report = stage.load(work.scenario, server, *work.arguments(count), "--patience", 60)
    if report["failures"]:
        raise Failure(f"{work.name}: {report['failures'][0]}")
    server.process.end()
    return read(summary, patience=20)


def read(summary: Path, patience: float) -> dict[str, int]:
    """strace's table, which it writes when the server has ended."""
    deadline = time.monotonic() + patience
    while True:
        lines = summary.read_text().splitlines() if summary.exists() else []
        rows = [line.split() for line in lines]
        if rows and rows[-1][-1:] == ["total"]:
            return {row[1]: int(row[0]) for row in rows[:-1] if len(row) == 2 and row[0].isdigit()}
        if time.monotonic() > deadline:
            raise Failure("strace has not told what it counted")
        time.sleep(0.05)
