"""Requests and messages that never end: one address, without any token, leaves room for all others."""

import asyncio
import random
import socket

from support.patience import PATIENCE, eventually
from support.raw import CONTINUATION, TEXT, RawSocket, frame, text
from support.room import Room

BUDGET = 400_000
SETTINGS = {"inbox_bytes": BUDGET, "limit_loopback": True, "accounts.enabled": True, "shards": 1}
MOST_WITHOUT_TOKEN = 16 * 1024
LONGEST_FIRST = 16_384 + 4_096


def room_with(start):
    settings = dict(SETTINGS)
    shards = settings.pop("shards")
    return Room(start(settings, shards=shards))


class Sender:
    """A connection from an address of this machine, for any bytes."""

    def __init__(self, room, address):
        self.stream = socket.create_connection(
            (room.server.host, room.server.port), timeout=PATIENCE, source_address=(address, 0))
        self.stream.setblocking(False)

    async def say(self, data):
        try:
            await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(self.stream, data), PATIENCE)
        except ConnectionError:
            pass

    async def hear(self):
        try:
            return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self.stream, 4096), PATIENCE)
        except ConnectionError:
            return b""

    def end(self):
        self.stream.close()


async def lets_in(room, person):
    """A WebSocket and a call with a body, from an address other than the floods'."""
    client = await room.come(person)
    assert (await client.ask("get", users=[]))["type"] == "users"
    answer = await room.api.request("POST", "/v1/sessions", {"email": "nobody@example.org", "password": "none at all"})
    assert answer.status == 401, (answer.status, answer.json)


async def held(room):
    return await room.api.metric("inbox_bytes")


async def test_what_is_read_without_a_token_has_no_body(start):
    room = room_with(start)
    senders = []
    for path in ["/presence.js", "/v1/usernames/ana", "/healthz"]:
        for method in ["GET", "HEAD"]:
            sender = Sender(room, "127.0.0.2")
            await sender.say(
                f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {MOST_WITHOUT_TOKEN}\r\n\r\n".encode())
            await sender.say(b"x" * (MOST_WITHOUT_TOKEN - 1))
            senders.append(sender)
    await lets_in(room, "ana")
    # At most the bytes after a head in the same read are reserved, and only until they are read.
    assert await held(room) == 0
    # Complete messages are answered as usual.
    await senders[0].say(b"x")
    assert (await senders[0].hear()).startswith(b"HTTP/1.1 200 ")
    for sender in senders:
        sender.end()


async def test_a_call_without_a_token_has_a_short_body(start):
    room = room_with(start)
    for method, path, length, status in [
            ("POST", "/v1/sessions", MOST_WITHOUT_TOKEN, None), ("POST", "/v1/sessions", MOST_WITHOUT_TOKEN + 1, 413),
            ("GET", "/presence.js", MOST_WITHOUT_TOKEN, None), ("GET", "/presence.js", MOST_WITHOUT_TOKEN + 1, 413)]:
        sender = Sender(room, "127.0.0.2")
        await sender.say(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode())
        if status is None:
            await sender.say(b" " * length)
            answer = await sender.hear()
            assert answer and not answer.startswith(b"HTTP/1.1 413"), (method, path, length)
        else:
            assert (await sender.hear()).startswith(f"HTTP/1.1 {status} ".encode())
        sender.end()


async def test_before_connect_a_message_is_no_longer_than_one_with_the_longest_token(start):
    room = room_with(start)
    client = await room.raw()
    await client.write(text(b" " * (LONGEST_FIRST - 2) + b"{}"))
    assert (await client.read_message())["type"] == "error"
    client = await room.raw()
    await client.write(text(b" " * (LONGEST_FIRST - 1) + b"{}"))
    assert await client.closed() == 1009
    # After `connect` a message may be as long as any, also in the same packet.
    client = await room.raw()
    long = b" " * 100_000 + b'{"type":"get","id":2,"users":[]}'
    await client.write(text({"type": "connect", "id": 1, "token": room.token("ana")}) + text(long))
    assert (await client.read_message())["type"] == "connected"
    assert (await client.read_message())["type"] == "users"


async def test_one_address_leaves_room_for_others_whatever_it_sends(start):
    """Random: heads, bodies and messages that never end, of all kinds and lengths, from two addresses."""
    room = room_with(start)
    draw = random.Random(7)
    before = await room.come("before")
    senders = []
    for _ in range(160):
        sender = Sender(room, draw.choice(["127.0.0.2", "127.0.0.3"]))
        kind = draw.randrange(4)
        length = draw.randrange(2_000, MOST_WITHOUT_TOKEN)
        if kind == 0:
            await sender.say(b"GET / HTTP/1.1\r\nX: " + b"x" * draw.randrange(100, 16_000))
        elif kind == 1:
            path = draw.choice(["/v1/sessions", "/v1/accounts", "/v1/passwords/forgot"])
            await sender.say(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode())
            await sender.say(b"x" * (length - 1))
        else:
            await sender.say(RawSocket(room.server).upgrade())
            await sender.hear()
            if kind == 2:
                await sender.say(frame(TEXT, b"x" * length)[:-1])
            else:
                await sender.say(frame(TEXT, b"x", final=False))
                for _ in range(draw.randrange(1, 20)):
                    await sender.say(frame(CONTINUATION, b"x" * draw.randrange(1, 1_000), final=False))
        senders.append(sender)
    await eventually(lambda: some_refused(room), "something is refused")
    # The first has at most half, the second half of the rest, and the others have the remainder.
    assert 0 < await held(room) <= BUDGET * 3 // 4
    await lets_in(room, "ana")
    # Earlier clients still send long messages too.
    pieces = [b'{"type":"get","id":77,"users":[' + b" " * 30_000, b" " * 30_000, b"]}"]
    late = await room.raw("late")
    await late.write(frame(TEXT, pieces[0], final=False))
    await late.write(frame(CONTINUATION, pieces[1], final=False) + frame(CONTINUATION, pieces[2]))
    assert (await late.read_message())["type"] == "users"
    assert (await before.ask("get", users=[]))["type"] == "users"
    for sender in senders:
        sender.end()
    await eventually(lambda: nothing_held(room), "all is given back")


async def some_refused(room):
    return await room.api.metric("limit_met_total", limit="inbox_bytes") > 0


async def nothing_held(room):
    return await held(room) == 0
