"""Clients that disconnect in the middle of anything: nothing of theirs stays reserved, and their places become free."""

import asyncio
import random
import socket

from support import pictures
from support.api import API
from support.patience import PATIENCE, eventually
from support.pictures import jpeg, noise
from support.raw import CLOSE, CONTINUATION, TEXT, RawSocket, frame, text
from support.room import Room
from support.talks import say, talk

SETTINGS = {
    "attachments.enabled": True, "accounts.enabled": True, "limit_loopback": True, "linger": 500,
    "requests_per_second": 0, "user_requests_per_second": 0}
HELD = ["inbox_bytes", "outbox_bytes", "http_uploads", "http_downloads", "long_answers_waiting"]
COUNT = 150


class Caller:
    """A connection from one of some addresses, on which a request is cut off at any place."""

    def __init__(self, room, draw):
        self.room, self.draw = room, draw
        address = f"127.0.0.{draw.randrange(2, 6)}"
        self.stream = socket.create_connection(
            (room.server.host, room.server.port), timeout=PATIENCE, source_address=(address, 0))
        self.stream.setblocking(False)
        self.loop = asyncio.get_running_loop()

    async def say(self, data):
        """Sends a part of it, in one piece or several."""
        data = data[:self.draw.choice([len(data), self.draw.randrange(len(data) + 1)])]
        place = 0
        while place < len(data):
            step = self.draw.choice([1, 100, 5_000, len(data)])
            await self.loop.sock_sendall(self.stream, data[place:place + step])
            place += step

    async def hear(self):
        await asyncio.wait_for(self.loop.sock_recv(self.stream, 500), PATIENCE)

    async def end(self):
        if self.draw.random() < 0.5:
            await asyncio.sleep(self.draw.random() * 0.2)
        if self.draw.random() < 0.5:
            # A reset instead of an end.
            self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.stream.close()


def request(method, path, body=b"", token=None, type=None):
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += [f"Content-Type: {type}"] if type else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


async def upgraded(caller, room, person):
    await caller.loop.sock_sendall(caller.stream, RawSocket(room.server).upgrade())
    await caller.hear()
    await caller.loop.sock_sendall(caller.stream, text({"type": "connect", "id": 1, "token": room.token(person)}))


async def one(room, draw, people, conversation, file, picture):
    caller = Caller(room, draw)
    person = draw.choice(people)
    try:
        kind = draw.randrange(8)
        if kind == 0:
            await caller.say(request("GET", draw.choice(["/presence.js", "/healthz"]), b"x" * draw.randrange(16_000)))
        elif kind == 1:
            await caller.say(request("POST", "/v1/sessions", b" " * draw.randrange(1, 16_000)))
        elif kind == 2:
            data = draw.choice([b"y" * draw.randrange(1, 400_000), picture, picture[:len(picture) // 2]])
            path = f"/v1/conversations/{conversation}/attachments"
            await caller.say(request("POST", path, data, room.token(person), draw.choice(["image/jpeg", "text/plain"])))
        elif kind == 3:
            await caller.loop.sock_sendall(caller.stream, request("GET", file))
            if draw.random() < 0.7:
                await caller.hear()
        elif kind == 4:
            await upgraded(caller, room, person)
            await caller.say(frame(TEXT, b"x" * draw.randrange(100_000), final=False) + frame(CONTINUATION, b"x" * 500))
        else:
            await upgraded(caller, room, person)
            page = text({"type": "getMessages", "id": 2, "conversation": conversation, "limit": 100})
            many = text({"type": "subscribe", "id": 3, "conversationList": True}) + page * draw.randrange(1, 6)
            await caller.loop.sock_sendall(caller.stream, many)
            if draw.random() < 0.5:
                await caller.loop.sock_sendall(caller.stream, frame(CLOSE, b"\x03\xe8"))
    except (ConnectionError, TimeoutError):
        pass
    await caller.end()


async def test_nothing_stays_reserved_for_a_client_that_left(start):
    draw = random.Random(11)
    room = Room(start(SETTINGS, shards=2))
    people = [f"p{number}" for number in range(6)]
    ana, *others = [await room.come(person) for person in people]
    conversation = (await talk(ana, *others, name="All"))["id"]
    for _ in range(20):
        await say(ana, conversation, "z" * 4_000)
    file = await upload(room, "p0", conversation, b"f" * 2_000_000, "text/plain")
    picture = jpeg(noise(700, 500))
    for _ in range(COUNT // 10):
        await asyncio.gather(*[one(room, draw, people, conversation, file, picture) for _ in range(10)])
        # All other clients continue.
        await say(ana, conversation)
    for gauge in HELD:
        await eventually(lambda: is_zero(room, gauge), f"{gauge} is 0", within=60)
    # Each user has a place, and a turn, again.
    for person in people:
        kept = await upload(room, person, conversation, pictures.photo(), "image/jpeg")
        assert kept.endswith(".jpg")


async def upload(room, person, conversation, data, type):
    answer = await API(room.server).request(
        "POST", f"/v1/conversations/{conversation}/attachments", data, token=room.token(person), headers={"Content-Type": type})
    assert answer.status == 201, answer
    return "/v1/" + answer.json["attachment"]["url"].split("/v1/")[1]


async def is_zero(room, gauge):
    return await room.api.metric(gauge) == 0
