"""Redis' clock goes back, as after a failover to a host that is behind: nobody is locked out, and nothing is missed."""

import asyncio
import os
import re
import signal
import time

import pytest

from support.api import path
from support.clocks import ahead
from support.line import Line
from support.patience import eventually
from support.room import Room
from support.talks import group, info, listed, say, sees, talk

HOUR = 3_600


class Back:
    """A Redis whose clock is ahead until the test sets it right, and tokens that are valid by both clocks."""

    def __init__(self, start, seconds, directory):
        self.redis = start.redis(environment=ahead(seconds, directory))
        self.server = start({"linger": 60_000, "lease": 120_000}, redis=self.redis, shards=1)
        self.room = Room(self.server)

    async def come(self, person):
        token = self.room.token(person, iat=int(time.time()) - 60, expires=3 * HOUR)
        return await self.room.come(person, token=token)

    async def step(self):
        """Redis is restarted on the same data, with the right time, and the server follows it."""
        self.redis.send_signal(signal.SIGTERM)
        self.redis.process.wait()
        self.redis.environment = dict(os.environ)
        self.redis.start()
        await eventually(
            lambda: re.search(" warning stale .* info live ", self.server.whole_log(), re.DOTALL), "the server is live")


async def test_a_disconnected_user_connects_again(start, tmp_path):
    scene = Back(start, HOUR, tmp_path)
    ana = await scene.come("ana")
    backend = scene.room.server.mint.token("backend", role="backend", expires=3 * HOUR)
    done = await scene.room.api.request("POST", path("users", ana.user, "disconnect"), token=backend)
    assert done.status == 200, done
    await ana.closed(4006)
    await scene.step()
    assert (await scene.come("ana")).connected["user"] == ana.user


async def test_a_mute_for_some_minutes_begins(start, tmp_path):
    scene = Back(start, HOUR, tmp_path)
    ana, bob, cy = [await scene.come(name) for name in ("ana", "bob", "cy")]
    id = (await group(ana, bob, cy))["id"]
    await say(ana, id)
    await scene.step()
    bob = await scene.come("bob")
    await listed(bob)
    await bob.did("conversationSettings", conversation=id, muted=True, muteFor=600_000)
    assert (await info(bob, id))["muted"] is True
    await say(await scene.come("ana"), id)
    assert (await sees(bob, id, muted=True, unread=2))["mutedUntil"] > time.time() * 1000


@pytest.mark.parametrize("seconds", [0, 600])
async def test_a_change_of_a_list_during_a_break_is_told(start, tmp_path, seconds):
    right = tmp_path / "right"
    right.touch()
    redis = start.redis(environment=ahead(seconds, tmp_path, until=right))
    redis.host, redis.mint = "127.0.0.1", None
    async with Line(redis) as line:
        line.url = f"redis://127.0.0.1:{line.port}"
        server = start(redis=redis, shards=1)
        other = await asyncio.to_thread(start, redis=line, directory=server.directory, shards=1)
        room = Room(server)
        token = room.token("ana", iat=int(time.time()) - 60)
        ana, bob = await room.come("ana", token=token), await room.come("bob", at=other)
        id = (await talk(ana, bob))["id"]
        await listed(bob)
        # The conversation is older than the break by more than a shard reads again in any case.
        right.unlink()
        await follows(redis, seconds)
        line.cut()
        await bob.hear("stale")
        right.touch()
        await follows(redis, 0)
        await say(ana, id)
        line.mend()
        await sees(bob, id, unread=1)


async def follows(redis, seconds):
    """Waits until Redis' clock is this many seconds ahead, and the servers know it."""
    await eventually(
        lambda: abs(int(redis.command("TIME").split()[0]) - seconds - time.time()) < 2, "Redis has the other time")
    await asyncio.sleep(3)
