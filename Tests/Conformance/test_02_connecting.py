"""Connecting: the first message, tokens, devices."""

import asyncio
import json

import pytest
import websockets

from support.patience import A_MOMENT, PATIENCE, SLACK
from support.tokens import FOR_EVER, encode, sign

SETTINGS = {"connect_timeout": 2_000, "linger": 3_000, "subscriptions": 321, "subscribe_batch": 123,
            "max_message_bytes": 23_456, "max_server_message_bytes": 34_567}


async def test_connected_has_the_user_the_session_and_the_limits(room):
    ana = await room.come("ana")
    connected = ana.connected
    assert connected["user"] == room.name("ana")
    assert isinstance(connected["session"], str) and connected["session"]
    assert connected["status"] == {"status": "auto"}
    assert all(type(connected["heartbeat"][name]) is int for name in ("interval", "timeout"))
    assert connected["linger"] == 3_000
    assert connected["limits"].items() >= {"maxMessageBytes": 23_456, "maxServerMessageBytes": 34_567,
                                           "subscriptions": 321, "subscribeBatch": 123}.items()


async def test_every_session_has_a_name_of_its_own(room):
    sessions = {(await room.come("ana")).connected["session"] for _ in range(5)}
    assert len(sessions) == 5


REQUESTS = [
    {"type": "refresh", "token": "x"}, {"type": "subscribe", "users": ["bob"]}, {"type": "unsubscribe", "users": []},
    {"type": "get", "users": ["bob"]}, {"type": "status", "status": "busy"}, {"type": "activity", "state": "idle"},
    {"type": "updateProfile", "changes": {"displayName": "Eve"}},
    {"type": "createConversation", "participants": ["bob"]},
    {"type": "typing", "conversation": "c1", "typing": True},
]


async def test_anything_before_connect_is_unauthorized_and_changes_nothing(room):
    client = await room.socket()
    for number, request in enumerate(REQUESTS, start=40):
        await client.send(request | {"id": number})
        assert (await client.hear("error", id=number))["code"] == "unauthorized"
    # Errors in them are not revealed either: each request has a wrong member or none, and one an unknown type.
    for number, request in enumerate([*REQUESTS, {"type": "none"}], start=80):
        await client.send({"type": request["type"], "id": number, "users": 1, "status": 1, "changes": 1, "typing": 1})
        assert (await client.hear("error", id=number))["code"] == "unauthorized"
    await client.connect(room.token("ana"))
    bob = await room.come("bob")
    snapshot, = await bob.subscribe(client)
    assert snapshot["presence"]["status"] == "online" and snapshot["profile"] is None


async def test_without_connect_in_time_the_connection_is_closed_with_4003(room):
    silent, talking = await room.socket(), await room.socket()

    async def talk():
        while True:
            await talking.send({"type": "get", "users": []})
            await asyncio.sleep(0.2)
    talk = asyncio.create_task(talk())
    await asyncio.gather(silent.closed(4003, within=2 + PATIENCE), talking.closed(4003, within=2 + PATIENCE),
                         return_exceptions=False)
    talk.cancel()


async def test_one_who_connects_is_not_closed_with_4003(room):
    ana = await room.come("ana")
    silent = await room.socket()
    await silent.closed(4003, within=2 + PATIENCE)
    assert await ana.get() == []


async def test_a_second_connect_is_a_bad_request(room):
    ana = await room.come("ana")
    await ana.refused("bad_request", "connect", token=room.token("ana"))
    await ana.refused("bad_request", "connect", token=room.token("bob"))
    assert (await ana.truth(ana))["status"] == "online"
    assert (await ana.truth(room.name("bob")))["status"] == "offline"


def wrong_tokens(mint, user):
    head, claims, signature = mint.token(user).split(".")
    other = encode(json.dumps({"sub": "root", "exp": 4_000_000_000}).encode())
    yield "garbage", "garbage"
    yield "empty", ""
    yield "two dots", ".."
    yield "no algorithm", mint.unsigned(user)
    yield "no algorithm in capitals", mint.token(user, header={"alg": "NONE"}, secret=b"")
    yield "another algorithm named", mint.token(user, header={"alg": "RS256"})
    yield "another digest", sign(mint.header | {"alg": "HS512"}, mint.claims, mint.secret, "sha512")
    yield "another key", mint.token(user, secret=b"0" * 32)
    yield "an empty key", mint.token(user, secret=b"")
    yield "no exp", mint.token(user, expires=FOR_EVER)
    yield "exp is a text", mint.token(user, expires=FOR_EVER, exp="4000000000")
    yield "expired", mint.token(user, expires=-5)
    yield "no sub", mint.token(None)
    yield "sub is a number", mint.token(17)
    yield "signature cut off", f"{head}.{claims}."
    yield "no signature", f"{head}.{claims}"
    yield "signature of other claims", f"{head}.{other}.{signature}"
    yield "a part too many", f"{head}.{claims}.{signature}.{signature}"


