"""People in the app at /app: connecting, leaving and typing, over a lost connection, and before they are known."""

from support.app import (  # noqa: F401 (a fixture)
    REFUSED, accounts, answer, app, enter, fill, press, settings, settled, shot, shows, sign_out, title)
from support.line import Line
from support.room import Room


async def test_people_come_and_go_and_see_each_other_type(chromium, accounts, browser):
    async with Line(accounts.server) as line, chromium, browser.session() as other:
        ana = await app(chromium, line, expected=())
        ana_id = await settled(ana, accounts)
        bob = await app(other, line, expected=())
        bob_id = await settled(bob, accounts, "Bob Ray")
        await fill(ana, "users", "two words")
        await ana.key("Enter")
        await shows(ana, "Please enter an id")
        # Likely first attempts.
        for text in ("bob@example.org", "Bob", "u-7hq2cdefgh"):
            await fill(ana, "users", text)
            assert "Nobody has this id." not in await ana.value("document.body.innerText")
            await ana.key("Enter")
            await shows(ana, "Nobody has this id.")
        assert await ana.value("document.querySelectorAll('.people li').length") == 0
        # Without a clipboard, the page would select the id for copying by keyboard.
        await bob.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => (globalThis.copied = text) }, configurable: true })")
        await press(bob, "Copy your id")
        await shows(bob, "Copied")
        assert await bob.value("copied") == bob_id
        await bob.run("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        await press(bob, "Copy your id")
        await bob.until(f"getSelection().toString() === {bob_id!r}")
        await fill(ana, "users", bob_id)
        await ana.key("Enter")
        await shows(ana, "Bob Ray")
        await ana.until("document.querySelector('.people presence-avatar').getAttribute('status') === 'online'")
        assert await ana.value("document.querySelector('.people presence-avatar').textContent") == "BR"
        await settings(bob, "Status")
        await bob.run("document.querySelector('[name=status]').value = 'busy'")
        await fill(bob, "text", "In a meeting")
        await press(bob, "Set status")
        await shows(ana, "Busy · In a meeting")
        await shot(ana, "people")
        # A conversation, in which each sees the other typing.
        await press(ana, "Talk to Bob Ray")
        await title(ana, "Bob Ray")
        await bob.go(await ana.value("location.href"))
        await title(bob, "Ana Lovelace")
        await fill(bob, "text", "I think")
        await ana.until("document.querySelector('.typing').textContent === 'Bob Ray is typing…'")
        await shot(ana, "typing")
        await fill(bob, "text", "")
        await ana.until("document.querySelector('.typing').textContent === ''")
        await fill(ana, "text", "Do you?")
        await bob.until("document.querySelector('.typing').textContent === 'Ana Lovelace is typing…'")
        # Leaving the page ends it.
        await press(ana, "People")
        await bob.until("document.querySelector('.typing').textContent === ''")
        # A user who signs out is shown offline.
        await sign_out(bob)
        await title(bob, "Sign in")
        await shows(ana, "last seen just now")
        await shot(ana, "people-offline")
        await ana.run("document.querySelector('[data-user] a').click()")
        await title(ana, "Person")
        # The undo button stays until this test has used it.
        await ana.run("const plain = setTimeout; globalThis.setTimeout = (act, ms, ...rest) => (ms === 8_000 ? 0 : plain(act, ms, ...rest))")
        await press(ana, "Remove Bob Ray")
        await shows(ana, "Nobody yet.")
        # A slip is undone.
        await press(ana, "Undo")
        await ana.until("!!document.querySelector('.people [data-user]')")
        await press(ana, "Remove Bob Ray")
        await shows(ana, "Nobody yet.")


async def test_a_lost_connection_is_told_and_the_page_goes_on_afterwards(chromium, accounts):
    person = await accounts.sign_up(displayName="Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line)
        await settled(page, accounts)
        await fill(page, "users", person.user)
        await page.key("Enter")
        await shows(page, "Bob Ray")
        line.cut()
        await shows(page, "No connection.")
        await shows(page, "(as last known)")
        await shot(page, "people-lost")
        line.mend()
        await page.until("document.querySelector('.banner').textContent === ''")
        await page.until("!document.body.innerText.includes('(as last known)')")


async def test_lists_have_a_shape_until_they_are_known(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line)
        await settled(page, accounts)
        # The page's messages to the server wait, as on a slow network.
        await page.send("Page.addScriptToEvaluateOnNewDocument", source="""
            globalThis.held = [];
            const { send } = WebSocket.prototype;
            WebSocket.prototype.send = function (text) { held ? held.push([this, text]) : send.call(this, text); };
            globalThis.release = () => {
                const all = held;
                held = null;
                for (const [socket, text] of all) send.call(socket, text);
            };""")
        # Nothing from before is there either.
        await page.run("""
            document.querySelector("presence-app").memory.close();
            await (await import("/presence.js")).internals.stored("presence app", () => null);""")
        await page.reload()
        for name in ("People", "Chats"):
            await press(page, name)
            await title(page, name)
            await page.until("document.querySelectorAll('.skeleton').length === 3", f"{name} have a shape")
        await page.run("release()")
        await shows(page, "None yet.")
        assert not await page.value("document.querySelector('.skeleton')")
        await press(page, "People")
        await shows(page, "Nobody yet.")
        assert not await page.value("document.querySelector('.skeleton')")


FOUND = "document.querySelector('.found li')"


async def look_for(page, name):
    await fill(page, "wanted", name)
    await page.key("Enter")


async def test_a_person_is_added_by_username(chromium, accounts):
    ana = await accounts.sign_up(displayName="Ana Lovelace", username="ana.l")
    bob = await accounts.sign_up(displayName="Bob Ray", username="Bob.Ray")
    shy = await accounts.sign_up(displayName="Shy", username="shy")
    room = Room(accounts.server)
    client = await room.come("shy", token=shy.access)
    await client.did("setVisibility", visibility={"presence": "contacts"})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await press(page, "People")
        await title(page, "People")
        # Slips have a sentence each, and nothing is added by them.
        await look_for(page, "two words")
        await shows(page, "Please enter a username: 3 to 30 letters, digits, dots and underscores.")
        await look_for(page, "nobody.x")
        await shows(page, "Nobody can be found as @nobody.x.")
        await look_for(page, "ANA.L")
        await shows(page, "This is you.")
        assert not await page.value(f"!!{FOUND}")
        # Another text takes the person away again.
        await look_for(page, "bob.ray")
        await page.until(f"{FOUND}?.innerText.includes('@Bob.Ray')")
        await fill(page, "wanted", "bo")
        await page.until(f"!{FOUND}")
        # As people write it. The person is shown first, and then added from the keyboard.
        await look_for(page, "@BOB.ray")
        await page.until(f"{FOUND}?.dataset.found === {bob.user!r}")
        assert await page.value(f"{FOUND}.querySelector('strong').textContent") == "Bob Ray"
        assert await page.value(f"{FOUND}.querySelector('presence-avatar').textContent") == "BR"
        await shot(page, "people-found")
        await page.until("document.activeElement.ariaLabel === 'Add Bob Ray to people'")
        await page.key("Enter")
        await page.until(f"!!document.querySelector('.people [data-user=\"{bob.user}\"]') && !{FOUND}")
        assert await page.value("document.querySelector('[name=wanted]').value") == ""
        # A user who shows nothing to strangers has only the name that was entered.
        await look_for(page, "shy")
        await page.until(f"{FOUND}?.querySelector('strong').textContent === '@shy'")
        # The id works as before.
        await fill(page, "users", shy.user)
        await page.key("Enter")
        await shows(page, "Nobody has this id.")
        # A user who hides from look-ups is not found; the id leads to them again once they show their presence.
        await client.did("setVisibility", visibility={"findable": "nobody", "presence": "everyone"})
        await look_for(page, "shy")
        await shows(page, "Nobody can be found as @shy.")
        await fill(page, "users", shy.user)
        await page.key("Enter")
        await page.until(f"!!document.querySelector('.people [data-user=\"{shy.user}\"]')")


async def test_a_link_with_a_username_leads_to_its_owner(chromium, accounts):
    ana = await accounts.sign_up(displayName="Ana Lovelace", username="ana.l")
    await accounts.sign_up(displayName="Bob Ray", username="bob.ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await page.run("location.hash = '/add/nobody.x'")
        await shows(page, "Nobody has this link any more.")
        await page.run("location.hash = '/add/Ana.L'")
        await shows(page, "This is your own link")
        await page.run("location.hash = '/add/BOB.ray'")
        await answer(page, "Start a conversation with Bob Ray?", "Start")
        await title(page, "Bob Ray")
