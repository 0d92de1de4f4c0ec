"""The app at /app, used like a person does: typing into fields, pressing buttons. The console's tests use these
functions, too."""

import os

import pytest

from .accounts import ON, PASSWORD, Accounts
from .browser import NETWORK
from .room import Room

SHOTS = os.environ.get("SCREENSHOTS")
"""A directory for screenshots."""

REFUSED = ("Failed to load resource", "closed before the connection is established")
"""Chromium's messages about an answer such as 401, and about a sign-out while a socket opens."""

EVERYTHING = ON | {"app.enabled": True}
BUBBLES = "[...document.querySelectorAll('.messages .text')].map((each) => each.textContent)"
STATUS = "[...document.querySelectorAll('.mine .status')].at(-1)?.textContent.replace(/^[ ·]+/, '')"


@pytest.fixture
def accounts(start):
    """A separate server, because sign-ups from one address are limited."""
    return Accounts(start(EVERYTHING))


async def app(chromium, line, path="/app", expected=NETWORK, **size):
    return await chromium.page(line.origin + path, expected=expected, **({"width": 1000, "height": 900} | size))


async def shot(page, name):
    if SHOTS:
        await page.run("await document.fonts.ready; await new Promise(requestAnimationFrame)")
        await page.screenshot(os.path.join(SHOTS, f"{name}.png"))


async def title(page, text):
    await page.until(f"document.querySelector('h1')?.textContent === {text!r}", f"the page {text!r}")


async def fill(page, name, text):
    """Replaces the content of a named field."""
    await page.run(f"const field = document.querySelector('[name={name}]'); field.focus(); field.select?.()")
    if text:
        await page.type(text)
    else:
        await page.key("Backspace")


def found(text):
    return (f"[...document.querySelectorAll('button, a')].find((each) => !each.hidden && "
            f"each.textContent === {text!r} || each.getAttribute('aria-label') === {text!r})")


async def press(page, text):
    """Presses a button or a link by its text."""
    # In one step: a count in the text may change in between.
    pressed = f"((it) => it && !it.disabled && (it.click(), true))({found(text)})"
    await page.until(pressed, f"{text!r} can be pressed")


async def settings(page, name):
    """Opens a page of the settings."""
    await press(page, "Settings")
    link = f"[...document.querySelectorAll('settings-list a')].find((each) => each.querySelector('strong').textContent === {name!r})"
    await page.until(f"!!{link}")
    await page.run(f"{link}.click()")
    await title(page, name)


async def sign_out(page):
    await press(page, "Settings")
    await press(page, "Sign out")


ITEM = "document.querySelector('[role=menu]:popover-open')"


async def choose_item(page, text):
    """Chooses an item from the open menu."""
    item = f"[...({ITEM}?.children ?? [])].find((each) => each.textContent === {text!r})"
    await page.until(f"!!{item}", f"a menu has {text!r}")
    await page.run(f"{item}.click()")


async def act(page, action, text):
    """Opens the menu of the message with a text by keyboard, and chooses an item."""
    row = f"[...document.querySelectorAll('li[data-message]')].find((each) => each.querySelector('.text').textContent === {text!r})"
    await page.until(f"!!{row}")
    await page.run(f"{row}.focus()")
    await page.key("Enter")
    await choose_item(page, action)


async def details(page):
    """Opens a conversation's settings."""
    await press(page, "More")
    await choose_item(page, "Details")
    await page.until("document.activeElement.textContent === 'Details'")


QUESTION = "document.querySelector('dialog[open] p')?.textContent"


async def answer(page, question, choice):
    """Presses a button in a question's dialog."""
    await page.until(f"{QUESTION}?.includes({question!r})", f"asked {question!r}")
    await page.run(f"[...document.querySelectorAll('dialog[open] button')].find((each) => each.textContent === {choice!r}).click()")
    await page.until(f"!{QUESTION}")


async def shows(page, text):
    await page.until(f"document.body.innerText.includes({text!r})", f"{text!r} is shown")


