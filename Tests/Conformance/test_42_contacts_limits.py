"""Limits of contact requests, and the work that they cause."""

import asyncio

from support.accounts import ON, Accounts
from support.contacts import SETTINGS, asked_by, askers, newest, people, post, quiet, values
from support.patience import eventually
from support.room import Room


async def test_an_asker_has_a_rate_and_a_bound(start):
    room = Room(start(SETTINGS))
    ana, = await people(room, "ana")
    others = [f"u{number}-{room.suffix}" for number in range(30)]
    answers = await asyncio.gather(*[ana.begin("requestContact", user=other) for other in others])
    assert [each["type"] for each in answers] == ["ok"] * 20 + ["error"] * 10
    assert all(each["code"] == "rate_limited" and each["retryAfter"] > 0 for each in answers[20:])
    # Backends have no rate; the number of open requests counts for them too.
    for number in range(80):
        answer = await post(room, ana.user, f"v{number}-{room.suffix}")
        assert answer.status == 204, answer
    answer = await post(room, ana.user, "one-more")
    assert answer.status == 422 and answer.json["code"] == "too_many", answer
    # A repeat is none more.
    assert (await post(room, ana.user, others[0])).status == 204


async def test_the_list_is_bounded_and_fits_into_one_message(start):
    room = Room(start(SETTINGS))
    bob, = await people(room, "bob")
    text = "\"" * 140
    answers = await asyncio.gather(*[post(room, f"a{number:03}" + "x" * 124, bob.user, text=text) for number in range(105)])
    assert {each.status for each in answers} == {204}
    await eventually(lambda: len(askers(bob)) == 100, "the list is full")
    await quiet(bob)
    assert len(askers(bob)) == 100 and newest(bob)[0]["text"] == text
    first, second = askers(bob)[:2]
    await bob.did("answerContact", user=second, accept=False)
    assert (await post(room, "late", bob.user)).status == 204
    await eventually(lambda: "late" in askers(bob), "there is room")
    assert len(askers(bob)) == 100 and first in askers(bob)
    # The oldest falls out of a full list, and its repeat brings it back.
    assert (await post(room, "later", bob.user)).status == 204
    await eventually(lambda: "later" in askers(bob), "the newest is shown")
    assert len(askers(bob)) == 100 and first not in askers(bob)
    await bob.refused("not_found", "answerContact", user=first, accept=True)
    assert (await post(room, first, bob.user, text="Again")).status == 204
    await eventually(lambda: first in askers(bob), "it is back")
    assert len(askers(bob)) == 100 and newest(bob)[-1] | {"at": 0} == {"user": first, "text": "Again", "at": 0}
    # A refused one does not come back.
    assert (await post(room, second, bob.user)).status == 204
    await quiet(bob)
    assert second not in askers(bob)


async def test_guests_do_not_close_a_list(start):
    server = start(ON | SETTINGS | {"accounts.guests.enabled": True})
    room = Room(server)
    ana, bob = await people(room, "ana", "bob")
    await ana.did("requestContact", user=bob.user)
    await asked_by(bob, ana)
    guest = await Accounts(server).post("/v1/accounts", guest=True)
    first = guest.json["user"]
    assert (await post(room, first, bob.user)).status == 204
    await eventually(lambda: first in askers(bob), "a guest asks")
    for number in range(98):
        assert (await post(room, f"u{number}-{room.suffix}", bob.user)).status == 204
    await eventually(lambda: len(askers(bob)) == 100, "the list is full")
    # The guest's request gives way, although hers is older.
    assert (await post(room, "late-" + room.suffix, bob.user)).status == 204
    await eventually(lambda: "late-" + room.suffix in askers(bob), "the newest is shown")
    assert first not in askers(bob) and ana.user in askers(bob)
    # Another one finds no place.
    guest = await Accounts(server).post("/v1/accounts", guest=True)
    assert (await post(room, guest.json["user"], bob.user)).status == 204
    await quiet(bob)
    assert len(askers(bob)) == 100 and guest.json["user"] not in askers(bob) and ana.user in askers(bob)


async def test_the_work_for_a_request_does_not_depend_on_its_end(start):
    redis = start.redis()
    room = Room(start(SETTINGS, redis=redis))
    asker, *others = await people(room, "ana", "shown", "blocking", "hidden")
    shown, blocking, hidden = others
    for other in others:
        for number in range(60):
            assert (await post(room, f"u{number}-{room.suffix}", other.user)).status == 204
        await eventually(lambda: len(askers(other)) == 60, "many have asked")
    await blocking.did("block", users=[asker.user])
    await hidden.did("setVisibility", visibility={"findable": "nobody"})
    calls = []
    for other in others:
        await quiet(other)
        redis.command("CONFIG", "RESETSTAT")
        await asker.did("requestContact", user=other.user)
        stats = dict(line.split(":", 1) for line in redis.command("INFO", "commandstats").splitlines() if ":" in line)
        calls.append(sum(int(stats.get("cmdstat_" + name, "calls=0").split("calls=")[1].split(",")[0])
                         for name in ("hget", "hgetall", "hkeys")))
    await eventually(lambda: asker.user in askers(shown), "hers is shown")
    assert asker.user not in askers(blocking) + askers(hidden)
    # (The list of the user who is shown one is read again.)
    assert max(calls) - min(calls) < 20, calls
    # Each of them keeps a note, which is deleted with their accounts.
    for other in others:
        assert any(key.endswith("asked:" + other.user) and "in:" + asker.user in value for key, value in values(redis).items())
