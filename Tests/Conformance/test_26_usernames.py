"""Usernames: allowed names, that each belongs to one account, and their visibility."""

import asyncio
import json
import re
from urllib.parse import quote

import pytest

from support.accounts import DOCUMENT, ON, PASSWORD, Accounts, refused, together
from support.patience import eventually
from support.room import Room
from support.server import run

SETTINGS = ON

GOOD = ["abc", "ana.b", "Ana_B.9", "a" * 30, "___", "0.0", "A.b.C.d"]
BAD = ["", "ab", "a" * 31, ".ana", "ana.", "a..b", "a b", " ana", "ana ", "ana-b", "ána", "ana!", "ana\n", "a/b", "a" * 300,
       "ana@example.org"]


@pytest.fixture
def accounts(server):
    return Accounts(server)


def name(room, text="ana"):
    """A name that no other test uses."""
    return f"{text}.{re.sub('[^a-z0-9]', '', room.suffix.lower())}"[:30]


async def state(accounts, username, token=None):
    answer = await accounts.api.request("GET", "/v1/usernames/" + quote(username, safe=""), token=token)
    assert answer.status == 200 and answer.json["username"] == username, answer
    return {key: value for key, value in answer.json.items() if key != "username"}


async def take(person, username):
    return await person.call("PUT", "/v1/me/username", {"username": username})


async def taken(person, username):
    answer = await take(person, username)
    assert answer.status == 200 and answer.json["account"]["username"] == username, answer
    return answer.json["account"]


FREE = {"available": True}


def not_free(reason):
    return {"available": False, "reason": reason}


async def test_while_accounts_are_off_there_is_nothing_at_their_paths(start):
    room = Room(start())
    for method, path in [("GET", "/v1/usernames/ana"), ("PUT", "/v1/me/username"), ("DELETE", "/v1/me/username")]:
        answer = await room.api.request(method, path, {} if method == "PUT" else None, token=room.token("ana"))
        assert answer.status == 404, (method, path, answer)


# Valid names


@pytest.mark.parametrize("username", BAD)
async def test_names_that_break_the_rules_are_invalid(accounts, username):
    assert await state(accounts, username) == not_free("invalid")
    ana = await accounts.sign_up()
    error = refused(await take(ana, username), 422, "validation_failed", "invalid_username", "username")
    assert "username" in error["message"]
    refused(await accounts.post("/v1/accounts", email=accounts.address(), password=PASSWORD, username=username), 422,
            "validation_failed", "invalid_username", "username")
    assert "username" not in (await ana.me())["account"]


@pytest.mark.parametrize("username", GOOD)
async def test_names_that_follow_the_rules_are_available(accounts, username):
    ana = await accounts.sign_up()
    assert await state(accounts, username) == FREE
    await taken(ana, username)
    assert (await ana.call("DELETE", "/v1/me/username")).status == 204


async def test_reserved_names_are_nobodys(accounts):
    ana = await accounts.sign_up()
    for username in ["admin", "Root", "SUPPORT"]:
        assert await state(accounts, username) == not_free("reserved")
        refused(await take(ana, username), 422, "validation_failed", "reserved_username", "username")
        refused(await accounts.post("/v1/accounts", email=accounts.address(), password=PASSWORD, username=username), 422,
                "validation_failed", "reserved_username", "username")


async def test_which_names_are_reserved_can_be_set(start):
    accounts = Accounts(start(ON | {"accounts.reservedUsernames": "Soup, pie"}))
    assert await state(accounts, "soup") == await state(accounts, "PIE") == not_free("reserved")
    assert await state(accounts, "admin") == FREE
    await taken(await accounts.sign_up(), "admin")


async def test_a_name_that_became_reserved_stays_its_owners(start):
    redis = start.redis()
    server = start(ON, redis=redis)
    ana = await Accounts(server).sign_up(username="soup")
    accounts = Accounts(start(ON | {"accounts.reservedUsernames": "soup"}, redis=redis, directory=server.directory))
    ana.accounts = accounts
    assert await state(accounts, "soup", ana.access) == not_free("yours")
    await taken(ana, "Soup")


async def test_malformed_bodies_are_bad_requests(accounts):
    ana = await accounts.sign_up()
    for body in [b"", b"x", b"[]", b"{}", b'{"username":7}', b'{"username":null}']:
        refused(await ana.call("PUT", "/v1/me/username", body), 400, "bad_request")
    refused(await ana.call("PUT", "/v1/me/username", {"username": "ana", "more": "x" * 20_000}), 413, "too_large")


# Ownership


