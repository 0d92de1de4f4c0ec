"""The console's overview: whether all is well, and if not, what is wrong and where the runbook has it."""

import json
import re
import time

import yaml

from support.app import press, shot, shows, title
from support.room import Room
from support.server import run
from test_30_console import RULES, SETTINGS, console, never_told, origin

OVERALL = "document.querySelector('.overall')"
TEXT = f"{OVERALL}.querySelector('.verdict-text').innerText"
FACTS = f"{OVERALL}.querySelector('.quiet').textContent"


async def test_it_says_that_all_is_well_or_what_is_not(chromium, start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis, shards=2))
    for person in ("ana", "bob", "cy"):
        await room.come(person, "web")
    async with chromium:
        page = await console(chromium, room, expected=("Failed to load resource",))
        await page.until(f"{TEXT} === 'All is well.' && {OVERALL}.dataset.kind === 'good'")
        await page.until(f"{FACTS}.startsWith('3 users here · 2 of 2 shards of all servers live · version ')")
        await page.until("document.querySelector('tfoot').innerText.includes('2 of 2 live') && document.querySelector('tfoot').innerText.includes('3')")
        for width, dark in ((1440, False), (1440, True), (390, False), (390, True)):
            await page.resize(width=width, height=1000, dark=dark)
            await page.run("await new Promise((resolve) => setTimeout(resolve, 1_500))")
            await shot(page, f"console-well-{width}{'-dark' if dark else ''}")
        redis.stop()
        await page.until(f"{OVERALL}.dataset.kind === 'bad' && {TEXT}.startsWith('No shard reaches Redis')")
        # Nothing that was true before is shown as if it were so now.
        await page.until(f"!{FACTS}.includes('users here') && !{FACTS}.includes('live')")
        assert "All is well" not in await page.value("document.body.innerText")
        for name in ("Redis", "Delay", "Not stored yet"):
            assert await page.value(f"document.querySelector('[aria-label=\"{name}\"] .value').textContent") == "–"
        for width, dark in ((1440, False), (390, True)):
            await page.resize(width=width, height=1000, dark=dark)
            await shot(page, f"console-not-well-{width}{'-dark' if dark else ''}")
        await press(page, "What to do: PresenceStale")
        await title(page, "PresenceStale")
        await shows(page, "Redis is down, refuses writes, or is unreachable")
        assert await page.value("document.querySelector('.runbook code').textContent") == "presence_live"
        await shot(page, "console-runbook")


async def test_a_server_that_does_not_answer_is_not_well(chromium, start):
    room = Room(start(SETTINGS))
    async with chromium:
        page = await console(chromium, room, expected=("Failed to load resource", "ERR_"))
        await page.until(f"{TEXT} === 'All is well.'")
        room.server.stop()
        await page.until(f"{TEXT}.startsWith('The numbers cannot be read: ') && {OVERALL}.dataset.kind === 'bad'")
        assert "PresenceNoServer" in await page.value(TEXT)


NUMBERS = """
    const answers = %s;
    const plain = setTimeout;
    globalThis.setTimeout = (act) => plain(act, 0);
    const real = fetch;
    const clock = performance.now.bind(performance);
    let slept = 0;
    performance.now = () => clock() + slept;
    globalThis.fetch = async (path, ...rest) => {
        if (path !== "/metrics") return real(path, ...rest);
        // The page was hidden, as long as this.
        if (answers[0] === "") {
            answers.shift();
            slept += 60_000;
        }
        return new Response(answers.shift());
    };
    const { numbers } = await import("/console/api.js");
    const ending = new AbortController();
    await new Promise((resolve) => numbers.follow(ending.signal, () => answers.length || (ending.abort(), resolve())));
    globalThis.setTimeout = plain;
    const { faults } = await import("/console/alerts.js");
    const { Verdict } = await import("/console/verdict.js");
    const verdict = new Verdict();
    verdict.show({ live: 1, tiles: [], now: 0 });
    return [faults([], 1), verdict.node.querySelector(".verdict-text").textContent];"""


