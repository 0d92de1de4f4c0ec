"""Sending messages: stored once however often they are sent, numbered without gaps, unchanged."""

import asyncio

import pytest

from support.room import Room
from support.rules import is_time
from support.talks import IMAGE, follow, fresh, group, hears, info, pair, say, talk

SETTINGS = {"linger": 5_000, "lease": 6_000}


async def test_a_message_is_numbered_stamped_and_told_to_who_follows(room):
    ana, bob, id = await pair(room)
    start = await follow(bob, id)
    assert start["messages"] == [] and start["first"] == 1 and start["last"] == 0 and start["typing"] == []
    sent = await say(ana, id, "On my way", after=0)
    assert set(sent) == {"id", "seq", "version", "from", "at", "text"}
    assert sent["seq"] == 1 and sent["from"] == ana.user and sent["text"] == "On my way" and is_time(sent["at"])
    event, = await hears(bob, id, 1)
    assert set(event) == {"type", "conversation", "message", "conversationVersion", "at"}
    assert event["message"] == sent and event["conversationVersion"] > start["messagesVersion"]


async def test_the_same_send_again_is_answered_with_the_same_message_and_stored_once(room):
    ana, bob, id = await pair(room)
    name = fresh()
    first = await say(ana, id, "once", name, after=0)
    for after in ({"after": 0}, {"after": 1}, {}):
        assert await say(await room.come("ana", "phone"), id, "once", name, **after) == first
    begun = [ana.begin("send", conversation=id, message={"id": name + "x", "text": "at once"}) for _ in range(20)]
    answers = await asyncio.gather(*begun)
    assert {answer["type"] for answer in answers} == {"sent"} and len({str(answer["message"]) for answer in answers}) == 1
    assert (await info(bob, id))["last"] == 2


async def test_an_id_with_another_text_or_of_another_member_is_a_conflict(room):
    ana, bob, id = await pair(room)
    name = fresh()
    sent = await say(ana, id, "this", name)
    await ana.refused("conflict", "send", conversation=id, message={"id": name, "text": "that"})
    await bob.refused("conflict", "send", conversation=id, message={"id": name, "text": "this"})
    picture = {"id": "a", "kind": "image", "url": "https://example.org/a.jpg", "sizeBytes": 5}
    await ana.refused("conflict", "send", conversation=id, message={"id": name, "text": "this", "attachments": [picture]})
    assert (await info(bob, id))["lastMessage"] == sent
    # In another conversation it is another message.
    other = await room.come("cy")
    assert (await say(ana, (await talk(ana, other))["id"], "that", name))["seq"] == 1


async def test_a_send_is_recognised_at_any_age_with_what_was_first_sent(room):
    ana, bob, id = await pair(room)
    names = [fresh() for _ in range(700)]
    for start in range(0, 700, 70):
        begun = [ana.begin("send", conversation=id, message={"id": name, "text": f"m {name}"})
                 for name in names[start:start + 70]]
        for answer, name in zip(await asyncio.gather(*begun), names[start:]):
            if answer["type"] != "sent":
                await asyncio.sleep(answer["retryAfter"] / 1000)
                assert await say(ana, id, f"m {name}", name)
    last = (await info(ana, id))["last"]
    assert last == 700
    await ana.did("editMessage", conversation=id, message=names[3], text="edited")
    await ana.did("deleteMessage", conversation=id, message=names[4])
    again = await say(ana, id, f"m {names[3]}", names[3])
    assert again["text"] == "edited" and again["editCount"] == 1
    assert (await say(ana, id, f"m {names[4]}", names[4]))["deletedAt"]
    await ana.refused("conflict", "send", conversation=id, message={"id": names[3], "text": "edited"})
    assert (await say(ana, id, f"m {names[0]}", names[0]))["id"] == names[0]
    assert (await info(ana, id))["last"] == 700


async def test_members_who_send_at_once_get_numbers_without_gaps(room):
    clients = [await room.come(f"p{number}") for number in range(5)]
    id = (await group(*clients))["id"]
    await follow(clients[0], id)
    answers = await asyncio.gather(*[client.begin("send", conversation=id, message={"id": fresh(), "text": "x"})
                                     for client in clients for _ in range(10)])
    assert sorted(answer["message"]["seq"] for answer in answers) == list(range(1, 51))
    events = await hears(clients[0], id, 50)
    assert [event["message"]["seq"] for event in events] == list(range(1, 51))