async def test_no_wrong_token_is_taken(room):
    for what, token in wrong_tokens(room.server.mint, room.name("ana")):
        client = await room.socket()
        reply = await client.ask("connect", token=token)
        assert reply.get("code") == "unauthorized", f"{what}: {reply}"
        await client.closed(4001)


async def test_connect_without_a_token_is_unauthorized_and_closed_with_4001(room):
    client = await room.socket()
    await client.refused("unauthorized", "connect")
    await client.closed(4001)


async def test_a_token_of_another_kind_is_refused(room):
    for token in (17, [room.token("ana")], {}):
        client = await room.socket()
        await client.send({"type": "connect", "id": 3, "token": token})
        assert (await client.hear("error", id=3))["code"] == "bad_request"


async def test_the_upgrade_may_carry_the_token(room):
    headers = {"Authorization": f"Bearer {room.token('ana')}"}
    client = await room.socket(extra_headers=headers)
    await client.connect()
    assert client.user == room.name("ana")


async def test_a_wrong_token_in_the_upgrade_is_refused_at_connect(room):
    client = await room.socket(extra_headers={"Authorization": "Bearer garbage"})
    await client.refused("unauthorized", "connect")
    await client.closed(4001)


@pytest.mark.parametrize("name", ["token", "access_token", "authorization", "jwt"])
async def test_a_token_in_the_url_is_never_accepted(room, name):
    client = await room.socket()
    client.abort()
    try:
        await client.open(f"{room.server.url}?{name}={room.token('ana')}")
    except websockets.InvalidStatusCode:
        return
    room.open.append(client)
    await client.refused("unauthorized", "connect")


async def test_the_token_of_the_command_line_is_taken(room):
    client = await room.socket()
    await client.connect(room.server.cli_token(room.name("ana")))
    assert client.user == room.name("ana")


# Devices


@pytest.mark.parametrize("kind", ["phone", "tablet", "desktop", "web", "bot", "other"])
async def test_every_kind_of_device_is_shown(room, kind):
    ana = await room.come("ana", device=kind)
    assert (await ana.truth(ana))["devices"] == [kind]


@pytest.mark.parametrize("device,code", [
    ("phone", "bad_request"), ([], "bad_request"), (7, "bad_request"), ({"id": "d", "kind": "fridge"}, "validation_failed"),
    ({"id": "d", "kind": 7}, "bad_request"), ({"id": 7, "kind": "web"}, "bad_request"),
    ({"id": "d", "kind": "web", "name": 7}, "bad_request"),
], ids=str)
async def test_a_device_of_another_form_is_refused(room, device, code):
    client = await room.socket()
    error = await client.refused(code, "connect", token=room.token("ana"), device=device)
    assert error["field"].split(".")[0] == "device", error
    bob = await room.come("bob")
    assert (await bob.truth(room.name("ana")))["status"] == "offline"


@pytest.mark.parametrize("members,code", [
    ({"activity": "asleep"}, "validation_failed"), ({"activity": 1}, "bad_request"),
    ({"status": {"status": "away"}}, "validation_failed"), ({"status": {"status": "busy", "text": 7}}, "bad_request"),
    ({"status": 7}, "bad_request")], ids=str)
async def test_a_bad_activity_or_status_in_connect_is_refused(room, members, code):
    client = await room.socket()
    await client.refused(code, "connect", token=room.token("ana"), **members)
    bob = await room.come("bob")
    assert (await bob.truth(room.name("ana")))["status"] == "offline"


async def test_the_same_device_takes_the_first_ones_place_and_nobody_sees_it(room):
    watcher = await room.come("ana")
    first = await room.come("bob", "phone")
    await watcher.subscribe(first)
    before = watcher.presence[first.user]
    second = await room.come("bob", "phone")
    await first.closed(4004)
    await asyncio.sleep(A_MOMENT)
    assert await watcher.truth(second) == before
    await second.status(text="still here")
    await watcher.sees(second, text="still here", devices=["phone"])
    assert len(watcher.events("presence")) == 1


