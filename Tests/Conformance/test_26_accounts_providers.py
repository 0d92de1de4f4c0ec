"""Signing in with identity tokens of providers."""

import asyncio
import hashlib
import os
import re
import secrets
import time

import pytest

from support.accounts import ON, PASSWORD, Accounts, Person, refused, together
from support.patience import eventually
from support.provider import Key, Provider, forged

NONCE = "n-0S6_WzA2Mj"


@pytest.fixture(scope="module")
def provider():
    provider = Provider()
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def other():
    provider = Provider()
    yield provider
    provider.stop()


@pytest.fixture
def accounts(provider, other, start):
    return Accounts(start(ON | {
        "accounts.guests.enabled": True,
        "accounts.providers": [provider.settings(button="Enter with Test"), other.settings("other")]}))


async def sign_in(accounts, token, provider="test", **more):
    return await accounts.post("/v1/sessions", provider=provider, idToken=token, **more)


async def come(accounts, token, status=201, **more):
    answer = await sign_in(accounts, token, **more)
    assert answer.status == status and answer.json["created"] is (status == 201), answer
    return Person(accounts, None, answer.json)


async def providers_of(person):
    return [each["provider"] for each in (await person.me())["identities"]]


def not_accepted(answer):
    refused(answer, 401, "unauthorized", "invalid_credentials")
    assert answer.json["field"] == "idToken", answer


async def test_a_server_announces_its_providers(accounts):
    server = (await accounts.api.request("GET", "/v1/server")).json
    assert server["signIn"]["providers"] == [
        {"name": "test", "kind": "oidc", "button": "Enter with Test", "browser": False},
        {"name": "other", "kind": "oidc", "button": "Sign in with other", "browser": False}]


async def test_the_first_sign_in_creates_an_account_and_the_next_ones_find_it(accounts, provider):
    subject, email = secrets.token_hex(8), accounts.address()
    ana = await come(accounts, provider.token(subject, email, name="Ana Sol"), device={"kind": "phone", "name": "Mine"})
    account = ana.tokens["account"]
    assert account["email"] == email and account["emailVerified"] is True and "guest" not in account
    me = await ana.me()
    assert me["profile"]["displayName"] == "Ana Sol"
    [identity] = me["identities"]
    assert identity == {"provider": "test", "email": email, "linkedAt": identity["linkedAt"]}
    assert abs(identity["linkedAt"] / 1000 - time.time()) < 60
    again = await come(accounts, provider.token(subject, "new-" + email), 200)
    assert again.user == ana.user and again.tokens["account"]["email"] == email
    assert len((await ana.call("GET", "/v1/me/sessions")).json["sessions"]) == 2


async def test_names_and_addresses_are_optional(accounts, provider):
    ana = await come(accounts, provider.token(), displayName=" Ana ")
    assert (await ana.me())["profile"]["displayName"] == "Ana" and "email" not in ana.tokens["account"]
    assert (await (await come(accounts, provider.token())).me())["profile"]["displayName"] == "User"
    refused(await sign_in(accounts, provider.token(), displayName=" "), 422, "validation_failed")
    refused(await sign_in(accounts, provider.token(), "third"), 422, "validation_failed", field="provider")
    refused(await accounts.post("/v1/sessions", provider="test"), 400, "bad_request")


async def test_tokens_of_elliptic_curves_are_accepted(accounts, provider):
    key = Key("ES256")
    provider.keys.append(key)
    await come(accounts, provider.token(key=key))


async def test_wrong_tokens_are_refused(accounts, provider, other):
    subject, now, key = secrets.token_hex(8), int(time.time()), provider.keys[0]
    good = provider.token(subject)
    head, claims, signature = good.split(".")
    wrong = {
        "of another app": provider.token(subject, aud="app-3"),
        "of no app": provider.token(subject, aud=None),
        "of another app too": provider.token(subject, aud=["app-1", "app-3"], azp="app-1"),
        "of two apps, by neither": provider.token(subject, aud=["app-1", "app-2"]),
        "by another party": provider.token(subject, azp="app-3"),
        "of another issuer": provider.token(subject, iss=other.issuer),
        "of no issuer": provider.token(subject, iss=None),
        "without a subject": provider.token(subject, sub=""),
        "of the other provider": other.token(subject),
        "expired": provider.token(subject, exp=now - 60),
        "without an end": provider.token(subject, exp=None),
        "of the future": provider.token(subject, iat=now + 300),
        "not yet valid": provider.token(subject, nbf=now + 300),
        "signed by another key": provider.token(subject, key=Key(kid=key.kid)),
        "signed by an unknown key": provider.token(subject, key=Key()),
        "of no key": provider.token(subject, header={"kid": ""}),
        "without a signature": forged(provider, subject, "none"),
        "by the public key as a secret": forged(provider, subject, "HS256"),
        "with another algorithm of its key": provider.token(subject, header={"alg": "RS512"}),
        "with an extension": provider.token(subject, header={"crit": ["exp"]}),
        "changed": f"{head}.{claims[:-2]}AA.{signature}",
        "cut": f"{head}.{claims}",
        "no token": "x",
    }
    for what, token in wrong.items():
        answer = await sign_in(accounts, token)
        assert answer.status == 401, (what, answer)
        not_accepted(answer)
    await come(accounts, good)
    # Clocks differ.
    await come(accounts, provider.token(subject, exp=now - 5, iat=now + 5), 200)
    await come(accounts, provider.token(subject, aud=["app-1", "app-2"], azp="app-2"), 200)


