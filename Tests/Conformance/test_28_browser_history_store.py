"""presence-messages.js in Chromium: one store for all tabs and one user, whatever becomes of it."""

import asyncio
import random

import pytest

from support.accounts import ON, PASSWORD, Accounts
from support.history import KEPT, SEQS, is_kept, launch, load, return_online, show, start_online
from support.library import MODULE, TEXTS, begin, opened, tab, watch, write
from support.line import Line
from support.patience import A_MOMENT
from support.talks import say
from test_28_browser_accounts import page_of, sign_up
from test_28_browser_history import written
from test_28_browser_standstill import go_on, stand_still

SETTINGS = {"linger": 5_000}
NOTHING = "!Object.keys(await kept()).some((key) => key.startsWith('list') || key.startsWith('talk'))"


# One user


async def test_a_sign_out_deletes_it_and_another_user_finds_nothing(chromium, start):
    accounts = Accounts(start(ON))
    bob = await accounts.sign_up()
    async with Line(accounts.server) as line, chromium:
        page, other = await page_of(chromium, line), await page_of(chromium, line)
        email, user = await sign_up(page, accounts)
        for each in (page, other):
            await each.run(KEPT + "globalThis.client = new presence.PresenceClient({ token: account });")
            await begin(each, user)
        id = (await page.value(f"await messages.create([{bob.user!r}])"))["id"]
        for each in (page, other):
            await watch(each, id)
        await write(page, id, "a secret")
        await page.until("JSON.stringify(await kept()).includes('a secret')")
        # The other tab stands still, with something to write.
        await stand_still(other)
        await write(page, id, "another secret")
        await page.run("await account.signOut()")
        assert await page.value(f"{NOTHING} && !(await kept()).owner.user")
        await go_on(other)
        await other.until("account.state === null")
        await asyncio.sleep(1 + 3 * A_MOMENT)
        assert await page.value(f"{NOTHING} && !(await kept()).owner.user")
        for each in (page, other):
            await each.run("client.close()")
        # Without a sign-out, when another user signs in.
        await page.run(f"await account.signIn({email!r}, {PASSWORD!r}); client = new presence.PresenceClient({{ token: account }});")
        await begin(page, user)
        await page.until("JSON.stringify(await kept()).includes('another secret')")
        await page.run(f"await account.signIn({bob.email!r}, {PASSWORD!r})")
        assert await page.value(NOTHING)


async def test_another_user_with_tokens_of_their_own_finds_nothing_and_forget_deletes_it(chromium, server, room):
    async with Line(server) as line, chromium:
        id, *_ = await written(room, 3)
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 3)
        await launch(page, line, room, "cy")
        await asyncio.sleep(2 * A_MOMENT)
        assert await page.value(f"[seen.list.count, {NOTHING}]") == [0, True]
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 3)
        await page.run("await messages.forget()")
        assert await page.value(NOTHING)
        # Nothing is written by this page any more.
        await write(page, id, "one more")
        await asyncio.sleep(1 + A_MOMENT)
        assert await page.value(NOTHING)


# Several tabs


async def test_a_tab_that_stood_still_does_not_bring_back_what_was_deleted(chromium, server, room):
    async with Line(server) as line, Line(server) as lost, chromium:
        id, bob, all = await written(room, 3)
        first, second = await tab(chromium, line), await tab(chromium, line)
        await load(first, line)
        # A connection of its own, so it learns nothing from the other tab.
        await first.run(f"""
            const Plain = WebSocket;
            globalThis.WebSocket = class extends Plain {{ constructor(_, ...rest) {{ super({lost.url!r}, ...rest); }} }};""")
        await opened(first, room.token("ana"), share=False)
        await begin(first, room.name("ana"))
        await start_online(second, line, room)
        for page in (first, second):
            await watch(page, id)
        await is_kept(first, id, 3)
        all.append(await say(bob, id, "m4"))
        await first.until(f"{SEQS}.length === 4")
        # It has something to write, and stands still.
        await stand_still(first)
        lost.cut()
        await bob.did("deleteMessage", conversation=id, message=all[1]["id"])
        all.append(await say(bob, id, "m5"))
        await is_kept(second, id, 5)
        await go_on(first)
        await first.until("!seen.page.value.live")
        await asyncio.sleep(1 + 2 * A_MOMENT)
        held = (await second.value("kept()"))[f"talk {id}"]
        assert [each["text"] for each in held["messages"]] == ["m1", "", "m3", "m4", "m5"]
        lost.mend()
        await first.run("client.reconnect()")
        await first.until(TEXTS + " === 'm1,,m3,m4,m5' && seen.page.value.live")
        # Each tab adds what only it has: two conversations side by side.
        ana, cy = await room.come("ana", device="phone"), await room.come("cy")
        other = (await ana.did("createConversation", participants=[cy.user]))["conversation"]["id"]
        await show(second, other, "other")
        for number in range(20):
            await asyncio.gather(say(bob, id, f"a{number}"), say(cy, other, f"b{number}"))
        for page in (first, second):
            await is_kept(page, id, 25)
            await is_kept(page, other, 20)


