"""Processes with a wrong clock: their time functions are replaced by ours (`clock.c`)."""

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")


def ahead(seconds, directory, until=None):
    """The environment of a process whose clock is this many seconds ahead, or behind if negative; if `until` is given,
    as long as there is no such file. Its monotonic clock is correct. The library is built in a directory."""
    library = Path(directory) / f"clock{seconds}.so"
    compiler = shutil.which("cc") or shutil.which("clang")
    assert compiler, "needs a C compiler: cc, or the clang that comes with Swift"
    offset = f'(access("{until}", F_OK) ? {seconds} : 0)' if until else f"({seconds})"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", f"-DSECONDS={offset}", "-o", library, SOURCE], check=True)
    return {"LD_PRELOAD": str(library)}
