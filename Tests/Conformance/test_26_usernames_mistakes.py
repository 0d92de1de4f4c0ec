"""Real servers with bugs in the release of usernames: the checker of histories finds them in the answers to clients."""

import asyncio
import contextlib
import time

import pytest

from support.accounts import ON, Accounts, together
from support.mistakes import HeldLine, binary_with
from support.name_history import FREE, History, at_rest
from support.patience import PATIENCE, eventually
from support.server import BINARY

COMPARED = "if redis.call('HGET', claimsKey, thing) == owner .. ' ' .. number then -- mutation: claim-is-meant"
"""The check by which the release script identifies the claim that is meant: by owner and number."""
SCRIPT = "-- Drops exactly this claim, so it may arrive late and more than once."
MISTAKES = {
    "nothing is compared": "if thing then",
    "only the owner is compared": "if string.find(redis.call('HGET', claimsKey, thing) or '', owner, 1, true) then",
}
WANTED = ["soup", "pie", "rice"]
ANOTHER, THE_SAME = "another", "the same"
FOUND = {
    # A user gets another user's name. A user who takes their own name back has two pending calls, and the first could
    # run last: the answers have an order, but in the end an account has a name that is free.
    (ANOTHER, "nothing is compared"): (["soup"], False),
    (THE_SAME, "nothing is compared"): ([], False),
    (THE_SAME, "only the owner is compared"): ([], False),
}
"""The users whose history is not linearizable, and whether names and accounts agree at rest, by the next owner and the
bug."""


class Recorded:
    """A user's calls to a server, recorded in a history."""

    def __init__(self, person, history):
        self.person, self.history = person, history

    async def call(self, server, method, path, body=None):
        began = time.monotonic()
        answer = await Accounts(server).api.request(method, path, body, token=self.person.access)
        assert answer.status in (200, 204, 409), answer
        return began, time.monotonic(), answer

    async def want(self, server, name):
        began, end, answer = await self.call(server, "PUT", "/v1/me/username", {"username": name})
        self.history.put(began, end, self.person.user, name, answer.status)
        return answer.status

    async def look(self, server, name):
        began, end, answer = await self.call(server, "GET", f"/v1/usernames/{name}")
        state = FREE if answer.json["available"] else answer.json["reason"]
        self.history.state(began, end, self.person.user, name, state)
        return state

    async def mine(self, server):
        began, end, answer = await self.call(server, "GET", "/v1/me")
        name = answer.json["account"].get("username")
        self.history.me(began, end, self.person.user, name)
        return name


@pytest.mark.parametrize("next_owner", [ANOTHER, THE_SAME])
@pytest.mark.parametrize("mistake", [None, *MISTAKES])
async def test_a_name_that_is_given_up_late(start, mistake, next_owner):
    """A server that is about to release a name is delayed. Another server releases it instead, and then the name gets
    an owner again."""
    redis = start.redis()
    with contextlib.ExitStack() as stack:
        binary = stack.enter_context(binary_with((COMPARED, MISTAKES[mistake]), SCRIPT)) if mistake else BINARY
        async with HeldLine(redis) as line:
            quick = start(ON, redis=redis, binary=binary)
            # In a thread: its commands to Redis pass through here.
            late = await asyncio.to_thread(
                start, quick.configuration, redis=line, directory=quick.directory, binary=binary)
            people = await together(*(Accounts(quick).sign_up() for _ in range(3)))
            history = History(WANTED)
            people = [Recorded(person, history) for person in people]
            await give_up_late(redis, quick, late, line, next_owner, people)
            own = {person.person.user: await person.mine(quick) for person in people}
            free = [name for name in WANTED if await people[2].look(quick, name) == FREE]
            late.kill()
            quick.kill()
    faults = await asyncio.to_thread(history.faults)
    assert (faults, at_rest(own, free)) == FOUND.get((next_owner, mistake), ([], True)), (faults, own, free)


async def give_up_late(redis, quick, late, line, next_owner, people):
    ana, bob, _ = people
    assert await ana.want(quick, "soup") == 200
    # Until then the other server would first finish this change, and that would be delayed.
    await eventually(lambda: not redis.command("KEYS", "*}:unfinished").strip(), "the change is finished")
    line.hold("soup")
    changing = asyncio.create_task(ana.want(late, "pie"))
    held = asyncio.create_task(line.is_held.wait())
    await asyncio.wait({held, changing}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    assert held.done(), changing
    # Earlier requests are finished first: this server finishes that of the other one.
    assert await ana.want(quick, "rice") == 200
    assert await (bob if next_owner == ANOTHER else ana).want(quick, "soup") == 200
    line.let_go()
    assert await changing == 200
