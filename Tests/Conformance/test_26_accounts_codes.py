"""Signing in with a code by mail."""

import asyncio
import re
import subprocess
import time

import pytest

from support.accounts import ON, PASSWORD, Accounts, Person, refused, together
from support.patience import eventually

SETTINGS = ON
OPEN = ON | {"accounts.mailCodeSignUp": True}


@pytest.fixture
def accounts(server):
    return Accounts(server)


async def use(accounts, email, code, **more):
    return await accounts.post("/v1/sessions", email=email, mailCode=code, **more)


def wrong(answer):
    refused(answer, 401, "unauthorized", "invalid_credentials")


def others(code):
    """Codes that are not this one."""
    return [f"{(int(code) + number) % 1_000_000:06}" for number in range(1, 10)]


async def test_a_code_signs_in_once_and_proves_the_address(accounts):
    ana = await accounts.sign_up(f"an+a{accounts.address()}")
    assert (await accounts.post("/v1/emails/verify", token=await accounts.mail(ana.email, 1, "verify"))).status == 204
    code, _ = await accounts.code(ana.email)
    answer = await use(accounts, ana.email.upper(), f" {code[:3]} {code[3:]} ", device={"kind": "web", "name": "Web"})
    assert answer.status == 200 and answer.json["created"] is False and answer.json["user"] == ana.user, answer
    assert answer.json["account"]["emailVerified"] is True
    signed = Person(accounts, ana.email, answer.json)
    assert {each["name"] for each in (await signed.call("GET", "/v1/me/sessions")).json["sessions"]} == {"", "Web"}
    # The address was verified before, so the first device and the password stay.
    assert (await ana.call("GET", "/v1/me")).status == 200
    wrong(await use(accounts, ana.email, code))
    assert (await accounts.sign_in(ana.email)).status == 200


async def test_the_link_signs_in_once(accounts):
    ana = await accounts.sign_up()
    code, token = await accounts.code(ana.email)
    assert (await use(accounts, ana.email, token)).json["user"] == ana.user
    for each in (token, code):
        wrong(await use(accounts, ana.email, each))


async def test_a_code_for_an_address_that_nobody_had_proved_ends_what_the_maker_of_the_account_has(accounts, room):
    """Someone may have signed up with another person's address, to have their account later."""
    thief = await accounts.sign_up()
    client = await room.come("thief", token=thief.access)
    code, _ = await accounts.code(thief.email)
    owner = await use(accounts, thief.email, code)
    assert owner.status == 200 and owner.json["account"]["emailVerified"] is True
    await client.closed(4001)
    refused(await thief.call("GET", "/v1/me"), 401, "unauthorized")
    refused(await accounts.refresh(thief.tokens["refreshToken"]), 401, "unauthorized", "token_expired")
    wrong(await accounts.sign_in(thief.email))
    # The owner has no password yet, and gets one by a reset.
    person = Person(accounts, thief.email, owner.json)
    refused(await person.call("DELETE", "/v1/me", {"password": PASSWORD}), 409, "conflict", "no_password")
    refused(await person.call("POST", "/v1/me/password", {"password": PASSWORD, "newPassword": "another password"}),
            409, "conflict", "no_password")
    await accounts.post("/v1/passwords/forgot", email=thief.email)
    token = await accounts.mail(thief.email, 1, "reset")
    assert (await accounts.post("/v1/passwords/reset", token=token, password="another password")).status == 204
    await accounts.signed_in(thief.email, "another password")


async def test_a_code_has_five_tries_and_the_link_remains(accounts):
    ana = await accounts.sign_up()
    code, token = await accounts.code(ana.email)
    for each in others(code)[:5]:
        wrong(await use(accounts, ana.email, each))
    wrong(await use(accounts, ana.email, code))
    # Neither the password nor the link suffers from a stranger's tries.
    assert (await accounts.sign_in(ana.email)).status == 200
    assert (await use(accounts, ana.email, token)).status == 200


async def test_a_newer_code_replaces_the_older_one(accounts):
    ana = await accounts.sign_up()
    first = await accounts.code(ana.email)
    second = await accounts.code(ana.email, 2)
    if first[0] != second[0]:
        wrong(await use(accounts, ana.email, first[0]))
    wrong(await use(accounts, ana.email, first[1]))
    assert (await use(accounts, ana.email, second[0])).status == 200


@pytest.mark.parametrize("code", ["", "12345", "1234567", "abcdef", "x" * 43, "A" * 2_000, "\u0661" * 6])
async def test_malformed_codes_get_the_answer_of_wrong_ones(accounts, code):
    ana = await accounts.sign_up()
    await accounts.code(ana.email)
    wrong(await use(accounts, ana.email, code))


async def test_a_code_is_for_its_address_alone(accounts):
    ana, bob = await accounts.sign_up(), await accounts.sign_up()
    (code, token), _ = await accounts.code(ana.email), await accounts.code(bob.email)
    for each in (code, token):
        wrong(await use(accounts, bob.email, each))
    wrong(await use(accounts, "not an address", code))


async def test_an_unknown_address_gets_the_same_answer_and_no_mail(accounts):
    ana, nobody = await accounts.sign_up(), accounts.address()
    answers = [await accounts.post("/v1/signin/mail", email=each) for each in (ana.email, nobody, "not an address")]
    assert all(answer.status == 202 and answer.body == answers[0].body for answer in answers)
    await eventually(lambda: accounts.code_mails(ana.email), "the mail")
    await asyncio.sleep(1)
    assert not accounts.mails(nobody)
    wrong(await use(accounts, nobody, "123456"))


