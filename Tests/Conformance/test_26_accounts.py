"""Accounts: signing up and in, the own account, and the calls that are possible without signing in."""

import asyncio
import contextlib
import json
import random
import re
import time

import pytest

from support import processes
from support.accounts import DOCUMENT, ON, PASSWORD, Accounts, Person, refused, together
from support.patience import SLACK, eventually
from support.room import Room

SETTINGS = ON
TRIES = 200
"""Tries of each kind, where times are compared; and standard deviations that chance exceeds once in twenty times."""
LIKELY = 1.96
UNSEEN = 0.000_3
"""Seconds of difference that count as none: on a busy machine the server's work after an answer delays other answers by
as much, and nobody could make enough tries to detect it."""


@pytest.fixture
def accounts(server):
    return Accounts(server)


async def test_while_accounts_are_off_there_is_nothing_at_their_paths(start):
    server = start()
    accounts, room = Accounts(server), Room(server)
    for method, path in [("POST", "/v1/accounts"), ("POST", "/v1/sessions"), ("POST", "/v1/sessions/refresh"),
                         ("GET", "/v1/me"), ("DELETE", "/v1/me"), ("GET", "/v1/me/sessions"),
                         ("DELETE", "/v1/sessions/all"), ("POST", "/v1/passwords/forgot"), ("POST", "/v1/emails/verify"),
                         ("GET", "/v1/users/bob/account")]:
        answer = await room.api.request(method, path, {} if method == "POST" else None, token=room.backend)
        assert answer.status == 404, (method, path, answer)


# Signing up


async def test_a_new_account_has_profile_and_tokens_at_once(accounts, room):
    ana = await accounts.sign_up("Ana.B-%s@Example.org" % room.suffix, displayName="  Ana B. ")
    assert set(ana.tokens) == {"user", "accessToken", "expiresIn", "refreshToken", "account"}
    assert ana.tokens["expiresIn"] == 3_600_000
    account = ana.tokens["account"]
    assert account == {"user": ana.user, "email": ana.email.lower(), "emailVerified": False, "setupCompleted": False,
                       "createdAt": account["createdAt"]}
    me = await ana.me()
    assert me["account"] == account and me["profile"]["displayName"] == "Ana B."
    bob = await room.come("bob")
    assert (await bob.get(ana.user))[0]["profile"]["displayName"] == "Ana B."
    client = await room.come("ana", token=ana.access)
    assert client.user == ana.user
    own = await client.hear("ownAccount")
    assert own["account"] == account and own["version"] > 0


async def test_a_displayname_left_out_is_the_part_before_the_at(accounts, room):
    local = "long" * 13 + room.suffix
    ana = await accounts.sign_up(f"{local}@example.org")
    assert (await ana.me())["profile"]["displayName"] == local[:50]


async def test_a_default_displayname_can_be_neutral(start):
    accounts = Accounts(start(ON | {"accounts.defaultDisplayName": "neutral"}))
    assert (await (await accounts.sign_up()).me())["profile"]["displayName"] == "User"


@pytest.mark.parametrize("email", [
    "", "ana", "ana@", "@example.org", "ana@example", "ana@@example.org", "a na@example.org", "ana@exam ple.org",
    "ana@example.org\r\nBcc: bob@example.org", "ana@-example.org", "ana.@example.org", "änä@example.org",
    "ana@exämple.org", "a" * 65 + "@example.org", "a@" + "b" * 63 + "." + ("c" * 60 + ".") * 4 + "org", "ana@1.2.3.4",
    '"ana"@example.org', " ana@example.org",
])
async def test_malformed_addresses_are_rejected(accounts, email):
    refused(await accounts.post("/v1/accounts", email=email, password=PASSWORD), 422, "validation_failed",
            "invalid_email", "email")


@pytest.mark.parametrize("password", ["", "short 7", "password", "Password1", "12345678", "aaaaaaaaaa", "x y" * 342])
async def test_weak_passwords_are_refused(accounts, password):
    refused(await accounts.post("/v1/accounts", email=accounts.address(), password=password), 422,
            "validation_failed", "weak_password", "password")


