"""Signing in with a provider in a browser: the redirects, the cookie, the code, and attacks on them."""

import base64
import hashlib
import json
import os
import secrets
import urllib.parse

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support.accounts import ON, Accounts, refused
from support.provider import Provider

COOKIE = "presence-signin-test"
OUTSIDE = "https://app.example.org/signed-in"


@pytest.fixture(scope="module")
def provider():
    provider = Provider()
    yield provider
    provider.stop()


def secret_file(directory, text=Provider.SECRET):
    path = os.path.join(directory, "secret-" + secrets.token_hex(4))
    with open(path, "w") as file:
        file.write(text + "\n")
    os.chmod(path, 0o600)
    return path


@pytest.fixture
def accounts(provider, start, tmp_path):
    file = secret_file(tmp_path)
    return Accounts(start(ON | {
        "accounts.returnURLs": [OUTSIDE],
        "accounts.providers": [
            provider.settings(clientSecretFile=file), provider.settings("twin", clientSecretFile=file),
            provider.settings("apps")]}))


class Browser:
    """A browser with its cookies."""

    def __init__(self, accounts):
        self.accounts, self.cookies, self.attributes = accounts, {}, {}

    async def get(self, path, form=None):
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urllib.parse.urlencode(form).encode()
            answer = await self.accounts.api.request("POST", path, body, headers=headers)
        else:
            answer = await self.accounts.api.request("GET", path, headers=headers)
        for line in answer.headers.get_all("Set-Cookie") or []:
            pair, *attributes = line.split("; ")
            name, _, value = pair.partition("=")
            self.attributes[name] = set(attributes)
            if "Max-Age=0" in attributes:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer

    async def begin(self, name="test", **query):
        query = {"return": "/app"} | query
        answer = await self.get(f"/v1/signin/{name}?" + urllib.parse.urlencode(query))
        assert answer.status == 302 and answer.headers["Cache-Control"] == "no-store", answer
        return answer.headers["Location"]

    async def finish(self, fields, name="test", by_form=False):
        path = f"/v1/signin/{name}/callback"
        if by_form:
            return await self.get(path, fields)
        return await self.get(path + "?" + urllib.parse.urlencode(fields))

    async def sign_in(self, provider, subject, email=None, name="test", **query):
        answer = await self.finish(provider.authorize(await self.begin(name, **query), subject, email), name)
        assert answer.status == 302, answer
        return answer.headers["Location"]


def code_of(location, address="/app"):
    assert location.startswith(address + "#code="), location
    return location.partition("#code=")[2]


async def test_a_browser_signs_in(accounts, provider):
    browser, email = Browser(accounts), accounts.address()
    url = await browser.begin()
    assert browser.attributes[COOKIE] == {"Path=/", "Max-Age=600", "HttpOnly", "SameSite=Lax"}
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    assert asked["redirect_uri"].endswith("/v1/signin/test/callback") and asked["scope"] == "openid email profile"
    answer = await browser.finish(provider.authorize(url, email, email))
    code = code_of(answer.headers["Location"])
    assert browser.cookies == {} and answer.headers["Referrer-Policy"] == "no-referrer"
    answer = await accounts.post("/v1/sessions", code=code, device={"kind": "web"})
    assert answer.status == 201 and answer.json["created"] is True and answer.json["account"]["email"] == email
    again = await accounts.post("/v1/sessions", code=code_of(await browser.sign_in(provider, email, email)))
    assert again.status == 200 and again.json["user"] == answer.json["user"] and again.json["created"] is False


async def test_a_provider_may_answer_by_a_form(accounts, provider):
    browser = Browser(accounts)
    answer = await browser.finish(provider.authorize(await browser.begin(), "form"), by_form=True)
    assert (await accounts.post("/v1/sessions", code=code_of(answer.headers["Location"]))).status == 201


