"""A rolling upgrade under load: servers of two versions with different scripts on one Redis, and no user notices.

Three differences between the versions are visible (`support/versions.py`): the other one's scripts add a member to each
presence and profile that they write, and count the messages that they store. So the test knows which scripts made each
change, and each has to have been made by those of the server that acknowledged it. The other version also has a feature
with scripts of its own, which the one under test lacks (notifications, which are switched off there).
"""

import asyncio
import itertools
import json
import os
import platform
import random
import signal
import subprocess
import tempfile

import pytest

from support.api import API
from support.client import CLOSED
from support.patience import eventually
from support.processes import sweep
from support.room import Room
from support.server import BINARY
from support.talks import follow, fresh, group
from support.versions import FIELD, MEMBER, other_version, version_of

PEOPLE = 6
SHOWN = {"auto": "online", "busy": "busy"}
SETTINGS = {"linger": 6_000, "lease": 8_000, "user_requests_per_second": 1_000, "user_request_burst": 1_000}
ANSWERS = {"status": "ok", "updateProfile": "profileUpdated", "send": "sent", "subscribe": "subscribed",
           "unsubscribe": "unsubscribed", "get": "users"}


class Site(Room):
    """The servers of an installation, which start and stop, and the changes made on each."""

    def __init__(self, start, binary):
        self.start, self.redis, self.servers, self.changes, self.directory = start, start.redis(), [], {}, None
        self.workers = []
        super().__init__(self.add(binary))
        self.directory = self.server.directory

    def add(self, binary):
        settings = SETTINGS if binary != BINARY else SETTINGS | {"disabledFeatures": ["notifications"]}
        server = self.start(settings, redis=self.redis, directory=self.directory, shards=2, binary=binary)
        self.servers.append(server)
        self.changes[server] = {}
        return server

    @property
    def emptiest(self):
        """The server with the fewest users, so that there are some on each."""
        return min(self.servers, key=lambda server: sum(worker.home == server for worker in self.workers))

    def is_other(self, server):
        """Whether a server is of the other version."""
        return server.command[0] != BINARY

    async def take_changes(self, more=40):
        """Waits until each server has processed this many further changes of every kind."""
        kinds = set().union(*self.changes.values())
        before = {(server, kind): self.changes[server].get(kind, 0) for server in self.servers for kind in kinds}
        await eventually(
            lambda: kinds and all(self.changes[server].get(kind, 0) >= count + more / len(kinds)
                                  for (server, kind), count in before.items()),
            f"{more} further changes on each server", within=60)

    async def drain(self, server):
        """Stops a server as an operator does, with its clients on it."""
        self.servers.remove(server)
        server.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(server.process.wait, timeout=30) == 0

    def field(self, conversation, name):
        """A field of a conversation's record in Redis."""
        return self.redis.command("HGET", self.redis.command("KEYS", f"*:conversation:{conversation}"), name)

    @property
    def cached_scripts(self):
        lines = self.redis.command("INFO", "memory").splitlines()
        return next(int(line.split(":")[1]) for line in lines if line.startswith("number_of_cached_scripts:"))


