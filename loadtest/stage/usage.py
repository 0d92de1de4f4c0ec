"""The processor time of a measurement's processes over a stretch of time, by their own clocks."""

import time

from stage import kernel
from stage.redis import RedisServer
from stage.servers import PresenceServer, Server


class Usage:
    """Begins when it is created; ``report`` returns the time used since."""

    def __init__(self, server: Server, redis: RedisServer | None = None):
        self._server = server
        self._redis = redis
        self._began = time.monotonic()
        self._cpu = server.process.cpu_seconds()
        self._redis_before = redis.usage() if redis else {}
        self._commands = redis.commands() if redis else {}
        self._metrics = server.metrics() if isinstance(server, PresenceServer) else {}

    def report(self) -> dict:
        found = {
            "seconds": time.monotonic() - self._began,
            "serverCPUSeconds": self._server.process.cpu_seconds() - self._cpu,
            "serverUserBytes": kernel.user_memory(self._server.pid),
        }
        if self._redis:
            after = self._redis.usage()
            found["redis"] = {name: after[name] - before for name, before in self._redis_before.items()}
            found["redisCalls"] = difference(self._redis.commands(), self._commands)
        if self._metrics:
            found["metrics"] = difference(self._server.metrics(), self._metrics)
        return found


def difference(after: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    """The counts in between; unchanged ones are left out."""
    changed = {name: value - before.get(name, 0) for name, value in after.items()}
    return {name: value for name, value in changed.items() if value}
