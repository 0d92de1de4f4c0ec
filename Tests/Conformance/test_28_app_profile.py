"""The profile in the app at /app: its name, username and picture."""

import asyncio

from PIL import Image

from support.app import REFUSED, accounts, answer, app, choose, fill, found, press, settings, settled, shot, shows, title  # noqa: F401 (a fixture)
from support.line import Line
from support.pictures import png
from support.room import Room


async def test_the_profile_is_saved_and_unsaved_changes_are_asked_about(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=())
        user = await settled(page, accounts)
        await settings(page, "Profile")
        await page.until("document.querySelector('[name=displayName]')?.value === 'Ana Lovelace'")
        assert await page.value(f"{found('Save')}.disabled")
        await fill(page, "displayName", "Ana B.")
        assert not await page.value(f"{found('Save')}.disabled")
        # A user who is about to leave is asked, and stays.
        await press(page, "People")
        await answer(page, "You have unsaved changes.", "Cancel")
        await page.until("location.hash === '#/profile'")
        await press(page, "Save")
        await shows(page, "Profile Updated")
        assert await page.value(f"{found('Save')}.disabled")
        room = Room(accounts.server)
        read = await room.api.request("GET", f"/v1/users/{user}", token=room.backend)
        assert read.json["profile"]["displayName"] == "Ana B."
        # A change elsewhere is shown, unless other text is being typed.
        await room.api.request("PATCH", f"/v1/users/{user}/profile", {"displayName": "From elsewhere"}, token=room.backend)
        await page.until("document.querySelector('[name=displayName]').value === 'From elsewhere'")
        await press(page, "People")
        await title(page, "People")


async def test_a_profile_that_is_not_known_does_not_look_empty(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line)
        await settled(page, accounts)
        line.cut()
        await shows(page, "No connection.")
        await settings(page, "Profile")
        await page.until("document.querySelector('[name=displayName]')?.placeholder === 'Loading…'")
        await fill(page, "username", "somebody")
        assert await page.value(f"{found('Save')}.disabled")
        assert await page.value("!document.body.innerText.includes('Remove photo')")
        await shot(page, "profile-lost")
        line.mend()
        await page.until("document.querySelector('[name=displayName]').value === 'Ana Lovelace'")
        assert await page.value("[...document.querySelectorAll('input')].every((input) => !input.placeholder)")
        assert not await page.value(f"{found('Save')}.disabled")


async def test_text_typed_before_the_profile_is_known_stays(chromium, accounts):
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
        await settings(page, "Profile")
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
        # Requested once for each name that stayed for half a second, and never for an invalid one.
        asked = [url for method, url in page.requests if "/v1/usernames/" in url]
        assert [url.rsplit("/", 1)[1] for url in asked] == ["Taken.Name", wanted], asked
        await page.reload()
        await page.until(f"document.querySelector('[name=username]')?.value === {wanted!r}")
        await fill(page, "username", "")
        await press(page, "Save")
        await shows(page, "Profile Updated")
        free = await accounts.api.request("GET", f"/v1/usernames/{wanted}")
        assert free.json["available"], free


async def test_a_photo_is_uploaded_shown_to_others_and_removed(chromium, accounts, tmp_path):
    (tmp_path / "picture.png").write_bytes(png(Image.new("RGB", (600, 400), "#2456c8")))
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "notes.txt").write_text("no picture")
    with open(tmp_path / "huge.jpg", "wb") as huge:
        huge.truncate(5 * 1024 * 1024 + 1)
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        user = await settled(page, accounts)
        await settings(page, "Profile")
        await page.until("document.querySelector('.photo presence-avatar').textContent === 'AL'")
        await choose(page, tmp_path / "huge.jpg")
        await shows(page, "Image is too large. Maximum size is 5MB.")
        await choose(page, tmp_path / "notes.txt")
        await shows(page, "Please choose a JPEG or PNG picture.")
        assert not [url for _, url in page.requests if url.endswith("/v1/me/photo")], "nothing was sent"
        await choose(page, tmp_path / "text.png")
        await shows(page, "This file cannot be used.")
        await choose(page, tmp_path / "picture.png")
        await shows(page, "Photo saved")
        await page.until("document.querySelector('.photo presence-avatar img')?.naturalWidth === 600")
        await shot(page, "photo")
        read = await accounts.api.request("GET", f"/v1/users/{user}", token=Room(accounts.server).backend)
        assert "/v1/photos/" in read.json["profile"]["photoURL"]
        await press(page, "Remove photo")
        await page.until("document.querySelector('.photo presence-avatar').textContent === 'AL'")


async def test_a_picture_that_cannot_be_loaded_is_tried_again_and_initials_stand_in_its_place(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        await title(page, "Sign in")
        # Two seconds take a hundredth of one; the requested picture is missing until the address changes.
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


async def test_an_upload_can_be_cancelled_and_one_that_fails_tried_again(chromium, accounts, tmp_path):
    (tmp_path / "picture.png").write_bytes(png(Image.new("RGB", (64, 64))))
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line)
        await settled(page, accounts)
        await settings(page, "Profile")
        await page.until("document.querySelector('.photo presence-avatar').textContent === 'AL'")
        line.freeze()
        await choose(page, tmp_path / "picture.png")
        await page.until("document.querySelector('progress').hidden === false")
        # The chosen picture is shown at once, and withdrawn.
        await page.until("document.querySelector('.photo presence-avatar img')?.src.startsWith('blob:') && document.querySelector('.photo presence-avatar img').naturalWidth === 64")
        assert await page.value(f"{found('Change photo')}?.disabled ?? document.querySelector('.photo button').disabled")
        await press(page, "Cancel")
        await shows(page, "Upload cancelled")
        await page.until("document.querySelector('.photo presence-avatar').textContent === 'AL'")
        line.open.set()
        line.cut()
        await choose(page, tmp_path / "picture.png")
        await shows(page, "Network error. Please check your connection.")
        line.mend()
        await press(page, "Try again")
        # The server may not have noticed the end of the first upload yet: then it answers with a delay.
        for _ in range(10):
            await page.until("/Photo saved|Too many attempts/.test(document.body.innerText)")
            if await page.value("document.body.innerText.includes('Photo saved')"):
                break
            await asyncio.sleep(1.2)
            await press(page, "Try again")
        await shows(page, "Photo saved")


async def test_an_invalid_username_is_reported_while_it_is_typed(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=())
        await settled(page, accounts)
        await settings(page, "Profile")
        await page.until("document.querySelector('[name=displayName]')?.value === 'Ana Lovelace'")
        await fill(page, "username", "a")
        await shows(page, "Invalid username format.")
        assert not [url for _, url in page.requests if "/v1/usernames/" in url]
        await fill(page, "username", "ana.l")
        await shows(page, "Available")
