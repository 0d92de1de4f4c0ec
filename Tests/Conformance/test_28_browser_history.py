"""presence-messages.js in Chromium: conversations and their newest messages are there without a network, and complete after it."""

import asyncio

from support.history import SEQS, is_kept, launch, load, return_online, show, start_online
from support.library import TEXTS, follow, tab, watch, write
from support.line import Line
from support.patience import A_MOMENT
from support.room import Room
from support.talks import group, say, talk

SETTINGS = {"linger": 5_000}


async def written(room, count, first=1, person="bob"):
    """A conversation of Ana with so many messages, and its author."""
    ana, bob = await room.come("ana", device="phone"), await room.come(person)
    id = (await talk(ana, bob))["id"]
    return id, bob, [await say(bob, id, f"m{number}") for number in range(first, first + count)]


async def test_a_launch_without_a_network_shows_the_list_and_the_newest_messages(chromium, server, room):
    async with Line(server) as line, chromium:
        id, bob, _ = await written(room, 60)
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 60, 50)
        await launch(page, line, room)
        await page.until("seen.list.value?.length === 1")
        shown = await page.value("seen.list.value[0]")
        assert (shown["id"], shown["lastMessage"]["text"], shown["unread"], shown["live"]) == (id, "m60", 60, False)
        await show(page, id)
        await page.until(f"{SEQS}?.length === 50")
        assert await page.value(SEQS) == list(range(11, 61))
        assert await page.value("[seen.page.value.live, seen.page.value.hasEarlier, seen.page.value.missingBefore ?? null]") == [False, True, None]
        await write(page, id, "offline")
        await page.until("seen.page.value.messages.at(-1).text === 'offline' && seen.list.value[0].unsent === 1")
        # Then only news come.
        await return_online(page, line)
        await page.until(f"seen.page.value.live && {SEQS}.join() === '{','.join(map(str, range(11, 62)))}' && seen.list.value[0].live")
        cursors = [cursor for each in page.sent if each["type"] == "subscribe" for cursor in each.get("conversations", []) if "after" in cursor]
        assert [each["after"] for each in cursors] == [60] and cursors[0]["messagesVersion"] >= 60, cursors
        known = [each for each in page.sent if each["type"] == "subscribe" and each.get("conversationList")][-1]["known"]
        assert list(known) == [id]
        assert await page.value(f"await messages.earlier({id!r})") is False
        await page.until(f"{SEQS}.length === 61")


async def test_edited_and_deleted_messages_change_also_in_a_conversation_that_is_not_open(chromium, server, room):
    async with Line(server) as line, chromium:
        id, bob, all = await written(room, 5)
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 5)
        await launch(page, line, room)
        await bob.did("editMessage", conversation=id, message=all[1]["id"], text="edited")
        await bob.did("deleteMessage", conversation=id, message=all[2]["id"])
        await show(page, id)
        await page.until(TEXTS.replace("value", "value?", 1) + " === 'm1,m2,m3,m4,m5'")
        await return_online(page, line)
        await page.until(TEXTS + " === 'm1,edited,,m4,m5' && seen.page.value.live")
        await page.until(f"(await kept())['talk {id}'].messages.map((each) => each.text).join() === 'm1,edited,,m4,m5'")
        await launch(page, line, room)
        await show(page, id)
        await page.until(TEXTS.replace("value", "value?", 1) + " === 'm1,edited,,m4,m5'")
        # The list alone has the newest message: it is added, changed and deleted, too.
        await start_online(page, line, room)
        newest = await say(bob, id, "m6")
        await is_kept(page, id, 6)
        await bob.did("editMessage", conversation=id, message=newest["id"], text="changed")
        await page.until(f"(await kept())['talk {id}'].messages.at(-1).text === 'changed'")
        await bob.did("deleteMessage", conversation=id, message=newest["id"])
        await page.until(f"(await kept())['talk {id}'].messages.at(-1).deletedAt > 0")
        assert not await page.value(f"JSON.stringify(await kept()).includes('changed')")