async def test_a_code_works_once(accounts, provider):
    browser = Browser(accounts)
    url = await browser.begin()
    cookies, fields = dict(browser.cookies), provider.authorize(url, "once")
    code = code_of((await browser.finish(fields)).headers["Location"])
    assert (await accounts.post("/v1/sessions", code=code)).status == 201
    for wrong in (code, code[:-1] + ("A" if code[-1] != "A" else "B"), "", "x" * 5_000):
        answer = await accounts.post("/v1/sessions", code=wrong)
        refused(answer, 401, "unauthorized", "invalid_credentials", field="code")
    # The provider's code was used too.
    browser.cookies = cookies
    answer = await browser.finish(fields)
    assert answer.headers["Location"] == "/app#error=invalid_credentials"


async def test_a_page_can_bind_the_code_to_itself(accounts, provider):
    """Then another person's code, in a link, does not sign a user in to that person's account."""
    browser, verifier = Browser(accounts), secrets.token_urlsafe(32)
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    for given, status in [({}, 401), ({"verifier": "another"}, 401), ({"verifier": verifier}, 201)]:
        code = code_of(await browser.sign_in(provider, "bound", challenge=digest))
        assert (await accounts.post("/v1/sessions", code=code, **given)).status == status
    answer = await browser.get("/v1/signin/test?return=/app&challenge=short")
    refused(answer, 400, "bad_request", field="challenge")


async def test_another_browser_cannot_finish_a_sign_in(accounts, provider):
    """Neither an attacker's answer in a victim's browser, nor a victim's answer in an attacker's."""
    victim, attacker = Browser(accounts), Browser(accounts)
    attacks = provider.authorize(await attacker.begin(), "attacker")
    refused(await victim.finish(attacks), 400, "bad_request", field="state")
    await victim.begin()
    refused(await victim.finish(attacks), 400, "bad_request", field="state")
    assert attacks["code"] in provider.granted
    for cookie in ("", "x.y", attacker.cookies[COOKIE] + "A", "A" + attacker.cookies[COOKIE]):
        victim.cookies = {COOKIE: cookie}
        refused(await victim.finish(attacks), 400, "bad_request", field="state")
    for fields in ({}, {"state": ""}, {"code": attacks["code"]}):
        refused(await attacker.finish(fields), 400, "bad_request", field="state")


async def test_an_answer_belongs_to_its_provider(accounts, provider):
    browser = Browser(accounts)
    fields = provider.authorize(await browser.begin(), "mixed")
    # The cookie of one provider is not good for another, under its own name or the other's.
    browser.cookies["presence-signin-twin"] = browser.cookies[COOKIE]
    refused(await browser.finish(fields, "twin"), 400, "bad_request", field="state")
    answer = await browser.finish(fields | {"iss": "https://other.example.org"})
    assert answer.headers["Location"] == "/app#error=invalid_credentials"
    fields = provider.authorize(await browser.begin(), "mixed")
    code_of((await browser.finish(fields | {"iss": provider.issuer})).headers["Location"])


async def test_the_token_must_be_for_this_sign_in(accounts, provider):
    browser = Browser(accounts)
    for claims in ({"aud": "app-3"}, {"iss": "https://other.example.org"}, {"exp": 1}):
        answer = await browser.finish(provider.authorize(await browser.begin(), "wrong", **claims))
        assert answer.headers["Location"] == "/app#error=invalid_credentials"
    fields = provider.authorize(await browser.begin(), "wrong")
    asked, _ = provider.granted[fields["code"]]
    provider.granted[fields["code"]] = asked, provider.token("wrong", nonce="of another sign-in")
    assert (await browser.finish(fields)).headers["Location"] == "/app#error=invalid_credentials"


async def test_a_denied_sign_in_returns_to_the_page(accounts, provider):
    browser = Browser(accounts)
    state = provider.authorize(await browser.begin(), "denied")["state"]
    answer = await browser.finish({"state": state, "error": "access_denied"})
    assert answer.status == 302 and answer.headers["Location"] == "/app#error=access_denied"
    state = provider.authorize(await browser.begin(), "denied")["state"]
    answer = await browser.finish({"state": state, "error": "a b&c=d#" + "x" * 100})
    assert answer.headers["Location"] == "/app#error=a%20b%26c%3Dd%23" + "x" * 56


