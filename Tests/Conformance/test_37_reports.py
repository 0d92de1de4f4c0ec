"""Reports: what users may report, the copies that are kept of it, and the decisions of backends."""

import asyncio
import json
import time

import pytest

from support.accounts import CheckedAPI, refused
from support.app import press, title
from support.patience import eventually
from support.receiver import Receiver
from support.room import Room
from support.rules import is_time
from support.talks import fresh, group, pair, say, talk

SETTINGS = {"linger": 5_000, "lease": 6_000, "console.enabled": True, "reports.keepFor": "1h"}
MISSING = "r1763712000000-none"


async def call(room, method, place, body=None, person=None, token=None):
    token = token or (room.token(person) if person else room.backend)
    return await CheckedAPI(room.server).request(method, place, body, token=token)


async def report(room, person, **members):
    answer = await call(room, "POST", "/v1/reports", {"reason": "spam"} | members, person)
    assert answer.status == 201, answer
    return answer.json["report"]["id"]


async def reports(room, **query):
    text = "&".join(f"{name}={value}" for name, value in query.items())
    answer = await call(room, "GET", "/v1/reports" + (f"?{text}" if text else ""))
    assert answer.status == 200, answer
    return answer.json


async def held(room, id, state="open"):
    found = [each for each in (await reports(room, state=state, limit=100))["reports"] if each["id"] == id]
    return found[0] if found else None


async def decide(room, id, action, **members):
    answer = await call(room, "POST", f"/v1/reports/{id}", {"action": action} | members)
    assert answer.status == 204, answer


@pytest.fixture
def own(start):
    """A server whose reports are those of one test."""
    return Room(start(SETTINGS))


# Reporting


async def test_a_reported_message_is_kept_even_if_it_is_changed_and_deleted_afterwards(own):
    ana, eve, id = await pair(own)
    name = fresh()
    sent = await say(eve, id, "buy “this”\n", name)
    made = await report(own, "ana", conversation=id, message=name, text="She\nalways does")
    await eve.did("editMessage", conversation=id, message=name, text="harmless")
    await eve.did("deleteMessage", conversation=id, message=name)
    found = await held(own, made)
    assert is_time(found.pop("at"))
    assert found == {
        "id": made, "state": "open", "by": ana.user, "user": eve.user, "conversation": id, "reason": "spam",
        "text": "She\nalways does", "message": sent}


async def test_users_and_conversations_can_be_reported_without_a_message(own):
    ana, bob, eve = [await own.come(name) for name in ("ana", "bob", "eve")]
    id = (await group(ana, bob, eve))["id"]
    one = await report(own, "ana", user=eve.user)
    two = await report(own, "ana", conversation=id)
    three = await report(own, "ana", conversation=id, user=eve.user)
    assert len({one, two, three}) == 3
    assert [each["id"] for each in (await reports(own))["reports"]] == [one, two, three]
    found = await held(own, two)
    assert found["conversation"] == id and "user" not in found and "message" not in found


async def test_everything_that_the_reporter_may_not_see_is_the_same_404(own):
    ana, bob, id = await pair(own)
    name = fresh()
    await say(ana, id, "private", name)
    answers = [
        await call(own, "POST", "/v1/reports", {"reason": "spam"} | members, person)
        for person, members in (
            # A stranger, of what there is and what there is not.
            ("eve", {"conversation": id, "message": name}), ("eve", {"conversation": id}),
            ("eve", {"conversation": id, "message": fresh()}), ("eve", {"conversation": own.name("none")}),
            ("eve", {"conversation": own.name("none"), "message": name}),
            # A member, of a message that is not there, or of another user's.
            ("bob", {"conversation": id, "message": fresh()}),
            ("bob", {"conversation": id, "message": name, "user": own.name("eve")}),
            ("bob", {"conversation": id, "user": own.name("eve")}),
        )]
    assert {(answer.status, answer.body) for answer in answers} == {(404, answers[0].body)}
    assert (await reports(own))["reports"] == []


async def test_a_member_who_left_may_not_report_and_a_blocked_one_may(own):
    ana, bob, eve = [await own.come(name) for name in ("ana", "bob", "eve")]
    id = (await group(ana, bob, eve))["id"]
    name = fresh()
    await say(ana, id, "hello", name)
    await eve.did("changeMembers", conversation=id, remove=[eve.user])
    refused(await call(own, "POST", "/v1/reports", {"reason": "x", "conversation": id, "message": name}, "eve"), 404, "not_found")
    await ana.did("block", users=[bob.user])
    await report(own, "bob", conversation=id, message=name)
    await report(own, "bob", user=ana.user)


