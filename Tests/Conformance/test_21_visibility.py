"""Visibility between users: settings, contacts and blocks, over the socket and over HTTP, on one server and on two."""

import asyncio
import json
import re

import pytest

from support.api import path
from support.client import ABSENT
from support.patience import eventually
from support.proxy import Proxy
from support.redis import Redis
from support.room import Room
from support.server import Server

SETTINGS = {"linger": 300, "contacts": 5, "blocks": 5, "max_server_message_bytes": 16_384}
UNKNOWN = {"version": 0, "status": "offline"}


class Place:
    """Ana on one server, and her watchers on the other one of the same Redis, or on the same server."""

    def __init__(self, server, other):
        self.server, self.other = server, other
        self.room = Room(server)

    async def meet(self):
        ana = await self.room.come("ana", "phone")
        bob = await self.room.come("bob", "web", at=self.other)
        await ana.update(displayName="Ana")
        await bob.subscribe(ana)
        await bob.sees(ana, status="online")
        await bob.sees_profile(ana, displayName="Ana")
        return ana, bob


@pytest.fixture(scope="module", params=[1, 2])
def servers(request):
    """One server, or two, shared by the module's tests: each test has users of its own."""
    redis = Redis()
    first = Server(SETTINGS, redis=redis)
    second = Server(SETTINGS, redis=redis, directory=first.directory) if request.param == 2 else None
    yield first, second or first
    for server in (second, first):
        if server:
            server.close()
    redis.close()


@pytest.fixture
def place(servers):
    return Place(*servers)


async def ok(client, type, **members):
    assert (await client.did(type, **members))["type"] == "ok"


async def unseen(client, person):
    """Waits until a client has lost access to a user."""
    await client.sees(person, version=0)
    await eventually(lambda: client.profile.get(person.user) is None, "the profile gone")


async def test_everyone_sees_everything_at_first(place):
    ana, bob = await place.meet()
    reply = await ana.did("getVisibility")
    assert reply == {"type": "visibility", "id": reply["id"], "contacts": [], "blocks": [],
                     "visibility": {"presence": "everyone", "lastSeen": "everyone"}}
    await ana.close()
    await bob.sees(ana, status="offline", lastSeen=lambda time: time > 0)


async def test_a_block_takes_effect_on_a_running_subscription_at_once(place):
    ana, bob = await place.meet()
    before = len(bob.log)
    await ok(ana, "block", users=[bob.user])
    await ana.status("busy", text="secret")
    await ana.update(displayName="Secret")
    await unseen(bob, ana)
    # In one direction only.
    await ana.subscribe(bob)
    await ana.sees(bob, status="online")
    await ok(ana, "unblock", users=[bob.user])
    await bob.sees(ana, status="busy", text="secret")
    await bob.sees_profile(ana, displayName="Secret")
    told = [message for message in bob.log[before:] if message["type"] in ("presence", "profile")]
    assert [message["type"] for message in told[:2]] == ["presence", "profile"]
    assert told[0]["presence"] == UNKNOWN and told[1]["profile"] is None
    assert len(told) == 4, told


async def test_a_blocked_user_gets_the_answers_about_an_unknown_user(place):
    ana, bob = await place.meet()
    await ok(ana, "block", users=[bob.user])
    await unseen(bob, ana)
    zed = place.room.name("zed")
    known = {"presence": 7, "profile": 7}

    async def answers(user):
        texts = [await bob.did("get", users=[user]), await bob.did("subscribe", users=[user], known={user: known}),
                 await bob.did("unsubscribe", users=[user]), await bob.did("subscribe", users=[user]),
                 await bob.did("subscribe", users=[user], known={user: {"presence": 0, "profile": 0}})]
        for text in texts:
            del text["id"]
        texts.append((await place.room.api.request("GET", path("users", user), token=place.room.token("bob"))).json)
        many = await place.room.api.request("POST", "/v1/users/get", {"users": [user]}, token=place.room.token("bob"))
        return json.dumps([*texts, many.json]).replace(user, "?")

    assert await answers(ana.user) == await answers(zed)
    answer = await place.room.api.request("GET", path("users", ana.user), token=place.room.backend)
    assert answer.json["presence"]["status"] == "online", "a backend sees everyone"


