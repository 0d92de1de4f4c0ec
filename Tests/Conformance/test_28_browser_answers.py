"""presence-messages.js in Chromium against a socket of the test: answers that arrive late, never, or for another user."""

import pytest

from support.browser import Failed
from support.library import MODULE, follow, tab
from support.line import Line

SOCKET = """
    Object.assign(globalThis, { asked: [], user: "ana", silent: [], wrong: {}, refusal: undefined, version: 1 });
    const conversation = (version, more) => ({
        id: "c", version, kind: "direct", participants: ["ana", "bob"], members: [], createdAt: 1, first: 1, last: 0, unread: 0, ...more });
    globalThis.event = (version, more) => hear({ type: "conversation", conversation: conversation(version, more), at: 1 });
    // The answer to a request that was left unanswered.
    globalThis.late = (type, more) => hear({ type: "ok", id: asked.findLast((each) => each.type === type).id, ...more });
    globalThis.message = ({ message }, more) => ({ ...message, seq: 1, version: 1, from: user, at: 1, ...more });
    globalThis.WebSocket = class {
        static OPEN = 1;
        readyState = 1;
        constructor() {
            globalThis.hear = (said) => this.onmessage?.({ data: JSON.stringify(said) });
            globalThis.lose = (code) => this.onclose?.({ code, reason: "" });
            queueMicrotask(() => this.onopen?.());
        }
        send(text) {
            const request = JSON.parse(text);
            const { type, id } = request;
            asked.push(request);
            if (silent.includes(type)) return;
            if (wrong[type]) return hear({ type: "error", id, code: wrong[type], message: "not now" });
            if (type === "connect" && refusal) {
                hear({ type: "error", id, code: refusal, message: "the connection is refused" });
                return lose(4006);
            }
            if (type === "connect") hear({ type: "connected", id, user, session: "s", serverTime: Date.now(), status: { status: "auto" } });
            else if (type === "subscribe") {
                const list = request.conversationList && { conversationList: [conversation(version)] };
                const page = { messagesVersion: 1, messages: [], first: 1, last: 0 };
                const parts = request.conversations?.map((each) => ({ conversation: "c", version: 1, typing: [], ...(each.id && page) }));
                hear({ type: "subscribed", id, users: [], ...list, ...(parts && { conversations: parts }) });
            }
            else if (type === "send") hear({ type: "sent", id, conversation: "c", message: message(request) });
            else hear({ type: "ok", id });
        }
        close() {}
    };
    const { PresenceMessages } = await import("/presence-messages.js");
    globalThis.begin = () => {
        open("token", { share: false });
        globalThis.messages = new PresenceMessages(client, { user: "ana" });
        follow("list", messages.conversations());
    };
    globalThis.requests = (type) => asked.filter((each) => each.type === type);
    globalThis.left = (whose = "ana") => presence.internals.stored(presence.internals.queueOf(client.url, whose));
    begin();
"""


async def talking(chromium, line):
    page = await tab(chromium, line)
    await page.run(SOCKET)
    await page.until("seen.list.value?.[0]?.live")
    return page


