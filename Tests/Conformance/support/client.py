"""A client that follows the protocol and checks that the server does.

It records every message, the state of each watched register by the protocol's rule, and every violation of the invariants
(`rules.py`, and the order of events); a test with a violation fails at its end.

"""

import asyncio
import itertools
import json
import time

import websockets

from . import rules
from .patience import PATIENCE, eventually

CLOSED = {"type": "(closed)"}
ABSENT = object()
"""As an expected member: it must be absent."""

BREACHES = []
"""The servers' violations during the running test."""

REPLIES = {"subscribe": "subscribed", "unsubscribe": "unsubscribed", "get": "users"}


def name_of(person):
    return person if isinstance(person, str) else person.user


def matches(held, expected):
    """Whether an object has the expected members; a function as a value is a predicate."""
    for name, value in expected.items():
        there = held.get(name, ABSENT)
        if there is value:
            continue
        if callable(value) and there is not ABSENT:
            if not value(there):
                return False
        elif there is ABSENT or value is ABSENT or there != value:
            return False
    return True


class Client:
    """One connection. `log` has all messages in the order of arrival, `arrivals` their times (monotonic seconds)."""

    def __init__(self, user=None, longest=262_144):
        self.user = user
        self.longest = longest
        self.log, self.arrivals, self.unread = [], [], []
        self.ids = itertools.count(1)
        self.waiting = {}
        self.presence, self.profile, self.typing = {}, {}, {}
        self.asked = {}
        self.watched = set()
        self.last_event = {}
        self.news = asyncio.Event()

    async def open(self, url, **options):
        options = {"subprotocols": ["presence.v1"], "open_timeout": PATIENCE, "ping_interval": None} | options
        self.socket = await websockets.connect(url, close_timeout=2, **options)
        self.reader = asyncio.create_task(self.read())
        return self

    # Reading

    async def read(self):
        try:
            async for text in self.socket:
                self.take(text)
        except websockets.ConnectionClosed:
            pass
        finally:
            self.news.set()
            for parts, reply in self.waiting.values():
                if not reply.done():
                    reply.set_result(CLOSED)

    def breach(self, what, message):
        BREACHES.append(f"{what}: {json.dumps(message)[:600]}")

    def take(self, text):
        for fault in rules.faults(text, self.longest):
            self.breach(fault, text)
        message = json.loads(text)
        self.log.append(message)
        self.arrivals.append(time.monotonic())
        self.learn(message)
        parts, reply = self.waiting.get(message.get("id"), (None, None))
        if reply is None:
            self.unread.append(message)
        else:
            parts.append(message)
            if message.get("more") is not True:
                del self.waiting[message["id"]]
                if not reply.done():
                    reply.set_result(self.whole(parts))
        self.news.set()

    def whole(self, parts):
        """Joins the parts of a split reply."""
        if any(part["type"] != parts[0]["type"] for part in parts):
            self.breach("parts of one reply with different types", parts)
        whole = dict(parts[0])
        whole.pop("more", None)
        for part in parts[1:]:
            for member in ("users", "conversations", "conversationList", "messages", "contacts", "blocks"):
                if member in part:
                    whole[member] = whole.get(member, []) + part[member]
            if "notifications" in part:
                inbox = whole.setdefault("notifications", part["notifications"] | {"items": []})
                whole["notifications"] = inbox | {"items": inbox["items"] + part["notifications"]["items"]}
        return whole

    def learn(self, message):
        """The protocol's rule: a register in `subscribed` replaces; one in an event replaces if its version is larger,
        or is 0."""
        kind = message["type"]
        if kind == "subscribed":
            for person in message.get("users", ()):
                self.watched.add(person["user"])
                self.hold(person)
            for conversation in message.get("conversations", ()):
                self.watched.add(("typing", conversation["conversation"]))
                self.typing[conversation["conversation"]] = (conversation["version"], conversation["typing"])
            if message.get("more") is not True:
                self.watched |= self.asked.pop(message.get("id"), set())
        elif kind in ("presence", "profile"):
            user, register = message["user"], message[kind]
            version = register["version"] if register else 0
            self.ordered(message, (kind, user), user, version)
            held = getattr(self, kind)
            if version == 0 or version > ((held.get(user) or {}).get("version", 0)):
                held[user] = register
        elif kind == "typing":
            conversation, version = message["conversation"], message["version"]
            self.ordered(message, (kind, conversation), ("typing", conversation), version)
            if version == 0 or version > self.typing.get(conversation, (0,))[0]:
                self.typing[conversation] = (version, message["users"])

    def hold(self, person):
        if "presence" in person:
            self.presence[person["user"]] = person["presence"]
        if "profile" in person:
            self.profile[person["user"]] = person["profile"]

    def ordered(self, message, register, subject, version):
        if subject not in self.watched:
            self.breach("an event about somebody who was not watched yet", message)
        if version != 0 and version <= self.last_event.get(register, 0):
            self.breach("an event that is no newer than the one before", message)
        self.last_event[register] = version

    # Sending

    async def send(self, message):
        """Sends an object, or a raw text."""
        await self.socket.send(message if isinstance(message, (str, bytes)) else json.dumps(message))

    def begin(self, type, **members):
        """Sends a request with an id; its reply can be awaited."""
        number = next(self.ids)
        reply = asyncio.get_running_loop().create_future()
        self.waiting[number] = ([], reply)
        self.asked[number] = set(members.get("users", ())) | {
            ("typing", conversation.get("id") if isinstance(conversation, dict) else conversation)
            for conversation in members.get("conversations", ())
        } if all(isinstance(name, str) for name in members.get("users", ())) else set()
        sending = asyncio.create_task(self.send({"type": type, "id": number} | members))

        async def answer():
            try:
                await sending
            except websockets.ConnectionClosed:
                return CLOSED
            return await asyncio.wait_for(reply, PATIENCE)

        return asyncio.ensure_future(answer())

    async def ask(self, type, **members):
        """Sends a request with an id and returns its reply, also if that is an error."""
        return await self.begin(type, **members)

    async def refused(self, code, type, **members):
        """Sends a request that must be rejected with a code, and returns the error."""
        reply = await self.ask(type, **members)
        assert reply["type"] == "error" and reply["code"] == code, f"{reply} instead of {code} for {type} {members}"
        return reply

    async def did(self, type, **members):
        """Sends a request that must succeed, and returns its reply."""
        reply = await self.ask(type, **members)
        assert reply["type"] not in ("error", "(closed)"), f"{reply} for {type} {members}"
        return reply

    async def insists(self, type, **members):
        """As `did`, but repeats while the answer is `unavailable`, as a good client does."""
        deadline = time.monotonic() + 2 * PATIENCE
        while (reply := await self.ask(type, **members)).get("code") == "unavailable":
            assert time.monotonic() < deadline, f"unavailable for too long: {reply}"
            await asyncio.sleep(min(reply["retryAfter"], 300) / 1000)
        assert reply["type"] not in ("error", "(closed)"), f"{reply} for {type} {members}"
        return reply

    async def connect(self, token=None, **members):
        if token is not None:
            members["token"] = token
        self.connected = await self.did("connect", **members)
        assert self.connected["type"] == "connected"
        self.user = self.connected["user"]
        self.longest = self.connected["limits"]["maxServerMessageBytes"]
        return self

    async def subscribe(self, *people, **members):
        """Subscribes, and returns the objects of the reply."""
        reply = await self.did("subscribe", users=[name_of(person) for person in people], **members)
        assert reply["type"] == "subscribed", reply
        return reply["users"]

    async def get(self, *people):
        reply = await self.did("get", users=[name_of(person) for person in people])
        assert reply["type"] == "users", reply
        return reply["users"]

    async def truth(self, person):
        """Requests the presence of one person."""
        return (await self.get(person))[0]["presence"]

    async def status(self, status="auto", **members):
        reply = await self.did("status", status=status, **members)
        assert reply["type"] == "ok", reply

    async def update(self, **changes):
        """Changes the own profile and returns it."""
        reply = await self.did("updateProfile", changes=changes)
        assert reply["type"] == "profileUpdated", reply
        return reply["profile"]

    async def activity(self, state):
        assert (await self.did("activity", state=state))["type"] == "ok"

    async def types(self, conversation, typing=True):
        assert (await self.did("typing", conversation=conversation, typing=typing))["type"] == "ok"

    async def watch_typing(self, *conversations):
        reply = await self.did("subscribe", conversations=list(conversations))
        assert reply["type"] == "subscribed", reply
        return reply["conversations"]

    # Waiting

    async def hear(self, type, within=PATIENCE, **members):
        """Waits for a message with these members that was not returned before, and returns it."""
        deadline = time.monotonic() + within
        while True:
            for message in self.unread:
                if matches(message, {"type": type} | members):
                    self.unread.remove(message)
                    return message
            self.news.clear()
            left = deadline - time.monotonic()
            if left <= 0 or self.reader.done():
                raise AssertionError(f"no {type} {members} within {within} s; last: {self.log[-5:]}, {self.end}")
            try:
                await asyncio.wait_for(self.news.wait(), left)
            except asyncio.TimeoutError:
                pass

    async def sees(self, person, within=PATIENCE, **members):
        """Waits until the client has a presence of a person with these members, and returns it."""
        user = name_of(person)
        await eventually(lambda: matches(self.presence.get(user, {}), members), within=within, every=0.005,
                         what=LazyText(lambda: f"{members} of {user}; held: {self.presence.get(user)}, {self.end}"))
        return self.presence[user]

    async def sees_profile(self, person, within=PATIENCE, **members):
        user = name_of(person)
        await eventually(lambda: matches(self.profile.get(user) or {}, members), within=within, every=0.005,
                         what=LazyText(lambda: f"{members} of {user}; held: {self.profile.get(user)}, {self.end}"))
        return self.profile[user]

    async def sees_typing(self, conversation, people, within=PATIENCE):
        names = sorted(name_of(person) for person in people)
        await eventually(lambda: self.typing.get(conversation, (0, None))[1] == names, within=within, every=0.005,
                         what=LazyText(lambda: f"{names} typing; held: {self.typing.get(conversation)}, {self.end}"))

    def events(self, kind, person=None):
        """All events of a kind so far (about a person)."""
        return [message for message in self.log
                if message["type"] == kind and (person is None or message["user"] == name_of(person))]

    def events_in(self, conversation):
        """The typing events of a conversation so far."""
        return [message for message in self.log
                if message["type"] == "typing" and message["conversation"] == conversation]

    def statuses(self, person):
        """The statuses in a person's events, in order."""
        return [event["presence"]["status"] for event in self.events("presence", person)]

    def arrived(self, message):
        """When a message arrived, in monotonic seconds."""
        return next(when for other, when in zip(self.log, self.arrivals) if other is message)

    # Ending

    @property
    def end(self):
        """A description of the connection's state."""
        if not self.reader.done():
            return "open"
        return f"closed with {self.socket.close_code} {self.socket.close_reason!r}"

    async def closed(self, code=None, within=PATIENCE):
        """Waits until the server has closed the connection, and returns code and reason."""
        await asyncio.wait({self.reader}, timeout=within)
        assert self.reader.done(), f"not closed within {within} s; last: {self.log[-3:]}"
        await self.socket.wait_closed()
        if code is not None:
            assert self.socket.close_code == code, f"{self.end} instead of {code}; last: {self.log[-3:]}"
        return self.socket.close_code, self.socket.close_reason

    async def close(self, code=1000):
        await self.socket.close(code)

    async def close_without_code(self):
        await self.socket.write_frame(True, websockets.frames.Opcode.CLOSE, b"")
        await asyncio.wait({self.reader}, timeout=PATIENCE)

    def abort(self):
        """Cuts the connection without a close."""
        self.socket.transport.abort()


class LazyText:
    """A text that is computed only when needed: at the failure, with the state of that moment."""

    def __init__(self, make):
        self.make = make

    def __str__(self):
        return self.make()
