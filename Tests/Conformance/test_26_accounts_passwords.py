"""Passwords, addresses and the end of an account: calls that require the password again, and links in mails."""

import asyncio
import re

import pytest

from support.accounts import ON, PASSWORD, Accounts, refused
from support.patience import eventually
from support.room import Room

SETTINGS = ON
ANOTHER = "another password"


@pytest.fixture
def accounts(server):
    return Accounts(server)


# Mails


async def test_a_sign_up_is_followed_by_a_mail_that_verifies_the_address(accounts, room):
    ana = await accounts.sign_up()
    client = await room.come("ana", token=ana.access)
    token = await accounts.mail(ana.email, 1, "verify")
    mail = accounts.mails(ana.email)[0]
    for line in ["From: Presence <no-reply@localhost>", "Auto-Submitted: auto-generated", "MIME-Version: 1.0"]:
        assert f"{line}\r\n" in mail
    assert re.search(r"\r\nMessage-ID: <[^<>\r\n ]+>\r\n", mail) and re.search(r"\r\nDate: \w{3}, ", mail)
    # The server's address, unless accounts.linkBase is set.
    assert f"http://{accounts.server.host}:{accounts.server.port}/verify#token=" in mail
    assert (await accounts.post("/v1/emails/verify", token=token)).status == 204
    await client.hear("ownAccount", account=lambda account: account["emailVerified"] is True)
    assert (await ana.me())["account"]["emailVerified"] is True
    refused(await accounts.post("/v1/emails/verify", token=token), 401, "unauthorized", "token_expired")


async def test_links_begin_as_configured_and_never_with_the_requests_host(start):
    accounts = Accounts(start(ON | {"accounts.linkBase": "https://app.example.org/join/", "mail.from": "Ann <a@b.org>"}))
    email = accounts.address()
    await accounts.api.request("POST", "/v1/accounts", {"email": email, "password": PASSWORD},
                               headers={"X-Forwarded-Host": "evil.example.org"})
    await accounts.mail(email, 1, "verify")
    mail = accounts.mails(email)[0]
    assert "https://app.example.org/join/verify#token=" in mail and "From: Ann <a@b.org>\r\n" in mail


@pytest.mark.parametrize("token", ["", "x", "A" * 70, "A" * 600])
async def test_malformed_tokens_get_one_answer(accounts, token):
    refused(await accounts.post("/v1/emails/verify", token=token), 401, "unauthorized", "token_expired")
    refused(await accounts.post("/v1/passwords/reset", token=token, password=ANOTHER), 401, "unauthorized",
            "token_expired")


# A forgotten password


async def test_a_forgotten_password_is_reset_by_mail(accounts, room):
    ana = await accounts.sign_up()
    client = await room.come("ana", token=ana.access)
    await accounts.guess_until_slowed(lambda: accounts.sign_in(ana.email, "wrong password"))
    assert (await accounts.post("/v1/passwords/forgot", email=ana.email.upper())).status == 202
    token = await accounts.mail(ana.email, 1, "reset")
    # A reset that is rejected for its password does not use up the token.
    refused(await accounts.post("/v1/passwords/reset", token=token, password="password"), 422, "validation_failed",
            "weak_password", "password")
    assert (await accounts.post("/v1/passwords/reset", token=token, password=ANOTHER)).status == 204
    await client.closed(4001)
    assert (await ana.call("GET", "/v1/me")).status == 401
    refused(await accounts.refresh(ana.tokens["refreshToken"]), 401, "unauthorized", "token_expired")
    refused(await accounts.sign_in(ana.email), 401, "unauthorized", "invalid_credentials")
    again = await accounts.signed_in(ana.email, ANOTHER)
    assert again.tokens["account"]["emailVerified"] is True
    refused(await accounts.post("/v1/passwords/reset", token=token, password="third password"), 401, "unauthorized",
            "token_expired")
    await eventually(lambda: any("was changed" in mail for mail in accounts.mails(ana.email)), "a mail that tells")


async def test_only_the_newest_reset_counts_and_three_an_hour_are_sent(accounts):
    ana = await accounts.sign_up()
    tokens = []
    for number in (1, 2, 3):
        assert (await accounts.post("/v1/passwords/forgot", email=ana.email)).status == 202
        tokens.append(await accounts.mail(ana.email, number, "reset"))
    assert (await accounts.post("/v1/passwords/forgot", email=ana.email)).status == 202
    for token in tokens[:2]:
        refused(await accounts.post("/v1/passwords/reset", token=token, password=ANOTHER), 401, "unauthorized",
                "token_expired")
    # A verifying token does not reset a password, nor the other way round.
    verify = await accounts.mail(ana.email, 1, "verify")
    refused(await accounts.post("/v1/passwords/reset", token=verify, password=ANOTHER), 401, "unauthorized",
            "token_expired")
    refused(await accounts.post("/v1/emails/verify", token=tokens[2]), 401, "unauthorized", "token_expired")
    assert (await accounts.post("/v1/passwords/reset", token=tokens[2], password=ANOTHER)).status == 204
    assert sum("/reset#" in mail for mail in accounts.mails(ana.email)) == 3


