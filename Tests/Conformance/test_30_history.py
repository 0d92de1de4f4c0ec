"""History: the stored past presence, and the backends' access to it."""

import asyncio
import time

import pytest

from support.accounts import ON, PASSWORD, Accounts
from support.api import path
from support.openapi import OpenAPI
from support.patience import A_MOMENT, PATIENCE, eventually, now
from support.room import Room
from test_11_crashes_and_takeover import GHOSTS_GONE, RENEWAL, SETTINGS as CRASHING

DOCUMENT = OpenAPI("openapi.yaml")
KEPT = {"history.enabled": True}
SETTINGS = KEPT | {"linger": 1_500}
MOST = 1_000
"""Intervals in one answer."""


async def ask(room, person, token=None, method="GET", **query):
    """The answer to a call, checked against the document."""
    user = person if isinstance(person, str) else person.user
    place = path("users", user, "history")
    text = "&".join(f"{name}={value}" for name, value in query.items())
    answer = await room.api.request(method, f"{place}?{text}" if text else place, token=token or room.backend)
    operation = next(each for each in DOCUMENT.operations if each.path == "/v1/users/{id}/history" and each.method == method)
    assert answer.status in operation.responses, f"{answer.status} is not documented: {answer}"
    DOCUMENT.check(method, answer, operation.responses[answer.status], f"{method} {place}?{text}")
    return answer


async def history(room, person, **query):
    answer = await ask(room, person, **query)
    assert answer.status == 200, answer
    return answer.json


async def intervals(room, person, **query):
    """The intervals, and a check that they are contiguous."""
    told = (await history(room, person, **query))["intervals"]
    for each in told:
        assert each["from"] < each.get("to", now() + 1_000), told
    for one, next in zip(told, told[1:]):
        assert one["to"] <= next["from"], told
    return told


def statuses(told):
    return [each["status"] for each in told]


async def later(change):
    """Makes a change some milliseconds later, because clocks differ: a state that begins and ends within one is not an
    interval."""
    await asyncio.sleep(0.02)
    return await change


async def several(room, person, count):
    """Waits until this many intervals are over, and returns them."""
    async def enough():
        over = [each for each in await intervals(room, person) if "to" in each]
        return over if len(over) >= count else None
    return await eventually(enough, f"{count} intervals of {person}")


# Storage


async def test_an_unknown_user_has_no_history(room):
    told = await history(room, room.name("zed"))
    assert told["intervals"] == [] and told["user"] == room.name("zed")
    assert abs(told["now"] - now()) < 2_000 and told["keptFrom"] == told["now"] - 7 * 24 * 3_600_000


async def test_statuses_follow_one_another_and_the_last_has_no_end(room):
    ana = await room.come("ana")
    bob = await room.come("bob", "web")
    began = (await ana.subscribe(bob))[0]["presence"]["since"]
    await later(bob.activity("idle"))
    away = (await ana.sees(bob, status="away"))["since"]
    await later(bob.status("busy"))
    busy = (await ana.sees(bob, status="busy"))["since"]
    await later(bob.status("auto"))
    await later(bob.activity("active"))
    await ana.sees(bob, status="online")
    last = (await ana.truth(bob))["since"]
    told = await intervals(room, bob)
    assert told[0] == {"status": "online", "from": began, "to": away}
    assert told[1] == {"status": "away", "from": away, "to": busy}
    assert told[2]["status"] == "busy" and told[2]["from"] == busy
    assert told[-1] == {"status": "online", "from": last}


async def test_leaving_ends_it_and_coming_back_begins_another(room):
    ana = await room.come("ana")
    bob = await room.come("bob", "web")
    await ana.subscribe(bob)
    for count in (1, 2):
        # Longer than the server's clock and Redis' may differ.
        await asyncio.sleep(A_MOMENT)
        await later(bob.close())
        gone = await ana.sees(bob, status="offline")
        told = await intervals(room, bob)
        assert statuses(told) == ["online"] * count
        assert told[-1]["to"] == gone["lastSeen"]
        bob = await room.come("bob", "web")
        await ana.sees(bob, status="online")
        assert statuses(await intervals(room, bob)) == ["online"] * (count + 1)


async def test_a_text_or_another_device_is_not_another_interval(room):
    bob = await room.come("bob", "web")
    await later(bob.status("auto", text="Reading"))
    phone = await room.come("bob", "phone")
    await later(phone.close())
    assert statuses(await intervals(room, bob)) == ["online"]


