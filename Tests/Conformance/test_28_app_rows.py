"""Rows of the app at /app: a message's description, the text being edited, and pictures."""

import asyncio

from support.accounts import Accounts
from support.app import BUBBLES, EVERYTHING, act, direct, enter, friends, press, shows, title
from support.library import tab
from support.line import Line
from support.patience import eventually


async def test_an_edited_text_is_bounded_like_a_new_one_and_a_message_is_important_without_a_reason(chromium, start):
    accounts = Accounts(start(EVERYTHING))
    people, (ana, bob) = await friends(accounts, "Ana Lovelace", "Bob Ray")
    id = await direct(ana, bob)
    await ana.did("send", conversation=id, message={"id": "a", "text": "short"})
    await bob.did("send", conversation=id, message={"id": "b", "text": "now", "priority": {}})
    await bob.did("send", conversation=id, message={"id": "c", "text": "too", "priority": {"reason": "late"}})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0], expected=())
        await press(page, "Chats2 unread")
        await page.until("!!document.querySelector('.talks a')")
        await page.run("document.querySelector('.talks a').click()")
        await title(page, "Bob Ray")
        await page.until(f"{BUBBLES}.join() === 'short,now,too'")
        said = await page.value("[...document.querySelectorAll('.theirs .meta')].map((each) => each.textContent.split(' · ')[0])")
        assert said == ["Important", "Important: late"]
        await act(page, "Edit", "short")
        for count, is_refused in ((5_000, False), (5_001, True)):
            await page.run(f"document.activeElement.select(); document.execCommand('insertText', false, 'x'.repeat({count}))")
            await shows(page, f"{5_000 - count} characters left")
            assert await page.value("document.querySelector('.editing .main').disabled") == is_refused
        await page.key("Enter")
        assert await page.value("document.activeElement.value.length") == 5_001
        await page.run("document.activeElement.select()")
        await page.type("longer")
        await page.key("Enter")
        await page.until(f"{BUBBLES}[0] === 'longer' && !document.querySelector('.editing')")


async def test_the_late_error_of_a_picture_leaves_the_one_that_took_its_place(chromium, start):
    asked, answered = asyncio.Event(), asyncio.Event()

    async def answer_late(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await answered.wait()
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    late = await asyncio.start_server(answer_late, "127.0.0.1", 0)
    async with late, Line(start(EVERYTHING)) as line, chromium:
        page = await tab(chromium, line)
        address = f"http://127.0.0.1:{late.sockets[0].getsockname()[1]}/a"
        await page.run(f"""
            await import("/app/parts.js");
            globalThis.made = document.createElement("presence-avatar");
            document.body.append(made);
            made.show("Ana Lopez", {address!r});
            made.querySelector("img").addEventListener("error", () => (globalThis.failed = true));""")
        await eventually(asked.is_set, "the first picture is asked for")
        await page.run("made.show('Ana Lopez', '/app/icon.svg')")
        await page.until("made.querySelector('img').naturalWidth")
        answered.set()
        await page.until("globalThis.failed")
        assert await page.value("made.querySelector('img')?.src.endsWith('/app/icon.svg')")