async def test_nobody_and_contacts(place):
    ana, bob = await place.meet()
    cy = await place.room.come("cy")
    await cy.subscribe(ana)
    await ok(ana, "setVisibility", visibility={"presence": "nobody"})
    await unseen(bob, ana)
    await unseen(cy, ana)
    await ok(ana, "addContacts", users=[bob.user])
    await ok(ana, "setVisibility", visibility={"presence": "contacts"})
    await bob.sees(ana, status="online")
    await bob.sees_profile(ana, displayName="Ana")
    await ana.status("busy")
    await bob.sees(ana, status="busy")
    assert (await cy.truth(ana)) == UNKNOWN
    assert cy.statuses(ana) == ["offline"]
    await ok(ana, "removeContacts", users=[bob.user])
    await unseen(bob, ana)
    # Being in another user's list gives no access to them.
    await ok(bob, "addContacts", users=[ana.user])
    assert (await bob.truth(ana)) == UNKNOWN
    assert (await ana.truth(ana))["status"] == "busy", "everyone sees themselves"


async def test_a_hidden_last_seen(place):
    ana, bob = await place.meet()
    await ok(ana, "setVisibility", visibility={"lastSeen": "nobody"})
    await ana.status("busy")
    await bob.sees(ana, status="busy")
    await ana.close()
    held = await bob.sees(ana, status="offline")
    assert held == UNKNOWN and bob.profile[ana.user]["displayName"] == "Ana"
    assert (await bob.get(ana))[0]["presence"] == UNKNOWN
    again = await place.room.come("ana", "phone")
    await bob.sees(ana, status="busy")
    await ok(again, "setVisibility", visibility={"lastSeen": "everyone"})
    await again.close()
    await bob.sees(ana, status="offline", lastSeen=lambda time: time > 0)


async def test_a_user_who_hides_last_seen_does_not_see_that_of_others(place):
    ana, bob = await place.meet()
    await ana.close()
    await bob.sees(ana, status="offline", lastSeen=lambda time: time > 0)
    await ok(bob, "setVisibility", visibility={"lastSeen": "nobody"})
    await bob.sees(ana, version=0, lastSeen=ABSENT)
    assert (await bob.truth(ana)) == UNKNOWN
    answer = await place.room.api.request("GET", path("users", ana.user), token=place.room.token("bob"))
    assert answer.json["presence"] == UNKNOWN
    second = await place.room.come("bob", "desktop")
    assert (await second.truth(ana)) == UNKNOWN
    await ok(bob, "addContacts", users=[ana.user])
    await ok(bob, "setVisibility", visibility={"lastSeen": "contacts"})
    await bob.sees(ana, lastSeen=lambda time: time > 0)


async def test_all_of_the_users_sessions_are_told(place):
    ana, _ = await place.meet()
    other = await place.room.come("ana", "web", at=place.other)
    await ok(ana, "setVisibility", visibility={"lastSeen": "contacts"})
    for client in (ana, other):
        await client.hear("ownVisibility", visibility={"presence": "everyone", "lastSeen": "contacts"})
    await ok(other, "addContacts", users=["x", "y", "x"])
    await ok(other, "block", users=["z"])
    for client in (ana, other):
        await client.hear("ownVisibility", contacts=2, blocks=1)
    reply = await ana.did("getVisibility")
    assert reply["contacts"] == ["x", "y"] and reply["blocks"] == ["z"]
    # A change without effect is not published.
    before = len(ana.log)
    await ok(ana, "addContacts", users=["x"])
    await ok(ana, "setVisibility", visibility={})
    assert [message["type"] for message in ana.log[before:]] == ["ok", "ok"]


async def test_the_settings_outlive_the_connection(place):
    ana, bob = await place.meet()
    await ok(ana, "block", users=[bob.user])
    await unseen(bob, ana)
    await ana.close()
    await bob.close()
    await place.room.come("ana")
    bob = await place.room.come("bob")
    assert (await bob.subscribe(ana)) == [{"user": ana.user, "presence": UNKNOWN, "profile": None}]


async def test_lists_are_bounded_and_a_refused_change_changes_nothing(place):
    ana, _ = await place.meet()
    await ok(ana, "block", users=["a", "b", "c"])
    await ana.refused("too_many", "block", users=["c", "d", "e", "f"])
    await ok(ana, "block", users=["d", "e"])
    await ana.refused("too_many", "addContacts", users=list("abcdef"))
    await ok(ana, "unblock", users=["a", "nobody"])
    reply = await ana.did("getVisibility")
    assert reply["blocks"] == ["b", "c", "d", "e"] and reply["contacts"] == []


async def test_malformed_settings_are_rejected(place):
    ana, _ = await place.meet()
    await ana.refused("bad_request", "setVisibility")
    await ana.refused("bad_request", "setVisibility", visibility="nobody")
    error = await ana.refused("validation_failed", "setVisibility", visibility={"lastSeen": "friends"})
    assert error["field"] == "visibility.lastSeen"
    for type in ("addContacts", "removeContacts", "block", "unblock"):
        await ana.refused("bad_request", type)
        await ana.refused("validation_failed", type, users=["a b"])