async def test_a_lost_users_interval_ends_at_their_last_message(room):
    """They linger, and others see them as online for that long; the history has the actual times."""
    ana = await room.come("ana")
    bob = await room.come("bob", "web")
    await ana.subscribe(bob)
    await asyncio.sleep(A_MOMENT)
    await bob.get()
    heard = now()
    bob.abort()
    gone = await ana.sees(bob, status="offline")
    told, = await several(room, bob, 1)
    assert told["to"] == gone["lastSeen"] and abs(told["to"] - heard) < 1_000
    assert gone["since"] - told["to"] > 1_000


async def test_a_return_within_linger_leaves_no_gap(room):
    bob = await room.come("bob", "web")
    bob.abort()
    bob = await room.come("bob", "web")
    await asyncio.sleep(2)
    assert statuses(await intervals(room, bob)) == ["online"] and "to" not in (await intervals(room, bob))[0]


async def test_with_two_devices_the_interval_ends_with_the_last_one(room):
    """One device is lost while active, the other one is idle: away begins when the first one's linger ends, and ends
    with the second one's last message."""
    ana = await room.come("ana")
    bob, phone = await room.come("bob", "web"), await room.come("bob", "phone")
    await ana.subscribe(bob)
    await later(phone.activity("idle"))
    bob.abort()
    phone.abort()
    gone = await ana.sees(bob, status="offline")
    told = await several(room, bob, 1)
    assert told[-1]["to"] == gone["lastSeen"] and statuses(told)[0] == "online"


async def test_a_disconnected_user_was_there_until_then(room):
    ana = await room.come("ana")
    bob = await room.come("bob", "web")
    await ana.subscribe(bob)
    assert (await room.api.request("POST", path("users", bob.user, "disconnect"), token=room.backend)).status == 200
    gone = await ana.sees(bob, status="offline")
    assert (await intervals(room, bob))[-1]["to"] == gone["lastSeen"]


async def test_after_a_server_was_killed_its_people_were_there_until_its_last_renewal(start):
    redis = start.redis()
    room = Room(start(CRASHING | KEPT, redis=redis))
    other = start(CRASHING | KEPT, redis=redis, directory=room.server.directory)
    watching = await room.come("ana", at=other)
    bob = await room.come("bob", "web")
    began = (await watching.subscribe(bob))[0]["presence"]["since"]
    # Time for its server to renew its lease once more.
    await asyncio.sleep(2 * RENEWAL)
    room.api.server = other
    killed = now()
    room.server.kill()
    gone = await watching.sees(bob, status="offline", within=GHOSTS_GONE + PATIENCE)
    told, = await several(room, bob, 1)
    assert told == {"status": "online", "from": began, "to": gone["lastSeen"]}
    assert told["to"] <= killed + 50


async def test_a_break_of_redis_ends_no_interval(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis))
    bob = await room.come("bob", "web")
    redis.command("CLIENT", "KILL", "TYPE", "normal")
    redis.command("CLIENT", "KILL", "TYPE", "pubsub")

    async def there():
        answer = await room.api.request("GET", path("users", bob.user, "history"), token=room.backend)
        return answer.status == 200 and answer.json["intervals"]
    await bob.insists("status", status="busy")
    told = await eventually(there, "the history")
    assert statuses(told) == ["online", "busy"] and told[0]["to"] == told[1]["from"]


# Hidden users


async def test_an_invisible_user_was_last_there_when_they_hid(room):
    ana = await room.come("ana")
    bob = await room.come("bob", "web")
    await ana.subscribe(bob)
    await later(bob.status("invisible"))
    gone = await ana.sees(bob, status="offline")
    assert (await intervals(room, bob))[-1]["to"] == gone["lastSeen"]
    await later(bob.activity("idle"))
    await later(bob.activity("active"))
    assert statuses(await intervals(room, bob)) == ["online"]
    await later(bob.status("auto"))
    back = await ana.sees(bob, status="online")
    assert (await intervals(room, bob))[-1] == {"status": "online", "from": back["since"]}


async def test_presence_that_no_user_may_see_is_not_stored(room):
    bob = await room.come("bob", "web")
    await bob.did("setVisibility", visibility={"presence": "nobody"})
    await later(bob.activity("idle"))
    await later(bob.activity("active"))
    assert [each for each in await intervals(room, bob) if "to" in each] == []
    await bob.did("setVisibility", visibility={"presence": "everyone"})
    await later(bob.activity("idle"))
    assert statuses(await intervals(room, bob)) == ["online", "away"]


