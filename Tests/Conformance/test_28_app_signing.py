"""Signing up and in, in the app at /app: forms, links in mails, addresses that make no sense."""

import re

import pytest

from support.accounts import PASSWORD
from support.app import REFUSED, accounts, app, fill, press, settings, settled, shot, shows, sign_out, sign_up, title  # noqa: F401 (a fixture)
from support.line import Line


async def test_the_servers_address_alone_is_the_app(chromium, accounts):
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, path="/", expected=())
        await title(page, "Sign in")
        await settled(page, accounts)
        await page.go(line.origin + "/")
        await title(page, "Chats")


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
        page.expected = REFUSED
        await fill(page, "displayName", "Ana \u202e")
        await fill(page, "email", "ana@example.org")
        await fill(page, "password", PASSWORD)
        await page.key("Enter")
        await shows(page, "Display name must be without control and bidirectional-control characters.")
        page.expected = ()
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
        await title(page, "Chats")
        await page.go(line.origin + "/app#/profile")
        await title(page, "Profile")
        await page.reload()
        await page.until("document.querySelector('[name=displayName]')?.value === 'Ana King'")
        await shot(page, "profile")
        await settings(page, "Account")
        await shows(page, email)


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
        await title(page, "Chats")


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
        await sign_out(page)
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
        await title(page, "Confirm your email")
        # Mail scanners open pages too: the link is used only when the user presses a button.
        assert not [url for method, url in page.requests if url.endswith("/emails/verify")]
        await press(page, "Confirm my email address")
        await shows(page, "Your email address is confirmed.")
        # Using the same link again is not an error.
        await page.go(line.origin + "/healthz")
        await page.go(f"{line.origin}/verify#token={token}")
        await press(page, "Confirm my email address")
        await shows(page, "If you have confirmed your address with it, all is well.")
        assert await page.value("document.querySelectorAll('main .bad:not(:empty)').length") == 0
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


async def test_the_link_of_a_mail_signs_in_after_a_press(chromium, accounts):
    person = await accounts.sign_up(f"an+a{accounts.address()}")
    _, token = await accounts.code(person.email)
    link = re.search(r"/signin#\S+", accounts.code_mails(person.email)[0]).group()
    async with Line(accounts.server) as line, chromium:
        page = await app(chromium, line, expected=REFUSED)
        await page.go(line.origin + link)
        await title(page, "Sign in")
        await shows(page, person.email)
        assert token not in await page.value("location.href")
        await press(page, "Sign in")
        await title(page, "Set up your profile")
        await page.go(line.origin + "/healthz")
        await page.go(line.origin + link)
        await press(page, "Sign in")
        await shows(page, "This link was used before, or is no longer valid.")
        assert not [url for _, url in page.requests if token in url]


async def test_the_link_of_a_newer_mail_in_the_same_tab_takes_the_place_of_the_older(chromium, accounts):
    """The browser does not load the page again then: only the part after # differs."""
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
            await title(page, "Chats")
        else:
            await shows(page, "You are not in this conversation.")
        # And on.
        await settings(page, "Profile")