async def test_the_answer_to_a_setting_does_not_undo_later_events(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        await page.run("silent = ['conversationSettings']; await messages.mute('c')")
        await page.until("seen.list.value[0].muted && requests('conversationSettings').length === 1")
        # It was muted here, and another device unmuted it: the answer arrives last.
        await page.run("event(2, { muted: true }); event(3, {}); late('conversationSettings')")
        await page.until("(await left()).length === 0 && !seen.list.value[0].muted")
        # Nothing else has changed: it is effective from the answer on, also before its event.
        await page.run("await messages.archive('c')")
        await page.until("requests('conversationSettings').length === 2")
        await page.run("late('conversationSettings')")
        await page.until("(await left()).length === 0")
        assert await page.value("seen.list.value[0].archived")


async def test_visible_messages_are_marked_read_even_before_the_list_has_them(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        await follow(page, "page", "messages.messages('c')")
        await page.until("seen.page.value?.live")
        await page.run('''hear({
            type: "message", conversation: "c", conversationVersion: 2, at: 1,
            message: { id: "m1", seq: 1, version: 2, from: "bob", at: 1, text: "Hello" } });''')
        await page.until("seen.page.value.messages.length === 1")
        await page.run("await messages.read('c')")
        await page.until("requests('mark').some((each) => each.read === 1)")


async def test_a_rejected_connection_rejects_no_waiting_message(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        await page.run("silent = ['send']; await messages.send('c', 'one')")
        await page.until("requests('send').length === 1")
        await page.run("refusal = 'forbidden'; lose(4005)")
        await page.until("client.connection.state === 'refused'")
        # After the pause that follows an error.
        await page.run("await new Promise((resolve) => setTimeout(resolve, 700))")
        assert await page.value("seen.list.value[0].lastMessage.status") == "sending"
        assert await page.value("(await left())[0].error ?? null") is None
        await page.run("refusal = undefined; silent = []; client.reconnect()")
        await page.until("(await left()).length === 0 && seen.list.value[0].lastMessage.status === 'sent'")
        assert await page.value("requests('send').length") == 2


async def test_a_list_that_was_under_way_when_the_connection_was_refused_comes_with_the_next(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        await page.run("""
            silent = ["subscribe"];
            globalThis.other = new presence.PresenceClient({ token: "token", share: false });
            follow("others", other.connections());
            const { PresenceMessages } = await import("/presence-messages.js");
            follow("other", new PresenceMessages(other, { user: "ana" }).conversations()).catch((error) => (seen.other.error = error.code));""")
        await page.until("requests('subscribe').length === 2")
        await page.run("refusal = 'forbidden'; lose(4005)")
        await page.until("other.connection.state === 'refused'")
        await page.run("refusal = undefined; silent = []; other.reconnect()")
        await page.until("seen.other.value?.[0]?.live && !seen.other.error")


async def test_a_users_messages_are_not_sent_with_another_users_token(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        # One request is pending, one waits behind it, when the tokens change to another user's.
        await page.run("silent = ['send']; await messages.send('c', 'one'); await messages.send('c', 'two')")
        await page.until("requests('send').length === 1")
        await page.run("user = 'bob'; silent = []; lose(4003)")
        await page.until("client.connection.state === 'refused'")
        await page.run("client.reconnect()")
        await page.until("client.connection.state === 'live' && client.own.user === 'bob'")
        # The next page, which has his token and their name.
        await page.reload()
        await page.run(MODULE + SOCKET.replace('user: "ana"', 'user: "bob"', 1))
        await page.until("client.own.user === 'bob' && seen.list.value?.[0]?.live && seen.list.value[0].unsent === 2")
        await page.run("await messages.send('c', 'three')")
        await page.run("await new Promise((resolve) => setTimeout(resolve, 700))")
        assert await page.value("requests('send')") == []
        # With the user's own tokens it is sent.
        await page.run("client.close(); user = 'ana'; begin()")
        await page.until("(await left()).length === 0")
        assert await page.value("requests('send').map((each) => each.message.text)") == ["one", "two", "three"]


async def test_private_state_is_not_shown_to_the_next_user(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(SOCKET.replace("begin();", "open(() => 'token', { share: false });"))
        await page.until("client.connection.state === 'live'")
        await follow(page, "cy", "client.person('cy')")
        await page.until("requests('subscribe').length === 1")
        await page.run("""
            hear({ type: "ownAccount", version: 9, account: { user: "ana", email: "ana@example.org" } });
            hear({ type: "ownVisibility", visibility: { lastSeen: "nobody" }, contacts: 3, blocks: 2 });
            hear({ type: "presence", user: "cy", presence: { version: 7, status: "busy", text: "For Ana only" } });""")
        await page.until("client.own.account.email && client.own.blocks === 2 && seen.cy.value?.presence.text")
        # With the same user all is kept.
        await page.run("lose(4005)")
        await page.until("requests('connect').length === 2 && client.connection.state === 'live'")
        assert await page.value("client.own.account.email && requests('subscribe').at(-1).known.cy.presence") == 7
        await page.run("user = 'bob'; lose(4003)")
        await page.until("client.own.user === 'bob' && requests('subscribe').length === 3")
        own = await page.value("client.own")
        assert not {"account", "accountVersion", "visibility", "contacts", "blocks"} & set(own), own
        assert await page.value("requests('subscribe').at(-1).known") == {}
        # And later events are accepted, whatever their version.
        await page.run("""
            hear({ type: "ownAccount", version: 1, account: { user: "bob", email: "bob@example.org" } });
            hear({ type: "presence", user: "cy", presence: { version: 2, status: "away" } });""")
        await page.until("client.own.account?.user === 'bob' && seen.cy.value.presence.status === 'away'")


async def test_a_list_that_failed_once_comes_with_the_next_connection(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run("globalThis.failed = ''")
        await page.run(SOCKET.replace("begin();", """
            wrong = { subscribe: "internal" };
            open(() => "token", { share: false });
            globalThis.messages = new PresenceMessages(client, { user: "ana" });
            follow("list", messages.conversations()).catch((error) => (failed = error.code));"""))
        await page.until("failed === 'internal'")
        await page.run("wrong = {}; lose(4005)")
        await page.until("requests('connect').length === 2 && client.connection.state === 'live'")
        await follow(page, "again", "messages.conversations()")
        await page.until("seen.again.value?.[0]?.live")


async def test_a_message_that_the_client_has_no_room_for_waits(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        await page.run("""
            silent = ["getMessages"];
            for (let count = 0; count < 1000; count++) client.request("getMessages", { conversation: "c" });
            globalThis.refused = await client.request("getMessages").catch((error) => error);
            await messages.send("c", "Hello");""")
        refused = await page.value("refused")
        assert refused["code"] == "too_many" and refused["retryAfter"] > 0
        # After the pause that follows an error.
        await page.run("await new Promise((resolve) => setTimeout(resolve, 700))")
        assert await page.value("(await left())[0].error ?? null") is None
        assert await page.value("seen.list.value[0].lastMessage.status") == "sending"
        # Each answer makes room for the next request, which is then sent.
        await page.run("for (const { type, id } of asked) if (type === 'getMessages') hear({ type: 'ok', id });")
        await page.until("(await left()).length === 0 && seen.list.value[0].lastMessage.status === 'sent'")


async def test_a_request_that_waits_is_not_made_by_another_user(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(SOCKET.replace("begin();", "open(() => 'token', { share: false, timeout: 3000 });"))
        await page.until("client.connection.state === 'live'")
        await page.run("""
            silent = ["renameConversation"];
            globalThis.renaming = client.request("renameConversation", { conversation: "c", name: "Alps" }).catch((error) => error);
            user = "bob";
            lose(4003);""")
        await page.until("client.connection.state === 'live' && client.own.user === 'bob'")
        assert await page.value("(await renaming).outcomeUnknown")
        assert await page.value("requests('renameConversation').length") == 1


FAIL = """
    globalThis.put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = function () { this.transaction.abort(); };
"""


async def test_answered_messages_leave_the_store_before_anything_else_is_sent(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        await page.run("silent = ['editMessage']; await messages.edit('c', 'm', 'one'); await messages.edit('c', 'm', 'two')")
        await page.until("requests('editMessage').length === 1")
        await page.run(FAIL + "silent = []; late('editMessage')")
        await page.run("await new Promise((resolve) => setTimeout(resolve, 700))")
        assert await page.value("[requests('editMessage').length, (await left()).length]") == [1, 2]
        with pytest.raises(Failed):
            await page.run("await messages.edit('c', 'm', 'three')")
        # The store works again: sending continues by itself.
        await page.run("IDBObjectStore.prototype.put = put")
        await page.until("(await left()).length === 0")
        assert await page.value("requests('editMessage').map((each) => each.text)") == ["one", "two"]


async def test_a_change_answered_after_the_close_is_not_sent_again(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        await page.run("silent = ['editMessage']; await messages.edit('c', 'm', 'one')")
        await page.until("requests('editMessage').length === 1")
        await page.run("messages.close(); late('editMessage')")
        await page.until("(await left()).length === 0")


async def test_a_conversation_is_muted_for_a_time_that_the_server_takes(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        longest = 366 * 86_400_000
        for duration in ("Infinity", "NaN", "1e300", f"{longest + 1}"):
            with pytest.raises(Failed) as failed:
                await page.run(f"await messages.mute('c', {duration})")
            assert (failed.value.args[0]["code"], failed.value.args[0]["field"]) == ("validation_failed", "muteFor")
        for duration in (longest, 0.5, 0, -1, "true", "false"):
            await page.run(f"await messages.mute('c', {duration})")
        await page.until("(await left()).length === 0")
        said = await page.value("requests('conversationSettings').map(({ muted, muteFor }) => [muted, muteFor ?? null])")
        assert said == [[True, longest], [True, 1], [False, None], [False, None], [True, None], [False, None]]


async def test_a_burst_of_resets_is_asked_about_once(chromium, server):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line)
        await follow(page, "page", "messages.messages('c')")
        await page.until("seen.page.value?.live")
        await page.run("""
            globalThis.pages = () => requests("subscribe").filter(({ conversations }) => conversations?.[0].id === "c").length;
            globalThis.before = pages();
            silent = ["subscribe"];
            globalThis.reset = () => hear({ type: "messagesReset", conversation: "c", conversationVersion: 1, at: 1 });
            globalThis.answer = () => hear({ type: "subscribed", id: asked.findLast(({ type }) => type === "subscribe").id, users: [],
                conversations: [{ conversation: "c", version: 1, typing: [], messagesVersion: 1, messages: [], first: 1, last: 0 }] });
            for (let count = 0; count < 600; count++) reset();""")
        await page.until("pages() === before + 1")
        await page.run("answer()")
        await page.until("seen.page.value.live")
        assert await page.value("pages() - before") == 1
        # A reset after the answer is a new matter.
        await page.run("reset()")
        await page.until("pages() === before + 2")
        await page.run("answer(); reset()")
        await page.until("pages() === before + 3")
