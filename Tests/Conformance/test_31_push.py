"""Pushes: a user who is truly away gets one for each conversation until they read it, to the devices of existing sessions."""

import asyncio
import time

import pytest

from support.accounts import ON, Accounts, CheckedAPI
from support.api import API
from support.patience import PATIENCE, eventually
from support.room import Room
from support.server import run
from support.talks import group, say, talk

LONG = 4 * PATIENCE
DEVICE = "/v1/me/devices/current"


def settings(receiver, **others):
    return {"webhooks": [receiver.endpoint("push.due")], "partitions": 8, "linger": 1_000, "lease": 6_000} | others


async def due(receiver, count=1):
    await eventually(lambda: len(receiver.calls) >= count, f"{count} pushes", within=LONG)
    return [call.data for call in receiver.calls]


async def test_who_has_no_session_is_told_of_at_once_and_once_until_they_read(start, receiver):
    room = Room(start(settings(receiver)))
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.did("updateProfile", changes={"displayName": "Ana \"A\""})
    id = (await talk(ana, bob))["id"]
    token = room.token("bob")
    answer = await CheckedAPI(room.server).request("PUT", DEVICE, {"pushToken": "first", "platform": "apns"}, token=token)
    assert answer.status == 204, answer
    answer = await CheckedAPI(room.server).request("PUT", DEVICE, {"pushToken": "to\"ken", "platform": "fcm"}, token=token)
    assert answer.status == 204, answer
    await bob.close()
    await room.come("watcher")
    sent = [await say(ana, id, f"message {number}") for number in range(5)]
    told, = await due(receiver)
    # Without the 10 s in which a device could mark the message as delivered.
    assert receiver.calls[0].at * 1000 - sent[0]["at"] < 9_000
    assert set(told) == {"user", "conversation", "devices", "title", "text", "badge"}
    assert told["user"] == bob.user and told["conversation"] == id and told["title"] == "Ana \"A\""
    assert told["devices"] == [{"platform": "fcm", "pushToken": "to\"ken"}]
    assert told["text"].startswith("message ") and 1 <= told["badge"] <= 5
    # Another conversation is another push; the unread count includes both.
    trip = await group(ana, bob, name="Trip")
    await say(ana, trip["id"], "x" * 600)
    told = (await due(receiver, 2))[1]
    assert told["title"] == "Trip" and told["conversation"] == trip["id"] and told["badge"] == 6
    assert told["text"] == "x" * 499 + "…"
    # After it is read, the next message is pushed again; and without a device, to none.
    bob = await room.come("bob")
    await bob.did("mark", conversation=id, read=5)
    await bob.close()
    assert (await CheckedAPI(room.server).request("DELETE", DEVICE, token=token)).status == 204
    assert (await CheckedAPI(room.server).request("DELETE", DEVICE, token=token)).status == 204
    await say(ana, id, "six")
    told = (await due(receiver, 3))[2]
    assert told["conversation"] == id and told["text"] == "six" and told["devices"] == [] and told["badge"] == 2
    assert len(receiver.calls) == 3


async def test_who_has_read_and_left_is_told_of_the_next_message_at_once(start, receiver):
    redis = start.redis()
    room = Room(start(settings(receiver), redis=redis))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    # It is noted for in 10 s, since bob has a session.
    await say(ana, id, "one")
    await eventually(lambda: "}:push" in redis.command("KEYS", "*}:push"), "it is noted")
    await bob.did("mark", conversation=id, read=1)
    await bob.close()
    await asyncio.sleep(0.4)
    sent = await say(ana, id, "two")
    told, = await due(receiver)
    assert told["text"] == "two" and receiver.calls[0].at * 1000 - sent["at"] < 5_000


async def test_an_idle_desktop_does_not_swallow_a_push(start, receiver):
    room = Room(start(settings(receiver)))
    ana, bob = await room.come("ana"), await room.come("bob", "desktop")
    id = (await talk(ana, bob))["id"]
    await bob.activity("idle")
    sent = await say(ana, id, "there?")
    # A delivery on the desktop proves nothing about its user.
    await bob.did("mark", conversation=id, delivered=sent["seq"])
    told, = await due(receiver)
    assert told["user"] == bob.user and told["text"] == "there?"
    assert receiver.calls[0].at * 1000 - sent["at"] > 9_900


async def test_a_broken_line_does_not_swallow_a_push(start, receiver):
    room = Room(start(settings(receiver, heartbeat_interval=1_000, heartbeat_timeout=1_000)))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await bob.close()
    # It reads nothing more and answers no ping.
    await room.raw("bob")
    sent = await say(ana, id, "there?")
    told, = await due(receiver)
    assert told["user"] == bob.user and told["text"] == "there?"
    # Interval, timeout, linger and 10 s.
    assert receiver.calls[0].at * 1000 - sent["at"] < 13_000 + PATIENCE * 1000


async def test_a_push_that_was_noted_falls_due_though_the_server_is_killed(start, receiver):
    redis = start.redis()
    server = start(settings(receiver), redis=redis)
    room = Room(server)
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await say(ana, id)
    await eventually(lambda: "}:push" in redis.command("KEYS", "*}:push"), "it is noted", within=LONG)
    server.kill()
    room.leave()
    server.start()
    told, = await due(receiver)
    assert told["user"] == bob.user
    report = run("doctor", "--redis", redis.url, "--config", server.command[server.command.index("--config") + 1])
    assert report.returncode == 0, report.stdout + report.stderr


