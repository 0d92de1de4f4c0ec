"""Blocking HTTP clients of a server of ours, for what is measured at the server: its processor time and its memory."""

import socket
from dataclasses import dataclass

from stage.client import PATIENCE
from stage.failure import Failure
from stage.servers import PresenceServer

ADDRESSES = 50
"""Addresses that connections come from, in turn: as many people behind one address would meet its limits."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


def request(
    method: str, path: str, *, token: str | None = None, length: int | None = None, keeps: bool = True,
    type: str = "application/json",
) -> bytes:
    """The head of a call.

    - `length`: of the body that it announces, in bytes; none without it.
    - `keeps`: whether the connection stays for another call.
    """
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += [f"Content-Type: {type}", f"Content-Length: {length}"] if length is not None else []
    lines += [] if keeps else ["Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode()


class Connection:
    """One connection; in a `with`, it is closed at the end.

    - `number`: which of the addresses it comes from.
    """

    def __init__(self, server: PresenceServer, number: int = 0):
        self.socket = socket.create_connection(
            ("127.0.0.1", server.port), timeout=PATIENCE, source_address=(f"127.0.0.{10 + number % ADDRESSES}", 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *exception) -> None:
        self.socket.close()

    def call(self, head: bytes, body: bytes = b"") -> Answer:
        """Sends a call and waits for its whole answer."""
        self.socket.sendall(head)
        if body:
            self.socket.sendall(body)
        return self.answer()

    def answer(self) -> Answer:
        while (end := self._rest.find(b"\r\n\r\n")) < 0:
            self._rest += self._read()
        first, *lines = self._rest[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        body = [self._rest[end + 4:]]
        held = len(body[0])
        while held < length:
            body.append(self._read())
            held += len(body[-1])
        whole = b"".join(body)
        self._rest = whole[length:]
        return Answer(int(first.split(" ")[1]), headers, whole[:length])

    def _read(self) -> bytes:
        data = self.socket.recv(1 << 18)
        if not data:
            raise Failure("the server closed a connection before it answered")
        return data
