"""Changes that a replica must have (`redis.wait`), with a replica that hangs."""

import asyncio
import time

import pytest

from support.deployments import Cluster, Deployment, wait_until
from support.patience import SLACK
from support.room import Room

SETTINGS = {"linger": 10_000, "lease": 10_000, "redis.wait": 1}
FEW = "too few replicas have changes redis.wait=1 replicas=0"
PATIENCE_OF_SERVERS = 2.5
"""Half of commandTimeout: within this time a change is confirmed or has an unknown outcome."""


class Replicated(Deployment):
    """A master and a replica, without sentinels."""

    def __init__(self):
        super().__init__()
        self.master = self.node("master", ["save \"\"", "repl-diskless-sync-delay 0"])
        self.replica = self.node("replica", ["save \"\"", f"replicaof 127.0.0.1 {self.master.port}"])
        wait_until(lambda: "state=online" in self.master.command("INFO", "replication"), "the replica is in step")
        self.url = f"redis://127.0.0.1:{self.master.port}"
        self.replicas = [self.replica]

    def leases(self):
        return {name for name in self.master.command("HKEYS", "leases").split("\n") if name != "swept"}


class ReplicatedCluster(Cluster):
    def __init__(self):
        super().__init__(1)
        self.replicas = self.nodes[3:]

    def leases(self):
        owner, _ = self.owner("leases")
        return {name for name in owner.command("HKEYS", "leases").split("\n") if name != "swept"}


@pytest.fixture(params=[Replicated, ReplicatedCluster], ids=["one_server", "cluster"])
def redis(request):
    deployment = request.param()
    yield deployment
    deployment.close()


async def test_a_replica_that_hangs_makes_changes_unavailable_and_nothing_else(start, redis):
    server = start(SETTINGS, redis=redis, shards=2)
    other = start(SETTINGS, redis=redis, directory=server.directory, shards=2)
    room = Room(server)
    watchers = [await room.come(f"watcher{number}", at=(server, other)[number % 2]) for number in range(6)]
    writers = [await room.come(f"writer{number}", at=(server, other)[number % 2]) for number in range(20)]
    for watcher in watchers:
        await watcher.subscribe(*writers)
    for writer in writers:
        await writer.insists("status", status="busy", text="Before")
    leases = redis.leases()
    for replica in redis.replicas:
        replica.stop()

    slowest, refused = 0.0, 0
    read = 0.0
    until = time.monotonic() + 8

    async def write(writer):
        nonlocal slowest, refused
        number = 0
        while time.monotonic() < until:
            number += 1
            began = time.monotonic()
            reply = await writer.ask("status", status="busy", text=f"Try {number}")
            slowest = max(slowest, time.monotonic() - began)
            assert reply.get("code") == "unavailable" and reply["retryAfter"] > 0, reply
            assert "unknown" in reply["message"], reply
            refused += 1

    async def look():
        nonlocal read
        number = 0
        while time.monotonic() < until:
            # Data not in memory, and a new user: both requests need Redis.
            number += 1
            began = time.monotonic()
            guest = await room.come(f"guest{number}", at=(server, other)[number % 2])
            await guest.get(room.name(f"nobody{number}"))
            await guest.close()
            read = max(read, time.monotonic() - began)
            await asyncio.sleep(0.2)

    await asyncio.gather(look(), *[write(writer) for writer in writers])
    assert refused >= 40
    assert slowest < PATIENCE_OF_SERVERS + SLACK, slowest
    assert read < PATIENCE_OF_SERVERS / 2 + SLACK, read
    for client in watchers + writers:
        assert not [message for message in client.log if message["type"] in ("stale", "live")]
    assert redis.leases() == leases, "a shard took a new incarnation"
    # The master has them nevertheless, and all watchers saw them.
    await watchers[0].sees(writers[0], text=lambda text: text.startswith("Try"))
    assert "no answer within" not in server.whole_log() + other.whole_log()
    for replica in redis.replicas:
        replica.go_on()
    for number, writer in enumerate(writers):
        await writer.insists("status", status="busy", text=f"After {number}")
    for watcher in watchers:
        for number, writer in enumerate(writers):
            await watcher.sees(writer, text=f"After {number}")


async def test_a_change_is_confirmed_though_redis_has_forgotten_the_scripts(start):
    redis = Replicated()
    try:
        room = Room(start(SETTINGS, redis=redis, shards=1))
        bob = await room.come("bob")
        for number in range(5):
            assert redis.master.command("SCRIPT", "FLUSH") == "OK"
            await bob.status("busy", text=f"Number {number}")
            assert redis.master.command("SCRIPT", "FLUSH") == "OK"
            await bob.update(displayName=f"Bob {number}")
    finally:
        redis.close()


async def test_without_a_replica_changes_are_refused_in_time(start):
    redis = Replicated()
    try:
        room = Room(start(SETTINGS, redis=redis, shards=1))
        bob = await room.come("bob")
        await bob.status("busy")
        assert "too few replicas" not in room.server.whole_log()
        redis.replica.kill()
        began = time.monotonic()
        refusal = await bob.refused("unavailable", "status", status="auto")
        assert "unknown" in refusal["message"] and time.monotonic() - began < PATIENCE_OF_SERVERS + SLACK
        await bob.get("nobody")
        await room.server.wait_for_log(FEW)
        for _ in range(3):
            await bob.refused("unavailable", "status", status="auto")
        assert room.server.whole_log().count("too few replicas") == 1, "the log is not flooded"
        # A new server reports it before the first change.
        await start(SETTINGS, redis=redis, shards=1).wait_for_log(FEW)
    finally:
        redis.close()
