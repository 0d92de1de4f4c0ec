"""The app at /app, as a person uses it: typing into fields, pressing buttons, with nothing on the console."""

import asyncio
import gzip
import http.client
import os
import re

import pytest
from PIL import Image

from support.accounts import ON, PASSWORD, Accounts
from support.api import API
from support.browser import WEB
from support.line import Line
from support.pictures import png
from support.room import Room
from test_28_browser import NETWORK

SHOTS = os.environ.get("SCREENSHOTS")
"""A directory for pictures of what was seen, to look at."""

REFUSED = ("Failed to load resource", "closed before the connection is established")
"""What Chromium writes about an answer such as 401, and when somebody signs out while a socket opens."""

EVERYTHING = ON | {"app.enabled": True}


@pytest.fixture
def accounts(start):
    """A server of its own: sign-ups from one address are few."""
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
    """Types into the field of a name, in place of what is in it."""
    await page.run(f"const field = document.querySelector('[name={name}]'); field.focus(); field.select?.()")
    if text:
        await page.type(text)
    else:
        await page.key("Backspace")


def found(text):
    return (f"[...document.querySelectorAll('button, a')].find((each) => !each.hidden && "
            f"each.textContent === {text!r} || each.getAttribute('aria-label') === {text!r})")


async def press(page, text):
    """Presses a button or a link by what it says."""
    await page.until(f"{found(text)} && !{found(text)}.disabled", f"{text!r} can be pressed")
    await page.run(f"{found(text)}.click()")


async def shows(page, text):
    await page.until(f"document.body.innerText.includes({text!r})", f"{text!r} is shown")


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
    """Somebody who has signed up and sees people; their id."""
    await sign_up(page, accounts, name)
    await press(page, "Skip profile setup")
    await title(page, "People")
    return await page.until("document.querySelector('code').textContent.startsWith('u-') && document.querySelector('code').textContent")


# The files


async def test_files_have_types_tags_and_are_compressed(start):
    server = start(EVERYTHING)
    api = API(server)
    for path, type in {"/presence.js": "text/javascript", "/presence.d.ts": "text/plain", "/app": "text/html",
                       "/presence-messages.js": "text/javascript", "/presence-messages.d.ts": "text/plain",
                       "/presence-log.js": "text/javascript", "/presence-outbox.js": "text/javascript",
                       "/verify": "text/html", "/reset": "text/html", "/app/app.css": "text/css", "/app/app.js": "text/javascript",
                       "/app/icon.svg": "image/svg+xml"}.items():
        answer = await api.request("GET", path)
        assert answer.status == 200 and answer.headers["Content-Type"].split(";")[0] == type, (path, answer)
        assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Cache-Control"] == "no-cache"
        tag = answer.headers["ETag"]
        assert (await api.request("GET", path, headers={"If-Match": tag})).status == 200
        assert (await api.request("GET", path, headers={"If-Match": '"x"'})).status == 412
        again = await api.request("GET", path, headers={"If-None-Match": tag})
        assert again.status == 304 and not again.body, path
        head = await api.request("HEAD", path)
        assert head.status == 200 and not head.body and head.headers["ETag"] == tag
        assert head.headers["Content-Length"] == answer.headers["Content-Length"]
    with open(os.path.join(WEB, "presence.js")) as file:
        assert (await api.request("GET", "/presence.js")).body == file.read()
    packed = await asyncio.to_thread(raw, server, "/presence.js")
    assert packed.headers["Content-Encoding"] == "gzip" and len(packed.content) < 16_000
    assert gzip.decompress(packed.content).startswith(b"// presence.js")
    assert packed.headers["Access-Control-Allow-Origin"] == "*"
    # Either form has a tag of its own.
    plain = await api.request("GET", "/presence.js")
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding" and "Content-Encoding" not in plain.headers
    assert packed.headers["ETag"] != plain.headers["ETag"] and not packed.headers["ETag"].startswith("W/")
    for tag, status in {packed.headers["ETag"]: 304, plain.headers["ETag"]: 200}.items():
        again = await asyncio.to_thread(raw, server, "/presence.js", {"If-None-Match": tag})
        assert (again.status, again.headers["Vary"]) == (status, "Accept-Encoding")
    part = await asyncio.to_thread(raw, server, "/presence.js", {"Range": "bytes=0-99"})
    assert part.status == 206 and part.content == packed.content[:100] and part.headers["Content-Encoding"] == "gzip"


