"""A blocking client of a server of ours, for scenarios that need no crowd: many requests may be under way at once."""

import base64
import hashlib
import hmac
import json
import os
import socket
import struct
import time
from pathlib import Path

from stage.failure import Failure
from stage.servers import PresenceServer

PATIENCE = 60
"""Seconds that an answer may take."""


class Mint:
    """Makes the tokens of a server's users, signed with the secret of its data directory."""

    def __init__(self, server: PresenceServer):
        self._key = secret(server.data)

    def token(self, user: str, **claims) -> str:
        now = int(time.time())
        parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": user, "iat": now, "exp": now + 24 * 3600} | claims]
        text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        return text + "." + encoded(hmac.new(self._key, text.encode(), hashlib.sha256).digest())


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def secret(data: Path) -> bytes:
    return (data / "secret").read_bytes().strip()


class Client:
    """One connection of a user; in a `with`, it is closed at the end."""

    def __init__(self, server: PresenceServer, mint: Mint, user: str):
        self.user = user
        self._id = 0
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall((
            f"GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: presence.v1\r\n\r\n").encode())
        status = self._stream.readline()
        if b" 101 " not in status:
            raise Failure(f"the server answered an upgrade with {status!r}")
        while self._stream.readline() != b"\r\n":
            pass
        self.ask("connect", token=mint.token(user), device={"kind": "phone"})

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session at once: of one that lingers, the user would have a connection less for a while."""
        try:
            self._socket.sendall(b"\x88\x82" + bytes(4) + (1000).to_bytes(2, "big"))
            while self._stream.read(65_536):
                pass
        except OSError:
            pass  # The server has closed it already.
        self._stream.close()
        self._socket.close()

    def hand_over(self) -> socket.socket:
        """The socket, for who reads and closes it from now on. Nothing may have come that was not asked for."""
        self._stream.detach()
        self._socket.setblocking(False)
        return self._socket

    def ask(self, type: str, **members) -> list[dict]:
        """A request and the parts of its answer."""
        return self.ask_all([(type, members)])[0]

    def ask_all(self, requests: list[tuple[str, dict]], pending: int = 50) -> list[list[dict]]:
        """Many requests, so many of them under way, and the parts of each answer."""
        answers, begun = [], 0
        first = self._id + 1
        while len(answers) < len(requests):
            while begun < min(len(requests), len(answers) + pending):
                type, members = requests[begun]
                self._id += 1
                self._send({"type": type, "id": self._id} | members)
                begun += 1
            answers.append(self._answer(first + len(answers), requests[len(answers)][0]))
        return answers

    def _answer(self, number: int, type: str) -> list[dict]:
        parts = []
        while True:
            message = self._receive()
            if message.get("id") != number:
                continue
            if message["type"] == "error":
                raise Failure(f"{type} of {self.user} was answered {message}")
            parts.append(message)
            if message.get("more") is not True:
                return parts

    def _send(self, message: dict) -> None:
        self._socket.sendall(frame(json.dumps(message, separators=(",", ":"))))

    def _receive(self) -> dict:
        """The next text message."""
        while True:
            first, length = self._stream.read(2)
            if length == 126:
                length, = struct.unpack("!H", self._stream.read(2))
            elif length == 127:
                length, = struct.unpack("!Q", self._stream.read(8))
            data = self._stream.read(length)
            opcode = first & 0x0F
            if opcode == 0x9:
                self._socket.sendall(bytes([0x8A, 0x80 | len(data)]) + bytes(4) + data)
            elif opcode == 0x8:
                raise Failure(f"the server closed the connection of {self.user}: {data!r}")
            elif opcode == 0x1:
                return json.loads(data)


def frame(text: str) -> bytes:
    """A client's text message. With a mask of zeros its bytes stay as they are."""
    data = text.encode()
    if len(data) < 126:
        length = bytes([0x80 | len(data)])
    else:
        length = struct.pack("!BH", 0xFE, len(data)) if len(data) < 65_536 else struct.pack("!BQ", 0xFF, len(data))
    return b"\x81" + length + bytes(4) + data


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Of a list of times: p50, p99 and the longest, in milliseconds."""
    ordered = sorted(seconds)
    return {"p50": ordered[len(ordered) // 2] * 1e3, "p99": ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1e3,
            "longest": ordered[-1] * 1e3}