@pytest.mark.parametrize("address", [
    "https://evil.example.org", "//evil.example.org", "/\\evil.example.org", "\\\\evil.example.org", "app", "", "javascript:x",
    OUTSIDE + "/more", OUTSIDE + "#x", "/app#code=x", "/app\r\nSet-Cookie: x", "/" + "a" * 512, " /app", "/\tapp", "/v1/signin/twin?return=/app",
    # A browser or the server makes a path below /v1/ of these.
    "/%76%31/signin/twin", "/%761/signin/twin?return=/app", "/./v1/signin/twin", "/app/../v1/signin/twin", "/%2e/v1/signin/twin",
    "/app/%2E%2e/v1/signin/twin", "/app/.%2e/v1/signin/twin", "/v1%2fsignin/twin", "/app%5Cv1", "/app/..", "/app%", "/app%7"])
async def test_browsers_return_to_no_other_address(accounts, address):
    answer = await Browser(accounts).get("/v1/signin/test?" + urllib.parse.urlencode({"return": address}))
    refused(answer, 400, "bad_request", field="return")


async def test_browsers_return_to_configured_addresses(accounts, provider):
    browser = Browser(accounts)
    code_of(await browser.sign_in(provider, "outside", **{"return": OUTSIDE}), OUTSIDE)
    code_of(await browser.sign_in(provider, "inside", **{"return": "/app?a=b"}), "/app?a=b")
    plain = "/app/caf%C3%A9%20au%20lait/a.b/...?next=/./v1/%61"
    code_of(await browser.sign_in(provider, "plain", **{"return": plain}), plain)
    refused(await browser.get("/v1/signin/test"), 400, "bad_request", field="return")
    refused(await browser.get("/v1/signin/test?return=/a&return=/b"), 400, "bad_request", field="return")


async def test_only_providers_with_a_secret_are_for_browsers(accounts):
    for name in ("apps", "none"):
        refused(await Browser(accounts).get(f"/v1/signin/{name}?return=/app"), 404, "not_found")
        refused(await Browser(accounts).get(f"/v1/signin/{name}/callback?state=x"), 404, "not_found")
    listed = (await accounts.api.request("GET", "/v1/server")).json["signIn"]["providers"]
    assert [each["browser"] for each in listed] == [True, True, False]


async def test_a_broken_provider_returns_to_the_page(accounts, provider):
    browser = Browser(accounts)
    fields = provider.authorize(await browser.begin(), "broken")
    provider.broken = 500
    answer = await browser.finish(fields)
    provider.broken = None
    assert answer.headers["Location"] == "/app#error=provider_unavailable"


async def test_apple_gets_a_signed_secret_and_answers_by_a_form(start, tmp_path):
    provider, key = Provider(), ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    seen = []

    def is_secret(text):
        head, claims, _ = (part + "=" * (-len(part) % 4) for part in text.split("."))
        seen.append((json.loads(base64.urlsafe_b64decode(head)), json.loads(base64.urlsafe_b64decode(claims))))
        return True

    provider.is_secret = is_secret
    accounts = Accounts(start(ON | {
        "accounts.linkBase": "https://presence.example.org/app", "accounts.providers": [
            provider.settings(kind="apple", keyFile=secret_file(tmp_path, pem), teamId="TEAM123456", keyId="KEY1234567")]}))
    browser = Browser(accounts)
    url = await browser.begin()
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    assert asked["response_mode"] == "form_post" and asked["scope"] == "name email"
    assert asked["redirect_uri"] == "https://presence.example.org/v1/signin/test/callback"
    name = "__Host-" + COOKIE
    assert browser.attributes[name] == {"Path=/", "Max-Age=600", "HttpOnly", "SameSite=None", "Secure"}
    answer = await browser.finish(provider.authorize(url, "apple"), by_form=True)
    code_of(answer.headers["Location"])
    [(head, claims)] = seen
    assert head == {"alg": "ES256", "kid": "KEY1234567", "typ": "JWT"}
    assert claims["iss"] == "TEAM123456" and claims["sub"] == provider.CLIENT and claims["aud"] == provider.issuer
    assert 0 < claims["exp"] - claims["iat"] <= 600
    provider.stop()
