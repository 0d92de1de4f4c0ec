"""Nothing is done or told for a client that is not let in, however early it asks: everything here is sent in one packet,
`connect` first."""

import asyncio
import json

import pytest

from support.api import path
from support.patience import PATIENCE
from support.raw import CLOSE, PING, TEXT, text
from support.room import Room

SETTINGS = {"connections_per_user": 2, "linger": 1_500}

FRIEND, CHAT = "FRIEND", "CHAT"
"""Stand for a user and a conversation of the test."""

REQUESTS = {
    "subscribe": {"users": [FRIEND], "conversations": [CHAT]},
    "unsubscribe": {"users": [FRIEND]},
    "get": {"users": [FRIEND]},
    "status": {"status": "busy", "text": "I was never let in"},
    "activity": {"state": "idle"},
    "updateProfile": {"changes": {"displayName": "Never Let In"}},
    "createConversation": {"participants": [FRIEND]},
    "typing": {"conversation": CHAT, "typing": True},
    "setVisibility": {"visibility": {"presence": "nobody"}},
    "getVisibility": {},
    "addContacts": {"users": [FRIEND]},
    "removeContacts": {"users": [FRIEND]},
    "block": {"users": [FRIEND]},
    "unblock": {"users": [FRIEND]},
    "refresh": {"token": "TOKEN"},
    "disconnect": {},
}