@pytest.mark.parametrize("minimum", [6, 8])
async def test_a_minimum_below_8_is_allowed_and_warned_of(start, minimum):
    server = start(ON | {"accounts.password.minimum": minimum})
    accounts = Accounts(server)
    assert ("accounts.password.minimum is below 8" in server.whole_log()) == (minimum < 8)
    await accounts.sign_up(password="yq7pw!" if minimum < 8 else "yq7pw!ab")
    refused(await accounts.post("/v1/accounts", email=accounts.address(), password="yq7pw!ab"[:minimum - 1]), 422,
            "validation_failed", "weak_password", "password")


async def test_a_password_with_the_own_address_in_it_is_refused(accounts):
    email = accounts.address("roberta")
    refused(await accounts.post("/v1/accounts", email=email, password=f"my {email.split('@')[0].upper()}!"), 422,
            "validation_failed", "weak_password", "password")


async def test_malformed_bodies_are_bad_requests(accounts):
    for body in [b"", b"x", b"[]", b'{"email":"a@b.org"}', b'{"email":7,"password":"correct horse"}',
                 b'{"email":"a@b.org","password":"correct horse","device":"phone"}']:
        answer = await accounts.api.request("POST", "/v1/accounts", body)
        refused(answer, 400, "bad_request")
    for more in [{"device": {"kind": "fridge"}}, {"displayName": " "}, {"idempotency": "x" * 65}]:
        answer = await accounts.post("/v1/accounts", email=accounts.address(), password=PASSWORD, **more)
        refused(answer, 422, "validation_failed")
    answer = await accounts.post("/v1/accounts", email=accounts.address(), password=PASSWORD, extra="x" * 20_000)
    refused(answer, 413, "too_large")


async def test_an_address_has_one_account_however_it_is_written(accounts):
    email = accounts.address()
    answers = await asyncio.gather(*(
        accounts.post("/v1/accounts", email=each, password=PASSWORD) for each in [email, email.upper(), email.title()]))
    assert sorted(answer.status for answer in answers) == [201, 409, 409], answers
    for answer in answers:
        if answer.status == 409:
            refused(answer, 409, "conflict", "email_taken", "email")


async def test_a_sign_up_that_is_repeated_is_the_same_one(accounts):
    email = accounts.address()
    ana = await accounts.sign_up(email, idempotency="first")
    again = await accounts.sign_up(email, idempotency="first")
    assert again.user == ana.user and again.tokens["refreshToken"] != ana.tokens["refreshToken"]
    refused(await accounts.post("/v1/accounts", email=email, password="another password", idempotency="first"), 409,
            "conflict", "email_taken")
    refused(await accounts.post("/v1/accounts", email=email, password=PASSWORD, idempotency="second"), 409,
            "conflict", "email_taken")


async def test_a_repeated_sign_up_is_recognised_by_its_bytes(accounts):
    """An address that looks alike, and that some compare as equal, is another one."""
    email = accounts.address()
    await accounts.sign_up(email, idempotency="caf\u00e9")
    refused(await accounts.post("/v1/accounts", email=email, password=PASSWORD, idempotency="cafe\u0301"), 409, "conflict",
            "email_taken")
    await accounts.sign_up(email, idempotency="caf\u00e9")


async def test_where_accounts_are_hidden_a_sign_up_gets_the_same_answer_for_a_taken_address(start):
    accounts = Accounts(start(ON | {"accounts.hideExisting": True}))
    email = accounts.address()
    first = await accounts.post("/v1/accounts", email=email, password=PASSWORD)
    second = await accounts.post("/v1/accounts", email=email, password="another password")
    assert first.status == second.status == 202 and first.body == second.body
    # The creator must not find out by signing in, either.
    refused(await accounts.sign_in(email), 401, "unauthorized", "invalid_credentials")
    refused(await accounts.sign_in(email, "another password"), 401, "unauthorized", "invalid_credentials")
    verified = await accounts.post("/v1/emails/verify", token=await accounts.mail(email, 1, "verify"))
    assert verified.status == 204
    await accounts.signed_in(email)
    await eventually(lambda: any("already" in mail for mail in accounts.mails(email)), "the other mail")


# Signing in


async def test_signing_in_with_address_and_password(accounts):
    ana = await accounts.sign_up()
    again = await accounts.signed_in(ana.email.upper(), device={"kind": "phone", "name": "Ana's phone"})
    assert again.user == ana.user and (await again.me())["account"]["email"] == ana.email


