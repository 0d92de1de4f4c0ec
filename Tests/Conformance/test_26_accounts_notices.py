"""Notices of Apple: a person has ended the use of an app, or their account there."""

import asyncio
import json
import secrets
import time

import pytest

from support.accounts import ON, PASSWORD, Accounts, Person, refused
from support.patience import eventually
from support.provider import Key, Provider


@pytest.fixture(scope="module")
def provider():
    provider = Provider()
    yield provider
    provider.stop()


@pytest.fixture
def accounts(provider, start):
    return Accounts(start(ON | {"accounts.providers": [
        provider.settings("apple", kind="apple"), provider.settings("plain") | {"issuer": provider.issuer + "/plain"}]}))


def notice(provider, subject, type="consent-revoked", key=None, header=None, **more):
    events = json.dumps({"type": type, "sub": subject, "event_time": int(time.time() * 1000)})
    claims = {"sub": None, "exp": None, "jti": secrets.token_hex(8), "events": events} | more
    return provider.token("unused", key=key, header=header, **claims)


async def tell(accounts, payload, name="apple"):
    return await accounts.post(f"/v1/signin/{name}/notifications", payload=payload)


async def sign_in(accounts, provider, subject, email=None, status=201):
    answer = await accounts.post("/v1/sessions", provider="apple", idToken=provider.token(subject, email))
    assert answer.status == status, answer
    return Person(accounts, email, answer.json)


async def identities(person):
    return [each["provider"] for each in (await person.me())["identities"]]


def mails(accounts, email):
    return [mail for mail in accounts.mails(email) if "A way to sign in has ended" in mail]


@pytest.mark.parametrize("type", ["consent-revoked", "account-delete"])
async def test_a_notice_ends_the_identity_and_a_mail_shows_the_way_in(accounts, provider, type):
    subject, email = secrets.token_hex(8), accounts.address()
    ana = await sign_in(accounts, provider, subject, email)
    answer = await tell(accounts, notice(provider, subject, type))
    assert answer.status == 200 and answer.json == {}, answer
    # The account and its devices stay.
    assert await identities(ana) == [] and (await ana.me())["account"]["email"] == email
    mail, = await eventually(lambda: mails(accounts, email), "the mail")
    assert "apple" in mail and "reset your password" in mail
    await accounts.post("/v1/passwords/forgot", email=email)
    token = await accounts.mail(email, 1, "reset")
    assert (await accounts.post("/v1/passwords/reset", token=token, password=PASSWORD)).status == 204
    assert (await accounts.sign_in(email)).status == 200
    # The identity is free: it signs in to the account with its verified address again, after a new consent.
    assert (await sign_in(accounts, provider, subject, email, status=200)).user == ana.user


async def test_a_repeated_notice_changes_nothing(accounts, provider):
    subject, email = secrets.token_hex(8), accounts.address()
    ana = await sign_in(accounts, provider, subject, email)
    old = notice(provider, subject)
    for _ in range(3):
        assert (await tell(accounts, old)).status == 200
    assert len(await eventually(lambda: mails(accounts, email), "the mail")) == 1
    # A later consent stays.
    await asyncio.sleep(1.1)
    assert (await sign_in(accounts, provider, subject, email, status=200)).user == ana.user
    assert (await tell(accounts, old)).status == 200
    assert await identities(ana) == ["apple"] and len(mails(accounts, email)) == 1


async def test_an_account_that_would_have_no_way_in_keeps_its_identity(accounts, provider):
    subject = secrets.token_hex(8)
    ana = await sign_in(accounts, provider, subject)
    assert (await tell(accounts, notice(provider, subject))).status == 200
    assert await identities(ana) == ["apple"]
    assert (await sign_in(accounts, provider, subject, status=200)).user == ana.user


async def test_a_notice_that_ended_nothing_ends_no_later_consent(accounts, provider):
    subject = secrets.token_hex(8)
    ana = await sign_in(accounts, provider, subject)
    old = notice(provider, subject)
    assert (await tell(accounts, old)).status == 200
    assert (await sign_in(accounts, provider, subject, status=200)).user == ana.user
    # Now the account has another way in.
    body = {"email": accounts.address(), "password": PASSWORD}
    assert (await ana.call("POST", "/v1/me/upgrade", body)).status == 200
    assert (await tell(accounts, old)).status == 200
    assert await identities(ana) == ["apple"]
    # Notices count in whole seconds.
    await asyncio.sleep(1.1)
    assert (await tell(accounts, notice(provider, subject))).status == 200
    assert await identities(ana) == []


@pytest.mark.parametrize("type", ["email-disabled", "email-enabled", "of-the-future"])
async def test_other_notices_change_nothing(accounts, provider, type):
    subject, email = secrets.token_hex(8), accounts.address()
    ana = await sign_in(accounts, provider, subject, email)
    assert (await tell(accounts, notice(provider, subject, type))).status == 200
    assert await identities(ana) == ["apple"] and not mails(accounts, email)


async def test_a_notice_about_an_unknown_person_is_accepted(accounts, provider):
    assert (await tell(accounts, notice(provider, secrets.token_hex(8)))).status == 200


async def test_only_the_providers_own_notices_for_this_app_count(accounts, provider):
    subject, email = secrets.token_hex(8), accounts.address()
    ana = await sign_in(accounts, provider, subject, email)
    stranger = Key()
    for payload in (
        "x", notice(provider, subject)[:-4] + "AAAA", notice(provider, subject, key=stranger, header={"kid": provider.keys[0].kid}),
        notice(provider, subject, aud="another-app"), notice(provider, subject, iss="https://elsewhere.example"),
        notice(provider, subject, events=None), notice(provider, subject, events="{"), notice(provider, subject, iat=None),
        notice(provider, subject, iat=int(time.time()) + 3_600), notice(provider, subject, exp=int(time.time()) - 3_600),
        # An identity token is none.
        provider.token(subject, email),
    ):
        answer = await tell(accounts, payload)
        refused(answer, 401, "unauthorized", "invalid_credentials", field="payload")
    assert await identities(ana) == ["apple"]
    # And no notice signs in.
    answer = await accounts.post("/v1/sessions", provider="apple", idToken=notice(provider, subject))
    refused(answer, 401, "unauthorized", "invalid_credentials")
    assert (await accounts.post("/v1/signin/apple/notifications")).status == 400
    for name in ("plain", "none"):
        assert (await tell(accounts, notice(provider, subject), name)).status == 404


async def test_bad_notices_are_bounded_by_their_address(provider, start):
    accounts = Accounts(start(ON | {"limits.limitLoopback": True, "accounts.providers": [provider.settings("apple", kind="apple")]}))
    statuses = [(await tell(accounts, "x")).status for _ in range(130)]
    assert statuses[0] == 401 and 429 in statuses
