"""Guests: accounts without an address, their upgrade, and their end."""

import asyncio

import pytest

from support.accounts import ON, PASSWORD, Accounts, Person, refused, together
from support.patience import PATIENCE, eventually
from support.room import Room
from support.talks import fresh, talk

GUESTS = ON | {"accounts.guests.enabled": True}
SETTINGS = GUESTS
MONTH = 30 * 24 * 3_600_000


@pytest.fixture
def accounts(server):
    return Accounts(server)


async def come(accounts, **more):
    """A new guest."""
    answer = await accounts.post("/v1/accounts", guest=True, **more)
    assert answer.status == 201, answer
    return Person(accounts, None, answer.json)


async def upgrade(guest, email, password=PASSWORD):
    return await guest.call("POST", "/v1/me/upgrade", {"email": email, "password": password})


async def test_a_guest_has_an_account_without_an_address(accounts, room):
    guest = await come(accounts, displayName="  Ana ", device={"kind": "phone", "name": "Ana's phone"})
    account = guest.tokens["account"]
    assert account == {"user": guest.user, "emailVerified": False, "guest": True, "setupCompleted": False,
                       "createdAt": account["createdAt"]}
    me = await guest.me()
    assert me["account"] == account and me["profile"]["displayName"] == "Ana"
    client = await room.come("guest", token=guest.access)
    assert client.user == guest.user and (await client.hear("ownAccount"))["account"] == account
    # A guest can do the same as other users.
    assert (await guest.call("PATCH", "/v1/me", {"changes": {"preferredLanguage": "fr"}})).status == 200
    assert (await guest.call("PUT", "/v1/me/username", {"username": f"guest.{room.suffix}"})).status == 200
    assert (await guest.me())["account"]["username"] == f"guest.{room.suffix}"
    [device] = (await guest.call("GET", "/v1/me/sessions")).json["sessions"]
    assert device["name"] == "Ana's phone"
    refreshed = await accounts.refresh(guest.tokens["refreshToken"])
    assert refreshed.status == 200 and refreshed.json["account"]["guest"] is True


async def test_a_guest_without_a_name_is_called_guest(accounts):
    assert (await (await come(accounts)).me())["profile"]["displayName"] == "Guest"


async def test_a_guest_has_neither_address_nor_password(accounts):
    for member in ("email", "password", "username"):
        refused(await accounts.post("/v1/accounts", guest=True, **{member: "ana@example.org"}), 422,
                "validation_failed", field=member)
    refused(await accounts.post("/v1/accounts", guest="yes"), 400, "bad_request")
    refused(await accounts.post("/v1/accounts", guest=False), 400, "bad_request")
    refused(await accounts.post("/v1/accounts", guest=True, displayName=" "), 422, "validation_failed")
    guest = await come(accounts)
    for path, body in [("/v1/me/password", {"newPassword": "another password"}), ("/v1/me/email", {"email": "a@b.org"})]:
        refused(await guest.call("POST", path, {"password": PASSWORD} | body), 409, "conflict", "no_password")
    refused(await guest.call("DELETE", "/v1/me", {"password": PASSWORD}), 409, "conflict", "no_password")


async def test_guests_are_off_unless_switched_on(start):
    accounts = Accounts(start(ON))
    refused(await accounts.post("/v1/accounts", guest=True), 403, "forbidden", "guests_off")
    assert (await accounts.api.request("GET", "/v1/server")).json["signIn"]["guests"] is False
    # An ordinary sign-up may have the member too.
    await accounts.sign_up(guest=False)


async def test_guests_are_announced(accounts):
    assert (await accounts.api.request("GET", "/v1/server")).json["signIn"]["guests"] is True