async def test_unknown_addresses_and_wrong_passwords_get_one_answer(accounts):
    ana = await accounts.sign_up()
    wrong = await accounts.sign_in(ana.email, "wrong password")
    unknown = await accounts.sign_in(accounts.address("nobody"), "wrong password")
    refused(wrong, 401, "unauthorized", "invalid_credentials")
    assert wrong.body == unknown.body
    for name in ["nobody", "", "@", "ä@ö"]:
        assert (await accounts.sign_in(name)).body == wrong.body


async def guessing(accounts):
    """Sends wrong passwords for known and unknown addresses, by number; fewer for each than cause a delay."""
    people = []
    for _ in range(5):
        people += await together(*(accounts.sign_up() for _ in range(TRIES // 4 // 5)))

    async def guess(known, number):
        number, part = number % TRIES % len(people), number // TRIES
        email = people[number].email if known else f"x{part}-{number}-{people[0].email}"
        refused(await accounts.sign_in(email, "wrong password"), 401, "unauthorized", "invalid_credentials")

    async def forget():
        for person in people:
            await accounts.signed_in(person.email)

    return guess, forget


async def test_known_and_unknown_addresses_take_the_same_time(accounts):
    guess, forget = await guessing(accounts)
    await takes_the_same_time(accounts, guess, TRIES, LIKELY, forget)


def test_two_milliseconds_more_for_known_addresses_would_be_found():
    """Simulated times of calls beside other work: 18 ms, and 4 ms more or less."""
    drawn = random.Random(7)

    def times(more):
        return [(18 + more + drawn.gauss(0, 4)) / 1_000 for _ in range(TRIES)]
    assert deviations(times(2), times(0)) > LIKELY
    assert deviations(times(0), times(0)) < LIKELY


@pytest.mark.parametrize("what", ["sign-up", "forgot", "change"])
async def test_where_accounts_are_hidden_known_and_unknown_addresses_take_the_same_time(start, what):
    accounts = Accounts(start(ON | {"accounts.hideExisting": True}))
    known_email = accounts.address()
    # Each may request a change three times an hour.
    askers = [known_email] + [accounts.address("asker") for _ in range(48 if what == "change" else 0)]
    for email in askers:
        assert (await accounts.post("/v1/accounts", email=email, password=PASSWORD)).status == 202
        token = await accounts.mail(email, 1, "verify")
        assert (await accounts.post("/v1/emails/verify", token=token)).status == 204
    people = [person for email in askers[1:] for person in [await accounts.signed_in(email)] * 3]

    count = 24 if what == "change" else 64
    strangers = [accounts.address("new") for _ in range(3 * count)]

    async def ask(known, index):
        email = known_email if known else strangers[index]
        if what == "sign-up":
            answer = await accounts.post("/v1/accounts", email=email, password=PASSWORD)
        elif what == "forgot":
            answer = await accounts.post("/v1/passwords/forgot", email=email)
        else:
            answer = await people.pop().call("POST", "/v1/me/email", {"password": PASSWORD, "email": email})
        assert answer.status == 202, answer

    await takes_the_same_time(accounts, ask, count)


async def takes_the_same_time(accounts, ask, count, most=3.0, prepare=None):
    """Checks that the times of this many answers of each kind are alike: that their difference is below `most` once in
    three times. (On a machine that is busy they differ by chance; at `LIKELY`, three times in a row once in 8,000
    runs.)"""
    scores = []
    with processes.on_processors_of_their_own(accounts.server.process.pid):
        for part in range(3):
            if part and prepare:
                await prepare()
            scores.append(await difference(ask, count, part))
            if scores[-1] < most:
                return
    raise AssertionError(scores)


async def difference(ask, count, part):
    """The difference between the times of this many answers of each kind, requested alternately, in standard
    deviations."""
    times = {True: [], False: []}
    for index in range(count):
        for known in (True, False) if index % 2 else (False, True):
            begun = time.perf_counter()
            await ask(known, part * count + index)
            times[known].append(time.perf_counter() - begun)
    return deviations(times[True], times[False])


def deviations(some, others):
    """The Mann–Whitney test of equally many times of each kind: their deviation from being alike, except for UNSEEN, in
    standard deviations."""
    count = len(some)

    def longer(by):
        bigger = sum((a > b + by) + 0.5 * (a == b + by) for a in some for b in others)
        return (bigger - count * count / 2) / (count * count * (2 * count + 1) / 12) ** 0.5
    return max(longer(UNSEEN), -longer(-UNSEEN), 0)


async def test_guesses_are_slowed_whether_there_is_an_account_or_not(accounts):
    ana = await accounts.sign_up()
    for email in [ana.email, accounts.address("nobody")]:
        tries, slowed = await accounts.guess_until_slowed(lambda: accounts.sign_in(email, "wrong password"))
        assert tries >= 5
        error = refused(slowed, 429, "rate_limited")
        assert 0 < error["retryAfter"] <= 1_000 * 2 ** (tries - 5)
        assert int(slowed.headers["Retry-After"]) == -(-error["retryAfter"] // 1_000)
        # An attempt that was slowed does not lengthen the delay.
        again = await accounts.sign_in(email, PASSWORD)
        if again.status == 429:
            assert again.json["retryAfter"] <= error["retryAfter"]

    async def signed_in():
        return (await accounts.sign_in(ana.email)).status == 200

    await eventually(signed_in, "the pause is over", every=0.2)
    # The right password has reset the count of wrong ones.
    for _ in range(4):
        refused(await accounts.sign_in(ana.email, "wrong password"), 401, "unauthorized", "invalid_credentials")
    await accounts.signed_in(ana.email)


async def test_concurrent_guesses_are_counted_before_they_are_verified(accounts):
    ana = await accounts.sign_up()
    answers = await asyncio.gather(*(accounts.sign_in(ana.email, f"wrong password {n}") for n in range(20)))
    assert sum(answer.status == 401 for answer in answers) <= 6, answers
    assert all(answer.status in (401, 429) for answer in answers)


class Flood:
    """Sign-ins on connections of their own, each for another address, so that all of them wait at once."""

    def __init__(self, accounts):
        self.accounts, self.connections = accounts, []

    async def open(self, count):
        for _ in range(count):
            self.connections.append(
                await asyncio.open_connection(self.accounts.server.host, self.accounts.server.port))

    def send(self, connection):
        body = json.dumps({"email": self.accounts.address("nobody"), "password": "wrong password"})
        connection[1].write(f"POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                            f"Content-Length: {len(body)}\r\n\r\n{body}".encode())

    async def answer(self, connection):
        head = (await connection[0].readuntil(b"\r\n\r\n")).decode()
        body = await connection[0].readexactly(int(re.search(r"Content-Length: (\d+)", head).group(1)))
        return int(head.split(" ")[1]), head, json.loads(body)

    async def hashes(self):
        """The numbers of running, waiting, finished and rejected jobs."""
        names = ["threads", "queued", "running", "done_total", "refused_total"]
        page = (await self.accounts.api.request("GET", "/metrics")).body
        return [int(re.search(rf'^presence_workers_{name}{{pool="passwords"}} (\d+)$', page, re.M).group(1))
                for name in names]

    @contextlib.asynccontextmanager
    async def going_on(self, count):
        """Clients that retry as soon as they have an answer."""
        done = asyncio.Event()

        async def keep_trying(connection):
            answers, opened = [], time.monotonic()
            while not done.is_set():
                self.send(connection)
                try:
                    answers.append(await self.answer(connection))
                except asyncio.IncompleteReadError:
                    lasted = time.monotonic() - opened
                    raise AssertionError(f"hung up after {lasted:.1f} s, {len(answers)} answers, {answers[-1:]}") from None

        await self.open(count)
        tries = [asyncio.create_task(keep_trying(connection)) for connection in self.connections]
        try:
            yield
        finally:
            done.set()
            await asyncio.gather(*tries)
            self.close()

    def close(self):
        for _, writer in self.connections:
            writer.close()


async def test_a_flood_of_sign_ins_is_bounded(accounts, room):
    flood = Flood(accounts)
    ana = await accounts.sign_up()
    client = await room.come("ana", token=ana.access)
    threads, _, _, done_before, refused_before = await flood.hashes()
    await flood.open(200)
    for connection in flood.connections:
        flood.send(connection)
    answers = asyncio.gather(*(flood.answer(connection) for connection in flood.connections))
    times, most = [], None
    while not answers.done():
        begun = time.perf_counter()
        await client.get(ana.user)
        times.append(time.perf_counter() - begun)
        # Slowly enough to stay below the rate limits of requests.
        await asyncio.sleep(0.01)
        _, queued, running, done, refused = await flood.hashes()
        assert queued + running <= threads + 64
        if most is None and queued + running + done - done_before + refused - refused_before >= 200:
            # All have been decided: at most this many were accepted.
            most = threads + 64 + done - done_before
    answers = answers.result()
    flood.close()
    looked_at = [answer for answer in answers if answer[0] == 401]
    turned_away = [answer for answer in answers if answer[0] == 503]
    assert len(looked_at) + len(turned_away) == 200 and most is not None
    assert threads < len(looked_at) <= most < 200, (len(looked_at), most)
    for _, head, error in turned_away:
        assert error["code"] == "unavailable" and error["retryAfter"] > 0 and "\r\nRetry-After: " in head
    # All other clients were served meanwhile: the hashes took over a second, without delaying them. One of ten may have
    # waited for this machine.
    assert len(times) >= 5 and sorted(times)[len(times) * 9 // 10] < 0.3 * SLACK, times


async def test_a_sign_in_that_is_turned_away_is_no_failure(accounts):
    """A user with the right password retries while others occupy all places."""
    ana = await accounts.sign_up()
    async with Flood(accounts).going_on(80):
        turned_away = 0
        while turned_away < 8:
            answer = await accounts.sign_in(ana.email)
            assert answer.status in (200, 503), answer
            turned_away += answer.status == 503
    await accounts.signed_in(ana.email)


# The own account


async def test_the_own_account_and_profile_change_together_or_not_at_all(accounts, room):
    ana = await accounts.sign_up(displayName="Ana")
    client = await room.come("ana", token=ana.access)
    bob = await room.come("bob")
    await bob.subscribe(ana.user)
    await client.hear("ownAccount")
    answer = await ana.call("PATCH", "/v1/me", {"changes": {
        "displayName": "Ana B.", "timezone": "Europe/Paris", "locale": "fr", "photoURL": "https://example.org/a.jpg",
        "preferredLanguage": "fr-FR", "setupCompleted": True}})
    assert answer.status == 200
    assert answer.json["account"]["preferredLanguage"] == "fr-FR" and answer.json["account"]["setupCompleted"] is True
    assert answer.json["profile"]["displayName"] == "Ana B." and answer.json == await ana.me()
    own = await client.hear("ownAccount")
    assert own["account"] == answer.json["account"]
    profile = await bob.sees_profile(ana.user, displayName="Ana B.", timezone="Europe/Paris")
    assert "preferredLanguage" not in profile and "setupCompleted" not in profile
    before = await ana.me()
    for bad, field in [({"displayName": "New", "timezone": "Mars/Olympus"}, "timezone"),
                       ({"displayName": "New", "preferredLanguage": "no language"}, "preferredLanguage"),
                       ({"setupCompleted": False, "displayName": ""}, "displayName")]:
        assert refused(await ana.call("PATCH", "/v1/me", {"changes": bad}), 422, "validation_failed")["field"] == field
    for bad in [{"changes": {"setupCompleted": "yes"}}, {"changes": 1}, {}]:
        refused(await ana.call("PATCH", "/v1/me", bad), 400, "bad_request")
    for nothing in [{}, {"unknown": 1}]:
        # As `updateProfile` answers it.
        answer = await ana.call("PATCH", "/v1/me", {"changes": nothing})
        assert answer.status == 200 and answer.json == before
    assert await ana.me() == before
    answer = await ana.call("PATCH", "/v1/me", {"changes": {"preferredLanguage": None, "timezone": None}})
    assert "preferredLanguage" not in answer.json["account"] and "timezone" not in answer.json["profile"]


async def test_tokens_of_the_apps_own_have_no_account(accounts, room):
    token = room.token("ana")
    for method, path, body in [("GET", "/v1/me", None), ("PATCH", "/v1/me", {"changes": {"displayName": "A"}}),
                               ("PATCH", "/v1/me", {"changes": {}}), ("PATCH", "/v1/me", {"changes": {"displayName": ""}}),
                               ("PATCH", "/v1/me", {"changes": {"timezone": "Mars/Olympus"}}), ("PATCH", "/v1/me", {}),
                               ("GET", "/v1/me/sessions", None), ("DELETE", "/v1/me", {"password": PASSWORD}),
                               ("POST", "/v1/me/password", {"password": PASSWORD, "newPassword": "another password"}),
                               ("POST", "/v1/me/email", {"password": PASSWORD, "email": "a@example.org"})]:
        refused(await accounts.api.request(method, path, body, token=token), 404, "not_found")
        refused(await accounts.api.request(method, path, body), 401, "unauthorized")
        refused(await accounts.api.request(method, path, body, token=room.backend), 403, "forbidden")


async def test_a_stranger_sees_nothing_private_on_any_path(accounts, room):
    mark = "m4rked" + room.suffix
    ana = await accounts.sign_up(f"{mark}@example.org", displayName="Ana")
    bob_account = await accounts.sign_up()
    bob = await room.come("bob", token=bob_account.access)
    client = await room.come("ana", token=ana.access)
    await client.hear("ownAccount")
    await bob.subscribe(ana.user)
    await ana.call("PATCH", "/v1/me", {"changes": {"displayName": "Ana B.", "preferredLanguage": "fr"}})
    await bob.sees_profile(ana.user, displayName="Ana B.")
    await bob.get(ana.user)
    await bob.did("createConversation", participants=[ana.user])
    seen = [json.dumps(bob.log)]
    for method, path, body in [("GET", f"/v1/users/{ana.user}", None), ("POST", "/v1/users/get", {"users": [ana.user]}),
                               ("GET", f"/v1/users/{ana.user}/account", None), ("GET", "/v1/me", None),
                               ("GET", "/v1/me/sessions", None), ("DELETE", f"/v1/sessions/{ana.user}", None),
                               ("GET", "/metrics", None)]:
        for token in (bob_account.access, None):
            seen.append(repr(await accounts.api.request(method, path, body, token=token)))
    await asyncio.sleep(0)
    assert not [text for text in seen if mark in text]
    log = accounts.server.whole_log()
    assert mark not in log and PASSWORD not in log


# The document


async def test_every_example_of_a_refusal_is_what_the_server_answers(accounts, room):
    ana, bob = await accounts.sign_up(), await accounts.sign_up()
    # His address was not proved before, so he has no password now.
    code, _ = await accounts.code(bob.email)
    bob = Person(accounts, bob.email, (await accounts.post("/v1/sessions", email=bob.email, mailCode=code)).json)
    answers = [
        await bob.call("DELETE", "/v1/me", {"password": PASSWORD}),
        await accounts.post("/v1/accounts", guest=True),
        await accounts.api.request("GET", "/v1/signin/none"),
        await ana.call("POST", "/v1/me/upgrade", {"email": accounts.address(), "password": PASSWORD}),
        await accounts.post("/v1/accounts", password=PASSWORD),
        await accounts.post("/v1/accounts", email=ana.email, password=PASSWORD, extra="x" * 20_000),
        await accounts.post("/v1/accounts", email=ana.email, password=PASSWORD),
        await accounts.post("/v1/accounts", email=ana.email, password="12345678"),
        await accounts.post("/v1/accounts", email="none", password=PASSWORD),
        await accounts.sign_in(ana.email, "wrong password"),
        await accounts.refresh("none"),
        await accounts.api.request("GET", "/v1/me", token=room.backend),
        await accounts.api.request("GET", "/v1/me", token=room.token("ana")),
        await ana.call("DELETE", "/v1/sessions/none"),
    ]
    # The first delays are over before a slow machine has hashed a password.
    while answers[-1].status != 429 and len(answers) < 30:
        answers.append(await accounts.sign_in(ana.email, "wrong password"))
    await ana.call("DELETE", "/v1/sessions/all")
    answers.append(await ana.call("GET", "/v1/me"))
    answered = [timeless(answer.json) for answer in answers]
    # The components of usernames, pictures and devices are checked in tests of their own.
    others = re.compile("#/components/responses/(AccountUnavailable|SignUp|Username|Photo|NoPhoto|Device|NoDevice)")
    untrue = [place for place, _, _, value in DOCUMENT.examples()
              if place.startswith("#/components/responses/") and DOCUMENT.is_of(place, "accounts")
              and not others.match(place) and timeless(value) not in answered]
    assert not untrue, f"{untrue}: {answered}"


def timeless(error):
    return error | {"retryAfter": "a while"} if "retryAfter" in error else error