def raw(server, path, headers={}):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"} | headers)
    answer = connection.getresponse()
    answer.content = answer.read()
    connection.close()
    return answer


async def test_pages_keep_foreign_scripts_out(start):
    api = API(start(EVERYTHING))
    for path in ("/app", "/verify", "/reset"):
        answer = await api.request("GET", path)
        policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'" and policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'" and policy["base-uri"] == "'none'", policy
        assert not re.search(r"<style|style=|onclick|<script(?! type=\"module\" src=)", answer.body)
        assert answer.headers["Referrer-Policy"] == "no-referrer"


async def test_without_its_switch_there_is_the_library_and_no_app(start):
    api = API(start({}))
    assert (await api.request("GET", "/presence.js")).status == 200
    for path in ("/app", "/app/app.js", "/verify", "/reset"):
        assert (await api.request("GET", path)).status == 404


async def test_all_of_it_is_small(start):
    """As it goes over the wire."""
    server = start(EVERYTHING | {"console.enabled": True})
    files = [os.path.relpath(os.path.join(folder, name), WEB) for folder, _, names in os.walk(WEB) for name in names]
    places = ["/" + name.removesuffix("/index.html") for name in files]
    answers = [await asyncio.to_thread(raw, server, place) for place in places]
    assert len(files) > 30 and {answer.status for answer in answers} == {200}, places
    total = sum(len(answer.content) for answer in answers)
    print(f"{total} bytes")
    assert total <= 200 * 1_024


# Signing up and in


async def test_somebody_signs_up_sets_up_a_profile_and_sees_people(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=())
        await title(page, "Sign in")
        await shot(page, "sign-in")
        await press(page, "Sign up")
        await title(page, "Sign up")
        await press(page, "Sign up")
        await shows(page, "Display name cannot be empty")
        assert await page.value("document.activeElement.name") == "displayName"
        await shot(page, "sign-up-error")
        await page.run("location.hash = '/sign-in'")
        email = await sign_up(page, accounts)
        await page.until("document.querySelector('[name=displayName]').value === 'Ana Lovelace'")
        await shot(page, "setup")
        await fill(page, "displayName", "")
        await press(page, "Continue")
        await shows(page, "Display name cannot be empty")
        await fill(page, "displayName", "x" * 46)
        assert await page.value("document.querySelector('.count').textContent") == "46/50"
        assert await page.value("document.querySelector('.count').classList.contains('near')")
        await fill(page, "displayName", "👨‍👩‍👧" * 60)
        assert await page.value("document.querySelector('.count').textContent") == "50/50"
        await fill(page, "displayName", "  Ana King ")
        await press(page, "Continue")
        await title(page, "People")
        await page.go(line.origin + "/app#/profile")
        await title(page, "Profile")
        await page.reload()
        await page.until("document.querySelector('[name=displayName]')?.value === 'Ana King'")
        await shows(page, email)
        await shot(page, "profile")


async def test_setup_can_be_skipped_and_does_not_come_again(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=())
        await settled(page, accounts)
        await page.reload()
        await title(page, "People")


async def test_a_failed_save_is_told_and_can_be_tried_again(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line)
        await sign_up(page, accounts)
        await page.until("document.querySelector('[name=displayName]').value")
        line.cut()
        await press(page, "Continue")
        await shows(page, "Network error. Please check your connection.")
        await shows(page, "No connection.")
        await shot(page, "setup-offline")
        line.mend()
        await press(page, "Continue")
        await title(page, "People")


