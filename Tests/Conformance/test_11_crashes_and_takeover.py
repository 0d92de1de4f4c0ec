"""Servers that are killed, and clients that move between servers."""

import asyncio
import signal
import time

import pytest

from support.client import ABSENT
from support.patience import A_MOMENT, PATIENCE, SLACK, now
from support.processes import find
from support.room import Room

LINGER, RENEWAL, SWEEP = 1.5, 0.4, 0.3
LEASE = max(2.0, SLACK)
"""Seconds: a machine that stalls for a shorter time does not make a living server look dead."""
SETTINGS = {"linger": 1_500, "lease": int(LEASE * 1000), "renewal": 400, "sweep": 300}
GHOSTS_GONE = LEASE + 2 * SWEEP


class Pair(Room):
    """A room on two servers that share a Redis; by default actions happen on the first."""

    def __init__(self, start, settings=SETTINGS, **options):
        redis = start.redis()
        super().__init__(start(settings, redis=redis, **options))
        self.redis = redis
        # Both know the same secret, as servers with a shared data directory do.
        self.other = start(settings, redis=redis, directory=self.server.directory, **options)


@pytest.fixture
def pair(start):
    return Pair(start)


async def test_two_servers_show_the_same(pair):
    here, there = await pair.come("ana"), await pair.come("eve", at=pair.other)
    bob, cy = await pair.come("bob", "phone"), await pair.come("cy", "web", at=pair.other)
    assert await here.subscribe(bob, cy) == await there.subscribe(bob, cy)
    await bob.status("busy", text="From here")
    await cy.update(displayName="From there")
    for watcher in (here, there):
        await watcher.sees(bob, status="busy", text="From here")
        await watcher.sees_profile(cy, displayName="From there")
    assert here.events("presence") == there.events("presence")
    assert here.events("profile") == there.events("profile")
    talk = (await here.did("createConversation", participants=[bob.user, cy.user]))["conversation"]["id"]
    await bob.watch_typing(talk)
    await cy.types(talk)
    await bob.sees_typing(talk, [cy])
    await cy.close()
    await bob.sees_typing(talk, [])
    await asyncio.gather(here.sees(cy, status="offline"), there.sees(cy, status="offline"))
    assert here.presence == there.presence


async def test_devices_on_two_servers_are_one_person(pair):
    watchers = [await pair.come("ana"), await pair.come("eve", at=pair.other)]
    phone = await pair.come("bob", "phone")
    for watcher in watchers:
        await watcher.subscribe(phone)
    web = await pair.come("bob", "web", at=pair.other, activity="idle")
    for watcher in watchers:
        await watcher.sees(phone, status="online", devices=["phone", "web"])
    await web.status("busy")
    await phone.hear("ownStatus")
    await phone.close()
    for watcher in watchers:
        await watcher.sees(phone, status="busy", devices=["web"])
        assert set(watcher.statuses(phone)) == {"online", "busy"}


async def test_a_live_device_is_replaced_across_servers_and_nobody_sees_it(pair):
    watchers = [await pair.come("ana"), await pair.come("eve", at=pair.other)]
    bob = await pair.come("bob", "phone")
    for watcher in watchers:
        await watcher.subscribe(bob)
    for at in (pair.other, pair.server, pair.other):
        older, bob = bob, await pair.come("bob", "phone", at=at)
        await older.closed(4004)
    await asyncio.sleep(A_MOMENT)
    assert watchers[0].events("presence") == watchers[1].events("presence") == []
    assert await bob.get() == []


@pytest.mark.parametrize("pause", [0.3, GHOSTS_GONE + 1], ids=["shorter than the lease", "longer than the lease"])
async def test_the_younger_connection_wins_however_late_the_older_one_is_heard_of(pair, pause):
    watcher = await pair.come("ana", at=pair.other)
    older = await pair.come("bob", "phone")
    await watcher.subscribe(older)
    pair.server.send_signal(signal.SIGSTOP)
    try:
        younger = await pair.come("bob", "phone", at=pair.other)
        await asyncio.sleep(pause)
    finally:
        pair.server.send_signal(signal.SIGCONT)
    await older.closed(4004, within=2 * PATIENCE)
    await asyncio.sleep(LINGER + A_MOMENT)
    assert await younger.get() == [] and watcher.events("presence") == []
    await younger.close()
    await watcher.sees(younger, status="offline")


async def test_a_user_who_reconnects_to_another_server_is_never_shown_offline(pair):
    watchers = [await pair.come("ana"), await pair.come("eve", at=pair.other)]
    bob = await pair.come("bob", "phone")
    for watcher in watchers:
        await watcher.subscribe(bob)
    for at in (pair.other, pair.server):
        bob.abort()
        bob = await pair.come("bob", "phone", at=at)
    await asyncio.sleep(LINGER + A_MOMENT)
    assert watchers[0].events("presence") == watchers[1].events("presence") == []
    await bob.status("busy")
    for watcher in watchers:
        await watcher.sees(bob, status="busy")


