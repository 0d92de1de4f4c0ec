"""Which core serves and which one loads it.

Servers and the baseline have a core of their own, in turn; clients, Redis and this program share the other one. What is
compared is then one core's work, and nothing else runs on it. With one core there is nothing to pin to.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Cores:
    server: int | None
    client: int | None

    @staticmethod
    def choose(server: int | None = None, client: int | None = None, pin: bool = True) -> "Cores":
        usable = sorted(os.sched_getaffinity(0))
        if not pin or len(usable) < 2:
            return Cores(None, None)
        # The last one for the server: devices interrupt the first.
        server = usable[-1] if server is None else server
        if client is None:
            client = next(core for core in usable if core != server)
        return Cores(server, client)
