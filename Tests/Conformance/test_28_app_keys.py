"""The app at /app by keyboard and screen reader: one tab stop for a list, names with the author, each notice once."""

import pytest

from support.app import BUBBLES, ITEM, accounts, answer, choose_item, direct, enter, friends, press, shows, title, write  # noqa: F401 (a fixture)
from support.line import Line
from support.talks import say

SHIFT = 8
HERE = "document.activeElement"


async def tree(page):
    """The accessibility tree: role and name of each node that is not ignored."""
    nodes = (await page.send("Accessibility.getFullAXTree"))["nodes"]
    return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"] and "role" in node]


async def test_messages_are_one_stop_with_arrows_and_a_menu(chromium, accounts):
    (ana, bob), (own, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, ana)
    for number in range(60):
        await say((own, client)[number % 2], id, f"message {number}")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until(f"{BUBBLES}.at(-1) === 'message 59' && {HERE}.name === 'text'")
        text = f"{HERE}.querySelector?.('.text')?.textContent"
        await page.key("Tab", modifiers=SHIFT)
        assert await page.value(text) == "message 59", "the composer is one stop from the messages"
        for key, wanted in (("ArrowUp", "message 58"), ("ArrowUp", "message 57"), ("ArrowDown", "message 58"), ("End", "message 59"), ("PageUp", "message 49")):
            await page.key(key)
            assert await page.value(text) == wanted, key
        # To the first message, which is read as the focus approaches.
        await page.key("Home")
        await page.until(f"{BUBBLES}[0] === 'message 0'")
        await page.key("Home")
        assert await page.value(text) == "message 0"
        await page.key("Tab")
        assert await page.value(f"{HERE}.name") == "text"
        # The focus returns to the same message.
        await page.key("Tab", modifiers=SHIFT)
        assert await page.value(text) == "message 0"
        # The menu is opened, traversed and closed by keyboard; the focus returns.
        await page.key("Enter")
        await page.until(f"{HERE}.closest('[role=menu]') !== null")
        assert await page.value(f"{HERE}.textContent") == "Copy"
        await page.key("ArrowDown")
        await page.key("ArrowDown")
        assert await page.value(f"{HERE}.textContent") == "Delete"
        await page.key("ArrowDown")
        assert await page.value(f"{HERE}.textContent") == "Copy"
        await page.key("Escape")
        await page.until(f"!{ITEM}")
        assert await page.value(text) == "message 0"
        await page.key("Enter")
        await choose_item(page, "Edit")
        assert await page.value(f"{HERE}.value") == "message 0"
        await page.key("Escape")
        assert await page.value(text) == "message 0"


