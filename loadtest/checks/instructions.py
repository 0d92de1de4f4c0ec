"""The server's own work: instructions per delivery and per message, counted by callgrind.

User space only. perf shows the kernel's part, which is most of a delivery.
"""

import re
import shutil
import subprocess
from pathlib import Path

from checks.work import WORKS, Work
from stage.failure import Failure
from stage.usage import difference

NAME = "instructions"
ABOUT = "instructions in user space per delivery and per message, by function (callgrind; slow)"
TIME_LIMIT = 1_800
PINNED = False


def add_flags(parser) -> None:
    parser.add_argument("--top", type=int, default=15, metavar="N", help="functions told (15)")
    parser.add_argument("--work", metavar="NAME", default="", help="only pieces of work whose name contains this")


def run(stage, options) -> int:
    if not shutil.which("valgrind"):
        raise Failure("this needs valgrind: apt-get install valgrind")
    folder = stage.keep_directory("callgrind")
    prepare(folder, stage.binaries.presenced)
    for work in (work for work in WORKS if options.work in work.name):
        few, many = executed(stage, folder, work, work.few), executed(stage, folder, work, work.many)
        further = difference(many, few)
        print(f"{work.name}: {sum(further.values()) / work.units:,.0f} instructions a {work.unit}")
        most = sorted(further.items(), key=lambda pair: -pair[1])[:options.top]
        for (_, instructions), name in zip(most, demangled([name for name, _ in most])):
            print(f"  {instructions / work.units:8,.1f}  {name}")
        print(flush=True)
    return 0


def prepare(folder: Path, presenced: Path) -> None:
    """The changes without which Debian's valgrind cannot run the server."""
    # With symbols, but without debug information, whose version valgrind cannot read.
    subprocess.run(["strip", "--strip-debug", "-o", folder / "presenced", presenced], check=True)
    source = Path(__file__).with_name("sigsuspend.c")
    subprocess.run(["clang", "-shared", "-fPIC", "-O1", "-o", folder / "sigsuspend.so", source], check=True)


def executed(stage, folder: Path, work: Work, count: int) -> dict[str, int]:
    """The instructions of a whole run with so many changes or clients, by function, without those it called."""
    stage.clear()
    dump = stage.directory / "callgrind.out"
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={dump}", "--quiet"]
    environment = {
        "LD_PRELOAD": str(folder / "sigsuspend.so"),
        # The server is slow here: it must neither count as dead nor declare its clients dead.
        "PRESENCE_HEARTBEAT_INTERVAL": "300s", "PRESENCE_LEASE_DURATION": "60s",
        # Two runs start with the same number of instructions.
        "SWIFT_DETERMINISTIC_HASHING": "1",
    }
    server = stage.presence(stage.redis(), under=valgrind, binary=folder / "presenced", environment=environment)
    report = stage.load(work.scenario, server, *work.arguments(count), "--patience", 120)
    if report["failures"]:
        raise Failure(f"{work.name}: {report['failures'][0]}")
    server.process.end(patience=60)
    return read(dump)


def read(dump: Path) -> dict[str, int]:
    command = ["callgrind_annotate", "--threshold=100", "--auto=no", str(dump)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counts: dict[str, int] = {}
    # "1,234,567 (12.3%)  file:function [object]"
    for line in text.splitlines():
        if found := re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+\S*?:(.+?)(?: \[[^\]]*\])?$", line):
            name = found[2]
            counts[name] = counts.get(name, 0) + int(found[1].replace(",", ""))
    return counts


def demangled(names: list[str]) -> list[str]:
    """Demangled Swift names, shortened to their distinctive parts."""
    tool = shutil.which("swift-demangle") or shutil.which("swift")
    if not tool:
        return names
    command = [tool, "demangle"] if tool.endswith("swift") else [tool]
    command += ["--compact", "--simplified"]
    text = subprocess.run(command, input="\n".join(names), capture_output=True, text=True)
    lines = text.stdout.splitlines()
    return [line[:100] for line in lines] if len(lines) == len(names) else names
