"""Messages: sent once however often, numbered without gaps, followed in order, edited, deleted, marked."""

import asyncio
import json

import pytest

from support.openapi import OpenAPI
from support.patience import PATIENCE, eventually
from support.rules import is_time
from support.room import Room
from support.talks import follow, fresh, group, heard, hears, info, listed, marks, say, sees, talk

SETTINGS = {"linger": 5_000, "lease": 6_000}
DOCUMENT = OpenAPI("openapi.yaml")


async def pair(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    return ana, bob, (await talk(ana, bob))["id"]


# Sending


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
    # Elsewhere it is a message of its own.
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


IMAGE = {"id": "a1", "kind": "image", "url": "https://example.org/a.jpg", "thumbnailURL": "https://example.org/t.jpg",
         "sizeBytes": 12_345_678_901}


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


async def test_only_members_send_and_see(room):
    ana, bob, id = await pair(room)
    cy = await room.come("cy")
    sent = await say(ana, id)
    for where in (id, "nothing"):
        await cy.refused("forbidden", "send", conversation=where, message={"id": "m", "text": "a"})
        await cy.refused("forbidden", "getMessages", conversation=where)
        await cy.refused("forbidden", "editMessage", conversation=where, message=sent["id"], text="x")
        await cy.refused("forbidden", "deleteMessage", conversation=where, message=sent["id"])


async def test_who_leaves_hears_no_more(room):
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    id = (await group(ana, bob, cy))["id"]
    await follow(bob, id)
    await follow(cy, id)
    await say(ana, id, "all")
    await hears(bob, id, 1)
    await ana.did("changeMembers", conversation=id, remove=[bob.user])
    await say(ana, id, "without bob")
    await hears(cy, id, 2)
    assert len(heard(bob, id)) == 1
    await bob.refused("forbidden", "subscribe", conversations=[{"id": id, "after": 1}])
    await ana.did("changeMembers", conversation=id, add=[bob.user])
    # And sees all of it once they are back.
    assert [message["text"] for message in (await follow(bob, id))["messages"]] == ["all", "without bob"]


@pytest.mark.parametrize("has_list", [True, False], ids=["with the list", "without the list"])
@pytest.mark.parametrize("activity", ["active", "background"])
async def test_who_is_put_back_goes_on_where_they_were_and_misses_nothing(room, activity, has_list):
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    id = (await group(ana, bob, cy))["id"]
    if has_list:
        await listed(cy)
    await follow(cy, id)
    await follow(bob, id)
    if activity == "background":
        await cy.activity("background")
    await say(ana, id, "first")
    await ana.did("changeMembers", conversation=id, remove=[cy.user])
    await say(ana, id, "second")
    await hears(bob, id, 2)
    before = len(heard(cy, id))
    await ana.did("changeMembers", conversation=id, add=[cy.user])
    await say(ana, id, "third")
    if activity == "background":
        await cy.did("getMessages", conversation=id)
        assert before == 0 and not heard(cy, id)
        await cy.activity("active")
    events = await hears(cy, id, 3)
    assert [event["message"]["text"] for event in events] == ["first", "second", "third"]
    assert before <= 1, "who was not in it has heard of it"
    await ana.types(id)
    await cy.sees_typing(id, [ana])
    assert len(heard(cy, id)) == 3


async def test_who_was_taken_out_hears_nothing_and_may_unsubscribe(room):
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    id = (await group(ana, bob, cy))["id"]
    await follow(cy, id)
    await follow(bob, id)
    await ana.did("changeMembers", conversation=id, remove=[cy.user])
    await say(ana, id, "without cy")
    await hears(bob, id, 1)
    assert (await cy.did("unsubscribe", conversations=[id]))["type"] == "unsubscribed"
    await ana.did("changeMembers", conversation=id, add=[cy.user])
    await say(ana, id, "with cy")
    await hears(bob, id, 2)
    await cy.did("getConversation", conversation=id)
    assert not heard(cy, id)


async def test_a_direct_conversation_that_was_ended_and_made_again_begins_anew(room):
    ana, bob, id = await pair(room)
    phone = await room.come("bob", "phone")
    for number in range(5):
        await say(ana, id, f"old {number}")
    held = await follow(bob, id)
    await follow(phone, id)
    await bob.close()
    answer = await room.api.request("DELETE", f"/v1/conversations/{id}/participants", token=room.backend)
    assert answer.status == 204
    assert (await talk(ana, phone))["id"] == id
    # Who followed it is told that what they hold is gone.
    await eventually(lambda: any(event["type"] == "messagesReset" for event in phone.log), within=PATIENCE,
                     what="messagesReset")
    new = [await say(ana, id, f"new {number}") for number in range(7)]
    assert [message["seq"] for message in new] == list(range(6, 13))
    bob = await room.come("bob")
    again = await follow(bob, id, after=5, messagesVersion=held["messagesVersion"])
    assert again["reset"] is True and again["messages"] == new and again["first"] == 6 and again["last"] == 12
    await hears(phone, id, 7)
    assert [event["message"] for event in heard(phone, id)[-7:]] == new
    late = await info(bob, id)
    assert late["first"] == 6 and late["unread"] == 7


async def test_a_block_refuses_both_sends_and_uses_no_number(room):
    ana, bob, id = await pair(room)
    await say(ana, id)
    await bob.did("block", users=[ana.user])
    await ana.refused("forbidden", "send", conversation=id, message={"id": "m1", "text": "a"})
    await bob.refused("forbidden", "send", conversation=id, message={"id": "m2", "text": "a"})
    await bob.did("unblock", users=[ana.user])
    assert (await say(ana, id, "a", "m1"))["seq"] == 2
    # A group is no business of theirs.
    cy = await room.come("cy")
    three = (await group(cy, ana, bob))["id"]
    await bob.did("block", users=[ana.user])
    await say(ana, three)


async def test_no_new_text_reaches_anybody_by_an_edit_while_one_blocks_the_other(room):
    ana, bob, id = await pair(room)
    one, two = await say(ana, id, "one"), await say(bob, id, "two")
    await ana.did("editMessage", conversation=id, message=one["id"], text="once edited")
    await follow(bob, id)
    await bob.did("block", users=[ana.user])
    await ana.refused("forbidden", "editMessage", conversation=id, message=one["id"], text="an insult")
    await bob.refused("forbidden", "editMessage", conversation=id, message=two["id"], text="an answer")
    # What is stored already is answered: the same edit, the same send. Taking back stays possible.
    assert (await ana.did("editMessage", conversation=id, message=one["id"], text="once edited"))["type"] == "messageUpdated"
    assert (await say(ana, id, "one", one["id"]))["text"] == "once edited"
    assert (await ana.did("deleteMessage", conversation=id, message=one["id"]))["message"]["deletedAt"]
    event, = await hears(bob, id, 1)
    assert event["message"]["text"] == "" and event["message"]["deletedAt"]
    await bob.did("unblock", users=[ana.user])
    await bob.did("editMessage", conversation=id, message=two["id"], text="an answer")
    assert (await info(ana, id))["lastMessage"]["text"] == "an answer"


# Following


async def test_a_subscription_has_the_newest_50_or_what_comes_after(room):
    ana, bob, id = await pair(room)
    for number in range(60):
        await say(ana, id, f"{number}")
    newest = await follow(bob, id)
    assert [message["seq"] for message in newest["messages"]] == list(range(11, 61))
    assert newest["first"] == 1 and newest["last"] == 60 and "reset" not in newest
    after = await follow(await room.come("bob"), id, after=57, messagesVersion=newest["messagesVersion"])
    assert [message["seq"] for message in after["messages"]] == [58, 59, 60]
    none = await follow(await room.come("bob"), id, after=60, messagesVersion=newest["messagesVersion"])
    assert none["messages"] == [] and none["messagesVersion"] == newest["messagesVersion"]
    everything = await follow(await room.come("bob"), id, after=0)
    assert [message["seq"] for message in everything["messages"]] == list(range(1, 61))


async def test_a_subscription_brings_earlier_messages_that_have_changed(room):
    ana, bob, id = await pair(room)
    sent = [await say(ana, id, f"{number}") for number in range(6)]
    held = await follow(bob, id)
    await ana.did("editMessage", conversation=id, message=sent[1]["id"], text="edited")
    await ana.did("editMessage", conversation=id, message=sent[1]["id"], text="edited twice")
    await ana.did("deleteMessage", conversation=id, message=sent[3]["id"])
    events = await hears(bob, id, 3)
    again = await follow(await room.come("bob"), id, after=6, messagesVersion=held["messagesVersion"])
    assert [(message["seq"], message["text"]) for message in again["messages"]] == [(2, "edited twice"), (4, "")]
    # From what an event said, only what followed.
    later = await follow(await room.come("bob"), id, after=6, messagesVersion=events[1]["conversationVersion"])
    assert [message["seq"] for message in later["messages"]] == [4]


async def test_what_the_server_cannot_know_is_reset(room):
    ana, bob, id = await pair(room)
    for number in range(3):
        await say(ana, id, f"{number}")
    for cursor in ({"after": 9}, {"after": 3, "messagesVersion": 4_000_000_000_000_000}):
        held = await follow(await room.come("bob"), id, **cursor)
        assert held["reset"] is True and [message["seq"] for message in held["messages"]] == [1, 2, 3]
    for wrong in ("x", 1.5, []):
        await bob.refused("bad_request", "subscribe", conversations=[{"id": id, "after": wrong}])
    await bob.refused("validation_failed", "subscribe", conversations=[{"id": id, "after": -1}])
    await bob.refused("bad_request", "subscribe", conversations=[{"after": 1}])


async def test_long_answers_come_in_parts_and_nothing_is_missing(room):
    ana, bob, id = await pair(room)
    for number in range(40):
        await say(ana, id, "x" * 4990 + f"{number:010}" if number % 2 else "é" * 4990)
    held = await follow(bob, id, after=0)
    assert [message["seq"] for message in held["messages"]] == list(range(1, 41))
    parts = [message for message in bob.log if message["type"] == "subscribed"]
    assert len(parts) > 1 and [part.get("more", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    assert all(part["conversations"][0]["conversation"] == id for part in parts)
    page = await bob.did("getMessages", conversation=id, limit=100)
    assert page["messages"] == held["messages"] and (page["first"], page["last"]) == (1, 40)
    parts = [message for message in bob.log if message["type"] == "messages"]
    assert len(parts) > 1 and [part.get("more", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    assert all(part["conversation"] == id and (part["first"], part["last"]) == (1, 40) for part in parts)
    assert all(len(json.dumps(part, ensure_ascii=False).encode()) <= bob.connected["limits"]["maxServerMessageBytes"] for part in parts)
    answer = await room.api.request("GET", f"/v1/conversations/{id}/messages?limit=100", token=room.backend)
    assert answer.json["messages"] == held["messages"] and "more" not in answer.json


async def test_a_background_client_gets_all_in_order_when_it_is_back(room):
    ana, bob, id = await pair(room)
    await follow(bob, id)
    await bob.activity("background")
    sent = [await say(ana, id, f"{number}") for number in range(30)]
    await ana.did("editMessage", conversation=id, message=sent[5]["id"], text="edited")
    await bob.did("getMessages", conversation=id)
    assert not heard(bob, id)
    await bob.activity("active")
    events = await hears(bob, id, 31)
    assert [event["message"]["seq"] for event in events] == list(range(1, 31)) + [6]
    assert [event["conversationVersion"] for event in events] == sorted(event["conversationVersion"] for event in events)


async def test_a_bare_id_beside_an_object_watches_typing_alone(room):
    ana, bob, id = await pair(room)
    other = (await talk(bob, await room.come("cy")))["id"]
    reply = await bob.did("subscribe", conversations=[other, {"id": id}])
    found = {entry["conversation"]: entry for entry in reply["conversations"]}
    assert "messages" not in found[other] and found[id]["messages"] == []
    await ana.types(id)
    await bob.sees_typing(id, [ana])
    assert (await bob.did("unsubscribe", conversations=[id]))["type"] == "unsubscribed"
    await say(ana, id)
    await bob.did("getConversation", conversation=id)
    assert not heard(bob, id)


# Pages


async def test_pages_go_back_to_the_first_message(room):
    ana, bob, id = await pair(room)
    for number in range(1, 61):
        await say(ana, id, f"{number}")

    async def page(**members):
        reply = await bob.did("getMessages", conversation=id, **members)
        assert (reply["type"], reply["conversation"], reply["first"], reply["last"]) == ("messages", id, 1, 60)
        return [message["seq"] for message in reply["messages"]]
    assert await page() == list(range(11, 61))
    assert await page(before=31, limit=30) == list(range(1, 31))
    assert await page(before=31, limit=5) == list(range(26, 31))
    assert await page(before=1) == [] and await page(limit=100) == list(range(1, 61))
    assert await page(before=1_000_000, limit=1) == [60]
    for wrong in ({"limit": 101}, {"limit": 0}, {"before": 0}):
        assert (await bob.refused("validation_failed", "getMessages", conversation=id, **wrong))["field"] in wrong
    await bob.refused("bad_request", "getMessages", conversation=id, limit="10")


async def test_the_oldest_go_when_there_are_too_many(start):
    room = Room(start(SETTINGS | {"messages.keepPerConversation": 10}))
    ana, bob, id = await pair(room)
    names = [fresh() for _ in range(25)]
    for name in names:
        await say(ana, id, "text " + name, name)
    page = await bob.did("getMessages", conversation=id, limit=100)
    assert [message["seq"] for message in page["messages"]] == list(range(16, 26))
    assert page["first"] == 16 and page["last"] == 25
    assert await say(ana, id, "text " + names[15], names[15]) == page["messages"][0]
    assert (await info(bob, id))["unread"] == 25
    await ana.refused("not_found", "editMessage", conversation=id, message=names[0], text="x")
    held = await follow(bob, id, after=5)
    assert held["reset"] is True and [message["seq"] for message in held["messages"]] == list(range(16, 26))
    held = await follow(bob, id, after=20)
    assert "reset" not in held and [message["seq"] for message in held["messages"]] == list(range(21, 26))


async def test_old_ones_go_with_the_next_message(start):
    room = Room(start(SETTINGS | {"messages.keepFor": "1s"}))
    ana, bob, id = await pair(room)
    for _ in range(3):
        await say(ana, id)
    await asyncio.sleep(1.1)
    assert (await say(ana, id))["seq"] == 4
    held = await info(bob, id)
    assert (held["first"], held["last"]) == (4, 4)


async def test_old_ones_go_where_nobody_writes(start):
    room = Room(start(SETTINGS | {"messages.keepFor": "4s"}))
    ana, bob, id = await pair(room)
    await listed(bob)
    held = await follow(bob, id)
    for _ in range(3):
        await say(ana, id, more={"priority": {"reason": "now"}})
    assert (await info(bob, id))["unread"] == 3
    seen = await sees(bob, id, first=4, last=3, unread=0)
    assert "lastMessage" not in seen and "priorityCount" not in seen and "hasUnreadPriority" not in seen
    page = await bob.did("getMessages", conversation=id)
    assert page["messages"] == [] and (page["first"], page["last"]) == (4, 3)
    assert (await follow(bob, id, after=1, messagesVersion=held["messagesVersion"]))["reset"] is True
    others = {member["user"]: member for member in (await info(ana, id))["members"]}
    assert others[bob.user]["read"] == 0
    assert (await say(ana, id))["seq"] == 4
    assert (await info(bob, id))["unread"] == 1


# Editing and deleting


async def test_a_sender_edits_and_the_10_newest_earlier_texts_are_kept(room):
    ana, bob, id = await pair(room)
    await follow(bob, id)
    await listed(bob)
    sent = await say(ana, id, "0")
    for number in range(1, 13):
        reply = await ana.did("editMessage", conversation=id, message=sent["id"], text=f"{number}")
        assert reply["type"] == "messageUpdated" and reply["conversation"] == id
    edited = reply["message"]
    assert edited["text"] == "12" and edited["editCount"] == 12 and is_time(edited["editedAt"])
    assert [edit["text"] for edit in edited["edits"]] == [f"{number}" for number in range(2, 12)]
    assert all(is_time(edit["at"]) for edit in edited["edits"]) and edited["version"] > sent["version"]
    assert edited["seq"] == 1 and edited["at"] == sent["at"] and edited["from"] == ana.user
    events = await hears(bob, id, 13)
    assert events[-1]["message"] == edited
    assert (await sees(bob, id, lastMessage=edited))["unread"] == 1
    # The same edit again changes nothing.
    again = await ana.did("editMessage", conversation=id, message=sent["id"], text="12")
    assert again["message"] == edited
    await bob.refused("forbidden", "editMessage", conversation=id, message=sent["id"], text="x")
    await ana.refused("not_found", "editMessage", conversation=id, message="nothing", text="x")
    error = await ana.refused("validation_failed", "editMessage", conversation=id, message=sent["id"], text="")
    assert error["field"] == "text"
    await ana.refused("bad_request", "editMessage", conversation=id, message=sent["id"])


@pytest.mark.parametrize("limit, characters, files, least", [
    (262_144, 4_090, 10, 0), (262_144, 4_090, 0, 2), (16_384, 250, 0, 2)])
async def test_no_message_gets_too_long_for_clients_by_its_edits(start, limit, characters, files, least):
    edits = 11
    room = Room(start(SETTINGS | {"max_server_message_bytes": limit}))
    ana, bob, id = await pair(room)
    await listed(bob)
    await follow(bob, id)
    # One character each, of 5 bytes, 6 in JSON.
    texts = ['"\u0301\u0302' * characters + chr(97 + number) for number in range(edits + 1)]
    address = "https://example.org/" + "u" * 2_000
    more = {"attachments": [{"id": f"{number}" + "x" * 100, "kind": "image", "url": address, "thumbnailURL": address,
                             "sizeBytes": 1} for number in range(files)]} if files else {}
    sent = await say(ana, id, texts[0], more=more)
    for number in range(1, edits + 1):
        reply = await ana.did("editMessage", conversation=id, message=sent["id"], text=texts[number])
        held = reply["message"]
        assert held["text"] == texts[number] and held["editCount"] == number
        # The newest of the earlier ones are there.
        kept = [edit["text"] for edit in held.get("edits", [])]
        assert kept == texts[number - len(kept):number] and min(least, number) <= len(kept) < 10
        assert len(json.dumps(held, ensure_ascii=False, separators=(",", ":")).encode()) <= limit // 3
    # Each client checks of all that it hears that it is no longer than the limit.
    events = await hears(bob, id, edits + 1)
    assert events[-1]["message"] == held
    await sees(bob, id, lastMessage=held)
    assert (await ana.did("getMessages", conversation=id))["messages"] == [held]
    assert (await follow(ana, id))["messages"] == [held]


async def test_what_is_too_long_for_clients_is_refused_and_uses_no_number(start):
    room = Room(start(SETTINGS | {"max_server_message_bytes": 16_384}))
    ana, bob, id = await pair(room)
    await ana.refused("validation_failed", "send", conversation=id, message={"id": "a", "text": "é" * 4_000})
    sent = await say(ana, id, "x" * 4_000, "a")
    assert sent["seq"] == 1
    await ana.refused("validation_failed", "editMessage", conversation=id, message="a", text="é" * 4_000)
    assert (await info(bob, id))["lastMessage"] == sent
    for number in range(60):
        await say(bob, id, f"{number}")
    page = (await ana.did("getMessages", conversation=id, limit=100))["messages"]
    assert page[-1]["text"] == "59" and len(page) > 10
    assert [message["seq"] for message in (await follow(ana, id, after=0))["messages"]] == list(range(1, 62))


async def test_deleting_empties_a_message_and_keeps_its_place(room):
    ana, bob, id = await pair(room)
    await follow(bob, id)
    sent = await say(ana, id, "oops", more={"attachments": [IMAGE], "priority": {"reason": "now"}})
    await say(ana, id, "next")
    await ana.did("editMessage", conversation=id, message=sent["id"], text="ooops")
    reply = await ana.did("deleteMessage", conversation=id, message=sent["id"])
    gone = reply["message"]
    assert reply["type"] == "messageUpdated" and gone["text"] == "" and gone["seq"] == 1
    assert is_time(gone["deletedAt"]) and gone["deletedBy"] == ana.user
    assert not {"attachments", "edits", "priority"} & set(gone)
    assert (await hears(bob, id, 4))[-1]["message"] == gone
    assert (await ana.did("deleteMessage", conversation=id, message=sent["id"]))["message"] == gone
    await ana.refused("conflict", "editMessage", conversation=id, message=sent["id"], text="x")
    await bob.refused("forbidden", "deleteMessage", conversation=id, message=sent["id"])
    await ana.refused("not_found", "deleteMessage", conversation=id, message="nothing")
    held = await info(bob, id)
    assert held["unread"] == 2 and "hasUnreadPriority" not in held


async def test_a_groups_owner_deletes_what_others_wrote(room):
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    id = (await group(ana, bob, cy))["id"]
    sent = await say(bob, id)
    await cy.refused("forbidden", "deleteMessage", conversation=id, message=sent["id"])
    gone = (await ana.did("deleteMessage", conversation=id, message=sent["id"]))["message"]
    assert gone["deletedBy"] == ana.user and gone["from"] == bob.user


# Marks


async def test_marks_only_move_forward_and_are_cut_to_the_last_message(room):
    ana, bob, id = await pair(room)
    for _ in range(5):
        await say(ana, id)

    async def marked(**members):
        assert (await bob.did("mark", conversation=id, **members))["type"] == "ok"
        held = marks(await info(ana, id), bob)
        return held["delivered"], held["read"]
    assert await marked(delivered=3) == (3, 0)
    assert await marked(read=2) == (3, 2)
    assert await marked(read=4) == (4, 4)
    assert await marked(read=1, delivered=2) == (4, 4)
    assert await marked(read=1_000_000) == (5, 5)
    await say(ana, id)
    assert (await info(bob, id))["unread"] == 1
    await bob.refused("validation_failed", "mark", conversation=id, read=-1)
    await bob.refused("bad_request", "mark", conversation=id, read="5")
    await bob.refused("bad_request", "mark", conversation=id)


async def test_unread_counts_from_the_own_newest_message_too(room):
    ana, bob, id = await pair(room)
    for _ in range(3):
        await say(ana, id)
    assert (await info(bob, id))["unread"] == 3
    await say(bob, id)
    held = await info(bob, id)
    # Sending reads, and moves no mark.
    assert held["unread"] == 0 and marks(held, bob)["read"] == 0
    await say(ana, id)
    assert (await info(bob, id))["unread"] == 1


async def test_receipts_that_are_off_hide_what_was_read_both_ways(room):
    ana, bob, id = await pair(room)
    for _ in range(3):
        await say(ana, id)
    await bob.did("mark", conversation=id, read=1)
    await ana.did("mark", conversation=id, read=3)
    await listed(ana)
    phone = await room.come("bob", "phone")
    await listed(phone)
    assert (await bob.did("setVisibility", visibility={"receipts": "nobody"}))["type"] == "ok"
    held = await info(ana, id)
    assert "read" not in marks(held, bob) and marks(held, bob)["delivered"] == 1 and marks(held, ana)["read"] == 3
    await bob.did("mark", conversation=id, delivered=2, read=2)
    await bob.did("mark", conversation=id, read=2)
    held = await info(bob, id)
    assert marks(held, bob)["read"] == 2 and "read" not in marks(held, ana) and held["unread"] == 1
    await sees(phone, id, unread=1)
    # Switched on again, only later marks are shown.
    await bob.did("setVisibility", visibility={"receipts": "everyone"})
    assert marks(await info(ana, id), bob)["read"] == 1
    assert marks(await info(bob, id), ana)["read"] == 3
    await bob.did("mark", conversation=id, read=3)
    assert marks(await info(ana, id), bob)["read"] == 3
    await bob.refused("validation_failed", "setVisibility", visibility={"receipts": "contacts"})


async def test_a_private_mark_is_no_news_to_others(room):
    ana, bob, id = await pair(room)
    await bob.did("setVisibility", visibility={"receipts": "nobody"})
    await say(ana, id)
    await bob.did("mark", conversation=id, delivered=1)
    held, = await listed(ana)
    await bob.did("mark", conversation=id, read=1)
    await say(ana, id, "later")
    await sees(ana, id, last=2)
    news = [event["conversation"] for event in ana.log if event["type"] == "conversation"]
    assert len([each for each in news if each["version"] > held["version"]]) == 1


async def test_receipts_hold_in_conversations_that_are_joined_later(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    await bob.did("setVisibility", visibility={"receipts": "nobody"})
    id = (await talk(ana, bob))["id"]
    await say(ana, id)
    await bob.did("mark", conversation=id, read=1)
    assert "read" not in marks(await info(ana, id), bob)


# Backends


async def test_backends_read_send_and_delete(room):
    ana, bob, id = await pair(room)
    await follow(bob, id)

    async def call(method, path, body=None, token=room.backend):
        answer = await room.api.request(method, f"/v1/conversations/{path}", body, token=token)
        template = "/v1/conversations/{id}/messages" + ("/{message}" if path.count("/") > 1 else "")
        operation, = [each for each in DOCUMENT.operations if (each.method, each.path) == (method, template)]
        DOCUMENT.check(method, answer, operation.responses[answer.status], f"{method} {path}")
        return answer
    body = {"from": ana.user, "message": {"id": "b1", "text": "from behind"}}
    answer = await call("POST", f"{id}/messages", body)
    assert answer.status == 200 and answer.json["message"]["from"] == ana.user
    assert (await call("POST", f"{id}/messages", body)).json == answer.json
    assert (await hears(bob, id, 1))[0]["message"] == answer.json["message"]
    assert (await call("POST", f"{id}/messages", body | {"from": bob.user})).status == 409
    assert (await call("POST", f"{id}/messages", body | {"from": room.name("zed")})).status == 403
    assert (await call("POST", f"{id}/messages", {"from": ana.user})).status == 400
    assert (await call("POST", f"{id}/messages", {"from": ana.user, "message": {"id": "b2", "text": ""}})).status == 422
    for number in range(4):
        await say(bob, id, f"{number}")
    page = await call("GET", f"{id}/messages?before=4&limit=2")
    assert page.status == 200 and [message["seq"] for message in page.json["messages"]] == [2, 3]
    assert (page.json["first"], page.json["last"]) == (1, 5)
    assert (await call("GET", f"{id}/messages?limit=101")).status == 422
    assert (await call("GET", "nothing/messages")).status == 404
    gone = await call("DELETE", f"{id}/messages/b1")
    assert gone.status == 200 and gone.json["message"]["deletedAt"] and "deletedBy" not in gone.json["message"]
    assert (await call("DELETE", f"{id}/messages/b9")).status == 404
    assert (await call("GET", f"{id}/messages", token=room.token("ana"))).status == 403


# Crashes


async def test_what_was_acknowledged_outlives_a_crash_and_a_repetition_is_one_message(start):
    room = Room(start(SETTINGS))
    ana, bob, id = await pair(room)
    names = [fresh() for _ in range(20)]
    sent = [await say(ana, id, name, name) for name in names]
    lost = [ana.begin("send", conversation=id, message={"id": fresh(), "text": "lost?"}) for _ in range(5)]
    room.server.kill()
    await asyncio.gather(*lost)
    room.server.start()
    ana, bob = await room.come("ana"), await room.come("bob")
    assert [await say(ana, id, name, name) for name in names] == sent
    held = await follow(bob, id, after=0)
    assert [message["seq"] for message in held["messages"]] == list(range(1, len(held["messages"]) + 1))
    assert held["messages"][:20] == sent and len({message["id"] for message in held["messages"]}) == len(held["messages"])


async def test_followers_on_two_servers_hear_the_same_after_a_break(start):
    redis = start.redis()
    one, two = start(SETTINGS, redis=redis), start(SETTINGS, redis=redis)
    room = Room(one)
    ana, bob = await room.come("ana"), await room.come("bob", at=two)
    id = (await talk(ana, bob))["id"]
    await follow(bob, id)
    await listed(bob)
    for number in range(10):
        await say(ana, id, f"{number}")
    redis.stop()
    try:
        await bob.hear("stale", within=2 * PATIENCE)
    finally:
        redis.go_on()
    for number in range(10, 20):
        reply = await ana.insists("send", conversation=id, message={"id": fresh(), "text": f"{number}"})
        assert reply["type"] == "sent"
    events = await hears(bob, id, 20, within=2 * PATIENCE)
    assert [event["message"]["text"] for event in events] == [f"{number}" for number in range(20)]
    await sees(bob, id, last=20, unread=20)


async def test_a_follower_is_told_to_begin_anew_when_the_store_has_lost_what_comes_next(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis, shards=1))
    ana, bob, id = await pair(room)
    await follow(bob, id)
    await bob.activity("background")
    # More than a server keeps in memory.
    for _ in range(6):
        await asyncio.gather(*[say(ana, id, "x") for _ in range(60)])
    key = next(name for name in redis.command("KEYS", "*:changes:*").split())
    redis.command("DEL", key)
    await bob.activity("active")
    assert set(await bob.hear("messagesReset")) == {"type", "conversation"}
    held = await follow(bob, id)
    assert [message["seq"] for message in held["messages"]] == list(range(311, 361))
    await say(ana, id, "next")
    event = await bob.hear("message", message=lambda message: message["seq"] == 361)
    assert event["conversationVersion"] > held["messagesVersion"]


async def test_no_id_of_a_user_is_a_backend(room):
    """Ids may be any printable characters: none of them stands for a backend."""
    ana, bob, id = await pair(room)
    sent = await say(ana, id, "between us")
    for name in ("-", "0", "*", "nil"):
        stranger = await room.socket()
        await stranger.connect(room.server.mint.token(name))
        await stranger.refused("forbidden", "getMessages", conversation=id)
        await stranger.refused("forbidden", "deleteMessage", conversation=id, message=sent["id"])
        await stranger.refused("forbidden", "editMessage", conversation=id, message=sent["id"], text="mine")
    assert (await info(bob, id))["lastMessage"] == sent


async def test_what_has_changed_meanwhile_is_told_anew_if_it_is_too_much(room):
    ana, bob, id = await pair(room)
    names = [fresh() for _ in range(60)]
    for name in names:
        await say(ana, id, "a", name)
    held = await follow(bob, id)
    await bob.did("unsubscribe", conversations=[id])
    text = "é" * 4_990
    for number in range(4):
        for name in names:
            edit = dict(conversation=id, message=name, text=f"{text}{number}")
            while (reply := await ana.ask("editMessage", **edit))["type"] == "error":
                await asyncio.sleep(reply["retryAfter"] / 1000)
    entry = await follow(bob, id, after=60, messagesVersion=held["messagesVersion"])
    assert entry["reset"] is True and [message["seq"] for message in entry["messages"]] == list(range(11, 61))
    assert all(message["text"] == f"{text}3" and message["editCount"] == 4 for message in entry["messages"])
