"""Why somebody is shown as they are: the search of all users, the ends of sessions, and a person's page with both."""

import asyncio
import time

import pytest

from support.accounts import Accounts
from support.api import path
from support.app import fill, press, shot, shows, title
from support.patience import eventually, now
from support.room import Room
from test_30_console import SETTINGS, ask, console

LEASES = SETTINGS | {"lease": 2_000, "renewal": 400, "sweep": 300}


async def search(room, text):
    """All that a search finds, by id."""
    found, cursor = {}, None
    while True:
        answer = await ask(room, "GET", "/v1/console/search", text=text, **({"cursor": cursor} if cursor else {}))
        assert answer.status == 200, answer
        found |= {each["user"]: each for each in answer.json["people"]}
        cursor = answer.json.get("cursor")
        if not cursor:
            return found


async def sessions(room, user):
    answer = await ask(room, "GET", path("users", user, "sessions"))
    assert answer.status == 200, answer
    return answer.json


async def ends(room, user, count=1):
    """The last ends of a user's sessions, when there are so many."""
    async def there():
        ended = (await sessions(room, user))["ended"]
        return ended if len(ended) >= count else None
    return await eventually(there, f"{count} ends")


# The search


async def test_users_are_found_by_id_name_username_and_address_present_or_not(start):
    accounts = Accounts(start(SETTINGS))
    room = Room(accounts.server)
    ana = await accounts.sign_up(accounts.address("ana.l"), displayName="Ana Lovelace", username="ana_l77")
    bob = await room.come("bob", "web")
    await bob.update(displayName="Bob Ray Ÿ")
    gone = await room.come("gone", "web")
    await gone.update(displayName="Gone Away")
    await gone.close()
    for text in (ana.user, ana.email, "ana_l77", "lovelace", "ANA_L", ana.email[:9]):
        assert (await search(room, text))[ana.user] == {
            "user": ana.user, "status": "offline", "displayName": "Ana Lovelace", "username": "ana_l77", "email": ana.email}, text
    found = (await search(room, "bob%20ray%20%C5%B8"))[bob.user]
    assert found["status"] == "online" and abs(found["since"] - now()) < 60_000 and "email" not in found
    await eventually(lambda: offline(room, gone), "the search shows them offline")
    assert set(await search(room, "Lovelace")) == {ana.user}
    assert await search(room, "nobody-of-this-name") == {}


async def offline(room, client):
    return (await search(room, "away"))[client.user]["status"] == "offline"


async def test_a_search_of_many_users_takes_steps(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis))
    bob = await room.come("bob")
    redis.command("EVAL", "for i = 1, 50000 do redis.call('SET', 'filler:' .. i, '') end", "0")
    cursor, steps, found = None, 0, set()
    while steps == 0 or cursor:
        answer = (await ask(room, "GET", "/v1/console/search", text="bob", **({"cursor": cursor} if cursor else {}))).json
        found |= {each["user"] for each in answer["people"]}
        cursor, steps = answer.get("cursor"), steps + 1
    assert found == {bob.user} and 3 <= steps <= 12


@pytest.mark.parametrize("query,status,field", [
    ({}, 400, "text"), ({"text": ""}, 422, "text"), ({"text": "x" * 201}, 422, "text"), ({"text": "x", "cursor": "x"}, 422, "cursor"),
    ({"text": "x", "cursor": "0:y"}, 422, "cursor"), ({"text": "x", "cursor": "-1:0"}, 422, "cursor")])
async def test_a_search_of_nonsense_is_refused(room, query, status, field):
    answer = await ask(room, "GET", "/v1/console/search", **query)
    assert (answer.status, answer.json["field"]) == (status, field)


async def test_the_longest_text_and_a_server_that_is_gone_are_no_mistakes(room):
    assert await search(room, "x" * 200) == {}
    assert (await ask(room, "GET", "/v1/console/search", text="x", cursor="9:0")).json == {"people": []}


@pytest.mark.parametrize("place", ["/v1/console/search", "/v1/console/totals"])
async def test_its_calls_are_for_backends(room, place):
    assert (await ask(room, "GET", place, token=room.token("ana"), text="x")).status == 403
    assert (await ask(room, "GET", place, token="garbage", text="x")).status == 401


