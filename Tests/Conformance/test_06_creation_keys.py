"""Repeated creations: the creator's `key` gives the same conversation."""

import asyncio

import pytest

from support.client import CLOSED
from support.patience import PATIENCE
from support.room import Room

SETTINGS = {"conversations": 3, "linger": 5_000, "lease": 6_000}


async def create(client, key, *others, **members):
    """A group, also of two: each pair has only one direct conversation, whatever the key."""
    members = {"name": "Group"} | members
    return (await client.did("createConversation", participants=list(others), key=key, **members))["conversation"]


async def test_the_same_key_again_is_answered_with_the_conversation_that_was_made_first(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    made = await create(ana, "trip", bob.user)
    again = await create(ana, "trip", bob.user)
    assert again["id"] == made["id"]
    assert again["participants"] == sorted([ana.user, bob.user])
    # With other participants too, and over another connection.
    phone = await room.come("ana", "phone")
    assert (await create(phone, "trip", room.name("cy"), room.name("dan")))["id"] == again["id"]
    # It is one conversation, and it works.
    await bob.watch_typing(made["id"])
    await phone.types(made["id"])
    await bob.sees_typing(made["id"], [ana])


async def test_other_keys_other_creators_and_no_key_make_conversations_of_their_own(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    made = [await create(ana, "k", bob.user), await create(ana, "K", bob.user), await create(bob, "k", ana.user)]
    made += [(await bob.did("createConversation", participants=[ana.user], name="Group"))["conversation"] for _ in range(2)]
    assert len({conversation["id"] for conversation in made}) == 5


async def test_a_repeated_creation_counts_once_and_is_answered_at_the_limit_too(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    made = [await create(ana, f"k{number}", bob.user) for number in range(3) for _ in range(3)]
    assert len({conversation["id"] for conversation in made}) == 3
    await ana.refused("too_many", "createConversation", participants=[bob.user], name="Group", key="k3")
    assert (await create(ana, "k0", bob.user))["id"] == made[0]["id"]
    # Rejected requests do not use up a key.
    await ana.refused("too_many", "createConversation", participants=[bob.user], name="Group", key="k3")


async def test_repetitions_at_the_same_time_make_one_conversation(room):
    bob = await room.come("bob")
    clients = [await room.come("ana", {"id": f"d{number}", "kind": "web"}) for number in range(5)]
    begun = [client.begin("createConversation", participants=[bob.user], name="Group", key="now")
             for client in clients for _ in range(10)]
    answers = await asyncio.gather(*begun)
    assert {answer["type"] for answer in answers} == {"conversationCreated"}
    assert len({answer["conversation"]["id"] for answer in answers}) == 1
    # It was counted once: two more may be created.
    for key in ("second", "third"):
        await create(clients[0], key, bob.user)
    await clients[0].refused("too_many", "createConversation", participants=[bob.user], name="Group")


@pytest.mark.parametrize("key", ["", "a b", "é", "k" * 65, "a\n", "\x7f"], ids=repr)
async def test_a_malformed_key_is_rejected(room, key):
    error = await (await room.come("ana")).refused(
        "validation_failed", "createConversation", participants=[room.name("bob")], key=key)
    assert error["field"] == "key"


@pytest.mark.parametrize("key", [7, True, [], {}, 1.5], ids=repr)
async def test_a_key_of_another_kind_is_refused(room, key):
    await (await room.come("ana")).refused(
        "bad_request", "createConversation", participants=[room.name("bob")], key=key)


async def test_the_longest_key_and_the_strangest_characters_are_kept_apart(room):
    ana = await room.come("ana")
    keys = ["k" * 64, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "k" * 63]
    made = [(await create(ana, key, room.name("bob")))["id"] for key in keys for _ in range(2)]
    assert made[0::2] == made[1::2] and len(set(made)) == 3


async def test_the_answer_has_the_present_members(room):
    ana = await room.come("ana")
    made = await create(ana, "trip", room.name("bob"))

    async def put(*people):
        answer = await room.api.request(
            "PUT", f"/v1/conversations/{made['id']}/participants", {"participants": list(people)}, token=room.backend)
        assert answer.status == 200, answer

    await put(ana.user, room.name("cy"))
    again = await create(ana, "trip", room.name("bob"))
    assert again["id"] == made["id"] and again["participants"] == sorted([ana.user, room.name("cy")])
    # Users outside it get nothing about it.
    await put(room.name("bob"), room.name("cy"))
    await ana.refused("forbidden", "createConversation", participants=[room.name("bob")], name="Group", key="trip")
    answer = await room.api.request(
        "DELETE", f"/v1/conversations/{made['id']}/participants", token=room.backend)
    assert answer.status == 204, answer
    await ana.refused("forbidden", "createConversation", participants=[room.name("bob")], name="Group", key="trip")


async def test_a_key_outlives_the_servers_and_redis(start):
    room = Room(start(SETTINGS))
    bob = room.name("bob")
    made = await create(await room.come("ana"), "trip", bob)
    room.server.kill()
    room.server.start()
    assert (await create(await room.come("ana"), "trip", bob))["id"] == made["id"]
    room.server.stop()
    room.server.start()
    assert (await create(await room.come("ana"), "trip", bob))["id"] == made["id"]


async def test_a_creation_whose_answer_is_lost_can_be_repeated(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis, shards=1))
    ana, bob = await room.come("ana"), room.name("bob")
    for number in range(3):
        redis.stop()
        try:
            lost = ana.begin("createConversation", participants=[bob], name="Group", key=f"k{number}")
            error = await lost
            assert error["code"] == "unavailable" and error["outcomeUnknown"] is True, error
        finally:
            redis.go_on()
        # Any number of repetitions creates no second one.
        made = {(await ana.insists("createConversation", participants=[bob], name="Group", key=f"k{number}"))["conversation"]["id"]
                for _ in range(3)}
        assert len(made) == 1, made
    # Three were requested, and three were counted, whatever the outcome of each first attempt.
    await ana.hear("live", within=2 * PATIENCE)
    error = await ana.ask("createConversation", participants=[bob], name="Group")
    assert error is not CLOSED and error.get("code") == "too_many", error
