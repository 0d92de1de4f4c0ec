"""The processes: one Redis, three servers that share it, and a file system of its own that can be full."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import tempfile

from support import processes
from support.ports import free_port
from support.tokens import Mint

from . import timing

BINARY = os.environ["PRESENCED"]


class Process:
    """Something that can be stopped, continued and killed."""

    process = None

    def spawn(self, command, **options):
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=processes.end_with_parent, **options)

    def send(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait()

    def end(self):
        if self.process and self.process.poll() is None:
            self.send(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill()


class Redis(Process):
    """Its log is written before any answer and never synced: it survives the death of any process."""

    def __init__(self, directory):
        self.directory, self.port = directory, free_port()
        self.url = f"redis://127.0.0.1:{self.port}"

    async def start(self):
        with open(os.path.join(os.path.dirname(self.directory), "redis.log"), "ab") as log:
            self.spawn(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.directory,
                 "--save", "", "--appendonly", "yes", "--appendfsync", "no", "--enable-debug-command", "local"],
                stdout=log, stderr=log, cwd=self.directory)
        for _ in range(500):
            if await self.ask("PING") == "PONG":
                return
            await asyncio.sleep(0.02)
        raise AssertionError("redis-server does not start")

    async def ask(self, *words):
        """The answer of one command, as redis-cli prints it."""
        asking = await asyncio.create_subprocess_exec(
            "redis-cli", "-p", str(self.port), *words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said, _ = await asking.communicate()
        return said.decode().strip()


class Server(Process):
    """One of several servers with the same settings and secret, always on the same port."""

    def __init__(self, number, directory, redis):
        self.number, self.directory, self.redis = number, directory, redis
        self.host, self.port = "127.0.0.1", free_port()
        self.is_taken_off = False
        """Whether the proxies send no more connections there."""
        self.log = os.path.join(directory, f"server-{number}.log")
        self.read = 0
        self.stopped_by_us = False

    def standstills(self):
        """The recent standstill of its loop that we did not cause, in seconds, from its log."""
        try:
            with open(self.log, "rb") as file:
                file.seek(self.read)
                news = file.read()
        except FileNotFoundError:
            return
        self.read += len(news)
        for found in re.finditer(rb"the loop stood still ms=(\d+)", news):
            if self.stopped_by_us:
                self.stopped_by_us = False
            else:
                yield int(found[1]) / 1000

    async def start(self):
        self.stopped_by_us = False
        with open(self.log, "ab") as log:
            self.spawn(
                [BINARY, "serve", "--port", str(self.port), "--data-dir", self.directory, "--redis", self.redis.url,
                 "--config", os.path.join(self.directory, "presenced.yaml"), "--shards", "1"],
                stdout=subprocess.PIPE, stderr=log)
        line = await asyncio.wait_for(asyncio.to_thread(self.process.stdout.readline), 30)
        assert line.startswith(b"listening on "), f"server {self.number}: {line!r}"
        self.is_taken_off = False


class Stage:
    def __init__(self, servers=3):
        self.directory = tempfile.mkdtemp(prefix="presence-chaos-")
        data = os.path.join(self.directory, "redis")
        os.mkdir(data)
        self.disk = data if self.mount(data) else None
        self.redis = Redis(data)
        with open(os.path.join(self.directory, "presenced.yaml"), "w") as file:
            file.write(timing.SETTINGS)
        self.servers = [Server(number, self.directory, self.redis) for number in range(servers)]

    @staticmethod
    def mount(place):
        """A small file system, if permitted: its disk gets full."""
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "presence-chaos", place], capture_output=True)
        return mounted.returncode == 0

    async def start(self):
        await self.redis.start()
        await asyncio.gather(*(server.start() for server in self.servers))
        sample = await asyncio.to_thread(
            subprocess.run, [BINARY, "token", "sample", "--data-dir", self.directory], capture_output=True, text=True)
        self.mint = Mint(sample.stdout.strip(), self.directory)

    async def doctor(self, *words):
        """Exit status and report of `presenced doctor`."""
        looking = await asyncio.create_subprocess_exec(
            BINARY, "doctor", "--redis", self.redis.url, "--config", os.path.join(self.directory, "presenced.yaml"),
            *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, _ = await looking.communicate()
        return looking.returncode, said.decode()

    def end(self):
        for process in self.servers + [self.redis]:
            process.end()
        if self.disk:
            subprocess.run(["umount", "-l", self.disk], capture_output=True)
        processes.sweep(self.directory)

    def logs(self):
        for name in sorted(os.listdir(self.directory)):
            if name.endswith(".log"):
                with open(os.path.join(self.directory, name), errors="replace") as file:
                    yield name, file.read().splitlines()[-15:]

    def keep(self, place):
        """Copies the logs out, for the analysis of a failure."""
        os.makedirs(place, exist_ok=True)
        for name in os.listdir(self.directory):
            if name.endswith(".log"):
                shutil.copy(os.path.join(self.directory, name), place)
