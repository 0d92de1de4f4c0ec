"""Conversations in the app at /app, as people use them: talking, groups, without a connection."""

import pytest

from support.accounts import PASSWORD, Accounts
from support.line import Line
from support.room import Room
from test_28_app import EVERYTHING, app, choose, fill, found, press, shot, shows, title
from test_28_browser import NETWORK


@pytest.fixture
def accounts(start):
    """A server of its own: sign-ups from one address are few."""
    return Accounts(start(EVERYTHING))


async def enter(chromium, line, person, expected=NETWORK, **size):
    """A page of somebody with an account, at the people."""
    page = await app(chromium, line, expected=expected, **size)
    await title(page, "Sign in")
    await fill(page, "email", person.email)
    await fill(page, "password", PASSWORD)
    await page.key("Enter")
    await title(page, "Set up your profile")
    await press(page, "Skip profile setup")
    await title(page, "People")
    return page


async def write(page, *texts):
    for text in texts:
        await fill(page, "text", text)
        await page.key("Enter")




async def friends(accounts, *names):
    """People with accounts, and a client of the protocol for each."""
    room = Room(accounts.server)
    people = [await accounts.sign_up(displayName=name) for name in names]
    clients = [await (await room.socket()).connect(person.access) for person in people]
    return people, clients


async def stored(accounts, conversation):
    answer = await accounts.api.request(
        "GET", f"/v1/conversations/{conversation}/messages?limit=100", token=Room(accounts.server).backend)
    assert answer.status == 200, answer
    return answer.json["messages"]


async def direct(client, other):
    return (await client.did("createConversation", participants=[other.user]))["conversation"]["id"]


BUBBLES = "[...document.querySelectorAll('.messages .text')].map((each) => each.textContent)"
STATUS = "[...document.querySelectorAll('.mine .status')].at(-1)?.textContent"


async def test_two_people_talk_with_receipts_edits_and_deletes(chromium, browser, accounts):
    async with Line(accounts.server) as line, chromium, browser.session() as other:
        people = [await accounts.sign_up(displayName=name) for name in ("Ana Lovelace", "Bob Ray")]
        ana, bob = await enter(chromium, line, people[0], expected=()), await enter(other, line, people[1], expected=())
        await fill(ana, "users", people[1].user)
        await ana.key("Enter")
        await press(ana, "Talk to Bob Ray")
        await title(ana, "Bob Ray")
        await shows(ana, "Nothing has been said yet.")
        assert await ana.value("document.title") == "Bob Ray – Presence"
        await write(ana, "Hello Bob")
        # It has come to the other, who has not looked yet: counted in every screen.
        await bob.until("document.querySelector('nav .badge').textContent === '1 unread' && !document.querySelector('nav .badge').hidden")
        await ana.until(f"{STATUS} === ' · Delivered'")
        await press(bob, "Conversations1 unread")
        await title(bob, "Conversations")
        await bob.until("document.querySelector('.talks li.unread a.who')?.innerText.includes('Hello Bob')")
        await bob.until("document.querySelector('.talks presence-avatar').getAttribute('status') === 'online'")
        await shot(bob, "conversations")
        await bob.run("document.querySelector('.talks a').click()")
        await title(bob, "Ana Lovelace")
        await ana.until(f"{STATUS} === ' · Read'")
        await bob.until("document.querySelector('nav .badge').hidden")
        await fill(bob, "text", "I am writ")
        await shows(ana, "Bob Ray is typing…")
        await write(bob, "I am writing too", "Second line")
        await ana.until(f"{BUBBLES}.length === 3")
        await shot(ana, "talk")
        await press(bob, "Edit “I am writing too”")
        assert await bob.value("document.activeElement.value") == "I am writing too"
        await bob.run("document.activeElement.select()")
        await bob.type("I was writing")
        # News leave alone what is edited, and the focus.
        await write(ana, "News")
        await bob.until(f"{BUBBLES}.includes('News')")
        assert await bob.value("document.activeElement.value") == "I was writing"
        await bob.key("Enter")
        await ana.until(f"{BUBBLES}.includes('I was writing')")
        await shows(ana, "edited")
        await bob.run("globalThis.confirm = () => true")
        await press(bob, "Delete “Second line”")
        await ana.until(f"{BUBBLES}.join() === 'Hello Bob,I was writing,Message deleted,News'")
        await shot(ana, "talk-changed")
        assert not await ana.value(f"!!{found('Delete “I was writing”')}"), "only the sender deletes"
        id = await ana.value("location.hash.split('/')[2]")
        assert [each["text"] for each in await stored(accounts, id)] == ["Hello Bob", "I was writing", "", "News"]