class Worker:
    """A user who makes one change after the other, watches all users, and moves when a server asks for it. Any answer
    but the expected one fails the test; a request unanswered before the close is repeated."""

    def __init__(self, name, site):
        self.name, self.site, self.home = name, site, None
        site.workers.append(self)
        self.draw = random.Random(name)
        self.count = itertools.count(1)
        self.user, self.client, self.conversation = site.name(name), None, None
        self.status, self.text, self.shown = "auto", None, None
        self.said, self.held, self.told, self.seen_offline = {}, {}, {}, []
        # By user and text or name, whether the other version's scripts wrote it: as made, and as received.
        self.made, self.heard = {}, {}
        # Messages that the other version's scripts have stored, and those for which that is unknown.
        self.stored_by_other, self.stored_by_either = 0, 0

    async def come(self, home):
        self.home = home
        before, self.client = self.client, await self.site.come(self.name, "phone", at=home)
        if before:
            self.look_back(before)
            self.client.presence, self.client.profile = dict(before.presence), dict(before.profile)
        await self.watch(self.everybody)
        if self.conversation:
            await self.listen()

    async def listen(self):
        """Follows the messages from its position."""
        cursor = {"after": max(self.held), "messagesVersion": self.told["version"]} if self.held else {"after": 0}
        whole = await follow(self.client, self.conversation, **cursor)
        assert "reset" not in whole, whole
        self.hold(whole["messages"], whole["messagesVersion"])

    def hold(self, messages, version):
        for message in messages:
            assert self.held.get(message["seq"], message)["id"] == message["id"], "two messages with one number"
            self.held[message["seq"]] = message
        self.told["version"] = max(version, self.told.get("version", 0))

    def look_back(self, client):
        """Processes the messages of a connection."""
        for event in client.log:
            if event["type"] == "message":
                self.hold([event["message"]], event["conversationVersion"])
            elif event["type"] == "presence":
                if event["presence"]["status"] == "offline":
                    self.seen_offline.append(event)
                self.hear(event["user"], event["presence"], "text")
            elif event["type"] == "profile":
                self.hear(event["user"], event["profile"], "displayName")
            assert event["type"] not in ("messagesReset", "stale"), event

    def hear(self, user, register, member):
        """Records whose scripts wrote the received register."""
        if register and member in register:
            self.heard.setdefault((user, register[member]), set()).add(MEMBER in register)

    async def watch(self, people):
        """Subscribes as after a break, with its known versions."""
        held = {user: {"presence": self.client.presence[user]["version"], "profile": self.client.profile[user]["version"]}
                for user in people if self.client.presence.get(user) and self.client.profile.get(user)}
        return await self.change("subscribe", "subscriptions", users=people, known=held)

    async def ask(self, type, **members):
        """Repeats a request until it is answered; only a server that closes the connection because it ends may leave it
        unanswered. Returns the answer, and the version that made it: `None` if an earlier server may have done it
        before it was closed."""
        is_sure = True
        while (reply := await self.client.ask(type, **members)) == CLOSED:
            is_sure = False
            _, reason = await self.client.closed(1012)
            await asyncio.sleep(json.loads(reason)["reconnectAfter"] / 1000)
            await self.come(self.site.emptiest)
        return reply, self.site.is_other(self.home) if is_sure else None

    async def change(self, type, kind, **members):
        reply, by_other = await self.ask(type, **members)
        assert reply["type"] == ANSWERS[type], f"{reply} for {type} {members} on {self.home.url}"
        self.count_change(kind)
        return reply, by_other

    def count_change(self, kind):
        counts = self.site.changes[self.home]
        counts[kind] = counts.get(kind, 0) + 1

    async def act(self):
        number = next(self.count)
        kind = self.draw.choice(["status", "profile", "message", "subscriptions", "notifications"])
        if kind == "status":
            self.status, self.text = self.draw.choice(list(SHOWN)), f"I am at {number}"
            _, by_other = await self.change("status", kind, status=self.status, text=self.text)
            self.note(self.text, by_other)
        elif kind == "profile":
            self.shown = f"{self.name} {number}"
            reply, by_other = await self.change("updateProfile", kind, changes={"displayName": self.shown})
            self.note(self.shown, by_other)
            assert by_other in (None, MEMBER in reply["profile"]), f"{reply} on {self.home.url}"
        elif kind == "message":
            await self.say(f"{self.name} says {number}")
        elif kind == "notifications":
            await self.mark_notifications()
        else:
            some = self.draw.sample(self.everybody, PEOPLE // 2)
            await self.change("unsubscribe", kind, users=some)
            await self.watch(some)

    def note(self, shown, by_other):
        if by_other is not None:
            self.made[self.user, shown] = by_other

    async def say(self, text):
        id = fresh()
        reply, by_other = await self.change(
            "send", "message", conversation=self.conversation, message={"id": id, "text": text})
        self.said[id] = (reply["message"]["seq"], self.user, text)
        self.stored_by_other += by_other is True
        self.stored_by_either += by_other is None

    async def mark_notifications(self):
        """A request that only one version supports is carried out there, and rejected as unknown by the other: that is
        no failed change."""
        reply, _ = await self.ask("markNotifications", seen=1)
        expected = "notificationCounts" if self.site.is_other(self.home) else "unknown_type"
        assert reply.get("code", reply["type"]) == expected, f"{reply} on {self.home.url}"
        self.count_change("notifications")

    async def work(self, ended):
        while not ended.is_set():
            await self.act()
            # Some fifty changes a second, so that servers and Redis have pauses between them.
            await asyncio.sleep(0.02)
        # A worker that was told to move without a pending request.
        await self.change("get", "reads", users=[])

    async def sees_the_truth(self, workers):
        for other in workers:
            await self.client.sees(other.user, status=SHOWN[other.status], text=other.text)
            await self.client.sees_profile(other.user, displayName=other.shown)

    async def has_heard(self, said):
        """Waits until it has every message, under the numbers that their senders received."""
        def all_there():
            self.look_back(self.client)
            return len(self.held) >= len(said)
        await eventually(all_there, f"{len(said)} messages of {self.name}")
        assert listed(self.held.values()) == said
        assert not self.seen_offline, self.seen_offline[:3]


def listed(messages):
    return {message["id"]: (message["seq"], message["from"], message["text"]) for message in messages}


async def all_messages(client, conversation):
    """Read page by page, from the newest on."""
    messages, page = [], None
    while page is None or page["first"] < messages[0]["seq"]:
        before = {"before": messages[0]["seq"]} if messages else {}
        page = await client.did("getMessages", conversation=conversation, limit=100, **before)
        messages = page["messages"] + messages
    return messages


@pytest.fixture
def versions():
    """The program under test and one of another version."""
    directory = tempfile.mkdtemp(prefix="presence-versions-")
    yield BINARY, other_version(directory)
    sweep(directory)


def test_the_other_version_is_another(versions):
    own, other = versions
    assert os.path.getsize(own if os.path.sep in own else other) == os.path.getsize(other)
    # On processors whose constants are stored in smaller pieces, the copy reports the same version as the original.
    if platform.machine() == "x86_64":
        assert version_of(own) != version_of(other)


@pytest.mark.parametrize("direction", ["to the other version", "and back"])
async def test_no_change_is_refused_or_lost_in_a_rolling_upgrade_and_all_see_the_truth(start, versions, direction):
    former, later = versions if direction == "to the other version" else reversed(versions)
    site = Site(start, former)
    site.add(former)
    workers = [Worker(f"p{number}", site) for number in range(PEOPLE)]
    for number, worker in enumerate(workers):
        worker.everybody = [other.user for other in workers]
        await worker.come(site.servers[number % 2])
    conversation = (await group(*[worker.client for worker in workers]))["id"]
    for worker in workers:
        worker.conversation = conversation
        await worker.listen()
    ended = asyncio.Event()
    running = [asyncio.create_task(worker.work(ended)) for worker in workers]
    guard = asyncio.gather(*running)
    try:
        await change_servers(site, workers, later, guard)
        ended.set()
        await guard
    finally:
        for each in running:
            each.cancel()
    await compare(site, workers, conversation)
    compare_versions(site, workers, conversation)
    for binary in versions:
        await find_nothing(site, binary)


async def meanwhile(guard, what):
    """Waits for a task, and fails at once if one of the workers fails in that time."""
    task = asyncio.ensure_future(what)
    await asyncio.wait({guard, task}, return_when=asyncio.FIRST_COMPLETED)
    if guard.done():
        task.cancel()
        guard.result()
    return await task


async def change_servers(site, workers, later, guard):
    await meanwhile(guard, site.take_changes())
    scripts = site.cached_scripts
    for turn, older in enumerate(list(site.servers)):
        await meanwhile(guard, asyncio.to_thread(site.add, later))
        await meanwhile(guard, site.drain(older))
        everybody_there = eventually(lambda: all(worker.home in site.servers for worker in workers), "everybody elsewhere")
        await meanwhile(guard, everybody_there)
        # After the first one ended, there are clients on both versions.
        await meanwhile(guard, site.take_changes())
        if turn == 0:
            # A script is cached when it is first called.
            assert site.cached_scripts > 1.5 * scripts, "the versions share scripts"
        for _ in range(2):
            assert site.redis.command("SCRIPT", "FLUSH") == "OK"
            await meanwhile(guard, site.take_changes())
        if platform.machine() == "x86_64":
            assert await running_versions(site) == [version_of(server.command[0]) for server in site.servers]


async def running_versions(site):
    pages = [(await API(server).request("GET", "/metrics")).body for server in site.servers]
    return [page.split('presence_build_info{version="')[1].split('"')[0] for page in pages]


async def compare(site, workers, conversation):
    for worker in workers:
        await worker.sees_the_truth(workers)
    for worker in workers[1:]:
        assert worker.client.presence == workers[0].client.presence
        assert worker.client.profile == workers[0].client.profile
    reader = workers[0].client
    for person in await reader.get(*workers[0].everybody):
        assert person["presence"] == reader.presence[person["user"]], "the store has another presence"
        assert person["profile"] == reader.profile[person["user"]], "the store has another profile"
    said = {id: message for worker in workers for id, message in worker.said.items()}
    stored = await all_messages(reader, conversation)
    assert [message["seq"] for message in stored] == list(range(1, len(said) + 1)), "a gap, or one message twice"
    assert listed(stored) == said
    for worker in workers:
        await worker.has_heard(said)
    for server in site.servers:
        errors = await API(server).metric("errors_total", code="internal")
        assert errors == 0, (server.url, errors)


def compare_versions(site, workers, conversation):
    """Each change was made by the scripts of the server that acknowledged it, whichever version wrote the one before."""
    made = {shown: by_other for worker in workers for shown, by_other in worker.made.items()}
    heard = {}
    for worker in workers:
        for shown, versions in worker.heard.items():
            heard.setdefault(shown, set()).update(versions)
    wrong = {shown: by_other for shown, by_other in made.items() if heard.get(shown, {by_other}) != {by_other}}
    assert not wrong, wrong
    # Except for changes that were replaced before they were published.
    assert len(made.keys() & heard.keys()) > 0.9 * len(made)
    assert set(made.values()) == {False, True}
    counted = int(site.field(conversation, FIELD))
    least = sum(worker.stored_by_other for worker in workers)
    assert 0 < least <= counted <= least + sum(worker.stored_by_either for worker in workers)


async def find_nothing(site, binary):
    """The remaining state of both versions is in order for either one's doctor, except for the scripts that Redis was
    made to forget, and for the lists of servers that have ended and are not reaped yet."""
    command = site.servers[0].command
    found = await asyncio.to_thread(
        subprocess.run, [binary, "doctor", "--json", "--redis", site.redis.url, *command[command.index("--config"):][:2]],
        capture_output=True, text=True, timeout=60)
    assert {finding["kind"] for finding in json.loads(found.stdout)["findings"]} <= {"missingScript", "listedWithoutSession"}, (
        found.stdout + found.stderr)