async def test_a_forgotten_password_gets_the_same_answer_for_every_address(accounts):
    ana = await accounts.sign_up()
    answers = [await accounts.post("/v1/passwords/forgot", email=email)
               for email in [ana.email, accounts.address("nobody"), "no address", ""]]
    assert {(answer.status, answer.body) for answer in answers} == {(202, "{}")}
    refused(await accounts.post("/v1/passwords/forgot"), 400, "bad_request")


# Changing the password


async def test_a_changed_password_ends_all_other_sessions(accounts, room):
    ana = await accounts.sign_up()
    other = await accounts.signed_in(ana.email)
    kept, ended = await room.come("ana", token=ana.access), await room.come("ana", token=other.access)
    refused(await ana.call("POST", "/v1/me/password", {"password": "wrong password", "newPassword": ANOTHER}), 401,
            "unauthorized", "invalid_credentials")
    refused(await ana.call("POST", "/v1/me/password", {"password": PASSWORD, "newPassword": "12345678"}), 422,
            "validation_failed", "weak_password", "newPassword")
    await kept.get(ana.user)
    assert (await ana.call("POST", "/v1/me/password", {"password": PASSWORD, "newPassword": ANOTHER})).status == 204
    await ended.closed(4001)
    await kept.get(ana.user)
    assert (await ana.call("GET", "/v1/me")).status == 200 and (await other.call("GET", "/v1/me")).status == 401
    refused(await accounts.sign_in(ana.email), 401, "unauthorized", "invalid_credentials")
    await accounts.signed_in(ana.email, ANOTHER)


async def test_a_password_change_can_end_stolen_tokens_of_the_present_device(accounts, room):
    """Access token, refresh token and socket: all that a thief has of the device ends, and the device continues."""
    ana = await accounts.sign_up()
    other = await accounts.signed_in(ana.email)
    own = await room.come("ana", "phone", token=ana.access)
    thief = await room.come("ana", "web", token=ana.access)
    stranger = await room.come("eve", token=other.access)
    watcher = await room.come("bob")
    await watcher.subscribe(ana.user)
    stolen = dict(ana.tokens)
    before, = [each for each in (await ana.call("GET", "/v1/me/sessions")).json["sessions"] if each["current"]]
    answer = await ana.call("POST", "/v1/me/password", {"password": PASSWORD, "newPassword": ANOTHER, "renew": True})
    assert answer.status == 200 and answer.headers["Cache-Control"] == "no-store" and answer.json["account"]["email"] == ana.email
    for socket in (own, thief, stranger):
        await socket.closed(4001)
    assert (await ana.call("GET", "/v1/me")).status == 401
    refused(await accounts.refresh(stolen["refreshToken"]), 401, "unauthorized", "token_expired")
    ana.tokens = answer.json
    back = await room.come("ana", "phone", token=ana.access)
    await back.get(ana.user)
    # Others have not seen them offline.
    assert "offline" not in [event["presence"]["status"] for event in watcher.log if event["type"] == "presence"]
    sessions = (await ana.call("GET", "/v1/me/sessions")).json["sessions"]
    assert [(each["current"], each["createdAt"]) for each in sessions] == [(True, before["createdAt"])]
    assert (await accounts.refresh(ana.tokens["refreshToken"])).status == 200
    # A token of no device has nothing to renew.
    await accounts.signed_in(ana.email, ANOTHER)


async def test_passwords_that_are_asked_for_again_count_as_guesses(accounts):
    ana = await accounts.sign_up()
    for _ in range(4):
        refused(await ana.call("DELETE", "/v1/me", {"password": "wrong password"}), 401, "unauthorized",
                "invalid_credentials")
    tries, _ = await accounts.guess_until_slowed(lambda: accounts.sign_in(ana.email, "wrong password"))
    assert 1 <= tries < 5
    _, slowed = await accounts.guess_until_slowed(lambda: ana.call("DELETE", "/v1/me", {"password": "wrong password"}))
    refused(slowed, 429, "rate_limited")
    # No session has ended, and refreshing is not slowed.
    assert (await accounts.refresh(ana.tokens["refreshToken"])).status == 200


# Changing the address


