"""Staleness: a Redis that does not answer, and one that is unreachable. All times are the defaults, so the server has 5
s."""

import asyncio
import os
import signal
import time

import pytest

from support.patience import PATIENCE, SLACK, eventually, now
from support.room import Room

NOTICED = 5


@pytest.fixture
def redis(start):
    return start.redis()


@pytest.fixture
def room(start, redis):
    # One shard, since each recovers separately, and the messages before `live` are compared literally.
    return Room(start({}, redis=redis, shards=1))


async def hears_stale(*clients):
    began = time.monotonic()
    heard = await asyncio.gather(*[client.hear("stale", within=NOTICED + PATIENCE) for client in clients])
    took = time.monotonic() - began
    assert took < NOTICED + SLACK, f"noticed only after {took:.1f} s"
    for message in heard:
        assert now() - 20_000 < message["since"] < now() + 1_000


async def test_a_silent_redis_is_noticed_and_everything_is_right_when_it_speaks_again(room, redis):
    ana, bob, cy = await room.come("ana"), await room.come("bob", "web"), await room.come("cy")
    profile = await bob.update(displayName="Bob")
    await bob.status("auto", text="Before")
    await ana.subscribe(bob, cy, room.name("dan"))
    await ana.sees(bob, text="Before")
    held = await ana.get(bob)
    redis.stop()
    try:
        # A request whose outcome cannot be known yet.
        unknown = bob.begin("updateProfile", changes={"displayName": "Rob"})
        await hears_stale(ana, bob, cy)
        refused = await unknown
        assert refused["code"] == "unavailable" and refused["message"], refused
        assert refused["outcomeUnknown"] is True, refused
        # It still serves data in memory to connected clients.
        assert await ana.get(bob) == held
        assert await ana.subscribe(bob) == held
        # Other data, and every write, is unavailable.
        for request, members in [
            ("get", {"users": [room.name("stranger")]}),
            ("subscribe", {"users": [room.name("stranger")]}),
            ("updateProfile", {"changes": {"displayName": "Ana"}}),
            ("status", {"status": "busy"}),
            ("createConversation", {"participants": [bob.user]}),
        ]:
            error = await ana.refused("unavailable", request, **members)
            assert error["retryAfter"] > 0
            # The store got no command, so nothing can have been changed.
            assert "outcomeUnknown" not in error, error
        # A client that connects now is notified right after `connected`.
        dan = await room.come("dan", "web")
        await eventually(lambda: len(dan.log) > 1, "what follows connected")
        assert [message["type"] for message in dan.log[:2]] == ["connected", "stale"]
        answer = await room.api.request("GET", "/readyz")
        assert answer.status == 503, answer
        assert (await room.api.request("GET", "/healthz")).status == 200
        answer = await room.api.request("GET", f"/v1/users/{room.name('stranger')}", token=room.backend)
        assert answer.status == 503 and answer.json["code"] == "unavailable", answer
        await cy.close()
    finally:
        redis.go_on()
    await asyncio.gather(*[client.hear("live", within=2 * PATIENCE) for client in (ana, bob, dan)])
    # First the changes, then `live`.
    kinds = [message["type"] for message in ana.log]
    told = ana.log[kinds.index("stale"):kinds.index("live")]
    changed = {event["user"]: event["presence"]["status"] for event in told if event["type"] == "presence"}
    assert changed.get(dan.user) == "online" and changed.get(cy.user) == "offline", told
    assert bob.user not in changed, "bob flapped"
    assert ana.presence[bob.user] == held[0]["presence"]
    assert (await ana.get(bob))[0]["profile"]["displayName"] in ("Bob", "Rob")
    assert (await ana.get(bob))[0]["profile"]["createdAt"] == profile["createdAt"]
    await bob.status("busy")
    await ana.sees(bob, status="busy")
    await eventually(lambda: ready(room), "ready again")


async def ready(room):
    return (await room.api.request("GET", "/readyz")).status == 200


async def writes_under_way(room, clients):
    """Begins a change of every kind, on the sockets and over HTTP, and returns the answer to each. Each has a
    connection of its own, because the requests of one connection would wait for each other."""
    requests = [
        ("updateProfile", {"changes": {"displayName": "Ana"}}), ("status", {"status": "busy"}),
        ("createConversation", {"participants": [room.name("bob")]}), ("block", {"users": [room.name("eve")]}),
        ("createConversation", {"participants": [room.name("bob")], "key": "k"}),
        ("setVisibility", {"visibility": {"lastSeen": "contacts"}}), ("addContacts", {"users": [room.name("bob")]}),
    ]
    received = await room.api.metric("presence_messages_received_total")
    begun = [client.begin(request, **members) for client, (request, members) in zip(clients, requests)]
    reading = clients[-1].begin("getVisibility")
    name = room.name("cy")
    calls = [
        ("PATCH", f"/v1/users/{name}/profile", {"displayName": "Cy"}), ("POST", f"/v1/users/{name}/disconnect", None),
        ("PUT", f"/v1/conversations/{name}/participants", {"participants": [name, room.name("dan")]}),
        ("PATCH", f"/v1/users/{name}/visibility", {"lastSeen": "nobody"}),
    ]
    over_http = [asyncio.create_task(room.api.request(method, path, body, token=room.backend))
                 for method, path, body in calls]
    seeing = asyncio.create_task(room.api.request("GET", f"/v1/users/{name}/visibility", token=room.backend))
    wanted = len(begun) + len(over_http) + 2

    async def all_sent():
        # The server's own commands are pending too, so these alone prove nothing.
        has_all = await room.api.metric("presence_messages_received_total") >= received + len(begun) + 1
        return has_all and await room.api.metric("presence_redis_commands_pending") >= wanted

    await eventually(all_sent, "every command on its way to Redis", within=4)

    async def answers():
        errors = list(zip([request for request, _ in requests], await asyncio.gather(*begun)))
        answers = await asyncio.gather(*over_http)
        errors += [(path, answer.json) for (_, path, _), answer in zip(calls, answers)]
        assert {answer.status for answer in answers} == {503}, answers
        return errors, [await reading, (await seeing).json]

    return answers()


