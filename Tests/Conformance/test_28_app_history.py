"""The app's conversations begin with what the device has; what is missing is shown, and loaded when it is looked at."""

from support.app import BUBBLES, accounts, direct, enter, friends, press, title  # noqa: F401 (a fixture)
from support.history import KEPT, is_kept
from support.line import Line
from support.talks import say

HOLE = "document.querySelector('.messages .hole')"


async def test_missing_messages_are_shown_as_missing_and_loaded_when_they_are_scrolled_to(chromium, accounts):
    (ana, _), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, ana)
    for number in range(1, 61):
        await say(client, id, f"m{number}")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await page.until(f"{BUBBLES}.at(-1) === 'm60'")
        await page.run("globalThis.presence = await import('/presence.js');" + KEPT)
        await is_kept(page, id, 60, 50)
        await page.go("about:blank")
        for number in range(61, 211):
            await say(client, id, f"m{number}")
        await page.go(f"{line.origin}/app#/talk/{id}")
        await page.until(f"{BUBBLES}.at(-1) === 'm210'")
        # Rows come as they are looked at, and the hole between m60 and m161 with them.
        await page.run(f"""
            globalThis.holes = [];
            new MutationObserver(() => {HOLE} && holes.push({HOLE}.nextSibling.querySelector(".text")?.textContent))
                .observe(document.querySelector(".messages"), {{ childList: true, subtree: true }});""")
        # On a busy machine the rows above the hole may come first; it is loaded while it is in view.
        up = f"{HOLE} ? {HOLE}.scrollIntoView() : document.querySelector('.messages').scrollTop -= 400"
        for text in ("m61", "m1"):
            await page.until(f"({up}, {BUBBLES}.includes({text!r}))")
        await page.until(f"{HOLE} === null")
        assert await page.value(BUBBLES) == [f"m{number}" for number in range(1, 211)]
        holes = await page.value("holes.filter((each, place) => each && each !== holes[place - 1])")
        # The list has the newest message, which may be shown before the page that it belongs to.
        assert holes and set(holes) <= {"m210", "m161", "m111"}, holes
