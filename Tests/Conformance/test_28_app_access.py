"""Accessibility of the app at /app: the keyboard, labels, small screens, both schemes."""

import pytest

from support.accounts import PASSWORD
from support.app import accounts, app, checked, fill, press, settings, shows, sign_up, title  # noqa: F401 (a fixture)
from support.line import Line
from support.room import Room


async def test_it_is_usable_by_keyboard_alone(chromium, accounts):
    person = await accounts.sign_up()
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=())
        await title(page, "Sign in")
        for text in (person.email, PASSWORD):
            await page.key("Tab")
            await page.type(text)
        await page.key("Enter")
        await title(page, "Set up your profile")
        reached = []
        for _ in range(12):
            await page.key("Tab")
            reached.append(await page.value(
                "document.activeElement.getAttribute('aria-label') ?? document.activeElement.name ?? document.activeElement.textContent"))
            if reached[-1] == "Skip profile setup":
                break
        assert {"displayName", "Skip profile setup"} <= set(reached), reached
        await page.key("Enter")
        await title(page, "Chats")
        assert await page.value("document.activeElement.textContent") == "Chats", "the heading has the focus"


PAGES = ["#/sign-in", "#/sign-up", "#/forgot"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_everything_has_a_label_fits_360_pixels_and_can_be_read(chromium, accounts, dark):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=(), width=360, height=740, dark=dark)
        for place in PAGES:
            await page.go(line.origin + "/app" + place)
            await page.until("!!document.querySelector('h1')")
            await checked(page, place[2:], dark)
        await page.go(line.origin + "/app#/sign-in")
        await sign_up(page, accounts, "A name that is quite long, as names may be, really")
        await checked(page, "setup", dark)
        await press(page, "Skip profile setup")
        await title(page, "Chats")
        await checked(page, "chats-empty", dark)
        await press(page, "People")
        await title(page, "People")
        somebody = "u-with-quite-a-long-id-that-somebody-has-made-by-hand-0123456789"
        await (await Room(accounts.server).socket()).connect(accounts.server.mint.token(somebody))
        await fill(page, "users", somebody)
        await page.key("Enter")
        await page.until("!!document.querySelector('.people li')")
        await checked(page, "people", dark)
        await settings(page, "Profile")
        await checked(page, "profile", dark)
        for place in ("invite", "status", "privacy", "account", "devices", "new", f"person/{somebody}"):
            await page.run(f"location.hash = '/{place}'")
            await page.until(f"location.hash === '#/{place}' && !!document.querySelector('.detail h1')")
            await checked(page, place.split("/")[0], dark)
        await page.run("location.hash = '/talk/nothing'")
        await shows(page, "You are not in this conversation.")
        await checked(page, "talk-nobody", dark)
