"""Redis with sentinels, and as a cluster. Masters die, and slots move under load."""

import asyncio
import json

import pytest

from support.deployments import Cluster, Sentinels
from support.patience import A_MOMENT, PATIENCE, SLACK, eventually
from support.room import Room
from support.server import run

SETTINGS = {"linger": 10_000, "lease": 10_000}


@pytest.fixture
def deploy():
    started = []

    def deploy(make, *arguments):
        started.append(make(*arguments))
        return started[-1]

    yield deploy
    for each in reversed(started):
        each.close()


# A delayed sentinel, as on a busy machine, does nothing for 30 s.
FOLLOWS = 100


class Pair(Room):
    """A room on two servers at one deployment."""

    def __init__(self, start, redis):
        super().__init__(start(SETTINGS, redis=redis, shards=1))
        self.redis = redis
        self.other = start(SETTINGS, redis=redis, directory=self.server.directory, shards=1)


async def fails_over(room, kill, by_hand=False):
    """A failover with users on both servers: no user flickers, and afterwards everything is as before."""
    ana, eve = await room.come("ana"), await room.come("eve", at=room.other)
    people = [await room.come(f"person{number}", "web", at=(room.server, room.other)[number % 2]) for number in range(20)]
    for number, person in enumerate(people):
        await person.update(displayName=f"Person {number}")
    await people[0].status("busy", text="At work")
    for watcher in (ana, eve):
        await watcher.subscribe(*people)
        await watcher.sees(people[0], status="busy", text="At work")
    before = {watcher: len(watcher.events("presence")) for watcher in (ana, eve)}
    held = await ana.get(*people)
    kill()
    await asyncio.gather(*[client.hear("stale", within=5 + SLACK) for client in (ana, eve, people[0])])
    if not by_hand:
        # The detection takes a second; by hand, or on a busy machine, the failover is over before the request.
        reply = await ana.ask("status", status="busy")
        assert reply["type"] == "ok" or reply["code"] == "unavailable" and reply["retryAfter"] > 0, reply
    await asyncio.gather(*[client.hear("live", within=2 * PATIENCE) for client in (ana, eve, people[0])])
    for watcher in (ana, eve):
        told = watcher.events("presence")[before[watcher]:]
        assert not told, f"somebody flapped: {told}, after {held}"
    assert [person["profile"] for person in await eve.get(*people)] == [person["profile"] for person in held]
    for number, person in enumerate(people):
        await person.insists("status", status="busy", text=f"After {number}")
    for watcher in (ana, eve):
        for number, person in enumerate(people):
            await watcher.sees(person, status="busy", text=f"After {number}")
    await people[1].close()
    for watcher in (ana, eve):
        await watcher.sees(people[1], status="offline")
    assert await ana.get(*people) == await eve.get(*people)


async def test_a_dead_master_is_replaced_by_its_sentinels_and_nobody_flaps(start, deploy):
    redis = deploy(Sentinels)
    room = Pair(start, redis)
    await fails_over(room, redis.master.kill)
    # The old master returns as a replica and receives no writes.
    redis.master.start()
    await eventually(lambda: redis.master.command("ROLE").startswith("slave"), "the old master follows", within=FOLLOWS)
    bob = await room.come("bob")
    await bob.update(displayName="Bob")
    await eventually(lambda: bob.user in redis.master.command("KEYS", f"*:user:{bob.user}"), "bob is kept at both")
    await is_well(room)


async def test_a_master_that_hangs_is_replaced_and_left_alone_when_it_goes_on(start, deploy):
    redis = deploy(Sentinels)
    room = Pair(start, redis)
    await fails_over(room, redis.master.stop)
    redis.master.go_on()
    await eventually(lambda: redis.master.command("ROLE").startswith("slave"), "the old master follows", within=FOLLOWS)


async def test_a_failover_by_hand_is_followed(start, deploy):
    redis = deploy(Sentinels)
    room = Pair(start, redis)
    await fails_over(room, lambda: redis.sentinels[0].command("SENTINEL", "FAILOVER", "people"), by_hand=True)


