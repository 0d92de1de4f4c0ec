"""presence-settings.js in Chromium: notification settings, on all devices and in all tabs; and contact requests of presence-people.js."""

from support.app import REFUSED
from support.library import follow, opened, refused, tab
from support.line import Line
from support.talks import talk

SETTINGS = {"linger": 1000, "lease": 6000, "notifications.kinds": [{"kind": "order", "name": "Orders"}]}
NEVER = {"kinds": {}, "messages": {"direct": "all", "groups": "all"}, "preview": True, "whileBusy": "push", "version": 0}


async def page_of(chromium, line, token):
    page = await opened(await tab(chromium, line, expected=REFUSED), token)
    await page.run("""
        const { PresenceSettings } = await import("/presence-settings.js");
        const { PresencePeople } = await import("/presence-people.js");
        Object.assign(globalThis, { settings: new PresenceSettings(client), people: new PresencePeople(client) });""")
    return page


async def test_settings_are_those_of_all_devices(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await page_of(chromium, line, room.token("ana"))
        second = await page_of(chromium, line, room.token("ana"))
        assert await page.value("await settings.offered()") == {"kinds": [{"kind": "order", "name": "Orders"}], "quietHours": True}
        for each in (page, second):
            await follow(each, "now", "settings.notifications()")
            assert await each.until("seen.now.value") == NEVER
        await page.run("await settings.changeNotifications({ kinds: { order: { push: false } } })")
        for each in (page, second):
            await each.until("seen.now.value.kinds.order?.push === false")
        # Changes of one page are made in turn, so none takes back another.
        await page.run("""await Promise.all([
            settings.changeNotifications({ preview: false }), settings.changeNotifications({ whileBusy: "hold" }),
            settings.changeNotifications({ quiet: { timezone: "Europe/Berlin", from: "22:00", to: "07:00" } })])""")
        kept = await second.until("seen.now.value.quiet && seen.now.value")
        assert (kept["preview"], kept["whileBusy"], kept["kinds"]["order"]["push"]) == (False, "hold", False)
        assert kept["quiet"]["days"] == [1, 2, 3, 4, 5, 6, 7] and kept["quiet"]["allow"] == []
        await second.run("await settings.changeNotifications({ quiet: null })")
        await page.until("!seen.now.value.quiet")
        assert (await refused(page, "await settings.changeNotifications({ messages: { direct: 'some' } })"))["field"] == "messages.direct"
        # A change that was missed is read after the connection.
        line.cut()
        await page.until("client.connection.state !== 'live'")
        changed = await room.api.request("PUT", "/v1/me/notificationSettings", {}, token=room.token("ana"))
        assert changed.status == 200
        line.mend()
        await page.until("seen.now.value.preview === true && seen.now.value.whileBusy === 'push'")


async def test_a_loop_over_settings_ends_when_it_is_left(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await page_of(chromium, line, room.token("ana"))
        await page.run("""
            globalThis.stop = new AbortController();
            follow("now", settings.notifications({ signal: stop.signal }));""")
        await page.until("seen.now.value")
        await page.run("stop.abort()")
        await page.until("seen.now.ended")
        assert await page.run("for await (const { preview } of settings.notifications()) return preview") is True


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