async def test_a_nonce_is_compared_if_it_is_given(accounts, provider):
    token = provider.token(nonce=NONCE)
    not_accepted(await sign_in(accounts, token, nonce="another"))
    not_accepted(await sign_in(accounts, provider.token(), nonce=NONCE))
    await come(accounts, token, nonce=NONCE)
    # Apps give Apple the digest of what they send here.
    await come(accounts, provider.token(nonce=hashlib.sha256(NONCE.encode()).hexdigest()), nonce=NONCE)


async def test_an_unknown_key_is_asked_for_once(accounts, provider):
    await come(accounts, provider.token())
    before = provider.key_requests
    for answer in await together(*(sign_in(accounts, provider.token(key=Key())) for _ in range(3))):
        not_accepted(answer)
    for _ in range(5):
        not_accepted(await sign_in(accounts, provider.token(header={"kid": secrets.token_hex(4)})))
    assert provider.key_requests == before + 1


async def test_a_new_key_is_found(accounts, provider):
    await come(accounts, provider.token())
    key = Key()
    provider.keys.append(key)
    await come(accounts, provider.token(key=key))


async def test_keys_are_kept_over_a_restart(accounts, provider):
    await come(accounts, provider.token())
    before, file = provider.key_requests, os.path.join(accounts.server.directory, "provider-test.json")
    await eventually(lambda: os.path.exists(file), "the keys are in a file")
    accounts.server.stop()
    accounts.server.start()
    await come(accounts, provider.token())
    assert provider.key_requests == before
    # A file that is none does no harm.
    accounts.server.stop()
    with open(file, "w") as text:
        text.write("{")
    accounts.server.start()
    await come(accounts, provider.token())
    assert provider.key_requests == before + 1


async def test_requests_share_one_question_to_a_provider(start):
    provider = Provider()
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings()]}))
    provider.gate.clear()
    waiting = [asyncio.create_task(sign_in(accounts, provider.token())) for _ in range(4)]
    await eventually(lambda: provider.asked, "the provider is asked")
    # It blocks no other request.
    ana = await accounts.sign_up()
    await accounts.signed_in(ana.email)
    provider.gate.set()
    assert [each.status for each in await asyncio.gather(*waiting)] == [201] * 4
    assert provider.key_requests == 1
    provider.stop()


@pytest.mark.parametrize("what", ["status", "json", "issuer", "keys"])
async def test_a_broken_provider_is_unavailable(start, what):
    provider = Provider()
    if what == "status":
        provider.broken = 500
    elif what == "issuer":
        provider.configuration = {"issuer": "https://example.org"}
    elif what == "keys":
        provider.configuration = {"jwks_uri": f"{provider.base}/none"}
    else:
        provider.keys = []
    accounts = Accounts(start(ON | {"accounts.providers": [provider.settings()]}))
    token = Provider.token(provider, key=Key())
    for _ in range(3):
        answer = await sign_in(accounts, token)
        refused(answer, 503, "unavailable", "provider_unavailable")
        assert 0 < answer.json["retryAfter"] <= 5_000
    # It was asked once.
    assert sum(provider.asked.values()) <= 2
    provider.stop()


# Linking


async def test_an_identity_is_linked_by_an_address_that_both_have_verified(accounts, provider, other):
    email = accounts.address()
    ana = await accounts.sign_up(email)
    assert (await accounts.post("/v1/emails/verify", token=await accounts.mail(email, 1, "verify"))).status == 204
    subject = secrets.token_hex(8)
    again = await come(accounts, provider.token(subject, email.upper()), 200)
    assert again.user == ana.user
    assert await providers_of(ana) == ["test"]
    # The password still works, and so does another provider.
    await accounts.signed_in(email)
    assert (await come(accounts, other.token("1", email), 200, provider="other")).user == ana.user
    assert await providers_of(ana) == ["test", "other"]


