"""Writing in the app at /app: drafts, pasted and dropped files, pictures that are scaled down, the unread count in the
title."""

from support.accounts import Accounts
from support.app import BUBBLES, EVERYTHING, STATUS, accounts, choose, direct, enter, fill, friends, press, shot, shows, stored, title, write  # noqa: F401 (a fixture)
from support.line import Line
from support.pictures import noise, png

MADE = """
    const picture = Object.assign(document.createElement("canvas"), { width: 2100, height: 700 });
    const context = picture.getContext("2d");
    const dots = context.createImageData(2100, 700);
    for (let place = 0; place < dots.data.length; place += 65_536) crypto.getRandomValues(dots.data.subarray(place, place + 65_536));
    context.putImageData(dots, 0, 0);
    const blob = await new Promise((resolve) => picture.toBlob(resolve, "image/png"));
    const data = new DataTransfer();
    data.items.add(new File([blob], "scene.png", { type: "image/png" }));"""
"""A picture's file, wider than the limit, with different content in each pixel."""


async def test_drafts_survive_a_reload_each_in_its_conversation(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob Ray", "Cy")
    one, two = [await direct(client, people[0]) for client in clients[1:]]
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        for id, name, text in ((one, "Bob Ray", "for Bob"), (two, "Cy", "for Cy")):
            await page.run(f"location.hash = '/talk/{id}'")
            await title(page, name)
            await fill(page, "text", text)
        # The list shows where a draft was begun.
        await page.run("location.hash = '/chats'")
        await clients[1].did("send", conversation=one, message={"id": "a", "text": "Hello"})
        await page.until("[...document.querySelectorAll('.talks .line')].some((each) => each.textContent === 'Draft: for Bob')")
        await page.reload()
        for id, name, text in ((one, "Bob Ray", "for Bob"), (two, "Cy", "for Cy")):
            await page.run(f"location.hash = '/talk/{id}'")
            await title(page, name)
            assert await page.value("document.querySelector('[name=text]').value") == text
        await page.key("Enter")
        await page.until(f"{BUBBLES}.join() === 'for Cy'")
        await page.reload()
        await title(page, "Cy")
        assert await page.value("document.querySelector('[name=text]').value") == ""
        # Another tab that sends a text takes no draft away.
        await fill(page, "text", "still being written")
        other = await chromium.page(f"{line.origin}/app#/talk/{two}")
        await title(other, "Cy")
        await fill(other, "text", "from the other tab")
        await other.key("Enter")
        await page.until(f"{BUBBLES}.at(-1) === 'from the other tab'")
        await page.reload()
        await page.until("document.querySelector('[name=text]')?.value === 'still being written'")


async def test_the_title_counts_what_is_unread(chromium, accounts):
    people, clients = await friends(accounts, "Ana", "Bob Ray", "Cy")
    one, two = [await direct(client, people[0]) for client in clients[1:]]
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        for number, (client, id) in enumerate(((clients[1], one), (clients[1], one), (clients[2], two))):
            await client.did("send", conversation=id, message={"id": f"m{number}", "text": "Hello"})
        await page.until("document.title === '(3) People – Presence'")
        await page.run(f"location.hash = '/talk/{one}'")
        await page.until("document.title === '(1) Bob Ray – Presence'")
        await page.run(f"location.hash = '/talk/{two}'")
        await page.until("document.title === 'Cy – Presence'")


async def test_a_line_stands_before_the_first_unread(chromium, accounts):
    people, (own, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, people[0])
    for number in range(30):
        await client.did("send", conversation=id, message={"id": f"m{number}", "text": f"message {number}"})
        if number == 9:
            await own.did("mark", conversation=id, read=10)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0], width=1000, height=600)
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until("document.querySelector('.new-line')?.nextElementSibling.dataset.message === 'm10'")
        # It is visible, and the visible messages are read; the rest when it was visible.
        seen = "document.querySelector('.new-line').getBoundingClientRect().top - document.querySelector('.messages').getBoundingClientRect().top"
        assert 0 <= await page.value(seen) < 200
        await page.until("document.title.startsWith('(') && !document.title.startsWith('(20)')")
        await shot(page, "unread")
        await page.run("document.querySelector('.messages').scrollTop = 1e6")
        await page.until("document.title === 'Bob Ray – Presence'")
        await write(page, "Hello")
        await page.until("!document.querySelector('.new-line')")


