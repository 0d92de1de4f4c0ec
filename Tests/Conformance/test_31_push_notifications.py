"""Pushes of backends' notifications, and pushes without texts."""

import asyncio
import time

import pytest

from support.devices import APNS_TOKEN, away
from support.inboxes import inbox, mark, notify, post
from support.patience import PATIENCE, eventually
from support.receiver import Receiver
from support.room import Room
from support.talks import say, talk
from support.web_push import Subscriber

LONG = 4 * PATIENCE


def own_sender(receiver, **others):
    return {"webhooks": [receiver.endpoint("push.due")], "partitions": 8, "linger": 1_000, "lease": 6_000} | others


async def due(receiver, count=1):
    await eventually(lambda: len(receiver.calls) >= count, f"{count} pushes", within=LONG)
    return [call.data for call in receiver.calls]


async def test_who_is_away_is_pushed_to_once_and_the_event_names_the_notification(start, receiver):
    room = Room(start(own_sender(receiver)))
    bob = await away(room, "bob", {"pushToken": "phone", "platform": "fcm"})
    began = time.time()
    end = int(began * 1000) + 600_000
    for _ in range(2):
        await notify(room, bob.user, id="order-77", kind="order", title="Shipped", body="Soon", collapse="orders",
                     urgency="low", expires=end)
    told, = await due(receiver)
    assert receiver.calls[0].at - began < 5
    tag = told["notification"].pop("tag")
    assert told == {
        "user": bob.user, "notification": {"seq": 1, "id": "order-77", "kind": "order", "urgency": "low", "expires": end},
        "title": "Shipped", "text": "Soon", "badge": 0, "devices": [{"platform": "fcm", "pushToken": "phone"}]}
    await notify(room, bob.user, id="order-78", title="Shipped too", collapse="orders", push="away")
    await notify(room, bob.user, id="quiet", push="never")
    await notify(room, bob.user, id="old", expires=1)
    await notify(room, bob.user, id="other")
    pushes = await due(receiver, 3)
    assert [push["notification"]["id"] for push in pushes] == ["order-77", "order-78", "other"]
    assert pushes[1]["notification"]["tag"] == tag != pushes[2]["notification"]["tag"]
    # The list has them all, with what their backend set.
    bob = await room.come("bob")
    items = {item["id"]: item for item in (await inbox(bob))["items"]}
    assert set(items) == {"order-78", "quiet", "old", "other"}
    assert items["quiet"]["push"] == "never" and items["old"]["expires"] == 1 and "push" not in items["other"]
    await asyncio.sleep(1)
    assert len(receiver.calls) == 3


async def test_a_session_has_time_unless_its_backend_says_always(start, receiver):
    room = Room(start(own_sender(receiver)))
    bob, cy = await room.come("bob"), await room.come("cy")
    await cy.activity("idle")
    began = time.time()
    await notify(room, bob.user, cy.user, id="now", push="always")
    assert {told["user"] for told in await due(receiver, 2)} == {bob.user, cy.user} and time.time() - began < 5
    began = time.time()
    await notify(room, bob.user, cy.user, id="later")
    # Bob is active. Cy is idle, and has 10 s.
    told = (await due(receiver, 3))[2]
    assert told["user"] == cy.user and told["notification"]["id"] == "later" and time.time() - began > 9.9
    # A notification that is read on a device within its time is not pushed.
    await notify(room, cy.user, id="read")
    await inbox(cy)
    await mark(cy, read=[3])
    await asyncio.sleep(12)
    assert len(receiver.calls) == 3


async def test_a_push_that_was_noted_falls_due_though_the_server_is_killed(start, receiver):
    server = start(own_sender(receiver), redis=start.redis())
    room = Room(server)
    bob = await room.come("bob")
    await notify(room, bob.user, id="order")
    server.kill()
    room.leave()
    server.start()
    assert (await due(receiver))[0]["notification"]["id"] == "order"


async def test_services_are_told_how_urgent_it_is_and_until_when(start, services):
    room = Room(start(services.settings()))
    bob = await away(room, "bob", {"pushToken": "b", "platform": "fcm"})
    cy = await away(room, "cy", {"pushToken": APNS_TOKEN, "platform": "apns"})
    end = int(time.time()) + 600
    await notify(room, bob.user, cy.user, id="order-77", kind="order", title="Shipped", body="Soon", urgency="low",
                 expires=end * 1000)
    await eventually(lambda: len(services.pushes) == 2, "both pushes", within=LONG)
    message, apns = services.of("fcm")[0].json["message"], services.of("apns")[0]
    assert message["notification"] == {"title": "Shipped", "body": "Soon"}
    assert message["data"] == {"user": bob.user, "notification": "order-77", "kind": "order"}
    assert message["android"]["priority"] == "NORMAL" and 500 < int(message["android"]["ttl"][:-1]) <= 600
    assert apns.headers["apns-priority"] == "5" and apns.headers["apns-expiration"] == str(end)
    assert apns.headers["apns-collapse-id"] == message["android"]["notification"]["tag"]
    assert apns.json["notification"]["id"] == "order-77" and apns.json["aps"]["alert"] == {"title": "Shipped", "body": "Soon"}
    assert not services.wrong