async def judged(page, *samples):
    await page.reload()
    await title(page, "Doctor")
    return await page.run(NUMBERS % json.dumps(["".join(f"presence_{name} {value}\n" for name, value in each.items()) for each in samples]))


async def test_counters_that_grow_and_values_beyond_their_bounds_are_faults(chromium, room):
    async with chromium:
        page = await console(chromium, room, "/doctor")
        quiet = {'errors_total{code="internal"}': 5, 'errors_total{code="rate_limited"}': 7, "webhooks_off": 0, "redis_clock_offset_seconds": -1.9}
        well = [[], "All is well."]
        assert await judged(page, quiet, quiet | {'errors_total{code="rate_limited"}': 9}) == well
        [fault], text = await judged(page, quiet, quiet | {'errors_total{code="internal"}': 6})
        assert (fault["alert"], fault["left"]) == ("PresenceInternalErrors", 0)
        assert text == "A request met a fault of the server. What to do: PresenceInternalErrors"
        # A server that was started anew counts from 0.
        assert await judged(page, quiet, quiet | {'errors_total{code="internal"}': 0}) == well
        assert [each["alert"] for each in (await judged(page, quiet, quiet | {'errors_total{code="internal"}': 1}))[0]] == ["PresenceInternalErrors"]
        assert await judged(page, quiet | {"stale_total": 1}, quiet | {"stale_total": 6}) == well
        assert "PresenceOftenStale" in (await judged(page, quiet | {"stale_total": 1}, quiet | {"stale_total": 7}))[1]
        # Two counters of one alert.
        assert "PresencePushesLost" in (await judged(page, quiet | {"pushes_given_up_total": 0}, quiet | {"pushes_given_up_total": 1}))[1]
        [off], text = await judged(page, quiet, quiet | {"webhooks_off": 1})
        assert (off["alert"], off["left"]) == ("PresenceWebhookOff", 0) and "PresenceWebhookOff" in text
        assert "PresenceCertificateExpires" in (await judged(page, quiet | {"tls_certificate_expiry_timestamp_seconds": time.time() + 13 * 86_400}))[1]
        assert await judged(page, quiet | {"tls_certificate_expiry_timestamp_seconds": time.time() + 15 * 86_400}) == well


async def test_a_value_beyond_its_bound_is_a_fault_once_its_alert_is(chromium, room):
    async with chromium:
        page = await console(chromium, room, "/doctor")
        [clock], text = await judged(page, {"redis_clock_offset_seconds": -2.1})
        assert clock["alert"] == "PresenceRedisClock" and clock["left"] == 300_000 and text == "All is well."
        [disk], text = await judged(page, {"disk_free_bytes": 9, "disk_reserve_bytes": 10})
        assert disk["alert"] == "PresenceDiskLow" and disk["left"] == 60_000 and text == "All is well."
        assert await judged(page, {"disk_free_bytes": 10, "disk_reserve_bytes": 10}) == [[], "All is well."]
        # A gap is neither within a bound nor beyond it.
        assert await judged(page, {"live": 1}, {}, {"live": 1}) == [[], "All is well."]
        [disk], _ = await judged(page, {"disk_free_bytes": 9, "disk_reserve_bytes": 10}, {}, {"disk_free_bytes": 9, "disk_reserve_bytes": 10})
        assert disk["left"] == 0
        # Readings of six minutes.
        await page.reload()
        await title(page, "Doctor")
        text = await page.run("""
            const { Verdict } = await import("/console/verdict.js");
            const verdict = new Verdict();
            const show = (minutes, more = {}) => {
                const points = Array.from({ length: minutes * 60 + 1 }, (_, second) => [second * 1_000, 5]);
                verdict.show({ live: 1, now: 0, tiles: [{ alert: "PresenceRedisSlow", fault: "Commands wait for Redis", read: () => points, limit: 1, ...more }] });
                return [verdict.node.dataset.kind, verdict.node.querySelector(".verdict-text").textContent];
            };
            return [show(1), show(2), show(1, { alert: "PresencePartlyStale", fault: "Stale", isSeen: true })];""")
        assert text == [["good", "All is well."], ["bad", "Commands wait for Redis. What to do: PresenceRedisSlow"],
                        ["near", "Stale: an alert in 4 min 0 s, unless it ends. What to do: PresencePartlyStale"]]