async def test_it_is_shown_as_typed_and_compared_without_case(accounts, room):
    ana, bob = await together(accounts.sign_up(), accounts.sign_up())
    own = name(room, "Ana.B")
    account = await taken(ana, own)
    assert account == (await ana.me())["account"] and (await ana.me())["profile"]["username"] == own
    for way in [own, own.lower(), own.upper()]:
        assert await state(accounts, way) == not_free("taken")
        assert await state(accounts, way, bob.access) == not_free("taken")
        assert await state(accounts, way, ana.access) == not_free("yours")
        # An invalid token counts as none, and a backend has no name.
        assert await state(accounts, way, "none") == await state(accounts, way, room.backend) == not_free("taken")
        error = refused(await take(bob, way), 409, "conflict", "username_taken", "username")
        assert error["message"] == "This username is taken."
    await taken(ana, own.upper())
    assert (await ana.me())["profile"]["username"] == own.upper()
    # The same again changes nothing.
    before = await ana.me()
    await taken(ana, own.upper())
    assert await ana.me() == before


async def test_a_name_that_was_given_up_is_free_at_once(accounts, room):
    ana, bob = await together(accounts.sign_up(), accounts.sign_up())
    first, second = name(room, "first"), name(room, "second")
    await taken(ana, first)
    await taken(ana, second)
    assert await state(accounts, first) == FREE
    await taken(bob, first)
    assert (await ana.call("DELETE", "/v1/me/username")).status == 204
    assert await state(accounts, second) == FREE
    me = await ana.me()
    assert "username" not in me["account"] and "username" not in me["profile"]
    # Removing a missing name.
    assert (await ana.call("DELETE", "/v1/me/username")).status == 204
    await taken(bob, second)


async def test_of_a_hundred_concurrent_claims_of_a_name_one_succeeds(accounts, room):
    people = []
    for _ in range(10):
        people += await together(*(accounts.sign_up() for _ in range(10)))
    wanted = name(room, "wanted")
    ways = [wanted, wanted.upper(), wanted.title()]
    answers = await together(*(take(person, ways[place % 3]) for place, person in enumerate(people)))
    winners = [person for person, answer in zip(people, answers) if answer.status == 200]
    assert len(winners) == 1, [answer.status for answer in answers]
    for person, answer in zip(people, answers):
        if person is winners[0]:
            continue
        refused(answer, 409, "conflict", "username_taken", "username")
        assert "username" not in (await person.me())["account"]
    assert (await winners[0].me())["account"]["username"].lower() == wanted


async def test_one_account_may_change_it_often_within_an_hour(start):
    server = start(ON, shards=1)
    ana, room = await Accounts(server).sign_up(), Room(server)
    for number in range(10):
        await taken(ana, name(room, f"n{number}"))
    statuses = [(await take(ana, name(room, f"m{number}"))).status for number in range(30)]
    # Then it is slowed.
    assert 429 in statuses and set(statuses) == {200, 429}


async def test_wishes_of_one_account_at_once_leave_it_with_one_of_them(accounts, room):
    ana = await accounts.sign_up()
    names = [name(room, f"w{number}") for number in range(8)]
    answers = await together(*(take(ana, each) for each in names))
    # For a change that was replaced before it was visible, the server cannot know the outcome.
    assert 200 in {answer.status for answer in answers}, answers
    assert all(answer.status == 200 or answer.status == 503 and answer.json["outcomeUnknown"] for answer in answers), answers
    own = (await ana.me())["account"]["username"]
    assert own in names
    for each in names:
        assert await state(accounts, each) == (not_free("taken") if each == own else FREE)


async def test_two_users_who_swap_names_never_share_one(accounts, room):
    ana, bob = await together(accounts.sign_up(), accounts.sign_up())
    one, two = name(room, "one"), name(room, "two")
    await together(taken(ana, one), taken(bob, two))
    for _ in range(4):
        await together(take(ana, two), take(bob, one))
        await together(take(ana, one), take(bob, two))
        mine, theirs = (await ana.me())["account"]["username"], (await bob.me())["account"]["username"]
        assert mine != theirs and {mine, theirs} <= {one, two}


# Watchers