async def test_the_same_report_again_has_the_same_id_and_stays_as_it_was(own):
    ana, eve, id = await pair(own)
    name = fresh()
    await say(eve, id, "spam", name)
    first = await report(own, "ana", conversation=id, message=name, text="first")
    assert await report(own, "ana", conversation=id, message=name, text="second") == first
    # Several tabs at once; with the sender named, it is the same thing.
    made = await asyncio.gather(*(report(own, "ana", conversation=id, message=name, user=eve.user) for _ in range(5)))
    assert set(made) == {first}
    assert (await held(own, first))["text"] == "first"
    # Another user's report is another one.
    assert await report(own, "cy", user=eve.user) != await report(own, "ana", user=eve.user)


async def test_reports_of_a_user_have_a_rate(own):
    answers = [await call(own, "POST", "/v1/reports", {"reason": "x", "user": f"u{number}"}, "ana") for number in range(12)]
    codes = [answer.status for answer in answers]
    # One of the bucket's ten may have come back meanwhile, on each shard.
    assert codes[:10] == [201] * 10
    if 429 in codes:
        slowed = next(answer for answer in answers if answer.status == 429)
        assert slowed.json["code"] == "rate_limited" and 0 < slowed.json["retryAfter"] <= 360_000
    assert (await call(own, "POST", "/v1/reports", {"reason": "x", "user": "u"}, "bob")).status == 201


async def test_users_report_and_backends_decide(own):
    ana = await own.come("ana")
    made = await report(own, "ana", user="eve")
    refused(await call(own, "GET", "/v1/reports", person="ana"), 403, "forbidden")
    refused(await call(own, "POST", f"/v1/reports/{made}", {"action": "accept"}, "ana"), 403, "forbidden")
    refused(await call(own, "POST", "/v1/reports", {"reason": "x", "user": "eve"}), 403, "forbidden")
    assert (await CheckedAPI(own.server).request("POST", "/v1/reports", {"reason": "x", "user": "eve"})).status == 401
    ban = await call(own, "PUT", f"/v1/users/{ana.user}/ban", {"reason": "x"})
    assert ban.status == 200
    refused(await call(own, "POST", "/v1/reports", {"reason": "x", "user": "eve"}, "ana"), 403, "banned", "x")


@pytest.mark.parametrize("body, code, field", [
    ({"user": "eve"}, "bad_request", "reason"), ({"reason": "x"}, "bad_request", "user"),
    ({"reason": "x", "message": "m", "user": "eve"}, "bad_request", "conversation"),
    ({"reason": "", "user": "eve"}, "validation_failed", "reason"),
    ({"reason": "x" * 101, "user": "eve"}, "validation_failed", "reason"),
    ({"reason": "x", "user": "a b"}, "validation_failed", "user"),
    ({"reason": "x", "user": "eve", "text": "x" * 2_001}, "validation_failed", "text"),
    ({"reason": "x", "user": 5}, "bad_request", "user"),
])
async def test_a_malformed_report_is_refused(room, body, code, field):
    refused(await call(room, "POST", "/v1/reports", body, "ana"), 400 if code == "bad_request" else 422, code, field=field)


async def test_no_user_reports_themselves(room):
    refused(await call(room, "POST", "/v1/reports", {"reason": "x", "user": room.name("ana")}, "ana"), 422,
            "validation_failed", field="user")


# Deciding


async def test_decisions_move_a_report_and_a_later_one_counts(own):
    made = await report(own, "ana", user="eve")
    await decide(own, made, "dismiss")
    assert await held(own, made) is None and (await held(own, made, "dismissed"))["action"] == "dismiss"
    await decide(own, made, "accept")
    found = await held(own, made, "accepted")
    assert found["state"] == "accepted" and is_time(found["decidedAt"]) and await held(own, made, "dismissed") is None
    refused(await call(own, "POST", f"/v1/reports/{MISSING}", {"action": "accept"}), 404, "not_found")
    refused(await call(own, "POST", f"/v1/reports/{made}", {"action": "forget"}), 422, "validation_failed", field="action")
    refused(await call(own, "POST", f"/v1/reports/{made}", {}), 400, "bad_request", field="action")


