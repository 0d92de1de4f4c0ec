"""A Redis that rejects commands for a moment: too few replicas, a full memory, a script that runs for too long.
Acknowledged changes are stored; pending state is repeated until Redis accepts it, and then everything is right."""

import asyncio
import subprocess

import pytest

from support.accounts import ON, Accounts
from support.patience import PATIENCE, SLACK, eventually
from support.ports import free_port
from support.processes import end_with_parent
from support.redis_client import ask
from support.room import Room
from support.server import BINARY, run
from support.talks import follow, listed, pair, say

SETTINGS = {"linger": 1_000, "lease": 4_000, "renewal": 500, "sweep": 300, "heartbeat_interval": 1_500, "heartbeat_timeout": 1_000}

FOR_A_MOMENT = [0.3, 2.5, 6.0]
"""Shorter than a renewal, longer than a shard stays live without one, longer than a lease (seconds)."""


@pytest.fixture
def redis(start):
    return start.redis()


@pytest.fixture
def room(start, redis):
    return Room(start(SETTINGS, redis=redis, shards=2))


class Refusing:
    """Redis rejects every write inside this context."""

    def __init__(self, redis, why):
        self.redis, self.why = redis, why

    def __enter__(self):
        if self.why == "too few replicas":
            self.redis.command("CONFIG", "SET", "min-replicas-to-write", "1")
        elif self.why == "full memory":
            self.redis.command("CONFIG", "SET", "maxmemory", "1")
        else:
            self.redis.command("CONFIG", "SET", "busy-reply-threshold", "1")
            self.script = subprocess.Popen(
                ["redis-cli", "-p", str(self.redis.port), "EVAL", "while true do end", "0"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __exit__(self, *error):
        self.redis.command("CONFIG", "SET", "min-replicas-to-write", "0")
        self.redis.command("CONFIG", "SET", "maxmemory", "0")
        if self.why == "a busy script":
            self.redis.command("SCRIPT", "KILL")
            self.script.wait()


async def ready(room):
    return (await room.api.request("GET", "/readyz")).status == 200


async def becomes_ready(room, within):
    for _ in range(int(within * 20)):
        if await ready(room):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"not ready {within} s after Redis was well again\n{room.server.logged()}")


@pytest.mark.parametrize("why", ["too few replicas", "full memory", "a busy script"])
@pytest.mark.parametrize("duration", FOR_A_MOMENT)
async def test_everything_is_right_once_redis_takes_writes_again(room, redis, why, duration):
    leaver, lost, idler, worker, chooser = [
        await room.come(name, "phone") for name in ("leaver", "lost", "idler", "worker", "chooser")]
    watcher = await room.come("watcher")
    await idler.activity("idle")
    people = [leaver, lost, idler, worker, chooser]
    await watcher.subscribe(*people)
    await watcher.sees(idler, status="away")
    await chooser.status("busy", text="For a while", clearAfter=1_000)
    await watcher.sees(chooser, status="busy")
    with Refusing(redis, why):
        await asyncio.sleep(0.05)
        await leaver.send({"type": "disconnect"})
        lost.abort()
        answers = [idler.begin("activity", state="active"), worker.begin("activity", state="idle"),
                   worker.begin("updateProfile", changes={"displayName": "While it refused"})]
        await asyncio.sleep(duration)
    active, idle, named = [await answer for answer in answers]
    await becomes_ready(room, 8 + SLACK)
    # The rejected changes of the state are real nevertheless, and must be shown.
    await watcher.sees(leaver, status="offline", within=3 + PATIENCE)
    await watcher.sees(lost, status="offline", within=3 + PATIENCE)
    await watcher.sees(idler, status="online", within=3 + PATIENCE)
    await watcher.sees(worker, status="away", within=3 + PATIENCE)
    await watcher.sees(chooser, status="online", within=3 + PATIENCE)
    for answer in (active, idle):
        assert answer["type"] == "ok" or answer["code"] == "unavailable", answer
    profile = (await watcher.get(worker))[0]["profile"]
    if named["type"] == "profileUpdated":
        assert profile["displayName"] == "While it refused"
    else:
        assert named["code"] == "unavailable", named
    # Then it continues.
    assert (await worker.insists("updateProfile", changes={"displayName": "Afterwards"}))["type"] == "profileUpdated"


async def test_an_activity_that_is_answered_ok_is_stored(room, redis):
    ana = await room.come("ana", "phone")
    bob = await room.come("bob")
    await ana.activity("idle")
    await bob.subscribe(ana)
    await bob.sees(ana, status="away")
    with Refusing(redis, "full memory"):
        refused = await ana.ask("activity", state="active")
        assert refused["code"] == "unavailable" and refused["retryAfter"] > 0, refused
        # A repetition during the errors gives no `ok` either.
        again = await ana.ask("activity", state="active")
        assert again["code"] == "unavailable", again
    await bob.sees(ana, status="online")
    assert (await ana.ask("activity", state="active"))["type"] == "ok"


async def test_one_refused_departure_is_no_ghost(room, redis):
    """The errors end far sooner than any check notices."""
    ana = await room.come("ana")
    for number in range(5):
        bob = await room.come(f"bob{number}", "phone")
        await ana.subscribe(bob)
        await ana.sees(bob, status="online")
        with Refusing(redis, "too few replicas"):
            await bob.send({"type": "disconnect"})
            await bob.closed(1000)
            await asyncio.sleep(0.1)
        await ana.sees(bob, status="offline")
    assert await room.api.metric("presence_sessions_untold") == 0


async def test_clients_are_told_when_a_disk_stays_full_and_when_it_is_not_any_more(room, redis):
    ana = await room.come("ana")
    with Refusing(redis, "too few replicas"):
        await ana.hear("stale", within=5 + PATIENCE)
        # Each shard detects it by itself.
        for _ in range(100):
            if not await ready(room):
                break
            await asyncio.sleep(0.05)
        else:
            raise AssertionError("ready, although Redis takes nothing")
    await ana.hear("live", within=8 + PATIENCE)
    await becomes_ready(room, 5)


async def test_servers_come_back_after_a_break_while_memory_is_full(start, redis):
    """The server may read everything that it needs then."""
    accounts = Accounts(start(SETTINGS | ON, redis=redis, shards=2))
    room = Room(accounts.server)
    person = await accounts.sign_up()
    ana, bob, id = await pair(room)
    own = await room.come("own", token=person.access)
    await ana.did("setVisibility", visibility={"presence": "contacts"})
    await ana.did("addContacts", users=[bob.user])
    await say(ana, id, "hello")
    await follow(bob, id, after=0)
    await listed(bob)
    await bob.subscribe(ana)
    everyone = [ana, bob, own]
    with Refusing(redis, "full memory"):
        for kind in ("pubsub", "normal"):
            redis.command("CLIENT", "KILL", "TYPE", kind)
        for client in everyone:
            await client.hear("stale")
        for client in everyone:
            await client.hear("live", within=8 + PATIENCE)
        assert (await bob.did("getMessages", conversation=id))["messages"][0]["text"] == "hello"
    await ana.insists("status", status="busy")
    await bob.sees(ana, status="busy")


async def test_a_redis_that_evicts_is_used_again_when_it_does_not_any_more(room, redis):
    ana = await room.come("ana")
    redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    redis.command("CLIENT", "KILL", "TYPE", "normal")
    await ana.hear("stale")
    await eventually(lambda: "it must be noeviction" in room.server.whole_log(), "it is refused")
    redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    await ana.hear("live", within=15 + PATIENCE)
    await becomes_ready(room, 15)


# A Redis that is unfit for use


def managed(tmp_path, *settings):
    """A managed Redis, where CONFIG is not available."""
    file = tmp_path / "managed.conf"
    file.write_text('rename-command CONFIG ""\n' + "\n".join(settings) + "\n")
    port = free_port()
    process = subprocess.Popen(["redis-server", str(file), "--port", str(port), "--save", "", "--dir", str(tmp_path)],
                               stdout=subprocess.DEVNULL, preexec_fn=end_with_parent)
    return process, port


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "noeviction"])
async def test_a_redis_that_evicts_is_refused_where_config_is_taken_away(tmp_path, policy):
    process, port = managed(tmp_path, "maxmemory 100mb", f"maxmemory-policy {policy}")
    try:
        await eventually(lambda: ask(port, ["PING"]) == "PONG", "Redis")
        url = f"redis://127.0.0.1:{port}"
        server = subprocess.Popen([BINARY, "serve", "--port", "0", "--shards", "1", "--redis", url, "--data-dir", str(tmp_path / "data")],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=end_with_parent)
        try:
            if policy == "noeviction":
                assert "listening on" in await asyncio.to_thread(server.stdout.readline)
            else:
                _, errors = await asyncio.to_thread(server.communicate, None, 30)
                assert server.returncode != 0 and f"evicts keys (maxmemory-policy {policy}): it must be noeviction" in errors
            found = await asyncio.to_thread(run, "doctor", "--redis", url)
            assert ("evictsKeys" in found.stdout) == (policy != "noeviction"), found
        finally:
            server.kill()
            server.wait()
    finally:
        process.kill()
        process.wait()
