"""Connections to a server of ours in an asyncio loop: WebSockets of users, and one for calls over HTTP."""

import asyncio
import base64
import json
import os
import re
import struct
import time

from stage.client import Mint, frame
from stage.failure import Failure
from stage.http import request
from stage.servers import PresenceServer

NUMBER = re.compile(rb'^\{"type":"(\w+)","id":(\d+)')


class UserSocket(asyncio.Protocol):
    """A user's connection. `answers` has for each awaited request who gets its answer: the type, its text, and the monotonic
    time when its bytes were read. All other messages are left out."""

    def __init__(self, user: str):
        self.user = user
        self.answers: dict[int, asyncio.Future] = {}
        self.closed = asyncio.get_running_loop().create_future()
        self._opened = asyncio.get_running_loop().create_future()
        self._data = b""
        self._id = 0

    @staticmethod
    async def connect(server: PresenceServer, mint: Mint, user: str, address: str) -> "UserSocket":
        """Opens a connection from an address of this machine, and a session of the user."""
        _, client = await asyncio.get_running_loop().create_connection(
            lambda: UserSocket(user), "127.0.0.1", server.port, local_addr=(address, 0))
        key = base64.b64encode(os.urandom(16)).decode()
        client._transport.write((
            f"GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: presence.v1\r\n\r\n").encode())
        await client._opened
        await client.ask("connect", token=mint.token(user), device={"kind": "phone"})
        return client

    async def ask(self, type: str, **members) -> dict:
        self._id += 1
        found, text, _ = await self.begin(self._id, json.dumps({"type": type, "id": self._id} | members))
        if found == "error":
            raise Failure(f"{type} of {self.user} was answered {text!r}")
        return json.loads(text)

    def begin(self, id: int, text: str) -> asyncio.Future:
        """Sends a request with this id; its answer comes later."""
        self.answers[id] = asyncio.get_running_loop().create_future()
        self._transport.write(frame(text))
        return self.answers[id]

    async def close(self) -> None:
        """Ends the session at once, and waits for the server's answer."""
        self._transport.write(b"\x88\x82" + bytes(4) + (1000).to_bytes(2, "big"))
        await self.closed

    # ---- From the transport ----

    def connection_made(self, transport) -> None:
        self._transport = transport

    def connection_lost(self, _) -> None:
        failure = Failure(f"the connection of {self.user} ended")
        for waiter in (self._opened, *self.answers.values()):
            if not waiter.done():
                waiter.set_exception(failure)
        if not self.closed.done():
            self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        at = time.monotonic()
        self._data += data
        if not self._opened.done():
            head, end, rest = self._data.partition(b"\r\n\r\n")
            if not end:
                return
            if b" 101 " not in head.split(b"\r\n")[0]:
                raise Failure(f"the server answered an upgrade with {head!r}")
            self._opened.set_result(None)
            self._data = rest
        while (found := self._next()) is not None:
            opcode, payload = found
            if opcode == 0x9:
                self._transport.write(bytes([0x8A, 0x80 | len(payload)]) + bytes(4) + payload)
            elif opcode == 0x8:
                self._transport.close()
            elif opcode == 0x1 and (head := NUMBER.match(payload)) and (waiter := self.answers.pop(int(head[2]), None)):
                waiter.set_result((head[1].decode(), payload, at))

    def _next(self) -> tuple[int, bytes] | None:
        """The next whole frame."""
        data = self._data
        if len(data) < 2:
            return None
        length, begin = data[1], 2
        if length >= 126:
            form, begin = ("!H", 4) if length == 126 else ("!Q", 10)
            if len(data) < begin:
                return None
            length, = struct.unpack(form, data[2:begin])
        if len(data) < begin + length:
            return None
        self._data = data[begin + length:]
        return data[0] & 0x0F, data[begin:begin + length]


class Calls:
    """One connection for calls over HTTP, one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._reader, self._writer = reader, writer

    @staticmethod
    async def connect(server: PresenceServer, address: str) -> "Calls":
        return Calls(*await asyncio.open_connection("127.0.0.1", server.port, local_addr=(address, 0)))

    async def put(self, path: str, token: str, value: dict) -> None:
        body = json.dumps(value).encode()
        self._writer.write(request("PUT", path, token=token, length=len(body)) + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        if b" 204 " not in head.split(b"\r\n")[0]:
            raise Failure(f"PUT {path} was answered {head!r}")

    def close(self) -> None:
        self._writer.close()
