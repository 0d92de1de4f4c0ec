"""Settings of notifications: kinds, messages, previews, quiet hours and busy users, with real push services."""

import asyncio
import json
import time

import pytest

from support.accounts import Accounts, CheckedAPI
from support.devices import APNS_TOKEN, DEVICE, away
from support.inboxes import inbox, mark, notify
from support.patience import PATIENCE, eventually
from support.receiver import Receiver
from support.room import Room
from support.server import run
from support.talks import group, say, talk
from support.web_push import Subscriber

LONG = 4 * PATIENCE
PLACE = "/v1/me/notificationSettings"
NONE = {"kinds": {}, "messages": {"direct": "all", "groups": "all"}, "preview": True, "whileBusy": "push"}
SETTINGS = {
    "notifications.kinds": [{"kind": "order", "name": "Orders & more"}, {"kind": "news"}], "linger": 1_000, "lease": 6_000,
    "partitions": 8}
ALWAYS = {"timezone": "Europe/Berlin", "from": "00:00", "to": "00:00"}
"""Every hour of every day."""


def own_sender(receiver, **others):
    return SETTINGS | {"webhooks": [receiver.endpoint("push.due", "notification.created")]} | others


async def put(room, person, settings, token=None):
    return await CheckedAPI(room.server).request("PUT", PLACE, settings, token=token or room.token(person))


async def settle(room, person, **settings):
    answer = await put(room, person, settings)
    assert answer.status == 200, answer
    return answer.json


async def get(room, person):
    answer = await CheckedAPI(room.server).request("GET", PLACE, token=room.token(person))
    assert answer.status == 200, answer
    return answer.json


def due(receiver):
    return [call.data for call in receiver.calls if call.json["type"] == "push.due"]


async def dues(receiver, count=1):
    await eventually(lambda: len(due(receiver)) >= count, f"{count} pushes", within=LONG)
    return due(receiver)


# The settings themselves


async def test_what_is_set_is_read_and_a_missing_member_has_its_default(room):
    assert await get(room, "ana") == NONE | {"version": 0}
    quiet = {"timezone": "Europe/Berlin", "from": "22:00", "to": "07:00"}
    first = await settle(room, "ana", kinds={"order": {"push": False}, "odd\"kind\\": {"inbox": False}}, quiet=quiet, unknown=[1])
    assert first == NONE | {
        "kinds": {"order": {"inbox": True, "push": False}, "odd\"kind\\": {"inbox": False, "push": True}},
        "quiet": quiet | {"days": [1, 2, 3, 4, 5, 6, 7], "allow": []}, "version": first["version"]}
    assert await get(room, "ana") == first and first["version"] > 0
    # An answer can be sent back.
    second = (await put(room, "ana", first | {"preview": False})).json
    assert second == first | {"preview": False, "version": second["version"]} and second["version"] > first["version"]
    third = await settle(room, "ana", quiet=quiet | {"days": [7, 1, 7], "allow": ["urgent", "urgent"]}, messages={"groups": "none"},
                         whileBusy="hold", kinds=None)
    assert third["quiet"]["days"] == [1, 7] and third["quiet"]["allow"] == ["urgent"] and third["kinds"] == {}
    assert third["messages"] == {"direct": "all", "groups": "none"} and third["whileBusy"] == "hold" and third["preview"]
    assert await settle(room, "ana") == NONE | {"version": (await get(room, "ana"))["version"]}
    assert await get(room, "bob") == NONE | {"version": 0}


LONGEST = {"kinds": {f"{number:03}" + "k" * 61: {"inbox": False, "push": False} for number in range(100)},
           "quiet": {"timezone": "America/Argentina/ComodRivadavia", "from": "23:59", "to": "00:00", "days": [1, 2, 3, 4, 5, 6, 7],
                     "allow": ["urgent"]}}


async def test_as_many_kinds_as_there_may_be(room):
    assert (await settle(room, "ana", **LONGEST))["kinds"] == LONGEST["kinds"]
    answer = await put(room, "ana", {"kinds": LONGEST["kinds"] | {"more": {}}})
    assert answer.status == 422 and answer.json["code"] == "too_many" and answer.json["field"] == "kinds", answer
    answer = await put(room, "ana", {"kinds": {}, "more": "x" * 33_000})
    assert answer.status == 413, answer
    assert (await get(room, "ana"))["kinds"] == LONGEST["kinds"]


@pytest.mark.parametrize("body,code,field", [
    (b"", "bad_request", ...), (b"[]", "bad_request", ...), (b"null", "bad_request", ...), (b'{"kinds":', "bad_request", ...),
    (b'{"preview":true}x', "bad_request", ...), (b"\xff{}", "bad_request", ...),
    ({"kinds": []}, "bad_request", "kinds"), ({"kinds": {"a": 1}}, "bad_request", "kinds.a"),
    ({"kinds": {"a": {"push": 1}}}, "bad_request", "kinds.a.push"), ({"kinds": {"": {}}}, "validation_failed", "kinds"),
    ({"kinds": {"a b": {}}}, "validation_failed", "kinds"), ({"kinds": {"k" * 65: {}}}, "validation_failed", "kinds"),
    ({"kinds": {"é": {}}}, "validation_failed", "kinds"),
    ({"messages": "all"}, "bad_request", "messages"), ({"messages": {"direct": True}}, "bad_request", "messages.direct"),
    ({"messages": {"direct": "some"}}, "validation_failed", "messages.direct"),
    ({"messages": {"groups": "mentions"}}, "validation_failed", "messages.groups"),
    ({"preview": "no"}, "bad_request", "preview"), ({"whileBusy": "drop"}, "validation_failed", "whileBusy"),
    ({"whileBusy": 1}, "bad_request", "whileBusy"), ({"quiet": []}, "bad_request", "quiet"),
    ({"quiet": {}}, "bad_request", "quiet.timezone"), ({"quiet": ALWAYS | {"timezone": None}}, "bad_request", "quiet.timezone"),
    ({"quiet": ALWAYS | {"from": None}}, "bad_request", "quiet.from"), ({"quiet": ALWAYS | {"to": None}}, "bad_request", "quiet.to"),
    *[({"quiet": ALWAYS | {"timezone": name}}, "validation_failed", "quiet.timezone") for name in (
        "", "Nowhere/Land", "europe/berlin", "../../etc/passwd", "Europe/Berlin/", "/Europe/Berlin", "posix/Europe/Berlin",
        "Europe", "zone.tab", "CET-1CEST", "x" * 5_000)],
    *[({"quiet": ALWAYS | {"from": time}}, "validation_failed", "quiet.from") for time in ("24:00", "7:00", "07:60", "0700", "", "07:00:00")],
    ({"quiet": ALWAYS | {"to": 700}}, "bad_request", "quiet.to"), ({"quiet": ALWAYS | {"days": []}}, "validation_failed", "quiet.days"),
    ({"quiet": ALWAYS | {"days": [0]}}, "validation_failed", "quiet.days"), ({"quiet": ALWAYS | {"days": [8]}}, "validation_failed", "quiet.days"),
    ({"quiet": ALWAYS | {"days": [1.5]}}, "bad_request", "quiet.days"), ({"quiet": ALWAYS | {"days": "all"}}, "bad_request", "quiet.days"),
    ({"quiet": ALWAYS | {"allow": ["all"]}}, "validation_failed", "quiet.allow"),
    ({"quiet": ALWAYS | {"allow": "urgent"}}, "bad_request", "quiet.allow"),
], ids=lambda value: repr(value)[:40])
async def test_what_is_no_setting_is_refused_and_changes_nothing(room, body, code, field):
    before = await settle(room, "ana", preview=False)
    answer = await put(room, "ana", body)
    assert answer.status == (422 if code == "validation_failed" else 400) and answer.json["code"] == code, answer
    assert field is ... or answer.json["field"] == field, answer
    assert await get(room, "ana") == before


async def test_they_are_the_users_own(room):
    for method in ("GET", "PUT"):
        answer = await CheckedAPI(room.server).request(method, PLACE, {} if method == "PUT" else None, token=room.backend)
        assert answer.status == 403, answer
        assert (await CheckedAPI(room.server).request(method, PLACE, {} if method == "PUT" else None)).status == 401


async def test_a_change_reaches_all_devices_and_nobody_else(room):
    phone, desktop, bob = await room.come("ana", "phone"), await room.come("ana", "desktop"), await room.come("bob")
    new = await settle(room, "ana", preview=False)
    for client in (phone, desktop):
        assert (await client.hear("ownNotificationSettings"))["settings"] == new
    newer = await settle(room, "ana", whileBusy="hold")
    for client in (phone, desktop):
        await client.hear("ownNotificationSettings", settings=newer)
    late = await room.come("ana", "tablet")
    await asyncio.sleep(0.3)
    for client in (late, bob):
        assert not [message for message in client.log if message["type"] == "ownNotificationSettings"]


async def test_settings_that_change_nothing_are_answered_and_reach_nobody(room):
    phone = await room.come("ana")
    quiet = {"timezone": "Europe/Berlin", "from": "22:00", "to": "07:00"}
    first = await settle(room, "ana", quiet=quiet, kinds={"b": {"push": False}, "a": {}})
    for same in ({"quiet": quiet | {"days": [7, 6, 5, 4, 3, 2, 1]}, "kinds": {"a": {}, "b": {"push": False}}}, first):
        assert await settle(room, "ana", **same) == first
    other = await settle(room, "ana")
    await phone.hear("ownNotificationSettings", settings=other)
    # The other events would have come before.
    told = [message["settings"]["version"] for message in phone.log if message["type"] == "ownNotificationSettings"]
    assert set(told) <= {first["version"], other["version"]} and len(told) <= 2, told


@pytest.mark.parametrize("place,body,burst", [
    (PLACE, lambda number: {"preview": number % 2 == 0}, 20),
    (DEVICE, lambda number: {"pushToken": f"t{number}", "platform": "fcm"}, 60)], ids=["settings", "devices"])
async def test_changes_have_a_rate_for_each_user(start, place, body, burst):
    # A server with more shards has as many buckets.
    room = Room(start(SETTINGS, shards=1))
    for number in range(burst + 100):
        answer = await CheckedAPI(room.server).request("PUT", place, body(number), token=room.token("ana"))
        if answer.status == 429:
            break
    assert number >= burst and answer.status == 429, (number, answer)
    assert answer.json["code"] == "rate_limited" and 0 < answer.json["retryAfter"] <= 10_000, answer
    answer = await CheckedAPI(room.server).request("PUT", place, body(0), token=room.token("bob"))
    assert answer.status in (200, 204), answer


async def test_the_kinds_are_announced_with_names_for_people(room):
    answer = (await room.api.request("GET", "/v1/server")).json["notificationSettings"]
    assert answer == {"kinds": [{"kind": "order", "name": "Orders & more"}, {"kind": "news", "name": "news"}], "quietHours": True}


@pytest.mark.parametrize("kinds,reason", [
    ([{"kind": "a"}, {"kind": "a"}], "names a kind twice"), ([{"kind": "a b"}], "printable ASCII"), ([{"kind": "a", "name": " "}], "visible"),
    ([{"kind": f"k{number}"} for number in range(101)], "more than 100"),
])
def test_kinds_that_cannot_be_are_refused_at_the_start(tmp_path, kinds, reason):
    file = tmp_path / "presenced.yaml"
    file.write_text(json.dumps({"notifications": {"kinds": kinds}}))
    done = run("serve", "--config", str(file))
    assert done.returncode == 78 and "notifications.kinds" in done.stderr and reason in done.stderr, done.stderr


# Effects


async def test_a_kind_is_listed_and_pushed_as_its_user_wishes(start, receiver):
    room = Room(start(own_sender(receiver)))
    bob = await away(room, "bob", {"pushToken": "phone", "platform": "fcm"})
    await settle(room, "bob", kinds={"listed": {"push": False}, "pushed": {"inbox": False}, "neither": {"inbox": False, "push": False}})
    for kind in ("listed", "neither", "pushed", "both"):
        await notify(room, bob.user, id=kind, kind=kind, title=kind, body="text of " + kind)
    assert [told["notification"]["id"] for told in await dues(receiver, 2)] == ["pushed", "both"]
    assert due(receiver)[0]["text"] == "text of pushed"
    # Again: nothing is stored or pushed twice.
    for kind in ("listed", "neither", "pushed", "both"):
        await notify(room, bob.user, id=kind, kind=kind, title=kind)
    bob = await room.come("bob")
    held = await inbox(bob)
    assert {item["id"] for item in held["items"]} == {"listed", "both"} and held["unread"] == held["unseen"] == 2
    await asyncio.sleep(1)
    assert len(due(receiver)) == 2
    created = {call.data["notification"]["id"] for call in receiver.calls if call.json["type"] == "notification.created"}
    assert created == {"listed", "both"}


async def test_messages_of_a_sort_are_not_pushed(start, receiver):
    room = Room(start(own_sender(receiver)))
    ana, bob = await room.come("ana"), await away(room, "bob")
    await settle(room, "bob", messages={"direct": "none"})
    direct, trip = (await talk(ana, bob))["id"], (await group(ana, bob))["id"]
    await say(ana, direct, "direct")
    await say(ana, trip, "group")
    assert [told["text"] for told in await dues(receiver)] == ["group"]
    await settle(room, "bob", messages={"groups": "none"})
    await say(ana, direct, "direct again")
    assert [told["text"] for told in await dues(receiver, 2)] == ["group", "direct again"]


async def test_without_a_preview_no_service_learns_a_text(start, services, tmp_path):
    receiver = Receiver(tmp_path)
    try:
        room = Room(start(services.settings(**{"webhooks": [receiver.endpoint("push.due")]})))
        ana = await room.come("ana")
        await ana.did("updateProfile", changes={"displayName": "Ana"})
        people = [await away(room, "bob", {"pushToken": "b", "platform": "fcm"}),
                  await away(room, "cy", {"pushToken": APNS_TOKEN, "platform": "apns"})]
        for name in ("bob", "cy"):
            await settle(room, name, preview=False)
        for person in people:
            await say(ana, (await talk(ana, person))["id"], "a secret")
        await notify(room, *people, id="order", title="A secret order", body="a secret")
        await eventually(lambda: len(services.pushes) == 4 and len(receiver.calls) == 4, "all pushes", within=LONG)
        for told in [push.json for push in services.pushes] + [call.data for call in receiver.calls]:
            assert "secret" not in str(told) and "Ana" not in str(told), told
        assert all("badge" in call.data and call.data["title"] == call.data["text"] == "" for call in receiver.calls)
        assert {push.text for push in services.pushes} == {"New message", "New notification"}
    finally:
        receiver.close()


async def test_without_a_preview_a_browser_gets_ids_and_counts(start, browsers):
    room, browser = Room(start(browsers.settings())), Subscriber(browsers)
    ana, bob = await room.come("ana"), await away(room, "bob", browser.device)
    await settle(room, "bob", preview=False)
    id = (await talk(ana, bob))["id"]
    await say(ana, id, "a secret")
    await eventually(lambda: browsers.pushes, "a push", within=LONG)
    assert browsers.pushes[0].json == {"user": bob.user, "conversation": id, "seq": 1, "title": "", "text": "", "badge": 1}


async def test_quiet_hours_hold_all_but_what_is_urgent_and_end_with_one_summary(start, services, tmp_path):
    receiver = Receiver(tmp_path)
    try:
        room = Room(start(services.settings(**{"webhooks": [receiver.endpoint("push.due")]})))
        ana = await room.come("ana")
        people = {"bob": await away(room, "bob", {"pushToken": "b", "platform": "fcm"}),
                  "cy": await away(room, "cy", {"pushToken": APNS_TOKEN, "platform": "apns"})}
        for name, person in people.items():
            await settle(room, name, quiet=ALWAYS | {"allow": ["urgent"]})
            await say(ana, (await talk(ana, person))["id"], "held")
            await say(ana, (await group(ana, person))["id"], "held")
        await notify(room, *people.values(), id="held", kind="order", urgency="normal")
        await notify(room, *people.values(), id="also", kind="order")
        await notify(room, *people.values(), id="fire", kind="order", urgency="high", title="Fire", push="always")
        await eventually(lambda: len(services.pushes) == 2, "what is urgent", within=LONG)
        await asyncio.sleep(2)
        assert {push.json.get("message", push.json).get("data", push.json["notification"] if "aps" in push.json else {}).get(
            "notification", "fire") for push in services.pushes} == {"fire"} and len(due(receiver)) == 2
        # The list does not wait.
        bob = await room.come("bob")
        assert {item["id"] for item in (await inbox(bob))["items"]} == {"held", "also", "fire"}
        await bob.close()
        await asyncio.sleep(1.5)
        for name in people:
            await settle(room, name)
        await eventually(lambda: len(services.pushes) == 4, "summaries", within=LONG)
        fcm, apns = services.of("fcm")[1].json["message"], services.of("apns")[1]
        assert fcm["data"] == {"user": people["bob"].user, "summary": "4"}, fcm
        assert fcm["notification"] == {"title": "", "body": "New messages and notifications"}
        assert fcm["android"]["notification"] == {"tag": "summary", "notification_count": 2}
        assert apns.json["summary"] == {"conversations": 2, "notifications": 2} and apns.json["user"] == people["cy"].user
        assert apns.json["aps"]["badge"] == 2 and apns.headers["apns-collapse-id"] == "summary"
        told = due(receiver)[2:]
        assert len(told) == 2 and all(len(each["summary"]["conversations"]) == 2 for each in told)
        assert all(each["title"] == each["text"] == "" and "conversation" not in each and "notification" not in each for each in told)
        # It stands for the push of each conversation.
        for each in told:
            await say(ana, each["summary"]["conversations"][0], "more")
        await asyncio.sleep(2)
        assert len(services.pushes) == 4 and not services.wrong
    finally:
        receiver.close()


