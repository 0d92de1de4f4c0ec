"""presence.js in Chromium when a page is suspended, in a dialog or a debugger: other tabs continue, and it resumes later."""

import asyncio

from support.library import begin, follow, opened, tab, talking, watch
from support.line import Line
from support.patience import eventually

SETTINGS = {"linger": 10_000}


async def stand_still(page):
    asyncio.ensure_future(page.send("Runtime.evaluate", expression="setTimeout(() => alert('Delete?'))"))
    await eventually(lambda: page.dialogs, "a dialog is open")


async def go_on(page):
    await page.send("Page.handleJavaScriptDialog", accept=True)
    page.dialogs.clear()


async def test_another_tab_takes_the_socket_and_nobody_sees_it(chromium, server, room):
    async with Line(server) as line, chromium:
        first, second, third = [await opened(await tab(chromium, line), room.token("ana")) for _ in range(3)]
        bob = await room.come("bob", device="phone")
        await bob.subscribe(room.name("ana"))
        await bob.sees(room.name("ana"), status="online")
        for page in (first, second, third):
            await follow(page, "bob", f"client.person({room.name('bob')!r})")
            await page.until("seen.bob.value?.live")
        await stand_still(first)
        await bob.status("busy")
        for page in (second, third):
            await page.until("seen.bob.value.live && seen.bob.value.presence.status === 'busy'")
            assert await page.value("(await client.get(['nobody'])).length") == 1
        leader, = [page for page in (second, third) if page.sockets]
        # The first tab resumes as one of the others: its requests use their socket.
        await go_on(first)
        await first.run("await client.setStatus('busy', { text: 'Back' })")
        assert [each for each in leader.sent if each.get("text") == "Back"]
        await bob.status("auto")
        for page in (first, second, third):
            await page.until("seen.bob.value.live && seen.bob.value.presence.status === 'online'")
            assert "refused" not in await page.value("states")
        assert [len(page.sockets) for page in (first, leader)] == [1, 1]
        assert "offline" not in bob.statuses(room.name("ana"))
        # It has its place in the queue: the last remaining tab has the socket.
        for page in (second, third):
            await page.close()
        await eventually(lambda: len(first.sockets) == 2, "a new socket")
        await first.until("client.connection.state === 'live'")


async def test_messages_of_other_tabs_are_sent_meanwhile(chromium, server, room):
    async with Line(server) as line, chromium:
        bob = await room.come("bob")
        id = (await bob.did("createConversation", participants=[room.name("ana")]))["conversation"]["id"]
        first = await talking(chromium, line, room)
        second = await talking(chromium, line, room)
        await watch(second, id)
        await stand_still(first)
        for text in ("one", "two"):
            await second.run(f"await messages.send({id!r}, {text!r})")
        sent = "seen.page.value.messages.map(({ text, status }) => status === 'sending' ? '' : text).join()"
        await second.until(f"{sent} === 'one,two'")
        await go_on(first)
        await first.run(f"await messages.send({id!r}, 'three')")
        await second.until(f"{sent} === 'one,two,three'")


async def test_a_page_that_starts_meanwhile_has_everything(chromium, server, room):
    async with Line(server) as line, chromium:
        first = await talking(chromium, line, room)
        await stand_still(first)
        second = await opened(await tab(chromium, line), room.token("ana"))
        await begin(second, room.name("ana"))
        await second.until("seen.list.value[0] === undefined || seen.list.value[0].live")
        assert len(second.sockets) == 1
        await go_on(first)
        await first.until("client.connection.state === 'live'")
        assert await first.value("(await client.get(['nobody'])).length") == 1
