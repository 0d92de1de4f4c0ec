"""Finding users by username: who is found, by whom, and that nobody else can be told from nobody."""

import asyncio
import re
import time
from urllib.parse import quote

import pytest

from support.accounts import ON, PASSWORD, Accounts, refused, together
from support.openapi import OpenAPI
from support.patience import eventually
from support.redis import Redis
from support.room import Room
from support.server import Server

BAD = ["", "ab", "a" * 31, ".ana", "ana.", "a..b", "a b", " ana", "ana-b", "ána", "ana\n", "a/b", "a" * 300, "ana@example.org",
       "%", "*", "u-7hq2cdefgh"]
DOCUMENT = OpenAPI("openapi.yaml")


class Place:
    """Accounts on one server, and look-ups on another one of the same Redis, or on the same server."""

    def __init__(self, server, other):
        self.room, self.accounts, self.elsewhere = Room(server), Accounts(server), Accounts(other)

    def name(self, text="ana"):
        """A name that no other test uses."""
        return f"{text}.{re.sub('[^a-z0-9]', '', self.room.suffix.lower())}"[:30]

    async def find(self, username, token):
        return await self.elsewhere.api.request("GET", f"/v1/usernames/{quote(username, safe='')}/user", token=token)

    async def found(self, username, token):
        answer = await self.find(username, token)
        assert answer.status == 200, answer
        return answer.json

    async def unfound(self, username, token):
        """Everybody who is not found is answered with the same bytes."""
        answer = await self.find(username, token)
        assert refused(answer, 404, "not_found") and answer.body == self.missing, answer
        return answer

    async def meet(self):
        """Ana with a name and a connection, and Bob, who looks for her."""
        self.missing = (await self.find(self.name("none"), self.room.backend)).body
        ana, bob = await together(
            self.accounts.sign_up(displayName="Ana", username=self.name()), self.accounts.sign_up(displayName="Bob"))
        return ana, bob, await self.room.come("ana", token=ana.access)


@pytest.fixture(scope="module", params=[1, 2])
def servers(request):
    """One server, or two, shared by the module's tests: each test has users of its own."""
    redis = Redis()
    first = Server(ON, redis=redis)
    second = Server(ON, redis=redis, directory=first.directory) if request.param == 2 else None
    yield first, second or first
    for server in (second, first):
        if server:
            server.close()
    redis.close()


@pytest.fixture
def place(servers):
    return Place(*servers)


async def ok(client, type, **members):
    assert (await client.did(type, **members))["type"] == "ok"


async def set_findable(client, audience):
    await ok(client, "setVisibility", visibility={"findable": audience})


# Found


async def test_a_user_is_found_by_name_in_any_case_with_the_profile(place):
    ana, bob, _ = await place.meet()
    expected = {"user": ana.user, "profile": (await ana.me())["profile"]}
    assert expected["profile"]["displayName"] == "Ana" and expected["profile"]["username"] == place.name()
    for way in (place.name(), place.name().upper(), place.name().title()):
        for token in (bob.access, ana.access, place.room.token("a-user-of-an-app"), place.room.backend):
            assert await place.found(way, token) == expected
    # The head alone, too.
    answer = await place.elsewhere.api.request("HEAD", f"/v1/usernames/{place.name()}/user", token=bob.access)
    assert answer.status == 200 and not answer.body


async def test_a_name_without_an_owner_leads_nowhere(place):
    _, bob, _ = await place.meet()
    for username in (place.name("other"), "admin", place.name()[:-1]):
        await place.unfound(username, bob.access)


@pytest.mark.parametrize("username", BAD)
async def test_text_that_is_no_name_leads_nowhere(place, username):
    place.missing = (await place.find(place.name("none"), place.room.backend)).body
    await place.unfound(username, place.room.token("bob"))


async def test_the_answers_are_as_documented(place):
    ana, bob, client = await place.meet()
    [operation] = [each for each in DOCUMENT.operations if each.path == "/v1/usernames/{name}/user"]
    answers = [await place.find(place.name(), bob.access), await place.find(place.name("none"), bob.access),
               await place.find(place.name(), None), await place.find(place.name(), "none")]
    await ok(client, "setVisibility", visibility={"presence": "nobody"})
    answers.append(await place.find(place.name(), bob.access))
    for answer in answers:
        DOCUMENT.check("GET", answer, operation.responses[answer.status], "find")
    assert [answer.status for answer in answers] == [200, 404, 401, 401, 200]


