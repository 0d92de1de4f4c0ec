"""Conversations in the app at /app without a connection: pending messages, the display, and what a sign-out would
lose."""

from support.app import BUBBLES, STATUS, accounts, answer, direct, enter, fill, friends, press, settings, shot, shows, sign_out, stored, title, write  # noqa: F401 (a fixture)
from support.line import Line
from support.patience import eventually
from support.talks import info, say


DRAFTS = "Object.keys(localStorage).filter((key) => key.startsWith('presence.draft'))"


async def test_badge_and_list_recover_after_a_connection_whose_list_was_rejected(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, ana)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        await press(page, "Chats")
        await page.until("document.querySelector('.talks a.who')?.innerText.includes('Bob Ray')")
        await page.run("""
            const { PresenceClient } = await import("/presence.js");
            const plain = PresenceClient.prototype.request;
            globalThis.isWell = false;
            PresenceClient.prototype.request = function (type, members) {
                if (isWell || !members?.conversationList) return plain.call(this, type, members);
                return Promise.reject(Object.assign(new Error("no list today"), { code: "internal" }));
            };""")
        line.cut()
        await shows(page, "No connection.")
        line.mend()
        await shows(page, "An error occurred: no list today")
        await page.run("globalThis.isWell = true")
        line.cut()
        await shows(page, "No connection.")
        line.mend()
        await say(client, id, "Are you there?")
        await page.until("document.querySelector('nav .badge').textContent === '1 unread'")
        await page.until("document.querySelector('.talks a.who')?.innerText.includes('Are you there?')")
        assert not await page.value("document.body.innerText.includes('no list today')")


async def cut_off(chromium, line, ana, client):
    """Ana's page with the conversation with Bob, without a connection."""
    page = await enter(chromium, line, ana)
    id = await direct(client, ana)
    await page.run(f"location.hash = '/talk/{id}'")
    await title(page, "Bob Ray")
    line.cut()
    await shows(page, "No connection.")
    return page, id


