"""Messages across crashes: acknowledged ones exist, once, for all followers."""

import asyncio

from support.patience import PATIENCE
from support.room import Room
from support.talks import follow, fresh, hears, listed, pair, say, sees, talk

SETTINGS = {"linger": 5_000, "lease": 6_000}


async def test_acknowledged_messages_survive_a_crash_and_a_repetition_is_one_message(start):
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


async def test_a_follower_gets_a_reset_when_the_store_has_lost_the_next_messages(start):
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
