"""Draws the pictures of the documents, and a gallery of the app's and the console's screens at four widths, light and dark.

Tests/Pictures/run has the folder; without it, these tests are skipped.
"""

import asyncio
import os

import pytest
from PIL import Image, ImageDraw

from support import pictures
from support.accounts import Accounts
from support.app import EVERYTHING, direct, enter, fill, friends, press, shows, title
from support.browser import NETWORK
from support.line import Line
from support.room import Room
from support.talks import say
from test_27_attachments import upload
from test_30_console import SETTINGS as CONSOLE
from test_30_console import console
from test_30_console_talk import airplane, says, write

FOLDER = os.environ.get("PICTURES")
pytestmark = pytest.mark.skipif(not FOLDER, reason="without PICTURES, a folder: Tests/Pictures/run sets it")

WIDTHS = {1440: 900, 1024: 768, 390: 844, 360: 740}
SETTINGS = EVERYTHING | {"attachments.enabled": True}
KNOWN = (*NETWORK, "Failed to load resource", "closed before the connection is established")


def portrait():
    """A face, higher than wide as a phone's pictures are."""
    image = Image.new("RGB", (360, 480), "#8cc4c0")
    pen = ImageDraw.Draw(image)
    pen.ellipse((40, 330, 320, 640), fill="#4b5b75")
    pen.ellipse((95, 110, 265, 350), fill="#e3b793")
    pen.pieslice((85, 80, 275, 320), 180, 360, fill="#2b2522")
    return pictures.jpeg(image)