@pytest.mark.parametrize("fate", ["silent", "killed"])
async def test_a_write_under_way_when_redis_is_lost_has_an_unknown_outcome(room, redis, fate):
    clients = [await room.come("ana") for _ in range(8)]
    redis.stop()
    answers = await writes_under_way(room, clients)
    if fate == "killed":
        redis.kill()
    try:
        writes, reads = await answers
    finally:
        if fate == "silent":
            redis.go_on()
    for request, error in writes:
        # A call over HTTP may arrive only after Redis is known to be unreachable, and is then not sent.
        late = fate == "killed" and request.startswith("/") and "nothing was changed" in error["message"]
        assert error.get("code") == "unavailable" and (error.get("outcomeUnknown") is True or late), (request, error)
        assert error["retryAfter"] > 0
    # For a read, no outcome is unknown: it changed nothing.
    for error in reads:
        assert error.get("code") == "unavailable" and "outcomeUnknown" not in error, error


async def test_a_killed_redis_is_noticed_and_what_was_answered_is_there_afterwards(room, redis):
    ana, bob = await room.come("ana"), await room.come("bob")
    profile = await bob.update(displayName="Bob")
    absent = await room.come("cy")
    absent_profile = await absent.update(displayName="Cy")
    await absent.close()
    await ana.subscribe(bob)
    redis.kill()
    await hears_stale(ana, bob)
    await ana.refused("unavailable", "updateProfile", changes={"displayName": "Ana"})
    redis.start()
    await asyncio.gather(*[client.hear("live", within=2 * PATIENCE) for client in (ana, bob)])
    assert [person["profile"] for person in await ana.get(bob, absent)] == [profile, absent_profile]
    assert ana.statuses(bob) == []
    await bob.status("busy")
    await ana.sees(bob, status="busy")


async def test_an_emptied_redis_gets_back_who_is_here(room, redis):
    ana, bob = await room.come("ana"), await room.come("bob", status={"status": "busy", "text": "Here"})
    person, = await ana.subscribe(bob)
    redis.command("FLUSHALL")
    cy = await room.come("cy")
    await eventually(lambda: sees_as(cy, bob, "busy"), "bob busy again", within=2 * PATIENCE)
    assert set(ana.statuses(bob)) <= {"busy"}
    await bob.insists("status", status="auto")
    presence = await ana.sees(bob, status="online")
    assert presence["version"] > person["presence"]["version"]


async def sees_as(client, person, status):
    reply = await client.ask("get", users=[person.user])
    assert reply["type"] == "users" or reply["code"] == "unavailable", reply
    return reply["type"] == "users" and reply["users"][0]["presence"]["status"] == status


async def test_nothing_is_missed_over_broken_connections_to_redis(room, redis):
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.subscribe(bob)
    for number in range(6):
        redis.command("CLIENT", "KILL", "TYPE", ("pubsub", "normal")[number % 2])
        await bob.insists("status", status="busy" if number % 2 else "auto", text=f"{number}")
        await bob.insists("updateProfile", changes={"displayName": f"Bob {number}"})
        await ana.sees(bob, text=f"{number}")
        await ana.sees_profile(bob, displayName=f"Bob {number}")
    assert set(ana.statuses(bob)) <= {"online", "busy"}
    await eventually(lambda: len(ana.events("stale")) == len(ana.events("live")), "as many `live` as `stale`")


async def test_the_servers_own_redis_is_started_again_when_it_dies(start):
    room = Room(start({}))
    ana, bob = await room.come("ana"), await room.come("bob")
    profile = await bob.update(displayName="Bob")
    await ana.subscribe(bob)
    os.kill(room.server.redis_child, signal.SIGKILL)
    await asyncio.gather(*[client.hear("live", within=3 * PATIENCE) for client in (ana, bob)])
    assert (await ana.get(bob))[0]["profile"] == profile
    assert ana.statuses(bob) == []
    await bob.status("busy")
    await ana.sees(bob, status="busy")


async def test_the_servers_own_redis_that_is_silent_is_noticed(start):
    room = Room(start({}))
    ana = await room.come("ana")
    child = room.server.redis_child
    os.kill(child, signal.SIGSTOP)
    try:
        await hears_stale(ana)
    finally:
        os.kill(child, signal.SIGCONT)
    await eventually(lambda: ana.events("live"), "live", within=2 * PATIENCE)
