"""presence.js in Chromium within the limits of a server: rates, and how many may be watched."""

from support.library import follow, opened, refused, tab
from support.line import Line
from support.patience import eventually
from support.room import Room


async def test_requests_above_the_rate_are_repeated_after_the_servers_delay(chromium, start):
    """Each is rejected a few times at most: a client that continues to send is closed permanently."""
    server = start({"requests_per_second": 40, "request_burst": 10, "limits.rateLimited": 300})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"), timeout=60_000)
        answers = await page.run("return (await Promise.all(Array.from({ length: 100 }, () => client.get(['bob'])))).length")
        assert answers == 100
        refused = [each for each in page.received if each.get("code") == "rate_limited"]
        assert 50 <= len(refused) <= 200 and all(each["retryAfter"] > 0 for each in refused)
        assert "refused" not in await page.value("states") and len(page.sockets) == 1
        # Soon there is room for many at once again.
        await page.run("await client.get(['bob']); await client.get(['bob'])")


async def test_requests_without_an_answer_of_their_own_are_not_lost_above_the_rate(chromium, start):
    server = start({"requests_per_second": 20, "request_burst": 10, "linger": 10_000})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        bob = await room.come("bob")
        await bob.subscribe(room.name("ana"))
        await bob.sees(room.name("ana"), status="online")
        await page.run("""
            globalThis.stop = new AbortController();
            follow("cy", client.person("cy", stop));""")
        await page.until("seen.cy.value?.live")
        await page.run("""
            for (let count = 0; count < 40; count++) client.get([]);
            client.setActivity("background");
            stop.abort();""")
        await bob.sees(room.name("ana"), status="away")

        def is_let_go():
            asked = {each["id"] for each in page.sent if each["type"] == "unsubscribe" and each["users"] == ["cy"]}
            return [each for each in page.received if each.get("id") in asked and each["type"] != "error"]
        await eventually(is_let_go, "the server has let cy go")


async def test_people_beyond_the_watch_limit_have_an_error(chromium, start):
    server = start({"subscriptions": 2, "subscribe_batch": 2})
    room = Room(server)
    async with Line(server) as line, chromium:
        page = await opened(await tab(chromium, line), room.token("ana"))
        await follow(page, "all", "client.people(['a', 'b', 'c', 'd'])")
        await page.until("seen.all.value?.[1].live && seen.all.value[3].error?.code === 'too_many'")
        assert not await page.value("seen.all.value[3].live")
