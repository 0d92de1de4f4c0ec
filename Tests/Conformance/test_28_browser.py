"""presence.js in Chromium: people, the own status, typing, and what a lost connection does to them."""

import asyncio
import json
import os
import re
import signal
import shutil
import subprocess

import pytest

from support.browser import WEB, Failed
from support.line import Line
from support.patience import eventually
from support.room import Room

SETTINGS = {"linger": 3000, "heartbeat_interval": 1000, "heartbeat_timeout": 1000}

NETWORK = ("WebSocket connection to", "Failed to load resource", "ERR_CONNECTION", "ERR_INTERNET")
"""What Chromium itself writes about a server that is not there."""

BLANK = "/healthz"
"""A page of the server without scripts of its own."""

MODULE = """
    globalThis.presence ??= await import("/presence.js");
    globalThis.open = (token, options) => {
        globalThis.client = new presence.PresenceClient({ token, ...options });
        globalThis.states = [];
        client.addEventListener("connection", ({ detail }) => states.push(detail.state));
        return client;
    };
    // The newest that a loop has, and how many there were.
    globalThis.seen = {};
    globalThis.follow = async (name, loop) => {
        seen[name] = { count: 0 };
        for await (const value of loop) seen[name] = { value, count: seen[name].count + 1 };
        seen[name].ended = true;
    };
"""


async def tab(chromium, line, expected=NETWORK):
    page = await chromium.page(line.origin + BLANK, expected=expected)
    await page.run(MODULE)
    return page


async def opened(page, token, **options):
    """A client on a page that is connected."""
    await page.run(f"open({json.dumps(token)}, {json.dumps(options)})")
    await page.until("client.connection.state === 'live'", "connected")
    return page


async def follow(page, name, loop):
    await page.run(f"follow({json.dumps(name)}, {loop})")


# People


