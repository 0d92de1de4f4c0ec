"""Servers that publish changes only to watching shards (`redis.interests`), and servers that do not, side by side."""

import asyncio
import os
import subprocess

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
