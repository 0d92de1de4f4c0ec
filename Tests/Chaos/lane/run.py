"""One run: rounds of ordinary activity, a fault in each, and a quiet phase after it in which everyone must show the truth."""

import asyncio
import os
import random
import time

from support import client as conformance

from . import timing
from .accounts import Accounts
from .crowd import Crowd, Member
from .faults import Faults, Skipped
from .ledger import Ledger
from .lines import Line
from .people import Person
from .stage import Stage
from .talks import Talks

WATCHED = 15
"""People that each client watches."""


class Run:
    def __init__(self, seed, python, kit):
        self.seed, self.python, self.kit = seed, python, kit
        self.random = random.Random(seed)
        self.ledger = Ledger()
        self.people, self.lines, self.versions = {}, [], {}
        self.rounds, self.skipped, self.lags = [], {}, []
        self.changes = {"acknowledged": 0, "refused": 0}

    # Coming up and going down.

    async def start(self):
        self.stage = Stage()
        await self.stage.start()
        self.crowd = Crowd(self.ledger)
        if self.kit:
            await self.crowd.start(os.path.join(self.stage.directory, "crowd.log"))
        names = [f"p{n}" for n in range(self.python)] + [f"k{n}" for n in range(self.kit)]
        for name in names:
            line = Line(self.stage.servers, random.Random(self.random.random()))
            await line.open()
            self.lines.append(line)
            watches = self.random.sample([other for other in names if other != name], WATCHED)
            if name[0] == "p":
                self.people[name] = Person(
                    name, line, self.stage.mint, self.ledger, random.Random(self.random.random()), watches)
            else:
                self.people[name] = Member(name, line, self.stage.mint, self.ledger, self.crowd, watches)
        self.faults = Faults(self.stage, self.people, self.ledger, self.random)
        self.talks = Talks(self.people, self.ledger, self.random)
        self.accounts = Accounts(self.stage, self.ledger, self.random)
        self.metronome = asyncio.create_task(self.measure_lag())
        for person in self.people.values():
            person.come()
            await asyncio.sleep(0.004)
        await self.quiet(30)
        await self.talks.make()

    async def end(self):
        self.metronome.cancel()
        self.accounts.close()
        for person in self.people.values():
            person.close()
        if self.kit:
            await self.crowd.end()
        for line in self.lines:
            line.close()
        self.stage.end()

    async def measure_lag(self):
        """When the driver stands still, all its clients do, and the servers' reactions are not faults. A server that
        stands still without our stopping it also has too little of the machine."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.05)
            lag = time.monotonic() - before - 0.05
            self.lags.append(lag)
            for server in self.stage.servers:
                lag = max([lag] + list(server.standstills()))
            if lag > timing.TIMEOUT / 2:
                self.ledger.excuse(lag)

    # One round.

    async def round(self, *names):
        """One fault; or two, the second during the first: then no bound is checked, but everything else."""
        self.ledger.round, self.ledger.is_doubled = " + ".join(names), len(names) > 1
        began = time.monotonic()
        absent = [person for person in self.people.values() if not person.wants_in]
        happening = self.life
        for name in reversed(names):
            happening = self.during(name, happening)
        self.accounts.begin()
        await happening()
        for person in absent:
            if not person.wants_in:
                person.line.thaw()
                person.come()
        # People who were lost or left at the end of the fault have their full bound from there.
        bound = max(bound for bound, _ in timing.BOUNDS.values())
        excuse = timing.LEASE + 1 if self.ledger.is_redis_away or self.ledger.is_doubled else 0
        quiet, _ = await asyncio.gather(self.quiet(bound + excuse + 3 * timing.SLACK), self.accounts.rest())
        if self.ledger.is_redis_away and not self.ledger.is_doubled:
            for person in self.people.values():
                if person.wants_in and not self.ledger.knows_of_staleness(person.user):
                    self.ledger.breach(f"{person.user} was never told that what they show was stale", is_excusable=True)
        self.ledger.redis_came()
        self.rounds.append((self.ledger.round, time.monotonic() - began, quiet))
        print(f"{self.ledger.round} …", flush=True)

    def during(self, name, happening):
        async def both():
            try:
                await getattr(self.faults, name)(happening)
            except Skipped as reason:
                self.skipped[name] = str(reason)
                await happening()
        return both

    async def life(self):
        """People write to each other, edit their messages and change their names; some leave, each in their own way."""
        here = [person for person in self.people.values() if person.is_watching and not person.line.is_frozen
                and person.line.server and not person.line.server.is_taken_off]
        actors = self.random.sample(here, min(len(here), 20))
        leaving, changing = actors[:8], actors[8:]
        tasks = [self.talks.life()]
        for number, person in enumerate(changing):
            tasks.append(self.rename(person) if number % 2 else self.choose(person))
        for number, person in enumerate(leaving):
            manner = ["said good-bye", "vanished", "line broke", "vanished"][number % 4]
            tasks.append(self.leave(person, manner))
        await asyncio.gather(*tasks)

    async def rename(self, person):
        await asyncio.sleep(self.random.uniform(0, 0.8))
        reply = await person.rename()
        self.changes["acknowledged" if reply["type"] == "profileUpdated" else "refused"] += 1

    async def choose(self, person):
        await asyncio.sleep(self.random.uniform(0, 0.8))
        await person.choose(self.random.choice(["busy", "auto"]))

    async def leave(self, person, manner):
        await asyncio.sleep(self.random.uniform(0, 0.5))
        if person.wants_in and person.is_watching:
            await person.leave(manner)

    # The quiet after it.

    async def quiet(self, within):
        """Waits until everyone shows the truth, and returns how long that took."""
        began = time.monotonic()
        while wrong := self.disagreements():
            if time.monotonic() - began > within and not (self.ledger.is_excused and time.monotonic() - began < 60):
                for what in wrong[:10]:
                    self.ledger.breach(f"still after {within:.1f} s: {what}")
                if len(wrong) > 10:
                    self.ledger.breach(f"and {len(wrong) - 10} more")
                break
            await asyncio.sleep(0.1)
        for person in self.people.values():
            if person.wants_in:
                self.ledger.truth(person.user).cover(time.time())
        return time.monotonic() - began

    def disagreements(self):
        wrong, shown = [], {}
        for person in self.people.values():
            if not person.is_settled:
                wrong.append(f"{person.user} is not back, or stale")
                continue
            if not person.is_watching:
                continue
            for user in person.watches:
                truth = self.ledger.truth(user)
                status, name, version = person.shows(user)
                if status not in truth.statuses:
                    wrong.append(f"{person.user} shows {user} {status}, who is {truth.statuses} ({truth.manner})")
                elif name not in truth.names:
                    wrong.append(f"{person.user} shows the name {name}, acknowledged is {truth.name}")
                elif version < self.versions.get(user, 0):
                    wrong.append(f"{person.user} shows {user} in a version older than was shown before")
                elif shown.setdefault(user, (status, name, version)) != (status, name, version):
                    wrong.append(f"{person.user} shows {user} as {status, name, version}, others as {shown[user]}")
        wrong += self.talks.disagreements()
        if not wrong:
            self.versions |= {user: version for user, (_, _, version) in shown.items()}
        return wrong

    async def check_store(self):
        """Everything acknowledged is kept, and nothing is left over."""
        for person in await self.stored():
            truth = self.ledger.truth(person["user"])
            name = (person.get("profile") or {}).get("displayName")
            if name not in truth.names:
                self.ledger.breach(f"stored is the name {name}, acknowledged was {truth.name}")
        await self.talks.check()
        await self.accounts.check()
        status, report = await self.stage.doctor()
        if status != 0:
            self.ledger.breach("presenced doctor is not content:\n" + report)
        for breach in conformance.BREACHES:
            self.ledger.breach(breach)

    async def stored(self):
        """The presence of everyone, by a connection that stays open long enough."""
        for _ in range(10):
            for reader in self.people.values():
                if reader.kind == "Python" and reader.is_watching:
                    reply = await reader.window.ask("get", users=list(self.people))
                    if reply["type"] == "users":
                        return reply["users"]
            await asyncio.sleep(0.5)
        self.ledger.breach("nobody can read what is stored")
        return []

    async def play(self, seconds=None):
        """Each fault once, in an order of the seed's. With `seconds`, then two at a time until they are over."""
        until = time.monotonic() + (seconds or 0)
        order = [[name] for name in self.random.sample(self.faults.ALL, len(self.faults.ALL))]
        while not self.ledger.breaches and (order or time.monotonic() < until):
            await self.round(*(order.pop() if order else self.faults.two()))
        await self.check_store()
