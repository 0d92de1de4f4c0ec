"""Conversations in the app at /app: talking, reading back, groups."""

from support.app import BUBBLES, ITEM, STATUS, accounts, act, answer, details, direct, enter, fill, found, friends, press, shot, shows, stored, title, write  # noqa: F401 (a fixture)
from support.browser import NETWORK
from support.line import Line
from support.talks import say


async def test_two_people_talk_with_receipts_edits_and_deletes(chromium, browser, accounts):
    async with Line(accounts.server) as line, chromium, browser.session() as other:
        people = [await accounts.sign_up(displayName=name) for name in ("Ana Lovelace", "Bob Ray")]
        ana, bob = await enter(chromium, line, people[0], expected=()), await enter(other, line, people[1], expected=())
        await fill(ana, "users", people[1].user)
        await ana.key("Enter")
        await press(ana, "Talk to Bob Ray")
        await title(ana, "Bob Ray")
        assert await ana.value("document.activeElement.ariaLabel") == "Message to Bob Ray", "somebody who opens it can write"
        await shows(ana, "Nothing has been said yet.")
        assert await ana.value("document.title") == "Bob Ray – Presence"
        await write(ana, "Hello Bob")
        # It has been delivered to the other user, who has not looked yet: counted on every screen.
        await bob.until("document.querySelector('nav .badge').textContent === '1 unread' && !document.querySelector('nav .badge').hidden")
        await ana.until(f"{STATUS} === 'Delivered'")
        await press(bob, "Chats1 unread")
        await title(bob, "Chats")
        await bob.until("document.querySelector('.talks li.unread a.who')?.innerText.includes('Hello Bob')")
        await bob.until("document.querySelector('.talks presence-avatar').getAttribute('status') === 'online'")
        await shot(bob, "conversations")
        await bob.run("document.querySelector('.talks a').click()")
        await title(bob, "Ana Lovelace")
        await ana.until(f"{STATUS} === 'Read'")
        await bob.until("document.querySelector('nav .badge').hidden")
        await fill(bob, "text", "I am writ")
        await ana.until("document.querySelector('.typing').textContent === 'Bob Ray is typing…'")
        await write(bob, "I am writing too", "Second line")
        await ana.until(f"{BUBBLES}.length === 3")
        await shot(ana, "talk")
        await act(bob, "Edit", "I am writing too")
        assert await bob.value("document.activeElement.value") == "I am writing too"
        await bob.run("document.activeElement.select()")
        await bob.type("I was writing")
        # New messages do not disturb an edit or the focus.
        await write(ana, "News")
        await bob.until(f"{BUBBLES}.includes('News')")
        assert await bob.value("document.activeElement.value") == "I was writing"
        await bob.key("Enter")
        await ana.until(f"{BUBBLES}.includes('I was writing')")
        await shows(ana, "edited")
        await act(bob, "Delete", "Second line")
        await answer(bob, "Delete this message for everybody?", "Cancel")
        assert await bob.value(f"{BUBBLES}.includes('Second line')")
        await act(bob, "Delete", "Second line")
        await answer(bob, "Delete this message for everybody?", "Delete")
        await ana.until(f"{BUBBLES}.join() === 'Hello Bob,I was writing,Message deleted,News'")
        await shot(ana, "talk-changed")
        await ana.run("[...document.querySelectorAll('li[data-message]')].find((each) => each.querySelector('.text').textContent === 'I was writing').focus()")
        await ana.key("Enter")
        await ana.until(f"!!{ITEM}")
        assert await ana.value(f"{ITEM}.innerText.trim()") == "Copy\nReport", "only the sender deletes"
        await ana.key("Escape")
        id = await ana.value("location.hash.split('/')[2]")
        assert [each["text"] for each in await stored(accounts, id)] == ["Hello Bob", "I was writing", "", "News"]