async def test_it_judges_as_the_rules_for_prometheus(chromium, room):
    with open(RULES) as file:
        rules = {rule["alert"]: rule for group in yaml.safe_load(file)["groups"] for rule in group["rules"] if "alert" in rule}
    async with chromium:
        page = await console(chromium, room)
        bounds, holds, counters, expires = await page.value(
            "await import('/console/alerts.js').then(({ BOUNDS, HOLDS, COUNTERS, EXPIRES }) => [BOUNDS, HOLDS, COUNTERS, EXPIRES])")
        for name, bound in bounds.items():
            # The last number of the comparison, of the outboxes without the setting's default behind it.
            assert float(re.fullmatch(r".* > ([\d.]+)( \* \d+)?", rules[name]["expr"])[1]) == bound, name
        assert rules["PresenceDiskLow"]["expr"] == "presence_disk_free_bytes < presence_disk_reserve_bytes"
        assert expires == 14 * 86_400 and rules["PresenceCertificateExpires"]["expr"].endswith("- time() < 14 * 86400")

        def seconds(text):
            units = {"m": 60, "h": 3_600}
            return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([mh])\b", text))

        for name, hold in holds.items():
            least = re.search(r"min_over_time\(.*\[(\w+)\]", rules[name]["expr"])
            assert hold == seconds(rules[name].get("for", "")) + (seconds(least[1]) if least else 0), name
        assert set(bounds) < set(holds)
        for alert, names, within, _, *most in counters:
            text = rules[alert]["expr"]
            found = re.findall(r"increase\(presence_(.+?)\[(\w+)\]\)", text)
            # One for each value of a label.
            metrics = [re.sub(r'=~"[^"]*"', f'="{value}"', name) for name, _ in found for value in (re.search(r'=~"(.*)"', name) or ["", ""])[1].split("|")]
            assert metrics == names and all(seconds(each) == within for _, each in found) and "for" not in rules[alert], alert
            assert float(text.rsplit(" > ", 1)[1]) == (most[0] if most else 0), alert
        # Each has its paragraph.
        document = (await room.api.request("GET", "/console/operations.md")).body
        for alert in [*holds, *(each[0] for each in counters), "PresenceStale", "PresencePartlyStale", "PresenceNoServer"]:
            assert f"\n### {alert}\n" in document, alert


async def test_a_line_has_its_scale_and_the_value_under_the_pointer(chromium, room):
    async with chromium:
        page = await console(chromium, room, "/doctor")
        await title(page, "Doctor")
        await page.run("""
            const { h } = await import("/console/parts.js");
            await import("/console/charts.js");
            globalThis.line = h("presence-spark");
            document.querySelector("main").prepend(line);
            line.show([[0, 3], [30_000, null], [60_000, 7]], undefined, (value) => `${value} ms`);
            globalThis.at = (x) => {
                line.dispatchEvent(Object.assign(new PointerEvent("pointermove"), {}));
                const event = new PointerEvent("pointermove", { clientX: line.getBoundingClientRect().left + x, clientY: line.getBoundingClientRect().top + 30 });
                line.dispatchEvent(event);
                const label = line.querySelector(".at");
                return label.hidden ? null : label.textContent;
            };""")
        width = await page.value("line.clientWidth")
        assert await page.value("line.querySelector('.at').hidden")
        assert await page.value(f"at({width - 3})") == "7 ms · now"
        assert await page.value(f"at({width // 2})") == "nothing measured · 30 s ago"
        assert await page.value("at(3)") == "3 ms · 60 s ago" or await page.value("at(3)") == "3 ms · 1 min 0 s ago"
        await page.run("line.dispatchEvent(new PointerEvent('pointerleave'))")
        assert await page.value("line.querySelector('.at').hidden")


