"""presence.js in Chromium: people, the own status, typing, and activity."""

import json

import pytest

from support.browser import Failed
from support.library import TEXTS, begin, follow, opened, stored, tab, watch, write
from support.line import Line
from support.patience import eventually
from support.room import Room
from support.talks import say

SETTINGS = {"linger": 3000, "heartbeat_interval": 1000, "heartbeat_timeout": 1000}


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


async def test_malformed_ids_are_rejected_before_anything_is_sent(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        for call in ("client.person('with space')", "client.typing('')", "client.get(['é'])"):
            with pytest.raises(Failed) as failed:
                await page.run(f"await {call}")
            assert failed.value.args[0]["code"] == "validation_failed", call


async def test_a_user_who_hides_from_a_viewer_becomes_unknown_to_them(chromium, server, room):
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


async def test_an_inactive_user_is_idle_until_a_key_press(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"), idleAfter=300)
        bob = await room.come("bob")
        await bob.subscribe(room.name("ana"))
        await bob.sees(room.name("ana"), status="away")
        # (A client that was idle before the connection has sent that in `connect`.)
        before = len(page.sent)
        await page.key("a")
        await eventually(lambda: any(
            each["type"] == "activity" and each["state"] == "active" for each in page.sent[before:]), "told")


# A later version of the server

STRANGE = """
    const strange = (value) => Array.isArray(value) ? value.map(strange)
        : value && typeof value === "object"
            ? { ...Object.fromEntries(Object.entries(value).map(([name, each]) => [name, strange(each)])), weather: { of: ["tomorrow"] } }
            : value;
    globalThis.strangers = 0;
    globalThis.WebSocket = class extends WebSocket {
        set onmessage(hear) {
            super.onmessage = ({ data }) => {
                strangers++;
                hear({ data: '{"type":"weather","user":"ana","presence":null,"users":[{}]}' });
                hear({ data: JSON.stringify(strange(JSON.parse(data))) });
            };
        }
    };"""
"""Before each message one of an unknown type, and an unknown member in each object."""


async def test_unknown_messages_and_members_are_ignored(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(STRANGE)
        await opened(page, room.token("ana"))
        ana, bob = room.name("ana"), room.name("bob")
        await follow(page, "bob", f"client.person({bob!r})")
        await page.until("seen.bob.value?.live && seen.bob.value.presence.status === 'offline'")
        device = await room.come("bob", device="phone")
        id = (await device.did("createConversation", participants=[ana]))["conversation"]["id"]
        await begin(page, ana)
        await watch(page, id)
        await follow(page, "typing", f"client.typing({id!r})")
        await page.until("seen.typing.value?.live")
        await device.types(id)
        await page.until(f"seen.typing.value.users.join() === {bob!r}")
        await say(device, id, "hello")
        await page.until(f"{TEXTS} === 'hello'")
        await write(page, id, "hello yourself")
        await page.until(f"{TEXTS} === 'hello,hello yourself' && seen.page.value.messages[1].status === 'sent'")
        await device.status("busy", text="In a meeting")
        await page.until("seen.bob.value.presence.text === 'In a meeting'")
        await page.run("await client.updateProfile({ displayName: 'Ana Lee' })")
        assert await page.run(f"return (await client.get([{ana!r}]))[0].profile.displayName") == "Ana Lee"
        assert [message["text"] for message in await stored(room, id)] == ["hello", "hello yourself"]
        assert await page.value("strangers") > 8
        assert await page.value("states.filter((each) => each === 'live').length") == 1
