"""The app at /app in two tabs, without a connection, with pictures of other hosts, and on small screens."""

import pytest

from support import pictures
from support.app import BUBBLES, STATUS, accounts, act, answer, app, details, direct, enter, friends, press, shot, shows, title, write  # noqa: F401 (a fixture)
from support.line import Line
from support.patience import eventually


async def test_a_second_tab_has_the_same_conversations(chromium, accounts):
    people, clients = await friends(accounts, "Ana Lovelace", "Bob Ray")
    id = await direct(clients[1], people[0])
    await clients[1].did("send", conversation=id, message={"id": "one", "text": "Hello Ana"})
    async with Line(accounts.server) as line, chromium:
        first = await enter(chromium, line, people[0])
        await first.until("document.querySelector('nav .badge').textContent === '1 unread'")
        # Each of them starts while another has the socket.
        tabs = [first] + [await app(chromium, line) for _ in range(2)]
        for page in tabs:
            await press(page, "Chats1 unread")
            await page.until("document.querySelector('.talks li.unread a.who')?.innerText.includes('Hello Ana')")
        second = tabs[1]
        await second.run("document.querySelector('.talks a').click()")
        await title(second, "Bob Ray")
        for page in tabs:
            await page.until("document.querySelector('nav .badge').hidden")
        await write(second, "Hello Bob")
        await second.until(f"{STATUS}?.match(/Sent|Delivered|Read/)")
        # Once more, after the tab with the socket was closed and when it is opened again.
        await first.reload()
        await press(first, "Chats")
        await first.until("document.querySelector('.talks a.who')?.innerText.includes('Hello Bob')")
        assert sum(bool(page.sockets) for page in tabs) >= 1


async def test_a_question_of_one_tab_stops_no_other(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob")
    id = await direct(clients[0], people[1])
    async with Line(accounts.server) as line, chromium:
        first = await enter(chromium, line, people[0])
        await first.run(f"location.hash = '/talk/{id}'")
        await title(first, "Bob")
        await write(first, "one")
        await first.until(f"{STATUS}?.match(/Sent|Delivered/)")
        second = await app(chromium, line)
        await second.run(f"location.hash = '/talk/{id}'")
        await title(second, "Bob")
        await act(first, "Delete", "one")
        await shows(first, "Delete this message for everybody?")
        assert not first.dialogs
        await clients[1].did("send", conversation=id, message={"id": "two", "text": "two"})
        for page in (first, second):
            await page.until(f"{BUBBLES}.join() === 'one,two'")
        await shot(first, "question")
        await first.key("Escape")
        await first.until("!document.querySelector('dialog')")
        await first.until("document.activeElement.querySelector('.text')?.textContent === 'one'")
        await act(first, "Delete", "one")
        await answer(first, "Delete this message for everybody?", "Delete")
        await second.until(f"{BUBBLES}.join() === 'Message deleted,two'")
        # It is no longer anywhere, so it is not reported to have moved.
        await first.until("document.querySelector('.mine .status') === null")


async def test_a_wait_is_counted_and_ended_by_hand(chromium, accounts):
    people, _ = await friends(accounts, "Ana")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await page.run("Math.random = () => 1000")
        line.cut()
        await page.until("document.querySelector('.banner').innerText.match(/No connection.*Next try in \\d{3,} s/s)")
        await shot(page, "waiting")
        line.mend()
        await press(page, "Try now")
        await page.until("document.querySelector('.banner').textContent === ''")


async def test_pictures_of_other_hosts_are_loaded_when_they_are_asked_for(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob Ray", "Cy")
    beacon = "https://localhost:1/beacon"
    await clients[1].did("updateProfile", changes={"photoURL": f"{beacon}.jpg".replace("https", "HTTPS")})
    answered = await accounts.api.request("PUT", "/v1/me/photo", pictures.jpeg(pictures.scene(200, 300)), token=people[2].access)
    assert answered.status == 200, answered
    talks = [await direct(clients[0], other) for other in people[1:]]
    await clients[1].did("send", conversation=talks[0], message={
        "id": "a", "text": "look", "attachments": [{"id": "x", "kind": "image", "sizeBytes": 5, "url": f"{beacon}-2.jpg", "thumbnailURL": f"{beacon}-3.jpg"}]})
    await clients[2].did("send", conversation=talks[1], message={"id": "b", "text": "hello"})
    asked = lambda: [url for _, url in page.requests if "beacon" in url]  # noqa: E731
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await page.run("location.hash = '/conversations'")
        await page.until("document.querySelectorAll('.talks li[data-conversation]').length === 2")
        # The server's own picture is loaded automatically: higher than wide, but still in its circle.
        await page.until("document.querySelector('.talks img')?.naturalHeight > 0")
        sizes = await page.value("(() => { const { width, height } = document.querySelector('.talks img').getBoundingClientRect(); return [width, height]; })()")
        assert sizes == [44, 44]
        await shot(page, "portrait")
        show = "[...document.querySelectorAll('button')].find((each) => each.ariaLabel === 'Show the picture of Bob Ray, from localhost:1')"
        await page.until(f"{show}?.textContent === 'BR'")
        await page.run(f"location.hash = '/talk/{talks[0]}'")
        await shows(page, "look")
        await page.until(f"!!{show}")
        await shot(page, "foreign")
        assert not asked()
        await press(page, "Show the picture from localhost:1")
        await eventually(lambda: f"{beacon}-3.jpg" in asked(), "the picture is asked for")
        assert f"{beacon}.jpg" not in asked()
        await page.run(f"{show}.click()")
        await eventually(lambda: f"{beacon}.jpg" in asked(), "the picture is asked for")


@pytest.mark.parametrize("width, height", [(740, 360), (360, 400), (360, 740), (1366, 768)])
async def test_the_text_being_written_is_visible_on_every_screen(chromium, accounts, width, height):
    people, clients = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(clients[0], people[1])
    for number in range(30):
        await clients[1].did("send", conversation=id, message={"id": f"m{number}", "text": f"message {number}"})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0], width=width, height=height)
        await page.run(f"location.hash = '/talk/{id}'")
        await shows(page, "message 29")
        await shot(page, f"talk-{width}x{height}")
        bottom = "document.querySelector('.composer').getBoundingClientRect().bottom"
        await page.until(f"{bottom} <= innerHeight")
        assert await page.value("document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth")
        assert await page.value("document.querySelector('.messages').clientHeight") >= 60
        await details(page)
        await page.until(f"{bottom} <= innerHeight")
        await shot(page, f"talk-{width}x{height}-details")


