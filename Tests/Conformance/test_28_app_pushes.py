"""Pushes to the app: what its settings ask, what its service worker shows, and what a press on it opens.

The browsers' own services cannot be reached here. A service of the test stands for them; what it receives is decrypted and given
to the worker by Chromium, as a push that has arrived."""

import json

import pytest

from support.app import EVERYTHING, direct, enter, friends, press, settings, title
from support.accounts import Accounts
from support.line import Line
from support.patience import PATIENCE, eventually
from support.web_push import Subscriber, WebPushService

STAND_IN = """
    globalThis.asked = 0;
    let state = localStorage.subscribed ? "granted" : "default";
    Object.defineProperty(Notification, "permission", { get: () => state });
    Notification.requestPermission = async () => (asked++, state = localStorage.answer ?? "granted");
    const decoded = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0)).buffer;
    const made = () => ({ toJSON: () => (%s), options: { applicationServerKey: decoded(localStorage.subscribed) },
        unsubscribe: async () => localStorage.removeItem("subscribed") });
    PushManager.prototype.getSubscription = async () => localStorage.subscribed ? made() : null;
    PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
        if (!userVisibleOnly) throw new Error("browsers want pushes that are seen");
        localStorage.subscribed = applicationServerKey;
        return made();
    };"""
"""Of the browser's part that speaks to its service, and of its question."""

SHOWN = "(await (await navigator.serviceWorker.getRegistration('/app')).getNotifications()).map(({ title, body, tag }) => [title, body, tag])"
STATE = "document.querySelector('devices-screen .card [role=status]')?.textContent"


@pytest.fixture
def service(tmp_path):
    service = WebPushService(tmp_path)
    yield service
    service.close()


@pytest.fixture
def accounts(start, service):
    return Accounts(start(EVERYTHING | service.settings()))


async def prepare(windows, line, bob, browser):
    """A page of a user with a stand-in of the browser's service, whose notifications may be shown."""
    origin = line.origin
    await windows.send("Browser.grantPermissions", permissions=["notifications"], origin=origin, browserContextId=windows.context)
    page = await enter(windows, line, bob)
    await page.send("Page.addScriptToEvaluateOnNewDocument", source=STAND_IN % json.dumps(browser.subscription))
    await page.send("ServiceWorker.enable")
    await page.run("await navigator.serviceWorker.ready")
    await page.reload()
    await page.until("typeof asked === 'number'")
    return page


async def deliver(page, line, push):
    """The worker gets a push, as when it arrives at the browser."""
    await eventually(lambda: page.workers, "the worker is registered")
    await page.send("ServiceWorker.deliverPushMessage", origin=line.origin, registrationId=page.workers[-1]["registrationId"],
                    data=push.plain.decode())


async def click(windows, page):
    """A press on the notification, in the worker."""
    target = next(each for each in (await windows.send("Target.getTargets"))["targetInfos"] if each["type"] == "service_worker")
    name = (await windows.send("Target.attachToTarget", targetId=target["targetId"], flatten=True))["sessionId"]
    await windows.send("Runtime.evaluate", name, awaitPromise=True, expression="""(async () => {
        const [notification] = await registration.getNotifications();
        dispatchEvent(new NotificationEvent("notificationclick", { notification }));
    })()""")


async def received(service, count=1):
    await eventually(lambda: len(service.pushes) >= count, f"{count} pushes", within=4 * PATIENCE)
    return service.pushes[count - 1]


async def test_a_message_is_shown_while_the_app_is_closed_and_opened_by_a_press(windows, accounts, service):
    browser = Subscriber(service)
    (bob, _), (own, ana) = await friends(accounts, "Bob", "Ana Lovelace")
    await own.close()
    id = await direct(ana, bob)
    async with Line(accounts.server) as line, windows:
        page = await prepare(windows, line, bob, browser)
        await settings(page, "Devices")
        await page.until(f"{STATE} === 'This browser shows nothing while Presence is closed.'")
        assert await page.value("asked") == 0, "only a press may ask"
        await press(page, "Turn on")
        await page.until(f"{STATE} === 'This browser shows new messages while Presence is closed.'")
        assert await page.value("asked") == 1
        # The app is closed: the page shows something else.
        await page.go(line.origin + "/presence.d.ts")
        await ana.did("send", conversation=id, message={"id": "a", "text": "Where are you?"})
        push = await received(service)
        await deliver(page, line, push)
        await page.until(f"JSON.stringify({SHOWN}) === {json.dumps(json.dumps([['Ana Lovelace', 'Where are you?', id]], separators=(',', ':')))}")
        # A newer push of the conversation replaces it.
        push.plain = json.dumps(push.json | {"text": "Hello?"}).encode()
        await deliver(page, line, push)
        await page.until(f"{SHOWN}.map(([, text]) => text).join() === 'Hello?'")
        # The app opens, and registers the subscription for its session once more.
        registered = [url for method, url in page.requests if (method, url.rpartition("/me/")[2]) == ("PUT", "devices/current")]
        await page.go(line.origin + "/app#/settings")
        await eventually(lambda: len([each for each in page.requests if each[0] == "PUT" and each[1].endswith("devices/current")]) > len(registered), "registered again")
        assert await page.value("asked") == 1
        await click(windows, page)
        await page.until(f"location.hash === '#/talk/{id}'")
        await title(page, "Ana Lovelace")
        await page.until(f"{SHOWN}.length === 0")
        # Pushes are ended.
        await settings(page, "Devices")
        await press(page, "Turn off")
        await page.until(f"{STATE} === 'This browser shows nothing while Presence is closed.'")
        assert ("DELETE", line.origin + "/v1/me/devices/current") in page.requests
        assert not await page.value("localStorage.subscribed")


