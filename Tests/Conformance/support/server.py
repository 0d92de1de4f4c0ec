"""One `presenced`, started as a user would start it."""

import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from . import processes, settings
from .patience import eventually
from .tokens import Mint

BINARY = os.environ.get("PRESENCED", "presenced")
FAULTS = ("Sanitizer: ", "Fatal error: ")
"""Texts that a correct server never writes: a sanitizer's report, a Swift program's message about a trap."""


def run(*arguments, timeout=30):
    """Runs the command to its end."""
    return subprocess.run(
        [BINARY, *arguments], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
        env=environment(arguments))


def environment(command):
    """The suite can run with `PRESENCE_REDIS_INTERESTS=true`, which clusters do not support."""
    is_cluster = any("+cluster:" in str(word) for word in command)
    return os.environ | ({"PRESENCE_REDIS_INTERESTS": "false"} if is_cluster else {})


LIVING = []
"""The servers that are not closed yet."""


class Server:
    """A running server; `configuration` has the short names of `settings.KEYS`.

    Without `redis` it keeps a Redis of its own in `directory`, which is removed at the end unless it was given. `binary` is
    another program than the one under test.
    """

    def __init__(self, configuration=None, redis=None, directory=None, shards=None, arguments=(), binary=BINARY):
        self.owns_directory = directory is None
        self.directory = directory or tempfile.mkdtemp(prefix="presence-conformance-")
        self.configuration = configuration or {}
        self.redis = redis
        self.command = [binary, "serve", "--port", "0", "--data-dir", self.directory]
        if self.configuration:
            with tempfile.NamedTemporaryFile("w", dir=self.directory, suffix=".yaml", delete=False) as file:
                file.write(settings.text(self.configuration))
            self.command += ["--config", file.name]
        if redis:
            self.command += ["--redis", redis.url]
        if shards:
            self.command += ["--shards", str(shards)]
        self.command += arguments
        LIVING.append(self)
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self):
        """Starts it (again) and waits until it serves."""
        self.log = open(os.path.join(self.directory, "server.log"), "ab")
        self.process = subprocess.Popen(
            processes.WITH_PARENT + self.command, stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL,
            start_new_session=True, env=environment(self.command))
        self.lines = []
        spoken = queue.Queue()
        self.listener = threading.Thread(target=self.listen, args=(self.process.stdout, spoken), daemon=True)
        self.listener.start()
        try:
            line = spoken.get(timeout=60)
        except queue.Empty:
            line = None
        assert line and line.startswith(("listening on ws://", "listening on wss://")), f"{line!r} instead of an address\n{self.logged()}"
        self.url = line.removeprefix("listening on ")
        address = urlsplit(self.url)
        self.host, self.port = address.hostname, address.port
        self.mint = Mint.of(self.directory, lambda: self.cli_token("sample"))

    def listen(self, stream, spoken):
        for line in stream:
            self.lines.append(line.decode().rstrip("\n"))
            spoken.put(self.lines[-1])
        spoken.put(None)

    def cli_token(self, user, *arguments):
        """The output of `presenced token`."""
        made = run("token", user, "--data-dir", self.directory, *arguments)
        assert made.returncode == 0, made.stderr
        return made.stdout.rstrip("\n")

    async def wait_for_log(self, text, times=1):
        """Waits until the log contains a text this many times."""
        await eventually(lambda: self.logged().count(text) >= times, f"{text!r} in the log")

    def logged(self):
        """The end of the log."""
        return self.whole_log()[-3000:]

    def whole_log(self):
        with open(os.path.join(self.directory, "server.log"), errors="replace") as file:
            return file.read()

    @property
    def redis_child(self):
        """The id of the `redis-server` that this server runs for itself."""
        for process in processes.find(self.directory):
            with open(f"/proc/{process}/comm") as file:
                if file.read().startswith("redis-server"):
                    return process
        raise AssertionError("the server has no redis-server of its own")

    def send_signal(self, number):
        os.kill(self.process.pid, number)

    def stand_still(self):
        """Suspends all of its threads, and returns when the last one has stopped: on a busy machine that takes a
        moment."""
        self.send_signal(signal.SIGSTOP)
        tasks = Path(f"/proc/{self.process.pid}/task")
        while any((task / "stat").read_text().rpartition(")")[2].split()[0] not in "tT" for task in tasks.iterdir()):
            time.sleep(0.001)

    def stop(self, number=signal.SIGTERM, within=20):
        """Stops it and returns its exit status."""
        self.send_signal(number)
        # Its output ends with it. (`wait` with a timeout looks in growing intervals only.)
        self.listener.join(timeout=within)
        return self.process.wait(timeout=5)

    def kill(self):
        """Kills it; its own Redis, if any, is left."""
        self.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        process = getattr(self, "process", None)
        if process and process.poll() is None:
            self.send_signal(signal.SIGCONT)
            try:
                self.stop(within=10)
            except subprocess.TimeoutExpired:
                self.kill()
        if self in LIVING:
            LIVING.remove(self)
        self.log.close()
        log = self.whole_log()
        if self.owns_directory:
            processes.sweep(self.directory)
        for fault in FAULTS:
            assert fault not in log, log[max(0, log.index(fault) - 500):][:6000]