async def test_pictures_are_pasted_and_dropped_and_made_small_before_they_are_sent(chromium, start, tmp_path):
    accounts = Accounts(start(EVERYTHING | {"attachments.enabled": True}))
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        files = "[...document.querySelectorAll('.tray .file-name')].map((each) => each.textContent)"
        # It is shown, and not sent automatically: a wrong file can be removed.
        await page.run(MADE + "document.querySelector('[name=text]').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))")
        await page.until(f"{files}.join() === 'scene.jpg'")
        await page.until("document.querySelector('.tray img').naturalWidth === 2048")
        await page.run(MADE + "document.querySelector('.talk').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))")
        await page.until(f"{files}.length === 2")
        await shot(page, "tray")
        await page.run("document.querySelectorAll('.tray button')[1].click()")
        await page.until(f"{files}.length === 1")
        assert not await stored(accounts, id)
        await fill(page, "text", "The view")
        await page.key("Enter")
        await page.until("document.querySelector('.files img')?.naturalWidth > 0")
        await page.until(f"{STATUS}?.match(/Sent|Delivered/)")
        message, = await stored(accounts, id)
        assert message["text"] == "The view" and [each["kind"] for each in message["attachments"]] == ["image"]
        assert await page.value("document.querySelector('.tray').hidden && document.querySelector('[name=text]').value === ''")
        # Text that is pasted together with its picture, as from a table, stays text.
        await page.run(MADE + "data.setData('text/plain', 'x'); document.querySelector('[name=text]').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))")
        assert await page.value(f"{files}.length") == 0


async def test_a_photo_that_is_larger_than_a_server_takes_is_made_small(chromium, start, tmp_path):
    accounts = Accounts(start(EVERYTHING | {"attachments.enabled": True, "attachments.maxBytes": 2_000_000}))
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    large = tmp_path / "large.png"
    large.write_bytes(png(noise(1800, 1200)))
    assert large.stat().st_size > 5 * 1024 * 1024
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await choose(page, large)
        await page.until("document.querySelector('.tray .file-name')?.textContent === 'large.jpg'")
        await press(page, "Send")
        await page.until(f"{STATUS}?.match(/Sent|Delivered/)")
        assert len((await stored(accounts, id))[0]["attachments"]) == 1
        # The user's own picture, too: it would be more than 5 MB.
        await page.run("location.hash = '/profile'")
        await page.until("document.querySelector('[name=displayName]')?.value === 'Ana'")
        await choose(page, large)
        await shows(page, "Photo saved")


async def test_a_file_has_its_name_for_everybody(chromium, start, tmp_path):
    accounts = Accounts(start(EVERYTHING | {"attachments.enabled": True}))
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        id = await direct(client, ana)
        answer = await accounts.api.request("POST", f"/v1/conversations/{id}/attachments?name=Plan%20%C3%BC%201.txt", b"x" * 1500, token=bob.access,
                                            headers={"Content-Type": "text/plain"})
        attachment = {name: value for name, value in answer.json["attachment"].items() if name != "name"}
        await client.did("send", conversation=id, message={"id": "a", "text": "", "attachments": [attachment]})
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until("document.querySelector('.files .file-name')?.textContent === 'Plan ü 1.txt'")
        assert await page.value("document.querySelector('.files .file-size').textContent") == "2 kB"
        assert await page.value("document.querySelector('.files a').rel") == "noopener noreferrer nofollow"