async def test_wrong_passwords_are_told_and_the_right_one_signs_in(chromium, accounts):
    person = await accounts.sign_up(displayName="Ana")
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        await title(page, "Sign in")
        await press(page, "Sign in")
        await shows(page, "Please enter your email or username.")
        await fill(page, "email", person.email)
        await fill(page, "password", "not the password")
        await press(page, "Show password")
        assert await page.value("document.querySelector('[name=password]').type") == "text"
        await page.run("document.querySelector('form').requestSubmit()")
        await shows(page, "Invalid email or password.")
        await fill(page, "password", PASSWORD)
        assert not await page.value("document.body.innerText.includes('Invalid email or password.')")
        await page.key("Enter")
        await title(page, "Set up your profile")
        await press(page, "Sign out")
        await title(page, "Sign in")


async def test_a_taken_email_and_a_weak_password_stand_at_their_fields(chromium, accounts):
    person = await accounts.sign_up()
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, path="/app#/sign-up", expected=REFUSED)
        await title(page, "Sign up")
        await fill(page, "displayName", "Ana")
        await fill(page, "email", "no address")
        await fill(page, "password", "short")
        await page.key("Enter")
        await shows(page, "Please enter a valid email address.")
        await fill(page, "email", person.email)
        await page.run("document.querySelector('form').requestSubmit()")
        await page.until("document.querySelector('[name=password]').getAttribute('aria-invalid') === 'true'")
        assert "8" in await page.value("document.getElementById(document.querySelector('[name=password]').id + '-error').textContent")
        await fill(page, "password", PASSWORD)
        await page.key("Enter")
        await shows(page, "This email is already registered.")
        assert await page.value("document.activeElement.name") == "email"


async def test_a_password_is_forgotten_and_set_anew_by_the_links_of_mails(chromium, accounts):
    person = await accounts.sign_up()
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        token = await accounts.mail(person.email, 1, "verify")
        await page.go(f"{line.origin}/verify#token={token}")
        await shows(page, "Your email address is confirmed.")
        assert token not in await page.value("location.href")
        await page.go(line.origin + "/app#/forgot")
        await title(page, "Reset your password")
        await fill(page, "email", person.email)
        await page.key("Enter")
        await shows(page, "Password reset email sent!")
        await shot(page, "forgot")
        token = await accounts.mail(person.email, 1, "reset")
        await page.go(f"{line.origin}/reset#token={token}")
        await title(page, "Choose a new password")
        await fill(page, "password", "an entirely new one")
        await page.key("Enter")
        await title(page, "Sign in")
        await shows(page, "Your password is changed.")
        await fill(page, "email", person.email)
        await fill(page, "password", "an entirely new one")
        await page.key("Enter")
        await title(page, "Set up your profile")
        assert not [url for _, url in page.requests if token in url]


async def test_the_link_of_a_newer_mail_in_the_same_tab_takes_the_place_of_the_older(chromium, accounts):
    """The browser does not load the page again then: only the part behind # is another."""
    person = await accounts.sign_up()
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        await page.go(f"{line.origin}/reset#token=an-older-one")
        await title(page, "Choose a new password")
        await fill(page, "password", "an entirely new one")
        await page.key("Enter")
        await shows(page, "This link is no longer valid.")
        await accounts.api.request("POST", "/v1/passwords/forgot", {"email": person.email})
        token = await accounts.mail(person.email, 1, "reset")
        await page.run(f"location.href = '/reset#token={token}'")
        await page.until("!location.href.includes('token')")
        await page.until("!document.body.innerText.includes('no longer valid')")
        await fill(page, "password", "an entirely new one")
        await page.key("Enter")
        await title(page, "Sign in")
        await shows(page, "Your password is changed.")


@pytest.mark.parametrize("address", ["talk/%", "talk/", "talk/%E0%A4%A", "talk/two%20words", "%", "talk/%3Cimg%3E"])
async def test_an_address_that_makes_no_sense_leads_somewhere(chromium, accounts, address):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=())
        await settled(page, accounts)
        await page.go(f"{line.origin}/app#/{address}")
        if "img" not in address:
            await title(page, "Conversations" if address.startswith("talk") else "People")
        else:
            await shows(page, "You are not in this conversation.")
        # And on.
        await press(page, "Profile")
        await title(page, "Profile")


# The profile


