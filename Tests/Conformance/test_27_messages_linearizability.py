"""Messages under kills and timeouts: the clients' view is linearizable."""

import asyncio
import random
import time
from math import inf

import pytest

from support.linearizability import Call, linearizable
from support.patience import eventually
from support.room import Room
from support.talk_history import CONFLICT, DELETE, EDIT, MISSING, READ, SEND, TalkHistory, messages_after
from support.talk_model import AGAIN, HALVES, NUMBER, OVER, RIGHT, play
from support.talks import fresh, group

# The checker itself


def possible(*calls):
    """Whether calls, (begin, end, kind, id, text, answer), have an order."""
    return linearizable([Call(begin, end, tuple(what)) for begin, end, *what in calls], messages_after, ())


@pytest.mark.parametrize("calls", [
    [],
    [(1, 2, SEND, "a", "x", (1, "x", 0, False)), (3, 4, SEND, "a", "x", (1, "x", 0, False))],
    # Two concurrent sends, in either order; a page between has one of both.
    [(1, 9, SEND, "a", "x", (2, "x", 0, False)), (1, 9, SEND, "b", "y", (1, "y", 0, False)),
     (2, 3, READ, None, None, (("b", 1, "y", 0, False),))],
    # An edit whose answer was not awaited, seen late.
    [(1, 2, SEND, "a", "x", (1, "x", 0, False)), (3, inf, EDIT, "a", "z", None),
     (4, 5, READ, None, None, (("a", 1, "x", 0, False),)), (6, 7, DELETE, "a", None, (1, "", 1, True))],
    [(1, inf, SEND, "a", "x", None), (2, 3, EDIT, "a", "y", MISSING), (4, 5, SEND, "a", "x", (1, "x", 0, False))],
    [(1, 2, SEND, "a", "x", (1, "x", 0, False)), (3, 6, DELETE, "a", None, (1, "", 0, True)),
     (4, 5, EDIT, "a", "y", CONFLICT), (7, 8, SEND, "a", "x", (1, "", 0, True))],
])
def test_histories_that_could_have_happened(calls):
    assert possible(*calls)


@pytest.mark.parametrize("calls", [
    # A number twice, a gap, and a message twice.
    [(1, 2, SEND, "a", "x", (1, "x", 0, False)), (3, 4, SEND, "b", "y", (1, "y", 0, False))],
    [(1, 2, SEND, "a", "x", (2, "x", 0, False))],
    [(1, 2, SEND, "a", "x", (1, "x", 0, False)), (3, 4, SEND, "a", "x", (2, "x", 0, False))],
    # A deleted message returns, or a seen one disappears.
    [(1, 2, SEND, "a", "x", (1, "x", 0, False)), (3, 4, DELETE, "a", None, (1, "", 0, True)),
     (5, 6, EDIT, "a", "y", (1, "y", 1, False))],
    [(1, 2, SEND, "a", "x", (1, "x", 0, False)), (3, 4, READ, None, None, ())],
    # The order of two sends that did not overlap.
    [(1, 2, SEND, "a", "x", (2, "x", 0, False)), (3, 4, SEND, "b", "y", (1, "y", 0, False))],
    # An unknown outcome not before its request.
    [(1, 2, READ, None, None, (("a", 1, "x", 0, False),)), (3, inf, SEND, "a", "x", None)],
])
def test_histories_that_could_not(calls):
    assert not possible(*calls)


def test_a_model_server_passes_and_its_mistakes_are_found():
    seeds = range(100)
    assert all(play(seed, RIGHT).is_possible() for seed in seeds)
    for mistake in (AGAIN, NUMBER, OVER, HALVES):
        assert not all(play(seed, mistake).is_possible() for seed in seeds), mistake


# A real server

PEOPLE = ["p0", "p1", "p1", "p2"]
"""The first one owns the group and may delete others' messages; one has two devices."""
ROUNDS = 4
LATEST = 2
"""Seconds after which a waiting client gives up; a busy server may take longer."""
SETTINGS = {"linger": 5_000, "lease": 6_000, "limits.userRequestsPerSecond": 1000, "limits.userRequestBurst": 1000}