async def test_the_same_device_again_and_again_leaves_the_youngest(room):
    watcher = await room.come("ana")
    clients = [await room.come("bob", "phone")]
    await watcher.subscribe(clients[0])
    for _ in range(4):
        clients.append(await room.come("bob", "phone"))
    for older in clients[:-1]:
        await older.closed(4004)
    assert await clients[-1].get() == []
    assert watcher.events("presence") == []


async def test_the_same_device_of_another_user_is_another_device(room):
    ana = await room.come("ana", {"id": "one", "kind": "phone"})
    bob = await room.come("bob", {"id": "one", "kind": "phone"})
    await asyncio.sleep(A_MOMENT)
    assert await ana.get() == await bob.get() == []


async def test_sessions_without_a_device_do_not_replace_each_other(room):
    first, second = await room.come("ana"), await room.come("ana")
    await asyncio.sleep(A_MOMENT)
    assert await first.get() == await second.get() == []


async def test_a_lingering_device_that_comes_back_is_not_seen(room):
    watcher = await room.come("ana")
    bob = await room.come("bob", "phone")
    await watcher.subscribe(bob)
    bob.abort()
    bob = await room.come("bob", "phone")
    # Longer than the lost connection could have lingered.
    await asyncio.sleep(3 + A_MOMENT)
    assert watcher.events("presence") == []


# State from the first moment


@pytest.mark.parametrize("members,status", [
    ({"activity": "idle"}, "away"), ({"activity": "background"}, "away"), ({"activity": "active"}, "online"),
    ({"status": {"status": "busy", "text": "In a meeting"}}, "busy"),
    ({"activity": "idle", "status": {"status": "busy"}}, "busy"),
    ({"status": {"status": "auto", "text": "Hello"}}, "online"),
], ids=str)
async def test_activity_and_status_hold_from_the_first_moment(room, members, status):
    watcher = await room.come("ana")
    await watcher.subscribe(room.name("bob"))
    bob = await room.come("bob", **members)
    await watcher.sees(bob, status=status)
    await asyncio.sleep(A_MOMENT)
    assert watcher.statuses(bob) == [status]
    if "status" in members:
        assert bob.connected["status"].items() >= members["status"].items()
        assert watcher.presence[bob.user].get("text") == members["status"].get("text")


async def test_a_user_who_connects_invisible_is_never_seen_online(room):
    watcher = await room.come("ana")
    await watcher.subscribe(room.name("bob"))
    bob = await room.come("bob", status={"status": "invisible"})
    assert bob.connected["status"]["status"] == "invisible"
    await asyncio.sleep(A_MOMENT)
    assert "online" not in watcher.statuses(bob)
    await bob.status("auto")
    await watcher.sees(bob, status="online")


# Refreshing


async def test_refresh_replaces_the_token_before_it_expires(room):
    ana = await room.come("ana", token=room.token("ana", expires=3))
    assert (await ana.did("refresh", token=room.token("ana", expires=600)))["type"] == "refreshed"
    await asyncio.sleep(3 + SLACK)
    assert await ana.get() == []


async def test_a_token_that_expires_closes_with_4002(room):
    ana = await room.come("ana", token=room.token("ana", expires=2))
    await ana.closed(4002)


async def test_after_a_bad_refresh_the_old_token_stays_valid(room):
    ana = await room.come("ana", token=room.token("ana", expires=3))
    for token in ("garbage", room.token("bob"), room.token("ana", expires=-5), room.server.mint.unsigned(ana.user)):
        await ana.refused("unauthorized", "refresh", token=token)
    assert await ana.get() == []
    await ana.closed(4002)


async def test_refresh_without_a_token_is_refused(room):
    ana = await room.come("ana")
    await ana.refused("bad_request", "refresh")
    assert await ana.get() == []


async def test_notice_of_an_expiry_is_given_once_also_if_the_same_token_is_sent_again(room):
    token = room.token("ana", expires=30)
    ana = await room.come("ana", token=token)
    await ana.hear("tokenExpiring")
    for _ in range(5):
        await ana.did("refresh", token=token)
        assert await ana.get() == []
    assert len(ana.events("tokenExpiring")) == 1
    await ana.did("refresh", token=room.token("ana", expires=40))
    warning = await ana.hear("tokenExpiring")
    assert 30_000 < warning["expiresIn"] <= 40_000


async def test_a_minute_before_expiry_the_server_says_so(room):
    ana = await room.come("ana", token=room.token("ana", expires=62))
    assert ana.events("tokenExpiring") == []
    warning = await ana.hear("tokenExpiring")
    assert 50_000 < warning["expiresIn"] <= 60_000
    await ana.did("refresh", token=room.token("ana", expires=62))
    await ana.hear("tokenExpiring")
