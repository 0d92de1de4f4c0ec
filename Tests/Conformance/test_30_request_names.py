"""A request's name leads from a client or proxy through the logs of all servers to the deliveries of its changes."""

import asyncio
import re

import pytest

from support.accounts import ON, PASSWORD, Accounts
from support.api import path
from support.patience import eventually
from support.raw import RawSocket
from support.room import Room
from support.talks import follow, hears, say, talk

MADE = r"[0-9a-z]+-[0-9a-z]+"


def session(client):
    return client.connected["session"]


def lines(server, event, /, **fields):
    """The lines of an event in the log with these fields, each as a dictionary."""
    found = []
    for line in server.whole_log().splitlines():
        match = re.match(r"\S+ debug (\S+)( .*)?$", line)
        if match and match.group(1) == event:
            values = {name: quoted or plain for name, quoted, plain in re.findall(r' (\w+)=(?:"([^"]*)"|(\S+))', line)}
            if all(values.get(name) == value for name, value in fields.items()):
                found.append(values)
    return found


async def line(server, event, /, **fields):
    found = await eventually(lambda: lines(server, event, **fields), f"{event} {fields}")
    return found[0]


async def test_every_answer_names_its_request(room):
    names = [(await room.api.request("GET", "/healthz")).headers["X-Request-Id"] for _ in range(5)]
    assert len(set(names)) == 5 and all(re.fullmatch(MADE, name) for name in names)
    for status, request in {404: ("GET", "/nothing"), 405: ("POST", "/healthz"), 401: ("GET", "/v1/users/ana")}.items():
        answer = await room.api.request(*request, headers={"X-Request-Id": "from-the.proxy_7"})
        assert (answer.status, answer.headers["X-Request-Id"]) == (status, "from-the.proxy_7")


@pytest.mark.parametrize("given", ["", "a b", "a/b", 'a"b', "ü", "x" * 65, "a=b", "a, b"])
async def test_a_name_that_could_disturb_a_log_is_not_taken(room, given):
    answer = await room.api.request("GET", "/healthz", headers={"X-Request-Id": given.encode("utf-8").decode("latin-1")})
    assert answer.status == 200 and re.fullmatch(MADE, answer.headers["X-Request-Id"]), answer


async def test_a_name_may_have_64_characters(room):
    answer = await room.api.request("GET", "/healthz", headers={"X-Request-Id": "x" * 64})
    assert answer.headers["X-Request-Id"] == "x" * 64


async def test_each_request_of_a_connection_has_a_name_of_its_own(room):
    raw = await RawSocket(room.server).dial()
    first, second = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    await raw.write((first + second).encode())
    heads = [(await asyncio.wait_for(raw.reader.readuntil(b"ok\"}"), 15)).decode() for _ in range(2)]
    assert "X-Request-Id: mine\r\n" in heads[0] and "X-Request-Id: mine\r\n" not in heads[1] and "X-Request-Id: " in heads[1]
    raw.abort()


async def test_an_upgrade_is_named_too(room):
    for headers, wanted in (((), MADE), (("X-Request-Id: mine",), "mine")):
        for protocol in ("presence.v1", None):
            raw = await RawSocket(room.server).dial()
            status, found = await raw.shake_hands(headers=headers, protocol=protocol)
            assert status == 101 and re.fullmatch(wanted, found["x-request-id"]), found
            assert found.get("sec-websocket-protocol") == protocol
            raw.abort()


async def test_a_message_is_followed_to_its_deliveries_on_another_server(start):
    redis = start.redis()
    here, there = (start({"logLevel": "debug"}, redis=redis, shards=1) for _ in range(2))
    room = Room(here)
    ana, bob, cy = await room.come("ana"), await room.come("bob", at=there), await room.come("cy")
    # A watcher on each server: with `redis.interests` a change reaches no other.
    for watcher in (bob, cy):
        await watcher.subscribe(ana)
    reply = await ana.ask("status", status="busy")
    await bob.sees(ana, status="busy")
    name = f"{session(ana)}/{reply['id']}"
    assert (await line(here, "request", request=name))["type"] == "status"
    change = await line(there, "change", request=name, event="P")
    assert change["watchers"] == "1"
    assert (await line(here, "change", request=name, event="P"))["version"] == change["version"]
    assert int((await line(there, "delivered", requests=name))["events"]) >= 1