async def test_a_person_arrives_whole_and_then_each_change(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        bob = room.name("bob")
        await follow(page, "bob", f"client.person({bob!r})")
        await page.until("seen.bob.value?.live && seen.bob.value.presence.status === 'offline'")
        device = await room.come("bob", device="phone")
        await page.until("seen.bob.value.presence.status === 'online'")
        await device.status("busy", text="In a meeting")
        await page.until("seen.bob.value.presence.text === 'In a meeting'")
        await device.ask("updateProfile", changes={"displayName": "Bob Ray"})
        shown = await page.until("seen.bob.value.profile?.displayName === 'Bob Ray' && seen.bob.value")
        assert shown["user"] == bob and shown["presence"]["devices"] == ["phone"] and shown["live"], shown


async def test_a_roster_has_everybody_in_the_order_asked_for_once(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        await room.come("bob", device="phone")
        names = [room.name(name) for name in ("cy", "bob", "cy", "dee")]
        await follow(page, "all", f"client.people({json.dumps(names)})")
        shown = await page.until("seen.all.value?.every((each) => each.live) && seen.all.value")
        assert [each["user"] for each in shown] == [names[0], names[1], names[3]]
        assert [each["presence"]["status"] for each in shown] == ["offline", "online", "offline"]
        await follow(page, "nobody", "client.people([])")
        assert await page.until("seen.nobody.value && { all: seen.nobody.value }") == {"all": []}


async def test_a_loop_that_ends_stops_watching_and_another_goes_on(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        bob, cy = room.name("bob"), room.name("cy")
        await page.run(f"""
            globalThis.stop = new AbortController();
            follow("first", client.person({bob!r}, {{ signal: stop.signal }}));
            follow("second", client.people([{bob!r}, {cy!r}]));""")
        await page.until("seen.first.value?.live && seen.second.value?.[1].live")
        await page.run("stop.abort()")
        await page.until("seen.first.ended")
        assert not [each for each in page.sent if each["type"] == "unsubscribe"]
        await room.come("bob", device="phone")
        await page.until("seen.second.value[0].presence.status === 'online'")
        assert await page.run(f"for await (const cy of client.person({cy!r})) return cy.presence.status") == "offline"
        assert await page.run(f"for await (const eve of client.person('eve')) return eve.user") == "eve"
        gone = await eventually(lambda: [each for each in page.sent if each["type"] == "unsubscribe"], "unsubscribed")
        assert gone[0]["users"] == ["eve"]


async def test_ids_that_are_none_are_refused_before_anything_is_sent(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        for call in ("client.person('with space')", "client.typing('')", "client.get(['é'])"):
            with pytest.raises(Failed) as failed:
                await page.run(f"await {call}")
            assert failed.value.args[0]["code"] == "validation_failed", call


async def test_who_becomes_invisible_to_a_viewer_is_unknown_to_them(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        bob = await room.come("bob", device="phone")
        await bob.ask("updateProfile", changes={"displayName": "Bob"})
        await follow(page, "bob", f"client.person({room.name('bob')!r})")
        await page.until("seen.bob.value?.profile?.displayName === 'Bob'")
        await bob.ask("block", users=[room.name("ana")])
        await page.until("seen.bob.value.profile === null && seen.bob.value.presence.version === 0")
        await bob.ask("unblock", users=[room.name("ana")])
        await page.until("seen.bob.value.profile?.displayName === 'Bob' && seen.bob.value.presence.status === 'online'")


async def test_get_reads_once_and_a_long_answer_is_put_together(chromium, start):
    server = start({"max_server_message_bytes": 16384})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        names = [room.name(f"user{number}") for number in range(400)]
        shown = await page.value(f"(await client.get({json.dumps(names)})).map((each) => each.user)")
        assert sorted(shown) == sorted(names)
        assert sum(each["type"] == "users" for each in page.received) > 1
        await follow(page, "all", f"client.people({json.dumps(names)})")
        await page.until("seen.all.value?.every((each) => each.live)")


# The own user


async def test_the_own_status_and_profile_are_set_and_told(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        await follow(page, "me", "client.me()")
        assert (await page.until("seen.me.value"))["user"] == room.name("ana")
        bob = await room.come("bob")
        await bob.subscribe(room.name("ana"))
        await page.run("await client.setStatus('busy', { text: 'On a train', clearAfter: 5400000 })")
        await page.until("seen.me.value.status.text === 'On a train' && seen.me.value.status.clearAt > client.now()")
        await bob.sees(room.name("ana"), status="busy", text="On a train")
        profile = await page.value("await client.updateProfile({ displayName: '  Ana ' })")
        assert profile["displayName"] == "Ana"
        with pytest.raises(Failed) as failed:
            await page.run("await client.updateProfile({ displayName: ' ' })")
        assert failed.value.args[0]["field"] == "displayName" and failed.value.args[0]["name"] == "PresenceError"
        await page.run("await client.request('setVisibility', { visibility: { lastSeen: 'nobody' } })")
        await page.until("seen.me.value.visibility?.lastSeen === 'nobody'")


async def test_typing_is_shown_without_the_own_user_and_not_sent_at_each_key(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        bob = await room.come("bob")
        talk = (await page.value(f"await client.createConversation([{room.name('bob')!r}])"))["id"]
        await follow(page, "talk", f"client.typing({talk!r})")
        await page.until("seen.talk.value?.live")
        await page.run(f"for (let key = 0; key < 20; key++) client.setTyping({talk!r})")
        await bob.ask("typing", conversation=talk, typing=True)
        await page.until(f"seen.talk.value.users.join() === {room.name('bob')!r}")
        await page.run(f"client.setTyping({talk!r}, false); client.setTyping({talk!r}, false)")
        await bob.ask("typing", conversation=talk, typing=False)
        await page.until("seen.talk.value.users.length === 0")
        said = [each["typing"] for each in page.sent if each["type"] == "typing"]
        assert said == [True, False], said
        await follow(page, "other", "client.typing('not-mine')")
        assert (await page.until("seen.other.value"))["error"]["code"] == "forbidden"


async def test_a_page_that_is_hidden_is_in_the_background(windows, server, room):
    async with Line(server) as line, windows:
        page = await opened(await tab(windows, line), room.token("ana"))
        bob = await room.come("bob")
        await bob.subscribe(room.name("ana"))
        await bob.sees(room.name("ana"), status="online")
        other = await windows.page()
        await bob.sees(room.name("ana"), status="away")
        assert [each["state"] for each in page.sent if each["type"] == "activity"] == ["background"]
        await page.show()
        await bob.sees(room.name("ana"), status="online")
        await other.close()


async def test_who_does_nothing_is_idle_until_a_key(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"), idleAfter=300)
        bob = await room.come("bob")
        await bob.subscribe(room.name("ana"))
        await bob.sees(room.name("ana"), status="away")
        await page.key("a")
        await eventually(
            lambda: [each["state"] for each in page.sent if each["type"] == "activity"][:2] == ["idle", "active"], "told")


# Losses


async def test_a_lost_connection_is_made_again_and_only_news_are_sent(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        bob = await room.come("bob", device="phone")
        await bob.ask("updateProfile", changes={"displayName": "Bob"})
        names = [room.name("bob"), room.name("cy")]
        await follow(page, "all", f"client.people({json.dumps(names)})")
        await page.until("seen.all.value?.every((each) => each.live) && seen.all.value[0].profile?.displayName")
        line.cut()
        await page.until("!seen.all.value[0].live && client.connection.state === 'waiting'")
        assert await page.value("seen.all.value[0].profile.displayName") == "Bob"
        await bob.status("busy")
        line.mend()
        await page.until("seen.all.value.every((each) => each.live) && seen.all.value[0].presence.status === 'busy'")
        assert await page.value("seen.all.value[0].profile.displayName") == "Bob"
        again = [each for each in page.sent if each["type"] == "subscribe"][-1]
        assert set(again["known"]) == {names[0]} and set(again["known"][names[0]]) == {"presence", "profile"}
        reply = [each for each in page.received if each["type"] == "subscribed"][-1]
        assert [each["user"] for each in reply["users"]].count(names[0]) == 1
        assert "profile" not in next(each for each in reply["users"] if each["user"] == names[0])
        # Within linger, nobody saw anything of it.
        assert await page.value("states.filter((state) => state === 'live').length") == 2


async def test_a_server_that_is_killed_and_started_again_is_found(chromium, start):
    server = start({"linger": 1000, "lease": 1500, "renewal": 300, "sweep": 100})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        await follow(page, "bob", f"client.person({room.name('bob')!r})")
        await page.until("seen.bob.value?.live")
        server.kill()
        line.cut()
        await page.until("!seen.bob.value.live")
        server.start()
        line.mend()
        await page.run("client.reconnect()")
        await page.until("seen.bob.value.live && client.connection.state === 'live'")
        await Room(server).api.request("GET", "/healthz")
        bob = await room.come("bob")
        await page.until("seen.bob.value.presence.status === 'online'")
        await bob.status("busy")
        await page.until("seen.bob.value.presence.status === 'busy'")


async def test_a_server_that_restarts_says_when_to_come_back(chromium, start):
    server = start({"linger": 3000})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        await page.run("client.addEventListener('connection', ({ detail }) => (globalThis.told ||= detail.told))")
        await asyncio.to_thread(server.stop)
        await page.until("states.includes('waiting')")
        server.start()
        await page.until("client.connection.state === 'live'")
        waited = await page.value("states")
        assert waited[:4] == ["connecting", "live", "waiting", "connecting"], waited
        assert await page.value("told")


async def test_a_stale_server_is_told_apart_from_a_live_one(chromium, start):
    server = start({"linger": 1000, "lease": 1500, "renewal": 300, "sweep": 100})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        await follow(page, "bob", f"client.person({room.name('bob')!r})")
        await page.until("seen.bob.value?.live")
        redis = server.redis_child
        os.kill(redis, signal.SIGSTOP)
        try:
            await page.until("client.connection.state === 'stale' && !seen.bob.value.live")
            assert await page.value("seen.bob.value.presence.status") == "offline"
            await page.run("globalThis.later = client.setStatus('busy').then(() => 'done', (error) => error.code)")
        finally:
            os.kill(redis, signal.SIGCONT)
        await page.until("client.connection.state === 'live' && seen.bob.value.live")
        assert await page.value("await later") == "done"


async def test_requests_wait_for_the_connection_and_end_in_time(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        line.cut()
        await page.until("client.connection.state === 'waiting'")
        await page.run("globalThis.saved = client.updateProfile({ displayName: 'Offline Ana' })")
        line.mend()
        assert (await page.value("await saved"))["displayName"] == "Offline Ana"
        line.cut()
        await page.run("client.close(); open(%s, { timeout: 200 })" % json.dumps(room.token("ana")))
        with pytest.raises(Failed) as failed:
            await page.run("await client.setStatus('busy')")
        assert failed.value.args[0]["code"] == "unavailable"


async def test_a_change_whose_answer_was_lost_is_made_once(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        line.freeze()
        await page.run(f"globalThis.made = client.createConversation([{room.name('bob')!r}], {{ key: 'one' }})")
        await eventually(lambda: [each for each in page.sent if each["type"] == "createConversation"], "sent")
        line.cut()
        line.open.set()
        line.mend()
        first = await page.value("(await made).id")
        assert await page.value(f"(await client.createConversation([{room.name('bob')!r}], {{ key: 'one' }})).id") == first
        assert len([each for each in page.sent if each["type"] == "createConversation"]) == 3


async def test_when_the_network_is_back_it_connects_at_once(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        await page.run("Math.random = () => 1e9")
        line.cut()
        await page.until("client.connection.retryAt > Date.now() + 60000", "it would wait for long")
        line.mend()
        await page.offline()
        assert await page.value("client.connection.state") == "waiting"
        await page.offline(False)
        await page.until("client.connection.state === 'live'")


async def test_a_connection_that_is_silent_is_given_up(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        # Answers of a probe are waited for a hundredth of the time.
        await page.run("globalThis.plain = setTimeout; globalThis.setTimeout = (act, ms) => plain(act, ms === 10000 ? 100 : ms)")
        line.freeze()
        await page.until("states.includes('waiting')")
        line.cut()
        line.open.set()
        line.mend()
        await page.until("client.connection.state === 'live'")


# Ends that are not followed by an attempt


async def test_a_removed_connection_stays_closed_until_it_is_asked_for(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        answer = await room.api.request("POST", f"/v1/users/{room.name('ana')}/disconnect", token=room.backend)
        assert answer.status < 300, answer
        await page.until("client.connection.state === 'refused' && client.connection.code === 4006")
        accepted = line.accepted
        with pytest.raises(Failed) as failed:
            await page.run("await client.get([])")
        assert failed.value.args[0]["code"] == "closed"
        assert line.accepted == accepted
        await page.run("client.reconnect()")
        await page.until("client.connection.state === 'live'")


@pytest.mark.parametrize("code", [1003, 1007, 1008, 1009, 4004, 4006])
async def test_final_codes_are_not_retried(chromium, server, code):
    async with Line(server) as line, chromium:
        page = await scripted(chromium, line, [code])
        await page.until(f"client.connection.state === 'refused' && client.connection.code === {code}")
        assert await page.value("made") == 1


@pytest.mark.parametrize("code", [1000, 1001, 1006, 1011, 1012, 1013, 4005, 4999])
async def test_other_codes_are_retried(chromium, server, code):
    async with Line(server) as line, chromium:
        page = await scripted(chromium, line, [code, None])
        await page.until("client.connection.state === 'live' && made === 2")


async def test_the_delay_that_the_server_asks_for_is_kept(chromium, server):
    async with Line(server) as line, chromium:
        page = await scripted(chromium, line, [1012, None], reason='{"reconnectAfter":123456}')
        await page.until("client.connection.state === 'waiting'")
        left = await page.value("client.connection.retryAt - client.connection.since")
        assert 123_000 < left < 124_000, left
        # Neither a look at the page nor the network's return makes it shorter.
        await page.run("dispatchEvent(new Event('online')); document.dispatchEvent(new Event('visibilitychange'))")
        assert await page.value("client.connection.state") == "waiting"


async def scripted(chromium, line, ends, reason=""):
    """A page whose sockets end with these codes right after they were connected (`None`: stay), without a server."""
    page = await tab(chromium, line)
    await page.run("""
        globalThis.made = 0;
        const ends = %s;
        globalThis.WebSocket = class {
            static OPEN = 1;
            readyState = 1;
            constructor() {
                const end = ends[made++];
                const hear = (message) => this.onmessage?.({ data: JSON.stringify(message) });
                queueMicrotask(() => {
                    this.onopen?.();
                    hear({ type: "connected", id: 1, user: "ana", session: "s", serverTime: Date.now(), status: { status: "auto" } });
                    hear({ type: "invented", id: 77, of: { tomorrow: [1] } });
                    if (end) this.onclose?.({ code: end, reason: %s });
                });
            }
            send() {}
            close() {}
        };
        Math.random = () => 0;
        open("token");
    """ % (json.dumps(ends).replace("null", "undefined"), json.dumps(reason)))
    return page


# Tokens


async def test_a_token_that_is_refused_is_not_tried_again(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run("open('nonsense')")
        state = await page.until("client.connection.state === 'refused' && client.connection")
        assert state["code"] == 4001 and state["error"]["code"] == "unauthorized", state
        assert len(page.sockets) == 1


async def test_a_provider_is_asked_for_another_token_once(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        old = room.token("ana", expires=-10)
        await page.run("""
            globalThis.asked = [];
            open(async ({ renew }) => { asked.push(!!renew); return renew ? %s : %s; })
        """ % (json.dumps(room.token("ana")), json.dumps(old)))
        await page.until("client.connection.state === 'live'")
        assert (await page.value("asked"))[-2:] == [False, True]
        # One that never has a good one.
        await page.run("client.close(); open(async () => %s)" % json.dumps(old))
        await page.until("client.connection.state === 'refused'")
        assert len(page.sockets) == 4, page.sockets


async def test_a_provider_that_fails_is_asked_again_and_one_that_knows_nobody_is_not(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run("""
            Math.random = () => 0;
            globalThis.asked = 0;
            open(async () => { if (++asked < 4) throw new TypeError("Failed to fetch"); return %s; })
        """ % json.dumps(room.token("ana")))
        await page.until("client.connection.state === 'live'")
        await page.run("""client.close(); globalThis.asked = 0; open(async () => {
            asked++; throw new presence.PresenceError({ code: "unauthorized", message: "nobody is signed in" }); })""")
        await page.until("client.connection.state === 'refused'")
        assert await page.value("asked") == 1


@pytest.mark.parametrize("share", [True, False])
async def test_who_signs_in_after_nobody_was_is_connected_when_asked_for(chromium, server, room, share):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run("""
            globalThis.isIn = false;
            open(async () => {
                if (isIn) return %s;
                throw new presence.PresenceError({ code: "unauthorized", message: "nobody is signed in" });
            }, { share: %s });
            globalThis.early = client.get([]).catch((error) => error.code);""" % (json.dumps(room.token("ana")), json.dumps(share)))
        await page.until("client.connection.state === 'refused'")
        # What was asked before and what is asked now is told at once.
        assert await page.value("await early") == "unauthorized"
        assert await page.value("await client.get([]).catch((error) => error.code)") == "unauthorized"
        # Asked for too early, it is refused again.
        await page.run("states.length = 0; client.reconnect()")
        await page.until("states[0] === 'connecting' && states.at(-1) === 'refused'")
        await page.run("isIn = true; client.reconnect()")
        assert await page.value("await client.get([])") == []
        assert await page.value("client.connection.state") == "live"
        # Shared, if that was wanted: another tab has no socket of its own.
        other = await opened(await tab(chromium, line), room.token("ana"), share=share)
        assert len(other.sockets) == (0 if share else 1)


@pytest.mark.parametrize("what", ["client.reconnect()", "document.dispatchEvent(new Event('visibilitychange'))"])
async def test_a_provider_without_a_network_is_asked_at_once_when_somebody_looks(chromium, server, room, what):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run("""
            Math.random = () => 200;
            globalThis.asked = 0;
            open(async () => { if (++asked === 1) throw new TypeError("Failed to fetch"); return %s; });
        """ % json.dumps(room.token("ana")))
        await page.until("client.connection.retryAt > Date.now() + 60_000", "it would wait for long")
        await page.run(what)
        await page.until("client.connection.state === 'live'")


async def test_a_token_is_replaced_before_it_expires_and_after(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        tokens = [room.token("ana", expires=3), room.token("ana")]
        await page.run(f"""
            globalThis.asked = [];
            open(async ({{ renew }}) => {{ asked.push(!!renew); return {json.dumps(tokens)}[renew ? 1 : 0]; }})""")
        # It expires in less than a minute, so the server says so at once.
        await eventually(lambda: [each for each in page.received if each["type"] == "refreshed"], "refreshed")
        assert (await page.value("asked"))[-1] is True and len(page.sockets) == 1
        # A renewal that never comes: closed with 4002, and then with a new token.
        await page.run(f"""
            client.close(); globalThis.times = 0;
            open(async ({{ renew }}) => {{
                if (renew && ++times === 1) throw new TypeError("no network");
                return {json.dumps([room.token("ana", expires=2), tokens[1]])}[renew ? 1 : 0];
            }})""")
        await page.until("states.includes('waiting') && client.connection.state === 'live' && times === 2")


# Limits


async def test_what_is_over_the_rate_is_done_when_the_server_says_so(chromium, start):
    """And each is refused a few times at most: a client that goes on asking is closed for good."""
    server = start({"requests_per_second": 40, "request_burst": 10, "limits.rateLimited": 300})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        answers = await page.run("return (await Promise.all(Array.from({ length: 100 }, () => client.get(['bob'])))).length")
        assert answers == 100
        refused = [each for each in page.received if each.get("code") == "rate_limited"]
        assert 50 <= len(refused) <= 200 and all(each["retryAfter"] > 0 for each in refused)
        assert "refused" not in await page.value("states") and len(page.sockets) == 1
        # Soon there is room for many at once again.
        await page.run("await client.get(['bob']); await client.get(['bob'])")


async def test_what_has_no_answer_of_its_own_is_not_lost_over_the_rate(chromium, start):
    server = start({"requests_per_second": 20, "request_burst": 10, "linger": 10_000})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        bob = await room.come("bob")
        await bob.subscribe(room.name("ana"))
        await bob.sees(room.name("ana"), status="online")
        await page.run("""
            globalThis.stop = new AbortController();
            follow("cy", client.person("cy", stop));""")
        await page.until("seen.cy.value?.live")
        await page.run("""
            for (let count = 0; count < 40; count++) client.get([]);
            client.setActivity("background");
            stop.abort();""")
        await bob.sees(room.name("ana"), status="away")

        def is_let_go():
            asked = {each["id"] for each in page.sent if each["type"] == "unsubscribe" and each["users"] == ["cy"]}
            return [each for each in page.received if each.get("id") in asked and each["type"] != "error"]
        await eventually(is_let_go, "the server has let cy go")


async def test_more_than_a_connection_may_watch_is_told_at_those_people(chromium, start):
    server = start({"subscriptions": 2, "subscribe_batch": 2})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        await follow(page, "all", "client.people(['a', 'b', 'c', 'd'])")
        await page.until("seen.all.value?.[1].live && seen.all.value[3].error?.code === 'too_many'")
        assert not await page.value("seen.all.value[3].live")


@pytest.mark.parametrize("share", [True, False])
async def test_a_client_that_is_closed_before_it_has_a_token_opens_no_socket(chromium, server, room, share):
    """Or somebody who has signed out would be shown as being here."""
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(f"""
            let give;
            globalThis.sockets = 0;
            const Plain = WebSocket;
            globalThis.WebSocket = class extends Plain {{ constructor(...rest) {{ sockets++; super(...rest); }} }};
            const asked = new Promise((resolve) => (globalThis.asking = resolve));
            const told = new Promise((resolve) => (give = resolve));
            let count = 0;
            // With others: once to know whom to share with, then to connect.
            open(() => (++count === {2 if share else 1} ? (asking(), told) : {room.token("ana")!r}), {{ share: {str(share).lower()} }});
            await asked;
            client.close();
            give({room.token("ana")!r});
            await new Promise((resolve) => setTimeout(resolve, 300));""")
        assert await page.value("sockets") == 0
        assert await page.value("client.connection.state") == "closed"


# What the file is


def esbuild(*arguments):
    program = shutil.which("esbuild") or pytest.skip("not installed: esbuild")
    made = subprocess.run([program, *arguments], capture_output=True)
    assert made.returncode == 0 and not made.stderr, made.stderr
    return made.stdout


def test_it_is_small():
    assert len(esbuild("--minify", "--format=esm", os.path.join(WEB, "presence.js"))) <= 20 * 1024


def test_its_types_and_the_scripts_of_the_app_can_be_read():
    esbuild(os.path.join(WEB, "presence.d.ts"))
    for name in os.listdir(os.path.join(WEB, "app")):
        if name.endswith(".js"):
            assert esbuild("--format=esm", os.path.join(WEB, "app", name))


def test_the_types_fit_the_scripts_and_the_apps_that_are_written_with_them(tmp_path):
    program = shutil.which("tsc") or pytest.skip("not installed: node-typescript")
    (tmp_path / "made").mkdir()
    for name in os.listdir(WEB):
        if name.endswith((".js", ".d.ts")):
            shutil.copy(os.path.join(WEB, name), tmp_path if name.endswith(".ts") else tmp_path / "made")
    shutil.copy(os.path.join(os.path.dirname(__file__), "types", "apps.ts"), tmp_path)
    # What the scripts have is as the compiler finds it: they are not written for it.
    options = {"strict": True, "noImplicitAny": False, "strictFunctionTypes": False, "allowJs": True, "noEmit": True, "types": [], "target": "es2022",
               "module": "es2022", "moduleResolution": "node", "lib": ["es2022", "dom", "dom.iterable"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["apps.ts"]}))
    made = subprocess.run([program, "-p", tmp_path], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout


async def test_its_types_name_what_it_has(chromium, server):
    with open(os.path.join(WEB, "presence.d.ts")) as file:
        types = file.read()
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        members = await page.value("""Object.fromEntries(Object.entries(presence).filter(([, made]) => made.prototype)
            .map(([name, made]) => [name, Object.getOwnPropertyNames(made.prototype)]))""")
        assert len(members) == 3, members
        for name, own in members.items():
            body = re.search(rf"export class {name} extends \w+[^{{]*{{(.*?)\n}}", types, re.S).group(1)
            for each in own:
                assert re.search(rf"\b{each}\b", body), f"{name}.{each}"
