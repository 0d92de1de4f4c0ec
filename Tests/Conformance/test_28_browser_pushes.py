"""Push messages to pages: presence-messages.js in Chromium registers and unregisters them."""

from support.library import begin, refused, talking
from support.line import Line
from support.patience import eventually
from support.room import Room
from support.talks import say, talk
from test_31_push import DEVICE, due, settings


async def test_a_page_is_pushed_to_until_it_is_removed(chromium, start, receiver):
    room = Room(start(settings(receiver)))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await bob.close()
    async with Line(room.server) as line, chromium:
        page = await talking(chromium, line, room, "bob")
        await page.run("""
            await messages.registerDevice("0a1b", { platform: "apns" });
            await messages.registerDevice("to\\"ken");
            client.close();""")
        await say(ana, id, "there?")
        told, = await due(receiver)
        assert (told["text"], told["devices"]) == ("there?", [{"platform": "fcm", "pushToken": "to\"ken"}])
        # After it is read, the next message would be pushed again, but the page is no longer a device.
        await page.run(f"await open({room.token('bob')!r})")
        await begin(page, room.name("bob"))
        await page.until("seen.list.value[0]?.unread === 1")
        await page.run(f"await messages.read({id!r}); await messages.removeDevice()")

        def is_read():
            marks = {each["id"] for each in page.sent if each["type"] == "mark" and each.get("read")}
            return [each for each in page.received if each.get("id") in marks]
        await eventually(is_read, "the server knows that it is read")
        await page.run("client.close()")
        await say(ana, id, "and now?")
        told = (await due(receiver, 2))[1]
        assert (told["text"], told["devices"]) == ("and now?", [])


async def test_a_page_that_cannot_be_registered_is_told_why(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        page.expected += ("Failed to load resource",)
        fault = await refused(page, "await messages.registerDevice('a b')")
        assert (fault["name"], fault["code"], fault["field"]) == ("PresenceError", "validation_failed", "pushToken")
        line.cut()
        assert (await refused(page, "await messages.registerDevice('a')"))["code"] == "network"
        assert (await refused(page, "await messages.removeDevice()"))["code"] == "network"
        line.mend()
        await page.run("await messages.registerDevice('a')")


async def test_a_refused_token_is_replaced_once_and_that_of_another_user_registers_nothing(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        page.expected += ("Failed to load resource",)
        await page.run("""
            globalThis.asked = [];
            const good = await client.token();
            client.token = async ({ renew = false }) => (asked.push(renew), renew ? good : "nonsense");
            await messages.registerDevice("a");""")
        assert await page.value("asked") == [False, True]
        await page.run("client.token = async () => 'nonsense'")
        assert (await refused(page, "await messages.registerDevice('a')"))["code"] == "unauthorized"
        calls = [method for method, url in page.requests if url.endswith(DEVICE)]
        await page.run(f"client.token = async () => {room.token('bob')!r}")
        assert (await refused(page, "await messages.registerDevice('a')"))["code"] == "closed"
        assert (await refused(page, "await messages.removeDevice()"))["code"] == "closed"
        assert [method for method, url in page.requests if url.endswith(DEVICE)] == calls == ["PUT"] * 4