async def test_without_a_connection_texts_wait_and_are_sent_once_when_it_is_back(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page, id = await cut_off(chromium, line, ana, client)
        await write(page, "one", "two", "three")
        await page.until(f"{BUBBLES}.join() === 'one,two,three' && {STATUS} === 'Waits for a connection'")
        await fill(page, "text", "a draft")
        await shot(page, "talk-offline")
        await page.go("about:blank")
        line.mend()
        await page.go(line.origin + f"/app#/talk/{id}")
        await page.until(f"{BUBBLES}.join() === 'one,two,three' && ['Delivered', 'Sent'].some((each) => {STATUS}?.startsWith(each))")
        assert await page.value("document.querySelector('[name=text]').value") == "a draft"
        assert [each["text"] for each in await stored(accounts, id)] == ["one", "two", "three"]
        # A rejected message is marked, and can be sent again or discarded.
        await client.did("block", users=[ana.user])
        await write(page, "refused", "given up")
        await shows(page, "Not sent: you cannot write here")
        await page.until("document.querySelectorAll('.failed').length === 2")
        await shot(page, "talk-failed")
        await client.did("unblock", users=[ana.user])
        await press(page, "Try again")
        await page.until("document.querySelectorAll('.failed').length === 1")
        await press(page, "Discard")
        await page.until(f"{BUBBLES}.join() === 'one,two,three,refused' && {STATUS}?.match(/Sent|Delivered/)")
        # A message may be shown as sent before the device has removed it from what is unsent.
        await page.until("await document.querySelector('presence-app').messages.unsent() === 0")
        # Signing out removes drafts.
        await fill(page, "text", "private")
        await sign_out(page)
        await title(page, "Sign in")
        await page.until(f"{DRAFTS}.length === 0")


async def test_a_message_that_came_before_ones_own_waiting_text_counts_as_read(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page, id = await cut_off(chromium, line, ana, client)
        await write(page, "mine")
        await say(client, id, "yours")
        line.mend()
        await page.until(f"{BUBBLES}.join() === 'yours,mine'")

        async def is_read():
            return any(each["user"] == ana.user and each.get("read", 0) >= 1 for each in (await info(client, id))["members"])

        await eventually(is_read, "Ana has read it")


async def test_a_server_that_is_killed_meanwhile_loses_nothing(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await write(page, "before")
        await page.until(f"{STATUS} === 'Sent'")
        accounts.server.kill()
        line.cut()
        await write(page, "meanwhile", "more")
        accounts.server.start()
        line.mend()
        await page.until(f"{BUBBLES}.length === 3 && {STATUS}?.match(/Sent|Delivered/)")
        assert [each["text"] for each in await stored(accounts, id)] == ["before", "meanwhile", "more"]


async def test_signing_out_asks_about_pending_edits_and_deletions_also_before_the_list_is_known(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob")
    id = await direct(clients[0], people[1])
    for text in ("one", "two"):
        await clients[0].did("send", conversation=id, message={"id": text, "text": text})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        # Changes of messages are not sent.
        await page.run('''
            const plain = WebSocket.prototype.send;
            WebSocket.prototype.send = function (text) { if (!/"type":"(edit|delete)Message"/.test(text)) plain.call(this, text); }; ''')
        await page.run(f"await document.querySelector('presence-app').messages.edit('{id}', 'one', 'changed')")
        await sign_out(page)
        await answer(page, "A message or change is not sent yet. Sign out and lose it?", "Cancel")
        await page.run(f"await document.querySelector('presence-app').messages.delete('{id}', 'two')")
        await page.run("location.hash = '/devices'")
        await title(page, "Devices")
        await press(page, "Sign out on all devices")
        await answer(page, "2 messages or changes are not sent yet. Sign out and lose them?", "Cancel")
        # Loaded again, without a socket: the list is unknown.
        await page.send("Page.addScriptToEvaluateOnNewDocument", source='''
            globalThis.WebSocket = class { close() {} };''')
        await page.reload()
        await sign_out(page)
        await answer(page, "2 messages or changes are not sent yet. Sign out and lose them?", "Cancel")
        await title(page, "Settings")
        await sign_out(page)
        await answer(page, "2 messages or changes are not sent yet. Sign out and lose them?", "Sign out")
        await title(page, "Sign in")


async def test_signing_out_asks_about_unsent_messages(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob")
    id = await direct(clients[0], people[1])
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob")
        line.cut()
        await shows(page, "No connection.")
        await write(page, "Wait for me")
        await shows(page, "Waits for a connection")
        await sign_out(page)
        await answer(page, "A message or change is not sent yet. Sign out and lose it?", "Cancel")
        await page.run("history.back()")
        await shows(page, "Waits for a connection")
        line.mend()
        await page.until(f"{STATUS} !== 'Waits for a connection'")
        await page.until(f"['Sent', 'Delivered'].some((each) => {STATUS}.includes(each))")
        await page.run("globalThis.library = (await import('/presence.js')).internals; globalThis.app = document.querySelector('presence-app')")
        await page.until("(await library.stored(library.queueOf(app.client.url, app.client.user))).length === 0")
        await sign_out(page)
        await title(page, "Sign in")


async def test_screens_that_are_opened_without_a_connection_show_people_as_last_known(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob Ray")
    await clients[0].did("addContacts", users=[people[1].user])
    id = await direct(clients[0], people[1])
    await clients[1].did("send", conversation=id, message={"id": "one", "text": "Hello"})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await shows(page, "Bob Ray")
        await settings(page, "Profile")
        line.cut()
        await shows(page, "No connection.")
        await press(page, "People")
        await title(page, "People")
        await shows(page, "Bob Ray")
        await shows(page, "(as last known)")
        assert not await page.value("document.querySelector('main').innerText.includes('Nobody yet')")
        await press(page, "Chats1 unread")
        await page.until("document.querySelector('.talks strong')?.textContent === 'Bob Ray'")
        await page.run("document.querySelector('.talks a').click()")
        await title(page, "Bob Ray")
        # A user does not see the people of another one.
        await sign_out(page)
        await title(page, "Sign in")
        assert await page.value("document.querySelector('presence-app').memory") is None


async def test_a_text_that_is_sent_while_the_page_is_loaded_again_is_sent_or_still_there(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await fill(page, "text", "not lost")
        loads = page.loads
        await page.run("document.querySelector('.composer').requestSubmit(); setTimeout(() => location.reload())")
        await eventually(lambda: page.loads > loads, "the page is loaded again")
        await title(page, "Bob Ray")
        await page.until(f"{BUBBLES}.includes('not lost') || document.querySelector('[name=text]').value === 'not lost'")
        # A stored message is no draft any more.
        await write(page, "another")
        await page.until(f"{DRAFTS}.length === 0")
        await page.until(f"{BUBBLES}.includes('another')")
