"""presence.js in Chromium: the effects of a lost connection, and the ends after which it does not reconnect."""

import asyncio
import json
import os
import signal
import time

import pytest

from support.browser import Failed
from support.library import follow, opened, tab
from support.line import Line
from support.patience import eventually
from support.room import Room

SETTINGS = {"linger": 3000, "heartbeat_interval": 1000, "heartbeat_timeout": 1000}


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
        # Within linger, others saw nothing of it.
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
        # The wait for a probe's answer takes a hundredth of the time.
        await page.run("globalThis.plain = setTimeout; globalThis.setTimeout = (act, ms) => plain(act, ms === 10000 ? 100 : ms)")
        line.freeze()
        await page.until("states.includes('waiting')")
        line.cut()
        line.open.set()
        line.mend()
        await page.until("client.connection.state === 'live'")


# Closes without a new attempt


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


async def test_a_ban_is_final_and_its_reason_and_end_are_readable(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        ban = {"reason": "Spam, and the like", "until": int(time.time() * 1000) + 3_600_000}
        answer = await room.api.request("PUT", f"/v1/users/{room.name('ana')}/ban", ban, token=room.backend)
        assert answer.status == 200, answer
        await page.until("client.connection.state === 'refused' && client.connection.code === 4003")
        accepted = line.accepted
        error = await page.value("client.connection.error")
        assert error["code"] == "banned" and error["reason"] == ban["reason"] and error["until"] == ban["until"], error
        # The same at `connect`, for which the page asks.
        await page.run("client.reconnect()")
        await page.until(f"client.connection.state === 'refused' && client.connection.error.until === {ban['until']}")
        assert line.accepted == accepted + 1
        await room.api.request("DELETE", f"/v1/users/{room.name('ana')}/ban", token=room.backend)
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
        # Neither a return to the page nor of the network shortens the delay.
        await page.run("dispatchEvent(new Event('online')); document.dispatchEvent(new Event('visibilitychange'))")
        assert await page.value("client.connection.state") == "waiting"


async def scripted(chromium, line, ends, reason=""):
    """A page whose sockets end with these codes right after `connected` (`None`: stay), without a server."""
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
