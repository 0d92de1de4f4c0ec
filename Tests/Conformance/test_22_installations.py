"""Two installations in one Redis: in two databases, and under two prefixes. Neither gets any event of the other."""

import json
import subprocess

import pytest

from support.api import path
from support.patience import eventually, now
from support.room import Room
from support.server import run

SETTINGS = {"linger": 300}
AHEAD = 10**10
"""Far ahead of every real version, in ms."""

PLACES = {
    "databases": [("/0", ""), ("/1", "")],
    "prefixes": [("/0", "one"), ("/0", "two")],
    "one without a prefix": [("/2", ""), ("/2", "two")],
}


class Place:
    """The place of one installation."""

    def __init__(self, redis, database, prefix):
        self.redis, self.database, self.prefix = redis, database.removeprefix("/"), prefix
        self.url = redis.url + database
        self.keys = f"{prefix}:" if prefix else ""

    def command(self, *words):
        return self.redis.command(*map(str, words), database=self.database)

    def key_of(self, kind, user):
        return self.command("KEYS", f"{self.keys}{{p*}}:{kind}:{user}")


class Neighbours:
    """Two installations, with a room whose people have the same ids and tokens in both."""

    def __init__(self, start, places):
        redis = start.redis()
        self.places = [Place(redis, *place) for place in places]
        self.servers = []
        for place in self.places:
            settings = SETTINGS | ({"redis.prefix": place.prefix} if place.prefix else {})
            directory = self.servers[0].directory if self.servers else None
            self.servers.append(start(settings, redis=place, directory=directory, shards=2))
        self.here, self.there = self.servers
        self.room = Room(self.here)


@pytest.fixture(params=PLACES, ids=lambda name: name.replace(" ", "_"))
def neighbours(request, start):
    return Neighbours(start, PLACES[request.param])


async def told(watcher, person):
    """All earlier events of this Redis that concern the watcher have arrived."""
    text = f"After {len(watcher.log)}"
    await person.status("busy", text=text)
    await watcher.sees(person, text=text)


async def test_presence_typing_and_blocks_stay_where_they_are_made(neighbours):
    room, there = neighbours.room, neighbours.there
    names = [room.name(person) for person in ("ana", "bob", "cy")]
    for server in neighbours.servers:
        answer = await Room(server).api.request(
            "PUT", path("conversations", "talk", "participants"), {"participants": names}, token=room.backend)
        assert answer.status in (200, 201), answer
    ana, cy = await room.come("ana"), await room.come("cy")
    ana_there, bob_there = await room.come("ana", at=there), await room.come("bob", at=there)
    for watcher in (ana, ana_there):
        await watcher.subscribe(*names)
        await watcher.watch_typing("talk")
    # There is no bob in this installation.
    await bob_there.status("busy", text="Over there")
    await bob_there.update(displayName="Bob over there")
    await bob_there.types("talk")
    await ana_there.sees(names[1], status="busy", text="Over there")
    await ana_there.sees_profile(names[1], displayName="Bob over there")
    await ana_there.sees_typing("talk", [names[1]])
    await told(ana, cy)
    assert ana.events("presence", names[1]) == [] and ana.events("profile", names[1]) == []
    assert ana.typing["talk"][1] == [] and ana.events_in("talk") == []
    assert (await ana.get(names[1]))[0]["profile"] is None
    # Now there is one, and the other installation's blocks do not apply to them.
    bob = await room.come("bob")
    await ana.sees(bob, status="online")
    reply = await bob_there.did("block", users=[ana.user])
    assert reply["type"] == "ok"
    await ana_there.hear("profile", user=names[1], profile=None)
    await told(ana, cy)
    assert (await ana.truth(bob))["status"] == "online"
    assert not [message for message in bob.log if message["type"] == "ownVisibility"]
    assert (await bob.did("getVisibility"))["blocks"] == []