# Totals


async def test_users_are_counted_over_all_servers(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis, shards=2))
    other = start(SETTINGS, redis=redis, directory=room.server.directory, shards=1)
    for number in range(5):
        await room.come(f"p{number}", "web")
    await asyncio.gather(*[room.come(f"q{number}", "web", at=other) for number in range(3)])
    # One user has devices on both servers.
    await room.come("p0", "phone", at=other)
    totals = (await ask(room, "GET", "/v1/console/totals")).json
    shards = totals["shards"]
    servers = (await ask(room, "GET", "/v1/console/servers")).json["servers"]
    assert {each["name"] for each in shards} == {each["name"] for each in servers} and len(shards) == 3
    assert totals["users"] == 8 and sum(each["users"] for each in shards) == 9
    assert 4 in [each["users"] for each in shards]


# Ends of sessions


async def test_how_a_session_ended_is_known(start):
    room = Room(start(SETTINGS | {"linger": 300}))
    bob = await room.come("bob", "web")
    before = await sessions(room, bob.user)
    assert before["ended"] == [] and before["chosen"] == "auto" and abs(before["endedSince"] - now()) < 60_000
    await bob.status("invisible", clearAfter=3_600_000)
    chosen = await sessions(room, bob.user)
    assert chosen["chosen"] == "invisible" and abs(chosen["clearAt"] - now() - 3_600_000) < 60_000
    await bob.close()
    [closed] = await ends(room, bob.user)
    assert (closed["how"], closed["kind"], closed["device"]) == ("closed", "web", "bob-web")
    assert before["sessions"][0]["since"] == pytest.approx(closed["since"], abs=1_000)
    assert closed["since"] <= closed["heardAt"] <= closed["endedAt"]
    # Each is a device of its own.
    left = await room.come("bob", "phone")
    await left.close(1001)
    assert (await ends(room, bob.user, 2))[-1]["how"] == "left"
    lost = await room.come("bob", "tablet")
    lost.abort()
    assert (await ends(room, bob.user, 3))[-1]["how"] == "lost"
    await room.come("bob", "desktop")
    await room.come("bob", "desktop")
    assert (await ends(room, bob.user, 4))[-1]["how"] == "replaced"
    revoked = await room.api.request("POST", path("users", bob.user, "revokeTokens"), token=room.backend)
    assert revoked.status == 200
    since = max(time.time(), revoked.json["notBefore"] / 1_000)
    assert (await ends(room, bob.user, 5))[-1]["how"] == "revoked"
    await room.come("bob", "bot", token=room.token("bob", iat=since))
    assert (await room.api.request("POST", path("users", bob.user, "disconnect"), token=room.backend)).status == 200
    assert (await ends(room, bob.user, 6))[-1]["how"] == "disconnected"
    await room.come("bob", "other", token=room.token("bob", expires=3, iat=since))
    assert (await ends(room, bob.user, 7))[-1]["how"] == "expired"


async def test_one_that_is_silent_is_told_from_one_that_was_lost(start):
    room = Room(start(SETTINGS | {"linger": 300, "heartbeat.interval": "1s", "heartbeat.timeout": "1s"}))
    silent = await room.raw("bob", device={"id": "bob-web", "kind": "web"})
    [end] = await ends(room, room.name("bob"))
    assert end["how"] == "silent" and end["endedAt"] - end["heardAt"] >= 1_500
    silent.abort()


async def test_the_newest_twenty_are_shown(start):
    room = Room(start(SETTINGS))
    for number in range(22):
        await (await room.come("bob", {"id": f"d{number}", "kind": "web"})).close()
    async def newest():
        return (await sessions(room, room.name("bob")))["ended"][-1:]
    await eventually(lambda: is_last(newest), "the last end")
    ended = (await sessions(room, room.name("bob")))["ended"]
    assert [each["device"] for each in ended] == [f"d{number}" for number in range(2, 22)]


async def is_last(newest):
    return [each["device"] for each in await newest()] == ["d21"]