async def test_an_upgrade_keeps_everything_while_sessions_talk(accounts, room):
    guest = await come(accounts, displayName="Ana")
    client = await room.come("guest", token=guest.access)
    bob = await room.come("bob")
    conversation = (await talk(client, bob))["id"]
    email = accounts.address()

    async def write():
        for number in range(20):
            await client.did("send", conversation=conversation, message={"id": fresh(), "text": str(number)})

    answer, _ = await together(upgrade(guest, email), write())
    assert answer.status == 200, answer
    account = answer.json["account"]
    assert account["user"] == guest.user and account["email"] == email and "guest" not in account
    assert account["emailVerified"] is False and answer.json["profile"]["displayName"] == "Ana"
    own = await client.hear("ownAccount", account=lambda account: account.get("email") == email)
    assert "guest" not in own["account"]
    # The session continues, with its old token too.
    await client.did("send", conversation=conversation, message={"id": fresh(), "text": "after"})
    messages = (await bob.did("getMessages", conversation=conversation))["messages"]
    assert sorted(each["text"] for each in messages) == sorted([*map(str, range(20)), "after"])
    assert (await guest.me())["account"] == account
    # From now on it is an account like others.
    assert (await accounts.signed_in(email)).user == guest.user
    token = await accounts.mail(email, 1, "verify")
    assert (await accounts.post("/v1/emails/verify", token=token)).status == 204
    assert (await guest.me())["account"]["emailVerified"] is True
    changed = await guest.call("POST", "/v1/me/password", {"password": PASSWORD, "newPassword": "another password"})
    assert changed.status == 204
    refused(await upgrade(guest, accounts.address()), 409, "conflict", "already_upgraded")
    refused(await accounts.post("/v1/accounts", email=email, password=PASSWORD), 409, "conflict", "email_taken")
    assert (await guest.call("DELETE", "/v1/me", {"password": "another password"})).status == 204
    await accounts.sign_up(email)


async def test_an_upgrade_is_refused_for_a_taken_address_and_a_weak_password(accounts):
    ana, guest = await accounts.sign_up(), await come(accounts)
    refused(await upgrade(guest, ana.email), 409, "conflict", "email_taken", "email")
    refused(await upgrade(guest, "ana"), 422, "validation_failed", "invalid_email", "email")
    refused(await upgrade(guest, accounts.address(), "password"), 422, "validation_failed", "weak_password", "password")
    assert (await guest.me())["account"]["guest"] is True
    # The refused upgrade left nothing behind.
    refused(await accounts.sign_in(ana.email, "another password"), 401, "unauthorized", "invalid_credentials")
    assert (await upgrade(guest, accounts.address())).status == 200
    refused(await upgrade(ana, accounts.address()), 409, "conflict", "already_upgraded")


async def test_one_of_several_upgrades_at_once_gets_the_address(accounts):
    email = accounts.address()
    guests = [await come(accounts) for _ in range(3)]
    answers = await together(*(upgrade(guest, email) for guest in guests))
    assert sorted(answer.status for answer in answers) == [200, 409, 409], answers
    [owner] = [guest for guest, answer in zip(guests, answers) if answer.status == 200]
    assert (await accounts.signed_in(email)).user == owner.user


async def test_of_two_upgrades_of_one_guest_the_password_is_that_of_the_answer(accounts):
    for _ in range(5):
        guest = await come(accounts)
        tries = [(accounts.address(), f"correct horse {number}") for number in range(2)]
        answers = await together(*(upgrade(guest, *each) for each in tries))
        assert sorted(answer.status for answer in answers) == [200, 409], answers
        for (email, password), answer in zip(tries, answers):
            if answer.status == 200:
                assert (await accounts.signed_in(email, password)).user == guest.user
            else:
                refused(answer, 409, "conflict", "already_upgraded")
                # The address is free.
                await accounts.sign_up(email)


async def test_where_accounts_are_hidden_an_upgrade_counts_from_the_link_on(start):
    accounts = Accounts(start(GUESTS | {"accounts.hideExisting": True}))
    taken, email = accounts.address(), accounts.address()
    await accounts.post("/v1/accounts", email=taken, password=PASSWORD)
    guest = await come(accounts)
    answers = [await upgrade(guest, each) for each in (taken, email)]
    assert [answer.status for answer in answers] == [202, 202] and answers[0].body == answers[1].body
    assert (await guest.me())["account"]["guest"] is True
    refused(await accounts.sign_in(email), 401, "unauthorized", "invalid_credentials")
    token = await accounts.mail(email, 1, "verify")
    assert (await accounts.post("/v1/emails/verify", token=token)).status == 204
    account = (await guest.me())["account"]
    assert account["email"] == email and account["emailVerified"] is True and "guest" not in account
    assert (await accounts.signed_in(email)).user == guest.user
    assert len([mail for mail in accounts.mails(taken) if "new email address" in mail]) == 0


