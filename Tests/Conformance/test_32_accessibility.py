"""axe-core checks every screen of the app and every page of the console, narrow and wide, light and dark.

Tests/Axe/run installs axe-core; without it, these tests are skipped.
"""

import asyncio
import os

import pytest

from support.accounts import PASSWORD, Accounts
from support.app import EVERYTHING, act, answer, app, details, direct, fill, friends, press, shot, shows, title
from support.browser import NETWORK
from support.line import Line
from support.room import Room
from support.talks import say
from test_30_console import SCREENS, console
from test_30_console import SETTINGS as CONSOLE

AXE = os.environ.get("AXE")
pytestmark = pytest.mark.skipif(not AXE, reason="without AXE, the path of axe.min.js: Tests/Axe/run sets it")

LOOKS = [(360, False), (360, True), (1280, False), (1280, True)]
SIZES = pytest.mark.parametrize("width,dark", LOOKS, ids=[f"{width}-{'dark' if dark else 'light'}" for width, dark in LOOKS])

LONG = "Wolfeschlegelsteinhausenbergerdorff-Featherstonehaugh Kn"[:50]
HEBREW = "דנה לוי"
EMOJI = "Zoë 👩‍🚀🏳️‍🌈"
MESSAGE = "Lorem ipsum dolor sit amet, consectetur. " * 121


class Gallery:
    """The findings for a page at one size: all are reported at the end, so that one run shows them all."""

    def __init__(self, page, prefix, width, dark):
        self.page, self.prefix, self.suffix = page, prefix, f"{width}-{'dark' if dark else 'light'}"
        self.wrong = []

    async def look(self, name):
        page = self.page
        await shot(page, f"{self.prefix}-{name}-{self.suffix}")
        if await page.value("document.documentElement.scrollWidth > innerWidth"):
            self.wrong.append(f"{name}: is wider than the page")
        if not await page.value("!!globalThis.axe"):
            with open(AXE) as script:
                await page.send("Runtime.evaluate", expression=script.read())
        found = await page.run("""
            const { violations } = await axe.run(document, { resultTypes: ["violations"] });
            return violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
                .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => html + " " + failureSummary).slice(0, 3).join(" | ")}`);
        """)
        self.wrong += [f"{name}: {each}" for each in found]

    def end(self):
        assert not self.wrong, "\n".join(self.wrong)


# The app


@SIZES
async def test_the_app_from_outside(chromium, start, width, dark):
    accounts = Accounts(start(EVERYTHING))
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=("Failed to load resource",), width=width, height=740, dark=dark)
        seen = Gallery(page, "app", width, dark)
        await title(page, "Sign in")
        await seen.look("sign-in")
        await fill(page, "email", "nobody@example.org")
        await fill(page, "password", "wrong password")
        await page.key("Enter")
        await shows(page, "Invalid email or password.")
        await seen.look("sign-in-refused")
        await press(page, "Sign up")
        await title(page, "Sign up")
        await press(page, "Sign up")
        await shows(page, "Display name cannot be empty")
        await seen.look("sign-up-refused")
        await press(page, "Sign in")
        await press(page, "Forgot your password?")
        await fill(page, "email", "nobody@example.org")
        await page.key("Enter")
        await shows(page, "Password reset email sent!")
        await seen.look("forgot")
        await page.go(line.origin + "/reset#token=none")
        await title(page, "Choose a new password")
        await seen.look("reset")
        await page.go(line.origin + "/verify#token=none")
        await title(page, "Confirm your email")
        await seen.look("verify-first")
        await press(page, "Confirm my email address")
        await shows(page, "This link was used before, or is no longer valid.")
        await seen.look("verify")
        seen.end()


