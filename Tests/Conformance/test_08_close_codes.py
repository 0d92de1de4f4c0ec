"""Close codes: every row of the table."""

import asyncio
import json
import time

from support import raw
from support.client import CLOSED
from support.patience import PATIENCE, SLACK, eventually
from support.room import Room

SETTINGS = {"connect_timeout": 1_500, "max_message_bytes": 10_000}


async def test_1000_when_the_client_says_disconnect(room):
    ana = await room.come("ana")
    await ana.send({"type": "disconnect"})
    assert (await ana.closed())[0] == 1000


async def test_1000_and_1001_are_echoed(room):
    for code in (1000, 1001):
        socket = await room.raw("ana")
        await socket.write(raw.frame(raw.CLOSE, code.to_bytes(2, "big")))
        assert await socket.closed() == code


async def test_1003_for_a_binary_message(room):
    ana = await room.come("ana")
    await ana.send(b"{}")
    await ana.closed(1003)


async def test_1007_for_bad_utf8(room):
    socket = await room.raw("ana")
    await socket.write(raw.frame(raw.TEXT, b'"\xff"'))
    assert await socket.closed() == 1007


async def test_1009_for_a_message_that_is_too_big(room):
    ana = await room.come("ana")
    await ana.send("x" * 10_001)
    await ana.closed(1009)


async def test_1008_for_abuse(room):
    ana = await room.come("ana")
    for _ in range(10):
        await ana.send("[]")
    await ana.closed(1008)


async def test_4001_for_a_bad_token(room):
    client = await room.socket()
    await client.refused("unauthorized", "connect", token="bad")
    await client.closed(4001)


async def test_4002_for_an_expired_token(room):
    ana = await room.come("ana", token=room.token("ana", expires=1))
    await ana.closed(4002)


async def test_4003_without_connect_in_time(room):
    began = time.monotonic()
    await (await room.socket()).closed(4003)
    assert 1.0 < time.monotonic() - began < 1.5 + SLACK


async def test_4004_for_the_same_device(room):
    first = await room.come("ana", "phone")
    await room.come("ana", "phone")
    await first.closed(4004)


async def test_4006_for_one_disconnected_by_an_administrator(room):
    clients = [await room.come("ana", "phone"), await room.come("ana", "web")]
    bob = await room.come("bob")
    answer = await room.api.request("POST", f"/v1/users/{clients[0].user}/disconnect", token=room.backend)
    assert answer.status < 300, answer
    for client in clients:
        await client.closed(4006)
    assert await bob.get() == []


def reconnect_after(reason, linger):
    content = json.loads(reason)
    assert set(content) == {"reconnectAfter"} and type(content["reconnectAfter"]) is int
    assert 0 <= content["reconnectAfter"] < linger
    return content["reconnectAfter"]


async def test_1012_when_the_server_ends_with_another_time_for_each(start):
    room = Room(start({"linger": 4_000}))
    clients = [await room.come(f"p{number}") for number in range(20)]
    room.server.send_signal(15)
    ends = await asyncio.gather(*[client.closed(1012) for client in clients])
    times = {reconnect_after(reason, linger=4_000) for _, reason in ends}
    # By chance two times may be equal.
    assert len(times) >= 18, f"not different for each client: {sorted(times)}"
    assert await asyncio.to_thread(room.server.process.wait, 15) == 0


async def test_1012_on_sigint_too(start):
    room = Room(start({}))
    ana, unconnected = await room.come("ana"), await room.socket()
    room.server.send_signal(2)
    await asyncio.gather(ana.closed(1012), unconnected.closed())
    assert await asyncio.to_thread(room.server.process.wait, 15) == 0


async def test_1013_when_the_server_is_full(start):
    room = Room(start({"connections": 6, "linger": 4_000}, shards=1))
    clients = [await room.come(f"p{number}") for number in range(6)]
    refused = [await room.socket() for _ in range(4)]
    for client in refused:
        _, reason = await client.closed(1013)
        assert type(json.loads(reason)["reconnectAfter"]) is int
    assert [await client.get() for client in clients] == [[]] * 6
    await clients.pop().close()
    await eventually(lambda: there_is_room(room), "room for one more")


async def there_is_room(room):
    client = await room.socket()
    reply = await client.ask("connect", token=room.token("late"))
    return reply is not CLOSED and reply["type"] == "connected"


async def test_4005_for_one_who_reads_nothing(start):
    """Replies pile up until the socket is full; the connection still works, so nothing else ends it."""
    room = Room(start({"write_timeout": 2_000, "heartbeat_interval": 60_000}))
    bystander = await room.come("bystander")
    slow = await room.raw("slow", receive_buffer=4_096)
    slow.stop_reading()
    people = [f"{number:0100}" for number in range(500)]
    flood = raw.text({"type": "get", "id": 9, "users": people})

    async def ask_and_never_read():
        try:
            for _ in range(80):
                slow.writer.write(flood)
                await slow.writer.drain()
        except ConnectionError:
            pass
    asking = asyncio.create_task(ask_and_never_read())
    began = time.monotonic()
    await eventually(lambda: closes(room, 4005), "a close with 4005 in the metrics", within=2 + 2 * PATIENCE, every=0.1)
    took = time.monotonic() - began
    asking.cancel()
    slow.go_on_reading()
    # The readable data ends with the connection, whose code, if any, is this.
    assert await slow.closed() in (None, 4005)
    assert await bystander.get() == []
    # Twice the time, because the check may be only periodic.
    assert 1.5 < took < 2 * 2 + 2 * SLACK, f"{took:.1f} s"


async def closes(room, code):
    return await room.api.metric("close", code=code)


async def test_a_slow_reader_gets_only_the_newest_and_costs_nobody_else_anything(start):
    room = Room(start({"write_timeout": 60_000, "heartbeat_interval": 60_000, "requests_per_second": 0,
                       "user_requests_per_second": 0}))
    bob = await room.come("bob")
    quick = await room.come("quick")
    slow = await room.raw("slow", receive_buffer=4_096)
    await quick.subscribe(bob)
    await slow.write(raw.text({"type": "subscribe", "id": 2, "users": [bob.user]}))
    assert (await slow.read_message())["type"] == "subscribed"
    # Bob's changes exceed the sockets' buffers.
    slow.stop_reading()
    photo = "https://example.org/" + "x" * 2_000
    rounds, batch = 30, 50
    for number in range(rounds):
        await asyncio.gather(*[bob.begin("updateProfile", changes={"photoURL": f"{photo}{number}/{each}"})
                               for each in range(batch)])
    last = (await bob.update(photoURL=f"{photo}last"))["version"]
    await quick.sees_profile(bob, version=last)
    slow.go_on_reading()
    events = 0
    while True:
        message = await slow.read_message()
        events += message["type"] == "profile"
        if message["type"] == "profile" and message["profile"]["version"] == last:
            break
    assert events < rounds * batch / 2, f"{events} of {rounds * batch} changes"
    await bob.status("busy")
    assert (await slow.read_message())["presence"]["status"] == "busy"