async def test_another_address_holds_when_it_is_confirmed(accounts, room):
    ana = await accounts.sign_up()
    client = await room.come("ana", token=ana.access)
    old, new = ana.email, accounts.address("new")
    refused(await ana.call("POST", "/v1/me/email", {"password": "wrong password", "email": new}), 401,
            "unauthorized", "invalid_credentials")
    refused(await ana.call("POST", "/v1/me/email", {"password": PASSWORD, "email": "none"}), 422,
            "validation_failed", "invalid_email", "email")
    assert (await ana.call("POST", "/v1/me/email", {"password": PASSWORD, "email": new.upper()})).status == 202
    token = await accounts.mail(new, 1, "verify")
    assert (await ana.me())["account"]["email"] == old
    assert (await accounts.post("/v1/emails/verify", token=token)).status == 204
    await client.hear("ownAccount", account=lambda account: account["email"] == new and account["emailVerified"])
    refused(await accounts.sign_in(old), 401, "unauthorized", "invalid_credentials")
    assert (await accounts.signed_in(new)).user == ana.user
    refused(await accounts.post("/v1/emails/verify", token=token), 401, "unauthorized", "token_expired")
    # The old address is free, and links sent there are invalid.
    verify = await accounts.mail(old, 1, "verify")
    refused(await accounts.post("/v1/emails/verify", token=verify), 401, "unauthorized", "token_expired")
    bob = await accounts.sign_up(old)
    assert bob.user != ana.user
    # And again, from the other partition, back to a third.
    third = accounts.address("third")
    assert (await ana.call("POST", "/v1/me/email", {"password": PASSWORD, "email": third})).status == 202
    assert (await accounts.post("/v1/emails/verify", token=await accounts.mail(third, 1, "verify"))).status == 204
    # The old address is notified, without the new one. The first one was never verified: it may be a stranger's.
    def notices(address):
        return [mail for mail in accounts.mails(address) if "Subject: Your email address was changed" in mail]

    notice, = await eventually(lambda: notices(new), "a mail to the old address")
    assert third not in notice and not notices(old)
    await accounts.sign_up(new)
    assert (await ana.me())["account"]["email"] == third
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    await accounts.sign_up(third)


async def test_an_address_that_is_taken_cannot_be_had(accounts):
    ana, bob = await accounts.sign_up(), await accounts.sign_up()
    body = {"password": PASSWORD, "email": bob.email}
    refused(await ana.call("POST", "/v1/me/email", body), 409, "conflict", "email_taken", "email")
    # Two users want the same one: the first to confirm gets it.
    wanted = accounts.address("wanted")
    for person in (ana, bob):
        assert (await person.call("POST", "/v1/me/email", {"password": PASSWORD, "email": wanted})).status == 202
    tokens = [await accounts.mail(wanted, number, "verify") for number in (1, 2)]
    answers = await asyncio.gather(*(accounts.post("/v1/emails/verify", token=token) for token in tokens))
    assert sorted(answer.status for answer in answers) == [204, 409], answers
    refused(next(answer for answer in answers if answer.status == 409), 409, "conflict", "email_taken", "email")
    assert sorted([(await ana.me())["account"]["email"] == wanted, (await bob.me())["account"]["email"] == wanted]) \
        == [False, True]


@pytest.mark.parametrize("end", ["password", "reset", "disable"])
async def test_a_change_requested_by_an_intruder_ends_with_their_sessions(start, end):
    server = start(ON)
    accounts = Accounts(server)
    ana = await accounts.sign_up()
    new = accounts.address("thief")
    assert (await ana.call("POST", "/v1/me/email", {"password": PASSWORD, "email": new})).status == 202
    token = await accounts.mail(new, 1, "verify")
    if end == "password":
        changed = await ana.call("POST", "/v1/me/password", {"password": PASSWORD, "newPassword": ANOTHER})
    elif end == "reset":
        assert (await accounts.post("/v1/passwords/forgot", email=ana.email)).status == 202
        reset = await accounts.mail(ana.email, 1, "reset")
        changed = await accounts.post("/v1/passwords/reset", token=reset, password=ANOTHER)
    else:
        changed = await accounts.api.request("POST", f"/v1/users/{ana.user}/account/disable", token=Room(server).backend)
    assert changed.status == 204, changed
    refused(await accounts.post("/v1/emails/verify", token=token), 401, "unauthorized", "token_expired")
    assert (await accounts.post("/v1/passwords/forgot", email=new)).status == 202
    bob = await accounts.sign_up(new)
    assert bob.user != ana.user


