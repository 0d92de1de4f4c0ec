"""Redis' clock goes back, as after a failover to a host that is behind: nobody is locked out, and nothing is missed."""

import os
import re
import signal
import time

import pytest

from support.api import path
from support.clocks import ahead
from support.patience import eventually
from support.room import Room
from support.talks import group, info, listed, say, sees

HOUR = 3_600


class Back:
    """A Redis whose clock is ahead until the test sets it right, and tokens that are valid by both clocks."""

    def __init__(self, start, seconds, directory):
        self.redis = start.redis(environment=ahead(seconds, directory))
        self.server = start({"linger": 60_000, "lease": 120_000}, redis=self.redis, shards=1)
        self.room = Room(self.server)

    async def come(self, person, at=None):
        token = self.room.token(person, at=at, iat=int(time.time()) - 60, expires=3 * HOUR)
        return await self.room.come(person, token=token, at=at)

    async def step(self, *servers):
        """Redis is restarted on the same data, with the right time, and these servers follow it."""
        self.redis.send_signal(signal.SIGTERM)
        self.redis.process.wait()
        self.redis.environment = dict(os.environ)
        self.redis.start()
        for server in servers or (self.server,):
            await eventually(
                lambda: re.search(" warning stale .* info live ", server.whole_log(), re.DOTALL),
                "the server is live again")


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
async def test_a_change_of_a_list_during_the_break_is_told(start, tmp_path, seconds):
    scene = Back(start, seconds, tmp_path)
    other = start({"linger": 60_000, "lease": 120_000}, redis=scene.redis, directory=scene.server.directory, shards=1)
    ana, bob = await scene.come("ana"), await scene.come("bob", at=other)
    id = (await group(ana, bob, await scene.come("cy")))["id"]
    await listed(bob)
    other.stand_still()
    try:
        await scene.step(scene.server)
        await say(await scene.come("ana"), id)
    finally:
        other.send_signal(signal.SIGCONT)
    await sees(bob, id, unread=1)
