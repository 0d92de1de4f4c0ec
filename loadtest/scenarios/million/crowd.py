"""The servers and the client processes of a large crowd, and what all of them use."""

import json
import os
import selectors
import subprocess
import sys
import time

from stage import kernel
from stage.failure import Failure
from stage.processes import Process


class Client:
    """One process of clients: all of one server's."""

    def __init__(self, process: Process, first: int, count: int):
        self.process = process
        self.first = first
        self.count = count
        self.progress: dict = {}
        # Set when all were open; some may have been lost since, and will be dialled again.
        self.is_filled = False
        self._unread = b""

    @property
    def open(self) -> int:
        return self.progress.get("open", 0) if self.process.is_running else 0

    def lines(self) -> list[dict]:
        """Its output since the last call."""
        try:
            piece = os.read(self.process.popen.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return []
        *whole, self._unread = (self._unread + piece).split(b"\n")
        return [json.loads(line) for line in whole if line]

    def say(self, command: str) -> None:
        self.process.popen.stdin.write(command.encode() + b"\n")
        self.process.popen.stdin.flush()


class Crowd:
    SAMPLE = 5.0
    """Seconds between two readings of all processes."""

    STALL = 60.0
    """Seconds without a further open connection that indicate an obstacle."""

    def __init__(self, stage, options):
        self.stage = stage
        self.options = options
        self.servers = []
        self.clients: list[Client] = []
        self.timeline: list[dict] = []
        self.stopped_by = "nothing: all are connected"
        self._selector = selectors.DefaultSelector()
        self._began = time.monotonic()
        self._next_sample = 0.0

    # ---- Coming up ----

    def start_servers(self) -> None:
        # One Redis for all, on any core: the machine as a whole is measured, and nothing is pinned.
        self.redis = self.stage.redis(core=None)
        environment = {"PRESENCE_HEARTBEAT_INTERVAL": self.options.heartbeat}
        for _ in range(self.options.servers):
            self.servers.append(self.stage.presence(self.redis, core=None, environment=environment))
        self._began = time.monotonic()
        self.sample()

    def connect(self) -> None:
        """Fills one server after the other, so that connects come at one pace, and never more of them at once."""
        for number in range(self.options.servers):
            client = self._start_client(number)
            if reason := self._fill(client):
                self.stopped_by = reason
                break
        self.sample()

    def _start_client(self, number: int) -> Client:
        servers, total = self.options.servers, self.options.connections
        first, after = number * total // servers, (number + 1) * total // servers
        # A separate part of 127.0.0.0/8, from 127.1.0.1 on: ports are counted by address.
        process = self.stage.start_load(
            "million", "--connections", after - first, "--first-user", first, "--users", total,
            "--watch", self.options.watch, "--rate", self.options.rate, "--source", f"127.{number + 1}.0.1",
            "--patience", 0, "--hold", server=self.servers[number], core=None, stdin=subprocess.PIPE)
        os.set_blocking(process.popen.stdout.fileno(), False)
        client = Client(process, first, after - first)
        self.clients.append(client)
        self._selector.register(process.popen.stdout, selectors.EVENT_READ, client)
        return client

    def _fill(self, client: Client) -> str | None:
        """Waits until all of a client's connections are open; what stood in the way, if something did."""
        best, best_at = 0, time.monotonic()
        while client.open < client.count:
            self.listen(1)
            now = time.monotonic()
            if client.open > best:
                best, best_at = client.open, now
            reason = None
            if not client.process.is_running:
                reason = f"the clients ended: {client.process.last_words(3)}"
            elif now - best_at > self.STALL:
                reason = (f"no further connection came up for {self.STALL:.0f} s; the last that failed: "
                          f"{client.progress.get('lastEnding')}")
            elif (left := kernel.memory()["MemAvailable"]) < self.options.reserve * 2**30:
                reason = f"memory: only {left / 2**30:.2f} GiB are left (--reserve)"
            if reason:
                # Its connections would be dialled again and again, and their memory would be missing elsewhere.
                client.process.kill()
                return reason
        client.is_filled = True
        return None

    # ---- Hearing and looking ----

    def listen(self, seconds: float) -> list[tuple[Client, dict]]:
        """The clients' output within this time, at most up to the first line that is not progress."""
        deadline = time.monotonic() + seconds
        told = []
        while not told and (left := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(min(left, 1)):
                lines = key.data.lines()
                if not lines and not key.data.process.is_running:
                    self._selector.unregister(key.fileobj)
                for line in lines:
                    if line["event"] == "progress":
                        key.data.progress = line
                    else:
                        told.append((key.data, line))
            if time.monotonic() >= self._next_sample:
                self.sample()
        return told

    @property
    def open(self) -> int:
        return sum(client.open for client in self.clients)

    def sample(self) -> dict:
        """Takes, stores and prints one reading of everything."""
        self.stage.check()
        self._next_sample = time.monotonic() + self.SAMPLE
        running = [client for client in self.clients if client.process.is_running]
        sample = {
            "seconds": time.monotonic() - self._began,
            "open": self.open,
            "lost": sum(client.progress.get("lost", 0) for client in self.clients),
            "refused": sum(client.progress.get("refused", 0) for client in self.clients),
            "cpuSeconds": {
                "servers": sum(server.process.cpu_seconds() for server in self.servers),
                "clients": sum(client.process.cpu_seconds() for client in running),
                "redis": self.redis.process.cpu_seconds(),
            },
            "userBytes": {
                "servers": self._user(self.servers),
                "clients": self._user(running),
                "redis": kernel.user_memory(self.redis.process.pid),
            },
            "kernel": kernel.memory(),
            "sockets": kernel.sockets(),
            "redis": self.redis.usage(),
        }
        self.timeline.append(sample)
        print(f"million: {sample['seconds']:6.0f} s  {sample['open']:9,} open  "
              f"{sample['kernel']['MemAvailable'] / 2**30:6.2f} GiB left", file=sys.stderr)
        return sample

    def watch_idle(self, seconds: float) -> dict:
        """The idle cost: only heartbeats and leases."""
        before = self.sample()
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.listen(left)
        return self.used(before, self.sample())

    @staticmethod
    def used(before: dict, after: dict) -> dict:
        """Cores of each kind of process, and what went through Redis, between two looks."""
        seconds = after["seconds"] - before["seconds"]
        return {
            "seconds": seconds,
            "cores": {kind: (after["cpuSeconds"][kind] - used) / seconds
                      for kind, used in before["cpuSeconds"].items() if after["cpuSeconds"][kind] >= used},
            "redisCommandsPerSecond": (after["redis"]["commands"] - before["redis"]["commands"]) / seconds,
            "redisBytesOutPerSecond": (after["redis"]["bytesOut"] - before["redis"]["bytesOut"]) / seconds,
        }

    @staticmethod
    def _user(processes: list) -> int:
        return sum(kernel.user_memory(getattr(process, "process", process).pid) for process in processes)

    def _limits_met(self) -> dict[str, int]:
        met: dict[str, int] = {}
        for server in self.servers:
            for name, count in server.limits_met().items():
                met[name] = met.get(name, 0) + count
        return met

    # ---- Telling ----

    def report(self) -> dict:
        first, last = self.timeline[0], self.timeline[-1]
        count = max(1, last["open"])
        used = sum(last["userBytes"].values()) - sum(first["userBytes"].values())
        gone = first["kernel"]["MemAvailable"] - last["kernel"]["MemAvailable"]
        calls = self.redis.commands()
        cpu = {kind: last["cpuSeconds"][kind] - first["cpuSeconds"][kind] for kind in last["cpuSeconds"]}
        return {
            "open": last["open"],
            "lost": last["lost"],
            "refused": last["refused"],
            "stoppedBy": self.stopped_by,
            "seconds": last["seconds"],
            "servers": len(self.servers),
            "settings": self.servers[0].settings,
            "limitsMet": self._limits_met(),
            "connectsPerSecond": count / last["seconds"],
            "memoryUsedBytes": gone,
            "memoryLeftBytes": last["kernel"]["MemAvailable"],
            "serverUserBytesAtStart": first["userBytes"]["servers"],
            "perConnection": {
                "serverUserBytes": (last["userBytes"]["servers"] - first["userBytes"]["servers"]) / count,
                "clientUserBytes": (last["userBytes"]["clients"] - first["userBytes"]["clients"]) / count,
                "redisUserBytes": (last["userBytes"]["redis"] - first["userBytes"]["redis"]) / count,
                # Used memory that belongs to no process: sockets, files and page tables of both ends.
                "kernelBytes": (gone - used) / count,
                # The part of it in the kernel's objects, by the kernel's own count.
                "kernelSlabBytes": (last["kernel"]["Slab"] - first["kernel"]["Slab"]) / count,
                "serverCPUMicroseconds": cpu["servers"] * 1e6 / count,
                "clientCPUMicroseconds": cpu["clients"] * 1e6 / count,
                "redisCPUMicroseconds": cpu["redis"] * 1e6 / count,
            },
            "redisCalls": calls,
            "publishesPerConnection": calls.get("publish", 0) / count,
            "timeline": self.timeline,
        }
