"""presence.js in several tabs of one browser: one socket, whichever tab has it, and no trace of a change."""

import asyncio

import pytest

from support.library import follow, opened, tab
from support.line import Line
from support.patience import eventually

SETTINGS = {"linger": 10_000}


async def tabs(chromium, line, room, count, person="ana", **options):
    """Pages of one user: the first has the socket."""
    return [await opened(await tab(chromium, line), room.token(person), **options) for _ in range(count)]


async def test_all_tabs_share_one_socket_and_each_has_what_it_wants(chromium, server, room):
    async with Line(server) as line, chromium:
        first, second, third = await tabs(chromium, line, room, 3)
        bob, cy = room.name("bob"), room.name("cy")
        await follow(first, "bob", f"client.person({bob!r})")
        await follow(second, "bob", f"client.person({bob!r})")
        await follow(third, "both", f"client.people([{bob!r}, {cy!r}])")
        for page, shown in ((first, "bob"), (second, "bob"), (third, "both")):
            await page.until(f"seen.{shown}.value")
        bob_phone, _ = await room.come("bob", device="phone"), await room.come("cy", device="phone")
        for page in (first, second):
            await page.until("seen.bob.value.live && seen.bob.value.presence.status === 'online'")
        await third.until("seen.both.value.every((each) => each.live && each.presence.status === 'online')")
        # A request of a tab without the socket, and its change reaches all.
        for page in (first, second, third):
            await follow(page, "me", "client.me()")
        await second.run("await client.setStatus('busy', { text: 'In tab two' })")
        for page in (first, second, third):
            await page.until("seen.me.value.status.text === 'In tab two'")
        assert [len(page.sockets) for page in (first, second, third)] == [1, 0, 0]
        with pytest.raises(Exception) as failed:
            await third.run("await client.updateProfile({ displayName: '' })")
        assert failed.value.args[0]["code"] == "validation_failed"


async def test_a_tab_that_closes_stops_what_only_it_watched(chromium, server, room):
    async with Line(server) as line, chromium:
        first, second = await tabs(chromium, line, room, 2)
        await follow(first, "bob", "client.person('bob')")
        await follow(second, "two", "client.people(['bob', 'cy'])")
        await second.until("seen.two.value?.every((each) => each.live)")
        await second.close()
        gone = await eventually(lambda: [each for each in first.sent if each["type"] == "unsubscribe"], "unsubscribed")
        assert gone[0]["users"] == ["cy"] and len(gone) == 1
        # The same when only the client is closed, and when the page is loaded again.
        third, = await tabs(chromium, line, room, 1)
        await follow(third, "dee", "client.person('dee')")
        await third.until("seen.dee.value?.live")
        await third.run("client.close()")
        await third.until("seen.dee.ended")
        gone = await eventually(lambda: [each for each in first.sent if each["type"] == "unsubscribe"][1:], "unsubscribed")
        assert gone[0]["users"] == ["dee"]
        fourth, = await tabs(chromium, line, room, 1)
        await follow(fourth, "eve", "client.person('eve')")
        await fourth.until("seen.eve.value?.live")
        await fourth.reload()
        gone = await eventually(lambda: [each for each in first.sent if each["type"] == "unsubscribe"][2:], "unsubscribed")
        assert gone[0]["users"] == ["eve"]


@pytest.mark.parametrize("how", ["closes", "closes its client", "crashes", "is loaded again"])
async def test_when_the_tab_with_the_socket_goes_another_takes_over_and_nobody_sees_it(chromium, server, room, how):
    async with Line(server) as line, chromium:
        first, second, third = await tabs(chromium, line, room, 3)
        bob = await room.come("bob", device="phone")
        await bob.ask("updateProfile", changes={"displayName": "Bob"})
        await bob.subscribe(room.name("ana"))
        await bob.sees(room.name("ana"), status="online")
        for page in (second, third):
            await follow(page, "bob", f"client.person({room.name('bob')!r})")
            await page.until("seen.bob.value?.live && seen.bob.value.profile.displayName === 'Bob'")
        if how == "closes":
            await first.close()
        elif how == "closes its client":
            await first.run("client.close()")
        elif how == "crashes":
            # (It gets no answer: there is no tab that could send it.)
            first.expected = ("",)
            asyncio.ensure_future(first.send("Page.crash"))
        else:
            await first.reload()
        leader = await eventually(lambda: next((each for each in (second, third) if each.sockets), None), "a new socket")
        other = third if leader is second else second
        for page in (leader, other):
            await page.until("client.connection.state === 'live' && seen.bob.value.live")
        # It continued where the former one was.
        again = [each for each in leader.sent if each["type"] == "subscribe"]
        assert set(again[0]["known"][room.name("bob")]) == {"presence", "profile"}, again
        await bob.status("busy")
        for page in (leader, other):
            await page.until("seen.bob.value.presence.status === 'busy'")
        assert not other.sockets
        assert "offline" not in bob.statuses(room.name("ana"))