async def test_a_guest_is_deleted_without_a_password(accounts, room):
    guest = await come(accounts, displayName="Ana")
    refused(await (await accounts.sign_up()).call("DELETE", "/v1/me", {}), 400, "bad_request")
    assert (await guest.call("DELETE", "/v1/me", {})).status == 204
    refused(await guest.call("GET", "/v1/me"), 401, "unauthorized")
    found = (await room.api.request("GET", f"/v1/users/{guest.user}", token=room.backend)).json
    assert found["profile"] is None and found["presence"]["version"] == 0


async def test_guests_count_towards_the_rate_of_sign_ups(start):
    accounts = Accounts(start(GUESTS | {"accounts.perAddress": 3, "limit_loopback": True}, shards=1))
    for _ in range(3):
        await come(accounts)
    assert refused(await accounts.post("/v1/accounts", guest=True), 429, "rate_limited")["retryAfter"] > 0


async def test_backends_see_and_delete_guests(accounts, room):
    guest = await come(accounts)
    path = f"/v1/users/{guest.user}/account"
    shown = await room.api.request("GET", path, token=room.backend)
    assert shown.status == 200 and shown.json["account"]["guest"] is True
    assert (await room.api.request("POST", path + "/disable", token=room.backend)).status == 204
    refused(await guest.call("GET", "/v1/me"), 401, "unauthorized")
    assert (await room.api.request("DELETE", path, token=room.backend)).status == 204
    assert (await room.api.request("GET", path, token=room.backend)).status == 404


def age(redis, user, by):
    """Makes a guest's last use earlier."""
    for key in redis.command("KEYS", "*:guests").split():
        used = redis.command("ZSCORE", key, user)
        if used:
            earlier = str(int(float(used)) - by)
            redis.command("ZADD", key, earlier, user)
            redis.command("HSET", key.replace(":guests", f":user:{user}"), "guest", earlier)
            return
    raise AssertionError(f"{user} is no guest")


async def test_guests_that_are_not_used_are_deleted_completely(start):
    redis = start.redis()
    # Few partitions, so that a round of the sweeps is short.
    settings = GUESTS | {"redis.url": redis.url, "partitions": 1}
    servers = [start(settings, shards=1) for _ in range(2)]
    accounts, room = Accounts(servers[0]), Room(servers[0])
    unused, used, connected, upgraded = [await come(accounts) for _ in range(4)]
    client = await room.come("connected", token=connected.access)
    email = accounts.address()
    assert (await upgrade(upgraded, email)).status == 200
    # A use ends the age: the sweeps come later than this.
    age(redis, used.user, MONTH - 60_000)
    age(redis, connected.user, MONTH + 60_000)
    age(redis, unused.user, MONTH + 60_000)

    async def is_gone():
        answer = await room.api.request("GET", f"/v1/users/{unused.user}/account", token=room.backend)
        return answer.status == 404

    await eventually(is_gone, "the unused guest is deleted", within=60 + PATIENCE)
    refused(await accounts.refresh(unused.tokens["refreshToken"]), 401, "unauthorized", "token_expired")
    await asyncio.sleep(3)
    for guest in (used, connected, upgraded):
        assert (await guest.call("GET", "/v1/me")).status == 200
    await client.did("status", status="busy")
    left = [key for key in redis.command("KEYS", "*").split() if unused.user in key]
    # Only the time of the deletion, which requests of before must meet.
    assert len(left) == 1 and redis.command("HKEYS", left[0]).split() == ["revokedAt", "deletedAt"], left
