"""Nothing is done or sent for a client that is not admitted, however early its requests arrive: everything here is sent
in one packet, `connect` first."""

import asyncio
import json
import signal
import time

import pytest

from support.api import API, path
from support.asyncapi import AsyncAPI
from support.inboxes import notify
from support.patience import PATIENCE, eventually
from support.raw import CLOSE, PING, TEXT, text
from support.room import Room
from support.talks import follow, group, listed, say, talk

DOCUMENT = AsyncAPI("asyncapi.yaml")
SETTINGS = {"connections_per_user": 2, "linger": 1_500}

FRIEND, CHAT, GROUP, OTHER = "FRIEND", "CHAT", "GROUP", "OTHER"
CONTACT, BLOCKED, STRANGER = "CONTACT", "BLOCKED", "STRANGER"
"""Placeholders for users and conversations of the test."""

REQUESTS = {
    "subscribe": {
        "users": [FRIEND], "conversations": [GROUP, {"id": CHAT, "after": 0}], "conversationList": True,
        "notifications": True},
    "unsubscribe": {"users": [FRIEND], "conversations": [CHAT], "conversationList": True, "notifications": True},
    "get": {"users": [FRIEND]},
    "status": {"status": "busy", "text": "I was never let in"},
    "activity": {"state": "idle"},
    "updateProfile": {"changes": {"displayName": "Never Let In"}},
    "createConversation": {"participants": [FRIEND], "name": "Never"},
    "getConversation": {"conversation": CHAT},
    "conversationSettings": {"conversation": CHAT, "muted": True},
    "renameConversation": {"conversation": GROUP, "name": "Never"},
    "changeMembers": {"conversation": GROUP, "add": [OTHER]},
    "send": {"conversation": CHAT, "message": {"id": "never", "text": "I was never let in"}},
    "editMessage": {"conversation": CHAT, "message": "first", "text": "I was never let in"},
    "deleteMessage": {"conversation": CHAT, "message": "second"},
    "getMessages": {"conversation": CHAT},
    "mark": {"conversation": CHAT, "read": 4},
    "markNotifications": {"seen": 2, "read": [1]},
    "getNotifications": {},
    "typing": {"conversation": CHAT, "typing": True},
    "setVisibility": {"visibility": {"presence": "nobody"}},
    "getVisibility": {},
    "addContacts": {"users": [FRIEND]},
    "requestContact": {"user": FRIEND},
    "answerContact": {"user": FRIEND, "accept": True},
    "removeContacts": {"users": [CONTACT]},
    "block": {"users": [STRANGER]},
    "unblock": {"users": [BLOCKED]},
    "refresh": {"token": "TOKEN"},
    "disconnect": {},
}
"""Each would affect bob if he were admitted, one after the other."""

CHANGES = {
    "status": "presence", "updateProfile": "profile", "createConversation": "list", "conversationSettings": "own",
    "renameConversation": "list", "changeMembers": "list", "send": "messages", "editMessage": "messages",
    "deleteMessage": "messages", "mark": "list", "markNotifications": "own", "typing": "typing",
    "setVisibility": "visibility", "addContacts": "visibility", "removeContacts": "visibility", "block": "visibility",
    "unblock": "visibility", "answerContact": "visibility",
}
"""The parts of the state that would change."""

