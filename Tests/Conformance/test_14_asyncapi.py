"""docs/asyncapi.yaml compared with real messages: a scene in which every message occurs, with every member."""

import asyncio
import json
import os
import time
from unittest import mock

import pytest
from jsonschema import Draft202012Validator

from support import inboxes, pictures, rules
from support.accounts import ON, Accounts
from support.asyncapi import AsyncAPI, WitnessedRoom
from support.client import BREACHES
from support.patience import PATIENCE, eventually
from support.redis import Redis
from support.room import ROOMS
from support.server import Server
from support.talks import follow, group, hears, info, listed, say, sees, talk

DOCUMENT = AsyncAPI("asyncapi.yaml")
SETTINGS = {"participants": 30, "conversations": 2, "max_server_message_bytes": 16_384, "subscribe_batch": 300,
            "linger": 300, "typing": 1_000} | ON
ENVIRONMENT = {"PRESENCE_COMMAND_TIMEOUT": "500ms", "PRESENCE_STALE_AFTER": "500ms", "PRESENCE_LEASE_RENEWAL": "200ms",
               "PRESENCE_LIMITS_BAD_REQUESTS": "1000", "PRESENCE_LIMITS_REQUEST_BURST": "300"}

UNPROVOKED_CODES = {
    "banned": "needs a backend: test_36_bans.py",
    "refused": "needs a check: test_38_moderation.py",
    "conflict": "of messages: test_27_messages*.py",
    "internal": "the server would have to be broken",
    "not_found": "of messages: test_27_messages*.py",
    "too_large": "of bodies, over HTTP",
}
UNSAID = {"messagesReset": "needs a store that has lost messages: test_27_messages*.py"}
BOTH = {"notificationCounts"}
"""Members that are in the answer to one session and in the notice to the others."""
UNMET_MEMBERS = {
    "#/channels/presence/bindings/ws/headers": "headers of the upgrade, which are no message",
}


UNMET_HERE = {
    ("#/components/messages/ServerMessagesReset/payload", "type"): UNSAID["messagesReset"],
    ("#/components/messages/ServerMessagesReset/payload", "conversation"): UNSAID["messagesReset"],
    ("#/components/messages/ClientSubscribe/payload/then", "known"): "a rule about `known`, which is met",
    ("#/components/messages/ServerError/payload", "until"): "of bans: test_36_bans.py",
    ("#/components/messages/ServerError/payload", "reason"): "of accounts, over HTTP: test_26_accounts.py",
    ("#/components/messages/ServerError/payload", "outcomeUnknown"): "needs a Redis that goes in time: test_07_staleness.py",
}


# The document itself


def test_its_references_lead_somewhere_and_its_schemas_are_json_schema():
    assert not list(DOCUMENT.dangling())
    for place, schema in DOCUMENT.schemas():
        try:
            Draft202012Validator.check_schema(schema)
        except Exception as fault:
            raise AssertionError(f"{place}: {fault}") from None


def test_its_channel_and_operations_name_every_message_once():
    messages = DOCUMENT.root["components"]["messages"]
    channel = DOCUMENT.root["channels"]["presence"]["messages"]
    assert channel == {name: {"$ref": f"#/components/messages/{name}"} for name in messages}
    assert len(DOCUMENT.client) + len(DOCUMENT.server) == len(messages), "two messages of one side have the same type"
    for side in (DOCUMENT.client, DOCUMENT.server):
        for type, message in side.items():
            assert message["payload"].get("properties", {}).get("type", {"const": type}) == {"const": type}
    asked = [type for operation in DOCUMENT.root["operations"].values() if operation["action"] == "receive"
             for type in DOCUMENT.message_types(operation["messages"])]
    assert sorted(asked) == sorted(DOCUMENT.client)
    answers = {type for type in asked for type in DOCUMENT.replies_to(type)}
    assert answers | DOCUMENT.unasked == set(DOCUMENT.server) and answers & DOCUMENT.unasked == BOTH


@pytest.mark.parametrize("side", ["client", "server"])
def test_its_examples_are_what_its_schemas_describe(side):
    for type, message in getattr(DOCUMENT, side).items():
        for example in message["examples"]:
            assert not DOCUMENT.message_faults(example["payload"], side), example
            assert example["payload"]["type"] == type


