"""The cost of requests, by their ids or by their length, and the pending bytes that one user may have."""

import asyncio

from support.patience import eventually
from support.room import Room
from support.talks import fresh, group, talk

LONG = "\U0001F468‍\U0001F469‍\U0001F467" * 1_130
"""20 KB, and fewer characters than a message may have."""

MANY = [{"id": f"a{number}", "kind": "image", "url": "https://example.org/" + "p" * 2_000,
         "thumbnailURL": "https://example.org/" + "q" * 2_000, "sizeBytes": 1} for number in range(10)]
"""Attachments whose addresses have 40 KB."""


async def send(client, conversation, text="hello", **more):
    return await client.ask("send", conversation=conversation, message={"id": fresh(), "text": text} | more)


async def test_a_long_message_costs_by_its_length(start):
    room = Room(start({"user_request_burst": 100, "user_requests_per_second": 1}, shards=1))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await group(ana, bob))["id"]
    # 41 KB are ten full 4 KiB, and one more for the request.
    answers = [await send(ana, id, attachments=MANY) for _ in range(11)]
    sent = [answer["type"] for answer in answers].count("sent")
    assert 8 <= sent <= 9, answers[-1]
    assert {answer["code"] for answer in answers[sent:]} == {"rate_limited"}
    # A short request fits into the rest.
    assert (await send(ana, id))["type"] == "sent"
    assert (await send(bob, id))["type"] == "sent"


async def test_ids_cost_as_ids_however_long_they_are(start):
    room = Room(start({"user_request_burst": 100, "user_requests_per_second": 1}, shards=1))
    ana = await room.come("ana")
    # 100 ids of 128 bytes are 13 KB: 11 requests, and not 4 more.
    ids = [f"{number}-".ljust(128, "x") for number in range(100)]
    answers = [await ana.ask("get", users=ids) for _ in range(10)]
    assert [answer["type"] for answer in answers].count("users") >= 9, answers[-1]


async def test_one_user_s_long_messages_leave_room_for_the_others(start):
    """Redis does not answer, and one user has as many long messages pending as connections."""
    redis = start.redis()
    settings = {"redis_bytes": 4_000_000, "requests_per_second": 0, "user_requests_per_second": 0}
    room = Room(start(settings, redis=redis, shards=1))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    connections = [await room.come("ana") for _ in range(40)]
    redis.stop()
    try:
        flood = [asyncio.ensure_future(send(each, id, LONG, attachments=MANY)) for each in connections]
        await eventually(lambda: sum(each.done() for each in flood) >= 20, "Ana has had her share", every=0.005)
        assert {each.result()["code"] for each in flood if each.done()} == {"unavailable"}
        # Bob's is not rejected.
        answer = asyncio.ensure_future(send(bob, id, LONG, attachments=MANY))
        await asyncio.wait([answer], timeout=0.3)
        assert not answer.done()
    finally:
        redis.go_on()
    assert (await answer)["type"] == "sent"
    answers = await asyncio.gather(*flood)
    assert 10 <= [each["type"] for each in answers].count("sent") <= 20


async def test_reconnecting_with_long_lists_slows_no_others(start):
    redis = start.redis()
    room = Room(start({"linger": 500}, redis=redis, shards=1))
    ana = await room.come("ana")
    for first in range(0, 5_000, 1_000):
        await ana.did("block", users=[f"person-{number}" for number in range(first, first + 1_000)])
    await ana.close()
    redis.command("CONFIG", "RESETSTAT")
    for _ in range(20):
        ana = await room.come("ana")
        await ana.close()
    calls = redis.command("INFO", "commandstats")
    read = sum(int(line.split("calls=")[1].split(",")[0]) for line in calls.splitlines()
               if line.startswith(("cmdstat_sscan:", "cmdstat_smembers:")))
    # Read once, in pieces of a thousand, and not twenty times.
    assert read <= 7, calls