async def test_the_store_does_the_same_for_known_and_unknown_addresses(start):
    redis = start.redis()
    accounts = Accounts(start(ON | {"redis.url": redis.url, "partitions": 1}, shards=1))
    ana, nobody = await accounts.sign_up(), accounts.address()
    await accounts.code(ana.email)

    counts = []
    for email in (ana.email, nobody):
        with subprocess.Popen(["redis-cli", "-p", str(redis.port), "MONITOR"], stdout=subprocess.PIPE, text=True) as monitor:
            assert await asyncio.to_thread(monitor.stdout.readline) == "OK\n"
            await accounts.post("/v1/signin/mail", email=email)
            await asyncio.sleep(1)
            monitor.terminate()
            lines = [line for line in monitor.stdout if email in line and " lua] " not in line and '"HGET"' not in line]
        counts.append([re.findall(r'"(\w+)" "(\w+)" "(\d+)"', line)[0] for line in lines])
    # One script, and no other command, has the address. (The mail has it, too: taking and settling are two more, and its language
    # is read with HGET.)
    assert [call for call in counts[0] if call in counts[1]] == counts[1] and len(counts[1]) == 1, counts
    # The codes are not stored, nor is the address of one without an account.
    dump = "".join(redis.command("HGETALL", key) for key in redis.command("KEYS", "*:codes:*").split())
    assert "code" in dump and nobody not in dump and not re.search(r"^\d{6}$", dump, re.MULTILINE)


async def test_an_address_gets_five_codes_an_hour(accounts):
    ana = await accounts.sign_up()
    for number in range(1, 6):
        await accounts.code(ana.email, number)
    assert (await accounts.post("/v1/signin/mail", email=ana.email)).status == 202
    await asyncio.sleep(1)
    assert len(accounts.code_mails(ana.email)) == 5


async def test_a_client_that_asks_too_often_is_slowed(start):
    accounts = Accounts(start(ON | {"accounts.perAddress": 2, "limit_loopback": True}, shards=1))
    for _ in range(2):
        assert (await accounts.post("/v1/signin/mail", email=accounts.address())).status == 202
    refused(await accounts.post("/v1/signin/mail", email=accounts.address()), 429, "rate_limited")


async def test_a_client_may_try_ten_wrong_codes(start):
    accounts = Accounts(start(ON | {"limit_loopback": True}, shards=1))
    answers = [await use(accounts, accounts.address(), "123456") for _ in range(12)]
    assert [answer.status for answer in answers[:10]] == [401] * 10
    slowed = [answer for answer in answers if answer.status == 429]
    assert slowed and slowed[0].json["retryAfter"] > 0


async def test_a_code_signs_up_where_that_is_on(start):
    accounts, email = (found := Accounts(start(OPEN))), found.address("roberta")
    assert (await accounts.api.request("GET", "/v1/server")).json["signIn"]["mailCodeSignUp"] is True
    code, token = await accounts.code(email)
    refused(await use(accounts, email, code, displayName=" "), 422, "validation_failed")
    answer = await use(accounts, email, code, displayName="Roberta R.", device={"kind": "phone", "name": "Phone"})
    assert answer.status == 201 and answer.json["created"] is True, answer
    assert answer.json["account"]["email"] == email and answer.json["account"]["emailVerified"] is True
    person = Person(accounts, email, answer.json)
    assert (await person.me())["profile"]["displayName"] == "Roberta R."
    wrong(await use(accounts, email, token))
    wrong(await accounts.sign_in(email, ""))
    code, _ = await accounts.code(email, 2)
    again = await use(accounts, email, code)
    assert again.status == 200 and again.json["created"] is False and again.json["user"] == person.user
    refused(await accounts.post("/v1/accounts", email=email, password=PASSWORD), 409, "conflict", "email_taken")


async def test_many_uses_of_one_code_at_once_sign_in_once(start):
    accounts = Accounts(start(OPEN))
    for _ in range(3):
        email = accounts.address()
        code, token = await accounts.code(email)
        answers = await together(*(use(accounts, email, each) for each in [code, token] * 2))
        assert sorted(answer.status for answer in answers) == [201, 401, 401, 401], answers


async def test_a_disabled_account_is_not_entered(accounts, room):
    ana = await accounts.sign_up()
    code, _ = await accounts.code(ana.email)
    path = f"/v1/users/{ana.user}/account/disable"
    assert (await room.api.request("POST", path, token=room.backend)).status == 204
    wrong(await use(accounts, ana.email, code))


async def test_a_code_is_good_for_ten_minutes(start):
    redis = start.redis()
    accounts = Accounts(start(ON | {"redis.url": redis.url}))
    ana = await accounts.sign_up()
    code, token = await accounts.code(ana.email)
    [key] = redis.command("KEYS", "*:codes:*").split()
    left = int(redis.command("HGET", key, "until")) - time.time() * 1_000
    assert 500_000 < left < 601_000
    redis.command("HSET", key, "until", str(int(time.time() * 1_000) - 1))
    for each in (code, token):
        wrong(await use(accounts, ana.email, each))