async def test_the_sessions_of_a_dead_server_ended_with_it(start):
    redis = start.redis()
    room = Room(start(LEASES, redis=redis))
    other = start(LEASES, redis=redis, directory=room.server.directory)
    bob = await room.come("bob", "web", at=other)
    [session] = (await sessions(room, bob.user))["sessions"]
    other.kill()
    [end] = await ends(room, bob.user)
    assert end["how"] == "serverDied" and end["server"] == session["server"] and end["heardAt"] < end["endedAt"]
    assert (await sessions(room, bob.user))["sessions"] == []


# The pages


async def test_anybody_is_found_on_the_page_of_people(chromium, start):
    accounts = Accounts(start(SETTINGS))
    room = Room(accounts.server)
    ana = await accounts.sign_up(accounts.address("ana.l"), displayName="Ana Lovelace", username="ana_l78")
    bob = await room.come("bob", "web")
    await bob.update(displayName="Bob Ray")
    async with chromium:
        page = await console(chromium, room, "/people")
        await title(page, "People")
        await shows(page, "Bob Ray")
        assert "Ana Lovelace" not in await page.value("document.body.innerText")
        for text in ("lovelace", "ana_l78", ana.email, ana.user):
            await fill(page, "search", text)
            await page.until("document.querySelector('[role=status]').textContent === '1 found'")
            await page.until("document.querySelector('.line:not([hidden]) a')?.textContent === 'Ana Lovelace'")
        await shows(page, f"{ana.user} · @ana_l78 · {ana.email}")
        await shot(page, "console-search")
        await fill(page, "search", "bob ray")
        await page.until("document.querySelector('.line:not([hidden]) a').textContent === 'Bob Ray'")
        await fill(page, "search", "ana_l78")
        await press(page, "Ana Lovelace")
        await title(page, "Ana Lovelace")
        await shows(page, "Offline: no device is here.")


async def test_a_page_has_why_somebody_is_offline(chromium, room):
    bob = await room.come("bob", "web")
    phone = await room.come("bob", "phone", activity="idle")
    await bob.update(displayName="Bob Ray")
    why = "document.querySelector('.why')?.textContent"
    async with chromium:
        page = await console(chromium, room, f"/person/{bob.user}")
        await title(page, "Bob Ray")
        await page.until(f"{why} === 'Online: 2 devices here, 1 device in use.'")
        await shows(page, "Everyone may see this.")
        await bob.status("invisible")
        await page.until(f"{why} === 'Offline: the user chose to be invisible. 2 devices here.'")
        await bob.did("setVisibility", visibility={"presence": "contacts"})
        await bob.did("addContacts", users=[room.name("ana"), room.name("eve")])
        await bob.did("block", users=[room.name("cy")])
        await shows(page, "Only contacts (2) may see this, except 1 blocked user; others see “Offline”.")
        await bob.status("auto")
        await phone.close()
        bob.abort()
        await page.until(f"{why}.startsWith('Offline: no device is here. The last session, web (bob-web), ended ')")
        await page.until(f"{why}.endsWith(': the connection was lost, and the device did not come back.')")
        rows = await page.value("[...document.querySelectorAll('[aria-label=\"Sessions\"] tbody tr')].map((row) => row.innerText)")
        assert len(rows) == 2 and "bob-web" in rows[0] and "last signal" in rows[0] and "closed by the app" in rows[1], rows
        for width, dark in ((1440, False), (1440, True), (390, False), (390, True)):
            await page.resize(width=width, height=1000, dark=dark)
            await shot(page, f"console-why-{width}{'-dark' if dark else ''}")
            assert await page.value("document.documentElement.scrollWidth <= innerWidth")


async def test_nobody_is_disconnected_whom_nobody_knows(chromium, room):
    async with chromium:
        page = await console(chromium, room, "/person/nobody-at-all", expected=("Failed to load resource",))
        await shows(page, "No user with this id has been here.")
        assert not await page.value("[...document.querySelectorAll('button')].some((each) => each.textContent === 'Disconnect' && each.offsetParent)")
