"""Which core serves and which one loads it.

Servers and the baseline have a core of their own, in turn; clients, Redis and this program share the other one. What is
compared is then one core's work, and nothing else runs on it. Where Redis is what is measured, it has a core to itself:
the other one is the server's and the clients', unless there is a third. With one core there is nothing to pin to.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Cores:
    server: int | None
    client: int | None
    redis: int | None

    @staticmethod
    def choose(
        server: int | None = None, client: int | None = None, pin: bool = True, redis_apart: bool = False,
    ) -> "Cores":
        usable = sorted(os.sched_getaffinity(0))
        if not pin or len(usable) < 2:
            return Cores(None, None, None)
        # The last one for the server: devices interrupt the first.
        server = usable[-1] if server is None else server
        others = [core for core in usable if core != server]
        if not redis_apart:
            client = others[0] if client is None else client
            return Cores(server, client, client)
        if client is None:
            client = others[1] if len(others) > 1 else server
        return Cores(server, client, next(core for core in usable if core not in (server, client)))
