"""Long conversations in the app at /app: the cost of a message, and scrolling through 5,000 of them."""

import asyncio

from support.accounts import Accounts
from support.app import BUBBLES, EVERYTHING, direct, enter, friends, press, title
from support.line import Line

MANY = 5_000
FREE = EVERYTHING | {f"limits.{name}": 1_000_000 for name in (
    "requestsPerSecond", "requestBurst", "userRequestsPerSecond", "userRequestBurst")}
ROWS = "document.querySelectorAll('li[data-message]').length"


async def test_5000_messages_are_scrolled_through_and_the_page_stays_small(chromium, start):
    accounts = Accounts(start(FREE))
    people, (_, bob) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(bob, people[0])
    for first in range(0, MANY, 250):
        await asyncio.gather(*[bob.begin("send", conversation=id, message={"id": f"m{number}", "text": f"message {number}"})
                               for number in range(first, first + 250)])
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, people[0])
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await page.until(f"{BUBBLES}.at(-1) === 'message {MANY - 1}'")
        await page.run("""
            globalThis.work = { added: 0, changed: new Set(), rows: 0, long: [] };
            const log = document.querySelector(".messages");
            new MutationObserver((all) => {
                for (const { target, addedNodes } of all) {
                    const row = (target.closest ? target : target.parentElement)?.closest("li[data-message]");
                    if (row) work.changed.add(row.dataset.message);
                    work.added += [...addedNodes].filter((each) => each.matches?.("li[data-message]")).length;
                }
                work.rows = Math.max(work.rows, log.querySelectorAll("li[data-message]").length);
            }).observe(log, { subtree: true, childList: true, characterData: true, attributes: true });
            new PerformanceObserver((list) => work.long.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
            // Like a user who scrolls up without a pause: one step with each frame.
            globalThis.climbing = (async () => {
                while (log.querySelector("li[data-message]").dataset.message !== "m0") {
                    log.scrollTop = Math.max(0, log.scrollTop - 400);
                    await new Promise(requestAnimationFrame);
                }
            })();""")
        await page.run("await climbing", within=120)
        work = await page.value("({ ...work, changed: work.changed.size })")
        print(f"{MANY} messages: {work['added']} rows came, {work['rows']} at once; long tasks: {[round(each) for each in work['long']]} ms")
        assert work["rows"] <= 300 and work["added"] <= MANY * 1.1, work
        # No existing row was drawn again for new ones.
        assert work["changed"] <= work["added"], work
        # A message that arrives while the user is far above costs nothing there, and a button leads to it.
        await page.run("work.added = 0; work.changed.clear()")
        await bob.did("send", conversation=id, message={"id": "new", "text": "news"})
        await page.until("document.querySelector('.fresh .badge').textContent === '1'")
        assert await page.value("[work.added, work.changed.size]") == [0, 0]
        await press(page, "New messages")
        await page.until(f"{BUBBLES}.at(-1) === 'news' && document.querySelector('.fresh').hidden")
        assert await page.value(ROWS) <= 100
        # And back: messages read before are not requested again.
        asked = [each for each in page.sent if each["type"] == "getMessages"]
        await page.run("document.querySelector('.messages').scrollTop = 0")
        await page.until(f"{ROWS} > 50")
        assert [each for each in page.sent if each["type"] == "getMessages"] == asked
