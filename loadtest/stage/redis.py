"""A Redis of our own, set up as a server's own child is (RedisServerProcess+Settings.swift, config/redis.conf)."""

import os
import shutil
import socket
import threading
import time
from pathlib import Path

from stage.failure import Failure
from stage.processes import Process, Processes

SETTINGS = {
    "port": "0",
    "daemonize": "no",
    # The log is written before a change is answered, and synced once a second from outside (LogSync), as servers do.
    "appendonly": "yes",
    "appendfsync": "no",
    "save": "",
    "maxmemory-policy": "noeviction",
    "client-output-buffer-limit": "pubsub 256mb 64mb 60",
    "hash-max-listpack-entries": "128",
    "hash-max-listpack-value": "512",
}


class RedisServer:
    def __init__(self, processes: Processes, directory: Path, core: int | None):
        program = shutil.which("redis-server", path=os.environ.get("PATH", "") + ":/usr/bin")
        if not program:
            raise Failure("redis-server is not found: make setup installs it")
        directory.mkdir()
        self.socket = directory / "redis.sock"
        self.url = f"unix://{self.socket}"
        command = [program, "--dir", str(directory), "--unixsocket", str(self.socket), "--unixsocketperm", "700"]
        for name, value in SETTINGS.items():
            command += ["--" + name] + (value.split() or [""])
        self.process: Process = processes.start("redis", command, core=core)
        self._await_answer(patience=20)
        self._sync = LogSync(directory / "appendonlydir")

    def _await_answer(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        while True:
            try:
                if self.command("PING") == "PONG":
                    return
            except (OSError, Failure):
                pass
            if not self.process.is_running or time.monotonic() > deadline:
                raise Failure(f"redis-server did not start; the end of its log:\n{self.process.last_words()}")
            time.sleep(0.02)

    def command(self, *words: str) -> str:
        """One command with a simple or bulk reply."""
        request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(self.socket))
            connection.sendall(request)
            reply = connection.makefile("rb")
            head = reply.readline().decode().rstrip()
            if head.startswith("$"):
                return reply.read(int(head[1:])).decode()
            if head.startswith("+"):
                return head[1:]
            raise Failure(f"Redis answered {words[0]} with {head!r}")

    def info(self, section: str) -> dict[str, str]:
        lines = self.command("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def commands(self) -> dict[str, int]:
        """How often each command was called since the start; those of a script count too."""
        calls = {}
        for name, value in self.info("commandstats").items():
            count = dict(pair.split("=") for pair in value.split(","))["calls"]
            calls[name.removeprefix("cmdstat_")] = int(count)
        return calls

    def usage(self) -> dict[str, float]:
        """Its counters and memory at this moment."""
        stats = self.info("stats") | self.info("memory")
        return {
            "commands": int(stats["total_commands_processed"]),
            "bytesIn": int(stats["total_net_input_bytes"]),
            "bytesOut": int(stats["total_net_output_bytes"]),
            "memoryBytes": int(stats["used_memory"]),
            "cpuSeconds": self.process.cpu_seconds(),
        }

    def stop_sync(self) -> None:
        self._sync.stop()


class LogSync:
    """Forces the append-only log to the disk once a second, as servers do (RedisServerProcess+Sync.swift)."""

    def __init__(self, directory: Path):
        self._directory = directory
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(1):
            for part in self._directory.glob("*.incr.aof"):
                try:
                    descriptor = os.open(part, os.O_RDONLY | os.O_CLOEXEC)
                except OSError:
                    continue  # Replaced by a rewrite since.
                os.fdatasync(descriptor)
                os.close(descriptor)
