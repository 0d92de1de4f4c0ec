"""The settings of the app at /app: visibility, blocked users, address, password, devices, and deleting the account."""

from support.app import BUBBLES, accounts, answer, app, direct, enter, fill, friends, press, settings, shot, shows, title, write  # noqa: F401 (a fixture)
from support.accounts import PASSWORD
from support.browser import NETWORK
from support.line import Line
from support.patience import eventually

REFUSED = (*NETWORK, "401", "429")


async def pick(page, name, value):
    await page.run(f"const input = document.querySelector('[name={name}]'); input.value = {value!r}; input.dispatchEvent(new Event('change', {{ bubbles: true }}))")


async def test_visibility_settings_are_chosen_and_stored(chromium, accounts):
    (ana, bob), (own, client) = await friends(accounts, "Ana", "Bob Ray")
    await client.did("subscribe", users=[ana.user])
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=())
        await settings(page, "Privacy")
        await page.until("document.querySelector('[name=presence]').value === 'everyone'")
        for name, value in {"presence": "contacts", "lastSeen": "nobody", "receipts": "nobody", "findable": "contacts"}.items():
            await pick(page, name, value)
            await shows(page, "Saved.")
            await page.run("document.querySelector('.note').remove(); document.activeElement.blur()")
        kept = (await own.did("getVisibility"))["visibility"]
        assert kept == {"presence": "contacts", "lastSeen": "nobody", "receipts": "nobody", "findable": "contacts"}
        await shot(page, "privacy")
        # Another device changes it, and this one follows.
        await own.did("setVisibility", visibility={"presence": "nobody"})
        await page.until("document.querySelector('[name=presence]').value === 'nobody'")


async def test_a_user_is_blocked_and_unblocked(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, ana)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=())
        await page.run(f"location.hash = '/person/{bob.user}'")
        await title(page, "Person")
        await shows(page, "Bob Ray")
        await press(page, "Block Bob Ray")
        await answer(page, "Block Bob Ray?", "Block")
        await page.until("[...document.querySelectorAll('.person button')].some((each) => each.ariaLabel === 'Unblock Bob Ray')")
        await client.refused("forbidden", "send", conversation=id, message={"id": "a", "text": "Hello"})
        await settings(page, "Privacy")
        await page.until("document.querySelector('.page .people strong')?.textContent === 'Bob Ray'")
        await shot(page, "blocked")
        await press(page, "Unblock Bob Ray")
        await shows(page, "Nobody is blocked.")
        await client.did("send", conversation=id, message={"id": "a", "text": "Hello"})
        # In a conversation the same is in its details.
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until(f"{BUBBLES}.join() === 'Hello'")
        await page.run("document.querySelector('.about-talk').click()")
        await page.until("!document.querySelector('.details').hidden")
        await press(page, "Block Bob Ray")
        await answer(page, "Block Bob Ray?", "Block")
        await page.until("[...document.querySelectorAll('.details button')].some((each) => each.ariaLabel === 'Unblock Bob Ray')")


async def test_password_and_address_are_changed_with_the_password(chromium, accounts):
    person = await accounts.sign_up(displayName="Ana")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, person, expected=REFUSED)
        await settings(page, "Account")
        await shows(page, person.email)
        forms = "document.querySelectorAll('account-screen form')"
        put = lambda number, name, text: page.run(f"const input = {forms}[{number}].querySelector('[name={name}]'); input.value = {text!r}; input.dispatchEvent(new Event('input', {{ bubbles: true }}))")  # noqa: E731
        await put(1, "password", "not the password")
        await put(1, "newPassword", "an entirely new one")
        await press(page, "Change password")
        await shows(page, "This is not your password.")
        await put(1, "password", PASSWORD)
        await press(page, "Change password")
        await shows(page, "Your password is changed.")
        assert (await accounts.sign_in(person.email, "an entirely new one")).status == 200
        wanted = accounts.address("new")
        await put(0, "email", wanted)
        await put(0, "password", "an entirely new one")
        await press(page, "Change email")
        await shows(page, "sent to the new address")
        token = await accounts.mail(wanted, 1, "verify")
        assert (await accounts.post("/v1/emails/verify", token=token)).status < 300
        await page.until(f"document.querySelector('account-screen strong').textContent === {wanted!r}")
        await shows(page, "Confirmed")
        await shot(page, "account")


async def test_another_device_is_signed_out_by_itself_and_all_at_once(chromium, accounts):
    person = await accounts.sign_up(displayName="Ana")
    await accounts.signed_in(person.email, device={"kind": "phone", "name": "Ana’s phone"})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, person, expected=REFUSED)
        await settings(page, "Devices")
        await page.until("document.querySelectorAll('devices-screen li').length === 3")
        assert await page.value("document.querySelector('devices-screen li').innerText.includes('This device')")
        await shot(page, "devices")
        await press(page, "Sign out Ana’s phone")
        await page.until("document.querySelectorAll('devices-screen li').length === 2")
        assert len((await person.call("GET", "/v1/me/sessions")).json["sessions"]) == 2
        await press(page, "Sign out on all devices")
        await title(page, "Sign in")
        await eventually(lambda: refused(person), "the session is over")


async def refused(person):
    return (await person.call("GET", "/v1/me")).status == 401


async def test_an_account_is_deleted_after_a_question(chromium, accounts):
    person = await accounts.sign_up(displayName="Ana")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, person, expected=REFUSED)
        await settings(page, "Account")
        await press(page, "Delete my account")
        await shows(page, "Please fill in this field.")
        await page.run("const input = [...document.querySelectorAll('[name=password]')].at(-1); input.value = arguments; ".replace("arguments", repr(PASSWORD)))
        await press(page, "Delete my account")
        await answer(page, "Delete your account for good?", "Cancel")
        assert (await person.call("GET", "/v1/me")).status == 200
        await page.run("[...document.querySelectorAll('[name=password]')].at(-1).value = arguments".replace("arguments", repr(PASSWORD)))
        await press(page, "Delete my account")
        await answer(page, "Delete your account for good?", "Delete")
        await title(page, "Sign in")
        assert (await accounts.sign_in(person.email)).status == 401