async def test_a_composition_is_not_sent(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob")
    id = await direct(clients[0], people[1])
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob")
        # Chromium's order, and Safari's: there the key event follows the end of the composition, and only its number
        # identifies it.
        for event in ("{ isComposing: true, keyCode: 229 }", "{ isComposing: false, keyCode: 229 }"):
            await page.run(f"""
                const input = document.querySelector("[name=text]");
                input.focus();
                input.value = "にほん";
                input.dispatchEvent(new InputEvent("input", {{ bubbles: true }}));
                input.dispatchEvent(new KeyboardEvent("keydown", {{ key: "Enter", bubbles: true, cancelable: true, ...{event} }}));""")
            assert await page.value("document.querySelector('[name=text]').value") == "にほん"
        await page.key("Enter")
        await page.until(f"{BUBBLES}.join() === 'にほん'")
        await act(page, "Edit", "にほん")
        await page.run("""
            for (const key of ["Enter", "Escape"]) {
                document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, keyCode: 229 }));
            }""")
        assert await page.value("!!document.querySelector('.editing')")
        await page.key("Escape")
        await page.until("!document.querySelector('.editing')")


async def test_a_message_changes_no_row_but_its_own(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob")
    id = await direct(clients[0], people[1])
    for number in range(20):
        await clients[number % 2].did("send", conversation=id, message={"id": f"m{number}", "text": f"👩‍👩‍👧‍👦{number}"})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until(f"{BUBBLES}.length === 20 && {STATUS}?.match(/Sent|Delivered/)")
        # Bob's rows have his name once it is known.
        await page.until("document.querySelectorAll('.bubble > .said')[1]?.textContent === 'Bob: '")
        await page.run("""
            globalThis.changed = new Set();
            const seen = new MutationObserver((all) => all.forEach(({ target }) => {
                const row = (target.closest ? target : target.parentElement).closest("li[data-message]");
                if (row) changed.add(row.dataset.message);
            }));
            seen.observe(document.querySelector(".messages"), { subtree: true, childList: true, characterData: true, attributes: true });""")
        await clients[1].did("send", conversation=id, message={"id": "new", "text": "new"})
        await page.until(f"{BUBBLES}.at(-1) === 'new'")
        assert await page.value("[...changed].filter((each) => each !== 'new')") == []
        # The author of a message is shown not only by side and colour, and no label has half a character.
        assert await page.value("[...document.querySelectorAll('.bubble > .said')].slice(0, 2).map((each) => each.textContent)") == ["You: ", "Bob: "]
        assert await page.value("[...document.querySelectorAll('li[data-message]')].every(({ ariaLabel }) => ariaLabel.isWellFormed())")


async def test_a_name_from_right_to_left_stands_beside_its_picture(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "דנה לוי")
    await direct(clients[0], people[1])
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await page.run("location.hash = '/conversations'")
        await page.until("document.querySelector('.talks strong')?.textContent === 'דנה לוי'")
        # The text's own place: its box may be as wide as the row.
        gap = await page.value("""(() => {
            const text = document.createRange();
            text.selectNodeContents(document.querySelector('.talks strong'));
            return text.getBoundingClientRect().left - document.querySelector('.talks presence-avatar').getBoundingClientRect().right;
        })()""")
        assert 0 <= gap < 20
        await shot(page, "right-to-left")