async def test_watchers_and_own_devices_receive_each_name_and_never_none_between_two(accounts, room):
    first, second = name(room, "first"), name(room, "second")
    ana = await accounts.sign_up(displayName="Ana", username=first)
    client = await room.come("ana", token=ana.access)
    assert (await client.hear("ownAccount"))["account"]["username"] == first
    bob = await room.come("bob")
    assert (await bob.subscribe(ana.user))[0]["profile"]["username"] == first
    account = await taken(ana, second)
    assert (await client.hear("ownAccount"))["account"] == account
    await bob.sees_profile(ana.user, username=second)
    for number in range(4):
        await taken(ana, [first, second][number % 2])
    assert (await ana.call("DELETE", "/v1/me/username")).status == 204
    own = await eventually(
        lambda: next((each for each in client.log if each["type"] == "ownAccount"
                      and "username" not in each["account"]), None), "the account without a name")
    assert own["version"] > 0

    def seen():
        return [each["profile"].get("username") for each in bob.log
                if each["type"] == "profile" and each["user"] == ana.user]

    await eventually(lambda: seen() and seen()[-1] is None, "the profile without a name")
    assert None not in seen()[:-1], seen()


async def test_it_cannot_be_changed_as_a_member_of_the_profile(accounts, room):
    own = name(room)
    ana = await accounts.sign_up(username=own)
    client = await room.come("ana", token=ana.access)
    await client.update(displayName="Ana", username="other", thumbnailURL="https://example.org/t.jpg")
    answer = await ana.call("PATCH", "/v1/me", {"changes": {"displayName": "Ana B.", "username": "other"}})
    assert answer.status == 200
    answer = await accounts.api.request(
        "PATCH", f"/v1/users/{ana.user}/profile", {"displayName": "Ana C.", "username": "other"}, token=room.backend)
    assert answer.status == 200
    me = await ana.me()
    assert me["account"]["username"] == me["profile"]["username"] == own and "thumbnailURL" not in me["profile"]
    assert await state(accounts, "other") == FREE


# Signing up and in


async def test_who_signs_up_with_a_username_has_it_from_the_first_moment(accounts, room):
    own = name(room, "Ana")
    ana = await accounts.sign_up(username=own)
    assert ana.tokens["account"]["username"] == own
    me = await ana.me()
    assert me["account"] == ana.tokens["account"] and me["profile"]["username"] == own
    assert await state(accounts, own.lower(), ana.access) == not_free("yours")


async def test_a_sign_up_whose_username_is_taken_leaves_nothing(accounts, room):
    own, email = name(room), accounts.address()
    await accounts.sign_up(username=own)
    for _ in range(2):
        refused(await accounts.post("/v1/accounts", email=email, password=PASSWORD, username=own.upper()), 409,
                "conflict", "username_taken", "username")
    refused(await accounts.sign_in(email), 401, "unauthorized", "invalid_credentials")
    assert not accounts.mails(email)
    await accounts.sign_up(email)


async def test_a_sign_up_whose_address_is_taken_takes_no_username(accounts, room):
    own, ana = name(room), await accounts.sign_up()
    refused(await accounts.post("/v1/accounts", email=ana.email, password=PASSWORD, username=own), 409, "conflict",
            "email_taken", "email")
    assert await state(accounts, own) == FREE
    await accounts.sign_up(username=own)


async def test_of_many_concurrent_sign_ups_with_a_name_one_succeeds_and_the_others_leave_no_account(accounts, room):
    own = name(room)
    emails = [accounts.address(f"p{number}") for number in range(24)]
    answers = await together(*(
        accounts.post("/v1/accounts", email=email, password=PASSWORD, username=own) for email in emails))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 23
    for email, answer in zip(emails, answers):
        if answer.status == 409:
            refused(answer, 409, "conflict", "username_taken", "username")
            # The address is as free as before.
            await accounts.sign_up(email)


async def test_a_sign_up_that_is_repeated_is_the_same_one(accounts, room):
    own, email = name(room), accounts.address()
    ana = await accounts.sign_up(email, username=own, idempotency="first")
    again = await accounts.sign_up(email, username=own, idempotency="first")
    assert again.user == ana.user and again.tokens["account"]["username"] == own
    refused(await accounts.post("/v1/accounts", email=email, password="another password", username=own,
                                idempotency="first"), 409, "conflict", "email_taken")
    refused(await accounts.post("/v1/accounts", email=email, password=PASSWORD, username=own), 409, "conflict",
            "username_taken")
    refused(await accounts.post("/v1/accounts", email=accounts.address(), password=PASSWORD, username=own,
                                idempotency="first"), 409, "conflict", "username_taken")


async def test_signing_in_with_the_username(accounts, room):
    own = name(room, "Ana")
    ana = await accounts.sign_up(username=own)
    for way in [own, own.lower(), own.upper()]:
        assert (await accounts.signed_in(way)).user == ana.user
    wrong = await accounts.sign_in(own, "wrong password")
    refused(wrong, 401, "unauthorized", "invalid_credentials")
    assert (await accounts.sign_in(name(room, "nobody"))).body == wrong.body
    other = name(room, "other")
    await taken(ana, other)
    refused(await accounts.sign_in(own), 401, "unauthorized", "invalid_credentials")
    assert (await accounts.signed_in(other)).user == ana.user
    assert (await ana.call("DELETE", "/v1/me/username")).status == 204
    refused(await accounts.sign_in(other), 401, "unauthorized", "invalid_credentials")