OF_STORE = [*CHANGES, "requestContact", "getConversation", "getMessages", "getNotifications"]
"""Requests that are impossible without the store."""


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
        self.chat = (await talk(self.bob, self.amy))["id"]
        self.group = (await group(self.bob, self.amy, name="As before"))["id"]
        for number in ("first", "second"):
            await say(self.bob, self.chat, f"the {number}", number)
        for _ in range(2):
            await say(self.amy, self.chat)
            await notify(room, self.bob)
        await self.amy.did("requestContact", user=self.bob.user)
        await self.amy.subscribe(self.bob)
        await self.amy.watch_typing(self.chat)
        await follow(self.amy, self.chat)
        await self.amy.sees(self.bob, status="online", text="As before")
        self.before = await self.state()
        self.own = await self.private(self.bob)
        return self

    async def state(self):
        """The state that an admitted client could have changed, as others see it."""
        room, amy = self.room, self.amy
        person, = await amy.get(self.bob)
        answer = await room.api.request("GET", path("users", room.name("bob"), "visibility"), token=room.backend)
        assert answer.status == 200, answer
        return {
            "presence": person["presence"], "profile": person["profile"], "typing": amy.typing.get(self.chat),
            "visibility": answer.json, "messages": (await amy.did("getMessages", conversation=self.chat))["messages"], "list": await listed(amy)}

    async def private(self, bob):
        """The part that only bob sees: his conversations with their settings, and his notifications."""
        conversations = [
            (await bob.did("getConversation", conversation=each))["conversation"] for each in (self.chat, self.group)]
        notifications = await bob.did("getNotifications")
        return conversations, {name: value for name, value in notifications.items() if name != "id"}

    async def is_as_before(self, bob=None, but=(), what="something"):
        """Checks that only the named parts have changed; for bob, too, if he can read them."""
        now = await self.state()
        for part, value in self.before.items():
            assert part in but or now[part] == value, f"{what} changed: {part}"
        if bob:
            assert await self.private(bob) == self.own, f"{what} changed what bob alone sees"

    def packet(self, token, messages):
        """`connect` and the messages."""
        names = {
            FRIEND: self.amy.user, CHAT: self.chat, GROUP: self.group, "TOKEN": token, OTHER: self.room.name("wu"),
            CONTACT: self.room.name("yan"), BLOCKED: self.room.name("zed"),
            STRANGER: self.room.name("una")}
        # Of the same kind as the other device, so that others do not see the number of his devices.
        connect = {"type": "connect", "id": 1, "token": token, "device": {"kind": "phone"}}
        return b"".join(text(filled(each, names)) for each in [connect, *messages])

    async def tell(self, token, messages):
        """Sends `connect` and the messages in one packet, and returns all messages until the end, with the close code."""
        raw = await self.room.raw()
        await raw.write(self.packet(token, messages))
        return await until_closed(raw)


async def until_closed(raw):
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


async def check_refused(scene, token, code, error, kind="all"):
    heard_before = len(scene.amy.log)
    heard, closed = await scene.tell(token, requests(kind))
    assert closed == code, (kind, closed, heard)
    assert [(message["type"], message.get("id"), message.get("code")) for message in heard] == [("error", 1, error)], (kind, heard)
    await scene.amy.get(scene.bob)
    assert all("id" in message for message in scene.amy.log[heard_before:]), f"amy was told of something: {kind}"


async def check_each_refused(scene, token, code, error, bob=None):
    """Sends each request alone, and all together."""
    for kind in [*REQUESTS, "all"]:
        await check_refused(scene, token, code, error, kind)
        await scene.is_as_before(bob, what=kind)


def test_every_request_of_the_document_is_tried():
    assert set(REQUESTS) == set(DOCUMENT.client) - {"connect"}
    for message in requests("all"):
        assert not DOCUMENT.message_faults(message, "client"), message


@pytest.mark.parametrize("kind", CHANGES)
async def test_after_an_accepted_connect_each_request_takes_effect(room, kind):
    """This shows that the tests below would detect a change."""
    scene = await Scene(room).begin()
    raw = await room.raw()
    await raw.write(scene.packet(room.token("bob"), requests(kind)))
    while (answer := await raw.read_message()).get("id") != 2:
        pass
    assert answer["type"] != "error", answer

    async def has_changed():
        if CHANGES[kind] == "own":
            return await scene.private(scene.bob) != scene.own
        return (await scene.state())[CHANGES[kind]] != scene.before[CHANGES[kind]]

    await eventually(has_changed, f"another {CHANGES[kind]}", within=5)


async def test_after_an_accepted_connect_all_requests_are_answered(room):
    scene = await Scene(room).begin()
    heard, closed = await scene.tell(room.token("bob"), requests("all"))
    assert [message for message in heard if message["type"] == "error"] == []
    answered = [message["id"] for message in heard if "id" in message and not message.get("more")]
    assert closed == 1000 and answered == [1, *(each["id"] for each in requests("all"))], answered


async def test_after_a_revoked_token_nothing_is_done_or_sent(room):
    scene = await Scene(room).begin()
    token = room.token("bob")
    answer = await room.api.request(
        "POST", path("users", room.name("bob"), "revokeTokens"), token=room.backend)
    assert answer.status == 200, answer
    await scene.bob.closed(4001)
    # Without a lingering session, which would be shown offline in the meantime.
    await scene.amy.sees(scene.bob, status="offline")
    scene.before = await scene.state()
    await check_each_refused(scene, token, 4001, "unauthorized")
    token = room.token("bob", iat=max(time.time(), answer.json["notBefore"] / 1000))
    await scene.is_as_before(await room.come("bob", "phone", token=token), but=["presence"])


async def test_after_one_connection_too_many_nothing_is_done_or_sent(room):
    scene = await Scene(room).begin()
    await room.come("bob", {"id": "bob-other", "kind": "phone"})
    scene.before = await scene.state()
    await check_each_refused(scene, room.token("bob"), 1013, "too_many", scene.bob)
    # It is not counted as a device of bob's either: he can still be notified and disconnected.
    answer = await room.api.request("POST", path("users", room.name("bob"), "disconnect"), token=room.backend)
    assert answer.status == 200, answer
    await scene.bob.closed(4006)
    await scene.amy.sees(scene.bob, status="offline")


