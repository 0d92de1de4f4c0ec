"""Usernames under kills and timeouts: the clients' view is linearizable."""

import asyncio
import random
import time
from math import inf

import pytest

from support.accounts import ON, Accounts, together
from support.exchange import exchange
from support.linearizability import Call, GaveUp, Impossible, linearizable
from support.name_history import CLAIM, FREE, REFUSED, RELEASE, TAKEN, YOURS, History, at_rest, owner_after
from support.name_model import NOTHING, OWNER, WHOLE, play
from support.patience import eventually

# The checker itself


def names(*calls):
    """Whether calls on one name, (begin, end, kind, user), have an order."""
    return linearizable([Call(begin, end, (kind, user)) for begin, end, kind, user in calls], owner_after, None)


@pytest.mark.parametrize("calls", [
    [],
    [(1, 2, CLAIM, "ana"), (3, 4, TAKEN, "bob"), (5, 6, RELEASE, "ana"), (7, 8, CLAIM, "bob")],
    # Two concurrent calls, in either order; a read between sees one of both orders.
    [(1, 9, CLAIM, "ana"), (2, 8, RELEASE, "ana"), (3, 4, TAKEN, "bob"), (5, 6, FREE, "bob")],
    [(1, 9, CLAIM, "ana"), (2, 8, REFUSED, "bob"), (10, 11, YOURS, "ana")],
    # Begun at the same moment as another ended: they may overlap.
    [(1, 2, CLAIM, "ana"), (2, 3, FREE, "bob")],
    # An unknown outcome: immediately, late, or never.
    [(1, inf, CLAIM, "ana"), (2, 3, TAKEN, "bob")],
    [(1, inf, CLAIM, "ana"), (2, 3, FREE, "bob"), (4, 5, CLAIM, "bob"), (6, 7, RELEASE, "bob"), (8, 9, YOURS, "ana")],
    [(1, inf, CLAIM, "ana"), (2, 3, FREE, "bob"), (4, 5, CLAIM, "bob")],
    [(1, inf, CLAIM, "ana"), (2, 3, TAKEN, "bob"), (4, inf, RELEASE, "ana"), (5, 6, FREE, "bob"),
     (7, inf, CLAIM, "ana"), (8, 9, TAKEN, "bob")],
])
def test_histories_that_could_have_happened(calls):
    assert names(*calls)


@pytest.mark.parametrize("calls", [
    # The name had no owner, or the owner had not released it.
    [(1, 2, REFUSED, "bob")],
    [(1, 2, CLAIM, "ana"), (3, 4, CLAIM, "bob")],
    # It is free for one user and then taken for another, without a claim between.
    [(1, 2, CLAIM, "ana"), (3, 20, RELEASE, "ana"), (4, 5, FREE, "bob"), (6, 7, TAKEN, "cy")],
    # Another user's release.
    [(1, 2, CLAIM, "ana"), (3, 4, RELEASE, "bob"), (5, 6, FREE, "bob")],
    # An unknown outcome happens once, and not before its request.
    [(2, 3, TAKEN, "bob"), (4, inf, CLAIM, "ana")],
    [(1, inf, CLAIM, "ana"), (2, 3, YOURS, "ana"), (4, 5, RELEASE, "ana"), (6, 7, TAKEN, "bob")],
])
def test_histories_that_could_not(calls):
    assert not names(*calls)


def test_the_search_is_bounded():
    """Many concurrent calls, and one answer that none of their orders explains."""
    calls = [Call(0, 100, (kind, f"user{number}")) for number in range(10) for kind in (CLAIM, RELEASE)]
    with pytest.raises(GaveUp):
        linearizable([*calls, Call(1, 2, (YOURS, "nobody"))], owner_after, None, most=1_000)


def test_impossible_calls_leave_the_state():
    with pytest.raises(Impossible):
        owner_after("ana", (FREE, "bob"))
    assert owner_after("ana", (RELEASE, "bob")) == "ana" and owner_after("ana", (CLAIM, "ana")) == "ana"


def test_a_model_server_passes_and_wrong_comparisons_are_detected():
    seeds = range(60)
    assert not [seed for seed in seeds if play(seed, WHOLE).faults()]
    for mistake in (NOTHING, OWNER):
        assert [seed for seed in seeds if play(seed, mistake).faults()], mistake


# A real server

WANTED = ["one", "two", "three"]
PEOPLE = 5
KILLS = 4
LATEST = 2
"""Seconds after which a waiting client gives up; a busy server may take longer."""


