"""Nonsense of many kinds at the same time, while two clients work undisturbed."""

import asyncio
import random

from support import raw
from support.patience import PATIENCE, eventually
from support.raw import frame, text

SETTINGS = {"connect_timeout": 3_000, "max_message_bytes": 100_000, "linger": 1_000}


async def garbage_for_a_handshake(room, socket):
    await socket.write(random.Random(1).randbytes(5_000) + b"\r\n\r\n")


async def half_a_handshake_and_silence(room, socket):
    await socket.write(socket.upgrade()[:60])


async def nothing_at_all(room, socket):
    pass


async def a_handshake_of_endless_headers(room, socket):
    await socket.write(b"GET /v1/ws HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 500) for n in range(400)))


async def a_handshake_without_a_key(room, socket):
    await socket.write(b"GET /v1/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       b"Sec-WebSocket-Version: 13\r\n\r\n")


async def a_handshake_of_another_version(room, socket):
    await socket.write(b"GET /v1/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 99\r\n\r\n")


async def a_tls_hello(room, socket):
    await socket.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(400))


async def a_post_that_never_ends(room, socket):
    await socket.write(b"POST /v1/users/get HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")


def connected(*frames):
    """A kind of nonsense that a connected client sends; frames may be made from the room."""
    async def nonsense(room, socket):
        await socket.shake_hands()
        await socket.connect(room.token("eve"))
        for each in frames:
            await socket.write(each)
    return nonsense


async def bytes_one_by_one(room, socket):
    for byte in socket.upgrade() + text({"type": "connect", "token": room.token("eve")}) + text("nonsense") * 3:
        await socket.write(bytes([byte]))


async def a_hundred_connects(room, socket):
    await socket.shake_hands()
    await socket.write(text({"type": "connect", "token": room.token("eve")}) * 100)


async def a_flood_of_requests(room, socket):
    await socket.shake_hands()
    await socket.connect(room.token("eve"))
    await socket.write(b"".join(text({"type": "get", "id": n, "users": [f"p{n}"]}) for n in range(1, 2_000)))


async def gone_in_the_middle_of_a_frame(room, socket):
    await socket.shake_hands()
    await socket.connect(room.token("eve"))
    await socket.write(text({"type": "get", "users": ["x" * 100] * 100})[:3_000])
    socket.abort()


async def a_handshake_and_gone(room, socket):
    await socket.write(socket.upgrade())
    socket.abort()


def deep(size):
    return '{"type":"get","users":' + "[" * size + "]" * size + "}"


NONSENSE = {
    "garbage for a handshake": garbage_for_a_handshake,
    "half a handshake and silence": half_a_handshake_and_silence,
    "nothing at all": nothing_at_all,
    "endless headers": a_handshake_of_endless_headers,
    "no key": a_handshake_without_a_key,
    "another version": a_handshake_of_another_version,
    "a TLS hello": a_tls_hello,
    "a POST that never ends": a_post_that_never_ends,
    "bytes one by one": bytes_one_by_one,
    "a hundred connects": a_hundred_connects,
    "a flood of requests": a_flood_of_requests,
    "gone in the middle of a frame": gone_in_the_middle_of_a_frame,
    "a handshake and gone": a_handshake_and_gone,
    "not JSON": connected(*[text("not JSON")] * 12),
    "wrong kinds": connected(*[text({"type": "subscribe", "users": {"a": [1]}, "known": 7})] * 12),
    "huge": connected(text('{"type":"get","users":["' + "x" * 200_000 + '"]}')),
    "huge numbers": connected(text('{"type":"status","status":"busy","clearAfter":' + "9" * 5_000 + "}"),
                              text('{"type":"get","id":1e400,"users":[]}')),
    "deep": connected(text(deep(30_000)), text('{"a":' * 15_000)),
    "deep beside": connected(text('{"type":"get","users":[],"x":' + '{"a":' * 15_000 + "1" + "}" * 15_001)),
    "binary": connected(frame(raw.BINARY, bytes(1_000))),
    "bad UTF-8": connected(frame(raw.TEXT, b'{"type":"\xfe\xff"}')),
    "a reserved bit": connected(frame(raw.TEXT, b"{}", reserved=4)),
    "a reserved opcode": connected(frame(0x3, b"{}")),
    "a control frame in pieces": connected(frame(raw.PING, b"x", final=False)),
    "a ping of 200 bytes": connected(frame(raw.PING, bytes(200))),
    "a continuation of nothing": connected(frame(raw.CONTINUATION, b"{}")),
    "a text within a text": connected(frame(raw.TEXT, b"{", final=False), text("{}")),
    "an impossible length": connected(b"\x81\xff" + b"\xff" * 8 + bytes(4) + bytes(100)),
    "a close with half a code": connected(frame(raw.CLOSE, b"\x03")),
    "a close with a forbidden code": connected(frame(raw.CLOSE, (1005).to_bytes(2, "big"))),
    "a close with a bad reason": connected(frame(raw.CLOSE, b"\x03\xe8\xff\xff")),
    "many members": connected(text({"type": "get", "users": []} | {f"m{n}": n for n in range(5_000)})),
    "one member often": connected(text('{"type":"get",' + '"users":[],' * 2_000 + '"id":5}')),
    "zeros": connected(text("\x00" * 50), text('{"type":"get\\u0000","users":["\\u0000"]}')),
    "a flood of pings": connected(frame(raw.PING, b"x" * 100) * 500),
    "empty frames": connected(frame(raw.TEXT, b"", final=False), *[frame(raw.CONTINUATION, b"", final=False)] * 300),
    "one nobody understands": connected(text({"type": "🦆", "users": ["🦆"]}), text({"type": "x" * 50_000})),
}


async def test_nonsense_of_many_kinds_disturbs_no_other_client(room):
    watcher, watched = await room.come("ana"), await room.come("bob")
    await watcher.subscribe(watched)
    told = []
    going_on = True

    async def go_on():
        number = 0
        while going_on:
            number += 1
            await watched.status("busy" if number % 2 else "auto", text=f"{number}")
            told.append(str(number))
            await watcher.sees(watched, text=f"{number}")
            await asyncio.sleep(0.01)
    undisturbed = asyncio.create_task(go_on())
    await eventually(lambda: len(told) > 20, "the two before")
    before = len(told)

    sockets = []

    async def disturb(nonsense):
        socket = await room.dial()
        sockets.append(socket)
        try:
            await nonsense(room, socket)
        except (ConnectionError, asyncio.IncompleteReadError, AssertionError):
            # The server may disconnect it before everything was sent.
            pass
    for _ in range(2):
        await asyncio.gather(*[disturb(nonsense) for nonsense in NONSENSE.values()])
    await eventually(lambda: len(told) > before + 20 or undisturbed.done(), "the two among all this")
    going_on = False
    await undisturbed
    # Every change arrived, in order, and each within the patience of `sees`.
    assert [event["presence"]["text"] for event in watcher.events("presence")] == told
    assert await watcher.get() == await watched.get() == []
    assert (await room.api.request("GET", "/healthz")).status == 200 and room.server.process.poll() is None
    # A client that sent nonsense leaves no ghost.
    await watcher.subscribe(room.name("eve"))
    for socket in sockets:
        socket.abort()
    await watcher.sees(room.name("eve"), status="offline")


ENDS = {
    "huge": 1009, "binary": 1003, "bad UTF-8": 1007, "not JSON": 1008, "wrong kinds": 1008,
    "a reserved bit": 1002, "a reserved opcode": 1002, "a control frame in pieces": 1002, "a ping of 200 bytes": 1002,
    "a continuation of nothing": 1002, "a text within a text": 1002, "an impossible length": 1002,
    "a close with half a code": 1002, "a close with a forbidden code": 1002, "a close with a bad reason": 1007,
    "half a handshake and silence": None, "nothing at all": None, "a POST that never ends": None,
}
"""The required ends: a close code, or no close frame."""

NO_SOCKET = {"half a handshake and silence", "nothing at all", "a POST that never ends"}
"""Connections that never became a WebSocket: any answer is HTTP."""


async def test_broken_connections_are_closed(room):
    async def end(name):
        socket = await room.dial()
        try:
            await NONSENSE[name](room, socket)
            if name in NO_SOCKET:
                await asyncio.wait_for(socket.reader.read(-1), 2 * PATIENCE)
                return name, None
            code = await socket.closed(within=2 * PATIENCE)
        except ConnectionError:
            code = None
        except asyncio.TimeoutError:
            code = "still open"
        return name, code
    assert dict(await asyncio.gather(*[end(name) for name in ENDS])) == ENDS