async def test_a_request_of_a_tab_outlives_the_tab_with_the_socket(chromium, server, room):
    async with Line(server) as line, chromium:
        first, second = await tabs(chromium, line, room, 2)
        line.freeze()
        await second.run("globalThis.saved = client.updateProfile({ displayName: 'Ana in tab two' })")
        await eventually(lambda: [each for each in first.sent if each["type"] == "updateProfile"], "sent")
        await first.close()
        line.cut()
        line.open.set()
        line.mend()
        assert (await second.value("await saved"))["displayName"] == "Ana in tab two"


async def test_the_user_is_as_active_as_the_most_active_tab(chromium, server, room):
    async with Line(server) as line, chromium:
        first, second = await tabs(chromium, line, room, 2)
        bob = await room.come("bob", device="phone")
        await bob.subscribe(room.name("ana"))
        await bob.sees(room.name("ana"), status="online")
        await first.run("client.setActivity('background')")
        await second.run("client.setActivity('idle')")
        await bob.sees(room.name("ana"), status="away")
        await second.run("client.setActivity('background')")
        await eventually(lambda: [each["state"] for each in first.sent if each["type"] == "activity"][-2:] == ["idle", "background"], "told")
        await second.run("client.setActivity('active')")
        await bob.sees(room.name("ana"), status="online")
        await first.run("client.setActivity('active')")
        await second.close()
        # A page that is shown is active again.
        await first.show()
        await first.until("!document.hidden")
        await first.run("client.setActivity('background')")
        await bob.sees(room.name("ana"), status="away")


async def test_users_do_not_share_and_nor_do_tabs_that_do_not_want_to(chromium, server, room):
    async with Line(server) as line, chromium:
        ana, = await tabs(chromium, line, room, 1)
        bob, = await tabs(chromium, line, room, 1, person="bob")
        apart, = await tabs(chromium, line, room, 1, share=False)
        assert [len(page.sockets) for page in (ana, bob, apart)] == [1, 1, 1]
        assert await bob.value("client.own.user") == room.name("bob")
        await bob.run("await client.setStatus('busy', { text: 'Bob only' })")
        await bob.until("client.own.status.text === 'Bob only'")
        assert await ana.value("client.own.status.status") == "auto"
        for page in (ana, apart):
            await page.until("client.connection.state === 'live'")


async def test_a_lost_connection_is_told_to_all_tabs(chromium, server, room):
    async with Line(server) as line, chromium:
        first, second = await tabs(chromium, line, room, 2)
        for page in (first, second):
            await follow(page, "bob", "client.person('bob')")
            await page.until("seen.bob.value?.live")
        line.cut()
        for page in (first, second):
            await page.until("!seen.bob.value.live && client.connection.state === 'waiting'")
        line.mend()
        await second.run("client.reconnect()")
        for page in (first, second):
            await page.until("seen.bob.value.live")


async def test_the_last_tab_that_closes_its_client_ends_the_session(chromium, server, room):
    async with Line(server) as line, chromium:
        first, second = await tabs(chromium, line, room, 2)
        bob = await room.come("bob", device="phone")
        await bob.subscribe(room.name("ana"))
        await bob.sees(room.name("ana"), status="online")
        await first.run("client.close()")
        await second.until("client.connection.state === 'live'")
        await eventually(lambda: second.sockets, "the other has it")
        await second.until("client.connection.state === 'live'")
        await second.run("client.close()")
        await bob.sees(room.name("ana"), status="offline", within=5)
