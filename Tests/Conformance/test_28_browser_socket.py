"""presence.js in Chromium: one connection after the other, and messages no longer than a server accepts."""

import asyncio
import json

import pytest

from support.library import follow, opened, tab
from support.line import Line
from support.patience import eventually
from support.room import Room

SOCKET = """
    // The test fires timers of 10 s and more.
    const start = setTimeout;
    const stop = clearTimeout;
    const timers = new Map();
    globalThis.setTimeout = (act, wait) => {
        const id = start(wait < 10_000 ? act : () => {}, wait);
        if (wait >= 10_000) timers.set(id, act);
        return id;
    };
    globalThis.clearTimeout = (id) => (timers.delete(id), stop(id));
    globalThis.overdue = () => [...timers].forEach(([id, act]) => (timers.delete(id), act()));
    // Longer than the pause between requests after the last rejected one.
    globalThis.calm = () => new Promise((resolve) => setTimeout(resolve, 200));
    Object.assign(globalThis, { asked: [], said: [], silent: [], tooFast: 0, givenUp: 0 });
    globalThis.WebSocket = class {
        static OPEN = 1;
        readyState = 1;
        constructor() {
            globalThis.socket = this;
            queueMicrotask(() => this.onopen?.());
        }
        hear(said) {
            this.onmessage?.({ data: JSON.stringify(said) });
        }
        send(text) {
            const { type, id, users = [], conversations = [] } = JSON.parse(text);
            asked.push(type);
            said.push({ ...JSON.parse(text), at: performance.now() });
            if (tooFast && tooFast--) return this.hear({ type: "error", id, code: "rate_limited", message: "too fast", retryAfter: 100 });
            if (silent.includes(type)) return;
            if (type === "connect") {
                this.hear({ type: "connected", id, user: "ana", session: "s", serverTime: Date.now(), status: { status: "auto" },
                    heartbeat: globalThis.heartbeat });
            } else if (type === "subscribe") {
                this.hear({ type: "subscribed", id,
                    users: users.map((user) => ({ user, presence: { version: 1, status: "online" }, profile: null })),
                    conversations: conversations.map((each) => ({ conversation: each.id ?? each, version: 1, typing: [] })) });
            } else this.hear({ type: "ok", id });
        }
        close() {
            givenUp++;
        }
    };
    open("token", { share: false, timeout: 5000, idleAfter: 1000 });
    follow("bob", client.person("bob"));
"""
CLOCK = """
    globalThis.ahead = 0;
    const date = Date.now;
    Date.now = () => date() + ahead;
"""
TYPED = "said.filter(({ type }) => type === 'typing').map(({ typing }) => typing)"
CONNECTIONS = "asked.filter((type) => type === 'connect').length"


async def silent(chromium, line):
    """A client on a socket of the test that does not answer pings."""
    page = await tab(chromium, line)
    await page.run(SOCKET)
    await page.until("seen.bob.value?.live")
    await page.run("silent = ['get']; dispatchEvent(new Event('online')); dispatchEvent(new Event('online'))")
    await page.until("asked.includes('get')")
    return page


async def test_requests_of_an_ended_connection_end_no_other(chromium, server):
    async with Line(server) as line, chromium:
        page = await silent(chromium, line)
        await page.run("socket.onclose({ code: 1006, reason: '' })")
        await page.until(CONNECTIONS + " === 2 && seen.bob.value.live")
        await page.run("silent = ['status']; globalThis.setting = client.setStatus('busy')")
        await page.until("asked.includes('status')")
        await page.run("overdue()")
        # Other requests are answered.
        await page.run("for (let id = 1; id < 20; id++) socket.hear({ type: 'ok', id })")
        assert await page.value("(await setting).type") == "ok"
        await page.run("socket.hear({ type: 'presence', user: 'bob', presence: { version: 2, status: 'away' } })")
        await page.until("seen.bob.value.presence.status === 'away' && seen.bob.value.live")
        assert await page.value("[client.connection.state, seen.bob.value.live, givenUp]") == ["live", True, 0]