class Impatient:
    """A user's calls to either of two servers, with their times. Each server may be killed, or the client may give
    up."""

    def __init__(self, person, servers, history, draw):
        self.person, self.servers, self.history, self.draw = person, servers, history, draw

    async def call(self, method, path, body=None, patience=LATEST):
        """The status and the JSON; `None` without an answer."""
        server = self.draw.choice(self.servers)
        try:
            return await asyncio.wait_for(exchange(server, method, path, body, self.person.access), patience)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            return None, None

    async def act(self):
        draw, user, began = self.draw, self.person.user, time.monotonic()
        name, chance = draw.choice(WANTED), draw.random()
        if chance < 0.3:
            status, json = await self.call("GET", f"/v1/usernames/{name}")
            if status == 200:
                self.history.state(began, time.monotonic(), user, name, FREE if json["available"] else json["reason"])
        elif chance < 0.45:
            # The owner whom a look-up finds has the name then. Before that, others may see it as taken already.
            status, json = await self.call("GET", f"/v1/usernames/{name}/user")
            assert status in (None, 200, 404, 429, 503), (status, json)
            if status == 200:
                assert json["profile"]["username"] == name, json
                self.history.state(began, time.monotonic(), json["user"], name, YOURS)
        elif chance < 0.55:
            status, json = await self.call("GET", "/v1/me")
            if status == 200:
                account, profile = json["account"], json["profile"]
                assert account.get("username") == profile.get("username"), json
                self.history.me(began, time.monotonic(), user, account.get("username"))
        else:
            # Some give up early: their calls may or may not take effect.
            patience = LATEST if draw.random() < 0.85 else draw.random() * 0.01
            if chance < 0.85:
                status, json = await self.call("PUT", "/v1/me/username", {"username": name}, patience)
            else:
                status, json = await self.call("DELETE", "/v1/me/username", None, patience)
            end = time.monotonic()
            assert status in (None, 200, 204, 409, 429, 503), (status, json)
            if status == 429:
                return
            status = None if status == 503 else status
            if chance < 0.85:
                self.history.put(began, end, user, name, status)
            else:
                self.history.delete(began, end, user, status)


async def test_the_clients_view_is_linearizable_while_servers_are_killed(start):
    seed = random.randrange(1 << 32)
    draw = random.Random(seed)
    redis = start.redis()
    servers = [start(ON | {"limits.userRequestsPerSecond": 1000, "limits.userRequestBurst": 1000}, redis=redis, shards=2)]
    servers.append(start(servers[0].configuration, redis=redis, shards=2, directory=servers[0].directory))
    accounts = Accounts(servers[0])
    people = await together(*(accounts.sign_up() for _ in range(PEOPLE)))
    history = History(WANTED)
    clients = [Impatient(person, servers, history, random.Random(draw.random())) for person in people]
    ended = asyncio.Event()

    async def go_on(client):
        while not ended.is_set():
            await client.act()

    running = [asyncio.create_task(go_on(client)) for client in clients]
    for _ in range(KILLS):
        enough = history.calls() + draw.randrange(40, 250)
        await eventually(lambda: history.calls() > enough, "calls", within=60)
        victim = draw.choice(servers)
        victim.kill()
        # The other one serves in the meantime; it or the new one finds claims of the dead one.
        await asyncio.to_thread(victim.start)
    ended.set()
    await together(*running)

    # At rest each name belongs to one account or is free, within a sweep: 10 s.
    own, free = {}, []

    async def rests():
        began = time.monotonic()
        states, mine = [], {}
        for client in clients:
            status, body = await client.call("GET", "/v1/me")
            if status != 200:
                return False
            mine[client.person.user] = body["account"].get("username")
            history.me(began, time.monotonic(), client.person.user, mine[client.person.user])
        for name in WANTED:
            status, body = await clients[0].call("GET", f"/v1/usernames/{name}")
            if status != 200:
                return False
            states.append((name, FREE if body["available"] else body["reason"]))
            history.state(began, time.monotonic(), clients[0].person.user, name, states[-1][1])
        own.clear()
        own.update(mine)
        free[:] = [name for name, state in states if state == FREE]
        return len(free) + len([name for name in own.values() if name]) == len(WANTED)

    await eventually(rests, "each name is somebody's or free", within=20, every=0.5)
    assert at_rest(own, free), (own, free)
    faults = await asyncio.to_thread(history.faults)
    assert not faults, (f"seed {seed}: no order explains {faults}:\n" + "\n".join(
        repr(call) for fault in faults for call in sorted(
            history.of_names.get(fault, []) + history.of_users.get(fault, []), key=lambda call: call.begin)))
    # The history covers enough.
    assert history.calls() > 160 and history.doubtful() > 0, (history.calls(), history.doubtful())
    print(f"{history.calls()} calls, {history.doubtful()} without a known outcome")