async def test_guesses_by_username_and_by_address_are_counted_together(accounts, room):
    own = name(room)
    ana = await accounts.sign_up(username=own)
    for number in range(5):
        refused(await accounts.sign_in([own, ana.email][number % 2], "wrong password"), 401, "unauthorized",
                "invalid_credentials")
    for who in (own, ana.email):
        refused(await accounts.sign_in(who), 429, "rate_limited")


async def test_a_password_must_not_contain_the_username(accounts, room):
    own = name(room, "roberta")
    refused(await accounts.post("/v1/accounts", email=accounts.address(), password=f"my {own.upper()}!", username=own),
            422, "validation_failed", "weak_password", "password")
    assert await state(accounts, own) == FREE
    ana = await accounts.sign_up(username=own)
    refused(await ana.call("POST", "/v1/me/password", {"password": PASSWORD, "newPassword": f"my {own}!"}), 422,
            "validation_failed", "weak_password", "newPassword")


# Removal


async def test_the_name_of_a_deleted_account_is_free_at_once(accounts, room):
    own, bobs = name(room), name(room, "bob")
    ana = await accounts.sign_up(username=own)
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    assert await state(accounts, own) == FREE
    bob = await accounts.sign_up(username=bobs)
    answer = await accounts.api.request("DELETE", f"/v1/users/{bob.user}/account", token=room.backend)
    assert answer.status == 204
    assert await state(accounts, bobs) == FREE
    # An account that never had one is deleted as well.
    cy = await accounts.sign_up(username=own)
    await taken(cy, bobs)
    assert (await cy.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    dee = await accounts.sign_up()
    assert (await dee.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204


async def test_a_name_that_is_claimed_while_its_account_is_deleted_is_free_afterwards(accounts, room):
    for number in range(6):
        own, other = name(room, f"own{number}"), name(room, f"other{number}")
        ana = await accounts.sign_up(username=own)
        deleted, _ = await together(ana.call("DELETE", "/v1/me", {"password": PASSWORD}), take(ana, other))
        assert deleted.status == 204
        for each in (own, other):
            await eventually(lambda: free(accounts, each), f"{each} is free")


async def free(accounts, username):
    return await state(accounts, username) == FREE


async def test_a_disabled_account_keeps_its_name(accounts, room):
    own = name(room)
    ana = await accounts.sign_up(username=own)
    assert (await accounts.api.request("POST", f"/v1/users/{ana.user}/account/disable", token=room.backend)).status == 204
    assert await state(accounts, own) == not_free("taken")
    refused(await accounts.sign_in(own), 401, "unauthorized", "invalid_credentials")


# Servers that die


async def test_a_server_killed_among_changes_leaves_no_name_to_nobody(start):
    server = start(ON)
    accounts, room = Accounts(server), Room(server)
    people = [await accounts.sign_up(username=f"start.{number}") for number in range(4)]
    names = [f"name.{number}" for number in range(6)]
    for turn in range(3):
        calls = [asyncio.create_task(attempt(person, names[(place + step + turn) % 6]))
                 for step in range(3) for place, person in enumerate(people)]
        # In the middle: as soon as one is answered.
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        server.kill()
        await asyncio.gather(*calls)
        server.start()
        held = {}
        for person in people:
            me = await eventually(lambda: own(person), "the account")
            # No user released one, so each user has one.
            assert me["account"]["username"] == me["profile"]["username"]
        deadline = asyncio.get_running_loop().time() + 12

        async def settled():
            held.clear()
            for person in people:
                held[(await person.me())["account"]["username"]] = person
            states = {each: await state(accounts, each) for each in names}
            return len(held) == 4 and all((each in held) == (states[each] != FREE) for each in names)

        await eventually(settled, "each name is somebody's or free", within=15)
        assert asyncio.get_running_loop().time() < deadline
    # The remaining state is in order.
    found = run("doctor", "--data-dir", server.directory, "--json")
    assert found.returncode == 0, json.loads(found.stdout)["findings"]


async def attempt(person, username):
    try:
        return await take(person, username)
    except OSError:
        return None


async def own(person):
    answer = await person.call("GET", "/v1/me")
    return answer.json if answer.status == 200 else None


async def test_a_server_killed_among_sign_ups_leaves_no_half_account(start):
    server = start(ON)
    accounts = Accounts(server)
    for turn in range(3):
        own_name = f"wanted.{turn}"
        emails = [accounts.address(f"p{turn}x{number}") for number in range(6)]

        async def sign_up(email, username):
            try:
                return await accounts.post("/v1/accounts", email=email, password=PASSWORD, username=username)
            except OSError:
                return None

        calls = [asyncio.create_task(sign_up(email, own_name if number < 3 else f"{own_name}.{number}"))
                 for number, email in enumerate(emails)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        server.kill()
        answers = await asyncio.gather(*calls)
        server.start()
        for number, (email, answer) in enumerate(zip(emails, answers)):
            wanted = own_name if number < 3 else f"{own_name}.{number}"
            back = await accounts.sign_in(email)
            if back.status == 200:
                assert back.json["account"]["username"] == wanted, "an account without the name that it came with"
            else:
                refused(back, 401, "unauthorized", "invalid_credentials")
                assert answer is None or answer.status == 409
        # A name belongs to its account, or is free.
        for wanted in {own_name} | {f"{own_name}.{number}" for number in range(3, 6)}:
            async def settled():
                there = (await accounts.sign_in(wanted)).status == 200
                return there == (await state(accounts, wanted) != FREE)

            await eventually(settled, f"{wanted} is somebody's or free", within=15, every=2.5)


# Visibility


async def test_the_name_leads_strangers_to_nothing_private(accounts, room):
    mark = "m4rked" + room.suffix
    own = name(room)
    ana = await accounts.sign_up(f"{mark}@example.org", displayName="Ana", username=own)
    bob = await accounts.sign_up()
    seen = []
    for method, path, body in [("GET", f"/v1/usernames/{own}", None), ("PUT", "/v1/me/username", {"username": own}),
                               ("DELETE", "/v1/me/username", None), ("GET", f"/v1/users/{ana.user}", None)]:
        for token in (bob.access, None):
            seen.append(repr(await accounts.api.request(method, path, body, token=token)))
    seen.append(repr(await accounts.post("/v1/accounts", email=accounts.address(), password=PASSWORD, username=own)))
    assert not [text for text in seen if mark in text]
    # The owner is revealed only by watching, if the owner allows it.
    assert ana.user not in seen[0] and ana.user not in seen[1]
    assert await state(accounts, own, ana.access) == not_free("yours")


async def test_a_blocked_user_does_not_see_the_name(accounts, room):
    ana = await accounts.sign_up(username=name(room))
    client = await room.come("ana", token=ana.access)
    bob = await room.come("bob")
    assert (await bob.subscribe(ana.user))[0]["profile"]["username"] == name(room)
    await client.did("block", users=[bob.user])
    # Bob's shard may be another one, which gets the event later.
    while (await bob.get(ana.user))[0]["profile"] is not None:
        pass
    await taken(ana, name(room, "new"))
    await client.did("getVisibility")
    assert name(room, "new") not in json.dumps(bob.log)


async def test_tokens_without_an_account_and_backends(accounts, room):
    token = room.token("ana")
    for method, body in [("PUT", {"username": name(room)}), ("DELETE", None)]:
        refused(await accounts.api.request(method, "/v1/me/username", body, token=token), 404, "not_found")
        refused(await accounts.api.request(method, "/v1/me/username", body), 401, "unauthorized")
        refused(await accounts.api.request(method, "/v1/me/username", body, token=room.backend), 403, "forbidden")
    assert await state(accounts, name(room)) == FREE
    bob = await accounts.sign_up(username=name(room))
    shown = await accounts.api.request("GET", f"/v1/users/{bob.user}/account", token=room.backend)
    assert shown.json["account"]["username"] == name(room)
    assert (await accounts.api.request("GET", f"/v1/users/{bob.user}", token=room.backend)).json["profile"]["username"]


# The document


async def test_every_example_of_a_refusal_is_what_the_server_answers(accounts, room):
    own = name(room)
    ana, bob = await together(accounts.sign_up(username=own), accounts.sign_up())
    answers = [await take(bob, own), await take(bob, "a..b"), await take(bob, "admin")]
    answers.append(await bob.call("GET", f"/v1/usernames/{name(room, 'none')}/user"))
    answered = [answer.json for answer in answers]
    untrue = [place for place, _, _, value in DOCUMENT.examples()
              if re.match("#/components/responses/(Username|SignUp)", place) and value.get("reason") != "email_taken"
              and value not in answered]
    assert not untrue, f"{untrue}: {answered}"
    pattern = DOCUMENT.root["components"]["schemas"]["Username"]["pattern"]
    for username in GOOD + BAD:
        assert bool(re.fullmatch(pattern, username)) == (username in GOOD), username