def hills():
    image = Image.new("RGB", (960, 600))
    pen = ImageDraw.Draw(image)
    for y in range(600):
        pen.line((0, y, 960, y), fill=(120 + y // 8, 160 + y // 14, 230 - y // 12))
    for layer, colour in enumerate(["#3a9a7c", "#2c8068", "#216752", "#154e3d"]):
        y = 250 + 85 * layer
        points = [(x * 60 - 30, y + (37 * x * (layer + 3) % 70) * (1 if x % 2 else -1)) for x in range(18)]
        pen.polygon([(0, 600), *points, (960, 600)], fill=colour)
    return pictures.jpeg(image)


async def attachment(room, person, talk, data, type, name):
    answer = await upload(room, person.user, talk, data, type, f"?name={name}", token=person.access)
    return {key: value for key, value in answer.json["attachment"].items() if key != "name"}


async def scene(accounts):
    """A user with people and conversations. Returns the people, their clients, and the user's conversation with Bob."""
    people, clients = await friends(accounts, "Ana Lovelace", "Bob Ray", "Zoë Adeyemi", "דנה לוי", "Cy Twombly", "Eve Online")
    ana, bob, zoe, dana, cy, eve = people
    mine, bobs, zoes, danas, cys, eves = clients
    room = Room(accounts.server)
    answer = await accounts.api.request("PUT", "/v1/me/photo", portrait(), token=bob.access)
    assert answer.status == 200, answer
    # The app's own request after sign-up.
    await ana.call("PATCH", "/v1/me", {"changes": {"setupCompleted": True, "username": "ana.l"}})
    await zoes.status("busy", text="In a meeting until three")
    await danas.activity("idle")
    await mine.did("addContacts", users=[each.user for each in people[1:]])
    talk = await direct(mine, bob)
    await say(bobs, talk, "Morning! Did you see the numbers?")
    await say(mine, talk, "Just now")
    await say(mine, talk, "We are at 99.98 % for the quarter, and the last two weeks had nothing at all.")
    picture = await attachment(room, bob, talk, hills(), "image/jpeg", "hills.jpg")
    await say(bobs, talk, "The view from the train, to celebrate", more={"attachments": [picture]})
    report = await attachment(room, ana, talk, bytes(183_000), "application/pdf", "Quarterly%20report.pdf")
    await say(mine, talk, "The whole report, and the page behind it: https://status.example.org/reports/2026-Q3 (from Monday on).",
              more={"attachments": [report]})
    await say(bobs, talk, "Ha!")
    last = await say(bobs, talk, "Reading it on the way. Shall we talk at four? I have the room on the second floor until half past five.")
    await bobs.did("mark", conversation=talk, read=last["seq"])
    await mine.did("mark", conversation=talk, read=last["seq"])
    await say(mine, talk, "Four is good")
    group = (await clients[4].did("createConversation", participants=[ana.user, bob.user, zoe.user], name="Trip to the Alps"))["conversation"]["id"]
    await say(cys, group, "Is there snow?")
    await say(cys, group, "Then I bring the big tent")
    await say(danas, await direct(danas, ana), "See you at 8")
    await say(eves, await direct(eves, ana), "Supercalifragilisticexpialidocious")
    await say(zoes, await direct(zoes, ana), "All of us at the lake")
    await eves.close()
    return people, clients, talk


async def settle(page):
    """Waits until pictures are decoded, fonts are there and transitions have ended."""
    await page.run("""
        await document.fonts.ready;
        // Pictures outside of the view are not loaded.
        const loaded = [...document.images].filter((image) => image.loading !== "lazy").map((image) => image.decode().catch(() => {}));
        await Promise.race([Promise.all(loaded), new Promise((resolve) => setTimeout(resolve, 3_000))]);
        await new Promise((resolve) => setTimeout(resolve, 400));""")


async def draw(page, name, width=1180, height=940):
    """A picture for the documents: the whole page, so without scroll bars."""
    await page.resize(width=width, height=height)
    await settle(page)
    await page.resize(width=width, height=max(height, await page.value("document.documentElement.scrollHeight")))
    await settle(page)
    file = os.path.join(FOLDER, f"{name}.png")
    await page.screenshot(file)
    with Image.open(file) as image:
        image.convert("RGB").quantize(255, dither=Image.Dither.NONE).save(file, optimize=True)


async def looks(page, name):
    """One screen at all widths, light and dark."""
    for width, height in WIDTHS.items():
        for dark in (False, True):
            await page.resize(width=width, height=height, dark=dark)
            await settle(page)
            await page.screenshot(os.path.join(FOLDER, f"{name}-{width}-{'dark' if dark else 'light'}.png"))
            assert await page.value("document.documentElement.scrollWidth <= innerWidth"), (name, width)


async def test_pictures_of_the_app(chromium, start):
    accounts = Accounts(start(SETTINGS))
    people, clients, talk = await scene(accounts)
    async with Line(accounts.server) as line, chromium:
        page = await chromium.page(line.origin + "/app", expected=KNOWN, width=1180, height=940)
        await title(page, "Sign in")
        await looks(page, "gallery-1-sign-in")
        await fill(page, "email", people[0].email)
        await fill(page, "password", "correct horse battery")
        await page.key("Enter")
        await title(page, "Chats")
        await page.run(f"location.hash = '/talk/{talk}'")
        await shows(page, "Four is good")
        await shows(page, "Quarterly report.pdf")
        await page.until("document.querySelector('.talk img')?.naturalWidth > 0 || document.querySelector('.bubble img')?.naturalWidth > 0")
        await draw(page, "app", height=980)
        await looks(page, "gallery-2-talk")
        await page.run("location.hash = '/conversations'")
        await looks(page, "gallery-3-chats")
        await page.run("location.hash = '/people'")
        await title(page, "People")
        await shows(page, "Bob Ray")
        await looks(page, "gallery-4-people")
        for place, name in {"profile": "5-profile", "privacy": "6-privacy"}.items():
            await page.run(f"location.hash = '/{place}'")
            await looks(page, f"gallery-{name}")


async def test_pictures_of_the_console(chromium, start):
    room = Room(start(CONSOLE | SETTINGS, shards=2))
    people, clients, talk = await scene(Accounts(room.server))
    crowd = [await room.come(f"user{number}", "web") for number in range(12)]
    ana = await room.come("ana", "web")
    await ana.update(displayName="Ana Example")
    phone = await room.come("ana", "phone")
    await phone.close()

    for each in crowd:
        await each.did("subscribe", users=[other.user for other in crowd])

    async def stir():
        for turn in range(10_000):
            await crowd[turn % len(crowd)].status("busy" if turn // len(crowd) % 2 else "auto")
            await asyncio.sleep(0.05)

    async with chromium:
        page = await console(chromium, room, expected=KNOWN, width=1180, height=940)
        stirring = asyncio.create_task(stir())
        try:
            await page.until("document.querySelector('.overall').dataset.kind === 'good'")
            await shows(page, "here ·")
            await page.run("await new Promise((resolve) => setTimeout(resolve, 60_000))")
            await draw(page, "console", height=800)
            await looks(page, "gallery-7-overview")
            ana.abort()
            await page.run(f"location.hash = '/person/{ana.user}'")
            await shows(page, "did not come back")
            await looks(page, "gallery-8-why")
            await page.run("location.hash = '/people'")
            await title(page, "People")
            await looks(page, "gallery-9-people")
        finally:
            stirring.cancel()


async def test_pictures_of_the_playground(chromium, start):
    room = Room(start(CONSOLE))
    async with chromium:
        page = await console(chromium, room, "/playground", expected=KNOWN, width=1180, height=740)
        for name in ("Ana", "Ben"):
            await says(page, name, "Live")
        for name, text in (("Ana", "Boarding now"), ("Ben", "Already?"), ("Ana", "Gate closes at six")):
            await write(page, name, text)
            await page.key("Enter")
            await says(page, "Ben" if name == "Ana" else "Ana", text)
        await airplane(page, "Ben")
        await says(page, "Ana", "Offline")
        await write(page, "Ben", "I am in the air")
        await page.key("Enter")
        await says(page, "Ben", "Waits for a connection")
        await draw(page, "playground", height=860)
        await looks(page, "gallery-10-playground")
