"""The directory: users by the beginning of a name, with the same exceptions as a look-up by username."""

import asyncio
from urllib.parse import quote

import pytest

from support.accounts import ON, PASSWORD, Accounts, refused, together
from support.room import Room

DIRECTORY = ON | {"accounts.directory": True, "limits.userRequestsPerSecond": 1_000, "limits.userRequestBurst": 1_000}


@pytest.fixture
def place(start):
    server = start(DIRECTORY)
    return Accounts(server), Room(server)


async def search(accounts, token, starts, **query):
    text = "".join(f"&{name}={value}" for name, value in query.items())
    return await accounts.api.request("GET", f"/v1/people?starts={quote(starts, safe='')}{text}", token=token)


async def found(accounts, token, starts, **query):
    answer = await search(accounts, token, starts, **query)
    assert answer.status == 200, answer
    return [each["user"] for each in answer.json["people"]]


async def test_users_are_found_by_the_beginning_of_both_names_in_any_case(place):
    accounts, room = place
    ana, angel, bob = await together(
        accounts.sign_up(displayName="Ana \"A\" Smith", username="zoe.s"), accounts.sign_up(displayName="Ángel", username="ana.x"),
        accounts.sign_up(displayName="Боб"))
    for token in (bob.access, ana.access, room.backend, room.token("of-an-app")):
        assert await found(accounts, token, "ANA") == [ana.user, angel.user]
        assert await found(accounts, token, "ana \"a\" s") == [ana.user]
        assert await found(accounts, token, "áN") == await found(accounts, token, "Áng") == [angel.user]
        assert await found(accounts, token, "бО") == [bob.user]
        assert await found(accounts, token, "zoe") == [ana.user]
        assert await found(accounts, token, "na") == await found(accounts, token, "smith") == []
    people = (await search(accounts, bob.access, "zoe")).json["people"]
    assert people == [{"user": ana.user, "profile": (await ana.me())["profile"]}]


async def test_a_changed_name_is_found_and_the_former_is_not(place):
    accounts, room = place
    ana, bob = await together(accounts.sign_up(displayName="Ana", username="ana.one"), accounts.sign_up(displayName="Bob"))
    client = await room.come("ana", token=ana.access)
    await client.update(displayName="Eve")
    assert (await ana.call("PUT", "/v1/me/username", {"username": "eve.one"})).status == 200
    assert await found(accounts, bob.access, "ana") == []
    assert await found(accounts, bob.access, "eve") == [ana.user]
    assert (await ana.call("PATCH", "/v1/me", {"changes": {"displayName": "Cleo"}})).status == 200
    assert (await ana.call("DELETE", "/v1/me/username")).status == 204
    assert await found(accounts, bob.access, "eve") == [] and await found(accounts, bob.access, "cleo") == [ana.user]
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    assert await found(accounts, bob.access, "cleo") == []


async def test_hidden_blocking_and_banned_users_are_omitted(place):
    accounts, room = place
    ana, bob = await together(accounts.sign_up(displayName="Ana", username="xan"), accounts.sign_up(displayName="Bob"))
    client = await room.come("ana", token=ana.access)

    async def can():
        return [bool(await found(accounts, bob.access, starts)) for starts in ("xa", "an")]

    assert await can() == [True, True]
    await client.did("setVisibility", visibility={"findable": "nobody"})
    assert await can() == [False, False]
    assert await found(accounts, room.backend, "xa") == await found(accounts, ana.access, "xa") == [ana.user]
    await client.did("setVisibility", visibility={"findable": "contacts"})
    assert await can() == [False, False]
    await client.did("addContacts", users=[bob.user])
    assert await can() == [True, True]
    await client.did("setVisibility", visibility={"findable": "everyone", "presence": "nobody"})
    # The profile is hidden, so the name in it finds no user.
    assert await can() == [True, False]
    assert (await search(accounts, bob.access, "xa")).json["people"] == [{"user": ana.user, "profile": None}]
    await client.did("setVisibility", visibility={"presence": "everyone"})
    await client.did("block", users=[bob.user])
    assert await can() == [False, False]
    await client.did("unblock", users=[bob.user])
    assert await can() == [True, True]
    ban = await accounts.api.request("PUT", f"/v1/users/{ana.user}/ban", {"reason": "x"}, token=room.backend)
    assert ban.status == 200, ban
    assert await can() == [False, False]
    await accounts.api.request("DELETE", f"/v1/users/{ana.user}/ban", token=room.backend)
    assert await can() == [True, True]


async def test_hidden_users_take_no_place_of_others(place):
    accounts, room = place
    bob = await accounts.sign_up(displayName="Bob")

    async def name(user, text, isHidden=True):
        changes = [("profile", {"displayName": text})] + [("visibility", {"findable": "nobody"})] * isHidden
        for what, change in changes:
            answer = await accounts.api.request("PATCH", f"/v1/users/{user}/{what}", change, token=room.backend)
            assert answer.status in (200, 204), answer

    hidden = [f"hidden-{number:03}" for number in range(250)]
    for first in range(0, len(hidden), 25):
        await together(*(name(user, f"Xa {user[-3:]}") for user in hidden[first:first + 25]))
    shown = ["m", "z1", "z2"]
    await together(*(name(user, text, isHidden=False) for user, text in zip(shown, ("Xa 120m", "Xa z1", "Xa z2"))))
    for limit in (1, 2, 3, 20):
        assert await found(accounts, bob.access, "xa", limit=limit) == shown[:limit]
    # One more who hides changes no answer.
    await name("hidden-more", "Xa")
    for limit in (1, 2, 3, 20):
        assert await found(accounts, bob.access, "xa", limit=limit) == shown[:limit]
    assert await found(accounts, room.backend, "xa", limit=20) == ["hidden-more", *hidden[:19]]


async def test_an_answer_is_bounded_and_sorted(place):
    accounts, room = place
    everyone = await together(*(accounts.sign_up(displayName=f"Zed {chr(97 + number)}") for number in range(22)))
    names = [each.user for each in everyone]
    token = everyone[0].access
    assert await found(accounts, token, "zed") == names[:10]
    assert await found(accounts, token, "zed", limit=20) == names[:20]
    assert await found(accounts, token, "zed", limit=1) == names[:1]
    assert await found(accounts, token, "zed v") == names[21:]
    for starts, query, field in (("z", {}, "starts"), ("x" * 65, {}, "starts"), ("zed", {"limit": 0}, "limit"),
                                 ("zed", {"limit": 21}, "limit"), ("zed", {"limit": "x"}, "limit")):
        assert refused(await search(accounts, token, starts, **query), 422, "validation_failed")["field"] == field
    assert await found(accounts, token, "x" * 64) == []


async def test_both_kinds_of_look_up_share_a_rate(start):
    accounts = Accounts(start(DIRECTORY, shards=1))
    bob = await accounts.sign_up(displayName="Bob")
    for number in range(30):
        assert (await search(accounts, bob.access, "zed")).status == 200
        assert (await accounts.api.request("GET", f"/v1/usernames/n{number}x/user", token=bob.access)).status == 404
    answers = await asyncio.gather(*(search(accounts, bob.access, "zed") for _ in range(30)))
    slowed = [answer for answer in answers if answer.status == 429]
    assert slowed and refused(slowed[0], 429, "rate_limited")["retryAfter"] > 0


async def test_without_the_setting_there_is_no_directory(start):
    accounts = Accounts(start(ON))
    bob = await accounts.sign_up(displayName="Bob")
    assert (await search(accounts, bob.access, "bob")).status == 404