async def test_devices_go_with_the_session_that_they_belong_to(start, receiver):
    room = Room(server := start(settings(receiver, **ON)))
    accounts = Accounts(server)
    ana, bob = await accounts.sign_up(), await accounts.sign_up()
    tokens = {}
    for name in ("phone", "tablet"):
        signed_in = (await accounts.sign_in(bob.email)).json
        tokens[name] = signed_in["accessToken"]
        put = await CheckedAPI(server).request("PUT", DEVICE, {"pushToken": name, "platform": "fcm"}, token=tokens[name])
        assert put.status == 204, put
    client = await room.come("ana", token=ana.access)
    conversation = (await client.did("createConversation", participants=[bob.user]))["conversation"]["id"]
    assert (await API(server).request("DELETE", "/v1/sessions/current", token=tokens["phone"])).status == 204
    await say(client, conversation)
    told, = await due(receiver)
    assert told["devices"] == [{"platform": "fcm", "pushToken": "tablet"}] and told["user"] == bob.user


async def put(server, token, platform="fcm", access=None):
    answer = await CheckedAPI(server).request("PUT", DEVICE, {"pushToken": token, "platform": platform}, token=access)
    assert answer.status == 204, answer


async def test_a_device_gets_nothing_after_the_users_tokens_were_revoked_until_it_is_registered_again(start, receiver):
    room = Room(start(settings(receiver)))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await put(room.server, "lost", access=room.token("bob"))
    await bob.close()
    revoked = await room.api.request("POST", f"/v1/users/{bob.user}/revokeTokens", token=room.backend)
    assert revoked.status == 200, revoked
    await say(ana, id)
    told, = await due(receiver)
    assert told["devices"] == [] and told["user"] == bob.user
    # Registered with a new token; no earlier push has reached it, so the same conversation is pushed again.
    await put(room.server, "new", access=room.token("bob", iat=max(time.time(), revoked.json["notBefore"] / 1000)))
    await say(ana, id, "two")
    told = (await due(receiver, 2))[1]
    assert told["devices"] == [{"platform": "fcm", "pushToken": "new"}] and told["text"] == "two" and told["badge"] == 2


async def test_a_deleted_message_hides_no_earlier_one(start, receiver):
    room = Room(start(settings(receiver)))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await say(ana, id, "first")
    second = await say(ana, id, "second")
    await ana.did("deleteMessage", conversation=id, message=second["id"])
    told, = await due(receiver)
    assert told["user"] == bob.user and told["text"] == "first"


async def test_one_device_is_told_once_though_two_sessions_have_registered_it(start, receiver):
    room = Room(server := start(settings(receiver, **ON)))
    accounts = Accounts(server)
    ana, bob = await accounts.sign_up(), await accounts.sign_up()
    for token in ("same", "other", "same"):
        await put(server, token, access=(await accounts.sign_in(bob.email)).json["accessToken"])
    client = await room.come("ana", token=ana.access)
    await say(client, (await client.did("createConversation", participants=[bob.user]))["conversation"]["id"])
    told, = await due(receiver)
    assert sorted(device["pushToken"] for device in told["devices"]) == ["other", "same"]


@pytest.mark.parametrize("body, status, field", [
    ({"pushToken": "x"}, 400, "platform"), ({"platform": "fcm"}, 400, "pushToken"),
    ({"pushToken": "x", "platform": "web"}, 422, "platform"), ({"pushToken": "", "platform": "fcm"}, 422, "pushToken"),
    ({"pushToken": "a b", "platform": "fcm"}, 422, "pushToken"),
    ({"pushToken": "x" * 1_025, "platform": "fcm"}, 422, "pushToken"),
    ({"pushToken": 1, "platform": "fcm"}, 400, "pushToken")], ids=lambda value: str(value)[:30])
async def test_a_device_that_cannot_be_is_refused(start, receiver, body, status, field):
    room = Room(start(settings(receiver)))
    answer = await CheckedAPI(room.server).request("PUT", DEVICE, body, token=room.token("ana"))
    assert (answer.status, answer.json["field"]) == (status, field), answer
    assert (await CheckedAPI(room.server).request("PUT", DEVICE, {"pushToken": "x", "platform": "fcm"}, token=room.backend)).status == 403
    assert (await CheckedAPI(room.server).request("PUT", DEVICE, {"pushToken": "x", "platform": "fcm"})).status == 401


async def test_devices_are_registered_where_nobody_pushes_yet(start, receiver):
    redis = start.redis()
    quiet = start({"partitions": 8, "linger": 1_000, "lease": 6_000}, redis=redis)
    room = Room(quiet)
    ana = await room.come("ana")
    bob = await room.come("bob")
    id = (await talk(ana, bob))["id"]
    device = {"pushToken": "early", "platform": "fcm"}
    answer = await CheckedAPI(quiet).request("PUT", DEVICE, device, token=room.token("bob"))
    assert answer.status == 204, answer
    for client in (ana, bob):
        await client.close()
    quiet.stop()
    # Pushes are configured from now on: the device is known.
    room.server = start(settings(receiver), redis=redis, directory=quiet.directory)
    await say(await room.come("ana"), id, "Are you there?")
    told, = await due(receiver)
    assert told["user"] == bob.user and told["devices"] == [{"platform": "fcm", "pushToken": "early"}]