async def test_a_server_starts_with_most_sentinels_dead(start, deploy):
    redis = deploy(Sentinels)
    for sentinel in redis.sentinels[:2]:
        sentinel.kill()
    room = Room(start(SETTINGS, redis=redis))
    bob = await room.come("bob")
    await bob.status("busy")


async def test_a_dead_master_of_a_cluster_is_replaced_and_nobody_flaps(start, deploy):
    redis = deploy(Cluster, 1)
    room = Pair(start, redis)
    owner, _ = redis.owner("leases")
    other = next(master for master in redis.masters if master is not owner)
    await fails_over(room, other.kill)
    await is_well(room)


async def test_the_master_of_the_leases_is_replaced(start, deploy):
    redis = deploy(Cluster, 1)
    room = Pair(start, redis)
    owner, _ = redis.owner("leases")
    await fails_over(room, owner.kill)


async def test_a_master_of_a_cluster_that_hangs_is_replaced(start, deploy):
    redis = deploy(Cluster, 1)
    await fails_over(Pair(start, redis), redis.masters[1].stop)


async def test_a_subscription_that_breaks_at_one_master_is_noticed(start, deploy):
    redis = deploy(Cluster)
    room = Room(start(SETTINGS, redis=redis, shards=1))
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.subscribe(bob)
    for master in redis.masters:
        assert int(master.command("CLIENT", "KILL", "TYPE", "pubsub")) == 1
        await ana.hear("stale", within=5)
        await ana.hear("live")
        await bob.status("busy", text=f"{master.port}")
        await ana.sees(bob, text=f"{master.port}")
    assert set(ana.statuses(bob)) == {"busy"}


@pytest.mark.parametrize("form", [Sentinels, Cluster])
async def test_passwords_are_used_where_they_belong(start, deploy, form):
    redis = deploy(form, 0, "s3cret") if form is Cluster else deploy(form, "s3cret")
    room = Room(start(SETTINGS, redis=redis))
    bob = await room.come("bob")
    await bob.status("busy")
    assert "s3cret" not in room.server.logged()


async def test_a_replica_that_takes_over_by_hand_is_followed(start, deploy):
    redis = deploy(Cluster, 1)
    room = Pair(start, redis)
    owner, _ = redis.owner("leases")
    replica = redis.replica_of(owner)
    await fails_over(room, lambda: replica.command("CLUSTER", "FAILOVER"), by_hand=True)


async def test_slots_move_under_load_and_no_change_is_lost(start, deploy):
    redis = deploy(Cluster)
    room = Pair(start, redis)
    watchers = [await room.come("ana"), await room.come("eve", at=room.other)]
    people = [await room.come(f"person{number}", "web", at=(room.server, room.other)[number % 2]) for number in range(20)]
    for watcher in watchers:
        await watcher.subscribe(*people)
    moving = asyncio.Event()
    done = asyncio.Event()
    said = {}

    async def load(person):
        number = 0
        while not done.is_set():
            number += 1
            # Held while the slot moves, never rejected and never lost.
            await person.status("busy", text=f"{number}")
            said[person] = f"{number}"
            moving.set()
            await asyncio.sleep(0.03)

    loads = [asyncio.create_task(load(person)) for person in people]
    await asyncio.wait_for(moving.wait(), PATIENCE)
    keys = {line.split("}")[0] + "}" for master in redis.masters for line in master.command("KEYS", "{*:user:*").split()}
    slots = sorted({redis.owner(key)[1] for key in list(keys)[:3]} | {redis.owner("leases")[1]})

    def move_all():
        for slot in slots:
            source = next(master for master in redis.masters if redis.serves(master, slot))
            target = redis.masters[(redis.masters.index(source) + 1) % 3]
            redis.move(slot, source, target, pause=0.02)

    await asyncio.to_thread(move_all)
    before = dict(said)
    await eventually(lambda: all(said[person] != before[person] for person in people), "all say more after the move")
    done.set()
    await asyncio.gather(*loads)
    for watcher in watchers:
        for person in people:
            await watcher.sees(person, status="busy", text=said[person])
        assert {status for person in people for status in watcher.statuses(person)} == {"busy"}
        assert not [message for message in watcher.log if message["type"] == "stale"], "a slot that moves is no break"
    errors = "".join(master.command("INFO", "errorstats") for master in redis.masters)
    assert any(f"errorstat_{answer}" in errors for answer in ("MOVED", "ASK", "TRYAGAIN")), "the load met no move"
    # Messages published at the new masters arrive.
    await people[0].status("auto")
    await people[0].close()
    for watcher in watchers:
        await watcher.sees(people[0], status="offline")
    assert await watchers[0].get(*people) == await watchers[1].get(*people)
    await is_well(room)


