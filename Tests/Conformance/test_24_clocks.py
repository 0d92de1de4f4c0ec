"""A Redis whose clock is half a minute ahead of the server's, or behind it: durations stay correct, Redis' clock
decides which tokens are valid, and the operator gets a warning."""

import re
import time

import pytest

from support.api import API
from support.clocks import ahead
from support.patience import PATIENCE, SLACK, eventually
from support.room import Room
from support.talks import say, talk

LINGER, TYPING = 1.0, 1.5

pytestmark = pytest.mark.parametrize("offset", [30, -30], ids=["ahead", "behind"])


class Scene:
    """A server with such a Redis, and tokens of an issuer with Redis' clock."""

    def __init__(self, start, offset, directory):
        self.offset = offset
        redis = start.redis(environment=ahead(offset, directory))
        self.room = Room(start({"linger": round(LINGER * 1000), "typing": round(TYPING * 1000)}, redis=redis))

    @property
    def now(self):
        """Redis' time in ms."""
        return (time.time() + self.offset) * 1000

    def token(self, person, expires=60):
        return self.room.token(person, iat=self.now / 1000, expires=self.offset + expires)

    async def come(self, person):
        return await self.room.come(person, token=self.token(person))

    def is_now(self, at):
        return self.is_from(at, self.now)

    def is_from(self, at, moment):
        return abs(at - moment) < 1000 * (1 + SLACK)


async def test_durations_are_correct_and_times_are_those_of_redis(start, offset, tmp_path):
    scene = Scene(start, offset, tmp_path)
    ana, bob = await scene.come("ana"), await scene.come("bob")
    assert scene.is_now(bob.connected["serverTime"])
    await ana.subscribe(bob)
    id = (await talk(ana, bob))["id"]
    assert scene.is_now((await say(ana, id))["at"])
    await ana.watch_typing(id)
    began, last_words = time.monotonic(), scene.now
    await bob.types(id)
    await ana.sees_typing(id, [bob])
    await ana.sees_typing(id, [])
    assert TYPING - 0.1 < time.monotonic() - began < TYPING + SLACK
    began = time.monotonic()
    bob.abort()
    seen = await ana.sees(bob, status="offline")
    assert LINGER - 0.1 < time.monotonic() - began < LINGER + SLACK
    assert scene.is_from(seen["lastSeen"], last_words)


async def test_the_clock_of_redis_decides_which_tokens_are_valid(start, offset, tmp_path):
    scene = Scene(start, offset, tmp_path)
    for token in (scene.token("ana", expires=-1), scene.room.token("ana", iat=scene.now / 1000 + 20, expires=offset + 60)):
        client = await scene.room.socket()
        await client.refused("unauthorized", "connect", token=token)
        await client.closed(4001)
    began = time.monotonic()
    ana = await scene.room.come("ana", token=scene.token("ana", expires=3))
    await ana.closed(4002)
    # Tokens have only whole seconds.
    assert 2 - 0.1 < time.monotonic() - began < 3 + SLACK


async def test_the_operator_is_told_by_how_much(start, offset, tmp_path):
    scene = Scene(start, offset, tmp_path)

    async def offset_is_told():
        found = await API(scene.room.server).metric("presence_redis_clock_offset_seconds")
        return abs(found - offset) < 1

    await eventually(offset_is_told, "the metric", within=PATIENCE)
    await scene.room.server.wait_for_log("Redis' clock differs from this host's")
    told = re.search(r"warning Redis' clock differs from this host's.* redis_is_ahead_by_ms=(-?\d+)", scene.room.server.whole_log())
    assert abs(int(told[1]) - offset * 1000) < 1_000, told[0]