async def crowd(accounts):
    """A user with people in every state, and conversations with every kind of content."""
    people, clients = await friends(accounts, "Ana Lovelace", LONG, HEBREW, EMOJI, "Bob Ray")
    ana, mine = people[0], clients[0]
    await clients[2].status("busy", text="בפגישה עד שלוש")
    await clients[3].activity("idle")
    await mine.did("addContacts", users=[each.user for each in people[1:]] + ["u-with-quite-a-long-id-that-somebody-has-made-by-hand"])
    talks = [await direct(client, ana) for client in clients[1:]]
    await say(clients[1], talks[0], MESSAGE)
    await say(clients[2], talks[1], "שלום אנה, מה שלומך? English in between, וחזרה.")
    await say(clients[3], talks[2], "👩‍🚀🏳️‍🌈🫶")
    group = (await clients[4].did("createConversation", participants=[each.user for each in people[:4]], name="A trip to the mountains with everybody who wants to come along, and dogs"))["conversation"]["id"]
    bob, talk = clients[4], talks[3]
    await say(bob, talk, "Hello Ana")
    mine_first = await say(mine, talk, "Hello Bob, here is a longer text that goes over several lines on a phone, as texts do.")
    await bob.did("mark", conversation=talk, read=2)
    await mine.did("editMessage", conversation=talk, message=mine_first["id"], text=mine_first["text"] + " Edited.")
    gone = await say(bob, talk, "to be deleted")
    await bob.did("deleteMessage", conversation=talk, message=gone["id"])
    await say(bob, talk, "", more={"attachments": [
        {"id": "a", "kind": "image", "url": "https://127.0.0.1:1/picture.jpg", "sizeBytes": 5},
        {"id": "b", "kind": "file", "url": "https://example.org/plan.pdf", "sizeBytes": 5}]})
    await say(bob, talk, "Come at once", more={"priority": {"reason": "the train leaves at 9"}})
    await say(mine, talk, "a" * 200)
    await clients[3].close()
    # The app's own request after sign-up.
    await ana.call("PATCH", "/v1/me", {"changes": {"setupCompleted": True}})
    return ana, clients, {"long": talks[0], "hebrew": talks[1], "emoji": talks[2], "group": group, "bob": talk}


async def signed_in(chromium, line, person, expected, **size):
    page = await app(chromium, line, expected=expected, **size)
    await title(page, "Sign in")
    await fill(page, "email", person.email)
    await fill(page, "password", PASSWORD)
    await page.key("Enter")
    return page


@SIZES
async def test_the_app_of_somebody_new(chromium, start, width, dark):
    accounts = Accounts(start(EVERYTHING))
    ana = await accounts.sign_up(displayName=LONG)
    async with Line(accounts.server) as line, chromium:
        page = await signed_in(chromium, line, ana, NETWORK, width=width, height=740, dark=dark)
        seen = Gallery(page, "app", width, dark)
        await title(page, "Set up your profile")
        await page.until("document.querySelector('[name=displayName]').value !== ''")
        await seen.look("setup")
        line.cut()
        await press(page, "Continue")
        await shows(page, "Network error.")
        await shows(page, "No connection.")
        await seen.look("setup-offline")
        line.mend()
        await press(page, "Skip profile setup")
        await title(page, "Chats")
        await shows(page, "None yet.")
        await seen.look("chats-none")
        await press(page, "New group")
        await shows(page, "Add people first")
        await seen.look("new-group-nobody")
        await press(page, "Back") if width < 768 else await press(page, "Chats")
        await press(page, "People")
        await title(page, "People")
        await shows(page, "Nobody yet.")
        await seen.look("people-nobody")
        await page.run("location.hash = '/profile'")
        await page.until("document.querySelector('[name=displayName]').value !== ''")
        await fill(page, "username", "no")
        await press(page, "Save")
        await shows(page, "Invalid username format.")
        await seen.look("profile")
        await page.run("location.hash = '/talk/nothing'")
        await answer(page, "You have unsaved changes.", "Leave")
        await shows(page, "You are not in this conversation.")
        await seen.look("talk-nobody")
        seen.end()