async def test_where_accounts_are_hidden_a_taken_address_is_not_told(start):
    accounts = Accounts(start(ON | {"accounts.hideExisting": True}))
    people = []
    for _ in range(2):
        email = accounts.address()
        assert (await accounts.post("/v1/accounts", email=email, password=PASSWORD)).status == 202
        await accounts.post("/v1/emails/verify", token=await accounts.mail(email, 1, "verify"))
        people.append(await accounts.signed_in(email))
    ana, bob = people
    # A link to an own address is invalid once another was requested, whether that one is taken or not.
    wanted = accounts.address("wanted")
    assert (await ana.call("POST", "/v1/me/email", {"password": PASSWORD, "email": wanted})).status == 202
    token = await accounts.mail(wanted, 1, "verify")
    asked = {"password": PASSWORD, "email": bob.email}
    assert (await ana.call("POST", "/v1/me/email", asked)).status == 202
    refused(await accounts.post("/v1/emails/verify", token=token), 401, "unauthorized", "token_expired")
    assert (await ana.me())["account"]["email"] == ana.email
    # It counts as a mail, although none is sent.
    assert (await ana.call("POST", "/v1/me/email", asked)).status == 202
    refused(await ana.call("POST", "/v1/me/email", asked), 429, "rate_limited")
    assert not any("new address" in mail for mail in accounts.mails(bob.email))


async def test_where_accounts_are_hidden_a_username_does_not_tell(start):
    accounts = Accounts(start(ON | {"accounts.hideExisting": True}))
    email = accounts.address()
    answer = await accounts.post("/v1/accounts", email=email, password=PASSWORD, username="zq81x")
    assert answer.status == 202
    assert (await accounts.api.request("GET", "/v1/usernames/zq81x")).json["available"] is True


async def test_three_mails_an_hour_to_new_addresses(accounts):
    ana = await accounts.sign_up()
    for _ in range(3):
        body = {"password": PASSWORD, "email": accounts.address("new")}
        assert (await ana.call("POST", "/v1/me/email", body)).status == 202
    refused(await ana.call("POST", "/v1/me/email", body), 429, "rate_limited")


async def test_requests_for_another_address_count_like_sign_ups(start):
    """Else one account could find out which addresses have an account."""
    accounts = Accounts(start(ON | {"accounts.perAddress": 2, "limits.limitLoopback": True}, shards=1))
    ana = await accounts.sign_up()
    body = {"password": PASSWORD, "email": ana.email}
    refused(await ana.call("POST", "/v1/me/email", body | {"password": "wrong password"}), 401, "unauthorized",
            "invalid_credentials")
    refused(await ana.call("POST", "/v1/me/email", body), 409, "conflict", "email_taken", "email")
    assert refused(await ana.call("POST", "/v1/me/email", body), 429, "rate_limited")["retryAfter"] > 0


# The end


async def test_a_deleted_account_leaves_nothing(accounts, room):
    ana = await accounts.sign_up(displayName="Ana")
    client, bob = await room.come("ana", token=ana.access), await room.come("bob")
    await bob.subscribe(ana.user)
    await bob.sees(ana.user, status="online")
    refused(await ana.call("DELETE", "/v1/me", {"password": "wrong password"}), 401, "unauthorized",
            "invalid_credentials")
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    await client.closed(4001)
    await bob.sees(ana.user, version=0, status="offline")
    await eventually(lambda: bob.profile[ana.user] is None, "the profile is gone")
    seen = (await bob.get(ana.user))[0]
    assert seen["profile"] is None and seen["presence"] == {"version": 0, "status": "offline"}
    assert (await ana.call("GET", "/v1/me")).status == 401
    refused(await accounts.refresh(ana.tokens["refreshToken"]), 401, "unauthorized", "token_expired")
    refused(await accounts.sign_in(ana.email), 401, "unauthorized", "invalid_credentials")
    again = await accounts.sign_up(ana.email)
    assert again.user != ana.user


async def test_backends_look_at_accounts_disable_and_delete_them(start):
    # One shard processes Ana's mail before Bob's: once his mail exists, hers would too.
    server = start(ON, shards=1)
    accounts, room = Accounts(server), Room(server)
    ana, bob = await accounts.sign_up(), await accounts.sign_up()
    client = await room.come("ana", token=ana.access)

    async def backend(method, path=""):
        return await accounts.api.request(method, f"/v1/users/{ana.user}/account{path}", token=room.backend)

    assert (await backend("GET")).json == {"account": ana.tokens["account"]}
    assert (await backend("POST", "/disable")).status == 204
    await client.closed(4001)
    assert (await ana.call("GET", "/v1/me")).status == 401
    wrong = await accounts.sign_in(accounts.address("nobody"))
    assert (await accounts.sign_in(ana.email)).body == wrong.body
    for person in (ana, bob):
        assert (await accounts.post("/v1/passwords/forgot", email=person.email)).status == 202
    await accounts.mail(bob.email, 1, "reset")
    assert (await backend("POST", "/enable")).status == 204
    again = await accounts.signed_in(ana.email)
    assert not [mail for mail in accounts.mails(ana.email) if "/reset#" in mail]
    refused(await accounts.api.request("GET", f"/v1/users/{ana.user}/account", token=again.access), 403, "forbidden")
    assert (await backend("DELETE")).status == 204
    for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/disable"), ("POST", "/enable")]:
        refused(await backend(method, path), 404, "not_found")
    await accounts.sign_up(ana.email)
