"""presence-messages.js in Chromium: messages written offline are sent once and in order, whatever dies."""

import asyncio

import pytest

from support.accounts import ON, PASSWORD, Accounts
from support.browser import Failed
from support.library import BLANK, MODULE, TEXTS, begin, follow, opened, stored, talking, watch, write
from support.line import Line
from support.patience import eventually
from support.room import Room
from test_28_browser_accounts import page_of, sign_up

SETTINGS = {"linger": 5_000}


async def test_messages_written_offline_are_shown_survive_a_reload_and_are_sent_once_in_order(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        id = (await page.value(f"await messages.create([{room.name('bob')!r}])"))["id"]
        await watch(page, id)
        line.cut()
        await page.until("!seen.page.value.live")
        await write(page, id, *[f"m{number}" for number in range(10)])
        await page.until("seen.page.value.messages.length === 10 && seen.page.value.messages.every((each) => each.status === 'sending')")
        await page.run(f"await messages.edit({id!r}, seen.page.value.messages[3].id, 'changed'); await messages.delete({id!r}, seen.page.value.messages[4].id)")
        await page.until("seen.page.value.messages[3].text === 'changed' && seen.page.value.messages[4].deletedAt > 0")
        await page.until("seen.list.value[0].unsent === 10 && seen.list.value[0].lastMessage.text === 'm9'")
        # Another page replaces it, and back.
        await page.go("about:blank")
        line.mend()
        await page.go(line.origin + BLANK)
        await page.run(MODULE)
        await opened(page, room.token("ana"))
        await begin(page, room.name("ana"))
        await watch(page, id)
        await page.until("seen.page.value.messages.length === 10 && seen.page.value.messages.every((each) => each.seq && each.status === 'sent')")
        await page.until("seen.page.value.messages[4].deletedAt")
        expected = ["m0", "m1", "m2", "changed", "", "m5", "m6", "m7", "m8", "m9"]
        assert [each["text"] for each in await stored(room, id)] == expected
        assert await page.value("(await presence.internals.stored(presence.internals.queueOf(client.url, client.own.user))).length") == 0


@pytest.mark.parametrize("arrives", [True, False], ids=["what it sent arrives", "what it sent is lost"])
async def test_a_tab_that_is_killed_while_it_sends_leaves_the_rest_to_another_and_nothing_is_doubled(chromium, server, room, arrives):
    async with Line(server) as line, chromium:
        first = await talking(chromium, line, room)
        id = (await first.value(f"await messages.create([{room.name('bob')!r}])"))["id"]
        second = await talking(chromium, line, room)
        await watch(second, id)
        line.freeze()
        await write(second, id, *[f"m{number}" for number in range(20)])
        await eventually(lambda: [each for each in first.sent if each["type"] == "send"], "the first is on its way")
        if arrives:
            line.open.set()
        first.expected = ("",)
        asyncio.ensure_future(first.send("Page.crash"))
        await eventually(lambda: second.sockets, "the other tab connects")
        if not arrives:
            line.cut()
            for end in line.ends:
                end.transport.abort()
            line.open.set()
            line.mend()
        await second.until("seen.page.value.live && seen.page.value.messages.length === 20 && seen.page.value.messages.every((each) => each.status === 'sent')")
        assert [each["text"] for each in await stored(room, id)] == [f"m{number}" for number in range(20)]


async def test_a_server_that_is_killed_while_messages_are_sent_has_each_once(chromium, start):
    server = start({"linger": 1000, "lease": 1500, "renewal": 300, "sweep": 100})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        id = (await page.value(f"await messages.create([{room.name('bob')!r}])"))["id"]
        await watch(page, id)
        await page.run(f"globalThis.writing = (async () => {{ for (let n = 0; n < 60; n++) await messages.send({id!r}, `m${{n}}`); }})()")
        await page.until("seen.page.value.messages.filter((each) => each.seq).length > 5")
        server.kill()
        line.cut()
        await page.run("await writing")
        server.start()
        line.mend()
        await page.run("client.reconnect()")
        await page.until("seen.page.value.live && seen.page.value.messages.length === 60 && seen.page.value.messages.every((each) => each.status === 'sent')")
        again = Room(server)
        assert [each["text"] for each in await stored(again, id)] == [f"m{number}" for number in range(60)]


async def test_rejected_messages_are_failed_and_can_be_sent_again_or_discarded(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        bob = await room.come("bob")
        id = (await page.value(f"await messages.create([{room.name('bob')!r}])"))["id"]
        await watch(page, id)
        await bob.did("block", users=[room.name("ana")])
        await write(page, id, "one", "two")
        await page.until("seen.page.value.messages.length === 2 && seen.page.value.messages.every((each) => each.status === 'failed')")
        assert await page.value("seen.page.value.messages[0].error.code") == "forbidden"
        assert await stored(room, id) == []
        await bob.did("unblock", users=[room.name("ana")])
        await page.run("await messages.retry(seen.page.value.messages[1].id)")
        await page.until("seen.page.value.messages.some((each) => each.text === 'two' && each.status === 'sent')")
        await page.run("await messages.discard(seen.page.value.messages.find((each) => each.text === 'one').id)")
        await page.until(TEXTS + " === 'two'")
        # A rejected change stays with its reason, too.
        await page.run(f"await messages.edit({id!r}, seen.page.value.messages[0].id, 'x'.repeat(6000))")
        await page.until("seen.page.value.messages[0].status === 'failed' && seen.page.value.messages[0].error.code === 'validation_failed'")
        await page.run("await messages.discard(seen.page.value.messages[0].id)")
        await page.until(TEXTS + " === 'two'")
        await follow(page, "other", "messages.messages('not-mine')")
        assert (await page.until("seen.other.value"))["error"]["code"] == "forbidden"


async def test_without_web_locks_two_tabs_send_in_the_order_of_writing(chromium, server, room):
    """As on http pages of other machines: each tab has a socket of its own, and one of them is slow."""
    async with Line(server) as slow, Line(server) as quick, chromium:
        first = await chromium.page(slow.origin + BLANK, expected=("",))
        second = await chromium.page(slow.origin + BLANK, expected=("",))
        for page, line in ((first, slow), (second, quick)):
            # One store, two connections to the server.
            await page.run("Object.defineProperty(navigator, 'locks', { value: undefined })")
            await page.run(f"""
                const Plain = WebSocket;
                globalThis.WebSocket = class extends Plain {{ constructor(_, ...rest) {{ super({line.url!r}, ...rest); }} }};""")
            await page.run(MODULE)
            await opened(page, room.token("ana"))
            await begin(page, room.name("ana"))
        id = (await first.value(f"await messages.create([{room.name('bob')!r}])"))["id"]
        for page in (first, second):
            await watch(page, id)
        await write(first, id, "zero")
        await second.until("seen.page.value.messages[0]?.seq")
        await first.until("seen.page.value.messages[0]?.status === 'sent'")
        message = await first.value("seen.page.value.messages[0].id")
        # Any tab may send at once: nothing is pending.
        await second.run(f"await messages.edit({id!r}, {message!r}, 'one')")
        await first.until(TEXTS + " === 'one' && seen.page.value.messages[0].status === 'sent'")
        quick.cut()
        await second.until("client.connection.state === 'waiting'")
        slow.freeze()
        await first.run(f"await messages.edit({id!r}, {message!r}, 'two')")
        await eventually(lambda: [each for each in first.sent if each.get("text") == "two"], "on its way")
        quick.mend()
        await second.run("client.reconnect()")
        await second.until("seen.page.value.live")
        await second.run(f"await messages.edit({id!r}, {message!r}, 'three')")
        await asyncio.sleep(2)
        assert not [each for each in second.sent if each.get("text") in ("two", "three")]
        slow.open.set()
        for page in (first, second):
            await page.until(TEXTS + " === 'three' && seen.page.value.messages[0].status === 'sent'")
        assert [each["text"] for each in await stored(room, id)] == ["three"]
        await first.until("seen.page.value.messages[0].edits.map((each) => each.text).join() === 'zero,one,two'")


async def test_the_outbox_is_bounded_and_rejects_the_rest_at_once(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        id = (await page.value(f"await messages.create([{room.name('bob')!r}])"))["id"]
        line.cut()
        await page.until("client.connection.state === 'waiting'")
        await page.run(f"await Promise.all(Array.from({{ length: 500 }}, (_, n) => messages.send({id!r}, `m${{n}}`)))")
        with pytest.raises(Failed) as failed:
            await page.run(f"await messages.send({id!r}, 'one more')")
        assert failed.value.args[0]["code"] == "too_many"
        await page.run("await messages.forget()")
        await page.until("seen.list.value[0].unsent === 0")
        line.mend()
        await page.run("client.reconnect()")
        await page.until("client.connection.state === 'live'")
        await write(page, id, "the only one")
        await page.until("seen.list.value[0].lastMessage?.status === 'sent'")
        assert [each["text"] for each in await stored(room, id)] == ["the only one"]


async def test_unsent_messages_are_removed_at_sign_out_in_all_tabs(chromium, start):
    accounts = Accounts(start(ON))
    bob = await accounts.sign_up()
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email, user = await sign_up(page, accounts)

        async def write_offline():
            await page.run(f"""
                globalThis.client = new presence.PresenceClient({{ token: account }});
                const {{ PresenceMessages }} = await import("/presence-messages.js");
                globalThis.messages = new PresenceMessages(client, {{ user: {user!r} }});""")
            id = (await page.value(f"await messages.create([{bob.user!r}])"))["id"]
            line.cut()
            await page.until("client.connection.state === 'waiting'")
            await page.run(f"await messages.send({id!r}, 'a secret')")
            assert await left() == 1
            return id

        async def left():
            queue = f"presence.internals.queueOf(client.url, {user!r})"
            return await page.value(f"(await presence.internals.stored({queue})).length")

        id = await write_offline()
        await page.run("await account.signOut()")
        assert await left() == 0
        await page.run("client.close()")
        line.mend()
        # And when another user replaces the present one.
        await page.run(f"await account.signIn({email!r}, {PASSWORD!r})")
        await write_offline()
        await page.run("client.close()")
        line.mend()
        await page.run(f"await account.signIn({bob.email!r}, {PASSWORD!r})")
        assert await left() == 0
        assert await stored(Room(accounts.server), id) == []


async def test_a_message_above_the_limit_fails_alone_also_one_stored_by_an_earlier_page(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        id = (await page.value(f"await messages.create([{room.name('bob')!r}])"))["id"]
        await watch(page, id)
        await write(page, id, "one")
        await page.until("seen.page.value.messages[0]?.status === 'sent'")
        message = await page.value("seen.page.value.messages[0].id")
        for call in (f"edit({id!r}, {message!r}, 'x'.repeat(300_000))", f"send({id!r}, 'é'.repeat(10_241))"):
            with pytest.raises(Failed) as failed:
                await page.run(f"await messages.{call}")
            assert (failed.value.args[0]["code"], failed.value.args[0]["field"]) == ("validation_failed", "text")
        # The server answers a request of the maximum length; one byte more is not sent to it.
        edit = f"{{ conversation: {id!r}, message: {message!r}, text: 'é'.repeat(100_000) + 'x'.repeat(count) }}"
        await page.run(f"globalThis.edit = (count) => client.request('editMessage', {edit})")
        for count, code in ((0, "validation_failed"), (100_000, "too_large")):
            with pytest.raises(Failed) as failed:
                await page.run(f"await edit({count})")
            assert failed.value.args[0]["code"] == code
        assert len(page.sockets) == 1 and await page.value("client.connection.state") == "live"
        # The data of an earlier version of the page.
        await page.go("about:blank")
        await page.go(line.origin + BLANK)
        await page.run(MODULE)
        await opened(page, room.token("ana"))
        await page.run(f"""
            const members = {{ conversation: {id!r}, message: {message!r}, text: "x".repeat(300_000) }};
            const entry = {{ key: "kept", type: "editMessage", members, at: Date.now() }};
            await presence.internals.stored(presence.internals.queueOf(client.url, client.own.user), () => [entry]);""")
        await begin(page, room.name("ana"))
        await watch(page, id)
        await page.until("seen.page.value.messages[0].status === 'failed' && seen.page.value.messages[0].error.code === 'too_large'")
        await write(page, id, "two")
        await page.until("seen.page.value.messages[1]?.status === 'sent'")
        await page.run(f"await messages.discard({message!r})")
        await page.until(TEXTS + " === 'one,two' && seen.page.value.messages[0].status === 'sent'")
        assert len(page.sockets) == 2 and await page.value("client.connection.state") == "live"