async def test_a_message_that_was_read_elsewhere_is_taken_away(windows, accounts, service):
    browser = Subscriber(service)
    (bob, _), (own, ana) = await friends(accounts, "Bob", "Ana Lovelace")
    id = await direct(ana, bob)
    async with Line(accounts.server) as line, windows:
        page = await prepare(windows, line, bob, browser)
        await settings(page, "Devices")
        await press(page, "Turn on")
        await page.until(f"{STATE}?.includes('new messages')")
        await ana.did("send", conversation=id, message={"id": "a", "text": "Hello"})
        await page.run("location.hash = '/chats'")
        await page.until("document.querySelector('.talks .unread') !== null")
        push = type("Push", (), {"plain": json.dumps({"conversation": id, "title": "Ana Lovelace", "text": "Hello", "badge": 1}).encode()})
        await deliver(page, line, push)
        await page.until(f"{SHOWN}.length === 1")
        await own.did("mark", conversation=id, read=1)
        await page.until(f"{SHOWN}.length === 0")


async def test_the_end_of_quiet_hours_is_one_notification(windows, accounts, service):
    (bob, _), _ = await friends(accounts, "Bob", "Ana")
    async with Line(accounts.server) as line, windows:
        page = await prepare(windows, line, bob, Subscriber(service))
        # The list of conversations takes notifications away that belong to none of them.
        await page.go(line.origin + "/presence.d.ts")
        for counts, text in (((3, 2), "3 conversations and 2 notifications"), ((1, 0), "1 conversation"), ((0, 1), "1 notification")):
            summary = dict(zip(("conversations", "notifications"), counts))
            push = type("Push", (), {"plain": json.dumps({"user": bob.user, "summary": summary, "seq": 0, "title": "", "text": "", "badge": 5}).encode()})
            await deliver(page, line, push)
            await page.until(f"JSON.stringify({SHOWN}) === {json.dumps(json.dumps([['While you were not disturbed', text, 'summary']], separators=(',', ':')))}")


async def test_a_user_who_refuses_is_told_and_nothing_is_registered(windows, accounts, service):
    (bob, _), _ = await friends(accounts, "Bob", "Ana")
    async with Line(accounts.server) as line, windows:
        page = await prepare(windows, line, bob, Subscriber(service))
        await page.run("localStorage.answer = 'denied'")
        await settings(page, "Devices")
        await press(page, "Turn on")
        await page.until("document.querySelector('devices-screen [role=alert]').textContent.startsWith('This browser does not allow')")
        assert not [url for method, url in page.requests if method == "PUT" and url.endswith("devices/current")]


async def test_servers_without_pushes_to_browsers_offer_none(windows, start):
    accounts = Accounts(start(EVERYTHING))
    (bob, _), _ = await friends(accounts, "Bob", "Ana")
    async with Line(accounts.server) as line, windows:
        page = await enter(windows, line, bob)
        await settings(page, "Devices")
        await page.until("document.querySelector('devices-screen li') !== null")
        assert await page.value("[...document.querySelectorAll('devices-screen .card')].map((each) => each.hidden)") == [True, False]
        faults = await page.run("""
            const { PresenceClient } = await import("/presence.js");
            await import("/presence-push.js");
            const client = new PresenceClient({ token: () => new Promise(() => {}) });
            Notification.requestPermission = async () => "granted";
            return [client.push === client.push, client.push.supported, await client.push.enable().catch(({ code }) => code)];""")
        assert faults == [True, True, "unsupported"]
