"""The bytes that a user stores are limited per hour, and never use the last of Redis' memory."""

import random

from support.patience import eventually
from support.room import Room
from support.talks import fresh, say, talk

MOST = 20_000


async def send(client, conversation, size):
    """A message whose text has this many bytes as JSON."""
    message = {"id": fresh(), "text": "x" * (size - 2)}
    return await client.ask("send", conversation=conversation, message=message)


async def test_a_user_has_so_many_bytes_of_messages_in_an_hour(start):
    room = Room(start({"messages.bytesPerHour": MOST}, shards=1))
    ana, bob, second = await room.come("ana"), await room.come("bob"), await room.come("ana")
    conversation = (await talk(ana, bob))["id"]
    draw, left = random.Random(5), MOST
    sent = None
    while left > 300:
        size = min(draw.randrange(100, 4_000), left - 200)
        sent = await send(draw.choice([ana, second]), conversation, size)
        assert sent["type"] == "sent", sent
        left -= size
    # One byte too many, and exactly the rest (some are added while the test runs).
    refused = await send(ana, conversation, left + 200)
    assert refused["code"] == "rate_limited" and 0 < refused["retryAfter"] <= 3_600_000
    assert (await send(second, conversation, left))["type"] == "sent"
    for client in (ana, second):
        assert (await send(client, conversation, 300))["code"] == "rate_limited"
    # Edited texts count too.
    edit = await ana.ask(
        "editMessage", conversation=conversation, message=sent["message"]["id"], text="y" * 300)
    assert edit["code"] == "rate_limited"
    assert await room.api.metric("limit_met_total", limit="user_bytes") == 4
    # Everything else works, for this user and for others.
    await say(bob, conversation, "z" * 4_000)
    await bob.subscribe(ana)
    await ana.status("busy")
    await bob.sees(ana, status="busy")


async def test_messages_do_not_take_the_last_of_redis_memory(start):
    redis = start.redis()
    room = Room(start(
        {"messages.bytesPerHour": 0, "user_requests_per_second": 0, "requests_per_second": 0}, redis=redis, shards=1))
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    conversation = (await talk(ana, bob))["id"]
    used = int(next(line for line in redis.command("INFO", "memory").splitlines()
                    if line.startswith("used_memory:")).split(":")[1])
    redis.command("CONFIG", "SET", "maxmemory", str(used + 20_000_000))
    answer = {}
    for _ in range(20_000):
        answer = await send(ana, conversation, 4_900)
        if answer["type"] != "sent":
            break
    assert answer["code"] == "unavailable" and "the store is full" in answer["message"] and answer["retryAfter"] > 0
    # All small requests work, and always: nothing is rejected.
    for number in range(60):
        assert (await send(ana, conversation, 4_900))["code"] == "unavailable"
        await cy.did("status", status="busy" if number % 2 else "auto", text=f"t{number}")
        await cy.did("updateProfile", changes={"displayName": f"Cy {number}"})
        await talk(cy, bob, name=f"Group {number}")
        await room.come(f"new{number}")
    # With room there are messages again.
    redis.command("CONFIG", "SET", "maxmemory", "0")
    await eventually(lambda: sends(ana, conversation), "messages are taken again")


async def sends(client, conversation):
    return (await send(client, conversation, 100))["type"] == "sent"
