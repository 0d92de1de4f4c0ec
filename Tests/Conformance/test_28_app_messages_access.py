"""Accessibility of conversations in the app: undisturbing updates, the keyboard, labels, small screens, both schemes."""

import asyncio

import pytest

from support.app import BUBBLES, STATUS, accounts, checked, details, direct, enter, fill, friends, press, shot, shows, title, write  # noqa: F401 (a fixture)
from support.line import Line


SHIFT = 8


async def test_new_messages_move_neither_the_focus_nor_the_typed_text(chromium, accounts):
    (ana, bob, cy), (_, second, third) = await friends(accounts, "Ana", "Bob Ray", "Cy Twombly")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=())
        one, two = await direct(second, ana), await direct(third, ana)
        await second.did("send", conversation=one, message={"id": "a", "text": "first"})
        # Lists are in the order of milliseconds.
        await asyncio.sleep(0.01)
        await third.did("send", conversation=two, message={"id": "b", "text": "second"})
        await press(page, "Chats2 unread")
        await page.until("document.querySelectorAll('.talks li.unread').length === 2")
        links = "[...document.querySelectorAll('.talks li')].map((each) => each.dataset.conversation)"
        assert await page.value(links) == [two, one]
        for number, (focused, sender, talk, order) in enumerate(((one, second, one, [one, two]), (two, second, one, [one, two]), (one, third, two, [two, one]))):
            await page.run(f"document.querySelector('[data-conversation=\"{focused}\"] a').focus()")
            await sender.did("send", conversation=talk, message={"id": f"n{number}", "text": "news"})
            await page.until(f"{links}.join() === {','.join(order)!r}")
            assert await page.value("document.activeElement.closest('li')?.dataset.conversation") == focused
        await page.run(f"location.hash = '/talk/{one}'")
        await title(page, "Bob Ray")
        await fill(page, "text", "half a sen")
        await page.run("document.activeElement.setSelectionRange(4, 4)")
        await second.did("send", conversation=one, message={"id": "z", "text": "more"})
        await page.until(f"{BUBBLES}.includes('more')")
        assert await page.value("[document.activeElement.value, document.activeElement.selectionStart]") == ["half a sen", 4]
        # It is shown again after another screen.
        await press(page, "People")
        await title(page, "People")
        await page.run("history.back()")
        await title(page, "Bob Ray")
        assert await page.value("document.querySelector('[name=text]').value") == "half a sen"


async def test_it_is_usable_by_keyboard_alone(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=())
        id = await direct(client, ana)
        await client.did("send", conversation=id, message={"id": "a", "text": "Hello"})

        async def tab_to(condition):
            for _ in range(25):
                await page.key("Tab")
                if await page.value(condition):
                    return
            raise AssertionError(condition)

        await page.run("document.activeElement.blur()")
        await tab_to("document.activeElement.textContent.startsWith('Chats')")
        await page.key("Enter")
        await title(page, "Chats")
        await page.until("!!document.querySelector('.talks a')")
        await tab_to("document.activeElement.matches('.talks a')")
        await page.key("Enter")
        await title(page, "Bob Ray")
        # The text field has the focus when a conversation is opened; the messages are one stop before it.
        assert await page.value("document.activeElement.name") == "text"
        await page.until(f"{BUBBLES}.join() === 'Hello'")
        await page.key("Tab", modifiers=SHIFT)
        assert await page.value("document.activeElement.dataset.message") == "a"
        await page.key("Tab")
        assert await page.value("document.activeElement.name") == "text"
        await page.type("By keyboard")
        await page.key("Enter")
        await page.until(f"{BUBBLES}.join() === 'Hello,By keyboard'")
        assert await page.value("document.activeElement.name") == "text"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_everything_has_a_label_fits_360_pixels_and_can_be_read(chromium, accounts, dark):
    name = "A name that is quite long, as names may be, really"
    (ana, bob), (_, client) = await friends(accounts, "Ana", name)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, width=360, height=740, dark=dark)
        id = await direct(client, ana)
        made = await client.did("createConversation", participants=[ana.user], name="The group of those who go to the mountains")
        group = made["conversation"]["id"]
        for number, text in enumerate(("Hello", "x" * 120, "Several lines\nof text, with one that is rather long, so that it needs more than one")):
            for talk in (id, group):
                await client.did("send", conversation=talk, message={"id": f"m{number}", "text": text})
        await fill(page, "users", bob.user)
        await page.key("Enter")
        await page.until("!!document.querySelector('.people li')")
        await page.run("location.hash = '/conversations'")
        await page.until("document.querySelectorAll('.talks li.unread').length === 2")
        await checked(page, "conversations", dark)
        await page.run("location.hash = '/new'")
        await page.until("!!document.querySelector('fieldset label')")
        await checked(page, "new-group", dark)
        for place, name in ((id, "talk"), (group, "group")):
            await page.run(f"location.hash = '/talk/{place}'")
            await page.until(f"{BUBBLES}.length === 3")
            await write(page, "My own answer", "And one more, which is a little longer than the first one was")
            await page.until(f"{BUBBLES}.length === 5 && {STATUS}?.match(/Sent|Delivered/)")
            await checked(page, name, dark)
            await details(page)
            await checked(page, f"{name}-details", dark)
            await page.key("Escape")
            await page.until("document.querySelector('.details').hidden && document.activeElement.ariaLabel === 'More'")
        line.cut()
        await shows(page, "No connection.")
        await write(page, "Offline")
        await shows(page, "Waits for a connection")
        await page.run("document.activeElement.blur()")
        await checked(page, "talk-offline", dark)
        await page.resize(width=1000, height=900, dark=dark)
        await shot(page, f"talk-1000-{'dark' if dark else 'light'}")
        line.mend()
        await page.run("location.hash = '/conversations'")
        await page.until("document.querySelector('.banner').textContent === ''")
        await shot(page, f"conversations-1000-{'dark' if dark else 'light'}")