def test_its_codes_are_those_of_the_protocol():
    assert set(DOCUMENT.root["components"]["schemas"]["ErrorCode"]["examples"]) == rules.CODES


# The scene


@pytest.fixture(scope="module")
def scene():
    """The room of a scene; its connections have recorded all messages."""
    redis, server = Redis(), None
    BREACHES.clear()
    try:
        with mock.patch.dict(os.environ, ENVIRONMENT):
            server = Server(SETTINGS, redis=redis, shards=1)
        room = WitnessedRoom(server)
        asyncio.run(asyncio.wait_for(played(room, redis), 60))
        assert not BREACHES, BREACHES[:10]
        return room
    finally:
        ROOMS.clear()
        if server:
            server.close()
        redis.close()


async def played(room, redis):
    try:
        await people_meet(room)
        await profiles_change(room)
        await people_type(room)
        await people_talk(room)
        await people_are_notified(room)
        await settings_of_notifications_change(room)
        await replies_are_split(room)
        await people_hide(room)
        await people_ask(room)
        await somebody_signs_up(room)
        await tokens_run_out(room)
        await mistakes_are_made(room)
        await the_store_is_lost(room, redis)
    finally:
        room.leave()
        await asyncio.sleep(0)


async def people_meet(room):
    ana = await room.come("ana", {"id": "ana-phone", "kind": "phone", "name": "Ana's phone"}, activity="active")
    bob = await room.come("bob", "web", status={"status": "busy", "text": "On a train", "clearAfter": 5_400_000})
    cy = await room.socket(extra_headers={"Authorization": f"Bearer {room.token('cy')}"})
    await cy.connect(activity="idle", status="invisible")
    people = await ana.subscribe(bob, cy, room.name("zed"))
    # Only registers that differ from the known versions are sent.
    known = {person["user"]: {"presence": person["presence"]["version"], "profile": 1} for person in people}
    await ana.subscribe(bob, known=known)
    await ana.subscribe()
    await ana.get(bob, cy)
    await bob.status("busy", text="In a meeting", clearAfter=3_600_000)
    await bob.hear("ownStatus", status=lambda status: "clearAt" in status and status["text"] == "In a meeting")
    await bob.send({"type": "status", "status": "auto", "text": None})
    await ana.sees(bob, status="online")
    await bob.send({"type": "activity", "state": "idle"})
    await ana.sees(bob, status="away")
    await bob.activity("active")
    await ana.activity("background")
    await ana.activity("active")
    assert (await ana.did("unsubscribe", users=[cy.user]))["type"] == "unsubscribed"
    await cy.status()
    assert (await cy.did("disconnect"))["type"] == "ok"
    await cy.closed(1000)
    dan = await room.come("dan", {"kind": "desktop"})
    await ana.subscribe(dan)
    await dan.send({"type": "disconnect"})
    await ana.sees(dan, status="offline", lastSeen=lambda time: time > 0)


