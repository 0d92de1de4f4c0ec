"""People with one device each, written from the protocol alone, who reconnect whenever possible."""

import asyncio
import time

from support.client import Client

from . import timing
from .voices import Voice


class Window(Client):
    """A connection that records in the ledger everything that its person shows."""

    def __init__(self, person):
        super().__init__(person.user)
        self.person = person

    def abort(self):
        # It may be closed before it was ever open.
        if hasattr(self, "socket"):
            super().abort()

    def learn(self, message):
        super().learn(message)
        ledger, kind = self.person.ledger, message["type"]
        if kind == "subscribed":
            for entry in message.get("users", ()):
                if register := entry.get("presence"):
                    ledger.shown(self.user, entry["user"], register["status"], register["version"], is_first=True)
        elif kind == "presence":
            register = message["presence"]
            ledger.shown(self.user, message["user"], register["status"], register["version"], is_first=False)
        elif kind == "stale":
            self.person.is_stale = True
            ledger.heard_stale(self.user)
        elif kind == "live":
            self.person.is_stale = False
        self.person.voice.hear(message)
        self.log.clear()
        self.arrivals.clear()
        if len(self.unread) > 200:
            self.unread.clear()


class Person:
    kind = "Python"

    def __init__(self, user, line, mint, ledger, random_numbers, watches):
        self.user, self.line, self.ledger, self.random, self.watches = user, line, ledger, random_numbers, watches
        self.token = mint.token(user, expires=24 * 3600)
        self.window = None
        self.is_stale = False
        self.is_watching = False
        self.wants_in = False
        self.task = None
        self.number = 0
        self.voice = Voice(self)

    # Coming and going.

    def come(self):
        self.ledger.arrives(self.user)
        self.wants_in = True
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.stay())

    async def stay(self):
        while self.wants_in:
            try:
                await asyncio.wait_for(self.connect(), 4)
                await self.window.reader
            except Exception:
                # Whatever broke: the connection, the server, or the answer that did not arrive.
                if self.window:
                    self.window.abort()
            self.is_watching = False
            if self.wants_in:
                self.ledger.lost(self.user)
                await asyncio.sleep(self.random.uniform(0, 0.3))

    async def connect(self):
        self.window = Window(self)
        await self.window.open(self.line.url, open_timeout=2)
        # In one packet: requests sent before the answer wait until the client is admitted.
        connecting = self.window.begin(
            "connect", token=self.token, device={"id": self.user + "-device", "kind": "phone"})
        subscribing = self.window.begin("subscribe", users=self.watches, **self.voice.subscription)
        connected = await connecting
        if connected["type"] != "connected":
            subscribing.cancel()
            raise ConnectionError(connected)
        self.window.user, self.window.longest = connected["user"], connected["limits"]["maxServerMessageBytes"]
        self.is_stale = False
        self.ledger.connected(self.user)
        if (await subscribing)["type"] != "subscribed":
            await self.window.insists("subscribe", users=self.watches, **self.voice.subscription)
        self.is_watching = True

    async def leave(self, manner):
        """The ways to leave: with a close, by a broken connection, or without notice to either side."""
        self.wants_in = self.is_watching = False
        self.ledger.leaves(self.user, manner)
        if manner == "said good-bye":
            try:
                await self.window.send({"type": "disconnect"})
            except Exception:
                # The connection broke in this very moment.
                self.ledger.truth(self.user).manner = "line broke"
        elif manner == "line broke":
            self.line.cut()
        elif manner == "vanished":
            for way in self.line.ways:
                way.is_frozen = True
        if manner != "said good-bye":
            self.window.abort()

    def gone_with_server(self, at):
        """Their server was killed, and they do not return."""
        self.wants_in = self.is_watching = False
        self.ledger.leaves(self.user, "server killed", at)
        if self.window:
            self.window.abort()

    def hurry(self):
        """Drops a connection that does not answer, and connects again."""
        if self.window:
            self.window.abort()

    # Doing something.

    async def choose(self, status):
        truth = self.ledger.truth(self.user)
        truth.is_unsure = True
        try:
            reply = await self.window.ask("status", status=status)
        except Exception:
            return
        if reply["type"] == "ok":
            truth.chosen, truth.is_unsure = status, False

    async def rename(self):
        """Changes the name. The answer; and the truth takes it only when it is acknowledged."""
        truth = self.ledger.truth(self.user)
        self.number += 1
        name = f"{self.user} {self.number}"
        truth.maybe_names.add(name)
        try:
            reply = await self.window.ask("updateProfile", changes={"displayName": name})
        except Exception as error:
            return {"type": "(lost)", "message": repr(error)}
        if reply["type"] == "profileUpdated":
            truth.name, truth.maybe_names = name, set()
        elif reply.get("code") == "unavailable" and "unknown" not in reply.get("message", "unknown"):
            truth.maybe_names.discard(name)
        return reply

    # Shown states.

    def shows(self, user):
        presence = self.window.presence.get(user) or {}
        profile = self.window.profile.get(user) or {}
        return presence.get("status", "offline"), profile.get("displayName"), presence.get("version", 0)

    @property
    def is_settled(self):
        return not self.wants_in or (self.is_watching and not self.is_stale)

    def close(self):
        self.wants_in = False
        if self.task:
            self.task.cancel()
        if self.window:
            self.window.abort()


class Flood:
    """A thousand strangers a second: a third never sends anything, and none stays."""

    def __init__(self, servers, mint):
        self.servers, self.mint = servers, mint

    async def run(self, count, lasting):
        strangers = [asyncio.create_task(self.stranger(number, lasting)) for number in range(count)]
        outcomes = await asyncio.gather(*strangers, return_exceptions=True)
        return sum(outcome is True for outcome in outcomes)

    async def stranger(self, number, lasting):
        server = self.servers[number % len(self.servers)]
        until = time.monotonic() + lasting
        await asyncio.sleep(number / 1000)
        if number % 3 == 0:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            await asyncio.sleep(max(0, until - time.monotonic()))
            writer.transport.abort()
            return True
        client = Client(f"stranger{number}")
        await client.open(f"ws://127.0.0.1:{server.port}/v1/ws", open_timeout=timing.LEASE * 5)
        await client.connect(self.mint.token(f"stranger{number}"))
        await asyncio.sleep(max(0, until - time.monotonic()))
        client.abort()
        return True