async def test_a_killed_servers_users_are_offline_in_time_except_those_who_returned(pair):
    watcher = await pair.come("ana", at=pair.other)
    ghosts = [await pair.come(f"ghost{number}", "web") for number in range(10)]
    back = await pair.come("back", "phone")
    backs_profile = await back.update(displayName="Back")
    ghosts_profile = await ghosts[0].update(displayName="Ghost")
    await watcher.subscribe(*ghosts, back)
    killed, when = time.monotonic(), now()
    pair.server.kill()
    # Well before the lease of the killed server can have expired.
    back = await pair.come("back", "phone", at=pair.other)
    assert time.monotonic() - killed < LEASE / 2, "the machine is too slow for this test"
    for ghost in ghosts:
        left = GHOSTS_GONE + SLACK - (time.monotonic() - killed)
        presence = await watcher.sees(ghost, within=max(left, 0.1), status="offline", devices=ABSENT)
        assert when - 1_000 * RENEWAL - 500 < presence["lastSeen"] < when + 100, "exact to the last renewal"
    assert watcher.events("presence", back) == []
    assert all(watcher.statuses(ghost) == ["offline"] for ghost in ghosts)
    assert (await watcher.get(back, ghosts[0]))[0]["profile"] == backs_profile
    assert (await watcher.get(ghosts[0]))[0]["profile"] == ghosts_profile
    await asyncio.sleep(LINGER)
    assert watcher.events("presence", back) == []


async def test_a_server_started_again_among_others_is_one_of_them(pair):
    watcher = await pair.come("ana", at=pair.other)
    bob = await pair.come("bob", "phone")
    await watcher.subscribe(bob)
    pair.server.kill()
    pair.server.start()
    bob = await pair.come("bob", "phone")
    await bob.status("busy", text="Back")
    await watcher.sees(bob, status="busy", text="Back", within=GHOSTS_GONE + PATIENCE)
    await asyncio.sleep(GHOSTS_GONE)
    assert (await watcher.truth(bob))["status"] == "busy"
    await bob.close()
    await watcher.sees(bob, status="offline")


async def test_a_clean_shutdown_shows_no_returning_user_offline(pair):
    watcher = await pair.come("ana", at=pair.other)
    bob, cy = await pair.come("bob", "phone"), await pair.come("cy")
    await watcher.subscribe(bob, cy)
    pair.server.send_signal(signal.SIGTERM)
    await asyncio.gather(bob.closed(1012), cy.closed(1012))
    bob = await pair.come("bob", "phone", at=pair.other)
    await watcher.sees(cy, status="offline", within=GHOSTS_GONE + LINGER + PATIENCE)
    assert watcher.events("presence", bob) == []


async def test_a_server_that_was_paused_is_fenced_and_right_again(pair):
    watcher = await pair.come("ana", at=pair.other)
    bob = await pair.come("bob", "phone")
    await watcher.subscribe(bob)
    pair.server.send_signal(signal.SIGSTOP)
    try:
        await watcher.sees(bob, status="offline", within=GHOSTS_GONE + PATIENCE)
    finally:
        pair.server.send_signal(signal.SIGCONT)
    await watcher.sees(bob, status="online", within=2 * PATIENCE)
    await bob.insists("status", status="busy")
    await watcher.sees(bob, status="busy")


async def test_an_invisible_user_is_not_shown_typing_because_of_a_suspended_server(pair):
    ana, bob = await pair.come("ana"), await pair.come("bob")
    typist = await pair.come("ana", at=pair.other)
    chat = (await bob.did("createConversation", participants=[ana.user]))["conversation"]["id"]
    await bob.watch_typing(chat)
    await typist.types(chat)
    await bob.sees_typing(chat, [ana])
    pair.other.send_signal(signal.SIGSTOP)
    try:
        await ana.status("invisible")
        # Typing events after it name all current typists.
        await bob.types(chat)
        await bob.sees_typing(chat, [bob])
        await bob.types(chat, False)
        await bob.sees_typing(chat, [])
    finally:
        pair.other.send_signal(signal.SIGCONT)