async def test_an_address_without_proof_links_nothing(accounts, provider):
    email = accounts.address()
    ana = await accounts.sign_up(email)
    # The provider does not state that the address is theirs: another account, without an address.
    bob = await come(accounts, provider.token("bob" + email, email, verified=False))
    assert bob.user != ana.user and "email" not in bob.tokens["account"]
    # The account has not proved it: a mail is sent to the address.
    token = provider.token("ana" + email, email)
    answer = await sign_in(accounts, token)
    refused(answer, 409, "conflict", "email_taken", field="email")
    assert answer.json["verify"] is True
    assert await providers_of(ana) == []
    # Its reader has the account; a password of another person has ended.
    [mail] = await eventually(lambda: accounts.code_mails(email), "there is a mail")
    code = re.search(r"\r\n {4}(\d{6})\r\n", mail).group(1)
    answer = await accounts.post("/v1/sessions", email=email, mailCode=code)
    assert answer.status == 200 and answer.json["user"] == ana.user, answer
    refused(await accounts.sign_in(email), 401, "unauthorized", "invalid_credentials")
    assert (await come(accounts, token, 200)).user == ana.user


async def test_a_proof_of_the_address_ends_identities_of_before(accounts, provider):
    """An account whose address was never proved may be a trap: its identity must not open it later."""
    email, token = accounts.address(), provider.token("trap")
    trap = await come(accounts, token)
    assert (await trap.call("POST", "/v1/me/upgrade", {"email": email, "password": PASSWORD})).status == 200
    code, _ = await accounts.code(email)
    answer = await accounts.post("/v1/sessions", email=email, mailCode=code)
    assert answer.json["user"] == trap.user
    owner = Person(accounts, email, answer.json)
    assert await providers_of(owner) == []
    assert (await come(accounts, token)).user != trap.user


async def test_an_added_identity_is_mailed_and_a_reset_ends_it(accounts, provider):
    """A stolen access token must not become a way in that stays, nor delete the account."""
    email, token = accounts.address(), provider.token("thief")
    ana = await accounts.sign_up(email)
    assert (await accounts.post("/v1/emails/verify", token=await accounts.mail(email, 1, "verify"))).status == 204
    body = {"provider": "test", "idToken": token}
    assert (await ana.call("POST", "/v1/me/identities", body)).status == 200
    told = "Subject: A new way to sign in\r\n"
    await eventually(lambda: [mail for mail in accounts.mails(email) if told in mail], "a mail tells of it")
    refused(await ana.call("DELETE", "/v1/me", body), 400, "bad_request")
    lines = (await accounts.api.request("GET", "/v1/me/export", token=ana.access)).body
    assert '{"type":"identities","identities":[{"provider":"test","linkedAt":' in lines
    assert (await accounts.post("/v1/passwords/forgot", email=email)).status == 202
    reset = await accounts.mail(email, 1, "reset")
    assert (await accounts.post("/v1/passwords/reset", token=reset, password="another password")).status == 204
    assert (await come(accounts, token)).user != ana.user


@pytest.mark.parametrize("is_verified", [True, False])
async def test_mails_about_identities_are_bounded_and_need_a_verified_address(accounts, provider, is_verified):
    """An address that is not verified may be a stranger's."""
    ana = await accounts.sign_up()
    if is_verified:
        assert (await accounts.post("/v1/emails/verify", token=await accounts.mail(ana.email, 1, "verify"))).status == 204
    body = {"provider": "test", "idToken": provider.token(secrets.token_hex(8))}
    for _ in range(5):
        assert (await ana.call("POST", "/v1/me/identities", body)).status == 200
        assert (await ana.call("DELETE", "/v1/me/identities/test")).status == 204
    # Mails of a partition keep their order, so earlier ones are there with this one.
    await accounts.code(ana.email)
    mails = accounts.mails(ana.email)
    for subject in ("A new way to sign in", "A way to sign in has ended"):
        told = [mail for mail in mails if f"Subject: {subject}\r\n" in mail]
        assert len(told) == (3 if is_verified else 0) and all(" test " in mail for mail in told), told