async def test_a_server_that_does_not_answer_is_asked_once_and_given_up(chromium, server):
    async with Line(server) as line, chromium:
        page = await silent(chromium, line)
        assert await page.value("asked.filter((type) => type === 'get').length") == 1
        await page.run("silent = []; overdue()")
        await page.until(CONNECTIONS + " === 2 && seen.bob.value.live")
        assert await page.value("givenUp") == 1
        # A server that answers is kept.
        await page.run("dispatchEvent(new Event('online')); overdue()")
        assert await page.value("[" + CONNECTIONS + ", givenUp, client.connection.state]") == [2, 1, "live"]


# Late messages


async def test_the_largest_version_of_each_register_is_shown(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(SOCKET + """
            follow("typing", client.typing("c"));
            globalThis.presence = (version, status) => socket.hear({ type: "presence", user: "bob", presence: { version, status } });
            globalThis.profile = (version, displayName) => socket.hear({ type: "profile", user: "bob", profile: { version, displayName } });
            globalThis.typing = (version, users) => socket.hear({ type: "typing", conversation: "c", version, users });""")
        await page.until("seen.bob.value?.live && seen.typing.value?.live")

        async def shows(status, name):
            await page.until(f"seen.bob.value.profile?.displayName === {json.dumps(name)}")
            assert await page.value("seen.bob.value.presence.status") == status

        await page.run("presence(5, 'busy'); profile(2, 'Bob')")
        await shows("busy", "Bob")
        # Older than the shown version, and the same again. Each register has versions of its own.
        await page.run("presence(4, 'away'); presence(5, 'online'); profile(3, 'Bob Lee')")
        await shows("busy", "Bob Lee")
        await page.run("profile(2, 'Bob'); presence(6, 'away'); profile(4, 'Bo')")
        await shows("away", "Bo")
        # 0 is from a server that hides or does not know the user: every later version is newer.
        await page.run("presence(0, 'offline'); profile(5, 'Bob')")
        await shows("offline", "Bob")
        await page.run("presence(3, 'online'); profile(6, 'Bo')")
        await shows("online", "Bo")
        # An answer replaces the state.
        await page.run("""socket.hear({ type: "subscribed", users: [{ user: "bob", presence: { version: 2, status: "busy" } }] });
            profile(7, "Bob")""")
        await shows("busy", "Bob")
        await page.run("typing(3, ['bob'])")
        await page.until("seen.typing.value.users.join() === 'bob'")
        await page.run("typing(2, []); typing(3, ['cy']); profile(8, 'Bo')")
        await shows("busy", "Bo")
        assert await page.value("seen.typing.value.users.join()") == "bob"
        # A user's own typing is not shown to them, on any device.
        await page.run("typing(4, ['ana', 'cy'])")
        await page.until("seen.typing.value.users.join() === 'cy'")
        await page.run("typing(5, [])")
        await page.until("seen.typing.value.users.length === 0")


async def test_continued_typing_is_sent_again_after_three_seconds(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(CLOCK + SOCKET)
        await page.until("seen.bob.value?.live")
        await page.run("""
            for (const passed of [0, 1_000, 1_000, 1_100, 1_000]) {
                ahead += passed;
                client.setTyping("c");
            }
            client.setTyping("c", false);
            client.setTyping("c");""")
        await page.until(TYPED + ".length === 4")
        assert await page.value(TYPED) == [True, True, False, True]


# A clock that is set back


async def test_a_clock_that_is_set_back_hides_neither_typing_nor_a_dead_connection(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(CLOCK + SOCKET.replace("const start", "globalThis.heartbeat = { interval: 200, timeout: 100 };\n    const start"))
        await page.until("seen.bob.value?.live")
        await page.run("""
            silent = ["get", "typing", "activity"];
            client.setTyping("c");
            ahead = -3_600_000;
            asked.length = 0;""")
        await page.until("asked.includes('get')")
        await page.run("client.setTyping('c')")
        await page.until(TYPED + ".length === 2")


# Too fast


async def test_after_a_rate_limit_requests_wait_and_are_then_sent_one_at_a_time_in_order(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(SOCKET)
        await page.until("seen.bob.value?.live")
        await page.run("""
            said.length = 0;
            tooFast = 3;
            const ask = (n) => client.request("status", { status: "busy", text: String(n) });
            globalThis.all = Promise.all(Array.from({ length: 6 }, (_, n) => ask(n)));
            globalThis.before = said.length;""")
        assert await page.value("before") == 1
        await page.run("await all")
        assert await page.value("said.map(({ text }) => text).join('')") == "000012345"
        # (A timer may be early by less than a millisecond.)
        assert await page.value("said[3].at - said[0].at") > 297
        # When no request waits, it is as before, after one more delay.
        await page.run("await calm(); said.length = 0; silent = ['status']; client.setStatus('busy'); client.setStatus('busy');")
        await page.until("said.length === 2")


async def test_only_so_many_requests_are_without_an_answer(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(SOCKET)
        await page.until("seen.bob.value?.live")
        await page.run("""
            said.length = 0;
            silent = ["status"];
            globalThis.all = Promise.all(Array.from({ length: 250 }, () => client.setStatus("busy")));""")
        assert await page.value("said.length") == 100
        await page.run("silent = []; for (const { id } of said.slice(0, 100)) socket.hear({ type: 'ok', id });")
        assert await page.value("(await all).length") == 250


async def test_a_waiting_request_is_built_when_it_is_sent(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(SOCKET)
        await page.until("seen.bob.value?.live")
        # The newer of two changes of the activity counts.
        await page.run("""
            client.setActivity("active");
            said.length = 0;
            tooFast = 1;
            client.setActivity("background");
            client.setActivity("idle");
            await client.setStatus("auto");""")
        assert await page.value("said.filter(({ type }) => type === 'activity').map(({ state }) => state).join()") == "background,idle"
        # A user who is watched again before the unsubscription is not unsubscribed.
        await page.run("""
            await calm();
            const first = client.person("fay");
            await first.next();
            said.length = 0;
            await client.setStatus("auto");
            tooFast = 1;
            await first.return();
            await client.person("fay").next();
            await client.setStatus("busy");""")
        assert await page.value("said.map(({ type }) => type).join()") == "status,unsubscribe,subscribe,status"
        # Cy is dropped before the subscription is repeated, and so is the other watched user.
        await page.run("""
            await calm();
            said.length = 0;
            tooFast = 1;
            globalThis.stop = new AbortController();
            const cy = follow("cy", client.people(["cy", "eve"], stop));
            follow("dee", client.person("dee"));
            stop.abort();
            await cy;""")
        await page.until("seen.dee.value?.live")
        subscribed = await page.value("said.filter(({ type }) => type === 'subscribe').map(({ users }) => users.join())")
        assert subscribed == ["cy,eve", "dee"], subscribed


# Batches


async def test_more_people_than_one_message_may_list_are_read_and_unsubscribed(chromium, start):
    server = start({"subscriptions": 5, "subscribe_batch": 2})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        first, others = [[f"{name}{n}" for n in range(5)] for name in ("a", "b")]
        # Also before the server's limits are known.
        await page.run(f"open({room.token('ana')!r}, {{ share: false }}); globalThis.early = client.get({first})")
        assert await page.value("(await early).map(({ user }) => user)") == first
        assert await page.value("client.own.limits.subscribeBatch") == 2
        assert await page.value("await client.get([])") == []
        assert await page.value("(await client.get(['a0', 'a1', 'a0', 'a2', 'a0'])).length") == 3
        await page.run(f"globalThis.stop = new AbortController(); follow('first', client.people({first}, {{ signal: stop.signal }}))")
        await page.until("seen.first.value?.every((each) => each.live)")
        # As many others can be watched only if all of them are unsubscribed.
        await page.run("stop.abort()")
        await page.until("seen.first.ended")
        await follow(page, "others", f"client.people({others})")
        await page.until("seen.others.value?.every((each) => each.live)")
        assert not [each for each in page.received if each["type"] == "error"]
        assert sorted(len(each["users"]) for each in page.sent if each["type"] == "unsubscribe") == [1, 2, 2]


async def test_people_with_long_ids_are_watched_in_messages_that_a_server_takes(chromium, start):
    server = start({"max_message_bytes": 4096, "linger": 10_000})
    room = Room(server)
    people = [f"{n}{'x' * 100}" for n in range(16)]
    await asyncio.gather(*[room.come(person) for person in people])
    ids = [room.name(person) for person in people]
    # Each character of these is two in JSON.
    everybody = json.dumps(ids + [f"{n:02}" + '"' * 120 for n in range(40)])
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"), share=False)
        await follow(page, "all", f"client.people({everybody})")
        await page.until("seen.all.value?.every((each) => each.live)")
        # Once more, with the known versions of each.
        line.cut()
        await page.until("client.connection.state !== 'live'")
        line.mend()
        await page.until("client.connection.state === 'live' && seen.all.value.every((each) => each.live)")
        assert any(each.get("known") for each in page.sent if each["type"] == "subscribe")
        assert len(await page.value(f"await client.get({everybody})")) == 56
        assert len(page.sockets) == 2


# A network that fails


async def test_a_request_without_an_answer_makes_the_client_ask_whether_there_is_a_server(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(SOCKET)
        await page.until("seen.bob.value?.live")
        await page.run("silent = ['status', 'get']; asked.length = 0; globalThis.begun = performance.now(); client.setStatus('busy').catch(() => {})")
        await page.until("asked.includes('get')")
        assert await page.value("performance.now() - begun") >= 2_900
        await page.run("silent = ['status']")
        await page.until("client.connection.state !== 'live' || " + CONNECTIONS + " > 0")
        assert await page.value("givenUp") == 1
        await page.until("client.connection.state === 'live'")
        # A slow server is kept.
        await page.run("asked.length = 0; client.setStatus('busy').catch(() => {})")
        await page.until("asked.includes('get')")
        await page.run("await calm()")
        assert await page.value("givenUp") == 1


async def test_a_network_that_goes_is_noticed_at_once(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        line.freeze()
        await page.run("globalThis.begun = performance.now(); dispatchEvent(new Event('offline'))")
        await page.until("client.connection.state !== 'live'")
        assert await page.value("performance.now() - begun") < 6_000
        line.open.set()
        await page.until("client.connection.state === 'live'")


@pytest.mark.parametrize("what", ["new Event('focus')", "new KeyboardEvent('keydown')", "new PointerEvent('pointerdown')"])
async def test_an_active_user_does_not_wait_for_long(chromium, server, room, what):
    async with Line(server) as line, chromium:
        first, second = [await opened(await tab(chromium, line), room.token("ana")) for _ in range(2)]
        await first.run("Math.random = () => 1000")
        line.cut()
        await second.until("client.connection.state === 'waiting' && client.connection.retryAt > Date.now() + 60_000")
        count = line.accepted
        # A hundred key presses are one attempt, some seconds after the last.
        await second.run(f"for (let count = 0; count < 100; count++) dispatchEvent({what})")
        await eventually(lambda: line.accepted > count, "tried")
        await second.until("client.connection.state === 'waiting'")
        assert line.accepted == count + 1
        line.mend()
        await second.run(f"dispatchEvent({what})")
        for page in (first, second):
            await page.until("client.connection.state === 'live'")
