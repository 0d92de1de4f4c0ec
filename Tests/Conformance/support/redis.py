"""A Redis that several servers share, and that a test may stop, continue and kill."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

from . import processes
from .ports import free_port
from .redis_client import ask


class Redis:
    def __init__(self, environment=None):
        self.environment = os.environ | (environment or {})
        self.directory = tempfile.mkdtemp(prefix="presence-redis-")
        self.port = free_port()
        self.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self):
        """Starts it; a restart uses the same port. It accepts connections when this returns."""
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                processes.WITH_PARENT + [shutil.which("redis-server") or "/usr/bin/redis-server"]
                + ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.directory]
                + ["--save", "", "--appendonly", "yes"],
                stdout=log, stderr=log, cwd=self.directory, start_new_session=True, env=self.environment)
        deadline = time.monotonic() + 20
        own = f"process_id:{self.process.pid}"
        while own not in self.command("INFO", "server").split() or self.command("PING") != "PONG":
            assert self.process.poll() is None, "redis-server does not start"
            assert time.monotonic() < deadline, "redis-server is never ready"
            time.sleep(0.02)

    def command(self, *words, database=None):
        """The answer of one command, as plain lines."""
        if not words[0].startswith("--"):
            return ask(self.port, words, database=database)
        run = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, timeout=20)
        return run.stdout.strip()

    def send_signal(self, number):
        os.kill(self.process.pid, number)

    def stop(self):
        """Suspends it: connections stay open, and no command is answered."""
        self.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.send_signal(signal.SIGCONT)

    def kill(self):
        self.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.go_on()
            self.process.kill()
        self.process.wait()
        processes.sweep(self.directory)