@pytest.mark.parametrize("form", [Sentinels, Cluster])
async def test_the_doctor_finds_a_ghost_on_whichever_master_and_ends_it(start, deploy, form):
    redis = deploy(form)
    room = Pair(start, redis)
    ana, eve = await room.come("ana"), await room.come("eve", at=room.other)
    people = [await room.come(f"person{number}") for number in range(6)]
    for watcher in (ana, eve):
        await watcher.subscribe(*people)
    status, report = await doctor(room)
    assert status == 0 and report["healthy"] and report["redis"] == redis.url and report["sessions"] == 8, report
    masters = redis.masters if form is Cluster else [redis.master]
    ghosts = []
    for person in people:
        master, key = next(
            (master, key) for master in masters for key in master.command("KEYS", f"*:sessions:{person.user}").split())
        master.command("HSET", key, "left-over", "nobody-s - phone a 1")
        ghosts.append(f"{key} left-over")
        await person.close()
    await asyncio.sleep(A_MOMENT)
    assert all(watcher.statuses(person) == ["online"] for watcher in (ana, eve) for person in people)
    status, report = await doctor(room)
    assert status == 1 and {finding["kind"]: finding["subjects"] for finding in report["findings"]}["ghost"] == sorted(ghosts)
    status, report = await doctor(room, "--repair")
    assert status == 0 and report["healthy"], report
    for watcher in (ana, eve):
        for person in people:
            await watcher.sees(person, status="offline")


async def is_well(room):
    status, report = await doctor(room)
    assert status == 0, report


async def doctor(room, *arguments):
    """Exit status and report of `presenced doctor` with the settings of the room's server."""
    command = room.server.command
    ended = await asyncio.to_thread(
        run, "doctor", "--json", "--redis", room.redis.url, *command[command.index("--config"):][:2], *arguments)
    return ended.returncode, json.loads(ended.stdout or "null") or ended.stderr


async def test_a_cluster_whose_master_evicts_keys_is_refused(deploy, tmp_path):
    redis = deploy(Cluster)
    redis.masters[2].command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    ended = await asyncio.to_thread(
        run, "serve", "--port", "0", "--data-dir", str(tmp_path), "--redis", redis.url)
    assert ended.returncode != 0 and "noeviction" in ended.stderr, ended


async def test_an_address_that_makes_no_sense_is_refused(tmp_path):
    for url, word in [
        ("redis+sentinel://localhost", "name of the master"),
        ("redis+sentinel://:hunter2@localhost/people?colour=blue", "sentinel_username"),
        ("redis+cluster://localhost/3", "database"),
        ("redis+cluster://a,,b", "host"),
        ("rediss+cluster://localhost?x", "takes no"),
        ("redis+carrier-pigeon://localhost", "scheme"),
    ]:
        ended = await asyncio.to_thread(run, "serve", "--port", "0", "--data-dir", str(tmp_path), "--redis", url)
        assert ended.returncode != 0 and word in ended.stderr and "hunter2" not in ended.stderr, ended