async def test_earlier_messages_are_read_and_new_ones_do_not_move_the_view(chromium, accounts):
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
        # Messages above are read in time.
        await page.until(f"{BUBBLES}.length === 100")
        after = await page.value(f"{log}.querySelector('[data-message=m80]').getBoundingClientRect().top")
        assert abs(after - before) < 3, (before, after)
        await client.did("send", conversation=id, message={"id": "new", "text": "news"})
        await page.until(f"{found('New messages')}?.hidden === false")
        assert abs(await page.value(f"{log}.querySelector('[data-message=m80]').getBoundingClientRect().top") - before) < 3
        await shot(page, "talk-news")
        await press(page, "New messages")
        await page.until(f"{log}.scrollHeight - {log}.scrollTop - {log}.clientHeight < 5")
        # The page has only the rows around the visible ones.
        for count in (50, 100, 101):
            await page.until(f"{BUBBLES}.length === {count}")
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
        await press(page, "Chats")
        await title(page, "Chats")
        await shows(page, "None yet.")
        await press(page, "New group")
        await title(page, "New group")
        await page.until("document.querySelector('fieldset label .who')?.innerText.startsWith('Bob Ray')")
        await press(page, "Create")
        await shows(page, "Please choose at least one person.")
        await page.run("document.querySelector('fieldset input').click()")
        await fill(page, "groupName", "Trip")
        await shot(page, "new-group")
        await press(page, "Create")
        await title(page, "Trip")
        id = await page.value("location.hash.split('/')[2]")
        await details(page)
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
        await shows(page, "plan.pdf")
        assert await page.value("document.querySelector('.files .file-size').textContent") == "1 kB"
        await shows(page, "Important: today")
        assert await page.value("document.querySelector('.files a').href") == "https://example.org/plan.pdf"
        # Its owner deletes others' messages, and removes them.
        await act(page, "Delete", "Hello from Cy")
        await answer(page, "Delete this message for everybody?", "Delete")
        await shows(page, "Message deleted")
        await press(page, "Remove Bob Ray")
        await shows(page, "2 people")
        await shows(page, "Removed")
        await page.run("const mute = document.querySelector('[name=mute]'); mute.value = 'hour'; mute.dispatchEvent(new Event('change'))")
        await shows(page, "Saved")
        await page.until("document.querySelector('[name=mute]').value === 'hour' && document.querySelector('[name=mute]').length === 4")
        await press(page, "Archive")
        await page.until(f"!!{found('Take out of the archive')}")
        await press(page, "Chats")
        await shows(page, "None yet.")
        await press(page, "Archived (1)")
        await page.until("document.querySelector('.talks a.who').innerText.includes('muted')")
        await shot(page, "archived")
        await third.did("send", conversation=id, message={"id": "c2", "text": "Are you there?"})
        await page.until("document.querySelector('.talks .badge').textContent === '1 unread'")
        assert await page.value("document.querySelector('nav .badge').hidden"), "muted"
        await page.run("document.querySelector('.talks a').click()")
        await title(page, "Alps")
        await details(page)
        await press(page, "Take out of the archive")
        await page.until(f"!!{found('Archive')}")
        await press(page, "Leave the group")
        await answer(page, "Leave this group?", "Leave")
        await title(page, "Chats")
        await shows(page, "None yet.")
        left = (await third.did("getConversation", conversation=id))["conversation"]
        assert left["participants"] == [cy.user] and left["owner"] == cy.user and left["name"] == "Alps"


async def test_a_view_at_the_end_stays_there_when_the_page_gets_narrow_and_a_text_is_edited(chromium, accounts):
    (ana, bob), (own, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, ana)
    for number in range(20):
        await say(client, id, f"{number}: " + "words that fill a line " * 8)
    await own.did("mark", conversation=id, read=20)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await page.until(f"{BUBBLES}.length === 20")
        end = "(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 2)(document.querySelector('.messages'))"
        await page.until(end)
        await page.resize(width=360, height=740)
        await page.until(f"document.documentElement.clientWidth <= 360 && {end}")
        await write(page, "mine")
        await page.until(f"{BUBBLES}.length === 21")
        await act(page, "Edit", "mine")
        await page.until("(({ bottom }) => bottom <= document.querySelector('.messages').getBoundingClientRect().bottom)(document.querySelector('.editing').getBoundingClientRect())")
        await page.key("Escape")
        # A user who scrolled up stays there: at the top, so that the wide page, which is shorter, does not show all of it.
        await page.until("!document.querySelector('.editing')")
        drawn = "await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);"
        # Also if a size changes before the page is notified.
        await page.run(drawn + "const log = document.querySelector('.messages'); "
                       "log.firstChild.style.minHeight = `${log.scrollHeight + 9}px`; log.scrollTop = 0;" + drawn)
        assert not await page.run(f"return {end}")
        await page.resize(width=1000, height=900)
        await page.until("document.documentElement.clientWidth > 900")
        await page.run(drawn)
        await page.until(f"!({end})")