async def test_chats_are_one_stop_with_arrows(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob", "Cy", "Dee")
    for client in clients[1:]:
        await direct(client, people[0])
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await press(page, "Chats")
        await page.until("document.querySelectorAll('.talks [data-conversation]').length === 3")
        assert await page.value("document.querySelectorAll('.talks a[tabindex=\"0\"]').length") == 1
        await page.run("document.querySelector('.talks a[tabindex=\"0\"]').focus()")
        name = f"{HERE}.querySelector('strong').textContent"
        await page.until("[...document.querySelectorAll('.talks strong')].every((each) => /^(Bob|Cy|Dee)$/.test(each.textContent))")
        order = await page.value("[...document.querySelectorAll('.talks strong')].map((each) => each.textContent)")
        for key, wanted in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowDown", 2), ("Home", 0), ("End", 2)):
            await page.key(key)
            assert await page.value(name) == order[wanted]
        await page.key("Enter")
        await title(page, order[2])
        assert await page.value(f"{HERE}.name") == "text"


async def test_people_are_one_stop_with_arrows_and_the_button_of_one(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob", "Cy", "Dee")
    await clients[0].did("addContacts", users=[each.user for each in people[1:]])
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await page.until("[...document.querySelectorAll('.talks strong')].map((each) => each.textContent).join() === 'Bob,Cy,Dee'")
        stops = "[...document.querySelectorAll('.talks :is(a, button)')].filter((each) => each.tabIndex === 0).map((each) => each.ariaLabel ?? each.querySelector('strong').textContent)"
        name, talk = await page.value(stops)
        assert talk == f"Talk to {name}"
        await page.run("document.querySelector('.talks a[tabindex=\"0\"]').focus()")
        await page.key("Home")
        await page.key("ArrowDown")
        assert await page.value(stops) == ["Cy", "Talk to Cy"]
        await page.key("Tab")
        assert await page.value(f"{HERE}.ariaLabel") == "Talk to Cy"
        await page.key("Enter")
        await title(page, "Cy")


async def test_screen_readers_get_authors_and_each_notice_once(chromium, accounts):
    people, (own, client, _) = await friends(accounts, "Ana", "Bob Ray", "Cy")
    id = (await client.did("createConversation", participants=[people[0].user, people[2].user], name="Trip"))["conversation"]["id"]
    await say(own, id, "Hello")
    await say(client, id, "Hello yourself")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until("document.querySelectorAll('li[data-message]')[1]?.ariaLabel.startsWith('Bob Ray')")
        names = [name for role, name in await tree(page) if role == "listitem"]
        assert any(name.startswith("You, Hello, ") and name.endswith(("Sent", "Delivered")) for name in names), names
        assert any(name.startswith("Bob Ray, Hello yourself, ") for name in names), names
        # The log itself is no live region: rows are also inserted above, and drawn again.
        said = "document.querySelector('.frame [role=status]')"
        assert await page.value(f"document.querySelector('[role=log]').ariaLive") == "off" and await page.value(f"{said}.textContent") == ""
        await page.run(f"globalThis.told = []; new MutationObserver(() => told.push({said}.textContent.trim())).observe({said}, {{ childList: true }})")
        await say(client, id, "Are you there?")
        await page.until("told.length === 1")
        await write(page, "Yes")
        last = await say(client, id, "Good")
        await page.until("told.length > 1")
        await client.did("editMessage", conversation=id, message=last["id"], text="Very good")
        await page.until(f"{BUBBLES}.includes('Very good')")
        assert await page.value("told") == ["Bob Ray: Are you there?", "Bob Ray: Good"]
        # Every interactive element has a name.
        unnamed = [role for role, name in await tree(page) if role in ("button", "link", "textbox", "combobox", "menuitem", "img") and not name]
        assert not unnamed


async def test_escape_closes_what_is_open_and_gives_the_focus_back(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, ana)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await page.run("[...document.querySelectorAll('button')].find((each) => each.ariaLabel === 'More').focus()")
        await page.key("Enter")
        await page.until(f"{HERE}.textContent === 'Details'")
        assert await page.value("document.querySelector('[aria-haspopup=menu][aria-expanded=true]') !== null")
        await page.key("Escape")
        await page.until(f"!{ITEM} && {HERE}.ariaLabel === 'More' && {HERE}.ariaExpanded === 'false'")
        await page.key("Enter")
        await choose_item(page, "Details")
        await page.until(f"{HERE}.textContent === 'Details' && {HERE}.localName === 'h2'")
        await page.key("Escape")
        await page.until(f"document.querySelector('.details').hidden && {HERE}.ariaLabel === 'More'")
        # From the menu itself.
        await page.key("Enter")
        await choose_item(page, "Mute")
        await shows(page, "Muted.")
        await page.key("Enter")
        await page.until(f"{ITEM}?.innerText.includes('Unmute')")


@pytest.mark.parametrize("width, shown", [(1000, ["side", "detail"]), (390, ["detail"])])
async def test_a_narrow_page_has_one_pane_and_a_way_back(chromium, accounts, width, shown):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, ana)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, width=width, height=800)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        panes = "['side', 'detail'].filter((name) => document.querySelector(`.${name}`).getClientRects().length)"
        assert await page.value(panes) == shown
        if width == 390:
            await press(page, "Back to chats")
            await title(page, "Chats")
            assert await page.value(panes) == ["side"]
            assert await page.value("document.querySelector('.rail').getBoundingClientRect().bottom <= innerHeight")