async def test_a_viewer_gets_only_visible_intervals(room):
    ana = await room.come("ana")
    bob = await room.come("bob", "web")
    await later(bob.activity("idle"))
    whole = await intervals(room, bob)
    assert await intervals(room, bob, viewer=ana.user) == whole and statuses(whole) == ["online", "away"]
    for visibility in ({"lastSeen": "contacts"}, {"presence": "contacts"}, {"presence": "everyone", "lastSeen": "nobody"}):
        await bob.did("setVisibility", visibility=visibility)
        unknown = await history(room, bob, viewer=ana.user)
        assert unknown["intervals"] == [] and unknown["keptFrom"] == unknown["now"] - 7 * 24 * 3_600_000
    assert await intervals(room, bob) == whole
    await bob.did("setVisibility", visibility={"presence": "everyone", "lastSeen": "contacts"})
    await bob.did("addContacts", users=[ana.user])
    assert await intervals(room, bob, viewer=ana.user) == whole
    await bob.did("block", users=[ana.user])
    assert await intervals(room, bob, viewer=ana.user) == []
    await bob.did("unblock", users=[ana.user])
    # A user who hides from another one does not see them either.
    await ana.did("block", users=[bob.user])
    assert await intervals(room, bob, viewer=ana.user) == []
    assert await intervals(room, bob, viewer=bob.user) == whole


# Limits


async def toggled(bob, times):
    for _ in range(times):
        for activity in ("idle", "active"):
            await later(bob.activity(activity))


async def test_the_number_of_intervals_is_bounded_and_the_answer_has_their_start(start):
    room = Room(start(KEPT | {"history.mostPerUser": 3}))
    bob = await room.come("bob", "web")
    await toggled(bob, 1)
    short = await history(room, bob)
    assert len(short["intervals"]) == 3 and short["keptFrom"] == short["now"] - 7 * 24 * 3_600_000
    await toggled(bob, 4)
    told = await history(room, bob)
    assert statuses(told["intervals"]) == ["away", "online", "away", "online"][-4:]
    assert told["keptFrom"] == told["intervals"][0]["from"] and "more" not in told
    assert short["intervals"][0] not in told["intervals"]


async def test_intervals_expire(start):
    redis = start.redis()
    room = Room(start(KEPT | {"history.keepFor": "2s"}, redis=redis))
    bob = await room.come("bob", "web")
    await later(bob.activity("idle"))
    first = (await intervals(room, bob))[0]

    async def forgotten():
        return first not in await intervals(room, bob)
    await eventually(forgotten, "the first interval is over")
    assert now() - first["to"] >= 1_900
    assert statuses(await intervals(room, bob)) == ["away"], "the present one has no end yet"
    await eventually(lambda: not redis.command("--scan", "--pattern", f"*history:{bob.user}"), "its key has gone too")


async def test_old_intervals_expire_while_new_ones_arrive(start):
    redis = start.redis()
    room = Room(start(KEPT | {"history.keepFor": "2s"}, redis=redis))
    bob = await room.come("bob", "web")
    deadline = time.monotonic() + 4
    told = {"intervals": []}
    # Long enough for old ones to be removed, and on a machine that was suspended, until there are new ones again.
    while time.monotonic() < deadline or len(told["intervals"]) < 5 and time.monotonic() < deadline + PATIENCE:
        await toggled(bob, 1)
        await asyncio.sleep(0.1)
        told = await history(room, bob)
    assert 4 < len(told["intervals"]) < 60 and told["intervals"][0]["to"] > told["keptFrom"]
    key = redis.command("--scan", "--pattern", f"*history:{bob.user}")
    assert int(redis.command("LLEN", key)) <= len(told["intervals"]) + 5


async def test_an_interval_takes_few_bytes_and_people_without_any_take_none(start):
    redis = start.redis()
    room = Room(start(KEPT, redis=redis))
    bob = await room.come("bob", "web")
    assert not redis.command("--scan", "--pattern", "*history:*")
    await toggled(bob, 100)
    key = redis.command("--scan", "--pattern", f"*history:{bob.user}")
    count, size = int(redis.command("LLEN", key)), int(redis.command("MEMORY", "USAGE", key, "SAMPLES", "0"))
    print(f"{count} intervals take {size} bytes, {size / count:.1f} each")
    # An interval within one millisecond does not count.
    assert 100 < count <= 200 and size / count < 20