async def test_the_profile_is_saved_and_unsaved_changes_are_asked_about(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=())
        user = await settled(page, accounts)
        await press(page, "Profile")
        await page.until("document.querySelector('[name=displayName]')?.value === 'Ana Lovelace'")
        assert await page.value(f"{found('Save')}.disabled")
        await fill(page, "displayName", "Ana B.")
        assert not await page.value(f"{found('Save')}.disabled")
        # Somebody who would leave is asked, and stays.
        await page.run("globalThis.asked = []; globalThis.confirm = (text) => (asked.push(text), false)")
        await press(page, "People")
        await page.until("asked.length === 1 && location.hash === '#/profile'")
        assert "unsaved changes" in (await page.value("asked"))[0]
        await press(page, "Save")
        await shows(page, "Profile Updated")
        assert await page.value(f"{found('Save')}.disabled")
        room = Room(accounts.server)
        read = await room.api.request("GET", f"/v1/users/{user}", token=room.backend)
        assert read.json["profile"]["displayName"] == "Ana B."
        # A change elsewhere is followed, unless something else is typed.
        await room.api.request("PATCH", f"/v1/users/{user}/profile", {"displayName": "From elsewhere"}, token=room.backend)
        await page.until("document.querySelector('[name=displayName]').value === 'From elsewhere'")
        await press(page, "People")
        await title(page, "People")


async def test_what_is_typed_before_the_profile_is_known_stays(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        await settled(page, accounts)
        await page.run("""
            const shown = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
            location.hash = "/profile";
            await shown;
            const input = document.querySelector("[name=username]");
            input.value = "early.bird";
            input.dispatchEvent(new Event("input", { bubbles: true }));""")
        await page.until("document.querySelector('[name=displayName]').value === 'Ana Lovelace'")
        assert await page.value("document.querySelector('[name=username]').value") == "early.bird"
        assert not await page.value(f"{found('Save')}.disabled")


async def test_a_username_is_checked_while_it_is_typed_and_saved(chromium, accounts):
    other = await accounts.sign_up()
    assert (await other.call("PUT", "/v1/me/username", {"username": "taken.name"})).status == 200
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        await settled(page, accounts)
        await press(page, "Profile")
        await title(page, "Profile")
        await fill(page, "username", "Taken.Name")
        await shows(page, "This username is already taken.")
        await press(page, "Save")
        await page.until("document.querySelector('[name=username]').getAttribute('aria-invalid') === 'true'")
        await fill(page, "username", ".no")
        await press(page, "Save")
        await shows(page, "Invalid username format. Use 3-30 characters, letters, numbers, periods, and underscores.")
        wanted = f"ana.{other.user[-6:]}"
        await fill(page, "username", wanted)
        await shows(page, "Available")
        await press(page, "Save")
        await shows(page, "Profile Updated")
        await shot(page, "username")
        # Asked for once for each name that stood for half a second, and never for one that cannot be.
        asked = [url for method, url in page.requests if "/v1/usernames/" in url]
        assert [url.rsplit("/", 1)[1] for url in asked] == ["Taken.Name", wanted], asked
        await page.reload()
        await page.until(f"document.querySelector('[name=username]')?.value === {wanted!r}")
        await fill(page, "username", "")
        await press(page, "Save")
        await shows(page, "Profile Updated")
        free = await accounts.api.request("GET", f"/v1/usernames/{wanted}")
        assert free.json["available"], free


async def choose(page, file):
    """Chooses a file, as in the browser's dialog."""
    root = await page.send("DOM.getDocument")
    node = await page.send("DOM.querySelector", nodeId=root["root"]["nodeId"], selector="input[type=file]")
    await page.send("DOM.setFileInputFiles", nodeId=node["nodeId"], files=[str(file)])


async def test_a_photo_is_uploaded_shown_to_others_and_removed(chromium, accounts, tmp_path):
    (tmp_path / "picture.png").write_bytes(png(Image.new("RGB", (600, 400), "#2456c8")))
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "notes.txt").write_text("no picture")
    with open(tmp_path / "huge.jpg", "wb") as huge:
        huge.truncate(5 * 1024 * 1024 + 1)
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        user = await settled(page, accounts)
        await press(page, "Profile")
        await page.until("document.querySelector('presence-avatar').textContent === 'AL'")
        await choose(page, tmp_path / "huge.jpg")
        await shows(page, "Image is too large. Maximum size is 5MB.")
        await choose(page, tmp_path / "notes.txt")
        await shows(page, "Please choose a JPEG or PNG picture.")
        assert not [url for _, url in page.requests if url.endswith("/v1/me/photo")], "nothing was sent"
        await choose(page, tmp_path / "text.png")
        await shows(page, "This file cannot be used.")
        await choose(page, tmp_path / "picture.png")
        await shows(page, "Photo saved")
        await page.until("document.querySelector('presence-avatar img')?.naturalWidth === 600")
        await shot(page, "photo")
        read = await accounts.api.request("GET", f"/v1/users/{user}", token=Room(accounts.server).backend)
        assert "/v1/photos/" in read.json["profile"]["photoURL"]
        await press(page, "Remove photo")
        await page.until("document.querySelector('presence-avatar').textContent === 'AL'")