def filled(value, names):
    if isinstance(value, dict):
        return {key: filled(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


class Scene:
    """bob, whose state must not change, and amy, who watches him."""

    def __init__(self, room):
        self.room = room

    async def begin(self):
        room = self.room
        self.bob = await room.come("bob", "phone")
        self.amy = await room.come("amy")
        await self.bob.update(displayName="Bob")
        await self.bob.status("auto", text="As before")
        await self.bob.did("block", users=[room.name("zed")])
        await self.bob.did("addContacts", users=[room.name("yan")])
        self.chat = (await self.bob.did("createConversation", participants=[self.amy.user]))["conversation"]["id"]
        await self.amy.subscribe(self.bob)
        await self.amy.watch_typing(self.chat)
        await self.amy.sees(self.bob, status="online", text="As before")
        self.before = await self.state()
        return self

    async def state(self):
        """All that somebody let in could have changed, as others see it."""
        room = self.room
        answer = await room.api.request("GET", path("users", room.name("bob"), "visibility"), token=room.backend)
        person, = await self.amy.get(self.bob)
        return person, answer.json, self.amy.typing.get(self.chat)

    async def tell(self, token, messages):
        """Sends `connect` and the messages in one packet, and returns what came until the end, with the close code."""
        raw = await self.room.raw()
        names = {FRIEND: self.amy.user, CHAT: self.chat, "TOKEN": token}
        connect = {"type": "connect", "id": 1, "token": token, "activity": "active"}
        await raw.write(b"".join(text(filled(each, names)) for each in [connect, *messages]))
        heard = []
        while True:
            opcode, payload = await asyncio.wait_for(raw.read_frame(), PATIENCE)
            if opcode == TEXT:
                heard.append(json.loads(payload))
            elif opcode == CLOSE:
                return heard, int.from_bytes(payload[:2], "big")
            else:
                assert opcode == PING, (opcode, payload, heard)


def requests(kind):
    kinds = list(REQUESTS) if kind == "all" else [kind]
    return [{"type": each, "id": number + 2} | REQUESTS[each] for number, each in enumerate(kinds)]


async def check_refused(scene, token, code, error, messages):
    heard, closed = await scene.tell(token, messages)
    assert closed == code, (closed, heard)
    assert [(message["type"], message.get("id"), message.get("code")) for message in heard] == [("error", 1, error)], heard


@pytest.mark.parametrize("kind", [*REQUESTS, "all"])
async def test_behind_a_revoked_token_nothing_is_done_or_told(room, kind):
    scene = await Scene(room).begin()
    token = room.token("bob")
    answer = await room.api.request(
        "POST", path("users", room.name("bob"), "revokeTokens"), token=room.backend)
    assert answer.status == 200, answer
    await scene.bob.closed(4001)
    # Without a session that lingers: it would be seen to go meanwhile.
    await scene.amy.sees(scene.bob, status="offline")
    before = await scene.state()
    messages = requests(kind)
    await check_refused(scene, token, 4001, "unauthorized", messages)
    assert await scene.state() == before


@pytest.mark.parametrize("kind", [*REQUESTS, "all"])
async def test_behind_one_connection_too_many_nothing_is_done_or_told(room, kind):
    scene = await Scene(room).begin()
    await room.come("bob", "web")
    before = await scene.state()
    messages = requests(kind)
    await check_refused(scene, room.token("bob"), 1013, "too_many", messages)
    assert await scene.state() == before
    # It is not one of bob's either: he can still be reached and put out.
    answer = await room.api.request("POST", path("users", room.name("bob"), "disconnect"), token=room.backend)
    assert answer.status == 200, answer
    await scene.bob.closed(4006)
    await scene.amy.sees(scene.bob, status="offline")


@pytest.mark.parametrize("bad", ["expired", "forged", "backend's"])
async def test_behind_a_bad_token_nothing_is_done_or_told(room, bad):
    scene = await Scene(room).begin()
    token = {
        "expired": lambda: room.token("bob", expires=-10),
        "forged": lambda: room.token("bob")[:-4] + "AAAA",
        "backend's": lambda: room.backend,
    }[bad]()
    await check_refused(scene, token, 4001, "unauthorized", requests("all"))
    assert await scene.state() == scene.before


async def test_while_the_store_is_away_nothing_is_done(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis, shards=1))
    scene = await Scene(room).begin()
    redis.stop()
    try:
        await scene.amy.hear("stale", within=5 + PATIENCE)
        eve = await room.socket()
        names = {FRIEND: scene.amy.user, CHAT: scene.chat, "TOKEN": room.token("bob")}
        asked = [eve.begin("connect", token=room.token("bob"), device={"kind": "phone"})]
        asked += [eve.begin(kind, **filled(REQUESTS[kind], names)) for kind in (
            "status", "updateProfile", "createConversation", "typing", "setVisibility", "addContacts", "removeContacts",
            "block", "unblock")]
        connected, *answers = [await each for each in asked]
        assert connected["type"] == "connected", connected
        assert [answer["code"] for answer in answers] == ["unavailable"] * len(answers), answers
    finally:
        redis.go_on()
    await scene.amy.hear("live")
    assert await scene.state() == scene.before


async def test_what_is_asked_in_one_packet_with_connect_is_answered_in_order(room):
    """The same from somebody who is let in."""
    amy = await room.come("amy")
    await amy.update(displayName="Amy")
    raw = await room.raw()
    await raw.write(b"".join(text(each) for each in [
        {"type": "connect", "id": 1, "token": room.token("bob"), "status": {"status": "invisible"}},
        {"type": "subscribe", "id": 2, "users": [amy.user]},
        {"type": "updateProfile", "id": 3, "changes": {"displayName": "Bob"}},
        {"type": "get", "id": 4, "users": [room.name("bob")]},
        {"type": "activity", "id": 5, "state": "idle"}]))
    heard = [await raw.read_message() for _ in range(5)]
    assert [(message["type"], message["id"]) for message in heard] == [
        ("connected", 1), ("subscribed", 2), ("profileUpdated", 3), ("users", 4), ("ok", 5)], heard
    assert heard[1]["users"][0]["profile"]["displayName"] == "Amy"
    assert heard[3]["users"][0]["profile"]["displayName"] == "Bob"


async def test_who_comes_invisible_is_never_shown_typing(room):
    """`typing` in one packet with a `connect` that makes them invisible."""
    amy, bob = await room.come("amy"), await room.come("bob", "phone")
    chat = (await amy.did("createConversation", participants=[bob.user]))["conversation"]["id"]
    await bob.close()
    await amy.watch_typing(chat)
    raw = await room.raw()
    await raw.write(b"".join(text(each) for each in [
        {"type": "connect", "id": 1, "token": room.token("bob"), "status": {"status": "invisible"}},
        {"type": "typing", "id": 2, "conversation": chat, "typing": True}]))
    assert (await raw.read_message())["type"] == "connected"
    assert (await raw.read_message())["type"] == "ok"
    # An event made after it would show him, if he were typing.
    await amy.types(chat)
    await amy.sees_typing(chat, [amy])