# Who may find


async def test_who_may_find_a_user_is_a_setting(place):
    ana, bob, client = await place.meet()
    tablet = await place.room.come("ana", token=ana.access)
    cy = await place.accounts.sign_up()
    assert "findable" not in (await client.did("getVisibility"))["visibility"]
    await ok(client, "addContacts", users=[bob.user])
    for audience, finders in [("nobody", []), ("contacts", [bob]), ("everyone", [bob, cy]), ("contacts", [bob])]:
        await set_findable(client, audience)
        await tablet.hear("ownVisibility", visibility={"presence": "everyone", "lastSeen": "everyone", "findable": audience})
        for person in (bob, cy):
            if person in finders:
                assert (await place.found(place.name(), person.access))["user"] == ana.user
            else:
                await place.unfound(place.name(), person.access)
        # The user and backends always find.
        for token in (ana.access, place.room.backend):
            assert (await place.found(place.name(), token))["user"] == ana.user
    await ok(client, "removeContacts", users=[bob.user])
    await place.unfound(place.name(), bob.access)
    await ok(client, "addContacts", users=[cy.user])
    assert (await place.found(place.name(), cy.access))["user"] == ana.user


async def test_the_setting_is_kept_beside_the_others(place):
    ana, _, client = await place.meet()
    path = f"/v1/users/{ana.user}/visibility"
    await ok(client, "setVisibility", visibility={"findable": "contacts", "receipts": "nobody"})
    settings = {"presence": "everyone", "lastSeen": "everyone", "receipts": "nobody", "findable": "contacts"}
    await client.hear("ownVisibility", visibility=settings)
    await ok(client, "setVisibility", visibility={"lastSeen": "nobody"})
    settings["lastSeen"] = "nobody"
    await client.hear("ownVisibility", visibility=settings)
    await ok(client, "block", users=["eve"])
    await client.hear("ownVisibility", visibility=settings, blocks=1)
    await ok(client, "setVisibility", visibility={"receipts": "everyone"})
    settings["receipts"] = "everyone"
    await client.hear("ownVisibility", visibility=settings)
    # Setting it again changes nothing; `null` keeps it.
    await ok(client, "setVisibility", visibility={"findable": "contacts"})
    await ok(client, "setVisibility", visibility={"findable": None})
    assert (await client.did("getVisibility"))["visibility"] == settings
    # A device that connects later, on another server, and backends.
    later = await place.room.come("ana", token=ana.access, at=place.elsewhere.server)
    assert (await later.did("getVisibility"))["visibility"] == settings
    answer = await place.elsewhere.api.request("GET", path, token=place.room.backend)
    assert answer.json["visibility"] == settings
    answer = await place.elsewhere.api.request("PATCH", path, {"findable": "nobody"}, token=place.room.backend)
    settings["findable"] = "nobody"
    assert answer.status == 200 and answer.json == {"visibility": settings}
    await client.hear("ownVisibility", visibility=settings)
    for value, code, status in [("friends", "validation_failed", 422), (7, "bad_request", 400)]:
        answer = await place.elsewhere.api.request("PATCH", path, {"findable": value}, token=place.room.backend)
        assert refused(answer, status, code)["field"] == "findable"
        error = await client.refused(code, "setVisibility", visibility={"findable": value})
        assert error["field"] == "visibility.findable"


async def test_a_block_hides_from_the_blocked_alone(place):
    ana, bob, client = await place.meet()
    their = await place.room.come("bob", token=bob.access)
    # A user still finds the one they block.
    await ok(their, "block", users=[ana.user])
    assert (await place.found(place.name(), bob.access))["user"] == ana.user
    await ok(client, "block", users=[bob.user])
    await place.unfound(place.name(), bob.access)
    # A contact who is blocked is blocked.
    await ok(client, "addContacts", users=[bob.user])
    await set_findable(client, "contacts")
    await place.unfound(place.name(), bob.access)
    await ok(client, "unblock", users=[bob.user])
    assert (await place.found(place.name(), bob.access))["user"] == ana.user