@SIZES
async def test_the_app_of_somebody_with_friends(chromium, start, width, dark):
    accounts = Accounts(start(EVERYTHING))
    ana, clients, talks = await crowd(accounts)
    async with Line(accounts.server) as line, chromium:
        page = await signed_in(chromium, line, ana, NETWORK, width=width, height=740, dark=dark)
        seen = Gallery(page, "app", width, dark)
        await title(page, "Chats")
        await page.until("document.querySelectorAll('.talks li[data-conversation]').length === 5")
        await seen.look("chats")
        for place, text in {"people": LONG, "invite": "Your id", "settings": "Sign out", "profile": "Display name", "status": "Status text",
                            "privacy": "Who sees", "account": "Delete my account", "notifications": "Notifications", "devices": "Sign out on all devices", "new": "Bob Ray",
                            f"person/{clients[4].user}": "Bob Ray"}.items():
            await page.run(f"location.hash = '/{place}'")
            await shows(page, text)
            await seen.look(place.split("/")[0])
        for name in ("long", "hebrew", "emoji", "group"):
            await page.run(f"location.hash = '/talk/{talks[name]}'")
            await page.until("document.querySelector('.about-talk') && !document.querySelector('.detail h1, .detail .title').textContent.startsWith('Conversation')")
            if name == "group":
                await details(page)
                await shows(page, "owner")
            await seen.look(f"talk-{name}")
        await page.run(f"location.hash = '/talk/{talks['bob']}'")
        await title(page, "Bob Ray")
        await page.until("document.querySelectorAll('li[data-message]').length >= 6")
        await clients[4].send({"type": "typing", "conversation": talks["bob"], "typing": True})
        await shows(page, "typing…")
        await seen.look("talk")
        await press(page, "More")
        await page.until("!!document.querySelector('[role=menu]:popover-open')")
        await seen.look("talk-menu")
        await page.key("Escape")
        await fill(page, "text", "x" * 4_900)
        await shows(page, "100 characters left")
        await act(page, "Edit", "a" * 200)
        await page.until("!!document.querySelector('.editing')")
        await seen.look("talk-editing")
        await page.key("Escape")
        await clients[4].did("block", users=[ana.user])
        await fill(page, "text", "refused")
        await page.key("Enter")
        await shows(page, "you cannot write here")
        line.cut()
        await shows(page, "No connection.")
        await fill(page, "text", "waits")
        await page.key("Enter")
        await shows(page, "Waits for a connection")
        await seen.look("talk-offline")
        for place, name in {"conversations": "Chats", "people": "People"}.items():
            await page.run(f"location.hash = '/{place}'")
            await title(page, name)
            await seen.look(f"{place}-offline")
        seen.end()


# The console


@SIZES
async def test_the_console(chromium, start, width, dark):
    accounts = Accounts(start(CONSOLE | EVERYTHING))
    ana, clients, talks = await crowd(accounts)
    room = Room(accounts.server)
    async with chromium:
        door = await chromium.page(f"http://{room.server.host}:{room.server.port}/console", width=width, height=740, dark=dark)
        await title(door, "Sign in")
        outside = Gallery(door, "console", width, dark)
        await outside.look("sign-in")
        page = await console(chromium, room, expected=("closed before the connection is established", "Failed to load resource"),
                             width=width, height=740, dark=dark)
        seen = Gallery(page, "console", width, dark)
        places = SCREENS | {f"/person/{ana.user}": "Ana Lovelace", f"/conversations/{ana.user}": "Conversations",
                            f"/conversation/{talks['group']}": "A trip", f"/trace/user/{ana.user}": "Live trace", "/person/nobody": "nobody"}
        for place, name in places.items():
            await page.run(f"location.hash = '{place or '/overview'}'")
            await page.until(f"document.querySelector('h1')?.textContent.startsWith({name!r})")
            await page.until("!document.querySelector('main').innerText.includes('Reading…')")
            if place == "/doctor":
                await press(page, "Examine")
                await shows(page, "wrong")
            if place.startswith("/trace/"):
                await clients[4].status("busy")
                await clients[0].status("busy", text="for the trace")
                await page.until("document.querySelectorAll('tbody tr').length > 0")
            await asyncio.sleep(1.2)
            await seen.look(place.strip("/").split("/")[0] + ("" if place.count("/") < 2 else "-one") + ("-nobody" if "nobody" in place else "") if place else "overview")
        seen.wrong += outside.wrong
        seen.end()
