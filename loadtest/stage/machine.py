"""The machine of a result: without it no figure means anything."""

import datetime
import os
import platform
import subprocess
from pathlib import Path

from stage import kernel
from stage.binaries import REPOSITORY


def describe() -> dict:
    processor = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            processor = line.split(":", 1)[1].strip()
            break
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "kernel": f"{platform.system()} {platform.release()}",
        "memoryBytes": kernel.memory()["MemTotal"],
        # Other work at the beginning: it makes figures less reliable.
        "loadAverage": list(os.getloadavg()),
        "settings": kernel.settings(),
    }


def commit() -> str:
    """The checkout's commit, marked when what was built may differ from it."""
    try:
        git = ["git", "-C", str(REPOSITORY)]
        head = subprocess.run(git + ["rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            git + ["status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + (" with local changes" if changed.stdout.strip() else "")


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