async def test_a_picture_that_cannot_be_loaded_is_tried_again_and_initials_stand_in_its_place(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        await title(page, "Sign in")
        # Two seconds are a hundredth of one; the picture that is asked for is not there, until it is another one.
        await page.run("""
            await import("/app/parts.js");
            const plain = setTimeout;
            globalThis.setTimeout = (act, ms, ...rest) => plain(act, ms === 2_000 ? 20 : ms, ...rest);
            globalThis.tries = 0;
            globalThis.made = document.createElement("presence-avatar");
            new MutationObserver(() => (tries += made.querySelectorAll("img").length)).observe(made, { childList: true });
            document.body.append(made);
            made.show("Ana Lopez", "/v1/photos/none");""")
        await page.until("tries === 4 && made.textContent === 'AL'")
        await page.run("made.show('Ana Lopez', '/app/icon.svg')")
        await page.until("made.querySelector('img')?.naturalWidth")
        assert await page.value("getComputedStyle(made.querySelector('img')).animationDuration") == "0.25s"


async def test_lists_have_a_shape_until_they_are_known(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line)
        await settled(page, accounts)
        # What the page says to the server waits, as on a slow network.
        await page.send("Page.addScriptToEvaluateOnNewDocument", source="""
            globalThis.held = [];
            const { send } = WebSocket.prototype;
            WebSocket.prototype.send = function (text) { held ? held.push([this, text]) : send.call(this, text); };
            globalThis.release = () => {
                const all = held;
                held = null;
                for (const [socket, text] of all) send.call(socket, text);
            };""")
        await page.reload()
        for name in ("People", "Conversations"):
            await press(page, name)
            await title(page, name)
            await page.until("document.querySelectorAll('.skeleton').length === 3", f"{name} have a shape")
        await page.run("release()")
        await shows(page, "None yet.")
        assert not await page.value("document.querySelector('.skeleton')")
        await press(page, "People")
        await shows(page, "Nobody yet.")
        assert not await page.value("document.querySelector('.skeleton')")


async def test_an_upload_can_be_cancelled_and_one_that_fails_tried_again(chromium, accounts, tmp_path):
    (tmp_path / "picture.png").write_bytes(png(Image.new("RGB", (64, 64))))
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line)
        await settled(page, accounts)
        await press(page, "Profile")
        await page.until("document.querySelector('presence-avatar').textContent === 'AL'")
        line.freeze()
        await choose(page, tmp_path / "picture.png")
        await page.until("document.querySelector('progress').hidden === false")
        # What was chosen is shown at once, and taken back.
        await page.until("document.querySelector('presence-avatar img')?.src.startsWith('blob:') && document.querySelector('presence-avatar img').naturalWidth === 64")
        assert await page.value(f"{found('Change photo')}?.disabled ?? document.querySelector('.photo button').disabled")
        await press(page, "Cancel")
        await shows(page, "Upload cancelled")
        await page.until("document.querySelector('presence-avatar').textContent === 'AL'")
        line.open.set()
        line.cut()
        await choose(page, tmp_path / "picture.png")
        await shows(page, "Network error. Please check your connection.")
        line.mend()
        await press(page, "Try again")
        # The server may not have noticed yet that the first upload is over: then it says when to come again.
        for _ in range(10):
            await page.until("/Photo saved|Too many attempts/.test(document.body.innerText)")
            if await page.value("document.body.innerText.includes('Photo saved')"):
                break
            await asyncio.sleep(1.2)
            await press(page, "Try again")
        await shows(page, "Photo saved")