async def test_expired_messages_disappear_also_in_a_conversation_that_is_not_open(chromium, start):
    server = start({"messages.keepPerConversation": 20})
    room = Room(server)
    async with Line(server) as line, chromium:
        id, bob, _ = await written(room, 20)
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 20, 20)
        await launch(page, line, room)
        for number in range(21, 31):
            await say(bob, id, f"m{number}")
        await show(page, id)
        await page.until(f"{SEQS}?.length === 20")
        await return_online(page, line)
        await page.until(f"seen.page.value.live && {SEQS}.join() === '{','.join(map(str, range(11, 31)))}'")
        await is_kept(page, id, 30, 20)
        await start_online(page, line, room)
        # One after the other: the list may leave out all but the newest.
        for number in range(31, 36):
            await say(bob, id, f"m{number}")
            await is_kept(page, id, number, 20)
        assert "m15" not in await page.value(f"(await kept())['talk {id}'].messages.map((each) => each.text)")
        # All of it has expired: nothing old is left behind a hole.
        await launch(page, line, room)
        for number in range(36, 111):
            await say(bob, id, f"m{number}")
        await return_online(page, line)
        await watch(page, id)
        await page.until(f"{SEQS}.join() === '{','.join(map(str, range(91, 111)))}'")
        assert await page.value("[seen.page.value.hasEarlier, seen.page.value.missingBefore ?? null]") == [False, None]


async def test_a_gap_of_more_than_a_page_is_a_hole_that_is_filled_on_demand(chromium, server, room):
    async with Line(server) as line, chromium:
        id, bob, all = await written(room, 60)
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 60, 50)
        await launch(page, line, room)
        for number in range(61, 181):
            all.append(await say(bob, id, f"m{number}"))
        await bob.did("deleteMessage", conversation=id, message=all[29]["id"])
        await show(page, id)
        await page.until(f"{SEQS}?.length === 50")
        await return_online(page, line)
        await page.until("seen.page.value.live")
        assert await page.value(SEQS) == [*range(11, 61), *range(131, 181)]
        assert await page.value("seen.page.value.missingBefore") == all[130]["id"]
        assert await page.value("seen.page.value.messages[19].deletedAt > 0"), "older messages are those of now"
        # Changes in the hole do not show before it is filled; those around it do.
        for place, text in ((99, "in the hole"), (39, "before it")):
            await bob.did("editMessage", conversation=id, message=all[place]["id"], text=text)
        await page.until("seen.page.value.messages.some((each) => each.text === 'before it')")
        assert await page.value(f"{SEQS}.length") == 100
        assert await page.value(f"await messages.earlier({id!r}, {{ before: seen.page.value.missingBefore }})")
        await page.until(f"{SEQS}.join() === '{','.join(map(str, [*range(11, 61), *range(81, 181)]))}'")
        assert await page.value("seen.page.value.messages.find((each) => each.seq === 100).text") == "in the hole"
        assert await page.value("seen.page.value.missingBefore") == all[80]["id"]
        # Older ones are read without it, if the caller wants that.
        assert await page.value(f"await messages.earlier({id!r}, {{ before: seen.page.value.messages[0].id }})")
        await page.until(f"{SEQS}.join() === '{','.join(map(str, [*range(1, 61), *range(81, 181)]))}'")
        assert not await page.value(f"await messages.earlier({id!r})")
        await page.until(f"{SEQS}.join() === '{','.join(map(str, range(1, 181)))}'")
        assert await page.value("[seen.page.value.hasEarlier, seen.page.value.missingBefore ?? null]") == [False, None]
        # The device has the newest.
        await is_kept(page, id, 180, 50)


async def test_the_newest_message_of_a_conversation_that_was_not_open_stands_behind_a_hole(chromium, server, room):
    async with Line(server) as line, chromium:
        id, bob, all = await written(room, 3)
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 3)
        await launch(page, line, room)
        for number in range(4, 9):
            all.append(await say(bob, id, f"m{number}"))
        await return_online(page, line)
        await page.until(f"(await kept())['list {id}'].conversation.last === 8")
        await launch(page, line, room)
        await show(page, id)
        await page.until(f"{SEQS}?.join() === '1,2,3,8'")
        assert await page.value("seen.page.value.missingBefore") == all[-1]["id"]
        await return_online(page, line)
        await page.until(f"seen.page.value.live && {SEQS}.join() === '1,2,3,4,5,6,7,8' && !seen.page.value.missingBefore")