class Impatient:
    """A user's calls to either of two servers, with their times. Each server may be killed, or the client may give
    up."""

    def __init__(self, name, room, servers, draw):
        self.name, self.room, self.servers, self.draw = name, room, servers, draw
        self.client = None
        self.begin(None, None)

    def begin(self, conversation, history, said=None):
        """`said`: the ids of sent messages, by person; shared by all."""
        self.conversation, self.history, self.said, self.unsaid = conversation, history, said, None

    async def ask(self, type, patience=LATEST, **members):
        """The reply; `None` without one, or if its outcome is unknown."""
        try:
            if self.client is None:
                self.client = await asyncio.wait_for(self.room.come(self.name, at=self.draw.choice(self.servers)), LATEST)
            reply = await asyncio.wait_for(self.client.ask(type, **members), patience)
        except Exception:  # Of the connection: a server may die at any moment.
            reply = None
        if reply is None or reply["type"] == "(closed)":
            self.leave()
            await asyncio.sleep(0.02)
            return None
        return None if reply.get("code") == "unavailable" else reply

    def leave(self):
        if self.client:
            self.client.abort()
        self.client = None

    async def act(self):
        draw, chance = self.draw, self.draw.random()
        if self.unsaid:
            return await self.change(SEND, *self.unsaid)
        own = self.said.setdefault(self.name, [])
        if chance < 0.3 or not own:
            own.append(fresh())
            return await self.change(SEND, own[-1], f"text {draw.randrange(1 << 30)}")
        if chance < 0.55:
            return await self.change(EDIT, draw.choice(own[-3:]), f"edited {draw.randrange(1 << 30)}")
        if chance < 0.65:
            others = [ids[-1] for name, ids in self.said.items() if self.name in ("p0", name)]
            return await self.change(DELETE, draw.choice(others))
        await self.read()

    async def change(self, kind, id, text=None):
        # Some give up early: their calls may or may not take effect.
        patience = LATEST if self.draw.random() < 0.9 else self.draw.random() * 0.005
        members = {"message": {"id": id, "text": text}} if kind == SEND else {"message": id}
        if kind == EDIT:
            members["text"] = text
        history, began = self.history, time.monotonic()
        type = {SEND: "send", EDIT: "editMessage", DELETE: "deleteMessage"}[kind]
        reply = await self.ask(type, patience, conversation=self.conversation, **members)
        end, answer = time.monotonic(), None
        if reply and reply["type"] == "error":
            assert reply["code"] in (CONFLICT, MISSING, "rate_limited"), reply
            if reply["code"] == "rate_limited":
                return
            answer = reply["code"]
        elif reply:
            answer = seen(reply["message"])
        if kind == SEND:
            self.unsaid = None if answer else (id, text)
        history.add(began, end, kind, id, text, answer)

    async def read(self):
        history, began = self.history, time.monotonic()
        reply = await self.ask("getMessages", conversation=self.conversation, limit=100)
        if not reply or reply["type"] != "messages":
            return False
        assert reply["first"] == 1, reply
        page = tuple((each["id"], *seen(each)) for each in reply["messages"])
        history.add(began, time.monotonic(), READ, answer=page)
        return True


def seen(message):
    return message["seq"], message["text"], message.get("editCount", 0), "deletedAt" in message


async def test_the_clients_view_is_linearizable_while_servers_are_killed(start):
    seed = random.randrange(1 << 32)
    draw = random.Random(seed)
    redis = start.redis()
    servers = [start(SETTINGS, redis=redis, shards=2)]
    servers.append(start(servers[0].configuration, redis=redis, shards=2, directory=servers[0].directory))
    room = Room(servers[0])
    people = [Impatient(name, room, servers, random.Random(draw.random())) for name in PEOPLE]
    histories = []
    for _ in range(ROUNDS):
        clients = [await room.come(name) for name in sorted(set(PEOPLE))]
        conversation, history, said = (await group(*clients))["id"], TalkHistory(), {}
        histories.append(history)
        ended = asyncio.Event()

        async def go_on(person):
            person.begin(conversation, history, said)
            # A page shows all messages, so they may not become more than a page has.
            while not ended.is_set() and len(history.calls) < 220:
                await person.act()

        running = [asyncio.create_task(go_on(person)) for person in people]
        enough = draw.randrange(30, 90)
        await eventually(lambda: len(history.calls) > enough, "calls", within=60)
        victim = draw.choice(servers)
        victim.kill()
        # The other one serves in the meantime.
        await asyncio.to_thread(victim.start)
        await eventually(lambda: len(history.calls) > enough + 60, "calls", within=60)
        ended.set()
        await asyncio.gather(*running)
        for person in people:
            await eventually(person.read, "a page at the end", within=20, every=0.2)
    faults = [history for history in histories if not await asyncio.to_thread(history.is_possible)]
    assert not faults, (f"seed {seed}: no order explains\n" + "\n".join(
        repr(call) for call in sorted(faults[0].calls, key=lambda call: call.begin)))
    # The history covers enough.
    calls, doubtful = sum(len(history.calls) for history in histories), sum(history.doubtful for history in histories)
    assert calls > 300 and doubtful > 0, (calls, doubtful)
    print(f"{calls} calls, {doubtful} without a known outcome")
