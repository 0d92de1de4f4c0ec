"""presence-settings.js in Chromium: notification settings, on all devices and in all tabs."""

from support.app import REFUSED
from support.library import follow, opened, refused, tab
from support.line import Line

SETTINGS = {"linger": 1000, "lease": 6000, "notifications.kinds": [{"kind": "order", "name": "Orders"}]}
NEVER = {"kinds": {}, "messages": {"direct": "all", "groups": "all"}, "preview": True, "whileBusy": "push", "version": 0}


async def page_of(chromium, line, token):
    page = await opened(await tab(chromium, line, expected=REFUSED), token)
    await page.run("""
        const { PresenceSettings } = await import("/presence-settings.js");
        globalThis.settings = new PresenceSettings(client);""")
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
