"""presence-messages.js in Chromium: conversations and their messages, in several tabs, over losses."""

import asyncio

import pytest

from support.browser import Failed
from support.library import TEXTS, follow, stored, tab, talking, watch, write
from support.line import Line
from support.patience import eventually
from support.room import Room
from support.talks import group, say, talk

SETTINGS = {"linger": 5_000}


# The list


async def test_the_list_is_live_newest_first_and_counts_what_is_unread(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        assert await page.value("seen.list.value") == []
        bob, cy = await room.come("bob"), await room.come("cy")
        ana = await room.come("ana", device="phone")
        one, two = (await talk(bob, ana))["id"], (await group(cy, ana, name="Trip"))["id"]
        await say(bob, one, "first")
        await say(cy, two, "second")
        await say(bob, one, "third")
        shown = await page.until("seen.list.value.length === 2 && seen.list.value[0].last === 2 && seen.list.value")
        assert [(each["id"], each["unread"], each["lastMessage"]["text"], each["live"]) for each in shown] == [
            (one, 2, "third", True), (two, 1, "second", True)]
        await say(cy, two, "fourth")
        await page.until(f"seen.list.value[0].id === {two!r} && seen.list.value[0].unread === 2")
        await page.run(f"await messages.read({two!r})")
        await page.until("seen.list.value[0].unread === 0")
        await eventually(lambda: [each for each in page.sent if each["type"] == "mark" and each.get("read")], "marked")
        await page.run(f"await messages.read({two!r})")
        await page.run(f"await messages.mute({two!r}, 60000)")
        await page.run(f"await messages.archive({one!r})")
        await page.until("seen.list.value[0].muted && seen.list.value[0].mutedUntil > client.now() && seen.list.value[1].archived")
        await page.run(f"await messages.mute({two!r}, false)")
        await page.until("!seen.list.value[0].muted")
        marks = [each for each in page.sent if each["type"] == "mark" and each.get("read")]
        assert len(marks) == 1, "read once"


async def test_groups_are_made_renamed_joined_and_left(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        bob, cy = room.name("bob"), room.name("cy")
        made = await page.value(f"await messages.create([{bob!r}], {{ name: 'Trip' }})")
        id = made["id"]
        assert made["kind"] == "group" and made["name"] == "Trip" and made["unread"] == 0
        await page.run(f"await messages.rename({id!r}, 'Alps'); await messages.changeMembers({id!r}, {{ add: [{cy!r}] }})")
        await page.until("seen.list.value[0].name === 'Alps' && seen.list.value[0].participants.length === 3")
        with pytest.raises(Failed) as failed:
            await page.run(f"await messages.changeMembers({id!r}, {{ add: [''] }})")
        assert failed.value.args[0]["name"] == "PresenceError"
        await follow(page, "one", f"messages.conversation({id!r})")
        await page.until("seen.one.value?.name === 'Alps'")
        await watch(page, id)
        await page.run(f"await messages.leave({id!r})")
        await page.until("seen.list.value.length === 0 && seen.one.value.removed && seen.page.value.error?.code === 'forbidden'")
        # Added again by another user, everything is back.
        other = await room.come("bob")
        assert (await other.did("changeMembers", conversation=id, add=[room.name("ana")]))["type"] == "ok"
        await page.until("seen.list.value.length === 1 && seen.page.value.live && !seen.page.value.error")


# Messages


async def test_two_people_talk_and_see_delivered_and_read(chromium, browser, server, room):
    async with Line(server) as line, chromium, browser.session() as other:
        ana = await talking(chromium, line, room)
        bob = await talking(other, line, room, "bob")
        id = (await ana.value(f"await messages.create([{room.name('bob')!r}])"))["id"]
        await bob.until("seen.list.value.length === 1")
        for page in (ana, bob):
            await watch(page, id)
        echo = await ana.value(f"await messages.send({id!r}, 'Hello Bob')")
        assert echo["status"] == "sending" and echo["text"] == "Hello Bob" and "seq" not in echo
        await bob.until(TEXTS + " === 'Hello Bob'")
        await ana.until("seen.page.value.messages[0].status === 'delivered' && !seen.page.value.messages[0].readBy.length")
        await bob.run(f"await messages.read({id!r})")
        await ana.until(f"seen.page.value.messages[0].status === 'read' && seen.page.value.messages[0].readBy[0] === {room.name('bob')!r}")
        assert await ana.value("seen.page.value.messages[0].id") == echo["id"]
        await write(bob, id, "Hello Ana", "How are you?")
        await ana.until(TEXTS + " === 'Hello Bob,Hello Ana,How are you?'")
        await ana.until("seen.list.value[0].unread === 2")
        message = await bob.value("seen.page.value.messages[1].id")
        await bob.run(f"await messages.edit({id!r}, {message!r}, 'Hi Ana')")
        await bob.run(f"await messages.delete({id!r}, seen.page.value.messages[2].id)")
        await ana.until(TEXTS + " === 'Hello Bob,Hi Ana,' && seen.page.value.messages[2].deletedAt > 0")
        assert await ana.value("seen.page.value.messages[1].edits[0].text") == "Hello Ana"
        assert await ana.value("seen.page.value.messages[1].status ?? null") is None
        assert [each["text"] for each in await stored(room, id)] == ["Hello Bob", "Hi Ana", ""]


async def test_older_pages_are_read_and_joined_without_holes(chromium, server, room):
    async with Line(server) as line, chromium:
        ana, bob = await room.come("ana", device="phone"), await room.come("bob")
        id = (await talk(ana, bob))["id"]
        written = [await say(bob, id, f"m{number}") for number in range(1, 121)]
        page = await talking(chromium, line, room)
        await watch(page, id)
        numbers = "seen.page.value.messages.map((each) => each.seq)"
        assert await page.value(numbers) == list(range(71, 121)) and await page.value("seen.page.value.hasEarlier")
        # A change of a message that has not arrived yet neither makes a hole nor is lost.
        await bob.did("editMessage", conversation=id, message=written[59]["id"], text="edited")
        await bob.did("editMessage", conversation=id, message=written[99]["id"], text="edited too")
        await page.until("seen.page.value.messages.some((each) => each.text === 'edited too')")
        assert await page.value(numbers) == list(range(71, 121))
        assert await page.value(f"await messages.earlier({id!r})")
        await page.until("seen.page.value.messages[0].seq === 21")
        assert await page.value("seen.page.value.messages[39].text") == "edited"
        assert not await page.value(f"await messages.earlier({id!r})")
        await page.until("!seen.page.value.hasEarlier")
        assert await page.value(numbers) == list(range(1, 121))
        assert not await page.value(f"await messages.earlier({id!r})")


async def test_after_a_loss_only_news_come(chromium, server, room):
    async with Line(server) as line, chromium:
        ana, bob = await room.come("ana", device="phone"), await room.come("bob")
        id = (await talk(ana, bob))["id"]
        written = [await say(bob, id, f"m{number}") for number in range(1, 6)]
        page = await talking(chromium, line, room)
        await watch(page, id)
        await say(bob, id, "m6")
        await page.until("seen.page.value.messages.length === 6")
        heard = [each for each in page.received if each["type"] == "message"][-1]["conversationVersion"]
        line.cut()
        await page.until("!seen.page.value.live && !seen.list.value[0].live")
        await say(bob, id, "m7")
        await bob.did("editMessage", conversation=id, message=written[1]["id"], text="edited")
        line.mend()
        await page.run("client.reconnect()")
        await page.until(f"seen.page.value.live && {TEXTS} === 'm1,edited,m3,m4,m5,m6,m7' && seen.list.value[0].unread === 7")
        asked = [each for each in page.sent if each["type"] == "subscribe" and isinstance((each.get("conversations") or [0])[0], dict)]
        assert asked[-1]["conversations"] == [{"id": id, "after": 6, "messagesVersion": heard}]
        answer = [each for each in page.received if each["type"] == "subscribed" and each.get("conversations", [{}])[0].get("messages")][-1]
        assert [each["seq"] for each in answer["conversations"][0]["messages"]] in ([2, 7], [7, 2])


async def test_a_reset_leaves_no_hole_and_events_wait_for_the_answer(chromium, server):
    """With a socket that sends what servers rarely send: a long answer in parts, an event before it, and a reset."""
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run("""
            const message = (seq, version = seq) => ({ id: `m${seq}`, seq, version, from: "bob", at: seq, text: `m${seq}` });
            const part = (messages, messagesVersion, more) => ({ conversation: "c", version: 1, typing: [], messagesVersion, messages, first: 1, last: 102, ...more });
            globalThis.asked = [];
            globalThis.WebSocket = class {
                static OPEN = 1;
                readyState = 1;
                constructor() {
                    globalThis.hear = (message) => this.onmessage?.({ data: JSON.stringify(message) });
                    queueMicrotask(() => {
                        this.onopen?.();
                        hear({ type: "connected", id: 1, user: "ana", session: "s", serverTime: Date.now(), status: { status: "auto" } });
                    });
                }
                send(text) {
                    const { type, id, conversationList, conversations } = JSON.parse(text);
                    const answer = (more) => hear({ type: "subscribed", id, users: [], ...more });
                    if (type !== "subscribe") return;
                    if (conversationList) return answer({ conversationList: [] });
                    const cursor = conversations?.[0];
                    if (!cursor?.id) return answer({ conversations: [{ conversation: "c", version: 1, typing: [] }] });
                    asked.push(cursor);
                    if (asked.length === 1) return answer({ conversations: [part([message(1), message(2), message(3)], 3)] });
                    answer({ conversations: [part([message(100), message(101)], 110, { reset: true })], more: true });
                    hear({ type: "message", conversation: "c", message: message(100, 111), conversationVersion: 111, at: 1 });
                    answer({ conversations: [part([message(102)], 110)] });
                    hear({ type: "message", conversation: "c", message: { ...message(103, 112) }, conversationVersion: 112, at: 1 });
                }
                close() {}
            };
            open("token", { share: false });
            const { PresenceMessages } = await import("/presence-messages.js");
            globalThis.messages = new PresenceMessages(client, { user: "ana" });
            follow("page", messages.messages("c"));""")
        seqs = "seen.page.value?.messages.map((each) => each.seq).join()"
        await page.until(f"{seqs} === '1,2,3'")
        await page.run("hear({ type: 'messagesReset', conversation: 'c' })")
        await page.until(f"{seqs} === '100,101,102,103' && seen.page.value.live && seen.page.value.hasEarlier")
        assert await page.value("seen.page.value.messages[0].version") == 111
        assert await page.value("asked") == [{"id": "c"}, {"id": "c"}]
        await page.run("""
            asked.length = 1;
            hear({ type: "subscribed", users: [], conversations: [{ conversation: "c", version: 1, typing: [], messagesVersion: 999, messages: [] }] });""")
        assert await page.value("asked[1]") == {"id": "c", "after": 103, "messagesVersion": 112}, "another tab knows more"


async def test_a_conversation_open_for_days_keeps_the_newest_messages_and_reads_others_again(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run("""
            const message = (seq) => ({ id: `m${seq}`, seq, version: seq, from: "bob", at: seq, text: `m${seq}` });
            const range = (first, last) => Array.from({ length: last - first + 1 }, (_, n) => message(first + n));
            globalThis.WebSocket = class {
                static OPEN = 1;
                readyState = 1;
                constructor() {
                    const hear = (message) => this.onmessage?.({ data: JSON.stringify(message) });
                    globalThis.come = (first, last) => {
                        for (const each of range(first, last)) hear({ type: "message", conversation: "c", message: each, conversationVersion: each.seq, at: 1 });
                    };
                    this.hear = hear;
                    queueMicrotask(() => {
                        this.onopen?.();
                        hear({ type: "connected", id: 1, user: "ana", session: "s", serverTime: Date.now(), status: { status: "auto" } });
                    });
                }
                send(text) {
                    const { type, id, conversationList, conversations, before, limit } = JSON.parse(text);
                    const answer = (more) => this.hear({ type: "subscribed", id, users: [], ...more });
                    if (type === "getMessages") return this.hear({ type: "messages", id, messages: range(before - limit, before - 1), first: 1 });
                    if (type !== "subscribe") return;
                    if (conversationList) return answer({ conversationList: [] });
                    answer({ conversations: [{ conversation: "c", version: 1, typing: [], messagesVersion: 100, messages: range(51, 100), first: 1, last: 100 }] });
                }
                close() {}
            };
            open("token", { share: false });
            const { PresenceMessages } = await import("/presence-messages.js");
            globalThis.messages = new PresenceMessages(client, { user: "ana" });
            follow("page", messages.messages("c"));""")
        shown = "seen.page.value?.messages.map((each) => each.seq)"
        await page.until(f"{shown}?.length === 50")
        await page.run("come(101, 3000)")
        await page.until("seen.page.value.messages.at(-1).seq === 3000")
        kept = await page.value(shown)
        assert 900 <= len(kept) <= 1000 and kept == list(range(3001 - len(kept), 3001)), (len(kept), kept[:3])
        # Dropped messages are read again, without a hole, and stay while they are visible.
        assert await page.value("seen.page.value.hasEarlier && await messages.earlier('c')")
        await page.run("come(3001, 3010)")
        await page.until("seen.page.value.messages.at(-1).seq === 3010")
        assert await page.value(shown) == list(range(kept[0] - 50, 3011))


async def test_a_tab_that_asks_for_everything_at_once_has_it_though_another_has_the_socket(chromium, server, room):
    async with Line(server) as line, chromium:
        bob = await room.come("bob")
        await bob.did("createConversation", participants=[room.name("ana")])
        await talking(chromium, line, room)
        for _ in range(3):
            page = await tab(chromium, line)
            await page.run(f"""
                const {{ PresenceMessages }} = await import("/presence-messages.js");
                open({room.token("ana")!r});
                globalThis.messages = new PresenceMessages(client, {{ user: {room.name("ana")!r} }});
                follow("list", messages.conversations());""")
            await page.until("seen.list.value?.length === 1 && seen.list.value[0].live")


async def test_several_tabs_have_the_same_messages_and_none_misses_any(chromium, server, room):
    async with Line(server) as line, chromium:
        bob = await room.come("bob")
        ana = await room.come("ana", device="phone")
        id = (await talk(bob, ana))["id"]
        first, second = await talking(chromium, line, room), await talking(chromium, line, room)
        await watch(first, id)
        # The second tab requests while messages arrive: the first must not lose those in the answer.
        writing = asyncio.ensure_future(asyncio.gather(*[bob.begin("send", conversation=id, message={"id": f"x{n}", "text": f"m{n}"}) for n in range(40)]))
        for _ in range(5):
            await second.run(f"""
                const stop = new AbortController();
                for await (const page of messages.messages({id!r}, {{ signal: stop.signal }})) if (page.live) stop.abort();""")
        await watch(second, id)
        await writing
        expected = sorted(f"m{n}" for n in range(40))
        for page in (first, second):
            await page.until("seen.page.value.messages.length === 40")
            assert sorted(await page.value("seen.page.value.messages.map((each) => each.text)")) == expected
        await write(second, id, "from two")
        for page in (first, second):
            await page.until("seen.page.value.messages.at(-1).text === 'from two' && seen.page.value.messages.at(-1).status !== 'sending'")
        # One tab closes: the other continues.
        await second.close()
        await say(bob, id, "still here")
        await first.until("seen.page.value.messages.at(-1).text === 'still here'")
        assert len(first.sockets) == 1


# Limits


async def test_a_list_that_is_too_long_for_one_message_is_asked_for_as_a_whole(chromium, start):
    server = start({"max_message_bytes": 4096})
    room = Room(server)
    bob = await room.come("bob")
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        ids = [(await bob.did("createConversation", participants=[room.name("ana"), "cy"], name=f"n{n}", key=f"k{n}"))["conversation"]["id"]
               for n in range(150)]
        await page.until("seen.list.value.length === 150 && seen.list.value.every((each) => each.live)")
        line.cut()
        await page.until("client.connection.state !== 'live'")
        await bob.did("changeMembers", conversation=ids[3], add=[], remove=[room.name("ana")])
        await bob.did("renameConversation", conversation=ids[5], name="Alps")
        line.mend()
        await page.until("client.connection.state === 'live' && seen.list.value.every((each) => each.live)")
        await page.until("seen.list.value.length === 149 && seen.list.value.some((each) => each.name === 'Alps')")
        assert ids[3] not in await page.value("seen.list.value.map((each) => each.id)")
