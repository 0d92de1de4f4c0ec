"""Keys of backends: each call with and without its scope, and the life of a key on all servers."""

import asyncio
import json
import os
import re

import pytest

from support.accounts import ON
from support.api import API
from support.app import fill, press, shows, title
from support.documents import DOCS
from support.openapi import OpenAPI
from support.patience import eventually
from support.raw import RawSocket
from support.room import Room
from support.server import run

from test_30_console import ask, console

DOCUMENT = OpenAPI("openapi.yaml")
SETTINGS = ON | {"console.enabled": True, "history.enabled": True, "accounts.directory": True, "attachments.enabled": True}
SCOPES = ["users:read", "users:write", "conversations:read", "conversations:write", "notifications:write", "moderation:read",
          "moderation:write", "exports:read"]
FORM = re.compile(r"presence_key_[0-9a-f]{16}_[0-9a-f]{64}")


def command(server, *arguments):
    """`presenced key` with the Redis of a server."""
    place = ["--data-dir", server.directory]
    if server.redis:
        place += ["--redis", server.redis.url]
    return run("key", *arguments, *place)


def done(server, *arguments):
    result = command(server, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def make(room, *scopes, name, expires=None):
    key = done(room.server, "create", "--name", name, "--scopes", ",".join(scopes), *(["--expires", expires] if expires else []))
    assert FORM.fullmatch(key)
    return key


def scope_of(operation):
    """The scope that the document names; None for an operation that no key may do."""
    scopes = [each["key"][0] for each in operation.node.get("security", []) if "key" in each]
    assert len(scopes) <= 1
    return scopes[0] if scopes else None


def place(operation):
    return re.sub(r"\{[a-z]+\}", "bob", operation.path)


WITH_TOKEN = [each for each in DOCUMENT.operations if each.needs_token and each.path != "/v1/ws"]
SCOPED = [each for each in WITH_TOKEN if scope_of(each)]


async def status(room, key, method="GET", path="/v1/users/bob", body=None, at=None):
    return (await API(at or room.server).request(method, path, body, token=key)).status


@pytest.fixture(scope="module")
def keys(server):
    """A key for each scope, and one for all, on the shared server."""
    made = {scope: done(server, "create", "--name", scope.replace(":", "."), "--scopes", scope) for scope in SCOPES}
    return made | {"all": done(server, "create", "--name", "all", "--scopes", ",".join(SCOPES))}


# The table


def test_the_protocol_has_the_table_of_the_document():
    text = open(os.path.join(DOCS, "protocol.md"), encoding="utf-8").read()
    rows = re.findall(r"^\| `([a-z]+:[a-z]+)` \| (.+) \|$", text, re.M)
    told = {(method, path, scope) for scope, calls in rows for method, path in re.findall(r"`([A-Z]+) (/v1/[^`]+)`", calls)}
    assert [scope for scope, _ in rows] == SCOPES
    assert told == {(each.method, each.path, scope_of(each)) for each in SCOPED}


@pytest.mark.parametrize("operation", SCOPED, ids=str)
async def test_a_key_needs_the_scope_of_a_call_and_no_other(room, keys, operation):
    scope = scope_of(operation)
    body = b"{}" if operation.method not in ("GET", "DELETE") else None
    for other in SCOPES:
        answer = await room.api.request(operation.method, place(operation), body, token=keys[other])
        if other != scope:
            assert answer.status == 403 and set(answer.json) == {"type", "code", "message", "scope"}, answer
            assert answer.json["code"] == "forbidden" and answer.json["scope"] == scope, answer
        else:
            assert answer.status in operation.responses and answer.status not in (401, 403), answer
            assert answer.status < 500, answer
            DOCUMENT.check(operation.method, answer, operation.responses[answer.status], str(operation))
    assert (await room.api.request(operation.method, place(operation), body, token=keys["all"])).status not in (401, 403)


@pytest.mark.parametrize("operation", [each for each in WITH_TOKEN if not scope_of(each)], ids=str)
async def test_no_key_makes_the_other_calls(room, keys, operation):
    answer = await room.api.request(operation.method, place(operation), b"{}", token=keys["all"])
    assert answer.status == 403 and answer.json["code"] == "forbidden" and "scope" not in answer.json, answer
    # A backend's token still works.
    assert (await room.api.request(operation.method, place(operation), b"{}", token=room.backend)).status != 401


async def test_calls_within_scopes_act_and_others_do_not(room, keys):
    bob = await room.come("bob")
    told = {"users": [bob.user], "id": "n-1", "kind": "order", "title": "Ready"}
    for key, wanted in ((keys["users:read"], 403), (keys["notifications:write"], 202)):
        assert await status(room, key, "POST", "/v1/notifications", told) == wanted
    changes = {"displayName": "By a key"}
    assert await status(room, keys["users:read"], "PATCH", f"/v1/users/{bob.user}/profile", changes) == 403
    assert (await room.api.request("GET", f"/v1/users/{bob.user}", token=keys["users:read"])).json["profile"] is None
    assert await status(room, keys["users:write"], "PATCH", f"/v1/users/{bob.user}/profile", changes) == 200
    seen = (await room.api.request("GET", f"/v1/users/{bob.user}", token=keys["users:read"])).json
    assert seen["profile"]["displayName"] == "By a key"


async def test_a_key_opens_no_session_and_needs_no_call_without_a_token(room, keys):
    client = await room.socket()
    assert (await client.ask("connect", token=keys["all"]))["code"] == "unauthorized"
    for path in ("/v1/server", "/v1/usernames/ana.l"):
        assert await status(room, keys["all"], path=path) == 200


# Their life


async def test_a_key_ends_at_once_on_all_servers(start):
    redis = start.redis()
    one = start({}, redis=redis)
    two = start({}, redis=redis, directory=one.directory)
    room = Room(one)
    key = make(room, "users:read", name="shop")
    for turn in range(5):
        assert {await status(room, key, at=at) for at in (one, two)} == {200}
        old, key = key, done(one, "rotate", "shop")
        assert {await status(room, old, at=at) for at in (one, two)} == {401}
    assert {await status(room, key, at=at) for at in (one, two)} == {200}
    done(two, "revoke", "shop")
    assert {await status(room, key, at=at) for at in (one, two)} == {401}
    assert command(one, "revoke", "shop").returncode == 1 and command(one, "rotate", "shop").returncode == 1
    assert one.whole_log().count("presence_key_") == two.whole_log().count("presence_key_") == 0


async def test_with_an_overlap_both_secrets_work_for_a_time(room):
    first = make(room, "users:read", name="overlapping")
    second = done(room.server, "rotate", "overlapping", "--overlap", "2s")
    assert second != first and second[:29] == first[:29]
    assert await status(room, first) == await status(room, second) == 200
    await asyncio.sleep(2.1)
    assert (await status(room, first), await status(room, second)) == (401, 200)
    third = done(room.server, "rotate", "overlapping", "--overlap", "1h")
    fourth = done(room.server, "rotate", "overlapping", "--overlap", "1h")
    assert [await status(room, key) for key in (second, third, fourth)] == [401, 200, 200]


async def test_a_key_ends_by_time(room):
    key = make(room, "users:read", name="short", expires="1500ms")
    assert await status(room, key) == 200
    await asyncio.sleep(1.6)
    answer = await room.api.request("GET", "/v1/users/bob", token=key)
    assert answer.status == 401 and answer.headers["WWW-Authenticate"] == "Bearer"
    assert command(room.server, "rotate", "short").returncode == 1
    assert "short" in done(room.server, "list")


async def test_the_command_lists_keys_without_their_secrets(room):
    key = make(room, "users:write", "users:read", name="listed", expires="90d")
    rows = [json.loads(line) for line in done(room.server, "list", "--json").splitlines()]
    mine, = [row for row in rows if row["name"] == "listed"]
    assert mine["scopes"] == ["users:read", "users:write"] and mine["id"] in key
    assert mine["expiresAt"] - mine["createdAt"] == 90 * 86_400_000
    assert key[30:] not in done(room.server, "list", "--json") + done(room.server, "list")
    # By its id, too.
    done(room.server, "revoke", mine["id"])
    assert await status(room, key) == 401


@pytest.mark.parametrize("arguments", [
    ("--name", "Shop", "--scopes", "users:read"), ("--name", "a b", "--scopes", "users:read"),
    ("--name", "x", "--scopes", "users"), ("--name", "x", "--scopes", ""), ("--name", "x", "--scopes", "users:read,"),
    ("--name", "x", "--scopes", "users:read", "--expires", "20000d"), ("--name", "0123456789abcdef", "--scopes", "users:read"),
])
async def test_what_is_no_key_is_not_made(room, arguments):
    before = done(room.server, "list")
    result = command(room.server, "create", *arguments)
    assert result.returncode == 1 and result.stderr and not result.stdout, result
    assert done(room.server, "list") == before


async def test_a_name_is_unique_and_keys_are_bounded(start):
    room = Room(start({}))
    make(room, "users:read", name="shop")
    assert "another key has this name" in command(room.server, "create", "--name", "shop", "--scopes", "users:read").stderr
    for number in range(99):
        make(room, "users:read", name=f"key-{number}")
    assert "at most 100" in command(room.server, "create", "--name", "more", "--scopes", "users:read").stderr
    done(room.server, "revoke", "shop")
    make(room, "users:read", name="shop")


# Bad keys


async def test_bad_keys_are_refused_as_bad_tokens_are(room, keys):
    good = keys["users:read"]
    for bad in (good[:-1], good + "0", good[:-1] + ("0" if good[-1] != "0" else "1"), "presence_key_", "presence_key_x_y",
                good.upper(), f"presence_key_{'0' * 16}_{'0' * 64}", good.replace("presence_key_", "presence_key_\u00e4")):
        answer = await room.api.request("PATCH", "/v1/users/bob/profile", b"{}", token=bad.encode("ascii", "replace").decode())
        assert answer.status == 401 and answer.json["code"] == "unauthorized", answer
        assert good[30:] not in answer.body
    assert await status(room, good) == 200


async def test_guesses_are_charged_to_their_address(start):
    room = Room(start({"limits.limitLoopback": True, "limits.failedTokenBurst": 5, "limits.failedTokensPerSecond": 1}))
    key = make(room, "users:read", name="shop")
    statuses = [await status(room, f"presence_key_{number:016x}_{'0' * 64}") for number in range(8)]
    assert statuses[:5] == [401] * 5 and 429 in statuses[5:]
    # None is looked up then, valid or not.
    assert await status(room, key) == 429
    await asyncio.sleep(1.2)
    assert await status(room, key) == 200


async def test_without_the_store_no_key_acts(start):
    redis = start.redis()
    room = Room(start({"commandTimeout": "500ms", "staleAfter": "500ms"}, redis=redis))
    key = make(room, "users:read", "notifications:write", name="shop")
    assert await status(room, key) == 200
    redis.stop()
    answer = await room.api.request("POST", "/v1/notifications", {"users": ["bob"], "id": "n-1", "kind": "k", "title": "t"}, token=key)
    assert answer.status == 503 and answer.json["code"] == "unavailable", answer
    assert await status(room, key) == 503
    redis.go_on()

    async def works():
        return await status(room, key) == 200

    await eventually(works, "the key works again")


async def test_a_key_that_is_revoked_while_a_body_is_on_its_way_does_not_act(start):
    room = Room(start({}))
    key = make(room, "users:write", name="slow")
    body = b'{"displayName":"Late"}'
    raw = await RawSocket(room.server).dial()
    head = f"PATCH /v1/users/bob/profile HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    raw.writer.write(head.encode() + body[:5])
    await raw.writer.drain()
    await asyncio.sleep(0.3)
    done(room.server, "revoke", "slow")
    raw.writer.write(body[5:])
    await raw.writer.drain()
    assert b" 401 " in await asyncio.wait_for(raw.reader.readline(), 10)
    raw.writer.close()
    assert (await room.api.request("GET", "/v1/users/bob", token=room.backend)).json["profile"] is None


async def test_only_digests_are_stored_and_nothing_is_logged(start):
    redis = start.redis()
    room = Room(start({"logLevel": "debug"}, redis=redis))
    key = make(room, "users:read", name="shop")
    assert await status(room, key) == 200 and await status(room, key[:-1]) == 401
    stored = redis.command("HGETALL", "{p000}:backendKeys")
    assert "shop" in stored and key[30:] not in stored
    assert "presence_key_" not in room.server.whole_log() and key[30:] not in room.server.whole_log()
    result = run("doctor", "--data-dir", room.server.directory, "--redis", redis.url)
    assert result.returncode == 0, result.stdout


# The console


async def test_operators_make_rotate_and_revoke_keys_in_the_console(room):
    made = await ask(room, "POST", "/v1/console/keys", {"name": "web", "scopes": ["users:read"], "expiresIn": 3_600_000})
    assert made.status == 201 and FORM.fullmatch(made.json["secret"]) and made.headers["Cache-Control"] == "no-store"
    key, id = made.json["secret"], made.json["key"]["id"]
    assert await status(room, key) == 200
    listed = (await ask(room, "GET", "/v1/console/keys")).json
    assert listed["scopes"] == SCOPES and made.json["key"] in listed["keys"] and key[30:] not in json.dumps(listed)
    rotated = await ask(room, "POST", f"/v1/console/keys/{id}/rotate")
    assert rotated.status == 200 and rotated.json["key"]["rotatedAt"]
    assert (await status(room, key), await status(room, rotated.json["secret"])) == (401, 200)
    again = await ask(room, "POST", f"/v1/console/keys/web/rotate", {"overlap": 60_000})
    assert again.json["secret"].startswith(f"presence_key_{id}_")
    assert await status(room, rotated.json["secret"]) == await status(room, again.json["secret"]) == 200
    assert (await ask(room, "DELETE", f"/v1/console/keys/{id}")).status == 204
    assert await status(room, rotated.json["secret"]) == await status(room, again.json["secret"]) == 401
    for method, place in (("DELETE", f"/v1/console/keys/{id}"), ("POST", f"/v1/console/keys/{id}/rotate")):
        assert (await ask(room, method, place)).status == 404


@pytest.mark.parametrize("body, code, field", [
    ({}, 400, "name"), ({"name": "x"}, 400, "scopes"), ({"name": 5, "scopes": ["users:read"]}, 400, "name"),
    ({"name": "x", "scopes": "users:read"}, 400, "scopes"), ({"name": "x", "scopes": []}, 422, "scopes"),
    ({"name": "x", "scopes": ["users:read", "y"]}, 422, "scopes"), ({"name": "X", "scopes": ["users:read"]}, 422, "name"),
    ({"name": "x", "scopes": ["users:read"], "expiresIn": 0}, 422, "expiresIn"),
    ({"name": "all", "scopes": ["users:read"]}, 409, "name"),
])
async def test_a_malformed_request_makes_no_key(room, keys, body, code, field):
    answer = await ask(room, "POST", "/v1/console/keys", body)
    assert answer.status == code and answer.json["field"] == field, answer


async def test_the_console_has_a_page_of_keys(start, chromium):
    room = Room(start(SETTINGS))
    async with chromium:
        page = await console(chromium, room, "#/keys")
        await title(page, "Keys")
        await shows(page, "No backend has a key.")
        await fill(page, "name", "shop")
        await page.run("document.querySelector('input[value=\"users:read\"]').click()")
        await press(page, "Make the key")
        await shows(page, "Copy it now.")
        key = await page.value("document.querySelector('pre code').textContent")
        assert FORM.fullmatch(key) and await status(room, key) == 200
        await press(page, "New secret")
        await shows(page, "has another secret")
        await eventually_other(page, key)
        await page.run("window.confirm = () => true")
        await press(page, "Revoke")
        await shows(page, "shop is revoked.")
        assert await status(room, key) == 401


async def eventually_other(page, key):
    async def other():
        return await page.value("document.querySelector('pre code').textContent") != key

    await eventually(other, "another secret")