# People, and typing


async def test_people_come_and_go_and_see_each_other_type(chromium, accounts, browser):
    async with Line(accounts.server) as line, chromium, browser.session() as other:
        ana = await app(chromium, line, expected=())
        ana_id = await settled(ana, accounts)
        bob = await app(other, line, expected=())
        bob_id = await settled(bob, accounts, "Bob Ray")
        await fill(ana, "users", "two words")
        await ana.key("Enter")
        await shows(ana, "Please enter an id")
        # A page has a clipboard, or it has none: then the id is chosen, for the keys that copy.
        await bob.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => (globalThis.copied = text) }, configurable: true })")
        await press(bob, "Copy your id")
        await shows(bob, "Copied")
        assert await bob.value("copied") == bob_id
        await bob.run("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        await press(bob, "Copy your id")
        await bob.until(f"getSelection().toString() === {bob_id!r}")
        await fill(ana, "users", bob_id)
        await ana.key("Enter")
        await shows(ana, "Bob Ray")
        await ana.until("document.querySelector('.people presence-avatar').getAttribute('status') === 'online'")
        assert await ana.value("document.querySelector('.people presence-avatar').textContent") == "BR"
        await bob.run("document.querySelector('[name=status]').value = 'busy'")
        await fill(bob, "text", "In a meeting")
        await press(bob, "Set status")
        await shows(ana, "Busy · In a meeting")
        await shot(ana, "people")
        # A conversation, in which each sees that the other types.
        await press(ana, "Talk to Bob Ray")
        await title(ana, "Bob Ray")
        await bob.go(await ana.value("location.href"))
        await title(bob, "Ana Lovelace")
        await fill(bob, "text", "I think")
        await shows(ana, "Bob Ray is typing…")
        await shot(ana, "typing")
        await fill(bob, "text", "")
        await ana.until("document.querySelector('.typing').textContent === ''")
        await fill(ana, "text", "Do you?")
        await shows(bob, "Ana Lovelace is typing…")
        # Leaving the page ends it.
        await press(ana, "People")
        await bob.until("document.querySelector('.typing').textContent === ''")
        # Who signs out is seen to go.
        await press(bob, "Sign out")
        await title(bob, "Sign in")
        await shows(ana, "last seen just now")
        await shot(ana, "people-offline")
        await press(ana, "Remove Bob Ray")
        await shows(ana, "Nobody yet.")


async def test_a_lost_connection_is_told_and_the_page_goes_on_afterwards(chromium, accounts):
    person = await accounts.sign_up(displayName="Bob Ray")
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line)
        await settled(page, accounts)
        await fill(page, "users", person.user)
        await page.key("Enter")
        await shows(page, "Bob Ray")
        line.cut()
        await shows(page, "No connection. What is shown may be old.")
        await shows(page, "(as last known)")
        await shot(page, "people-lost")
        line.mend()
        await page.until("document.querySelector('.banner').textContent === ''")
        await page.until("!document.body.innerText.includes('(as last known)')")


# For everybody


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
        await title(page, "People")
        assert await page.value("document.activeElement.textContent") == "People", "the heading has the focus"


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
        await title(page, "People")
        await fill(page, "users", "u-with-quite-a-long-id-that-somebody-has-made-by-hand-0123456789")
        await page.key("Enter")
        await page.until("!!document.querySelector('.people li')")
        await checked(page, "people", dark)
        await press(page, "Profile")
        await title(page, "Profile")
        await checked(page, "profile", dark)
        await page.run("location.hash = '/talk/nothing'")
        await shows(page, "You are not in this conversation.")
        await checked(page, "talk-nobody", dark)


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