async def test_a_killed_server_with_a_redis_of_its_own_is_right_when_it_is_started_again(start):
    room = Room(start(SETTINGS))
    bob, cy = await room.come("bob", "phone"), await room.come("cy")
    profile = await bob.update(displayName="Bob", timezone="Europe/Berlin")
    await bob.status("busy", text="Before the crash")
    talk = (await bob.did("createConversation", participants=[cy.user]))["conversation"]["id"]
    went = await room.come("dan")
    await went.close()
    person, = await cy.get(bob)
    lost = now()
    room.server.kill()
    room.server.start()
    ana = await room.come("ana")
    cy = await room.come("cy")
    await ana.subscribe(bob, cy, went)
    assert ana.profile[bob.user] == profile
    presence = await ana.sees(bob, status="offline", within=GHOSTS_GONE + 2 * PATIENCE, text=ABSENT)
    assert lost - 1_000 * (LEASE + 1) < presence["lastSeen"] < lost + 100
    assert presence["version"] > person["presence"]["version"]
    assert ana.presence[cy.user]["status"] == "online"
    assert "lastSeen" in await ana.sees(went, status="offline", within=GHOSTS_GONE + 2 * PATIENCE)
    bob = await room.come("bob", "phone")
    assert bob.connected["status"] == {"status": "busy", "text": "Before the crash"}
    await ana.sees(bob, status="busy", text="Before the crash")
    await cy.watch_typing(talk)
    await bob.types(talk)
    await cy.sees_typing(talk, [bob])
    redises = [process for process in find(room.server.directory) if process != room.server.process.pid]
    assert len(redises) == 1, "one Redis, adopted or new"


async def test_linger_counts_from_when_there_is_a_server_again(start):
    """Clients could not return earlier. The only server is away for longer than its lease."""
    settings = SETTINGS | {"linger": 4_000, "lease": 4_000}
    room = Room(start(settings))
    for name in ("bob", "cy"):
        await room.come(name, "phone")
    bob, cy = room.name("bob"), room.name("cy")
    room.server.kill()
    await asyncio.sleep(4 + 1)
    began = time.monotonic()
    room.server.start()
    ana = await room.come("ana")
    await ana.subscribe(bob, cy)
    # Longer than a sweep after the lease ran out, and well before linger is over.
    await asyncio.sleep(1.5)
    await room.come("bob", "phone")
    # A server that was suspended with its machine gives all users more time. The simulator shows the maximum.
    await ana.sees(cy, status="offline", within=4 + 2 * SWEEP + SLACK + PATIENCE)
    assert time.monotonic() - began > 4 - 0.3
    assert ana.presence[bob]["status"] == "online"
    assert not [message for message in ana.log if message["type"] == "presence" and message["user"] == bob
                and message["presence"]["status"] == "offline"]


async def test_killed_again_and_again(start):
    room = Room(start(SETTINGS))
    for number in range(3):
        bob = await room.come("bob")
        if number:
            assert (await bob.get(bob))[0]["profile"]["displayName"] == f"Bob {number - 1}"
        await bob.update(displayName=f"Bob {number}")
        room.server.kill()
        room.server.start()
    ana = await room.come("ana")
    assert (await ana.get(bob))[0]["profile"]["displayName"] == "Bob 2"


async def test_known_versions_of_one_server_are_valid_on_another(pair):
    bob = await pair.come("bob")
    await bob.update(displayName="Bob")
    ana = await pair.come("ana")
    person, = await ana.subscribe(bob)
    known = {bob.user: {name: person[name]["version"] for name in ("presence", "profile")}}
    ana = await pair.come("ana", at=pair.other)
    assert await ana.subscribe(bob, known=known) == []
    await bob.status("busy")
    await ana.sees(bob, status="busy")


async def test_many_shards_on_two_servers_see_the_same(start):
    pair = Pair(start, shards=3)
    watchers = [await pair.come(f"watcher{number}", at=(pair.server, pair.other)[number % 2]) for number in range(16)]
    people = [await pair.come(f"p{number}", at=(pair.server, pair.other)[number % 2]) for number in range(6)]
    for watcher in watchers:
        await watcher.subscribe(*people)
    for number in range(5):
        await asyncio.gather(*[person.status("busy" if number % 2 else "auto", text=f"{number}") for person in people])
        await asyncio.gather(*[person.update(displayName=f"{number}") for person in people])
    people[0].abort()
    await people[1].close()
    for person in people[2:]:
        await asyncio.gather(*[watcher.sees(person, text="4") for watcher in watchers])
    for person in people[:2]:
        await asyncio.gather(*[watcher.sees(person, status="offline", within=LINGER + PATIENCE) for watcher in watchers])
    for person in people:
        await asyncio.gather(*[watcher.sees_profile(person, displayName="4") for watcher in watchers])
    assert all(watcher.presence == watchers[0].presence for watcher in watchers)
    assert all(watcher.profile == watchers[0].profile for watcher in watchers)
    everyone = [person.user for person in people]
    answers = [await watcher.get(*everyone) for watcher in watchers]
    assert all(answer == answers[0] for answer in answers)
