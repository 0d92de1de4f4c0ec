"""Signing in to the app at a provider's page."""

from types import SimpleNamespace

import pytest

from support.accounts import Accounts
from support.app import EVERYTHING, REFUSED, app, press, shows, title
from support.provider import Provider


@pytest.fixture
def provider():
    provider = Provider()
    yield provider
    provider.stop()


@pytest.fixture
def accounts(start, provider, tmp_path):
    file = tmp_path / "secret"
    file.write_text(Provider.SECRET)
    file.chmod(0o600)
    return Accounts(start(EVERYTHING | {"accounts.providers": [
        provider.settings(button="Sign in with Test", clientSecretFile=str(file)), provider.settings("apps", button="For apps")]}))


def at(accounts):
    """The server's own address, to which providers send browsers back."""
    return SimpleNamespace(origin=f"http://{accounts.server.host}:{accounts.server.port}")


async def test_a_user_signs_in_with_a_provider(chromium, accounts, provider):
    provider.person = {"subject": "ana", "email": accounts.address(), "name": "Ana King"}
    async with chromium:
        page = await app(chromium, at(accounts), expected=())
        await shows(page, "Sign in with Test")
        assert not await page.value("document.body.textContent.includes('For apps')")
        await press(page, "Sign in with Test")
        await page.until("document.querySelector('[name=displayName]')?.value === 'Ana King'")
        assert await page.value("location.href") == at(accounts).origin + "/app"
        await press(page, "Continue")
        await title(page, "Chats")


async def test_a_user_who_cancels_can_try_again(chromium, accounts, provider):
    async with chromium:
        page = await app(chromium, at(accounts), expected=())
        await page.go(at(accounts).origin + "/app#error=access_denied")
        await shows(page, "You have cancelled the sign-in.")
        assert await page.value("location.href") == at(accounts).origin + "/app"
        await press(page, "Sign in another way")
        await shows(page, "Sign in with Test")


@pytest.mark.parametrize("is_bound", [True, False])
async def test_another_persons_code_signs_nobody_in(chromium, accounts, provider, is_bound):
    """As a link of theirs would: `/app#code=…`. A user who signs in to another person's account writes into it."""
    async with chromium:
        page = await app(chromium, at(accounts), expected=())
        # The tab has begun a sign-in of its own.
        await page.run("sessionStorage['presence signIn'] = 'own'")
        provider.person = {"subject": "mallory", "email": accounts.address()}
        begin = f"/v1/signin/test?return=/app{'&challenge=' + 'x' * 43 if is_bound else ''}"
        page.expected = REFUSED
        await page.go(at(accounts).origin + begin)
        await shows(page, "The sign-in did not work. Please try again.")
        assert await page.value("sessionStorage['presence signIn'] === undefined")
        await page.go(at(accounts).origin + begin)
        await shows(page, "The sign-in did not work. Please try again.")