async def test_a_page_that_is_loaded_again_at_any_moment_has_no_hole(chromium, server, room):
    async with Line(server) as line, chromium:
        id, bob, _ = await written(room, 5)
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 5)
        count = 5

        async def talk_on():
            nonlocal count
            while True:
                count += 1
                await say(bob, id, f"m{count}")
                await asyncio.sleep(0.02)

        talking = asyncio.ensure_future(talk_on())
        before = 5
        for _ in range(8):
            await start_online(page, line, room)
            await show(page, id)
            await asyncio.sleep(random.uniform(0, 2))
            # At any moment of a write: it is the browser's next task.
            await launch(page, line, room)
            await show(page, id)
            shown = await page.until(f"{SEQS}?.length && {SEQS}")
            whole = await page.value("seen.page.value.missingBefore ?? null")
            numbers = shown if whole is None else shown[:-1]
            if not numbers:
                # The store was slow: only the list's newest message is shown.
                continue
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) and numbers[-1] >= before, shown
            before = numbers[-1]
        talking.cancel()
        await asyncio.wait([talking])
        await return_online(page, line)
        last = await page.until("seen.page.value.live && seen.page.value.messages.at(-1).seq")
        await page.run(f"while (seen.page.value.missingBefore) await messages.earlier({id!r})")
        shown = await page.value("seen.page.value.messages.map((each) => each.text)")
        assert last >= count - 1 and shown == [f"m{number}" for number in range(last - len(shown) + 1, last + 1)]


# A store that fails

FAULTS = {
    "it refuses": """
        const open = IDBFactory.prototype.open;
        IDBFactory.prototype.open = function (name, ...rest) {
            if (name.includes("history")) throw new DOMException("no", "SecurityError");
            return open.call(this, name, ...rest);
        };""",
    "it never answers": """
        // And nothing gives it up.
        const plain = setTimeout;
        globalThis.setTimeout = (act, wait, ...rest) => plain(act, wait === 10_000 ? 1e9 : wait, ...rest);
        const open = IDBFactory.prototype.open;
        IDBFactory.prototype.open = function (name, ...rest) {
            return name.includes("history") ? {} : open.call(this, name, ...rest);
        };""",
    "it is full": """
        const put = IDBObjectStore.prototype.put;
        IDBObjectStore.prototype.put = function (value, key) {
            if (Array.isArray(key)) throw new DOMException("full", "QuotaExceededError");
            return put.call(this, value, key);
        };""",
    "it is damaged": """
        IDBObjectStore.prototype.getAll = () => { throw new DOMException("damaged", "UnknownError"); };""",
}
"""Each for the database of the history only."""


@pytest.mark.parametrize("fault", FAULTS)
async def test_with_a_store_that_fails_everything_works_but_the_history(chromium, start, fault):
    accounts = Accounts(start(ON))
    bob = await accounts.sign_up()
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line)
        email, user = await sign_up(page, accounts)
        await page.run("globalThis.client = new presence.PresenceClient({ token: account });" + FAULTS[fault])
        await begin(page, user)
        id = (await page.value(f"await messages.create([{bob.user!r}])"))["id"]
        await watch(page, id)
        await write(page, id, "one", "two")
        await page.until(TEXTS + " === 'one,two' && seen.page.value.messages.every((each) => each.status === 'sent')")
        # The page is back, with the same store.
        await page.reload()
        await page.run("globalThis.presence = await import('/presence.js');" + MODULE)
        await page.run("globalThis.account = new presence.PresenceAccount(); await account.user();" + FAULTS[fault]
                       + "globalThis.client = new presence.PresenceClient({ token: account });")
        await begin(page, user)
        await watch(page, id)
        await page.until(TEXTS + " === 'one,two'")
        await page.run("await account.signOut()", within=10)
        assert await page.value("account.state") is None


async def test_a_full_store_keeps_nothing_rather_than_deleted_messages(chromium, server, room):
    async with Line(server) as line, chromium:
        id, bob, all = await written(room, 3)
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 3)
        await page.run(FAULTS["it is full"])
        await bob.did("deleteMessage", conversation=id, message=all[1]["id"])
        await page.until(NOTHING)
        await launch(page, line, room)
        await asyncio.sleep(A_MOMENT)
        assert await page.value("seen.list.count") == 0


async def test_a_store_that_is_deleted_meanwhile_is_filled_again(chromium, server, room):
    async with Line(server) as line, chromium:
        id, bob, _ = await written(room, 3)
        other, cy, _ = await written(room, 2, person="cy")
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await show(page, other, "other")
        await watch(page, id)
        await is_kept(page, id, 3)
        await page.run("""
            const request = indexedDB.deleteDatabase(presence.internals.historyOf(location.origin));
            await new Promise((resolve, reject) => Object.assign(request, { onsuccess: resolve, onerror: reject }));""")
        await say(bob, id, "m4")
        await is_kept(page, id, 4)
        # Also what has not changed since.
        await is_kept(page, other, 2)
        await launch(page, line, room)
        await page.until("seen.list.value?.length === 2")
        # A failed write is made up for by the next one.
        await load(page, line)
        await start_online(page, line, room)
        await watch(page, id)
        await page.run("globalThis.put = IDBObjectStore.prototype.put; IDBObjectStore.prototype.put = () => { throw new Error('once'); };")
        await say(bob, id, "m5")
        await page.until(f"{SEQS}.at(-1) === 5")
        await asyncio.sleep(1 + 2 * A_MOMENT)
        await page.run("IDBObjectStore.prototype.put = put")
        await say(cy, other, "m3")
        await is_kept(page, id, 5)