async def test_the_profile_is_that_which_the_finder_may_see(place):
    ana, bob, client = await place.meet()
    for audience in ("contacts", "nobody"):
        await ok(client, "setVisibility", visibility={"presence": audience})
        assert await place.found(place.name(), bob.access) == {"user": ana.user, "profile": None}
        assert (await place.found(place.name(), ana.access))["profile"]["displayName"] == "Ana"
        assert (await place.found(place.name(), place.room.backend))["profile"]["displayName"] == "Ana"
    await ok(client, "addContacts", users=[bob.user])
    await ok(client, "setVisibility", visibility={"presence": "contacts"})
    assert (await place.found(place.name(), bob.access))["profile"]["displayName"] == "Ana"


# Who may ask


async def test_only_a_valid_token_may_ask(place):
    ana, bob, _ = await place.meet()
    expired = place.room.token("bob", expires=-10)
    for token in (None, "none", expired):
        for username in (place.name(), place.name("none")):
            refused(await place.find(username, token), 401, "unauthorized")
    assert (await place.found(place.name(), bob.access))["user"] == ana.user
    assert (await bob.call("DELETE", "/v1/sessions/current")).status == 204
    refused(await place.find(place.name(), bob.access), 401, "unauthorized")


async def test_while_accounts_are_off_there_is_nothing(start):
    room = Room(start())
    answer = await room.api.request("GET", "/v1/usernames/ana/user", token=room.token("ana"))
    assert refused(answer, 404, "not_found")


async def test_a_user_may_look_up_sixty_names_a_minute(start):
    server = start(ON | {"limits.userRequestsPerSecond": 1_000, "limits.userRequestBurst": 1_000}, shards=1)
    accounts, room = Accounts(server), Room(server)
    ana = await accounts.sign_up(username="ana")

    async def look(token, number):
        return await accounts.api.request("GET", f"/v1/usernames/n{number}x/user", token=token)

    begun = time.monotonic()
    answers = [await look(room.token("bob"), number) for number in range(80)]
    statuses = [answer.status for answer in answers]
    # One more becomes free each second.
    allowed = 60 + int(time.monotonic() - begun) + 1
    assert statuses[:60] == [404] * 60 and statuses.count(404) <= allowed, statuses
    slowed = next(answer for answer in answers if answer.status == 429)
    assert refused(slowed, 429, "rate_limited")["retryAfter"] > 0 and int(slowed.headers["Retry-After"]) >= 1
    # Others, and backends, are not slowed.
    assert (await look(ana.access, 1)).status == 404
    assert {(await look(room.backend, number)).status for number in range(80)} == {404}
    # Neither is the user at anything else.
    assert (await accounts.api.request("GET", "/v1/usernames/ana", token=room.token("bob"))).status == 200
    await asyncio.sleep(1.1)
    assert (await look(room.token("bob"), 1)).status == 404


# Names that move


async def test_a_released_name_leads_nowhere_and_then_to_its_next_owner(place):
    ana, bob, _ = await place.meet()
    cy = await place.accounts.sign_up(displayName="Cy")
    assert (await ana.call("PUT", "/v1/me/username", {"username": place.name("next")})).status == 200
    await place.unfound(place.name(), bob.access)
    assert (await place.found(place.name("next"), bob.access))["user"] == ana.user
    assert (await cy.call("PUT", "/v1/me/username", {"username": place.name().upper()})).status == 200
    found = await place.found(place.name(), bob.access)
    assert found["user"] == cy.user and found["profile"]["username"] == place.name().upper()
    assert (await cy.call("DELETE", "/v1/me/username")).status == 204
    await place.unfound(place.name(), bob.access)


async def test_a_deleted_account_is_not_found(place):
    ana, bob, _ = await place.meet()
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    await place.unfound(place.name(), bob.access)
    cy = await place.accounts.sign_up(username=place.name())
    assert (await place.found(place.name(), bob.access))["user"] == cy.user


