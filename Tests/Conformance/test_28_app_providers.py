"""Signing in to the app at a provider's page."""

import json
from types import SimpleNamespace

import pytest

from support.accounts import Accounts
from support.app import EVERYTHING, REFUSED, app, press, shot, shows, title
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


BUTTONS = """JSON.stringify([...document.querySelectorAll('.providers > button')].map((button) => {
  const { backgroundColor, borderColor, color, fontSize, fontWeight } = getComputedStyle(button);
  const { width, height } = button.getBoundingClientRect();
  const logo = button.querySelector('svg'), { left, right, top, bottom } = logo?.getBoundingClientRect() ?? {};
  const place = button.getBoundingClientRect();
  return { text: button.textContent, backgroundColor, borderColor, color, fontSize, fontWeight, width, height,
    logo: logo ? [right - left, ...[...logo.children].map((path) => getComputedStyle(path).fill)] : null,
    isInside: !logo || left > place.left && right < place.right && top > place.top && bottom < place.bottom };
}))"""
BLACK, WHITE = "rgb(0, 0, 0)", "rgb(255, 255, 255)"
COLOURS = {
    "light": {"apple": (BLACK, BLACK, WHITE), "google": (WHITE, "rgb(116, 119, 117)", "rgb(31, 31, 31)")},
    "dark": {"apple": (WHITE, WHITE, BLACK), "google": ("rgb(19, 19, 20)", "rgb(142, 145, 143)", "rgb(227, 227, 227)")}}
"""Fill, edge and text, in Apple's Human Interface Guidelines and Google's branding guidelines."""
G = ["rgb(234, 67, 53)", "rgb(66, 133, 244)", "rgb(251, 188, 5)", "rgb(52, 168, 83)"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1000])
async def test_buttons_are_as_apple_and_google_require(chromium, start, provider, tmp_path, scheme, width):
    file = tmp_path / "secret"
    file.write_text(Provider.SECRET)
    file.chmod(0o600)
    kinds = [("apple", "apple"), ("google", "google"), ("company", "oidc")]
    server = Accounts(start(EVERYTHING | {"accounts.providers": [
        {"name": name, "kind": kind, "clientIds": ["app-1"], "issuer": provider.issuer, "clientSecretFile": str(file)}
        for name, kind in kinds]}))
    async with chromium:
        page = await app(chromium, at(server), expected=())
        await page.resize(width, 900, dark=scheme == "dark")
        await shows(page, "Sign in with Google")
        apple, google, company = json.loads(await page.value(BUTTONS))
        await shot(page, f"providers-{scheme}-{width}")
        assert [each["text"] for each in (apple, google, company)] == [
            "Sign in with Apple", "Sign in with Google", "Sign in with company"]
        for name, each in ("apple", apple), ("google", google):
            assert (each["backgroundColor"], each["borderColor"], each["color"]) == COLOURS[scheme][name], each
            assert each["fontWeight"] == "500" and each["isInside"]
        assert apple["logo"][1:] == [apple["color"]] and google["logo"] == [18, *G]
        assert apple["fontSize"] == "19px" and google["fontSize"] == "14px"
        # Apple's is at least 140 by 30, Google's is 40 high, and none is larger than another.
        assert {(each["width"], each["height"]) for each in (apple, google, company)} == {(apple["width"], 44)}
        assert apple["width"] >= 240 and company["logo"] is None
