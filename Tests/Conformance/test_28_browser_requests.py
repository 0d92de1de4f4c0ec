"""presence-people.js in Chromium: contact requests in all tabs, and conversations that strangers begin."""

from support.library import follow, refused
from support.line import Line
from support.talks import talk
from test_28_browser_safety import page_of

SETTINGS = {"linger": 1000, "lease": 6000}


async def test_contact_requests_are_a_list_in_all_tabs(chromium, server, room):
    bob = await room.come("bob")
    async with Line(server) as line, chromium:
        page = await page_of(chromium, line, room.token("ana"))
        await follow(page, "asking", "people.requests()")
        assert await page.until("seen.asking.value && [seen.asking.value]") == [[]]
        await bob.did("requestContact", user=room.name("ana"), text="We met in Lyon")
        [request] = await page.until("seen.asking.value.length && seen.asking.value")
        assert request["user"] == bob.user and request["text"] == "We met in Lyon" and request["at"] > 0
        # A tab that is opened later has them too.
        second = await page_of(chromium, line, room.token("ana"))
        await follow(second, "asking", "people.requests()")
        await second.until("seen.asking.value?.length === 1")
        await second.run(f"await people.answer({bob.user!r}, true)")
        for each in (page, second):
            await each.until("seen.asking.value.length === 0")
        assert (await bob.did("getVisibility"))["contacts"] == [room.name("ana")]
        assert (await refused(page, f"await people.answer({bob.user!r}, false)"))["code"] in ("not_found",)
        await page.run(f"await people.ask({room.name('cy')!r}, {{ text: 'Hello' }})")
        assert (await refused(page, f"await people.ask({room.name('ana')!r})"))["code"] == "validation_failed"


async def test_a_strangers_conversation_is_marked_until_it_is_answered(chromium, server, room):
    ana, bob = await room.come("ana"), await room.come("bob")
    async with Line(server) as line, chromium:
        page = await page_of(chromium, line, room.token("ana"))
        await page.run("await client.request('setVisibility', { conversations: { from: 'contacts' } })")
        await page.until("client.own.conversations?.from === 'contacts'")
        id = (await talk(bob, ana))["id"]
        await page.run("""
            const { PresenceMessages } = await import("/presence-messages.js");
            globalThis.messages = new PresenceMessages(client);
            follow("list", messages.conversations());""")
        await page.until(f"seen.list.value?.some((each) => each.id === {id!r} && each.request)")
        await page.run(f"await messages.send({id!r}, 'Hello')")
        await page.until(f"seen.list.value.some((each) => each.id === {id!r} && !each.request)")