async def test_a_request_of_several_steps_keeps_its_name(start):
    """The block is checked first, then the message is sent."""
    room = Room(start({"logLevel": "debug"}, shards=2))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await follow(bob, id)
    message = await say(ana, id, "a private word")
    await hears(bob, id, 1)
    change = await line(room.server, "change", event="M")
    assert re.fullmatch(re.escape(session(ana)) + r"/\d+", change["request"]), change
    assert (await line(room.server, "request", request=change["request"]))["type"] == "send"
    assert message["seq"] == int(change["version"]) == 1


async def test_a_call_is_followed_to_its_deliveries(start):
    room = Room(start({"logLevel": "debug"}, shards=1))
    ana, bob = await room.come("ana"), await room.come("bob")
    await bob.subscribe(ana)
    answer = await room.api.request("PATCH", path("users", ana.user, "profile"), {"displayName": "A private name"}, token=room.backend,
                                    headers={"X-Request-Id": "shop-42"})
    assert answer.status == 200, answer
    await bob.sees_profile(ana, displayName="A private name")
    call = await line(room.server, "call", request="shop-42")
    assert (call["method"], call["path"]) == ("PATCH", "/v1/users/{id}/profile")
    assert (await line(room.server, "answered", request="shop-42"))["status"] == "200"
    assert (await line(room.server, "change", request="shop-42"))["event"] == "F"
    await line(room.server, "delivered", requests="shop-42")
    # The next action of another user does not carry it.
    await ana.ask("status", status="busy")
    await bob.sees(ana, status="busy")
    assert len(lines(room.server, "change", request="shop-42")) == 1


async def test_a_refused_call_is_in_the_log(start):
    room = Room(start({"logLevel": "debug"}, shards=1))
    headers = {"X-Request-Id": "shop-43"}
    assert (await room.api.request("PATCH", path("users", "ana", "profile"), {}, token="garbage", headers=headers)).status == 401
    assert (await line(room.server, "answered", request="shop-43"))["status"] == "401"
    assert (await room.api.request("GET", path("users", "ana"), token="garbage", headers={"X-Request-Id": "shop-44"})).status == 401
    assert (await line(room.server, "answered", request="shop-44"))["status"] == "401"


async def test_a_session_is_found_by_the_name_of_its_upgrade(start):
    room = Room(start({"logLevel": "debug"}, shards=1))
    raw = await RawSocket(room.server).dial()
    status, _ = await raw.shake_hands(headers=("X-Request-Id: proxy-1",))
    assert status == 101
    await raw.connect(room.token("ana"))
    session = await line(room.server, "session", request="proxy-1")
    assert (await line(room.server, "request", request="proxy-1/1"))["type"] == "connect"
    assert re.fullmatch(r"\w+", session["session"])
    raw.abort()


async def test_work_on_threads_keeps_its_name(start):
    """A password is verified before the account is deleted."""
    accounts = Accounts(start(ON | {"logLevel": "debug"}, shards=1))
    ana = await accounts.sign_up()
    answer = await accounts.api.request(
        "DELETE", "/v1/me", {"password": PASSWORD}, token=ana.access, headers={"X-Request-Id": "app-1"})
    assert answer.status == 204, answer
    await line(accounts.server, "change", request="app-1", event="Z")


async def test_debug_logs_have_no_ids_texts_or_tokens(start):
    room = Room(start({"logLevel": "debug"}, shards=1))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await say(ana, id, "a private word")
    await room.api.request("GET", path("users", ana.user), token=room.backend)
    await room.api.request("GET", path("nothing", ana.user), token=room.backend)
    await line(room.server, "call", path="/v1/users/{id}")
    log = room.server.whole_log()
    for word in (ana.user, bob.user, id, "a private word", room.backend):
        assert word not in log, word


async def test_other_levels_tell_nothing_of_requests(start):
    room = Room(start({}, shards=1))
    ana = await room.come("ana")
    await ana.ask("status", status="busy")
    await room.api.request("GET", "/healthz", headers={"X-Request-Id": "shop-1"})
    log = room.server.whole_log()
    assert session(ana) not in log and "shop-1" not in log