async def test_a_name_that_is_passed_on_never_leads_to_its_former_owner(place):
    """While a name goes from one user to another, each look finds its owner of the moment or no one."""
    place.missing = (await place.find(place.name("none"), place.room.backend)).body
    own = place.name("passed")
    people = await together(*(place.accounts.sign_up() for _ in range(3)))
    ended = asyncio.Event()

    async def look():
        seen = 0
        while not ended.is_set():
            # The owner before, or after, or none between the two; a former one would be a step back.
            before = turns[-1]
            answer = await place.find(own, place.room.backend)
            after = turns[-1]
            assert answer.status in (200, 404), answer
            if answer.status == 200:
                turn = [each.user for each in people].index(answer.json["user"])
                assert turn in {number % 3 for number in range(before, after + 2)}, (turn, before, after)
                seen += 1
        return seen

    turns = [0]
    assert (await people[0].call("PUT", "/v1/me/username", {"username": own})).status == 200
    looks = [asyncio.create_task(look()) for _ in range(3)]
    for turn in range(1, 13):
        giver, taker = people[(turn - 1) % 3], people[turn % 3]
        assert (await giver.call("DELETE", "/v1/me/username")).status == 204
        assert (await taker.call("PUT", "/v1/me/username", {"username": own})).status == 200
        turns.append(turn)
    ended.set()
    assert sum(await together(*looks)) > 0


# Nothing is revealed


READS = ("hget", "hmget", "sismember", "smembers", "smismember", "sscan")


async def test_who_is_not_found_takes_the_commands_of_nobody(start):
    redis = start.redis()
    server = start(ON | {"limits.userRequestsPerSecond": 1_000, "limits.userRequestBurst": 1_000}, redis=redis, shards=1)
    accounts, room = Accounts(server), Room(server)
    bob = await accounts.sign_up()
    watcher = await room.come("watcher")
    names = {"none": "none"}
    for name, type, members in [
        ("blocks", "block", {"users": [bob.user]}),
        ("longlist", "block", {"users": [bob.user] + [f"other-{number}" for number in range(50)]}),
        ("contacts", "setVisibility", {"visibility": {"findable": "contacts"}}),
        ("nobody", "setVisibility", {"visibility": {"findable": "nobody"}}),
        ("online", "setVisibility", {"visibility": {"findable": "nobody"}}),
        ("watched", "block", {"users": [bob.user]}),
    ]:
        person = await accounts.sign_up(username=f"{name}.x")
        client = await room.come(name, token=person.access)
        await ok(client, "addContacts", users=["friend"])
        await ok(client, type, **members)
        # A session or a watcher in memory makes no difference.
        if name == "watched":
            await watcher.subscribe(person.user)
        if name != "online":
            await client.close()
        names[name] = f"{name}.x"

    async def look(name):
        redis.command("CONFIG", "RESETSTAT")
        answer = await accounts.api.request("GET", f"/v1/usernames/{name}/user", token=bob.access)
        calls = re.findall(r"cmdstat_(\w+):calls=(\d+)", redis.command("INFO", "commandstats"))
        return {name: int(count) for name, count in calls if name in READS}, answer.status, answer.body

    async def settled_look(name, expected):
        """Scripts of the sign-up, or of the end of a session, may run beside a look; their commands count, too."""
        for _ in range(5):
            seen = await look(name)
            if seen[0] == expected:
                break
        return seen

    # A token's validity, the claim, the user, and the finder's entries in both lists.
    commands = {"hget": 1, "hmget": 2, "sismember": 2}
    missing = await settled_look("none", commands)
    assert missing[:2] == (commands, 404)
    for way, name in names.items():
        assert await settled_look(name, commands) == missing, way
    # A user who is found takes the same commands.
    await accounts.sign_up(username="found.x")
    assert (await settled_look("found.x", commands))[:2] == (commands, 200)


async def test_without_redis_the_answer_is_unavailable_for_everyone(start):
    redis = start.redis()
    server = start(ON, redis=redis)
    accounts, room = Accounts(server), Room(server)
    await accounts.sign_up(username="ana")
    token = room.token("bob")
    client = await room.come("bob")
    redis.kill()
    await client.hear("stale")

    async def look(name):
        return await accounts.api.request("GET", f"/v1/usernames/{name}/user", token=token)

    for name in ("ana", "none"):
        refused(await look(name), 503, "unavailable")
    # The other shards are live again a moment later.
    redis.start()

    async def is_live():
        return (await look("ana")).status == 200

    await eventually(is_live, "it answers again", every=0.5)
