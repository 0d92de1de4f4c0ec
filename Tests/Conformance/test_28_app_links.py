"""Links in the app at /app: those in texts, and a user's own link, with its QR code."""

import hashlib
import urllib.parse

from support.app import BUBBLES, accounts, answer, app, direct, enter, fill, friends, press, shot, shows, title  # noqa: F401 (a fixture)
from support.accounts import PASSWORD
from support.line import Line


async def test_addresses_in_texts_are_links_that_load_nothing_before_a_click(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, ana)
    texts = {
        "see https://example.org/a?b=c#d, then www.example.org.": ["https://example.org/a?b=c#d", "https://www.example.org/"],
        "(https://example.org/wiki/Swift_(bird))": ["https://example.org/wiki/Swift_(bird)"],
        "(see https://example.org/x)": ["https://example.org/x"],
        "www.example.org" + ")." * 2_000: ["https://www.example.org/"],
        "https://example.org/" + "a" * 3_000: [],
        "javascript:alert(1) data:text/html,x http:// https://[ ana@example.org": [],
        "<a href='https://example.org/q'>x</a>": ["https://example.org/q"],
    }
    for number, text in enumerate(texts):
        await client.did("send", conversation=id, message={"id": f"m{number}", "text": text})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=())
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until(f"{BUBBLES}.length === {len(texts)}")
        assert await page.value(BUBBLES) == list(texts), "what is written stays"
        links = "[...document.querySelectorAll('.messages .text')].map((each) => [...each.querySelectorAll('a')].map(({ href }) => href))"
        assert await page.value(links) == list(texts.values())
        rels = await page.value("[...document.querySelectorAll('.messages .text a')].map(({ rel, target }) => `${rel} ${target}`)")
        assert set(rels) == {"noopener noreferrer nofollow _blank"}
        assert not [url for _, url in page.requests if "example.org" in url]


async def test_a_persons_link_asks_and_starts_a_conversation(chromium, accounts, browser):
    bob = await accounts.sign_up(displayName="Bob Ray")
    ana = await accounts.sign_up(displayName="Ana")
    async with Line(accounts.server) as line, chromium, browser.session() as other:
        page = await enter(chromium, line, bob, expected=())
        await page.run("location.hash = '/invite'")
        await title(page, "Your link")
        link = await page.value("document.querySelector('code.link').textContent")
        assert link == f"{line.origin}/app#/add/{bob.user}"
        assert await page.value("document.querySelector('.code[role=img]').ariaLabel") == "QR code of your link"
        await shot(page, "invite")
        await page.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => (globalThis.copied = text) }, configurable: true })")
        await press(page, "Copy your link")
        assert await page.value("copied") == link
        # A user who has to sign in first is led on afterwards.
        guest = await app(other, line, path=f"/app#/add/{bob.user}", expected=())
        await title(guest, "Sign in")
        await shows(guest, "Sign in to talk to the person who has sent you this link.")
        await fill(guest, "email", ana.email)
        await fill(guest, "password", PASSWORD)
        await guest.key("Enter")
        await title(guest, "Set up your profile")
        await press(guest, "Skip profile setup")
        await answer(guest, "Start a conversation with Bob Ray?", "Start")
        await title(guest, "Bob Ray")
        # The other user is notified.
        await page.run("location.hash = '/chats'")
        await page.until("document.querySelector('.talks strong')?.textContent === 'Ana'")
        # Declining leads nowhere, an unknown user's link leads nowhere, and the own link is explained.
        await guest.run("location.hash = '/people'")
        await guest.until("!!document.querySelector('[data-user]')")
        await guest.run(f"location.hash = '/add/{bob.user}'")
        await answer(guest, "Start a conversation with Bob Ray?", "Cancel")
        await title(guest, "Chats")
        assert await guest.value("location.hash") == "#/chats"
        await guest.run("location.hash = '/add/u-nobody'")
        await shows(guest, "Nobody has this link any more.")
        await guest.run(f"location.hash = '/add/{ana.user}'")
        await shows(guest, "This is your own link")
        # Where a user is added, a link works like an id.
        await guest.run("location.hash = '/people'")
        await title(guest, "People")
        await fill(guest, "users", f"{line.origin}/app#/add/{urllib.parse.quote(bob.user)}")
        await guest.key("Enter")
        await guest.until("document.querySelector('[name=users]').value === ''")


CODES = {
    "a": "e8ab680854e4019c4ac89bd0e19dfe1f7e967f3cafd048091b3e3ec474b6f431",
    "http://127.0.0.1:4040/app#/add/u-z4myp6kbtqwrwr3fhdat2b": "ab5c145bd6641683f615fc444955442a302414b61dbc9aaa004fae684ede33dc",
    "q" * 120: "be4964440789ef9ffe29e5f78c7e22f61b308e8190682ff8ca14f0a65e5e7f1a",
    "z" * 213: "f6862dc828d614e511c1aea5f5a112d3daed5599ae635fd3e675eb5a0f04fc3a",
}
"""SHA-256 of the modules as another program makes them with the same mask (qrcode 8.2 of PyPI): versions 1, 4, 7 and 10."""


async def test_codes_are_those_that_others_make(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=())
        await page.run("globalThis.squaresOf = (await import('/app/qr.js')).squaresOf")
        for text, wanted in CODES.items():
            rows = await page.value(f"squaresOf({text!r}).map((row) => row.map(Number).join(''))")
            assert hashlib.sha256("\n".join(rows).encode()).hexdigest() == wanted, text
        assert await page.value("squaresOf('z'.repeat(214)) === undefined")
