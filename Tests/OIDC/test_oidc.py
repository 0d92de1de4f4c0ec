"""Signing in at another implementation of an OpenID provider: with its pages in Chromium, and with wrong answers of its own.

It leaves `state` out of the answer to a person who denies (against RFC 6749, section 4.1.2.1), so such a person is in
test_26_accounts_browsers.py only."""

import json
import os
import secrets
import urllib.error
import urllib.parse
import urllib.request
from types import SimpleNamespace

import pytest

from support.accounts import Accounts
from support.app import EVERYTHING, app, fill, press, title
from support.ports import free_port
from test_26_accounts_browsers import Browser, code_of, secret_file

ISSUER = os.environ["OIDC_PROVIDER"]
STYLES = ("Failed to load resource",)
"""The provider's pages have a style sheet of another host."""


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def ask(method, url, body=None, **headers):
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        return urllib.request.build_opener(Stay).open(request, timeout=30)
    except urllib.error.HTTPError as error:
        return error


class Mock:
    """The provider, for `Browser`."""

    issuer = ISSUER

    @staticmethod
    def know(subject, **claims):
        assert ask("PUT", f"{ISSUER}/users/{subject}", json.dumps(claims).encode(), **{"Content-Type": "application/json"}).status == 204

    @staticmethod
    def consent(url, subject, **more):
        """The fields of the answer to a person who has signed in there."""
        answer = ask("POST", url, urllib.parse.urlencode({"sub": subject} | more).encode())
        assert answer.status == 302, answer.read()
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.headers["Location"]).query))

    def authorize(self, url, subject, email=None):
        if email:
            self.know(subject, email=email, email_verified=True)
        return self.consent(url, subject)


@pytest.fixture
def accounts(start, tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    app = json.load(ask("POST", f"{ISSUER}/oauth2/clients", json.dumps({
        "redirect_uris": [f"{url}/v1/signin/mock/callback"], "token_endpoint_auth_method": "client_secret_post"}).encode(),
        **{"Content-Type": "application/json"}))
    return Accounts(start(EVERYTHING | {"accounts.linkBase": f"{url}/app", "accounts.providers": [{
        "name": "mock", "kind": "oidc", "issuer": ISSUER, "clientIds": [app["client_id"]],
        "clientSecretFile": secret_file(tmp_path, app["client_secret"]), "button": "Sign in with the mock"}]}, arguments=["--port", str(port)]))


def at(accounts):
    return SimpleNamespace(origin=f"http://{accounts.server.host}:{accounts.server.port}")


async def enter(page, subject):
    """Signs in at the provider's page."""
    await page.until("!!document.querySelector('[name=sub]')", "the provider's page")
    await fill(page, "sub", subject)
    await page.run("document.querySelector('[name=sub]').form.querySelector('button:not([value=deny])').click()")


async def test_a_person_signs_up_and_in_with_a_browser(chromium, accounts):
    subject, email = secrets.token_hex(8), accounts.address()
    Mock.know(subject, email=email, email_verified=True, name="Ana King")
    async with chromium:
        page = await app(chromium, at(accounts), expected=STYLES)
        await press(page, "Sign in with the mock")
        await enter(page, subject)
        await page.until("document.querySelector('[name=displayName]')?.value === 'Ana King'")
        assert await page.value("location.href") == at(accounts).origin + "/app"
        await press(page, "Continue")
        await title(page, "Chats")
    code = code_of(await Browser(accounts).sign_in(Mock(), subject, name="mock"))
    answer = await accounts.post("/v1/sessions", code=code)
    assert answer.status == 200 and answer.json["account"]["email"] == email and answer.json["account"]["emailVerified"] is True


async def test_an_address_that_the_provider_does_not_verify_is_not_the_accounts(accounts):
    subject, email = secrets.token_hex(8), accounts.address()
    Mock.know(subject, email=email)
    answer = await accounts.post("/v1/sessions", code=code_of(await Browser(accounts).sign_in(Mock(), subject, name="mock")))
    assert answer.status == 201 and "email" not in answer.json["account"]


async def test_the_providers_code_works_once(accounts):
    browser = Browser(accounts)
    fields = Mock().authorize(await browser.begin("mock"), secrets.token_hex(8))
    cookies = dict(browser.cookies)
    code_of((await browser.finish(fields, "mock")).headers["Location"])
    browser.cookies = cookies
    assert (await browser.finish(fields, "mock")).headers["Location"] == "/app#error=invalid_credentials"


async def test_a_code_of_another_sign_in_is_refused(accounts):
    """Injected into one's own sign-in: its token has another nonce."""
    victim, attacker = Browser(accounts), Browser(accounts)
    stolen = Mock().authorize(await victim.begin("mock"), secrets.token_hex(8))["code"]
    fields = Mock().authorize(await attacker.begin("mock"), secrets.token_hex(8)) | {"code": stolen}
    assert (await attacker.finish(fields, "mock")).headers["Location"] == "/app#error=invalid_credentials"


async def test_an_invented_code_is_refused(accounts):
    browser = Browser(accounts)
    fields = Mock().authorize(await browser.begin("mock"), secrets.token_hex(8)) | {"code": "invented"}
    assert (await browser.finish(fields, "mock")).headers["Location"] == "/app#error=invalid_credentials"
