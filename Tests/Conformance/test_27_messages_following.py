"""Following messages: from the newest or from a position, in order, in parts, and again after a reset."""

import asyncio
import json

from support.room import Room
from support.talks import follow, fresh, heard, hears, pair, say, talk

SETTINGS = {"linger": 5_000, "lease": 6_000}


async def test_a_subscription_has_the_newest_50_messages_or_those_after_its_position(room):
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


async def test_messages_are_followed_where_typing_is_switched_off(start):
    # A conversation counts once, even without watching its typing.
    room = Room(start(SETTINGS | {"disabledFeatures": ["typing"], "subscriptions": 1, "subscribe_batch": 1}))
    ana, bob, id = await pair(room)
    await say(ana, id, "one")
    held = await follow(bob, id, after=0)
    assert [message["text"] for message in held["messages"]] == ["one"] and held["typing"] == []
    await say(ana, id, "two")
    assert [event["message"]["text"] for event in await hears(bob, id, 1)] == ["two"]
    await bob.did("unsubscribe", conversations=[id])
    await ana.refused("unknown_type", "typing", conversation=id, active=True)
    await ana.refused("unknown_type", "subscribe", conversations=[id])
    eve = await room.come("eve")
    await eve.refused("forbidden", "subscribe", conversations=[{"id": id, "after": 0}])


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
    # From an event's position, only later messages.
    later = await follow(await room.come("bob"), id, after=6, messagesVersion=events[1]["conversationVersion"])
    assert [message["seq"] for message in later["messages"]] == [4]


async def test_an_unknown_position_is_reset(room):
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


async def test_too_many_changes_meanwhile_cause_a_reset(room):
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