async def test_the_message_can_be_deleted_and_the_user_banned(own):
    ana, eve, id = await pair(own)
    name = fresh()
    await say(eve, id, "spam", name)
    made = await report(own, "ana", conversation=id, message=name)
    await decide(own, made, "deleteMessage")
    message, = (await ana.did("getMessages", conversation=id))["messages"]
    assert message["deletedAt"] and (await held(own, made, "accepted"))["message"]["text"] == "spam"
    await decide(own, made, "deleteMessage")
    refused(await call(own, "POST", f"/v1/reports/{made}", {"action": "ban"}), 400, "bad_request", field="reason")
    await decide(own, made, "ban", reason="Spam", until=int(time.time() * 1000) + 60_000)
    assert (await eve.closed(4003)) and (await held(own, made, "accepted"))["action"] == "ban"
    alone = await report(own, "ana", conversation=id)
    for action in ("deleteMessage", "ban"):
        refused(await call(own, "POST", f"/v1/reports/{alone}", {"action": action, "reason": "x"}), 409, "conflict")
    assert await held(own, alone)


async def test_the_queue_has_every_report_once_page_by_page(own):
    made = []
    for person in ("ana", "bob", "cy"):
        made += [await report(own, person, user=f"u{number}") for number in range(8)]
    for limit in (1, 5, 24, 100):
        found, query = [], {"limit": limit}
        while True:
            page = await reports(own, **query)
            found += [each["id"] for each in page["reports"]]
            if "next" not in page:
                break
            assert len(page["reports"]) == limit
            query["after"] = page["next"]
        # Those of one millisecond are in the order of their ids.
        assert found == sorted(made)
    for query in ("state=all", "limit=0", "limit=101", "after=" + "x" * 129):
        assert (await call(own, "GET", f"/v1/reports?{query}")).status == 422


async def test_a_report_is_not_kept_for_longer_than_the_setting(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis))
    made = await report(room, "ana", user="eve")
    keys = [key for pattern in ("*:report:*", "*:report-of:*") for key in redis.command("--scan", "--pattern", pattern).split()]
    assert len(keys) == 2
    for key in keys:
        assert 3_500_000 < int(redis.command("PTTL", key)) <= 3_600_000
        redis.command("DEL", key)
    # Its id leaves the queue when the queue is read.
    assert await held(room, made) is None
    assert not redis.command("--scan", "--pattern", "*:reports:open").split()


async def test_webhooks_tell_of_reports_without_their_texts(start, tmp_path):
    receiver = Receiver(tmp_path)
    try:
        room = Room(start(SETTINGS | {"webhooks": [receiver.endpoint("report.created")], "partitions": 8}))
        ana, eve, id = await pair(room)
        name = fresh()
        await say(eve, id, "a private text", name)
        made = await report(room, "ana", conversation=id, message=name, text="another")
        await report(room, "ana", conversation=id, message=name)
        await eventually(lambda: receiver.calls, "an event", within=30)
        await asyncio.sleep(0.5)
        event, = receiver.calls
        assert event.data == {"user": ana.user, "report": {
            "id": made, "user": eve.user, "conversation": id, "message": name, "reason": "spam"}}
        assert not receiver.wrong
    finally:
        receiver.close()


# The console


async def test_an_operator_decides_on_the_page(own, chromium):
    ana, eve, id = await pair(own)
    names = [fresh() for _ in range(2)]
    for name in names:
        await say(eve, id, f"<b>text</b> {name}", name)
    dismissed = await report(own, "ana", user=eve.user, text="No reason")
    made = [await report(own, "ana", conversation=id, message=name, reason=f"spam {number}") for number, name in enumerate(names)]
    async with chromium:
        from test_30_console import console
        page = await console(chromium, own, "#/reports")
        await title(page, "Reports")
        await page.until("document.querySelectorAll('blockquote').length === 2")
        assert await page.value("document.querySelector('blockquote b')") is None
        await press(page, f"Dismiss: spam: {eve.user}")
        await eventually(lambda: held(own, dismissed, "dismissed"), "it is dismissed")
        await press(page, f"Delete message: spam 0: {eve.user}")
        await eventually(lambda: held(own, made[0], "accepted"), "it is accepted")
        await press(page, f"Ban for a week: spam 1: {eve.user}")
        await eve.closed(4003)
        await page.until("document.querySelectorAll('section.card').length === 0")
    deleted, kept = (await ana.did("getMessages", conversation=id))["messages"]
    assert deleted.get("deletedAt") and not kept.get("deletedAt")