async def test_a_push_that_waits_is_withdrawn_when_another_device_reads_it(start, services):
    services.fcm = lambda push: (503, {})
    room = Room(start(services.settings()))
    bob = await away(room, "bob", {"pushToken": "b", "platform": "fcm"})
    await notify(room, bob.user, id="order")
    await eventually(lambda: len(services.pushes) == 1, "a try", within=LONG)
    bob = await room.come("bob")
    await inbox(bob)
    await mark(bob, read=[1])

    async def is_empty():
        return await room.api.metric("presence_pushes_queued") == 0

    await eventually(is_empty, "nothing waits", within=LONG)
    assert len(services.pushes) == 1 and await room.api.metric("presence_pushes_given_up_total") == 0


async def test_a_browser_gets_it_with_a_topic_of_its_own(start, browsers):
    room, browser = Room(start(browsers.settings())), Subscriber(browsers)
    bob = await away(room, "bob", browser.device)
    await notify(room, bob.user, id="a", title="One", collapse="x", urgency="very-low", expires=int(time.time() * 1000) + 60_000)
    # One that another replaces before that would not be pushed.
    await eventually(lambda: browsers.pushes, "a push", within=LONG)
    await notify(room, bob.user, id="b", title="Two", collapse="x")
    await eventually(lambda: len(browsers.pushes) == 2, "both", within=LONG)
    one, two = browsers.pushes
    assert one.headers["urgency"] == "very-low" and 30 < int(one.headers["ttl"]) <= 60
    assert two.headers["urgency"] == "high" and two.headers["ttl"] == "604800" and one.headers["topic"] == two.headers["topic"]
    told = two.json
    about = told.pop("notification")
    assert told == {"user": bob.user, "seq": 2, "title": "Two", "text": "", "badge": 0}
    assert about.pop("tag") == one.json["notification"]["tag"] and about == {"seq": 2, "id": "b", "kind": about["kind"]}


@pytest.mark.parametrize("field,value,code", [
    ("push", "often", "validation_failed"), ("push", True, "bad_request"), ("urgency", "urgent", "validation_failed"),
    ("urgency", 1, "bad_request"), ("expires", -1, "validation_failed"), ("expires", "soon", "bad_request"),
])
async def test_values_that_there_are_not_are_refused(start, receiver, field, value, code):
    room = Room(start(own_sender(receiver)))
    answer = await post(room, ["bob"], id="x", title="x", **{field: value})
    assert answer.json["code"] == code and answer.json["field"] == field, answer
    assert answer.status == (422 if code == "validation_failed" else 400)


@pytest.mark.parametrize("content", ["sender", "none"])
async def test_no_service_learns_more_than_the_operator_permits(start, services, tmp_path, content):
    receiver = Receiver(tmp_path)
    try:
        others = {"push.content": content, "webhooks": [receiver.endpoint("push.due")]}
        room = Room(start(services.settings(**others)))
        ana = await room.come("ana")
        await ana.did("updateProfile", changes={"displayName": "Ana"})
        bob = await away(room, "bob", {"pushToken": "b", "platform": "fcm"})
        cy = await away(room, "cy", {"pushToken": APNS_TOKEN, "platform": "apns"})
        talks = [(await talk(ana, person))["id"] for person in (bob, cy)]
        for id in talks:
            await say(ana, id, "a secret")
        await notify(room, bob.user, cy.user, id="order", title="Shipped", body="a secret")
        await eventually(lambda: len(services.pushes) == 4 and len(receiver.calls) == 4, "all pushes", within=LONG)
        for told in [push.json for push in services.pushes] + [call.data for call in receiver.calls]:
            assert "a secret" not in str(told), told
            assert ("Ana" in str(told) or "Shipped" in str(told)) == (content == "sender"), told
        assert {call.data.get("conversation") for call in receiver.calls} == {*talks, None}
        assert all("badge" in call.data for call in receiver.calls)
        shown = {push.text for push in services.pushes}
        assert shown == ({""} if content == "sender" else {"New message", "New notification"})
    finally:
        receiver.close()
