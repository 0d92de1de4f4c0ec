"""Answers that are much longer than their requests: one at a time for each user, and charged by their length."""

import asyncio
import itertools

import pytest

from support.patience import eventually
from support.raw import CLOSE, frame, text
from support.room import Room
from support.talks import group, say, talk

SETTINGS = {"user_request_burst": 500, "user_requests_per_second": 1}
MESSAGES = 12
EDITS = 4


def long(number):
    """15 KB."""
    return chr(0x4E00 + number) * 5_000


async def write(client, conversation, numbers):
    """A message of 75 KB, with its earlier texts."""
    sent = await say(client, conversation, long(next(numbers)))
    for _ in range(EDITS):
        await client.did("editMessage", conversation=conversation, message=sent["id"], text=long(next(numbers)))


@pytest.fixture
def room(start):
    return Room(start(SETTINGS, shards=1))


async def conversation(room):
    """A conversation of Ana and Bob; Bob has made no requests yet."""
    ana, bob = await room.come("ana"), await room.come("bob")
    id, numbers = (await talk(ana, bob))["id"], itertools.count()
    for _ in range(MESSAGES):
        await write(ana, id, numbers)
    return bob, id


async def waiting(room):
    return await room.api.metric("long_answers_waiting")


async def test_pages_are_paid_for_by_their_length(room):
    bob, id = await conversation(room)
    phone = await room.come("bob", "phone")
    answers = await asyncio.gather(*[bob.begin("getMessages", conversation=id, limit=100) for _ in range(10)])
    given = [answer for answer in answers if answer["type"] == "messages"]
    refused = [answer for answer in answers if answer["type"] == "error"]
    # 900 KB cost 220 of the 500 tokens; a new token is added each second.
    assert 2 <= len(given) <= 4 and len(given) + len(refused) == 10
    assert {answer["code"] for answer in refused} == {"rate_limited"} and all(answer["retryAfter"] > 0 for answer in refused)
    assert await waiting(room) == 0
    # No other user pays, and Bob pays on each of his connections.
    await (await room.come("cy")).did("get", users=[])
    await phone.refused("rate_limited", "get", users=[])


async def test_so_are_lists_of_conversations(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    numbers = itertools.count()
    for _ in range(MESSAGES):
        await write(ana, (await group(ana, bob))["id"], numbers)
    answers = await asyncio.gather(*[bob.begin("subscribe", conversationList=True) for _ in range(10)])
    assert 2 <= sum(answer["type"] == "subscribed" for answer in answers) <= 4
    assert {answer["code"] for answer in answers if answer["type"] == "error"} == {"rate_limited"}


async def test_answers_keep_the_order_of_their_requests(room):
    bob, id = await conversation(room)
    answers = await asyncio.gather(
        bob.begin("getMessages", conversation=id, limit=100), bob.begin("get", users=[]),
        bob.begin("getMessages", conversation=id, limit=3), bob.begin("get", users=["bob"]),
        bob.begin("getVisibility"), bob.begin("updateProfile", changes={"displayName": "Bob"}))
    assert [answer["type"] for answer in answers] == ["messages", "users", "messages", "users", "visibility", "profileUpdated"]
    ids = [answer["id"] for answer in answers]
    assert ids == sorted(ids)
    come = [message["id"] for message in bob.log if message.get("id") in ids]
    assert [id for id, _ in itertools.groupby(come)] == ids


async def test_a_client_that_leaves_while_an_answer_waits_delays_no_others(room):
    bob, id = await conversation(room)
    raw = await room.raw("bob", receive_buffer=4_096)
    raw.stop_reading()
    for number in range(5):
        raw.writer.write(text({"type": "getMessages", "id": number, "conversation": id, "limit": 1}))
    raw.writer.transport.abort()
    page = await bob.did("getMessages", conversation=id, limit=1)
    assert page["messages"][0]["seq"] == MESSAGES
    await eventually(lambda: none_waits(room), "nothing waits")


async def test_a_client_that_leaves_before_the_answer_pays_for_it(room):
    bob, id = await conversation(room)
    page = text({"type": "getMessages", "id": 2, "conversation": id, "limit": 100})
    # Each is disconnected at once; together they pay for the data read from Redis: 264 of 500 tokens a page.
    for _ in range(8):
        raw = await room.raw()
        await raw.write(text({"type": "connect", "id": 1, "token": room.token("bob")}))
        answer = await raw.read_message()
        if answer["type"] == "error":
            assert answer["code"] == "rate_limited"
            break
        raw.writer.write(page)
        await raw.write(frame(CLOSE, b"\x03\xe8"))
        raw.abort()
        await eventually(lambda: none_waits(room), "nothing waits")
    refused = await bob.refused("rate_limited", "getMessages", conversation=id, limit=100)
    assert refused["retryAfter"] > 0
    # No other user pays.
    assert (await (await room.come("ana")).did("getMessages", conversation=id, limit=1))["type"] == "messages"


async def none_waits(room):
    return await waiting(room) == 0