async def test_a_user_who_was_removed_keeps_nothing_of_the_conversation(chromium, server, room):
    async with Line(server) as line, chromium:
        ana, bob, cy = [await room.come(name, device="phone") for name in ("ana", "bob", "cy")]
        id, other = (await group(bob, ana, cy, name="Trip"))["id"], (await talk(ana, bob))["id"]
        for each in (id, other):
            await say(bob, each, "a secret")
        page = await tab(chromium, line)
        await start_online(page, line, room)
        for each in (id, other):
            await watch(page, each)
            await is_kept(page, each, 1)
        await launch(page, line, room)
        await page.until("seen.list.value?.length === 2")
        await bob.did("changeMembers", conversation=id, add=[], remove=[room.name("ana")])
        await show(page, id)
        await follow(page, "one", f"messages.conversation({id!r})")
        await page.until(f"{SEQS}?.length === 1 && seen.one.value?.name === 'Trip'")
        await return_online(page, line)
        await page.until("seen.list.value.length === 1 && seen.one.value.removed && !seen.page.value.messages.length && seen.page.value.error?.code === 'forbidden'")
        await page.until(f"!(await kept())['talk {id}'] && !JSON.stringify((await kept())['list {id}']).includes('secret')")
        await launch(page, line, room)
        await page.until("seen.list.value?.length === 1")
        assert await page.value("seen.list.value[0].id") == other
        await show(page, id)
        await asyncio.sleep(A_MOMENT)
        assert not await page.value("seen.page.value?.messages.length ?? 0")
        # Added again, everything is back.
        await bob.did("changeMembers", conversation=id, add=[room.name("ana")], remove=[])
        await return_online(page, line)
        await page.until(f"seen.list.value.length === 2 && {SEQS}?.length === 1 && seen.page.value.live")
        await is_kept(page, id, 1)


async def test_the_store_is_bounded_and_has_the_newest_conversations(chromium, server, room):
    async with Line(server) as line, chromium:
        ana, bob = await room.come("ana", device="phone"), await room.come("bob")
        ids = [(await group(bob, ana, name=f"n{number}", key=f"k{number}"))["id"] for number in range(250)]
        for id in ids[40:]:
            # The newest that is not stored, and the oldest that is, have different times, of whole ms.
            if id == ids[50]:
                await asyncio.sleep(0.002)
            await say(bob, id, "x" * 100)
        page = await tab(chromium, line)
        await start_online(page, line, room)
        await page.until("seen.list.value.length === 250")
        await page.run(f"for (const id of {ids!r}) follow(id, messages.messages(id));")
        await page.until(f"{ids!r}.every((id) => seen[id].value?.live)")
        await page.until("(await keptKeys()) === '200 200'")
        await launch(page, line, room)
        await page.until("seen.list.value?.length === 200")
        assert set(await page.value("seen.list.value.map((each) => each.id)")) == set(ids[50:])
        # A conversation that is only not stored is not taken for one that the user left.
        await follow(page, "one", f"messages.conversation({ids[0]!r})")
        await asyncio.sleep(A_MOMENT)
        assert await page.value("seen.one.count") == 0
        await return_online(page, line)
        await page.until("seen.list.value.length === 250 && seen.one.value?.name === 'n0'")
        # Fewer, by their number and by their bytes.
        await start_online(page, line, room, history={"conversations": 10, "messages": 2, "bytes": 8_000})
        for text in ("one", "two", "y" * 5_000, "three"):
            await say(bob, ids[0], text)
        await watch(page, ids[0])
        await page.until(f"(await kept())['talk {ids[0]}']?.messages.map((each) => each.text).join() === 'three'")
        assert await page.value("Object.keys(await kept()).length <= 21 && JSON.stringify(await kept()).length") < 12_000


async def test_nothing_is_stored_without_history(chromium, server, room):
    async with Line(server) as line, chromium:
        id, *_ = await written(room, 3)
        page = await tab(chromium, line)
        await start_online(page, line, room, history=False)
        await watch(page, id)
        await asyncio.sleep(3 * A_MOMENT)
        assert "presence history" not in " ".join(await page.value("(await indexedDB.databases()).map((each) => each.name)"))
        # One that was stored before is left alone.
        await start_online(page, line, room)
        await watch(page, id)
        await is_kept(page, id, 3)
        await load(page, line)
        await launch(page, line, room, history=False)
        await show(page, id)
        await asyncio.sleep(A_MOMENT)
        assert await page.value("[seen.list.count, seen.page.count]") == [0, 0]
