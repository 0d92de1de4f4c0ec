"""The servers that are measured: ours, and the baseline that only sends prepared bytes."""

import os
import urllib.request
from pathlib import Path

from stage.failure import Failure
from stage.processes import Process, Processes
from stage.redis import RedisServer

LISTENING = "listening on "


# Servers have the product's defaults, and each client has an address of its own. By default, addresses of this machine are
# not counted, which would make connecting cheaper than for remote clients. So they are counted here.
SETTINGS = {"PRESENCE_LIMITS_LIMIT_LOOPBACK": "true"}


class Server:
    """A process that has printed its address."""

    def __init__(
        self, processes: Processes, name: str, command: list[str], core: int | None, environment: dict[str, str] = {},
    ):
        self._processes = processes
        # The configuration in the caller's environment must not affect a measured server.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PRESENCE_")}
        self._environment = inherited | environment
        self._command = command
        self._core = core
        self.name = name
        self.url = ""
        self.process: Process
        self._launch(command)

    def _launch(self, command: list[str]) -> None:
        self.process = self._processes.start(self.name, command, core=self._core, env=self._environment)
        line = self.process.read_line(patience=60)
        if not line.startswith(LISTENING):
            raise Failure(f"{self.name} said {line!r} instead of where it listens")
        self.url = line.removeprefix(LISTENING)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1].split("/")[0])


class PresenceServer(Server):
    """`presenced serve`, on a free port; with no Redis given it runs one of its own.

    - `under` is a command that runs it, such as strace.
    - `environment`: what must differ from the defaults in this scenario. It stands in the results.
    """

    def __init__(
        self, processes: Processes, binary: Path, data: Path, redis: RedisServer | None, core: int | None,
        shards: int | None = 1, under: list[str] = [], environment: dict[str, str] = {}, name: str = "presenced",
    ):
        self.data = data
        # All differences from the product's defaults.
        self.settings = SETTINGS | environment
        command = [*under, str(binary), "serve", "--port", "0", "--data-dir", str(data)]
        if shards is not None:
            command += ["--shards", str(shards)]
        if redis is not None:
            command += ["--redis", redis.url]
        super().__init__(processes, name, command, core, self.settings)

    def restart(self, kill: bool = False) -> None:
        """Ends it as an operator would, or kills it, and starts it anew on the same port."""
        port = self.port
        self.process.kill() if kill else self.process.end()
        command = list(self._command)
        command[command.index("--port") + 1] = str(port)
        self._launch(command)

    def metrics(self) -> dict[str, float]:
        """Its numbers by name, labels included; of histograms the sums and counts."""
        address = self.url.replace("ws://", "http://").removesuffix("/v1/ws") + "/metrics"
        with urllib.request.urlopen(address, timeout=20) as page:
            lines = page.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name.removeprefix("presence_"): float(value) for name, value in pairs if "_bucket{" not in name}

    def limits_met(self) -> dict[str, int]:
        """How often each of its limits was met since it started; those that never were are left out."""
        return {name.removeprefix('limit_met_total{limit="').removesuffix('"}'): int(count)
                for name, count in self.metrics().items() if name.startswith("limit_met_total{") and count}


class BaselineServer(Server):
    """`presence-load baseline`: accepts, upgrades, and sends prepared bytes with one send() each."""

    def __init__(self, processes: Processes, binary: Path, core: int | None):
        super().__init__(processes, "baseline", [str(binary), "baseline", "--port", "0"], core)