async def test_disconnections_and_revocations_reach_only_their_installation(neighbours):
    room, there = neighbours.room, neighbours.there
    token = room.token("bob", iat=int(now() / 1000) - 10)
    bob, cy = await room.come("bob", token=token), await room.come("cy")
    await cy.subscribe(bob, cy)
    for call, code in (("disconnect", 4006), ("revokeTokens", 4001)):
        bob_there = await room.come("bob", at=there, token=token)
        answer = await Room(there).api.request("POST", path("users", bob.user, call), token=room.backend)
        assert answer.status == 200 and answer.json["disconnected"] == 1, answer
        await bob_there.closed(code)
        await told(cy, cy)
        assert not bob.reader.done() and cy.events("presence", bob.user) == []
        assert (await cy.truth(bob))["status"] == "online"
    await (await room.come("bob", token=token)).status("auto")


async def test_floors_are_not_shared(neighbours):
    room, there, (place, other) = neighbours.room, neighbours.there, neighbours.places
    bob_there = await room.come("bob", at=there)
    ana_there = await room.come("ana", at=there)
    await ana_there.subscribe(bob_there)
    ahead = int(now()) + AHEAD
    assert other.command("HSET", other.key_of("user", bob_there.user), "presenceVersion", ahead) == "0"
    await bob_there.status("busy")
    await ana_there.sees(bob_there, status="busy", version=lambda version: version > ahead)
    # Each shard has received everything, and takes a new incarnation: it keeps its floors above the versions that it has
    # seen.
    bob, cy = await room.come("bob"), await room.come("cy")
    await bob.subscribe(bob, cy)
    await told(bob, cy)
    place.command("CLIENT", "KILL", "TYPE", "normal")
    await bob.hear("stale")
    await bob.hear("live")
    await bob.insists("status", status="busy")
    assert (await bob.sees(bob, status="busy"))["version"] < ahead - AHEAD / 2


async def test_the_doctor_looks_at_one_installation_only(neighbours):
    room, there = neighbours.room, neighbours.there
    await room.come("bob")
    for person in ("ana", "bob", "cy"):
        await room.come(person, at=there)
    for server, place, users in zip(neighbours.servers, neighbours.places, (1, 3)):
        settings = [word for word in server.command if word.endswith(".yaml")]

        def report():
            looked = run("doctor", "--json", "--redis", place.url, *(["--config", *settings] if settings else []))
            assert looked.returncode in (0, 1), looked.stderr
            return json.loads(looked.stdout)

        found = report()
        assert found["healthy"] and found["users"] == users and found["sessions"] == users, found
    # Data without an owner there is reported.
    wrong = subprocess.run(
        [neighbours.here.command[0], "doctor", "--redis", neighbours.places[0].url], capture_output=True, text=True,
        timeout=30, env={"PRESENCE_REDIS_PREFIX": "nobody", "PATH": "/usr/bin:/bin"})
    assert wrong.returncode == 1 and "redis.prefix" in wrong.stdout, wrong


@pytest.mark.parametrize("prefix", ["{a}", "a:", "é", "x" * 65])
async def test_a_prefix_that_cannot_be_is_refused(tmp_path, prefix):
    file = tmp_path / "presenced.yaml"
    file.write_text("redis:\n  prefix: " + json.dumps(prefix) + "\n")
    refused = run("serve", "--config", str(file), "--data-dir", str(tmp_path))
    assert refused.returncode not in (0, 1) and "redis.prefix" in refused.stderr, refused.stderr


async def test_servers_with_one_prefix_are_one_installation(start):
    redis = start.redis()
    one = start(SETTINGS | {"redis.prefix": "both"}, redis=redis)
    two = start(SETTINGS | {"redis.prefix": "both"}, redis=redis, directory=one.directory)
    room = Room(one)
    ana, bob = await room.come("ana"), await room.come("bob", at=two)
    await ana.subscribe(bob)
    await bob.status("busy", text="Here")
    await ana.sees(bob, text="Here")
    await eventually(lambda: redis.command("KEYS", "*") != "", "there are keys")
    assert all(key.startswith("both:") for key in redis.command("KEYS", "*").split("\n"))
    channels = redis.command("PUBSUB", "CHANNELS", "*").split("\n")
    assert len(channels) > 128 and all(channel.startswith("both:") for channel in channels)
