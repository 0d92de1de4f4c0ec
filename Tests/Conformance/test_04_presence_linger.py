"""Presence: how a session ends, at once or after its linger time (2.5 s here)."""

import asyncio
import time

import pytest

from support.patience import A_MOMENT, PATIENCE, eventually, now
from support.room import Room

LINGER = 2.5
SETTINGS = {"linger": 2_500, "lease": 5_000}


async def say_disconnect(bob, room):
    await bob.send({"type": "disconnect"})
    await bob.closed()


async def close_1000(bob, room):
    await bob.close(1000)


async def close_without_code(bob, room):
    await bob.close_without_code()


async def abuse(bob, room):
    for _ in range(10):
        await bob.send("nonsense")
    await bob.closed(1008)


async def be_disconnected(bob, room):
    answer = await room.api.request("POST", f"/v1/users/{bob.user}/disconnect", token=room.backend)
    assert answer.status < 300, answer
    await bob.closed(4006)


async def expect_gone(room, way, at_once):
    watcher = await room.come("ana")
    bob = await room.come("bob", "web")
    await watcher.subscribe(bob)
    before = now()
    began = time.monotonic()
    await bob.get()
    await way(bob, room)
    if at_once:
        presence = await watcher.sees(bob, status="offline", within=LINGER * 0.8)
    else:
        await asyncio.sleep(LINGER / 2)
        assert watcher.presence[bob.user].items() >= {"status": "online", "devices": ["web"]}.items()
        presence = await watcher.sees(bob, status="offline", within=LINGER + PATIENCE)
        assert time.monotonic() - began > LINGER * 0.95
        assert presence["since"] - presence["lastSeen"] > LINGER * 700
    assert before - 100 < presence["lastSeen"] <= now()
    assert presence["lastSeen"] <= presence["since"] + 1
    assert watcher.statuses(bob) == ["offline"]


@pytest.mark.parametrize("way", [say_disconnect, close_1000, close_without_code, abuse, be_disconnected],
                         ids=lambda way: way.__name__)
async def test_a_session_ends_at_once(room, way):
    await expect_gone(room, way, at_once=True)


async def test_a_session_lost_any_other_way_lingers(room):
    """All ways at once: a page reload, a lost connection, and frames that no client should send."""
    async def close_1001(bob, room):
        await bob.close(1001)

    async def break_the_line(bob, room):
        bob.abort()

    async def close_with_a_code_of_its_own(bob, room):
        await bob.close(4999)

    async def send_binary(bob, room):
        await bob.send(b"x")
        await bob.closed(1003)


    rooms = [Room(room.server) for _ in range(4)]
    ways = [close_1001, break_the_line, close_with_a_code_of_its_own, send_binary]
    await asyncio.gather(*[expect_gone(each, way, at_once=False) for each, way in zip(rooms, ways)])


async def test_disconnect_is_answered_and_the_connection_closed(room):
    ana = await room.come("ana")
    reply = await ana.ask("disconnect")
    assert reply["type"] == "ok"
    assert (await ana.closed())[0] == 1000


async def test_a_half_closed_connection_is_lost(room):
    watcher = await room.come("ana")
    socket = await room.raw("bob")
    await watcher.subscribe(room.name("bob"))
    socket.writer.write_eof()
    await watcher.sees(room.name("bob"), status="offline", within=LINGER + PATIENCE)


@pytest.mark.parametrize("code", [None, 1001])
async def test_a_user_back_within_linger_is_never_shown_offline(room, code):
    watcher = await room.come("ana")
    bob = await room.come("bob")
    await watcher.subscribe(bob)
    for _ in range(3):
        if code:
            await bob.close(code)
        else:
            bob.abort()
        await asyncio.sleep(0.1)
        bob = await room.come("bob")
    await asyncio.sleep(LINGER + A_MOMENT)
    assert watcher.events("presence") == []


async def test_a_lingering_device_still_counts(room):
    watcher = await room.come("ana")
    phone, web = await room.come("bob", "phone"), await room.come("bob", "web", activity="idle")
    await watcher.subscribe(phone)
    phone.abort()
    await web.status(text="marker")
    presence = await watcher.sees(web, text="marker")
    assert presence["status"] == "online" and presence["devices"] == ["phone", "web"]
    await watcher.sees(web, status="away", devices=["web"], within=LINGER + PATIENCE)


async def test_a_lingering_session_ends_at_once_when_its_device_says_goodbye_anew(room):
    watcher = await room.come("ana")
    bob = await room.come("bob", "phone")
    await watcher.subscribe(bob)
    bob.abort()
    bob = await room.come("bob", "phone")
    await bob.close()
    await watcher.sees(bob, status="offline", within=LINGER * 0.8)


async def test_a_replaced_session_does_not_linger(room):
    watcher = await room.come("ana")
    first = await room.come("bob", "phone")
    await watcher.subscribe(first)
    second = await room.come("bob", "phone")
    await first.closed(4004)
    await second.close()
    await watcher.sees(second, status="offline", within=LINGER * 0.8)


async def test_last_seen_is_the_time_of_the_last_message_from_any_device(room):
    watcher = await room.come("ana")
    phone, web = await room.come("bob", "phone"), await room.come("bob", "web")
    await watcher.subscribe(phone)
    phone.abort()
    await asyncio.sleep(0.4)
    before = now()
    await web.get()
    after = now()
    web.abort()
    presence = await watcher.sees(phone, status="offline", within=LINGER + PATIENCE)
    # The loss itself may count: a FIN is received data.
    assert before - 100 <= presence["lastSeen"] <= after + 300


async def test_quick_disconnects_and_connects_end_in_the_right_state(room):
    watcher = await room.come("ana")
    bob = await room.come("bob")
    await watcher.subscribe(bob)
    for _ in range(5):
        await bob.close()
        bob = await room.come("bob")
    await eventually(lambda: watcher.presence[bob.user]["status"] == "online", "online")
    await bob.close()
    await watcher.sees(bob, status="offline")
