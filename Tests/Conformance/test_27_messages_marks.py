"""Marks: how far a member has read, unread counts, and receipts that are off."""

import asyncio

import pytest

from support.patience import A_MOMENT
from support.talks import group, info, listed, marks, pair, say, sees, talk

SETTINGS = {"linger": 5_000, "lease": 6_000}


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
    # Sending counts as reading, and moves no mark.
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


@pytest.mark.parametrize("type, hidden", [
    ("status", {"status": "invisible"}), ("setVisibility", {"visibility": {"presence": "nobody"}}), ("block", {}),
], ids=["invisible", "nobody", "block"])
async def test_delivered_reveals_no_presence(room, type, hidden):
    ana, bob, eve = [await room.come(name) for name in ("ana", "bob", "eve")]
    id = (await group(bob, ana, eve))["id"]
    await listed(eve)
    await say(eve, id)
    await ana.did("mark", conversation=id, delivered=1)
    assert marks(await info(eve, id), ana)["delivered"] == 1
    await ana.did(type, **(hidden or {"users": [eve.user]}))
    await say(eve, id)
    await sees(eve, id, last=2)
    before = len(eve.log)
    await ana.did("mark", conversation=id, delivered=2)
    assert marks(await info(ana, id), ana)["delivered"] == 2
    assert marks(await info(eve, id), ana)["delivered"] == 1
    await asyncio.sleep(A_MOMENT)
    assert not [event for event in eve.log[before:] if event["type"] == "conversation"]
    # A read mark is shown as before.
    await ana.did("mark", conversation=id, read=2)
    assert marks(await info(eve, id), ana)["read"] == 2