async def test_a_backend_sets_it_all(place):
    ana, bob = await place.meet()
    api, backend = place.room.api, place.room.backend
    answer = await api.request("PATCH", path("users", ana.user, "blocks"), {"add": [bob.user]}, token=backend)
    assert answer.status == 200 and answer.json == {"blocks": 1}
    await unseen(bob, ana)
    await ana.hear("ownVisibility", blocks=1)
    answer = await api.request("PATCH", path("users", ana.user, "blocks"), {"remove": [bob.user]}, token=backend)
    assert answer.json == {"blocks": 0}
    await bob.sees(ana, status="online")
    answer = await api.request("PATCH", path("users", ana.user, "contacts"), {"add": ["x", "y"]}, token=backend)
    assert answer.json == {"contacts": 2}
    answer = await api.request("PATCH", path("users", ana.user, "visibility"), {"presence": "contacts"}, token=backend)
    assert answer.json == {"visibility": {"presence": "contacts", "lastSeen": "everyone"}}
    await unseen(bob, ana)
    answer = await api.request("GET", path("users", ana.user, "visibility"), token=backend)
    assert answer.json == {"visibility": {"presence": "contacts", "lastSeen": "everyone"}, "contacts": ["x", "y"],
                           "blocks": []}
    for name in ("contacts", "blocks", "visibility"):
        answer = await api.request("PATCH", path("users", ana.user, name), {"add": ["x"]}, token=place.room.token("ana"))
        assert answer.status == 403, "it is for backends"
    answer = await api.request("PATCH", path("users", ana.user, "blocks"), {"add": list("abcdef")}, token=backend)
    assert answer.status == 422 and answer.json["code"] == "too_many"


async def test_typing_in_a_group_is_shown_to_all_who_take_part(place):
    ana, bob = await place.meet()
    talk = (await bob.did("createConversation", participants=[ana.user], name="Group"))["conversation"]["id"]
    await bob.watch_typing(talk)
    await ok(ana, "block", users=[bob.user])
    await ana.types(talk)
    await bob.sees_typing(talk, [ana])


async def test_changes_under_way_during_a_block_do_not_arrive_after_it(place):
    ana, bob = await place.meet()
    device = await place.room.come("ana", "desktop", at=place.other)
    for number in range(20):
        changes = [ana.begin("status", status="busy" if each % 2 else "auto", text=f"{number}.{each}")
                   for each in range(6)]
        block = device.begin("block", users=[bob.user])
        changes += [ana.begin("status", status="auto", text=f"{number}.{each}") for each in range(6, 12)]
        await asyncio.gather(block, *changes)
        await ana.status("auto", text="after the block")
        await bob.sees(ana, version=0)
        await ok(device, "unblock", users=[bob.user])
        await bob.sees(ana, text="after the block")
        since = [event["presence"] for event in bob.events("presence", ana)]
        hidden = max(index for index, presence in enumerate(since) if presence == UNKNOWN)
        assert [presence.get("text") for presence in since[hidden + 1:]] == ["after the block"]


async def test_a_long_list_comes_in_parts(start):
    room = Room(start({"max_server_message_bytes": 16_384, "contacts": 400}))
    ana = await room.come("ana")
    many = sorted(f"{'x' * 100}{number:03}" for number in range(400))
    await ok(ana, "addContacts", users=many)
    reply = await ana.did("getVisibility")
    assert reply["contacts"] == many and reply["blocks"] == []
    assert sum(message["type"] == "visibility" for message in ana.log) > 2


async def test_receipts_are_among_the_settings_once_they_were_set(room):
    ana, phone = await room.come("ana"), await room.come("ana", "phone")
    assert "receipts" not in (await ana.did("getVisibility"))["visibility"]
    await ok(ana, "setVisibility", visibility={"receipts": "nobody"})
    settings = {"presence": "everyone", "lastSeen": "everyone", "receipts": "nobody"}
    for client in (ana, phone):
        await client.hear("ownVisibility", visibility=settings)
    assert (await phone.did("getVisibility"))["visibility"] == settings
    await ok(ana, "setVisibility", visibility={"lastSeen": "contacts"})
    await phone.hear("ownVisibility", visibility=settings | {"lastSeen": "contacts"})
    await ok(ana, "block", users=[room.name("eve")])
    await phone.hear("ownVisibility", visibility=settings | {"lastSeen": "contacts"}, blocks=1)
    # A device that connects later is notified too, and backends read and set it.
    assert (await (await room.come("ana", "web")).did("getVisibility"))["visibility"]["receipts"] == "nobody"
    place = f"/v1/users/{ana.user}/visibility"
    answer = await room.api.request("GET", place, token=room.backend)
    assert answer.json["visibility"] == settings | {"lastSeen": "contacts"}
    answer = await room.api.request("PATCH", place, {"receipts": "everyone"}, token=room.backend)
    assert answer.status == 200 and answer.json == {"visibility": settings | {"lastSeen": "contacts", "receipts": "everyone"}}
    await phone.hear("ownVisibility", visibility=answer.json["visibility"])
    refused = await room.api.request("PATCH", place, {"receipts": "contacts"}, token=room.backend)
    assert refused.status == 422 and refused.json["field"] == "receipts"
    error = await ana.refused("validation_failed", "setVisibility", visibility={"receipts": "contacts"})
    assert error["field"] == "visibility.receipts"


