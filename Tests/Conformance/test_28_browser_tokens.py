"""presence.js in Chromium: the source of tokens, renewals, and when it stops trying."""

import json

import pytest

from support.library import opened, tab
from support.line import Line
from support.patience import eventually

SETTINGS = {"linger": 3000, "heartbeat_interval": 1000, "heartbeat_timeout": 1000}


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
        # A provider that never has a valid token.
        await page.run("client.close(); open(async () => %s)" % json.dumps(old))
        await page.until("client.connection.state === 'refused'")
        assert len(page.sockets) == 4, page.sockets


async def test_a_failing_provider_is_called_again_and_one_without_a_user_is_not(chromium, server, room):
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
async def test_a_user_who_signs_in_later_is_connected_on_request(chromium, server, room, share):
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
        # Earlier and present requests fail immediately.
        assert await page.value("await early") == "unauthorized"
        assert await page.value("await client.get([]).catch((error) => error.code)") == "unauthorized"
        # Tried too early, it is rejected again.
        await page.run("states.length = 0; client.reconnect()")
        await page.until("states[0] === 'connecting' && states.at(-1) === 'refused'")
        await page.run("isIn = true; client.reconnect()")
        assert await page.value("await client.get([])") == []
        assert await page.value("client.connection.state") == "live"
        # Shared, if requested: another tab has no socket of its own.
        other = await opened(await tab(chromium, line), room.token("ana"), share=share)
        assert len(other.sockets) == (0 if share else 1)


@pytest.mark.parametrize("what", ["client.reconnect()", "document.dispatchEvent(new Event('visibilitychange'))"])
async def test_a_provider_without_a_network_is_called_at_once_when_the_page_is_used(chromium, server, room, what):
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
        # It expires in less than a minute, so the server sends a notice immediately.
        await eventually(lambda: [each for each in page.received if each["type"] == "refreshed"], "refreshed")
        assert (await page.value("asked"))[-1] is True and len(page.sockets) == 1
        # A renewal that never arrives: closed with 4002, and then with a new token.
        await page.run(f"""
            client.close(); globalThis.times = 0;
            open(async ({{ renew }}) => {{
                if (renew && ++times === 1) throw new TypeError("no network");
                return {json.dumps([room.token("ana", expires=2), tokens[1]])}[renew ? 1 : 0];
            }})""")
        await page.until("states.includes('waiting') && client.connection.state === 'live' && times === 2")


@pytest.mark.parametrize("share", [True, False])
async def test_a_client_that_is_closed_before_it_has_a_token_opens_no_socket(chromium, server, room, share):
    """Otherwise a signed-out user would be shown as online."""
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
            // With sharing: once to find the tabs of the same user, then to connect.
            open(() => (++count === {2 if share else 1} ? (asking(), told) : {room.token("ana")!r}), {{ share: {str(share).lower()} }});
            await asked;
            client.close();
            give({room.token("ana")!r});
            await new Promise((resolve) => setTimeout(resolve, 300));""")
        assert await page.value("sockets") == 0
        assert await page.value("client.connection.state") == "closed"


async def test_a_provider_that_gives_the_same_token_is_not_asked_all_the_time(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(f"""
            globalThis.asked = 0;
            open(() => {{ asked++; return {room.token("ana", expires=5)!r}; }}, {{ share: false }});""")
        # Until the token has expired: at least a second passes between two calls.
        await page.until("states.includes('waiting')")
        assert 2 <= await page.value("asked") <= 8
        assert not [each for each in page.sent if each["type"] == "refresh"]


async def test_a_provider_of_short_tokens_is_asked_after_a_quarter_of_their_time(chromium, server, room):
    async with Line(server) as line, chromium:
        tokens = [room.token("ana", expires=10 + n) for n in range(40)]
        page = await tab(chromium, line)
        await page.run(f"""
            globalThis.asked = 0;
            open(() => {tokens}[asked++] ?? "none", {{ share: false }});""")
        await eventually(lambda: len([each for each in page.received if each["type"] == "refreshed"]) == 2, "renewed twice")
        assert await page.value("asked") == 3


async def test_the_line_break_behind_a_token_is_no_part_of_it(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await opened(page, room.token("ana") + "\n", share=False)
        await page.run(f"client.close(); open(() => {room.token('ana')!r} + '\\r\\n')")
        await page.until("client.connection.state === 'live'")


async def test_a_refusal_that_the_page_does_not_read_is_on_the_console(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line, expected=("Presence: the connection was refused: ",))
        heard = []
        page.note = heard.append
        await page.run("""
            globalThis.quiet = new presence.PresenceClient({ token: "garbage", share: false });
            const { PresenceMessages } = await import("/presence-messages.js");
            new PresenceMessages(quiet, { user: "ana" });
            open("garbage", { share: false });""")
        await page.until("[quiet, client].every(({ connection }) => connection.state === 'refused')")
        assert len(heard) == 1 and "Presence: the connection was refused: " in heard[0], heard
        # A function that returns nothing means that no user is signed in.
        await page.run("client.close(); open(() => undefined)")
        await page.until("client.connection.state === 'refused' && client.connection.error.code === 'unauthorized'")