# The link that signs in


async def test_a_link_signs_in_and_its_token_leaves_the_address(chromium, room):
    async with chromium:
        page = await chromium.page(f"{origin(room.server)}/console#token={room.backend}", width=1100, height=900)
        await title(page, "Overview")
        assert await page.value("location.href") == f"{origin(room.server)}/console#"
        await page.until(f"{TEXT} === 'All is well.'")
        assert await page.value("history.length") <= 2
        never_told(page, room.backend)
        await page.reload()
        await title(page, "Overview")
        # In a page that is open already.
        await press(page, "Sign out")
        await title(page, "Sign in")
        await page.run(f"location.hash = '/people&token={room.backend}'")
        await title(page, "People")
        assert await page.value("location.hash") == "#/people"


async def test_a_link_opens_the_playground_with_two_people(chromium, start):
    room = Room(start(SETTINGS))
    async with chromium:
        page = await chromium.page(f"{origin(room.server)}/console#/playground&token={room.backend}", width=1440, height=900)
        await title(page, "Playground")
        await page.until("document.querySelectorAll('.phone').length === 2")
        await page.until("[...document.querySelectorAll('.phone .row [role=status]')].every((each) => each.textContent === 'Live')")
        await page.until("!!document.querySelector('[name=text-playground-ana]')")
        await page.run("document.querySelector('[name=text-playground-ana]').focus()")
        await page.type("Hello")
        await page.key("Enter")
        await page.until("[...document.querySelectorAll('.theirs .text')].map((each) => each.textContent).join() === 'Hello'")
        await shot(page, "console-playground-first")


async def test_a_link_with_a_refused_token_asks_for_another(chromium, room):
    async with chromium:
        page = await chromium.page(f"{origin(room.server)}/console#token=garbage", expected=("Failed to load resource",), width=1100, height=900)
        await title(page, "Sign in")
        assert "garbage" not in await page.value("location.href")


# In the terminal


def top(server, *arguments):
    return run("top", "--once", "--url", f"http://{server.host}:{server.port}", *arguments)


async def test_top_has_the_same_in_a_terminal(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis, shards=2))
    for person in ("ana", "bob"):
        await room.come(person, "web")
    server = room.server
    told = top(server, "--data-dir", server.directory)
    assert told.returncode == 0 and not told.stderr, told
    lines = told.stdout.splitlines()
    assert lines[0] == "All is well." and lines[1].startswith("2 users here · 2 of 2 shards of all servers live · version ")
    assert re.search(r"^Connections +2 ", told.stdout, re.M) and re.search(r"^Live shards +2 ", told.stdout, re.M)
    assert re.search(r"^Commands waiting .* at most 1,000$", told.stdout, re.M)
    # Without the data directory of the server there is no token for the rest.
    told = top(server)
    assert told.returncode == 0 and told.stdout.splitlines()[1].startswith("version "), told
    redis.stop()
    await server.wait_for_log("stale")
    told = top(server)
    assert told.returncode == 1 and told.stdout.startswith("No shard reaches Redis: clients see stale data (PresenceStale)"), told
    server.stop()
    told = top(server)
    assert told.returncode == 2 and told.stdout.startswith("The numbers cannot be read: "), told


def test_top_asks_the_server_of_its_configuration(start, tmp_path):
    server = start(SETTINGS)
    file = tmp_path / "presenced.yaml"
    file.write_text(f"port: {server.port}\n")
    told = run("top", "--once", "--config", str(file), "--data-dir", server.directory)
    assert told.returncode == 0 and "shards of all servers live" in told.stdout, told
    assert run("top", "--once", "--config", str(tmp_path / "none.yaml")).returncode == 2
