"""Programs that the tests use without installation: from Debian, because installing them would start services, and
packages from PyPI."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / ".build" / "programs"
"""Where `make setup-programs` unpacks Debian's packages."""

PACKAGES = TOOLS.parent / "python"
"""The folder for packages from PyPI."""


def find(name):
    """The path of a program: an installed one, else an unpacked one."""
    places = [os.environ.get("PATH", ""), "/usr/sbin", *(str(TOOLS / each) for each in ("usr/bin", "usr/sbin"))]
    return shutil.which(name, path=os.pathsep.join(places))


def needed(*names):
    """The path of the first of these that exists; the test is skipped if there is none."""
    found = next(filter(None, map(find, names)), None)
    return found or pytest.skip(f"not installed: {' or '.join(names)} (make setup-programs unpacks it)")


def library(name):
    """A module from PyPI; the test is skipped if it is missing."""
    if not (PACKAGES / name).is_dir():
        pytest.skip(f"not installed: {name} of PyPI (make setup-programs fetches it)")
    if str(PACKAGES) not in sys.path:
        sys.path.append(str(PACKAGES))
    return importlib.import_module(name)


def environment(program):
    """The environment in which an unpacked program finds its unpacked libraries."""
    if not program.startswith(str(TOOLS)):
        return {}
    folder = TOOLS / "usr/lib" / os.uname().machine
    folders = [str(each) for each in (TOOLS / "usr/lib").glob("*-linux-gnu")] or [str(folder)]
    return {"LD_LIBRARY_PATH": os.pathsep.join(folders)}


def run(*command, **options):
    """Runs a program, which must succeed, and returns its output."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
                          env=os.environ | environment(command[0]), **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout
