"""Notifications: sent to all devices of a user and to no one else, each at least once, with counts that agree."""

import asyncio
from http.client import HTTPException

import pytest

from support.accounts import ON, Accounts
from support.api import API
from support.inboxes import agree, counts, hears, inbox, mark, newest, notify, pages, post, titles, told
from support.patience import PATIENCE, eventually
from support.room import Room
from support.raw import text
from support.rules import is_time
from support.talks import follow, group, say, talk

SETTINGS = {"linger": 5_000, "lease": 6_000}


async def devices(room, person="ana"):
    return await room.come(person, "phone"), await room.come(person, "web")


# Sending


def nested(depth):
    """An object with this many levels."""
    return {"x": nested(depth - 1)} if depth > 1 else {}


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


async def test_nothing_that_is_told_is_nested_deeper_than_clients_need_read(room):
    phone = await room.come("ana", "phone")
    await inbox(phone)
    await notify(room, phone.user, data=nested(16))
    told = await phone.hear("notification")
    assert told["notification"]["data"] == nested(16)
    tablet = await room.come("ana", "tablet")
    await inbox(tablet)
    bob = await room.come("bob")
    made = (await talk(tablet, bob, metadata=nested(16)))["metadata"]
    await tablet.did("subscribe", conversationList=True)
    page = await tablet.did("getNotifications")
    assert page["items"][0]["data"] == made == nested(16)
    # Deeper data is refused, although the request itself may be as deep.
    for levels in (17, 28, 31):
        body = {"users": [phone.user], "id": "deep", "kind": "x", "title": "x", "data": nested(levels)}
        answer = await room.api.request("POST", "/v1/notifications", body, token=room.backend)
        assert answer.status == 422 and answer.json["field"] == "data", (levels, answer)
    await phone.did("getNotifications")
    assert max(map(depth, phone.log + tablet.log)) <= 32


async def test_a_notification_comes_to_all_devices_of_its_user_and_to_nobody_else(room):
    phone, web = await devices(room)
    bob = await room.come("bob")
    for client in (phone, web, bob):
        assert await inbox(client) == {"version": 0, "unseen": 0, "unread": 0, "seen": 0, "first": 1, "items": []}
    await bob.subscribe(phone)
    data = {"order": 77, "deep": [1, {"a": "\n\"é"}]}
    await notify(room, phone.user, id="order-77", kind="order", title="Shipped", body="It is\non its way", data=data)
    for client in (phone, web):
        event = (await hears(client, 1))[0]
        assert set(event) == {"type", "notification", "version", "unseen", "unread", "seen", "first"}
        item = event["notification"]
        assert is_time(item.pop("at")) and item == {
            "seq": 1, "id": "order-77", "kind": "order", "title": "Shipped", "body": "It is\non its way", "data": data}
        assert (event["unseen"], event["unread"]) == (1, 1) and event["version"] > 0
    await bob.get(phone)
    assert not told(bob) and (await inbox(bob))["items"] == []
    assert phone.user not in str([event for event in bob.log if "notification" in event["type"]])


async def test_what_was_not_seen_is_told_again_and_what_is_read_says_so(room):
    phone, web = await devices(room)
    for number in range(3):
        await notify(room, phone.user, title=f"{number}")
    held = await inbox(phone)
    assert [item["title"] for item in held["items"]] == ["2", "1", "0"]
    assert (held["unseen"], held["unread"], held["seen"]) == (3, 3, 0)
    assert not any("read" in item for item in held["items"])
    seqs = [item["seq"] for item in held["items"]]
    answer = await mark(phone, seen=seqs[1], read=[seqs[2]])
    assert set(answer) == {"type", "id", "version", "unseen", "unread", "seen", "first"}
    assert (answer["unseen"], answer["unread"], answer["seen"]) == (1, 2, seqs[1])
    again = await inbox(web)
    assert [item.get("read") for item in again["items"]] == [None, None, True] and counts(again) == counts(answer)


async def test_the_seen_mark_only_moves_forward_and_not_beyond_the_last(room):
    phone, _ = await devices(room)
    for _ in range(3):
        await notify(room, phone.user)
    before = await mark(phone, seen=2)
    assert before["unseen"] == 1
    assert counts(await mark(phone, seen=1)) == counts(before)
    assert counts(await mark(phone, seen=0, read=[], archived=[])) == counts(before)
    after = await mark(phone, seen=9_000_000)
    assert after["unseen"] == 0 and after["seen"] == 3 and after["version"] > before["version"]
    await notify(room, phone.user)
    assert (await inbox(phone))["unseen"] == 1


async def test_older_ones_are_read_in_pages(room):
    phone, web = await devices(room)
    for number in range(1, 81):
        await notify(room, phone.user, title=f"{number}")
    await mark(phone, seen=80, read=[5])
    await mark(phone, archived=[9, 75])
    held = await inbox(web)
    assert [item["seq"] for item in held["items"]] == [80, 79, 78, 77, 76] + list(range(74, 29, -1))
    page = await pages(web, before=30, limit=20)
    assert [item["seq"] for item in page["items"]] == list(range(29, 9, -1)) and counts(page) == counts(held)
    page = await pages(web, before=10)
    assert [item["seq"] for item in page["items"]] == [8, 7, 6, 5, 4, 3, 2, 1] and page["first"] == 1
    assert [item["seq"] for item in page["items"] if "read" in item] == [5]
    assert (await pages(web, before=1))["items"] == []
    newest_page = await pages(web)
    assert newest_page["items"] == held["items"]
    assert (await pages(web, before=2**53 - 1, limit=1))["items"] == held["items"][:1]
    assert (await pages(web, limit=2))["items"] == held["items"][:2]


async def test_a_page_that_would_be_too_long_has_fewer(start):
    room = Room(start(SETTINGS | {"max_server_message_bytes": 16_384}))
    ana = await room.come("ana")
    for number in range(12):
        await notify(room, ana.user, title=f"{number}", data={"x": "y" * 2_000})
    seqs, before = [], 2**53 - 1
    while before > 1:
        page = await pages(ana, before=before)
        assert 1 <= len(page["items"]) < 12
        seqs += [item["seq"] for item in page["items"]]
        before = seqs[-1]
    assert seqs == list(range(12, 0, -1))


@pytest.mark.parametrize("code,field,members", [
    ("bad_request", "before", {"before": "1"}), ("validation_failed", "before", {"before": 0}),
    ("bad_request", "limit", {"limit": 1.5}), ("validation_failed", "limit", {"limit": 0}),
    ("validation_failed", "limit", {"limit": 51}),
], ids=lambda value: str(value)[:30])
async def test_pages_that_cannot_be_are_refused(room, code, field, members):
    ana = await room.come("ana")
    assert (await ana.refused(code, "getNotifications", **members))["field"] == field
    assert (await pages(ana, limit=50))["items"] == []


async def test_marks_come_to_the_other_devices_and_not_to_the_one_that_made_them(room):
    phone, web = await devices(room)
    for _ in range(4):
        await notify(room, phone.user)
    await inbox(phone), await inbox(web)
    answer = await mark(phone, seen=4, read=[1, 2, 99], archived=[3])
    event = await web.hear("notificationCounts")
    assert "id" not in event and counts(event) == counts(answer)
    assert sorted(event["read"]) == [1, 2] and event["archived"] == [3]
    assert (answer["unseen"], answer["unread"]) == (0, 1)
    await notify(room, phone.user)
    await hears(phone, 1), await hears(web, 1)
    assert [message for message in phone.log if message["type"] == "notificationCounts"] == [answer]
    # A change without effect is not published.
    assert counts(await mark(web, seen=3, read=[1], archived=[3])) == newest(phone)
    await mark(phone, read=[4])
    await agree(phone, web, unread=1)
    assert len([message for message in phone.log if message["type"] == "notificationCounts"]) == 2


async def test_what_is_archived_counts_neither_as_unseen_nor_as_unread_and_is_not_shown(room):
    phone, web = await devices(room)
    for number in range(3):
        await notify(room, phone.user, id=f"n{number}")
    answer = await mark(phone, archived=[2])
    assert (answer["unseen"], answer["unread"]) == (2, 2)
    assert [item["id"] for item in (await inbox(web))["items"]] == ["n2", "n0"]
    # Its id is still known.
    await notify(room, phone.user, id="n1")
    assert counts(await inbox(phone)) == counts(answer)
    assert (await mark(phone, read=[2]))["version"] == answer["version"]


async def test_a_subscription_shows_the_newest_50_and_all_that_are_unseen(room):
    phone, web = await devices(room)
    for number in range(70):
        await notify(room, phone.user, title=f"{number}")
    held = await inbox(phone)
    assert [item["seq"] for item in held["items"]] == list(range(70, 0, -1)) and held["unseen"] == 70
    await mark(phone, seen=10, archived=[70, 5])
    assert [item["seq"] for item in (await inbox(web))["items"]] == list(range(69, 10, -1))
    await mark(phone, seen=70)
    assert [item["seq"] for item in (await inbox(web))["items"]] == list(range(69, 19, -1))


async def test_long_answers_come_in_parts(room):
    phone, web = await devices(room)
    for number in range(80):
        await notify(room, phone.user, title="é" * 200, body="x" * 1_000, data={"x": "y" * 2_000})
    held = await inbox(phone)
    parts = [message for message in phone.log if message["type"] == "subscribed"]
    assert len(parts) > 1 and [part.get("more", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    assert all(counts(part["notifications"]) == counts(held) and part["users"] == [] for part in parts)
    assert [item["seq"] for item in held["items"]] == list(range(80, 0, -1))


async def test_unsubscribing_and_subscribing_at_once_is_subscribed(room):
    """The first waits until an answer arrives, and the second is read in that time."""
    phone, web = await devices(room)
    await inbox(phone)
    begun = [
        phone.begin("markNotifications", seen=1), phone.begin("unsubscribe", notifications=True),
        phone.begin("subscribe", users=[], notifications=True),
    ]
    assert [reply["type"] for reply in await asyncio.gather(*begun)] == ["notificationCounts", "unsubscribed", "subscribed"]
    await notify(room, phone.user, id="n1")
    await eventually(lambda: [event["notification"]["id"] for event in phone.events("notification")] == ["n1"], "it is told")


async def test_unsubscribing_ends_it(room):
    phone, web = await devices(room)
    await inbox(phone), await inbox(web)
    assert (await phone.did("unsubscribe", notifications=True))["type"] == "unsubscribed"
    await notify(room, phone.user)
    await hears(web, 1)
    await phone.get(web)
    assert not told(phone)
    assert (await inbox(phone))["unread"] == 1


async def test_the_list_of_conversations_can_be_left_too(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    assert (await ana.did("subscribe", conversationList=True))["conversationList"] == []
    assert (await ana.did("unsubscribe", conversationList=True))["type"] == "unsubscribed"
    await bob.did("createConversation", participants=[ana.user])
    await ana.get(bob)
    assert not [event for event in ana.log if event["type"] == "conversation"]
    assert len((await ana.did("subscribe", conversationList=True))["conversationList"]) == 1


# Collapsing and repeating


async def test_the_same_id_changes_nothing_for_who_has_it(room):
    phone, web = await devices(room)
    bob = await room.come("bob")
    await inbox(phone), await inbox(bob)
    await notify(room, phone.user, id="once", title="first")
    await notify(room, phone.user, bob.user, id="once", title="second")
    await hears(phone, 1), await hears(bob, 1)
    assert titles(phone) == ["first"] and titles(bob) == ["second"]
    answers = await asyncio.gather(*[post(room, [phone, bob], id="at-once") for _ in range(10)])
    assert {answer.status for answer in answers} == {202}
    assert len((await inbox(web))["items"]) == 2 and len((await inbox(bob))["items"]) == 2
    assert (await post(room, [])).json == {"accepted": 0}
    # Named twice is named once.
    assert (await post(room, [bob, bob, phone, bob])).json == {"accepted": 2}


async def test_a_collapse_replaces_what_is_unread_and_says_so(room):
    phone, web = await devices(room)
    await inbox(phone), await inbox(web)
    await notify(room, phone.user, collapse="build-7", title="running")
    await notify(room, phone.user, title="else")
    await notify(room, phone.user, collapse="build-7", title="passed")
    for client in (phone, web):
        event = (await hears(client, 3))[2]
        assert event["replaces"] == [1] and event["unread"] == 2 and event["first"] == 2
        assert "replaces" not in told(client)[1]
    assert [item["title"] for item in (await inbox(web))["items"]] == ["passed", "else"]
    # Seen is not read.
    await mark(phone, seen=3)
    await notify(room, phone.user, collapse="build-7", title="failed")
    assert (await hears(phone, 4))[3]["replaces"] == [3]
    await mark(phone, read=[4])
    await notify(room, phone.user, collapse="build-7", title="again")
    assert "replaces" not in (await hears(phone, 5))[4]
    assert [item["title"] for item in (await inbox(web))["items"]] == ["again", "failed", "else"]


# Many users, limits


async def test_a_request_names_up_to_1000_users(room):
    users = [room.name(f"u{number}-" + "x" * 100) for number in range(999)]
    phone = await room.come("ana")
    await inbox(phone)
    await notify(room, phone.user, *users, id="all", body="y" * 1000, data={"x": "z" * 2000})
    await hears(phone, 1)
    for user in (users[0], users[500], users[998]):
        client = await room.come(user.removesuffix("-" + room.suffix))
        assert [item["id"] for item in (await inbox(client))["items"]] == ["all"]
    answer = await post(room, users + [phone.user, "one-more"])
    assert answer.status == 422 and answer.json["code"] == "too_many" and answer.json["field"] == "users"


@pytest.mark.parametrize("status,code,field,members", [
    (400, "bad_request", "users", {"users": ...}), (400, "bad_request", "users", {"users": "ana"}),
    (400, "bad_request", "users", {"users": [7]}), (400, "bad_request", "users", {"users": {}}),
    (422, "validation_failed", "users", {"users": ["a b"]}), (422, "validation_failed", "users", {"users": ["x" * 129]}),
    (400, "bad_request", "id", {"id": ...}), (400, "bad_request", "id", {"id": 7}),
    (422, "validation_failed", "id", {"id": ""}), (422, "validation_failed", "id", {"id": "x" * 129}),
    (400, "bad_request", "kind", {"kind": ...}), (422, "validation_failed", "kind", {"kind": "x" * 65}),
    (400, "bad_request", "title", {"title": ...}), (400, "bad_request", "title", {"title": ["x"]}),
    (422, "validation_failed", "title", {"title": ""}), (422, "validation_failed", "title", {"title": "x" * 201}),
    (422, "validation_failed", "title", {"title": "a\nb"}), (422, "validation_failed", "title", {"title": " "}),
    (422, "validation_failed", "body", {"body": "x" * 1_001}), (422, "validation_failed", "body", {"body": "\0"}),
    (400, "bad_request", "data", {"data": []}), (400, "bad_request", "data", {"data": "x"}),
    (422, "validation_failed", "data", {"data": {"x": "y" * 2_041}}), (422, "validation_failed", "data", {"data": nested(17)}),
    (422, "validation_failed", "collapse", {"collapse": ""}), (400, "bad_request", "collapse", {"collapse": 1}),
], ids=lambda value: str(value)[:30])
async def test_what_cannot_be_posted_is_refused(room, status, code, field, members):
    answer = await post(room, ["ana"], **members)
    assert (answer.status, answer.json["code"], answer.json.get("field")) == (status, code, field), answer


async def test_the_largest_that_may_be_comes_whole(room):
    phone = await room.come("ana")
    longest = {"id": "i" * 128, "kind": "k" * 64, "title": "é" * 200, "body": "ü" * 1_000, "data": {"x": "y" * 2_040},
               "collapse": "c" * 128}
    await notify(room, phone.user, **longest)
    item, = (await inbox(phone))["items"]
    assert {name: item[name] for name in longest if name != "collapse"} == {
        name: value for name, value in longest.items() if name != "collapse"}
    await notify(room, phone.user, body="", data={})
    assert (await inbox(phone))["items"][0].keys() == {"seq", "id", "kind", "title", "data", "at"}


async def test_bodies_are_bounded_and_only_backends_post(room):
    ana = await room.come("ana")
    answer = await room.api.request("POST", "/v1/notifications", b'{"x":"' + b"y" * 1_048_576 + b'"}', token=room.backend)
    assert answer.status == 413 and answer.json["code"] == "too_large", answer
    answer = await room.api.request("POST", "/v1/notifications", {"users": [ana.user]}, token=room.token("ana"))
    assert answer.status == 403, answer
    assert (await room.api.request("POST", "/v1/notifications", {})).status == 401
    for body in (b"", b"[]", b"{", b'{"users":["a"'):
        answer = await room.api.request("POST", "/v1/notifications", body, token=room.backend)
        assert answer.status == 400 and answer.json["code"] == "bad_request", answer


@pytest.mark.parametrize("code,field,members", [
    ("bad_request", "seen", {}), ("bad_request", "seen", {"seen": "1"}), ("bad_request", "seen", {"seen": 1.5}),
    ("validation_failed", "seen", {"seen": -1}), ("bad_request", "read", {"read": 1}),
    ("bad_request", "read", {"read": ["1"]}), ("validation_failed", "read", {"read": [0]}),
    ("validation_failed", "archived", {"archived": [-1]}), ("bad_request", "archived", {"archived": {}}),
    ("too_many", "archived", {"read": [1], "archived": list(range(1, 1_001))}),
], ids=lambda value: str(value)[:30])
async def test_marks_that_cannot_be_are_refused(room, code, field, members):
    ana = await room.come("ana")
    assert (await ana.refused(code, "markNotifications", **members))["field"] == field


async def test_subscriptions_that_cannot_be_are_refused(room):
    ana = await room.come("ana")
    for wrong in ("yes", 1):
        error = await ana.refused("bad_request", "subscribe", notifications=wrong)
        assert error["field"] == "notifications"
        await ana.refused("bad_request", "unsubscribe", notifications=wrong)
        await ana.refused("bad_request", "unsubscribe", conversationList=wrong)
    await ana.refused("bad_request", "subscribe", notifications=False)
    await ana.refused("bad_request", "unsubscribe", notifications=False)


async def test_where_it_is_switched_off_nobody_knows_it(start):
    room = Room(start(SETTINGS | {"disabledFeatures": ["notifications"]}))
    ana = await room.come("ana")
    await ana.refused("unknown_type", "subscribe", notifications=True)
    await ana.refused("unknown_type", "markNotifications", seen=1)
    await ana.refused("unknown_type", "getNotifications")
    assert (await room.api.request("POST", "/v1/notifications", {}, token=room.backend)).status == 404


async def test_only_so_many_are_kept_and_for_so_long(start):
    redis = start.redis()
    room = Room(start(SETTINGS | {"notifications.keep": 5}, redis=redis))
    phone, web = await devices(room)
    await inbox(phone)
    for number in range(8):
        await notify(room, phone.user, title=f"{number}")
    event = (await hears(phone, 8))[7]
    assert (event["unseen"], event["unread"], event["first"]) == (5, 5, 4)
    held = await inbox(web)
    assert [item["title"] for item in held["items"]] == ["7", "6", "5", "4", "3"] and counts(held) == newest(phone)
    key = redis.command("KEYS", "*:notifications:*").strip()
    assert 0 < int(redis.command("PTTL", key)) <= 30 * 86_400_000
    # As if none had arrived for this long.
    redis.command("DEL", key)
    gone = await inbox(web)
    assert gone["items"] == [] and (gone["unseen"], gone["unread"], gone["first"]) == (0, 0, 9)
    assert gone["version"] > held["version"]
    await agree(phone, web, unread=0)
    await notify(room, phone.user, title="next")
    assert (await hears(phone, 9))[8]["notification"]["seq"] == 9


# Slow and away


async def test_a_background_client_hears_of_it_like_any_other(room):
    phone, web = await devices(room)
    await inbox(phone)
    await phone.activity("background")
    await notify(room, phone.user, title="now")
    assert [event["notification"]["title"] for event in await hears(phone, 1)] == ["now"]


async def test_a_slow_reader_costs_a_bounded_amount_and_comes_to_the_same(start):
    room = Room(start(SETTINGS | {"write_timeout": 60_000, "requests_per_second": 0, "user_requests_per_second": 0},
                      shards=1))
    web = await room.come("ana", "web")
    await inbox(web)
    slow = await room.raw("ana", receive_buffer=4096)
    await slow.write(text({"type": "subscribe", "id": 2, "notifications": True}))
    while (await slow.read_message())["type"] != "subscribed":
        pass
    slow.stop_reading()
    data = {"x": "y" * 2_000}
    sent = 0
    while (await room.api.metric("notification_bytes")) == 0:
        # So few that they are seen before they are too many.
        await asyncio.gather(*[notify(room, web.user, body="z" * 1_000, data=data) for _ in range(5)])
        sent += 5
        assert sent < 20_000
    for _ in range(10):
        await asyncio.gather(*[notify(room, web.user, body="z" * 1_000, data=data) for _ in range(20)])
        sent += 20
        assert await room.api.metric("notification_bytes") <= 70_000
    answer = await mark(web, seen=sent, archived=[sent - 1])
    slow.go_on_reading()
    held = {}
    while True:
        message = await slow.read_message()
        if message["type"] == "notification":
            held[message["notification"]["seq"]] = message["notification"]
        if message["type"] == "notificationCounts" and message["version"] == answer["version"]:
            break
    kept = [item["seq"] for item in (await inbox(web))["items"]]
    assert counts(message) == counts(answer) and message["kept"] == kept
    assert set(kept) <= set(held) and await room.api.metric("notification_bytes") == 0
    assert await room.api.metric("notification_catchups_total") > 0


# Crashes, several servers


async def test_what_was_accepted_outlives_a_crash_and_what_was_not_is_repeated(start):
    room = Room(start(SETTINGS))
    ana = await room.come("ana")
    await inbox(ana)
    users = [ana.user] + [room.name(f"u{number}") for number in range(400)]
    for number in range(5):
        await notify(room, *users, id=f"n{number}")

    async def risky(number):
        try:
            return (await post(room, users, id=f"n{number}")).status
        except (OSError, HTTPException):
            return None
    lost = [asyncio.create_task(risky(number)) for number in range(5, 15)]
    await eventually(lambda: len(told(ana)) > 5, within=PATIENCE, every=0.001, what="one of them")
    room.server.kill()
    await asyncio.gather(*lost)
    room.server.start()
    room.api = API(room.server)
    for number in range(15):
        await notify(room, *users, id=f"n{number}")
    for name in ("ana", "u0", "u399"):
        held = await inbox(await room.come(name))
        assert sorted(item["id"] for item in held["items"]) == sorted(f"n{number}" for number in range(15))
        assert sorted(item["seq"] for item in held["items"]) == list(range(1, 16))
        assert (held["unseen"], held["unread"]) == (15, 15)


async def test_devices_on_two_servers_agree_also_after_a_break(start):
    redis = start.redis()
    one, two = start(SETTINGS, redis=redis), start(SETTINGS, redis=redis)
    room = Room(one)
    phone, web = await room.come("ana", "phone"), await room.come("ana", "web", at=two)
    bob = await room.come("bob", at=two)
    for client in (phone, web, bob):
        await inbox(client)
    for number in range(10):
        await notify(room, phone.user, title=f"{number}")
    await mark(web, seen=4, read=[1, 2], archived=[3])
    await agree(phone, web, unseen=6, unread=7)
    redis.stop()
    try:
        for client in (web, phone):
            await client.hear("stale", within=2 * PATIENCE)
        # Redis may still run it when it resumes: the call reached a shard that still waited for it.
        answer = await post(room, [phone], id="while-away", title="late")
        assert answer.status == 503 and answer.json["retryAfter"] > 0
        await web.refused("unavailable", "markNotifications", seen=9)
    finally:
        redis.go_on()

    async def accepted():
        return (await post(room, [phone], id="while-away", title="late")).status == 202
    await eventually(accepted, within=2 * PATIENCE, what="accepted again")
    await web.hear("live", within=2 * PATIENCE)
    await web.insists("markNotifications", seen=10)
    for client in (phone, web):
        await eventually(lambda: "late" in titles(client), within=2 * PATIENCE, what="late")
    await agree(phone, web, unseen=1, unread=8)
    assert not told(bob)


async def test_a_deleted_account_takes_its_notifications_with_it(start):
    redis = start.redis()
    room = Room(start(SETTINGS | ON, redis=redis))
    eve = await Accounts(room.server).sign_up()
    await notify(room, eve.user)
    assert len(redis.command("KEYS", "*:notification*").split()) == 2
    answer = await room.api.request("DELETE", f"/v1/users/{eve.user}/account", token=room.backend)
    assert answer.status == 204, answer
    assert redis.command("KEYS", "*:notification*").split() == []


async def test_messages_for_people_who_are_away_are_among_their_notifications(start):
    """Decided as for pushes, though there are none; one for each conversation until it is read."""
    room = Room(start(SETTINGS | {"linger": 1_000, "notifications.ofMessages": True}))
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.did("updateProfile", changes={"displayName": "Ana A"})
    there = (await group(ana, bob, name="Trip"))["id"]
    id = (await talk(ana, bob))["id"]
    await bob.close()
    await room.come("watcher")
    for number in range(3):
        await say(ana, id, f"message {number}")
    await say(ana, there, "to all")

    async def held():
        bob = await room.come("bob")
        items = (await inbox(bob))["items"]
        await bob.close()
        return {item["data"]["conversation"]: item for item in items}

    async def both():
        return set(await held()) == {id, there}
    deadline = asyncio.get_running_loop().time() + 2 * PATIENCE
    while not await both():
        assert asyncio.get_running_loop().time() < deadline, await held()
        await asyncio.sleep(0.3)
    found = await held()
    assert found[id]["kind"] == "message" and found[id]["title"] == "Ana A" and found[id]["body"].startswith("message ")
    assert found[there]["title"] == "Trip" and found[there]["body"] == "to all"
    # An online user who reads it gets none.
    bob = await room.come("bob")
    await bob.did("mark", conversation=id, read=3)
    await follow(bob, id)
    await say(ana, id, "read at once")
    await bob.did("mark", conversation=id, read=4)
    assert (await inbox(bob))["unread"] == 2


async def test_a_deleted_messages_notification_goes_and_the_next_message_makes_one(start):
    room = Room(start(SETTINGS | {"linger": 1_000, "notifications.ofMessages": True}))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await bob.close()
    secret = await say(ana, id, "secret")

    async def bodies():
        bob = await room.come("bob")
        items = (await inbox(bob))["items"]
        await bob.close()
        return [item["body"] for item in items]

    async def become(expected):
        deadline = asyncio.get_running_loop().time() + 2 * PATIENCE
        while (held := await bodies()) != expected:
            assert asyncio.get_running_loop().time() < deadline, held
            await asyncio.sleep(0.3)
    await become(["secret"])
    assert (await ana.did("deleteMessage", conversation=id, message=secret["id"]))["type"] == "messageUpdated"
    await become([])
    await say(ana, id, "second")
    await become(["second"])