async def test_off_there_is_no_path_no_key_and_no_command(start):
    redis = start.redis()
    room = Room(start({}, redis=redis))
    bob = await room.come("bob", "web")
    redis.command("CONFIG", "RESETSTAT")
    await toggled(bob, 5)
    commands = redis.command("INFO", "commandstats")
    assert not {"lindex", "rpush", "lrange"} & {line.split(":")[0].removeprefix("cmdstat_") for line in commands.splitlines()}
    assert not redis.command("--scan", "--pattern", "*history*")
    assert (await room.api.request("GET", path("users", bob.user, "history"), token=room.backend)).status == 404


# Queries


async def test_a_query_has_a_time_and_a_limit(room):
    bob = await room.come("bob", "web")
    await toggled(bob, 3)
    whole = await intervals(room, bob)
    assert len(whole) == 7
    middle = whole[3]
    assert await intervals(room, bob, **{"from": middle["from"], "to": middle["to"]}) == [middle]
    assert await intervals(room, bob, to=whole[2]["from"]) == whole[:2]
    assert await intervals(room, bob, **{"from": whole[4]["to"]}) == whole[5:]
    assert await intervals(room, bob, **{"from": middle["from"], "to": middle["from"]}) == []
    told = await history(room, bob, limit=2)
    assert told["intervals"] == whole[-2:] and told["more"] is True
    # The next page ends where this one begins.
    assert (await history(room, bob, limit=5, to=told["intervals"][0]["from"])) | {"now": 0, "keptFrom": 0} == {
        "user": bob.user, "now": 0, "keptFrom": 0, "intervals": whole[:5]}
    assert await intervals(room, bob, limit=MOST, colour="green") == whole


@pytest.mark.parametrize("query,field", [
    ({"from": "yesterday"}, "from"), ({"from": ""}, "from"), ({"from": -1}, "from"), ({"to": "1.5"}, "to"),
    ({"to": "9" * 30}, "to"), ({"from": 2, "to": 1}, "from"), ({"limit": 0}, "limit"), ({"limit": MOST + 1}, "limit"),
    ({"limit": "ten"}, "limit"), ({"viewer": ""}, "viewer"), ({"viewer": "a%20b"}, "viewer"), ({"viewer": "%zz"}, "viewer")])
async def test_bad_questions_are_refused(room, query, field):
    answer = await ask(room, "bob", **query)
    assert answer.status == 422 and answer.json["code"] == "validation_failed" and answer.json["field"] == field


async def test_only_backends_ask(room):
    bob = await room.come("bob", "web")
    for method in ("GET", "DELETE"):
        assert (await ask(room, bob, token=room.token("bob"), method=method)).status == 403
        assert (await ask(room, bob, token="garbage", method=method)).status == 401
        answer = await room.api.request(method, "/v1/users/a%20b/history", token=room.backend)
        assert answer.status == 400
    assert (await room.api.request("PUT", path("users", bob.user, "history"), b"", token=room.backend)).status == 405


async def test_without_the_store_it_is_unavailable(start):
    redis = start.redis()
    room = Room(start(KEPT | {"commandTimeout": "500ms", "staleAfter": "500ms"}, redis=redis))
    bob = await room.come("bob", "web")
    redis.stop()
    try:
        assert (await ask(room, bob)).status == 503
        assert (await ask(room, "stranger", viewer="other")).status == 503
    finally:
        redis.go_on()


# Removal


async def test_a_backend_deletes_it(room):
    bob = await room.come("bob", "web")
    await toggled(bob, 2)
    assert (await ask(room, bob, method="DELETE")).status == 204
    told = await intervals(room, bob)
    assert statuses(told) == ["online"] and "to" not in told[0]
    assert (await ask(room, bob, method="DELETE")).status == 204


async def test_history_is_deleted_with_the_account(start):
    redis = start.redis()
    accounts = Accounts(start(ON | KEPT, redis=redis))
    room = Room(accounts.server)
    ana = await accounts.sign_up()
    socket = await room.come("ana", "web", token=ana.access)
    await toggled(socket, 2)
    assert len(await intervals(room, ana.user)) == 5
    assert redis.command("--scan", "--pattern", f"*history:{ana.user}")
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    await socket.closed(4001)
    assert await intervals(room, ana.user) == []
    assert not redis.command("--scan", "--pattern", f"*history:{ana.user}")


async def test_the_doctor_knows_it(start):
    from support.server import run
    redis = start.redis()
    room = Room(start(KEPT, redis=redis))
    bob = await room.come("bob", "web")
    await toggled(bob, 2)
    found = await asyncio.to_thread(run, "doctor", "--redis", redis.url, "--data-dir", room.server.directory)
    assert found.returncode == 0 and "of others" not in found.stdout, found.stdout + found.stderr
