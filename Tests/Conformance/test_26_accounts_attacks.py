"""Attacks on signing in with a provider that need a provider's help or its trouble. test_26_accounts_providers.py has wrong tokens,
and test_26_accounts_browsers.py the attacks on a browser's sign-in."""

import asyncio
import secrets

import pytest

from support.accounts import ON, Accounts, refused
from support.patience import eventually
from support.provider import Key, Provider, sign
from test_26_accounts_browsers import COOKIE, Browser, code_of, secret_file
from test_26_accounts_providers import come, not_accepted, sign_in

TENANT, OTHER = "9188040d-6c67-4c5b-b112-36a304b66dad", "0f0f0f0f-1111-2222-3333-444444444444"


class Tenants(Provider):
    """Like Microsoft's address for the accounts of all tenants. Some of its keys sign for one tenant only."""

    def __init__(self):
        super().__init__("/common/v2.0")
        self.bound = Key()
        self.bound_jwk = self.bound.jwk | {"issuer": self.of(TENANT)}
        self.configuration = {"issuer": self.of("{tenantid}")}

    def of(self, tenant):
        return f"{self.base}/{tenant}/v2.0"

    def answer(self, request, path, body=None):
        if path != "/keys":
            return super().answer(request, path, body)
        keys = [key.jwk | {"issuer": self.of("{tenantid}")} for key in self.keys]
        return self.send(request, {"keys": [*keys, self.bound_jwk]})

    def token_of(self, tenant, subject="ana", **more):
        return self.token(subject, **({"iss": self.of(tenant), "tid": tenant} | more))


@pytest.fixture
def provider():
    provider = Provider()
    yield provider
    provider.gate.set()
    provider.stop()


async def test_tokens_name_their_own_tenant(start):
    provider = Tenants()
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings()]}))
    ana = await come(accounts, provider.token_of(TENANT))
    assert (await come(accounts, provider.token_of(TENANT), 200)).user == ana.user
    # The same subject of another tenant is another person.
    assert (await come(accounts, provider.token_of(OTHER))).user != ana.user
    for what, token in {
        "another tenant than the issuer's": provider.token_of(TENANT, tid=OTHER),
        "no tenant": provider.token_of(TENANT, tid=None),
        "a path as the tenant": provider.token_of("../" + TENANT),
        "no id as the tenant": provider.token_of("common"),
        "the template": provider.token_of("{tenantid}"),
        "the configured address": provider.token_of(TENANT, iss=provider.issuer),
    }.items():
        answer = await sign_in(accounts, token)
        assert answer.status == 401, (what, answer)
        not_accepted(answer)
    provider.stop()


async def test_a_key_of_one_tenant_signs_for_no_other(start):
    provider = Tenants()
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings()]}))
    await come(accounts, provider.token_of(TENANT, key=provider.bound))
    not_accepted(await sign_in(accounts, provider.token_of(OTHER, key=provider.bound)))
    await come(accounts, provider.token_of(OTHER))
    provider.stop()


async def test_a_token_without_a_key_id_is_of_the_only_key(start, provider):
    """OpenID Connect Core 1.0, section 10.1: a provider with one key need not name it."""
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings()]}))
    [key] = provider.keys

    def nameless(**more):
        header = {"alg": key.alg, "typ": "JWT"}
        return sign(header, provider.claims("ana"), (more.get("key") or key).sign)

    await come(accounts, nameless())
    not_accepted(await sign_in(accounts, nameless(key=Key())))
    not_accepted(await sign_in(accounts, provider.token("ana", header={"kid": ""})))


async def test_of_several_keys_a_token_must_name_one(start, provider):
    provider.keys.append(Key())
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings()]}))
    not_accepted(await sign_in(accounts, sign({"alg": "RS256"}, provider.claims("ana"), provider.keys[0].sign)))
    await come(accounts, provider.token("ana"))


async def test_unknown_keys_delay_no_known_one(start, provider):
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings()]}))
    await come(accounts, provider.token())
    before, good = provider.key_requests, provider.token()
    unknown = [provider.token(header={"kid": secrets.token_hex(4)}) for _ in range(8)]
    provider.gate.clear()
    flood = [asyncio.create_task(sign_in(accounts, token)) for token in unknown]
    await eventually(lambda: sum(provider.asked.values()) > 2, "the provider is asked again")
    # It has not answered yet.
    await come(accounts, good)
    provider.gate.set()
    # On a busy machine the provider may have been given up.
    assert {each.status for each in await asyncio.gather(*flood)} <= {401, 503}
    assert provider.key_requests <= before + 1


@pytest.mark.parametrize("what", ["too long", "elsewhere"])
async def test_documents_are_bounded_and_of_their_own_address(start, what):
    class Odd(Provider):
        def answer(self, request, path, body=None):
            if path != "/odd":
                return super().answer(request, path, body)
            if what == "elsewhere":
                return self.send(request, b"", 302, Location=f"{self.base}/keys")
            return self.send(request, {"keys": [self.keys[0].jwk], "more": "x" * 4_000_000})

    provider = Odd()
    provider.configuration = {"jwks_uri": f"{provider.base}/odd"}
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings()]}))
    refused(await sign_in(accounts, provider.token()), 503, "unavailable", "provider_unavailable")
    assert provider.key_requests == 0
    provider.stop()


async def test_a_browser_does_not_continue_a_sign_in_that_was_planted(start, provider, tmp_path):
    """Session fixation: each beginning has values of its own, whatever cookie the browser has."""
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings(clientSecretFile=secret_file(tmp_path))]}))
    attacker, victim = Browser(accounts), Browser(accounts)
    planted = provider.authorize(await attacker.begin(), "mallory")
    victim.cookies = dict(attacker.cookies)
    url = await victim.begin()
    assert victim.cookies[COOKIE] != attacker.cookies[COOKIE]
    asked, own = (dict(part.split("=") for part in each.split("?")[1].split("&")) for each in (await attacker.begin(), url))
    for name in ("state", "nonce", "code_challenge"):
        assert asked[name] != own[name], name
    refused(await victim.finish(planted), 400, "bad_request", field="state")
    subject = secrets.token_hex(8)
    answer = await accounts.post("/v1/sessions", code=code_of((await victim.finish(provider.authorize(url, subject))).headers["Location"]))
    assert answer.status == 201
    # Each sign-in makes new tokens.
    again = await accounts.post("/v1/sessions", code=code_of(await Browser(accounts).sign_in(provider, subject)))
    assert again.json["user"] == answer.json["user"]
    assert again.json["accessToken"] != answer.json["accessToken"] and again.json["refreshToken"] != answer.json["refreshToken"]


async def test_of_two_sign_ins_of_one_browser_the_later_one_counts(start, provider, tmp_path):
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings(clientSecretFile=secret_file(tmp_path))]}))
    browser = Browser(accounts)
    first = provider.authorize(await browser.begin(), "first")
    second = provider.authorize(await browser.begin(), "second")
    refused(await browser.finish(first), 400, "bad_request", field="state")
    # An answer has one state and one code: which of two counts is a matter of the parser.
    answer = await browser.get(f"/v1/signin/test/callback?state={first['state']}&state={second['state']}&code={second['code']}")
    refused(answer, 400, "bad_request", field="state")
    code_of((await browser.finish(second)).headers["Location"])
