"""The faults. Each begins, lets `meanwhile` happen, and ends; `run.py` has the expected effects."""

import asyncio
import os
import signal
import time

from . import timing
from .people import Flood


LONGEST_MOMENT = timing.LEASE + 0.3
"""The longest time, in seconds, for which Redis rejects commands in a momentary fault."""


class Skipped(Exception):
    """Cannot be done on this machine."""


class Faults:
    def __init__(self, stage, people, ledger, random_numbers):
        self.stage, self.people, self.ledger, self.random = stage, people, ledger, random_numbers
        self.flooded = 0

    def on(self, server):
        """The people connected to a server."""
        return [person for person in self.people.values() if person.wants_in and person.line.server is server]

    async def server_killed(self, meanwhile):
        """SIGKILL; it starts again after a second. Some of its people never return."""
        server = self.random.choice([server for server in self.stage.servers if not server.is_taken_off])
        people = self.on(server)
        lost = set(self.random.sample(people, min(3, len(people))))
        server.is_taken_off = True
        at = time.time()
        for person in people:
            if person in lost:
                person.gone_with_server(at)
            else:
                self.ledger.lost(person.user, at)
        server.kill()
        await asyncio.gather(meanwhile(), asyncio.sleep(1))
        await server.start()

    async def all_servers_killed(self, meanwhile):
        """SIGKILL of all servers, and a moment later all are back: people cannot return before."""
        # People who left a moment before are offline a linger after the servers are back: no other bound applies.
        self.ledger.is_doubled = True
        servers = [server for server in self.stage.servers if not server.is_taken_off]
        await meanwhile()
        at = time.time()
        for server in servers:
            for person in self.on(server):
                self.ledger.lost(person.user, at)
            server.is_taken_off = True
            server.kill()
        await asyncio.sleep(self.random.uniform(0.2, 2 * timing.LEASE))
        started = time.time()
        await asyncio.gather(*[server.start() for server in servers])
        self.ledger.no_server_until(started)

    async def server_stopped(self, meanwhile):
        """SIGSTOP past its lease, then SIGCONT: some of its people went elsewhere, some waited."""
        server = self.random.choice([server for server in self.stage.servers if not server.is_taken_off])
        people = self.on(server)
        at = time.time()
        server.send(signal.SIGSTOP)
        server.stopped_by_us = True
        for person in people:
            self.ledger.lost(person.user, at)
        await asyncio.sleep(0.3)
        server.is_taken_off = True
        for person in people:
            if self.random.random() < 0.5:
                person.hurry()
        await asyncio.gather(meanwhile(), asyncio.sleep(timing.LEASE + 2 * timing.SWEEP))
        server.send(signal.SIGCONT)
        server.is_taken_off = False

    async def redis_killed(self, meanwhile):
        """SIGKILL; Redis returns with its data after a second."""
        self.ledger.redis_went()
        self.stage.redis.kill()
        await asyncio.gather(meanwhile(), asyncio.sleep(1.5))
        await self.stage.redis.start()

    async def redis_stopped(self, meanwhile):
        """SIGSTOP past every lease."""
        self.ledger.redis_went()
        self.stage.redis.send(signal.SIGSTOP)
        await asyncio.gather(meanwhile(), asyncio.sleep(timing.LEASE + 0.5))
        self.stage.redis.send(signal.SIGCONT)

    async def redis_asleep(self, meanwhile):
        """DEBUG SLEEP: it takes connections and answers nothing."""
        self.ledger.redis_went()
        sleeping = asyncio.create_task(self.stage.redis.ask("DEBUG", "SLEEP", str(timing.LEASE)))
        await asyncio.gather(meanwhile(), sleeping)

    async def redis_full(self, meanwhile):
        """maxmemory reached: changes are rejected; people can still leave, visibly."""
        await self.stage.redis.ask("CONFIG", "SET", "maxmemory", "1")
        try:
            await self.refused()
            await asyncio.gather(meanwhile(), asyncio.sleep(timing.BOUNDS["vanished"][0]))
        finally:
            await self.stage.redis.ask("CONFIG", "SET", "maxmemory", "0")

    async def redis_refuses(self, meanwhile):
        """It answers writes with an error for moments, since it has too few replicas."""
        async def begin():
            await self.stage.redis.ask("CONFIG", "SET", "min-replicas-to-write", "1")

        async def end():
            await self.stage.redis.ask("CONFIG", "SET", "min-replicas-to-write", "0")

        await self.moments(begin, end, meanwhile)

    async def redis_busy(self, meanwhile):
        """A foreign script does not end: every command is answered BUSY until it is killed."""
        looping = None

        async def begin():
            nonlocal looping
            looping = asyncio.create_task(self.stage.redis.ask("EVAL", "while true do end", "0"))
            await self.answers("BUSY")

        async def end():
            # It is not looping yet, or still.
            while not looping.done():
                await self.stage.redis.ask("SCRIPT", "KILL")
                await asyncio.wait([looping], timeout=0.05)

        await self.stage.redis.ask("CONFIG", "SET", "busy-reply-threshold", "50")
        await self.moments(begin, end, meanwhile)

    async def redis_loading(self, meanwhile):
        """Redis loads all its data again, slowly, and answers LOADING in that time."""
        redis, reloading = self.stage.redis, None

        async def begin():
            nonlocal reloading
            keys = int(await redis.ask("DBSIZE"))
            # Longer than any moment, unless its delay is removed; it answers in between.
            await redis.ask("CONFIG", "SET", "key-load-delay", str(int(4e6 * LONGEST_MOMENT / keys)))
            reloading = asyncio.create_task(redis.ask("DEBUG", "RELOAD"))
            await self.answers("LOADING")

        async def end():
            while not reloading.done():
                await redis.ask("CONFIG", "SET", "key-load-delay", "0")
                await asyncio.wait([reloading], timeout=0.05)

        await redis.ask("CONFIG", "SET", "loading-process-events-interval-bytes", "1024")
        await self.moments(begin, end, meanwhile)

    async def redis_read_only(self, meanwhile):
        """Redis is for moments a replica of a master that does not exist: it rejects writes, and reports the role in ROLE."""
        async def begin():
            await self.stage.redis.ask("REPLICAOF", "127.0.0.1", "1")

        async def end():
            await self.stage.redis.ask("REPLICAOF", "NO", "ONE")

        await self.moments(begin, end, meanwhile)

    async def moments(self, begin, end, meanwhile):
        """Redis rejects commands for moments: from far shorter than anything notices to longer than a lease."""
        self.ledger.redis_went()

        async def refuse():
            for duration in (0.2, self.random.uniform(0.3, 0.8), LONGEST_MOMENT):
                self.ledger.redis_refuses()
                try:
                    await begin()
                    await asyncio.sleep(duration)
                finally:
                    await end()
                await asyncio.sleep(self.random.uniform(0, 0.5))

        await asyncio.gather(meanwhile(), refuse())

    async def answers(self, code):
        """Redis answers everything with an error of this code."""
        while not (await self.stage.redis.ask("DBSIZE")).startswith(code):
            await asyncio.sleep(0.02)

    async def disk_full(self, meanwhile):
        """Redis' disk is full: it rejects every write, the renewals of leases too."""
        if not self.stage.disk:
            raise Skipped("no file system of its own can be mounted here")
        filler = os.path.join(self.stage.disk, "filler")
        with open(filler, "wb", buffering=0) as file:
            for size in (65_536, 1):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError:
                    pass
            try:
                # The last page of its log may have room for some more, and changes that it accepts before a write fails are
                # in memory.
                while "aof_last_write_status:err" not in await self.stage.redis.ask("INFO", "persistence"):
                    await asyncio.sleep(0.02)
                self.ledger.redis_went()
                await self.refused()
                await asyncio.gather(meanwhile(), asyncio.sleep(1.5))
            finally:
                os.remove(filler)

    async def refused(self):
        """A change is answered `unavailable`, whole."""
        for person in self.random.sample([p for p in self.people.values() if p.is_watching], 3):
            reply = await person.rename()
            if reply["type"] == "profileUpdated":
                self.ledger.breach(f"a change of {person.user} was acknowledged that cannot have been kept")

    async def half_open(self, meanwhile):
        """A fifth of all connections go dead without being closed, for longer than any timeout."""
        people = [person for person in self.people.values() if person.wants_in]
        dead = self.random.sample(people, len(people) // 5)
        at = time.time()
        for person in dead:
            person.line.freeze()
            self.ledger.lost(person.user, at)
        await asyncio.gather(meanwhile(), asyncio.sleep(timing.BOUNDS["vanished"][0] - 0.5))
        for person in dead:
            person.line.thaw()
            person.hurry()

    async def cut(self, meanwhile):
        """A third of all connections break at once; all clients dial again."""
        for person in [person for person in self.people.values() if person.wants_in]:
            if self.random.random() < 0.33:
                self.ledger.lost(person.user)
                person.line.cut()
        await meanwhile()

    async def flood(self, meanwhile):
        """Hundreds of strangers connect, a third of them silently; connected clients lose nothing."""
        before = [person for person in self.people.values() if person.is_watching]
        strangers = Flood(self.stage.servers, self.stage.mint).run(250, 1.5)
        self.flooded, _ = await asyncio.gather(strangers, meanwhile())
        for person in before:
            if person.wants_in and not person.is_watching:
                self.ledger.breach(f"{person.user} lost their connection in a flood of others", is_excusable=True)

    SERVERS = ["server_killed", "all_servers_killed", "server_stopped", "half_open", "cut"]
    REDIS = ["redis_killed", "redis_refuses", "redis_busy", "redis_loading", "redis_read_only", "redis_stopped",
             "redis_asleep", "redis_full", "disk_full"]
    ALL = SERVERS + REDIS + ["flood"]

    def two(self):
        """Two faults that can happen at once. Redis' fault is the second: a starting server waits for Redis."""
        first = self.random.choice(self.SERVERS)
        return first, self.random.choice([name for name in self.SERVERS + self.REDIS if name != first])
