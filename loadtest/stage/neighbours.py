"""Other work of the machine during a measurement: it affects every latency and rate."""

import os
import resource
import time
from typing import Callable

from stage import kernel

MOST = 0.1
"""Cores of other work beyond which latencies and rates are no longer the server's."""


class Neighbours:
    """Begins when it is created; ``report`` returns the other work since.

    - `own`: processor seconds so far of the stage's running processes.
    """

    def __init__(self, own: Callable[[], float]):
        self._running = own
        self._began = time.monotonic()
        self._busy = kernel.busy_seconds()
        self._own = self._used()
        self._load = os.getloadavg()[0]

    def _used(self) -> float:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = resource.getrusage(resource.RUSAGE_SELF)
        return self._running() + ended.ru_utime + ended.ru_stime + own.ru_utime + own.ru_stime

    def report(self) -> dict:
        seconds = time.monotonic() - self._began
        busy = {core: (after - self._busy[core]) / seconds for core, after in kernel.busy_seconds().items()}
        own = (self._used() - self._own) / seconds
        return {
            "seconds": seconds,
            "loadAverages": {"before": self._load, "after": os.getloadavg()[0]},
            "busyShares": {f"core{core}": share for core, share in busy.items()},
            "ownCores": own,
            # The kernel counts busy cores in ticks, processes exactly.
            "otherCores": max(0.0, sum(busy.values()) - own),
        }


def caution(report: dict) -> list[str]:
    """Warnings for the readers of the figures."""
    if report["otherCores"] <= MOST:
        return []
    return [f"other work used {report['otherCores']:.2f} of the machine's {len(report['busyShares'])} cores meanwhile: "
            "latencies and rates are not the server's alone"]