async def choose(page, file):
    """Chooses a file, as in the browser's dialog."""
    root = await page.send("DOM.getDocument")
    node = await page.send("DOM.querySelector", nodeId=root["root"]["nodeId"], selector="input[type=file]")
    await page.send("DOM.setFileInputFiles", nodeId=node["nodeId"], files=[str(file)])


async def sign_up(page, accounts, name="Ana Lovelace"):
    email = accounts.address()
    await title(page, "Sign in")
    await press(page, "Sign up")
    await title(page, "Sign up")
    await fill(page, "displayName", name)
    await fill(page, "email", email)
    await fill(page, "password", PASSWORD)
    await page.key("Enter")
    await title(page, "Set up your profile")
    return email


async def settled(page, accounts, name="Ana Lovelace"):
    """Signs a user up and waits for the list of people. Returns the user's id."""
    await sign_up(page, accounts, name)
    await press(page, "Skip profile setup")
    await title(page, "Chats")
    await press(page, "People")
    await title(page, "People")
    return await page.until("document.querySelector('code.id')?.textContent")


async def enter(chromium, line, person, expected=NETWORK, **size):
    """A page of a user with an account, showing the people."""
    page = await app(chromium, line, expected=expected, **size)
    await title(page, "Sign in")
    await fill(page, "email", person.email)
    await fill(page, "password", PASSWORD)
    await page.key("Enter")
    await title(page, "Set up your profile")
    await press(page, "Skip profile setup")
    await title(page, "Chats")
    await press(page, "People")
    await title(page, "People")
    return page


async def friends(accounts, *names):
    """Users with accounts, and a protocol client for each."""
    room = Room(accounts.server)
    people = [await accounts.sign_up(displayName=name) for name in names]
    clients = [await (await room.socket()).connect(person.access) for person in people]
    return people, clients


async def direct(client, other):
    return (await client.did("createConversation", participants=[other.user]))["conversation"]["id"]


async def write(page, *texts):
    for text in texts:
        await fill(page, "text", text)
        await page.key("Enter")


async def stored(accounts, conversation):
    answer = await accounts.api.request(
        "GET", f"/v1/conversations/{conversation}/messages?limit=100", token=Room(accounts.server).backend)
    assert answer.status == 200, answer
    return answer.json["messages"]


async def checked(page, name, dark):
    await shot(page, f"{name}-360-{'dark' if dark else 'light'}")
    assert await page.value("document.documentElement.scrollWidth") <= 360, f"{name} is too wide"
    unnamed = await page.value("""[...document.querySelectorAll("input:not([hidden]), select, textarea, button:not([hidden]), a")]
        .filter((each) => !(each.labels?.length || each.getAttribute("aria-label") || each.textContent.trim()))
        .map((each) => each.outerHTML)""")
    assert not unnamed, unnamed
    assert await page.value("document.documentElement.lang && document.title.endsWith('Presence')")
    assert await page.value("document.querySelectorAll('h1').length === 1 && !!document.querySelector('main')")
    small = await page.value("""[...document.querySelectorAll("button:not([hidden])")]
        .map((each) => [each.textContent, each.getBoundingClientRect().height])
        .filter(([, height]) => height && height < 24)""")
    assert not small, small
    assert not (faint := await page.run(CONTRAST)), faint


CONTRAST = """
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const parts = (colour) => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (colour) => colour.slice(0, 3).map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
    const behind = (node) => {
        for (; node; node = node.parentElement) {
            const colour = parts(getComputedStyle(node).backgroundColor);
            if (colour[3] > 0) return colour;
        }
        return [255, 255, 255, 255];
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !node.getClientRects().length || node.closest("button:disabled, presence-avatar")) continue;
        const [one, two] = [light(parts(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
        const ratio = (one + 0.05) / (two + 0.05);
        if (ratio < 4.5) faint.push([node.textContent, ratio]);
    }
    return faint;
"""