async def test_a_browser_gets_a_summary(start, browsers):
    room, browser = Room(start(browsers.settings())), Subscriber(browsers)
    bob = await away(room, "bob", browser.device)
    await settle(room, "bob", quiet=ALWAYS)
    for id in ("one", "two", "three"):
        await notify(room, bob.user, id=id)
    await asyncio.sleep(1)
    assert not browsers.pushes
    await settle(room, "bob")
    await eventually(lambda: browsers.pushes, "a push", within=LONG)
    assert browsers.pushes[0].json == {
        "user": bob.user, "summary": {"conversations": 0, "notifications": 3}, "seq": 0, "title": "", "text": "", "badge": 0}


async def test_what_was_read_meanwhile_is_not_pushed_and_one_that_is_left_is_as_always(start, receiver):
    room = Room(start(own_sender(receiver)))
    bob = await away(room, "bob", {"pushToken": "phone", "platform": "fcm"})
    await settle(room, "bob", quiet=ALWAYS)
    for id in ("one", "two"):
        await notify(room, bob.user, id=id, title=id, body="text of " + id)
    bob = await room.come("bob")
    one = [item["seq"] for item in (await inbox(bob))["items"] if item["id"] == "one"]
    await mark(bob, read=one)
    await bob.close()
    await asyncio.sleep(2)
    assert not due(receiver)
    await settle(room, "bob")
    told, = await dues(receiver)
    assert told["notification"]["id"] == "two" and told["text"] == "text of two"


async def test_held_pushes_survive_the_server_and_come_when_quiet_hours_end(start, receiver):
    server = start(own_sender(receiver), redis=start.redis())
    room = Room(server)
    ana, bob = await room.come("ana"), await away(room, "bob", {"pushToken": "phone", "platform": "fcm"})
    # They end with the next minute, or the one after.
    end = (int(time.time()) // 60 + (1 if time.time() % 60 < 45 else 2)) * 60
    clock = lambda seconds: time.strftime("%H:%M", time.gmtime(seconds))
    await settle(room, "bob", quiet={"timezone": "UTC", "from": clock(end - 3_600), "to": clock(end)})
    await say(ana, (await talk(ana, bob))["id"], "held")
    await asyncio.sleep(2)
    assert not due(receiver)
    server.kill()
    room.leave()
    server.start()
    await eventually(lambda: due(receiver), "the push", within=end - time.time() + LONG)
    assert end - 1 <= receiver.calls[0].at < end + 15 and due(receiver)[0]["text"] == "held"
    await asyncio.sleep(1)
    assert len(due(receiver)) == 1


async def test_while_busy_pushes_wait_until_the_user_is_free(start, receiver):
    room = Room(start(own_sender(receiver)))
    bob = await room.come("bob")
    await settle(room, "bob", whileBusy="hold")
    await bob.status("busy")
    await notify(room, bob.user, id="held", push="always", urgency="high")
    await asyncio.sleep(1.5)
    assert not due(receiver)
    began = time.time()
    await bob.status("auto")
    told, = await dues(receiver)
    assert told["notification"]["id"] == "held" and time.time() - began < 5
    # A user without a session is not busy.
    await bob.status("busy")
    await notify(room, bob.user, id="until-offline", push="always")
    await asyncio.sleep(1)
    assert len(due(receiver)) == 1
    await bob.close()
    assert (await dues(receiver, 2))[1]["notification"]["id"] == "until-offline"


async def test_a_deleted_account_leaves_no_settings_and_an_export_has_them(start):
    server = start(SETTINGS | {"accounts.enabled": True, "webhooks": []}, redis=start.redis())
    accounts = Accounts(server)
    ana = await accounts.sign_up()
    answer = await ana.call("PUT", PLACE, {"quiet": {"timezone": "Pacific/Chatham", "from": "22:00", "to": "07:00"}})
    assert answer.status == 200, answer
    exported = await ana.call("GET", "/v1/me/export")
    assert exported.status == 200
    lines = [line for line in exported.body.splitlines() if line.startswith('{"type":"notificationSettings"')]
    assert json.loads(lines[0])["notificationSettings"] == answer.json
    gone = await ana.call("DELETE", "/v1/me", {"password": "correct horse battery"})
    assert gone.status == 204, gone
    for key in server.redis.command("KEYS", "*").splitlines():
        if server.redis.command("TYPE", key).strip() == "hash":
            assert "Chatham" not in server.redis.command("HGETALL", key), key