async def test_without_a_connection_texts_wait_and_are_sent_once_when_it_is_back(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        line.cut()
        await shows(page, "No connection.")
        await write(page, "one", "two", "three")
        await page.until(f"{BUBBLES}.join() === 'one,two,three' && {STATUS} === ' · Waits for a connection'")
        await fill(page, "text", "a draft")
        await shot(page, "talk-offline")
        await page.go("about:blank")
        line.mend()
        await page.go(line.origin + f"/app#/talk/{id}")
        await page.until(f"{BUBBLES}.join() === 'one,two,three' && [' · Delivered', ' · Sent'].some((each) => {STATUS}?.startsWith(each))")
        assert await page.value("document.querySelector('[name=text]').value") == "a draft"
        assert [each["text"] for each in await stored(accounts, id)] == ["one", "two", "three"]
        # What is refused says so, and can be sent again or given up.
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
        # Who signs out takes drafts along.
        await fill(page, "text", "private")
        await press(page, "Sign out")
        await title(page, "Sign in")
        assert await page.value("Object.keys(sessionStorage)") == []


async def test_a_server_that_is_killed_meanwhile_loses_nothing(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await write(page, "before")
        await page.until(f"{STATUS} === ' · Sent'")
        accounts.server.kill()
        line.cut()
        await write(page, "meanwhile", "more")
        accounts.server.start()
        line.mend()
        await page.until(f"{BUBBLES}.length === 3 && {STATUS}?.match(/Sent|Delivered/)")
        assert [each["text"] for each in await stored(accounts, id)] == ["before", "meanwhile", "more"]


async def test_earlier_messages_are_read_and_news_do_not_move_what_is_looked_at(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=())
        id = await direct(client, ana)
        for number in range(120):
            await client.did("send", conversation=id, message={"id": f"m{number}", "text": f"message {number}"})
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until(f"{BUBBLES}.length === 50")
        log = "document.querySelector('.messages')"
        await page.until(f"{log}.scrollHeight - {log}.scrollTop - {log}.clientHeight < 5")
        await page.run(f"{log}.scrollTop = 400")
        before = await page.value(f"{log}.querySelector('[data-message=m80]').getBoundingClientRect().top")
        await press(page, "Earlier messages")
        await page.until(f"{BUBBLES}.length === 100")
        after = await page.value(f"{log}.querySelector('[data-message=m80]').getBoundingClientRect().top")
        assert abs(after - before) < 3, (before, after)
        await client.did("send", conversation=id, message={"id": "new", "text": "news"})
        await page.until(f"{found('New messages')}?.hidden === false")
        assert abs(await page.value(f"{log}.querySelector('[data-message=m80]').getBoundingClientRect().top") - before) < 3
        await shot(page, "talk-news")
        await press(page, "New messages")
        await page.until(f"{log}.scrollHeight - {log}.scrollTop - {log}.clientHeight < 5")
        await press(page, "Earlier messages")
        await page.until(f"{BUBBLES}.length === 121 && {found('Earlier messages')} === undefined")
        assert await page.value(BUBBLES) == [f"message {number}" for number in range(120)] + ["news"]


async def test_a_group_is_begun_renamed_joined_muted_archived_and_left(chromium, accounts):
    (ana, bob, cy), (_, second, third) = await friends(accounts, "Ana", "Bob Ray", "Cy Twombly")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=NETWORK)
        await fill(page, "users", bob.user)
        await page.key("Enter")
        await shows(page, "Bob Ray")
        await press(page, "Conversations")
        await title(page, "Conversations")
        await shows(page, "None yet.")
        await page.run("document.querySelector('summary').click()")
        await page.until("document.querySelector('fieldset label')?.innerText === 'Bob Ray'")
        await press(page, "Begin")
        await shows(page, "Please choose at least one person.")
        await page.run("document.querySelector('fieldset input').click()")
        await fill(page, "groupName", "Trip")
        await shot(page, "new-group")
        await press(page, "Begin")
        await title(page, "Trip")
        id = await page.value("location.hash.split('/')[2]")
        await page.run("document.querySelector('details summary').click()")
        await fill(page, "name", "Alps")
        await press(page, "Rename")
        await title(page, "Alps")
        await fill(page, "member", cy.user)
        await page.run("document.querySelector('[name=member]').form.requestSubmit()")
        await shows(page, "Cy Twombly")
        await shows(page, "3 people")
        await shot(page, "group")
        await third.did("send", conversation=id, message={"id": "c1", "text": "Hello from Cy"})
        await shows(page, "Hello from Cy")
        assert await page.value("document.querySelector('.theirs .from').textContent") == "Cy Twombly"
        plan = {"id": "f", "kind": "file", "url": "https://example.org/plan.pdf", "sizeBytes": 5}
        await third.did("send", conversation=id, message={
            "id": "c0", "text": "", "attachments": [plan], "priority": {"reason": "today"}})
        await shows(page, "Open the file")
        await shows(page, "Important: today")
        assert await page.value("document.querySelector('.files a').href") == "https://example.org/plan.pdf"
        await page.run("globalThis.confirm = () => true")
        # Its owner deletes what others wrote, and removes them.
        await press(page, "Delete “Hello from Cy”")
        await shows(page, "Message deleted")
        await press(page, "Remove Bob Ray")
        await shows(page, "2 people")
        await shows(page, "Removed")
        await page.run("const mute = document.querySelector('[name=mute]'); mute.value = 'hour'; mute.dispatchEvent(new Event('change'))")
        await shows(page, "Saved")
        await page.until("document.querySelector('[name=mute]').value === 'hour' && document.querySelector('[name=mute]').length === 4")
        await press(page, "Archive")
        await page.until(f"!!{found('Take out of the archive')}")
        await press(page, "Conversations")
        await shows(page, "None yet.")
        await press(page, "Archived (1)")
        await page.until("document.querySelector('.talks a.who').innerText.includes('muted')")
        await shot(page, "archived")
        await third.did("send", conversation=id, message={"id": "c2", "text": "Are you there?"})
        await page.until("document.querySelector('.talks .badge').textContent === '1 unread'")
        assert await page.value("document.querySelector('nav .badge').hidden"), "muted"
        await page.run("document.querySelector('.talks a').click()")
        await title(page, "Alps")
        await page.run("document.querySelector('details summary').click()")
        await press(page, "Take out of the archive")
        await page.until(f"!!{found('Archive')}")
        await press(page, "Leave the group")
        await title(page, "Conversations")
        await shows(page, "None yet.")
        left = (await third.did("getConversation", conversation=id))["conversation"]
        assert left["participants"] == [cy.user] and left["owner"] == cy.user and left["name"] == "Alps"


async def test_who_signs_out_is_asked_about_edits_and_deletions_that_wait_also_before_the_list_is_known(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob")
    id = await direct(clients[0], people[1])
    for text in ("one", "two"):
        await clients[0].did("send", conversation=id, message={"id": text, "text": text})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        # What changes a message does not go out.
        await page.run('''
            const plain = WebSocket.prototype.send;
            WebSocket.prototype.send = function (text) { if (!/"type":"(edit|delete)Message"/.test(text)) plain.call(this, text); };
            globalThis.asked = []; globalThis.confirm = (text) => (asked.push(text), false);''')
        await page.run(f"await document.querySelector('presence-app').messages.edit('{id}', 'one', 'changed')")
        await press(page, "Sign out")
        await page.until("asked.at(-1) === 'A message or change is not sent yet. Sign out and lose it?'")
        await page.run(f"await document.querySelector('presence-app').messages.delete('{id}', 'two')")
        await page.run("location.hash = '/profile'")
        await title(page, "Profile")
        await press(page, "Sign out on all devices")
        await page.until("asked.at(-1) === '2 messages or changes are not sent yet. Sign out and lose them?'")
        # Loaded again, without a socket: nothing is known of the list.
        await page.send("Page.addScriptToEvaluateOnNewDocument", source='''
            globalThis.WebSocket = class { close() {} };
            globalThis.asked = []; globalThis.confirm = (text) => (asked.push(text), asked.length > 1);''')
        await page.reload()
        await press(page, "Sign out")
        await page.until("asked.at(-1) === '2 messages or changes are not sent yet. Sign out and lose them?'")
        await title(page, "Profile")
        await press(page, "Sign out")
        await title(page, "Sign in")


async def test_who_signs_out_is_asked_about_what_is_not_sent(chromium, accounts):
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
        await page.run("globalThis.asked = []; globalThis.confirm = (text) => (asked.push(text), false)")
        await press(page, "Sign out")
        await page.until("asked.length === 1")
        assert await page.value("asked") == ["A message or change is not sent yet. Sign out and lose it?"]
        await shows(page, "Waits for a connection")
        line.mend()
        await page.until(f"{STATUS} !== ' · Waits for a connection'")
        await page.until(f"['Sent', 'Delivered'].some((each) => {STATUS}.includes(each))")
        await page.run("globalThis.library = (await import('/presence.js')).internals; globalThis.app = document.querySelector('presence-app')")
        await page.until("(await library.stored(library.queueOf(app.client.url, app.client.user))).length === 0")
        await press(page, "Sign out")
        await title(page, "Sign in")
        assert len(await page.value("asked")) == 1


async def test_screens_that_are_opened_without_a_connection_show_people_as_last_known(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob Ray")
    await clients[0].did("addContacts", users=[people[1].user])
    id = await direct(clients[0], people[1])
    await clients[1].did("send", conversation=id, message={"id": "one", "text": "Hello"})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await shows(page, "Bob Ray")
        await press(page, "Profile")
        await title(page, "Profile")
        line.cut()
        await shows(page, "No connection.")
        await press(page, "People")
        await title(page, "People")
        await shows(page, "Bob Ray")
        await shows(page, "(as last known)")
        assert not await page.value("document.querySelector('main').innerText.includes('Nobody yet')")
        await press(page, "Conversations1 unread")
        await page.until("document.querySelector('.talks strong')?.textContent === 'Bob Ray'")
        await page.run("document.querySelector('.talks a').click()")
        await title(page, "Bob Ray")
        # Nobody sees whom another knew.
        await press(page, "Sign out")
        await title(page, "Sign in")
        assert await page.value("document.querySelector('presence-app').seen.size") == 0


async def test_what_attachments_and_texts_contain_is_shown_and_never_run(chromium, accounts):
    """The server takes https alone: here it is the page that hears something else."""
    people, clients = await friends(accounts, "<img src=x onerror=alert(1)>", "שלום <b>דנה</b>")
    id = await direct(clients[0], people[1])
    await clients[1].did("send", conversation=id, message={"id": "one", "text": "<script>alert(1)</script> אבג"})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0], expected=(*NETWORK, "ERR_"))
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "שלום <b>דנה</b>")
        await shows(page, "<script>alert(1)</script>")
        assert await page.value("document.querySelectorAll('main b, main script').length") == 0
        hostile = [{"id": "a", "kind": "file", "url": "javascript:alert(1)"}, {"id": "b", "kind": "image", "url": "data:text/html,x"},
                   {"id": "c", "kind": "image", "url": "https://127.0.0.1:1/none.jpg", "thumbnailURL": "http://127.0.0.1:1/other.jpg"}]
        await page.run(f"""
            const {{ messageRow }} = await import("/app/message.js");
            const app = document.querySelector("presence-app");
            const known = {{ name: (user) => user }};
            const row = messageRow({{ app, conversation: {id!r}, known }});
            row.show({{ id: "x", seq: 9, from: "eve", at: 1, text: "שלום", attachments: {hostile} }}, {{ isDirect: false, isOwner: false, isLive: true }});
            // Beside the app's own list, which is laid out anew with each event.
            const list = document.createElement("ol");
            list.append(row.node);
            document.querySelector("main").prepend(list);
            globalThis.row = row.node;""")
        assert await page.value("[...row.querySelectorAll('a')].map((each) => each.href)") == ["https://127.0.0.1:1/none.jpg"]
        # A picture that cannot be had says what it is, and nothing was asked of another address.
        await page.until("row.querySelector('a').textContent === 'Open the image'")
        assert not [url for _, url in page.requests if "other.jpg" in url]
        assert await page.value("getComputedStyle(row.querySelector('.text')).direction") == "rtl"


async def test_a_file_is_attached(chromium, start, tmp_path):
    accounts = Accounts(start(EVERYTHING | {"attachments.enabled": True, "attachments.maxBytes": 100_000}))
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        plan, large = tmp_path / "plan.txt", tmp_path / "large.bin"
        plan.write_text("At noon")
        large.write_bytes(bytes(100_001))
        await choose(page, large)
        await shows(page, "The file is too large.")
        await choose(page, plan)
        await page.until("document.querySelectorAll('.files li').length === 1")
        await page.until(f"{STATUS}?.match(/Sent|Delivered/)")
        attachment, = (await stored(accounts, id))[0]["attachments"]
        assert attachment["kind"] == "file" and attachment["sizeBytes"] == 7
        answer = await accounts.api.request("GET", attachment["url"][attachment["url"].index("/v1/"):])
        assert answer.status == 200 and answer.body == "At noon"
        await shot(page, "attachment")