async def test_identities_are_added_and_taken_away(accounts, provider, other):
    ana = await accounts.sign_up()
    token = provider.token("added", "added@example.org", nonce=NONCE)
    body = {"provider": "test", "idToken": token, "nonce": NONCE}
    not_accepted(await ana.call("POST", "/v1/me/identities", body | {"nonce": "another"}))
    for _ in range(2):
        answer = await ana.call("POST", "/v1/me/identities", body)
        assert answer.status == 200 and [each["email"] for each in answer.json["identities"]] == ["added@example.org"]
    assert (await come(accounts, token, 200)).user == ana.user
    bob = await accounts.sign_up()
    refused(await bob.call("POST", "/v1/me/identities", body), 409, "conflict", "identity_taken")
    refused(await ana.call("DELETE", "/v1/me/identities/other"), 404, "not_found")
    assert (await ana.call("DELETE", "/v1/me/identities/test")).status == 204
    assert await providers_of(ana) == []
    # It is free at once.
    assert (await bob.call("POST", "/v1/me/identities", body)).status == 200
    assert (await come(accounts, token, 200)).user == bob.user
    assert await providers_of(ana) == [] and await providers_of(bob) == ["test"]


async def test_the_last_way_to_sign_in_stays(accounts, provider, other):
    ana = await come(accounts, provider.token("last"))
    refused(await ana.call("DELETE", "/v1/me/identities/test"), 409, "conflict", "last_sign_in")
    body = {"provider": "other", "idToken": other.token("last")}
    assert (await ana.call("POST", "/v1/me/identities", body)).status == 200
    assert (await ana.call("DELETE", "/v1/me/identities/test")).status == 204
    refused(await ana.call("DELETE", "/v1/me/identities/other"), 409, "conflict", "last_sign_in")
    assert (await come(accounts, other.token("last"), 200, provider="other")).user == ana.user


async def test_an_account_has_ten_identities(accounts, provider):
    ana = await accounts.sign_up()
    for number in range(10):
        body = {"provider": "test", "idToken": provider.token(f"{ana.user} {number}")}
        assert (await ana.call("POST", "/v1/me/identities", body)).status == 200
    body["idToken"] = provider.token()
    refused(await ana.call("POST", "/v1/me/identities", body), 422, "too_many")
    assert (await ana.call("DELETE", "/v1/me/identities/test")).status == 204
    assert await providers_of(ana) == []


async def test_an_identity_upgrades_a_guest(accounts, provider):
    answer = await accounts.post("/v1/accounts", guest=True)
    guest, email = Person(accounts, None, answer.json), accounts.address()
    token = provider.token("guest" + email, email)
    answer = await guest.call("POST", "/v1/me/identities", {"provider": "test", "idToken": token})
    assert answer.status == 200
    account = answer.json["account"]
    assert account["user"] == guest.user and "guest" not in account
    assert account["email"] == email and account["emailVerified"] is True
    assert (await come(accounts, token, 200)).user == guest.user


async def test_a_deleted_account_leaves_its_identities(accounts, provider):
    token = provider.token("leaving")
    ana = await come(accounts, token)
    refused(await ana.call("DELETE", "/v1/me", {}), 400, "bad_request")
    refused(await ana.call("DELETE", "/v1/me", {"password": PASSWORD}), 409, "conflict", "no_password")
    not_accepted(await ana.call("DELETE", "/v1/me", {"provider": "test", "idToken": provider.token("another")}))
    assert (await ana.call("DELETE", "/v1/me", {"provider": "test", "idToken": token})).status == 204
    assert (await ana.call("GET", "/v1/me")).status in (401, 404)
    assert (await come(accounts, token)).user != ana.user


async def test_a_disabled_account_is_refused(accounts, provider):
    token, backend = provider.token("disabled"), accounts.server.mint.token("backend", role="backend")
    ana = await come(accounts, token)
    path = f"/v1/users/{ana.user}/account/disable"
    assert (await accounts.api.request("POST", path, {}, token=backend)).status == 204
    not_accepted(await sign_in(accounts, token))


async def test_many_first_sign_ins_make_one_account(accounts, provider):
    email = accounts.address()
    token = provider.token(secrets.token_hex(8), email)
    answers = await together(*(sign_in(accounts, token) for _ in range(8)))
    assert sorted(each.status for each in answers) == [200] * 7 + [201]
    assert len({each.json["user"] for each in answers}) == 1


async def test_without_accounts_or_providers_nothing_is_listed(start):
    accounts = Accounts(start(ON))
    ana = await accounts.sign_up()
    assert "identities" not in await ana.me()
    assert "providers" not in (await accounts.api.request("GET", "/v1/server")).json["signIn"]
    refused(await sign_in(accounts, "x.y.z"), 422, "validation_failed", field="provider")
