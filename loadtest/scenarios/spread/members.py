"""Members of conversations, each with a connection of their own: set up one after the other, then read all together."""

import base64
import json
import os
import select
import socket
import struct

from stage.client import PATIENCE, Mint
from stage.failure import Failure

RECEIVED = 65_536


class Member:
    """A user's connection. `ask` waits for its answer; `frames` takes what is there."""

    def __init__(self, server, mint: Mint, user: str, address: str):
        self.user = user
        # The last number of each kind of event, from its text.
        self.newest: dict[str, int] = {}
        self.conversation: "Conversation"
        self._id = 0
        self._rest = b""
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE, source_address=(address, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            f"GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: presence.v1\r\n\r\n").encode())
        while b"\r\n\r\n" not in self._rest:
            self._receive()
        head, self._rest = self._rest.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise Failure(f"the server answered an upgrade with {head.splitlines()[0]!r}")
        self.ask("connect", token=mint.token(user), device={"id": user, "kind": "phone"})

    def ask(self, type: str, **members) -> dict:
        """A request and the last part of its answer; what comes before it is no answer."""
        self._id += 1
        self.send(json.dumps({"type": type, "id": self._id} | members, separators=(",", ":")).encode())
        while True:
            for frame in self.frames():
                answer = json.loads(frame)
                if answer.get("id") != self._id or answer.get("more") is True:
                    continue
                if answer["type"] == "error":
                    raise Failure(f"{type} of {self.user} was answered {answer}")
                return answer

    def send(self, text: bytes) -> None:
        length = bytes([0x80 | len(text)]) if len(text) < 126 else struct.pack("!BH", 0xFE, len(text))
        # A mask of zeros leaves the bytes unchanged.
        self.socket.sendall(b"\x81" + length + bytes(4) + text)

    def frames(self) -> list[bytes]:
        """Reads once, and returns the text messages that are whole by then."""
        self._receive()
        data, place, found = self._rest, 0, []
        while len(data) >= place + 2:
            first, length = data[place], data[place + 1]
            begin = place + 2
            if length == 126:
                begin, length = place + 4, int.from_bytes(data[place + 2:place + 4], "big")
            elif length == 127:
                begin, length = place + 10, int.from_bytes(data[place + 2:place + 10], "big")
            if len(data) < begin + length:
                break
            place, text = begin + length, data[begin:begin + length]
            if first == 0x81:
                found.append(text)
            elif first == 0x89:
                self.socket.sendall(bytes([0x8A, 0x80 | len(text)]) + bytes(4) + text)
            elif first == 0x88:
                raise Failure(f"the server closed the connection of {self.user}: {text!r}")
        self._rest = data[place:]
        return found

    def _receive(self) -> None:
        piece = self.socket.recv(RECEIVED)
        if not piece:
            raise Failure(f"the connection of {self.user} ended")
        self._rest += piece


class Conversation:
    """Its first member, the only one on the first server, writes; the others are on the other servers, in turn.

    All of them follow the conversation and watch the first, so a message and a status reach the same people.
    """

    def __init__(self, servers: list, mint: Mint, number: int, size: int):
        others = servers[1:]
        places = [servers[0]] + [others[(number * (size - 1) + place) % len(others)] for place in range(size - 1)]
        self.members = [
            Member(server, mint, f"c{number}-{place}", f"127.{1 + place}.{number >> 8}.{1 + (number & 0xFF) % 254}")
            for place, server in enumerate(places)]
        self.writer = self.members[0]
        # Members who lack the last written message or status.
        self.missing = 0
        for member in self.members:
            member.conversation = self
        made = self.writer.ask("createConversation", participants=[member.user for member in self.members],
                               name=f"Conversation {number}")
        self.id = made["conversation"]["id"]

    def follow(self) -> None:
        for member in self.members:
            member.ask("subscribe", users=[self.writer.user], conversations=[{"id": self.id, "after": 0}])


class Crowd:
    """All members of all conversations."""

    def __init__(self, servers: list, conversations: int, size: int):
        mint = Mint(servers[0])
        self.conversations = [Conversation(servers, mint, number, size) for number in range(conversations)]
        for conversation in self.conversations:
            conversation.follow()
        self.size = size
        self._poll = select.epoll()
        self._members = {member.socket.fileno(): member for conversation in self.conversations
                         for member in conversation.members}
        for descriptor in self._members:
            self._poll.register(descriptor, select.EPOLLIN)

    def close(self) -> None:
        self._poll.close()
        for member in self._members.values():
            member.socket.close()

    def listen(self, seconds: float):
        """Received messages, as (member, message), as soon as there are any, and at the latest after this time."""
        for descriptor, _ in self._poll.poll(max(0, seconds)):
            member = self._members[descriptor]
            for frame in member.frames():
                yield member, frame
