"""The console at /console, as an operator uses it, without errors on the browser's console."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from support.accounts import ON, Accounts
from support import pictures
from support.api import API, path
from support.app import fill, press, shot, shows, title
from support.openapi import OpenAPI
from support.patience import eventually, now
from support.ports import free_port
from support.room import Room
from support.talks import group

DOCUMENT = OpenAPI("openapi.yaml")
RULES = Path(__file__).resolve().parents[2] / "config/prometheus/presence.rules.yaml"
SETTINGS = ON | {"console.enabled": True, "history.enabled": True, "linger": 1_500}
FILES = ["/console", "/console/console.js", "/console/console.css", "/console/app.css", "/console/parts.js",
         "/console/icon.svg", "/console/operations.md"] + [f"/console/{name}.js" for name in (
             "api", "alerts", "charts", "verdict", "runbook", "timeline", "overview", "people", "person", "limits", "doctor", "outbox", "conversations", "bans", "reports", "keys", "webhooks", "trace",
             "playground", "presence", "presence-messages", "presence-log", "presence-history", "presence-outbox")]


def origin(server):
    return f"http://{server.host}:{server.port}"


async def ask(room, method, place, body=None, token=None, **query):
    """The answer to a call, checked against the document."""
    text = "&".join(f"{name}={value}" for name, value in query.items())
    answer = await room.api.request(method, f"{place}?{text}" if text else place, body, token=token or room.backend)
    operation = min((each for each in DOCUMENT.operations if each.method == method and each.fits(place)),
                    key=lambda each: each.path.count("{"))
    assert "console" in operation.node["tags"]
    assert answer.status in operation.responses, f"{answer.status} is not documented: {answer}"
    DOCUMENT.check(method, answer, operation.responses[answer.status], f"{method} {place}")
    return answer


async def console(chromium, room, place="", expected=(), **size):
    """A page of a signed-in operator. A user without an account is a 404 on it, which Chromium logs."""
    page = await chromium.page(origin(room.server) + "/console", expected=(*expected, "/account"), **({"width": 1100, "height": 900} | size))
    await title(page, "Sign in")
    await fill(page, "token", room.backend)
    await page.key("Enter")
    await title(page, "Overview")
    if place:
        await page.run(f"location.hash = {place!r}")
    return page


def never_told(page, token):
    """Checks that a token is in no address."""
    assert len(page.requests) > 5
    for _, url in page.requests:
        assert token not in url and "token=" not in url, url


# Access


async def test_it_is_off_by_default(start):
    room = Room(start({}))
    for place in FILES + ["/v1/console/servers", "/v1/console/people", "/v1/console/doctor", "/v1/console/outbox"]:
        assert (await room.api.request("GET", place, token=room.backend)).status == 404, place


async def test_its_files_have_types_tags_and_a_policy(room):
    for place in FILES:
        answer = await room.api.request("GET", place)
        assert answer.status == 200 and answer.headers["ETag"] and answer.headers["X-Content-Type-Options"] == "nosniff", place
        assert (await room.api.request("GET", place, headers={"If-None-Match": answer.headers["ETag"]})).status == 304
        assert (await room.api.request("HEAD", place)).status == 200
    page = await room.api.request("GET", "/console")
    policy = dict(part.split(" ", 1) for part in page.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["img-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'" and policy["base-uri"] == "'none'"
    assert page.headers["Referrer-Policy"] == "no-referrer" and "Set-Cookie" not in page.headers
    assert not re.search(r"<style|style=|onclick|<script(?! type=\"module\" src=)", page.body)


async def test_pictures_may_come_from_the_bucket_to_which_the_server_sends_browsers(start, tmp_path):
    secret = tmp_path / "key"
    secret.write_text("secret")
    secret.chmod(0o600)
    bucket = {"bucket": "pictures", "endpoint": "http://127.0.0.1:1", "accessKey": "key", "secretKeyFile": str(secret)}
    for public, sources in {"": "'self'", "https://cdn.example:8443/pictures/": "'self' https://cdn.example:8443"}.items():
        room = Room(start(SETTINGS | {f"photos.s3.{name}": value for name, value in (bucket | {"publicURL": public}).items()}))
        page = await room.api.request("GET", "/console")
        assert f"; img-src {sources};" in page.headers["Content-Security-Policy"]


async def test_without_a_port_for_operators_it_is_for_this_machine_alone(start):
    room = Room(start(SETTINGS | {"trustedProxies": ["127.0.0.1"]}))
    nothing = "there is nothing at this path"
    calls = ["servers", "people", "search?q=a", "totals", "view", "doctor", "outbox", "conversations", "webhooks", "trace"]
    paths = [("GET", path) for path in ["/console", "/console/console.js", *(f"/v1/console/{call}" for call in calls)]]
    for method, path in [*paths, ("POST", "/v1/console/doctor"), ("POST", "/v1/console/playground")]:
        elsewhere = await room.api.request(method, path, token=room.backend, headers={"X-Forwarded-For": "203.0.113.9"})
        assert elsewhere.status == 404 and nothing in elsewhere.body, (path, elsewhere)
        assert nothing not in (await room.api.request(method, path, token=room.backend)).body, path


async def test_with_a_port_for_operators_it_is_there_alone(start):
    port = free_port()
    room = Room(start(SETTINGS | {"api.port": port}))
    assert (await room.api.request("GET", "/console")).status == 404
    assert (await room.api.request("GET", "/v1/console/servers", token=room.backend)).status == 404

    class Back:
        host = room.server.host
    Back.port = port
    back = API(Back)
    assert (await back.request("GET", "/console")).status == 200
    assert (await back.request("GET", "/v1/console/servers", token=room.backend)).status == 200


async def test_without_one_it_is_for_this_machine(start):
    """A trusted proxy names its client."""
    room = Room(start(SETTINGS | {"trustedProxies": ["127.0.0.1"]}))
    for address, status in {"203.0.113.7": 404, "127.0.0.1": 200}.items():
        for place in FILES:
            answer = await room.api.request("GET", place, headers={"X-Forwarded-For": address})
            assert answer.status == status, (place, address)


@pytest.mark.parametrize("method,place", [
    ("GET", "/v1/console/servers"), ("GET", "/v1/console/people"), ("GET", "/v1/users/bob/sessions"),
    ("GET", "/v1/console/view"), ("GET", "/v1/console/doctor"), ("POST", "/v1/console/doctor"), ("GET", "/v1/console/outbox"),
    ("GET", "/v1/console/conversations"), ("GET", "/v1/console/trace"), ("POST", "/v1/console/playground"),
    ("GET", "/v1/console/keys"), ("POST", "/v1/console/keys"), ("POST", "/v1/console/keys/shop/rotate"), ("DELETE", "/v1/console/keys/shop")])
async def test_its_calls_are_for_backends(room, method, place):
    assert (await ask(room, method, place, token=room.token("ana"))).status == 403
    assert (await ask(room, method, place, token="garbage")).status == 401


# Its calls


async def test_people_are_told_a_page_at_a_time_each_once(start):
    room = Room(start(SETTINGS))
    clients = await asyncio.gather(*[room.come(f"p{number}", "web") for number in range(250)])
    phone = await room.come("p0", "phone")
    await clients[1].activity("idle")
    await clients[2].update(displayName='Zoë "Z"')
    found, cursor, pages = [], None, 0
    while True:
        answer = await ask(room, "GET", "/v1/console/people", **({"cursor": cursor} if cursor else {}))
        assert answer.status == 200, answer
        found += answer.json["people"]
        pages += 1
        cursor = answer.json.get("cursor")
        if not cursor:
            break
    people = {each["user"]: each for each in found}
    assert set(people) == {client.user for client in clients} and pages > 1
    assert len(found) <= 251
    assert people[clients[1].user]["status"] == "away" and people[clients[0].user]["status"] == "online"
    assert people[clients[2].user]["displayName"] == 'Zoë "Z"'
    assert all(abs(each["since"] - now()) < 60_000 for each in found)
    await phone.close()


async def test_a_user_with_an_unreadable_record_is_listed(chromium, start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis))
    ana, bob = await room.come("ana", "web"), await room.come("bob", "web")
    record = next(key for key in redis.command("KEYS", f"*:user:{bob.user}").splitlines() if key)
    redis.command("DEL", record)
    redis.command("SET", record, "damaged")
    cursor, people = "", []
    while cursor is not None:
        answer = (await ask(room, "GET", "/v1/console/people", **({"cursor": cursor} if cursor else {}))).json
        people += answer["people"]
        cursor = answer.get("cursor")
    assert {each["user"]: each["status"] for each in people} == {ana.user: "online", bob.user: "unknown"}
    async with chromium:
        page = await console(chromium, room, "/people", expected=("Failed to load resource",))
        await shows(page, "Cannot be read")


@pytest.mark.parametrize("cursor", ["x", "1:2", "-1:a:0", "100000:a:0", "1:a:b", "%zz", "1:a:-1"])
async def test_a_cursor_that_no_answer_had_is_refused(room, cursor):
    answer = await ask(room, "GET", "/v1/console/people", cursor=cursor)
    assert (answer.status, answer.json["field"]) == (422, "cursor")


async def test_sessions_are_those_that_there_are(room):
    bob = await room.come("bob", "web")
    phone = await room.come("bob", "phone")
    await phone.activity("idle")
    told = (await ask(room, "GET", path("users", bob.user, "sessions"))).json["sessions"]
    assert [(each["kind"], each["active"], each["device"]) for each in told] == [("web", True, "bob-web"), ("phone", False, "bob-phone")]
    servers = (await ask(room, "GET", "/v1/console/servers")).json
    assert {each["server"] for each in told} <= {each["name"] for each in servers["servers"] if each["state"] == "live"}
    assert servers["bounds"]["shards"] == len(servers["servers"]) and servers["redis"]["usedBytes"] > 100_000
    assert (await ask(room, "GET", "/v1/users/nobody/sessions")).json["sessions"] == []
    assert (await ask(room, "GET", "/v1/users/a%20b/sessions")).status == 400


async def test_a_view_is_what_a_user_is_shown(room):
    ana, bob = await room.come("ana"), await room.come("bob", "web")
    seen = (await ask(room, "GET", "/v1/console/view", user=bob.user, viewer=ana.user)).json
    assert seen == (await room.api.request("GET", path("users", bob.user), token=room.token("ana"))).json
    await bob.did("block", users=[ana.user])
    seen = (await ask(room, "GET", "/v1/console/view", user=bob.user, viewer=ana.user)).json
    assert seen["presence"] == {"version": 0, "status": "offline"}
    for query, status, field in (
            ({}, 400, "user"), ({"user": "bob"}, 400, "viewer"), ({"user": "bob", "viewer": "a%20b"}, 422, "viewer")):
        answer = await ask(room, "GET", "/v1/console/view", **query)
        assert (answer.status, answer.json["field"]) == (status, field), answer


# Its pages


async def test_a_token_lets_in_and_is_in_no_address(chromium, room):
    async with chromium:
        page = await chromium.page(origin(room.server) + "/console", expected=("Failed to load resource",), width=1100, height=900)
        await title(page, "Sign in")
        assert await page.value("document.activeElement.name") == "token"
        await shot(page, "console-sign-in")
        await press(page, "Sign in")
        await shows(page, "Please paste a token.")
        await fill(page, "token", "garbage")
        await page.key("Enter")
        await shows(page, "This token is rejected")
        await fill(page, "token", room.token("ana"))
        await page.key("Enter")
        await shows(page, "This is the token of a user.")
        await fill(page, "token", room.backend)
        await page.key("Enter")
        await title(page, "Overview")
        await page.reload()
        await title(page, "Overview")
        assert await page.value("[localStorage.length, document.cookie]") == [0, ""]
        await press(page, "Sign out")
        await title(page, "Sign in")
        await shows(page, "You are signed out")
        assert await page.value("sessionStorage.length") == 0
        never_told(page, room.backend)


async def test_an_expired_token_leads_to_the_sign_in(chromium, room):
    async with chromium:
        page = await console(chromium, room, expected=("Failed to load resource",))
        await page.run("sessionStorage.setItem('presence-console-token', 'x')")
        await title(page, "Sign in")


async def test_the_overview_shows_numbers_as_they_are(chromium, room):
    clients = [await room.come(f"o{number}", "web") for number in range(5)]
    async with chromium:
        page = await console(chromium, room)

        async def value(name):
            return await page.value(f"document.querySelector('[aria-label=\"{name}\"] .value').textContent")

        async def is_counted():
            # Clients of other tests may still be disconnecting.
            page_of_numbers = (await room.api.request("GET", "/metrics")).body
            return f"\npresence_connections {await value('Connections')}\n" in page_of_numbers
        await eventually(is_counted, "as many connections as there are")
        clients.append(await room.come("late", "web"))
        await eventually(is_counted, "one more")
        await page.until("document.querySelectorAll('tbody tr').length >= 1 && document.querySelector('tbody').innerText.includes('live')")
        await page.until("document.querySelector('[aria-label=\"Live shards\"] .verdict').textContent.startsWith('Within')")
        await shot(page, "console-overview")
        lines = await page.value("""[...document.querySelectorAll('presence-spark canvas')].map((canvas) =>
            canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte))""")
        assert len(lines) == 12 and all(lines)
        never_told(page, room.backend)


async def test_without_redis_nothing_is_said_to_be_well(chromium, start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis))
    await room.come("ana", "web")
    async with chromium:
        page = await console(chromium, room, expected=("Failed to load resource",))
        await page.until("document.querySelector('tbody').innerText.includes('live')")
        tile = "document.querySelector('[aria-label=\"{}\"] {}')"
        shards, waiting = tile.format("Live shards", ".verdict"), tile.format("Commands waiting", ".verdict")
        await page.until(f"{shards}.textContent.startsWith('Within') && {waiting}.textContent.startsWith('Within')")
        redis.stop()
        await page.until(f"{shards}.textContent.endsWith('Alert: PresenceStale') && {shards}.classList.contains('bad')")
        await page.until("document.querySelector('tbody').innerText === 'Not known'")
        assert await page.value(f"{waiting}.textContent") == ""
        for name in ("Redis", "Not stored yet"):
            assert await page.value(tile.format(name, ".value") + ".textContent") == "–"
        await shot(page, "console-without-redis")


async def test_a_tile_is_red_when_its_alert_fires_and_empty_without_data(chromium, room):
    async with chromium:
        page = await console(chromium, room, "/doctor")
        # Without the numbers that the overview has read.
        await page.reload()
        await title(page, "Doctor")
        await page.run("""
            const { tile } = await import("/console/charts.js");
            globalThis.made = tile("Waiting", { unit: (value) => `${value} of them`, seconds: 60 });
            document.querySelector("main").append(made.node);
            globalThis.said = (...values) => {
                made.show(values.map((value, index) => [index * 20_000, value]), 10);
                return [made.node.querySelector(".value").textContent, made.node.querySelector(".verdict").textContent, made.node.className];
            };""")
        within, near, bad = "Within its bound: at most 10 of them", "Beyond its bound, at most 10 of them: an alert in ", "Not within its bound: at most 10 of them"
        for values, expected in (
                ([0, 3], ["3 of them", within, "tile"]), ([3, 11], ["11 of them", near + "1 min 0 s, unless it ends", "tile"]),
                ([3, 11, 12, 13], ["13 of them", near + "20 s, unless it ends", "tile"]), ([3, 11, 12, 13, 14], ["14 of them", bad, "tile alarm"]),
                ([11, 12, 3, 13, 14], ["14 of them", near + "40 s, unless it ends", "tile"]), ([11, 12, None, 13, 14], ["14 of them", bad, "tile alarm"]),
                ([14, 3], ["3 of them", within, "tile"]), ([3, None], ["–", "", "tile"]), ([], ["–", "", "tile"])):
            assert await page.value(f"said(...{json.dumps(values)})") == expected, values
        # For a histogram: the growth in the last half minute, and nothing without growth.
        values = await page.run("""
            const { numbers } = await import("/console/api.js");
            const text = (few, all) => `presence_x_bucket{le="1"} ${few}\npresence_x_bucket{le="8"} ${all}\npresence_x_bucket{le="+Inf"} ${all}\n`;
            const answers = [text(1, 1), text(1, 1), text(1, 9), text(1, 9)];
            const plain = setTimeout;
            globalThis.setTimeout = (act) => plain(act, 0);
            globalThis.fetch = async () => new Response(answers.shift());
            const ending = new AbortController();
            await new Promise((resolve) => numbers.follow(ending.signal, () => answers.length || (ending.abort(), resolve())));
            globalThis.setTimeout = plain;
            return numbers.quantile("x", 0.99).slice(-3).map(([, value]) => value);""")
        assert values == [None, 8, 8]


async def test_tiles_name_their_bounds_and_alerts(chromium, room):
    async with chromium:
        page = await console(chromium, room)
        bounds = await page.value("(await import('/console/alerts.js')).BOUNDS")
        told = await page.value("[...document.querySelectorAll('.tile .about')].map((each) => /Alert: (\\w+)/.exec(each.textContent)?.[1] ?? '')")
        assert {name for name in told if name} == set(bounds) - {"PresenceRedisClock", "PresenceWebhookOff", "PresenceIntentsPending", "PresenceCatchUpsPending"} | {"PresencePartlyStale"}
        # Some load to measure.
        bob = await room.come("bob", "web")
        await bob.subscribe(bob.user)
        await bob.status("busy")
        for name, text in (("Delay", "at most 1,000 ms"), ("Loop", "at most 100 ms"), ("Slow clients", "at most 205 MiB")):
            await page.until(f"document.querySelector('[aria-label=\"{name}\"] .verdict').textContent === 'Within its bound: {text}'")
        assert await page.value("document.querySelector('[aria-label=\"Redis\"] .verdict').textContent") == ""


async def test_numbers_of_a_quarter_of_an_hour_are_made_once(chromium, room):
    """Or a page that has been open for long would stand still each second."""
    async with chromium:
        page = await console(chromium, room, "/doctor")
        await title(page, "Doctor")
        made = await page.run("""
            const { numbers, LENGTH } = await import("/console/api.js");
            const plain = setTimeout;
            globalThis.setTimeout = (act) => plain(act, 0);
            globalThis.fetch = async () => new Response("presence_sessions 1\\npresence_events_in_total 2\\n");
            const ending = new AbortController();
            let left = LENGTH + 20;
            await new Promise((resolve) => numbers.follow(ending.signal, () => --left || (ending.abort(), resolve())));
            globalThis.setTimeout = plain;
            let count = 0;
            const read = () => numbers.series((sample) => (count++, sample.samples.get("presence_sessions")), "mine").length;
            return [LENGTH, read(), read(), count];""")
        assert made == [900, 900, 900, 900]


async def test_a_hidden_page_sends_no_requests(windows, room):
    async with windows:
        page = await console(windows, room)
        await page.until("document.querySelector('.value').textContent !== '–'")
        # Neither while the page is behind another one nor on a page of the console that shows no numbers.
        other = await windows.page()
        await page.until("document.hidden")
        await is_quiet(page)
        count = len(page.requests)
        await other.close()
        await page.show()
        await eventually(lambda: len(page.requests) > count, "it asks again")
        await page.run("location.hash = '/doctor'")
        await title(page, "Doctor")
        await is_quiet(page)


async def is_quiet(page):
    # Pending work may end.
    await asyncio.sleep(1.5)
    count = len(page.requests)
    await asyncio.sleep(2.5)
    assert len(page.requests) == count, page.requests[count:]


async def test_people_are_found_and_live(chromium, room):
    ana, bob = await room.come("ana", "web"), await room.come("bob", "web")
    await bob.update(displayName="Bob Ray")
    async with chromium:
        page = await console(chromium, room, "/people")
        await title(page, "People")
        await shows(page, "Bob Ray")
        await bob.status("busy", text="In a meeting")
        await shows(page, "In a meeting")
        await shot(page, "console-people")
        await fill(page, "search", "bob r")
        await page.until("document.querySelectorAll('.line:not([hidden])').length === 1")
        await fill(page, "search", ana.user)
        await page.until(f"document.querySelector('.line:not([hidden]) a').textContent === {ana.user!r}")
        await fill(page, "search", "zed")
        await press(page, "Look at the user zed")
        await title(page, "zed")
        await shows(page, "Offline")


async def test_ten_thousand_people_are_a_few_rows_that_scroll(chromium, room):
    """The rows are generated in the browser: only the list is measured."""
    async with chromium:
        page = await console(chromium, room, "/people")
        await title(page, "People")
        took = await page.run("""
            const { LongList } = await import("/console/people.js");
            const { h } = await import("/console/parts.js");
            const list = new LongList("Many", () => ({ node: h("div", { class: "line" }) }), (row, item) => (row.node.textContent = item));
            document.querySelector("main").append(list.node);
            list.items = Array.from({ length: 10_000 }, (_, number) => `person ${number}`);
            const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
            await frame();
            const began = performance.now();
            for (let number = 0; number < 60; number++) {
              list.node.scrollTop = number * 9_000;
              await frame();
            }
            const took = (performance.now() - began) / 120;
            list.node.scrollTop = 1e9;
            await frame();
            return { took, rows: list.node.querySelectorAll(".line").length, text: list.node.innerText, size: list.node.querySelector(".line:not([hidden])").getAttribute("aria-setsize") };
        """)
        print(f"a frame takes {took['took']:.1f} ms")
        assert took["rows"] < 60 and "person 9999" in took["text"] and took["size"] == "10000"


async def test_a_person_is_shown_whole_and_can_be_disconnected(chromium, room):
    ana, bob = await room.come("ana"), await room.come("bob", "web")
    await bob.update(displayName="Bob Ray", timezone="Europe/Paris")
    for _ in range(3):
        for state in ("idle", "active"):
            await bob.activity(state)
            # A status that lasts less than a millisecond is not kept.
            await asyncio.sleep(0.005)
    await bob.did("block", users=[ana.user])
    async with chromium:
        page = await console(chromium, room, f"/person/{bob.user}")
        await title(page, "Bob Ray")
        for text in (bob.user, "Online", "Europe/Paris", "bob-web", "everyone", ana.user, "Who was online when", "Away"):
            await shows(page, text)
        assert await page.value("document.querySelector('[aria-label=\"Account\"]').hidden")
        await shot(page, "console-person")
        await fill(page, "viewer", ana.user)
        await page.key("Enter")
        await shows(page, "sees a user who is offline, and nothing else.")
        await page.run("window.confirm = () => false")
        await press(page, "Disconnect")
        await asyncio.sleep(0.3)
        assert bob.end == "open"
        await page.run("window.confirm = () => true")
        await press(page, "Disconnect")
        await bob.closed(4006)
        await shows(page, "Disconnect: 1 ended.")
        await shows(page, "Last seen")
        await page.until("document.querySelector('[aria-label=\"Sessions\"]').innerText.includes('disconnected by an operator or a backend')")
        never_told(page, room.backend)


async def test_an_unknown_user_is_shown_as_unknown(chromium, room):
    bob = await room.come("bob", "web")
    said = "No user with this id has been here."
    async with chromium:
        page = await console(chromium, room, "/person/nobody-at-all", expected=("Failed to load resource",))
        await shows(page, said)
        await page.run(f"location.hash = '/person/{bob.user}'")
        await shows(page, "Online")
        assert said not in await page.value("document.body.innerText")


async def test_a_picture_elsewhere_is_not_loaded_and_one_of_the_server_is(chromium, start):
    """A user chooses the address of their picture, whose host would learn when an operator looks."""
    room = Room(start(SETTINGS))
    bob, accounts = await room.come("bob"), Accounts(room.server)
    address = "https://beacon.example/v1/photos/" + "0" * 32 + ".jpg"
    await bob.update(displayName="Bob Ray", photoURL=address)
    ana = await accounts.sign_up()
    answer = await accounts.api.request("PUT", "/v1/me/photo", pictures.jpeg(pictures.scene(300, 300)), token=ana.access)
    assert answer.status == 200, answer
    async with chromium:
        page = await console(chromium, room, f"/person/{bob.user}")
        await title(page, "Bob Ray")
        await shows(page, address)
        assert await page.value("document.querySelector('presence-avatar').textContent") == "BR"
        await page.run(f"location.hash = {f'/person/{ana.user}'!r}")
        await page.until("document.querySelector('presence-avatar img')?.naturalWidth > 0", "the picture is shown")
        assert "Picture elsewhere" not in await page.value("document.body.innerText")
        assert not [url for _, url in page.requests if not url.startswith((origin(room.server), "data:", "blob:"))]


async def test_tokens_are_revoked_and_accounts_disabled(chromium, start):
    accounts = Accounts(start(SETTINGS))
    room = Room(accounts.server)
    ana = await accounts.sign_up()
    socket = await room.come("ana", "web", token=ana.access)
    async with chromium:
        page = await console(chromium, room, f"/person/{ana.user}", expected=("Failed to load resource",))
        await shows(page, ana.email)
        await page.run("window.confirm = () => true")
        await press(page, "Disable the account")
        await socket.closed(4001)
        await shows(page, "Enable the account")
        assert (await accounts.sign_in(ana.email)).status == 401
        await press(page, "Enable the account")
        await shows(page, "Disable the account")
        again = await accounts.signed_in(ana.email)
        await press(page, "Revoke tokens")
        await shows(page, "All tokens that were issued until now are revoked.")
        assert (await again.call("GET", "/v1/me")).status == 401


async def test_limits_that_were_met_are_shown(chromium, start):
    room = Room(start(SETTINGS | {"request_burst": 5, "requests_per_second": 1}))
    async with chromium:
        page = await console(chromium, room, "/limits")
        await title(page, "Limits met")
        await shows(page, "limits was met since the server started.")
        ana = await room.come("ana")
        for _ in range(30):
            await ana.send({"type": "get", "users": ["bob"]})
        await page.until("document.querySelectorAll('tbody tr').length === 1")
        await shot(page, "console-limits")


async def test_the_doctor_examines_and_finds(chromium, start):
    redis = start.redis()
    room = Room(start(SETTINGS | {"lease": 2_000, "renewal": 400, "sweep": 300}, redis=redis))
    bob = await room.come("bob", "web")
    async with chromium:
        page = await console(chromium, room, "/doctor")
        await press(page, "Examine")
        await shows(page, "nothing is wrong")
        key = redis.command("--scan", "--pattern", f"*user:{bob.user}")
        redis.command("HSET", key, "since", "yesterday")
        await press(page, "Examine")
        await shows(page, "1 thing is wrong")
        await shows(page, bob.user)
        await shot(page, "console-doctor")


async def test_the_outbox_has_the_mails_of_development(chromium, start):
    accounts = Accounts(start(SETTINGS))
    room = Room(accounts.server)
    async with chromium:
        page = await console(chromium, room, "/outbox")
        await shows(page, "There are no mails.")
        ana = await accounts.sign_up()
        await shows(page, ana.email)
        link = await page.value("document.querySelector('main a').href")
        assert "/verify#token=" in link
        await shot(page, "console-outbox")


@pytest.mark.parametrize("address,name", [
    ("person/%", "People"), ("person", "People"), ("conversation/%E0%A4%A", "Conversations"), ("conversations/%", "Conversations"),
    ("trace/x/%", "Live trace"), ("trace/user/two%20words", "Live trace"), ("%", "Overview")])
async def test_an_address_that_makes_no_sense_leads_somewhere(chromium, room, address, name):
    async with chromium:
        page = await console(chromium, room, f"/{address}")
        await title(page, name)
        await press(page, "Limits")
        await title(page, "Limits met")


# Appearance and accessibility


SCREENS = {"": "Overview", "/people": "People", "/limits": "Limits met", "/doctor": "Doctor", "/outbox": "Outbox",
           "/conversations": "Conversations", "/reports": "Reports", "/trace": "Live trace", "/webhooks": "Webhooks", "/playground": "Playground"}


async def test_every_screen_fits_narrow_pages_in_both_schemes_and_its_fields_have_labels(chromium, room):
    bob = await room.come("bob", "web")
    await bob.activity("idle")
    long = "M" * 100
    id = (await group(await room.come("ana", "web"), bob, name=long))["id"]
    places = SCREENS | {f"/person/{bob.user}": bob.user, f"/conversation/{id}": long}
    async with chromium:
        # (The playground is left while its phones connect.)
        page = await console(chromium, room, expected=("closed before the connection is established",))
        for width, dark in ((360, False), (360, True), (1100, True)):
            await page.resize(width=width, height=900, dark=dark)
            for place, name in places.items():
                await page.run(f"location.hash = '{place or '/overview'}'")
                await title(page, name)
                await page.until("!document.querySelector('main').innerText.includes('Reading…')")
                await page.run("await new Promise((resolve) => setTimeout(resolve, 250))")
                wide = await page.value("""[...document.querySelectorAll('body *')].filter((each) =>
                    !each.closest('.scroll') && each.getBoundingClientRect().right > innerWidth + 1).map((each) => each.outerHTML.slice(0, 200))""")
                assert not wide and await page.value("document.documentElement.scrollWidth <= innerWidth"), (name, width, wide[:3])
                await shot(page, f"console-{name[:20].split('-')[0].replace(' ', '-').lower()}-{width}{'-dark' if dark else ''}")
                unnamed = await page.value("""[...document.querySelectorAll('input, button, a, [role=list], [role=region]')].filter((each) => !each.hidden
                    && !each.labels?.length && !each.getAttribute('aria-label') && !each.textContent.trim()).map((each) => each.outerHTML)""")
                assert not unnamed, unnamed
                assert await page.value("document.querySelectorAll('h1').length") == 1


async def test_the_keyboard_reaches_everything(chromium, room):
    async with chromium:
        page = await console(chromium, room)
        await page.run("document.querySelector('header a').focus()")
        reached = []
        names = ["Overview", "People", "Conversations", "Reports", "Live trace", "Webhooks", "Outbox", "Keys", "Limits", "Doctor", "Playground", "Sign out"]
        for _ in range(len(names) + 1):
            reached.append(await page.value("document.activeElement.textContent"))
            if len(reached) <= len(names):
                await page.key("Tab")
        assert reached[:-1] == names, reached
        # The links to the alerts of the numbers come before the table.
        label, links = "document.activeElement.getAttribute('aria-label')", 0
        while await page.value(label) != "Servers by their leases":
            assert await page.value("document.activeElement.hash.startsWith('#/runbook/')"), "only links to alerts"
            links += 1
            await page.key("Tab")
        assert 5 <= links <= 12
        await page.run("document.querySelector('header a').focus()")
        await page.key("Tab")
        await page.key("Enter")
        await title(page, "People")
        assert await page.value("document.activeElement.tagName") == "H1"
