"""Servers with a deliberate bug, and a proxy to Redis that delays one command."""

import asyncio
import contextlib
import mmap
import os
import shutil
import tempfile

from .server import BINARY


@contextlib.contextmanager
def binary_with(mistake, script):
    """A copy of the program in which a script's text is replaced: `mistake` is the old text and the new one, which is
    at most as long; `script` is the beginning of the script. Programs contain their scripts verbatim."""
    old, new = (text.encode() for text in mistake)
    assert len(new) <= len(old), "it is written over the old text, in its place"
    folder = tempfile.mkdtemp(prefix="presence-mistake-")
    try:
        path = os.path.join(folder, "presenced")
        shutil.copy(BINARY, path)
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as program:
            place, places = program.find(script.encode()), 0
            while place >= 0:
                at = program.find(old, place, place + 2_000)
                assert at >= 0, "the script does not have what this replaces"
                program[at:at + len(old)] = new.ljust(len(old))
                place, places = program.find(script.encode(), place + 1), places + 1
            assert places, "the program does not have this script"
        yield path
    finally:
        shutil.rmtree(folder)


class HeldLine:
    """A proxy in front of Redis. The next command with a certain text is delayed, with the later input of its connection,
    until it is released."""

    def __init__(self, redis):
        self.redis, self.word = redis, None
        self.is_held, self.may_go = asyncio.Event(), asyncio.Event()
        self.tasks, self.ends = set(), []

    async def __aenter__(self):
        self.listener = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.url = "redis://127.0.0.1:{}".format(self.listener.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_):
        self.listener.close()
        for task in self.tasks:
            task.cancel()
        for end in self.ends:
            end.transport.abort()

    def hold(self, word):
        self.word = word.encode()

    def let_go(self):
        self.may_go.set()

    async def accept(self, reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.redis.port)
        self.ends += [writer, far_writer]
        for source, target, is_asking in ((reader, far_writer, True), (far_reader, writer, False)):
            self.tasks.add(asyncio.create_task(self.carry(source, target, is_asking)))

    async def carry(self, source, target, is_asking):
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65_536):
                if is_asking and self.word and self.word in data:
                    self.word = None
                    self.is_held.set()
                    await self.may_go.wait()
                target.write(data)
        target.close()