async def test_a_message_carries_attachments_and_priority(room):
    ana, bob, id = await pair(room)
    more = {"attachments": [IMAGE, {"id": "a2", "kind": "file", "url": "https://example.org/b", "sizeBytes": 0}],
            "priority": {"reason": "Leaving now"}}
    sent = await say(ana, id, "", more=more)
    assert sent["attachments"] == more["attachments"] and sent["priority"] == more["priority"] and sent["text"] == ""
    held = await info(bob, id)
    assert held["hasUnreadPriority"] is True and held["priorityCount"] == 1
    assert "hasUnreadPriority" not in await info(ana, id)
    await bob.did("mark", conversation=id, read=1)
    assert "priorityCount" not in await info(bob, id)
    plain = await say(ana, id, "plain")
    assert "attachments" not in plain and "priority" not in plain


TEXTS = ["line\nbreak\ttab\r\nend", "e\u0301 👩‍👩‍👧 \u202bابث\u202c", "\"\\/", "x" * 5000, "é" * 5000]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:10]))
async def test_texts_come_back_as_they_were_sent(room, text):
    ana, bob, id = await pair(room)
    await follow(bob, id)
    await say(ana, id, text)
    assert (await hears(bob, id, 1))[0]["message"]["text"] == text


BAD = [
    ({"id": "m"}, "validation_failed", "message.text"),
    ({"id": "m", "text": ""}, "validation_failed", "message.text"),
    ({"id": "m", "text": "", "attachments": []}, "validation_failed", "message.text"),
    ({"id": "m", "text": "x" * 5001}, "validation_failed", "message.text"),
    ({"id": "m", "text": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 1200}, "validation_failed", "message.text"),
    ({"id": "m", "text": "a\u0000"}, "validation_failed", "message.text"),
    ({"id": "m", "text": "a\u001b"}, "validation_failed", "message.text"),
    ({"id": "m", "text": "a\u0085"}, "validation_failed", "message.text"),
    ({"id": "m", "text": 7}, "bad_request", "message.text"),
    ({"text": "a"}, "bad_request", "message.id"),
    ({"id": 7, "text": "a"}, "bad_request", "message.id"),
    ({"id": "", "text": "a"}, "validation_failed", "message.id"),
    ({"id": "m" * 65, "text": "a"}, "validation_failed", "message.id"),
    ({"id": "a b", "text": "a"}, "validation_failed", "message.id"),
    ({"id": "m", "attachments": [IMAGE] * 11}, "too_many", "message.attachments"),
    ({"id": "m", "attachments": [IMAGE | {"kind": "sound"}]}, "validation_failed", "message.attachments.kind"),
    ({"id": "m", "attachments": [IMAGE | {"url": "http://example.org/a"}]}, "validation_failed", "message.attachments.url"),
    ({"id": "m", "attachments": [IMAGE | {"thumbnailURL": "ftp://x"}]}, "validation_failed",
     "message.attachments.thumbnailURL"),
    ({"id": "m", "attachments": [IMAGE | {"sizeBytes": -1}]}, "validation_failed", "message.attachments.sizeBytes"),
    ({"id": "m", "attachments": [IMAGE | {"sizeBytes": None}]}, "bad_request", "message.attachments.sizeBytes"),
    ({"id": "m", "attachments": "a"}, "bad_request", "message.attachments"),
    ({"id": "m", "text": "a", "priority": "high"}, "bad_request", "message.priority"),
    ({"id": "m", "text": "a", "priority": {"reason": "x" * 201}}, "validation_failed", "message.priority.reason"),
    ("text", "bad_request", "message"),
]


async def test_messages_that_cannot_be_are_refused_and_use_no_number(start):
    room = Room(start(SETTINGS | {"limits.badRequests": 1000}))
    ana, bob, id = await pair(room)
    for message, code, field in BAD:
        error = await ana.refused(code, "send", conversation=id, message=message)
        assert error["field"] == field, (message, error)
    await ana.refused("bad_request", "send", conversation=id)
    await ana.refused("bad_request", "send", message={"id": "m", "text": "a"})
    await ana.refused("bad_request", "send", conversation=id, message={"id": "m", "text": "a"}, after="x")
    assert (await say(ana, id))["seq"] == 1