@pytest.mark.parametrize("bad", ["expired", "forged", "backend's"])
async def test_after_a_bad_token_nothing_is_done_or_sent(room, bad):
    scene = await Scene(room).begin()
    token = {
        "expired": lambda: room.token("bob", expires=-10),
        "forged": lambda: room.token("bob")[:-4] + "AAAA",
        "backend's": lambda: room.backend,
    }[bad]()
    await check_refused(scene, token, 4001, "unauthorized")
    await scene.is_as_before(scene.bob)


async def test_after_a_connect_of_a_user_disconnected_meanwhile_nothing_is_done_or_sent(start):
    """The administrator's request reaches the store before the `connect`, which arrived while that was pending."""
    redis = start.redis()
    room = Room(start(SETTINGS | {"renewal": 200, "staleAfter": "4500ms"}, redis=redis, shards=1))
    scene = await Scene(room).begin()
    call, raw = await room.dial(), await room.raw()
    redis.stop()
    try:
        await call.write((
            f"POST {path('users', room.name('bob'), 'disconnect')} HTTP/1.1\r\nHost: {room.server.host}\r\n"
            f"Authorization: Bearer {room.backend}\r\nContent-Length: 0\r\n\r\n").encode())
        # The answer to this request follows all of theirs.
        await room.api.request("GET", "/metrics")
        await raw.write(scene.packet(room.token("bob"), requests("all")))
        # At this point the server has read them; it counts as the beginning of the connection for the store.
        await room.api.request("GET", "/metrics")
        await asyncio.sleep(1.5)
    finally:
        redis.go_on()
    heard, closed = await until_closed(raw)
    assert closed == 4006 and heard == [], (closed, heard)
    assert (await asyncio.wait_for(call.reader.readline(), PATIENCE)).split()[1] == b"200"
    await scene.bob.closed(4006)
    await scene.amy.sees(scene.bob, status="offline")
    await scene.is_as_before(but=["presence"])
    bob = await room.come("bob", "phone")
    assert bob.connected["status"] == {"status": "auto", "text": "As before"}, bob.connected
    await scene.is_as_before(bob, but=["presence"])


async def test_after_a_connect_to_a_server_that_stops_meanwhile_nothing_is_done_or_sent(start):
    redis = start.redis()
    settings = SETTINGS | {"renewal": 200, "staleAfter": "4500ms"}
    server = start(settings, redis=redis, shards=1)
    leaving = start(settings, redis=redis, directory=server.directory, shards=1)
    room = Room(server)
    scene = await Scene(room).begin()
    raw = await room.raw(at=leaving)
    redis.stop()
    try:
        await raw.write(scene.packet(room.token("bob"), requests("all")))
        await API(leaving).request("GET", "/metrics")
        leaving.send_signal(signal.SIGTERM)
        heard, closed = await until_closed(raw)
    finally:
        redis.go_on()
    assert closed == 1012 and heard == [], (closed, heard)
    await eventually(lambda: leaving.process.poll() is not None, "the server has gone", within=2 * PATIENCE)
    await scene.is_as_before(scene.bob, but=["presence"])
    await scene.amy.sees(scene.bob, status="online", text="As before")


async def test_while_the_store_is_away_nothing_is_done(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis, shards=1))
    scene = await Scene(room).begin()
    redis.stop()
    try:
        await scene.amy.hear("stale", within=5 + PATIENCE)
        raw = await room.raw()
        asked = [each for each in requests("all") if each["type"] in OF_STORE]
        await raw.write(scene.packet(room.token("bob"), asked))
        heard = {}
        while len(heard) <= len(asked):
            message = await raw.read_message()
            if "id" in message:
                heard[message["id"]] = message
        assert heard.pop(1)["type"] == "connected"
        assert [heard[each["id"]].get("code") for each in asked] == ["unavailable"] * len(asked), heard
        raw.abort()
    finally:
        redis.go_on()
    await scene.amy.hear("live")
    await scene.is_as_before(scene.bob)


async def test_requests_in_one_packet_with_connect_are_answered_in_order(room):
    """The same from an admitted client."""
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


async def test_a_user_who_connects_invisible_is_never_shown_typing(room):
    """`typing` in one packet with a `connect` that makes the user invisible."""
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
    # A later event would show him if he were typing.
    await amy.types(chat)
    await amy.sees_typing(chat, [amy])