async def test_receipts_set_by_a_backend_hold_in_conversations(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    made = (await ana.did("createConversation", participants=[bob.user]))["conversation"]["id"]
    await ana.did("send", conversation=made, message={"id": "m", "text": "x"})
    answer = await room.api.request(
        "PATCH", f"/v1/users/{bob.user}/visibility", {"receipts": "nobody"}, token=room.backend)
    assert answer.status == 200
    await bob.did("mark", conversation=made, read=1)
    held = (await ana.did("getConversation", conversation=made))["conversation"]
    assert "read" not in next(member for member in held["members"] if member["user"] == bob.user)


READS = ("hget", "hmget", "sismember", "smembers", "smismember", "sscan")


async def hiders(room):
    """Users who are hidden from Eve, each in another way; the last one does not exist."""
    eve = await room.come("eve", "web")
    users = {}
    for name, type, members in (
        ("blocks her", "block", {"users": [eve.user]}),
        ("has a long list", "block", {"users": [eve.user] + [f"other-{number}" for number in range(50)]}),
        ("shows contacts", "setVisibility", {"visibility": {"presence": "contacts"}}),
        ("shows nobody", "setVisibility", {"visibility": {"presence": "nobody"}}),
    ):
        user = await room.come(name.replace(" ", "-"), "phone")
        await user.update(displayName=name)
        await ok(user, "addContacts", users=["friend"])
        await ok(user, type, **members)
        await user.close()
        users[name] = user.user
    return eve, users | {"does not exist": room.name("nobody")}


@pytest.mark.parametrize("way", ["socket", "HTTP"])
async def test_a_look_at_who_hides_takes_the_commands_of_a_look_at_nobody(start, way):
    redis = start.redis()
    room = Room(start({"linger": 300}, redis=redis, shards=1))
    eve, users = await hiders(room)

    async def look(user):
        """The commands that read from Redis, and the answer."""
        redis.command("CONFIG", "RESETSTAT")
        if way == "socket":
            [found] = (await eve.did("get", users=[user]))["users"]
        else:
            found = (await room.api.request("GET", path("users", user), token=room.token("eve"))).json
        calls = re.findall(r"cmdstat_(\w+):calls=(\d+)", redis.command("INFO", "commandstats"))
        return {name: int(count) for name, count in calls if name in READS}, found | {"user": None}

    # The server reads Eve's own record once.
    await look(users["does not exist"])
    expected = await look(users["does not exist"])
    for name, user in users.items():
        assert await look(user) == expected, name


class Withholding(Proxy):
    """A way to Redis on which lists of ids are read only when the test allows it."""

    async def carry(self, source, target):
        while data := await source.read(65536):
            for command in (b"*2\r\n$8\r\nSMEMBERS\r\n", b"$5\r\nSSCAN\r\n"):
                before, found, after = data.partition(command)
                if found:
                    target.write(before)
                    await self.open.wait()
                    data = found + after
            target.write(data)
        target.close()


async def test_a_subscription_to_who_hides_is_answered_before_lists_are_read(start):
    redis = start.redis()
    redis.host, redis.mint = "127.0.0.1", None
    async with Withholding(redis) as way:
        way.url = f"redis://127.0.0.1:{way.port}"
        room = Room(await asyncio.to_thread(start, {"linger": 300}, redis=way, shards=1))
        eve, users = await hiders(room)
        friend = await room.come("another", "web")
        for name, user in users.items():
            way.freeze()
            [shown] = (await asyncio.wait_for(eve.did("subscribe", users=[user]), 3))["users"]
            assert shown == {"user": user, "presence": UNKNOWN, "profile": None}, name
            way.open.set()
            # This answer waits for the lists. Others see who blocks Eve alone.
            [seen] = (await friend.did("subscribe", users=[user]))["users"]
            if name in ("blocks her", "has a long list"):
                assert seen["profile"]["displayName"] == name
