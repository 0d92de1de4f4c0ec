"""The folder of presenced and presence-load: built in release mode, or LOADTEST_BIN."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from stage.failure import Failure

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Binaries:
    directory: Path

    @property
    def presenced(self) -> Path:
        return self.directory / "presenced"

    @property
    def load(self) -> Path:
        return self.directory / "presence-load"

    @property
    def log(self) -> Path:
        """The server of the scenario `log`, which no other needs."""
        return self.directory / "presence-log"

    @staticmethod
    def find() -> "Binaries":
        if directory := os.environ.get("LOADTEST_BIN"):
            binaries = Binaries(Path(directory).resolve())
        else:
            binaries = Binaries(_build())
        for program in (binaries.presenced, binaries.load):
            if not os.access(program, os.X_OK):
                raise Failure(f"there is no program {program}")
        return binaries


def _build() -> Path:
    swift = ["swift", "build", "-c", "release"]
    for product in ("presenced", "presence-load", "presence-log"):
        status = subprocess.run(swift + ["--product", product], cwd=REPOSITORY, stdout=sys.stderr).returncode
        if status != 0:
            raise Failure(f"{product} cannot be built")
    shown = subprocess.run(swift + ["--show-bin-path"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return Path(shown.stdout.strip())
