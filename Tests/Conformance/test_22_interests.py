"""Servers that publish changes only to watching shards (`redis.interests`), and servers that do not, side by side."""

import asyncio
import itertools
import os
import string
import subprocess
import time

import pytest

from support.room import Room
from support.server import BINARY, run


@pytest.fixture
def pair(start):
    """Two servers with interests, one Redis."""
    redis = start.redis()
    here = start({"redis.interests": True}, redis=redis, shards=2)
    there = start({"redis.interests": True}, redis=redis, directory=here.directory, shards=2)
    return here, there


async def test_only_servers_with_watchers_receive_an_event(pair):
    here, there = pair
    room = Room(here)
    ana, bob = await room.come("ana"), await room.come("bob", at=there)
    await ana.subscribe(bob)
    await bob.status("busy", text="Far away")
    await ana.sees(bob, text="Far away")
    assert await room.api.metric("presence_interests") >= 1
    before = await Room(there).api.metric("presence_events_in_total")
    await ana.status("busy", text="Nobody watches")
    await bob.status("busy", text="Soon")
    await ana.sees(bob, text="Soon")
    # Neither event reached the server where neither user is watched; ana's choice concerns only sessions.
    assert await Room(there).api.metric("presence_events_in_total") == before


async def test_a_server_of_the_other_kind_is_refused_while_one_is_there(pair, tmp_path, monkeypatch):
    here, _ = pair
    monkeypatch.setitem(os.environ, "PRESENCE_REDIS_INTERESTS", "false")
    ended = await asyncio.to_thread(
        run, "serve", "--port", "0", "--data-dir", str(tmp_path), "--redis", here.redis.url)
    assert ended.returncode != 0 and "redis.interests is off here, and on at other servers" in ended.stderr, ended


async def test_interests_in_a_cluster_are_refused(tmp_path):
    ended = await asyncio.to_thread(
        subprocess.run,
        [BINARY, "serve", "--port", "0", "--data-dir", str(tmp_path), "--redis", "redis+cluster://127.0.0.1:1"],
        capture_output=True, text=True, timeout=30, env=os.environ | {"PRESENCE_REDIS_INTERESTS": "true"})
    assert ended.returncode != 0 and "redis.interests" in ended.stderr and "cluster" in ended.stderr, ended


def fnv(text, state=0xCBF29CE484222325):
    """FNV-1a with 64 bits, which needs no seed."""
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return state


def alike(count):
    """Ids whose channels have nearly the same low bits in FNV-1a, so a table without a seed has them all in one place."""
    beginnings = [fnv(f"{{p{partition:03}}}:events:") for partition in range(128)]
    for letters in itertools.product(string.ascii_letters + string.digits, repeat=4):
        id = "".join(letters)
        own = fnv(id)
        if fnv(id, beginnings[(own ^ own >> 32) % 128]) >> 20 & 0x7FFF < 256:
            yield id
            count -= 1
            if not count:
                return


async def test_ids_that_collide_without_a_seed_cost_no_more_than_others(start):
    settings = {"redis.interests": True, "requests_per_second": 0, "user_requests_per_second": 0}

    async def cost(ids):
        """The server's processor time for subscriptions to all of them."""
        server = start(settings, shards=1)
        ana = await Room(server).come("ana")
        clock = ~server.process.pid << 3 | 2
        before = time.clock_gettime(clock)
        for batch in (ids[first:first + 500] for first in range(0, count, 500)):
            assert len(await ana.subscribe(*batch)) == len(batch)
        return time.clock_gettime(clock) - before

    count = 10_000
    others = await cost([f"x{number:03}" for number in range(count)])
    assert await cost(list(alike(count))) < 2 * others + 0.2