async def profiles_change(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.subscribe(bob)
    await bob.update(displayName="Bob Ray", photoURL="https://example.org/bob.jpg", timezone="Europe/Paris",
                     locale="pt-BR")
    await ana.sees_profile(bob, displayName="Bob Ray", locale="pt-BR")
    await bob.update(photoURL=None)
    await ana.get(bob)


async def people_type(room):
    typists = await asyncio.gather(*[room.come(f"t{number:02}") for number in range(22)])
    first, *_, last = typists
    created = await first.did(
        "createConversation", participants=[typist.user for typist in typists], key="the-only-one")
    talk = created["conversation"]["id"]
    await first.watch_typing(talk)
    await asyncio.gather(*[typist.types(talk) for typist in typists])
    # More typists than one event lists, and then those who stopped.
    await first.hear("typing", more=2, users=lambda users: len(users) == 20)
    await last.watch_typing(talk)
    await asyncio.gather(*[typist.types(talk, False) for typist in typists])
    await first.sees_typing(talk, [])
    await first.did("subscribe", users=[last.user], conversations=[talk])
    await first.did("unsubscribe", conversations=[talk])


async def people_talk(room):
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    await cy.did("setVisibility", visibility={"receipts": "nobody", "findable": "contacts"})
    await listed(bob)
    made = (await group(ana, bob, cy, key="all", metadata={"colour": "red"}))["id"]
    direct = (await talk(ana, bob))["id"]
    await bob.did("subscribe", conversations=[direct, {"id": made}])
    picture = {"id": "a1", "kind": "image", "url": "https://example.org/a.jpg",
               "thumbnailURL": "https://example.org/t.jpg", "sizeBytes": 51_200}
    first = await say(ana, made, "On my way", after=0, more={"attachments": [picture], "priority": {"reason": "Now"}})
    await say(ana, made, "again")
    await ana.did("editMessage", conversation=made, message=first["id"], text="Nearly there")
    await hears(bob, made, 3)
    await sees(bob, made, hasUnreadPriority=True, priorityCount=1)
    await bob.did("mark", conversation=made, delivered=2, read=1)
    await bob.did("conversationSettings", conversation=made, muted=True, muteFor=60_000, archived=True)
    await sees(bob, made, muted=True, archived=True)
    await info(bob, made)
    await bob.did("getMessages", conversation=made, before=2, limit=10)
    await ana.did("deleteMessage", conversation=made, message=first["id"])
    await ana.did("renameConversation", conversation=made, name="Alps")
    phone = await room.come("bob", "phone")
    await follow(phone, made, after=2, messagesVersion=1)
    await follow(phone, made, after=99)
    await listed(phone, known={direct: 1, "gone": 1})
    await ana.did("changeMembers", conversation=made, add=[room.name("dan")], remove=[bob.user])
    await sees(bob, made, removed=True)


async def people_are_notified(room):
    ana, phone = await room.come("ana"), await room.come("ana", "phone")
    await inboxes.inbox(ana), await inboxes.inbox(phone)
    await inboxes.notify(room, ana.user, title="Running", body="Since now", data={"n": 1}, collapse="build")
    await inboxes.notify(room, ana.user, title="Passed", collapse="build")
    await inboxes.notify(room, ana.user, push="never", urgency="low", expires=int(time.time() * 1_000) + 600_000)
    await inboxes.hears(phone, 3)
    await inboxes.mark(ana, seen=2, read=[2], archived=[3])
    await phone.hear("notificationCounts")
    await inboxes.inbox(ana)
    await ana.did("getNotifications", before=3, limit=10)
    await ana.did("unsubscribe", notifications=True, conversationList=True)


async def settings_of_notifications_change(room):
    ana = await room.come("ana")
    quiet = {"timezone": "Europe/Berlin", "from": "22:00", "to": "07:00", "allow": ["urgent"]}
    answer = await room.api.request(
        "PUT", "/v1/me/notificationSettings", {"kinds": {"order": {"push": False}}, "quiet": quiet}, token=room.token("ana"))
    assert answer.status == 200, answer
    await ana.hear("ownNotificationSettings")


async def replies_are_split(room):
    ana = await room.come("ana")
    many = [room.name("x" * 110 + str(number)) for number in range(200)]
    assert len(await ana.subscribe(*many)) == len(await ana.get(*many)) == 200
    assert {(part["type"], part.get("more")) for part in ana.log} >= {
        ("subscribed", True), ("subscribed", None), ("users", True), ("users", None)}
    bob = await room.come("bob")
    made = (await talk(ana, bob))["id"]
    for _ in range(15):
        await say(ana, made, "x" * 3_000)
    assert len((await bob.did("getMessages", conversation=made, limit=20))["messages"]) == 15
    assert {part.get("more") for part in bob.log if part["type"] == "messages"} == {True, None}


async def people_hide(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.subscribe(bob)
    await bob.did("setVisibility", visibility={"presence": "contacts", "lastSeen": "nobody"})
    await bob.send({"type": "setVisibility", "visibility": {"lastSeen": "everyone"}})
    await bob.hear("ownVisibility", visibility={"presence": "contacts", "lastSeen": "everyone"})
    await ana.sees(bob, version=0)
    await bob.did("addContacts", users=[ana.user, *(room.name("x" * 110 + str(number)) for number in range(200))])
    await ana.sees(bob, status="online")
    await bob.did("block", users=[ana.user])
    await ana.sees(bob, version=0)
    assert len((await bob.did("getVisibility"))["contacts"]) == 201
    await bob.did("removeContacts", users=[ana.user])
    await bob.did("unblock", users=[ana.user])


async def people_ask(room):
    ana, bob = await room.come("fay"), await room.come("gus")
    await ana.did("updateProfile", changes={"displayName": "Ana"})
    await bob.did("setVisibility", conversations={"from": "contacts"})
    await bob.hear("ownVisibility", conversations={"from": "contacts"})
    assert (await bob.did("getVisibility"))["conversations"] == {"from": "contacts"}
    made = (await talk(ana, bob))["id"]
    assert (await info(bob, made))["request"] is True
    await ana.did("requestContact", user=bob.user, text="We met in Lyon")
    await bob.hear("contactRequests", requests=lambda requests: [each["displayName"] for each in requests] == ["Ana"])
    await bob.did("answerContact", user=ana.user, accept=True)
    await bob.hear("contactRequests", requests=[])


async def somebody_signs_up(room):
    ana = await Accounts(room.server).sign_up(username="ana." + room.suffix)
    client = await room.come("ana", token=ana.access)
    await client.hear("ownAccount")
    await ana.call("PATCH", "/v1/me", {"changes": {"preferredLanguage": "fr"}})
    await client.hear("ownAccount", account=lambda account: account.get("preferredLanguage") == "fr")
    await client.subscribe(ana.user)
    answer = await ana.accounts.api.request("PUT", "/v1/me/photo", pictures.jpeg(pictures.scene()), token=ana.access)
    await client.sees_profile(ana.user, thumbnailURL=answer.json["thumbnailURL"], username="ana." + room.suffix)


async def tokens_run_out(room):
    ana = await room.come("ana", token=room.token("ana", expires=30))
    assert (await ana.hear("tokenExpiring"))["expiresIn"] <= 30_000
    assert (await ana.did("refresh", token=room.token("ana")))["type"] == "refreshed"
    await ana.refused("unauthorized", "refresh", token=room.token("bob"))
    bob = await room.socket()
    await bob.refused("unauthorized", "connect", token=room.token("bob", expires=-1))
    await bob.closed(4001)


WRONG = [
    ("bad_request", {"type": "connect"}),
    ("bad_request", {"type": "refresh"}),
    ("bad_request", {"type": "refresh", "token": 7}),
    ("bad_request", {"type": "subscribe"}),
    ("bad_request", {"type": "subscribe", "users": "bob"}),
    ("bad_request", {"type": "subscribe", "users": [1]}),
    ("bad_request", {"type": "subscribe", "conversations": {}}),
    ("bad_request", {"type": "subscribe", "users": ["bob"], "known": []}),
    ("bad_request", {"type": "subscribe", "users": ["bob"], "known": {"bob": 1}}),
    ("bad_request", {"type": "subscribe", "users": ["bob"], "known": {"bob": {"presence": "1"}}}),
    ("bad_request", {"type": "subscribe", "notifications": 1}),
    ("bad_request", {"type": "unsubscribe"}),
    ("bad_request", {"type": "unsubscribe", "notifications": "yes"}),
    ("bad_request", {"type": "unsubscribe", "conversationList": "yes"}),
    ("bad_request", {"type": "markNotifications"}),
    ("bad_request", {"type": "markNotifications", "seen": "1"}),
    ("bad_request", {"type": "markNotifications", "read": 1}),
    ("bad_request", {"type": "markNotifications", "archived": ["1"]}),
    ("validation_failed", {"type": "markNotifications", "seen": -1}),
    ("validation_failed", {"type": "markNotifications", "read": [0]}),
    ("bad_request", {"type": "getNotifications", "before": "1"}),
    ("validation_failed", {"type": "getNotifications", "before": 0}),
    ("bad_request", {"type": "getNotifications", "limit": "1"}),
    ("validation_failed", {"type": "getNotifications", "limit": 51}),
    ("validation_failed", {"type": "setVisibility", "visibility": {"receipts": "contacts"}}),
    ("bad_request", {"type": "get"}),
    ("bad_request", {"type": "get", "users": [None]}),
    ("bad_request", {"type": "status"}),
    ("bad_request", {"type": "status", "status": 1}),
    ("bad_request", {"type": "status", "status": "busy", "text": 1}),
    ("bad_request", {"type": "status", "status": "busy", "clearAfter": "1000"}),
    ("bad_request", {"type": "status", "status": "busy", "clearAfter": 1000.5}),
    ("bad_request", {"type": "activity"}),
    ("bad_request", {"type": "activity", "state": True}),
    ("bad_request", {"type": "updateProfile"}),
    ("bad_request", {"type": "updateProfile", "changes": []}),
    ("bad_request", {"type": "updateProfile", "changes": {"displayName": 1}}),
    ("bad_request", {"type": "updateProfile", "changes": {"locale": []}}),
    ("bad_request", {"type": "createConversation"}),
    ("bad_request", {"type": "createConversation", "participants": "bob"}),
    ("bad_request", {"type": "typing", "typing": True}),
    ("bad_request", {"type": "typing", "conversation": "c1"}),
    ("bad_request", {"type": "typing", "conversation": "c1", "typing": "yes"}),
    ("bad_request", {"type": "setVisibility"}),
    ("bad_request", {"type": "setVisibility", "visibility": []}),
    ("bad_request", {"type": "setVisibility", "visibility": {"presence": 1}}),
    ("bad_request", {"type": "addContacts"}),
    ("bad_request", {"type": "removeContacts", "users": {}}),
    ("bad_request", {"type": "block", "users": "bob"}),
    ("bad_request", {"type": "unblock", "users": [1]}),
    ("bad_request", {"type": "setVisibility", "conversations": {"from": 1}}),
    ("bad_request", {"type": "requestContact"}),
    ("bad_request", {"type": "requestContact", "user": 1}),
    ("bad_request", {"type": "answerContact", "user": "bob"}),
    ("bad_request", {"type": "answerContact", "user": "bob", "accept": "yes"}),
    ("validation_failed", {"type": "setVisibility", "visibility": {"lastSeen": "friends"}}),
    ("validation_failed", {"type": "addContacts", "users": ["a b"]}),
    ("validation_failed", {"type": "removeContacts", "users": [""]}),
    ("validation_failed", {"type": "block", "users": ["x" * 129]}),
    ("validation_failed", {"type": "unblock", "users": ["a b"]}),
    ("validation_failed", {"type": "setVisibility", "conversations": {"from": "nobody"}}),
    ("validation_failed", {"type": "requestContact", "user": "a b"}),
    ("validation_failed", {"type": "requestContact", "user": "bob", "text": "x" * 1025}),
    ("validation_failed", {"type": "get", "users": ["a b"]}),
    ("validation_failed", {"type": "get", "users": ["x" * 129]}),
    ("validation_failed", {"type": "subscribe", "conversations": [""]}),
    ("validation_failed", {"type": "status", "status": "away"}),
    ("validation_failed", {"type": "status", "status": "busy", "text": "x" * 1025}),
    ("validation_failed", {"type": "status", "status": "busy", "clearAfter": 999}),
    ("validation_failed", {"type": "status", "status": "busy", "clearAfter": 2_592_000_001}),
    ("validation_failed", {"type": "activity", "state": "asleep"}),
    ("validation_failed", {"type": "updateProfile", "changes": {"displayName": ""}}),
    ("validation_failed", {"type": "updateProfile", "changes": {"displayName": None}}),
    ("validation_failed", {"type": "updateProfile", "changes": {"photoURL": "https://example.org/" + "x" * 2_030}}),
    ("validation_failed", {"type": "updateProfile", "changes": {"timezone": "7/7"}}),
    ("validation_failed", {"type": "updateProfile", "changes": {"locale": "x" * 129}}),
    ("validation_failed", {"type": "createConversation", "participants": ["bob", ""]}),
    ("validation_failed", {"type": "typing", "conversation": "c 1", "typing": True}),
]
"""Requests whose fault a schema can express, and their rejections. The first is sent too late."""

WRONG_CONNECTS = [
    ("bad_request", {"token": 1}),
    ("bad_request", {"device": "phone"}),
    ("bad_request", {"device": {"name": 1}}),
    ("bad_request", {"status": 1}),
    ("bad_request", {"status": {}}),
    ("bad_request", {"activity": 1}),
    ("validation_failed", {"device": {"id": ""}}),
    ("validation_failed", {"device": {"kind": "fridge"}}),
    ("validation_failed", {"device": {"name": "x" * 1025}}),
    ("validation_failed", {"status": "away"}),
    ("validation_failed", {"status": {"status": "busy", "clearAfter": 1}}),
    ("validation_failed", {"activity": "asleep"}),
]


async def mistakes_are_made(room):
    ana = await room.socket()
    await ana.refused("unauthorized", "get", users=["bob"])
    for code, members in WRONG_CONNECTS:
        await ana.refused(code, "connect", **{"token": room.token("ana")} | members)
    await ana.connect(room.token("ana"))
    await ana.refused("unknown_type", "frobnicate")
    for code, request in WRONG:
        await ana.refused(code, **request)
    for text in ("", "{", "[]", '{"type":7}', '{"type":"get","users":[],"id":0}'):
        await ana.send(text)
        await ana.hear("error", code="bad_request")
    await ana.refused("forbidden", "typing", conversation="nowhere", typing=True)
    await ana.refused("forbidden", "subscribe", conversations=["nowhere"])
    await ana.refused("too_many", "get", users=[f"u{number}" for number in range(301)])
    bob = await room.come("bob")
    answers = await asyncio.gather(*[bob.ask("get", users=[]) for _ in range(600)])
    assert "rate_limited" in [answer.get("code") for answer in answers]
    await ana.refused("too_many", "createConversation", participants=["bob"], name="One more")


async def the_store_is_lost(room, redis):
    ana = await room.come("ana")
    await inboxes.inbox(ana)
    redis.stop()
    try:
        await ana.hear("stale")
        await ana.refused("unavailable", "updateProfile", changes={"displayName": "Ana"})
        eve = await room.come("eve")
        await eve.hear("stale")
    finally:
        redis.go_on()
    for client in (ana, eve):
        await client.hear("live", within=2 * PATIENCE)
    await ana.hear("notificationCounts", kept=lambda kept: kept == [2])
    await eventually(lambda: "ownStatus" in [message["type"] for message in eve.log], "eve's own status")


# The messages


def test_every_message_of_the_server_is_as_documented(scene):
    for message in scene.received:
        faults = DOCUMENT.message_faults(message, "server")
        assert not faults, f"{json.dumps(message)[:500]}: {faults}"


def test_every_request_that_the_server_took_is_as_documented(scene):
    refused = ("bad_request", "unknown_type", "validation_failed")
    for request, error in scene.sent:
        if error is None or error["code"] not in refused:
            faults = DOCUMENT.message_faults(request, "client")
            assert not faults, f"{json.dumps(request)[:500]}: {faults}"


def test_every_request_that_is_wrong_for_the_server_is_wrong_by_the_document(scene):
    wrong = [(request, error) for request, error in scene.sent
             if error and error["code"] in ("bad_request", "unknown_type", "validation_failed")]
    assert len(wrong) == len(WRONG) + len(WRONG_CONNECTS) + 1
    for request, error in wrong:
        if error["message"] != "connected already":
            assert DOCUMENT.message_faults(request, "client"), f"{json.dumps(request)[:500]} but {error}"


def test_every_message_of_the_document_was_said(scene):
    unseen = set(DOCUMENT.server) - {message["type"] for message in scene.received} - UNSAID.keys()
    unsaid = set(DOCUMENT.client) - {request["type"] for request, error in scene.sent if error is None}
    assert not unseen and not unsaid, f"never received: {unseen}; never sent: {unsaid}"


def test_every_reply_is_one_that_the_operation_names(scene):
    for client in scene.open:
        asked = {request["id"]: request["type"] for request in client.sent if "id" in request}
        for message in client.log:
            if "id" in message and asked[message["id"]] in DOCUMENT.client:
                assert message["type"] in DOCUMENT.replies_to(asked[message["id"]]), message
            elif "id" not in message:
                assert message["type"] in DOCUMENT.unasked | {"error"}, message


def test_every_member_of_the_document_was_met(scene):
    DOCUMENT.met.clear()
    for message in scene.received:
        DOCUMENT.message_faults(message, "server")
    for request, error in scene.sent:
        if error is None:
            DOCUMENT.message_faults(request, "client")
    unmet = {(place, name) for place, name in DOCUMENT.members() - DOCUMENT.met
             if place not in UNMET_MEMBERS and (place, name) not in UNMET_HERE}
    assert not unmet, sorted(unmet)


def test_every_code_was_answered(scene):
    codes = {message["code"] for message in scene.received if message["type"] == "error"}
    assert codes == rules.CODES - UNPROVOKED_CODES.keys()
