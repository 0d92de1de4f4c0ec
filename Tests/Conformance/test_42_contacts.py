"""Contact requests, and conversations that strangers begin."""

import asyncio
import subprocess

import pytest

from support.accounts import ON, PASSWORD, Accounts, CheckedAPI, together
from support.patience import A_MOMENT, eventually
from support.room import Room
from support.server import BINARY
from support.talks import follow, group, info, listed, marks, say, sees, talk

SETTINGS = {"requests_per_second": 0, "user_requests_per_second": 0, "linger": 1_000}


async def people(room, *names, **options):
    return [await room.come(name, **options) for name in names]


def newest(client):
    """The client's copy of its list: empty until it is told."""
    lists = [event for event in client.log if event["type"] == "contactRequests"]
    versions = [event["version"] for event in lists]
    assert versions == sorted(versions), versions
    return lists[-1]["requests"] if lists else []


def askers(client):
    return [each["user"] for each in newest(client)]


async def asked_by(client, *others):
    await eventually(lambda: askers(client) == [each.user for each in others], f"{client.user} is asked", every=0.005)


async def contacts(client):
    return (await client.did("getVisibility"))["contacts"]


async def are_contacts(*clients):
    for one, other in (clients, clients[::-1]):
        async def lists():
            return other.user in await contacts(one)
        await eventually(lists, f"{one.user} lists {other.user}")


async def quiet(client):
    """Waits until everything that was on its way to a client has come."""
    await asyncio.sleep(A_MOMENT)
    await client.did("get", users=[])


def leaks(asker, since, *allowed):
    """The messages to the asker since then that no answer to a request of theirs explains."""
    return [each for each in asker.log[since:] if "id" not in each and each["type"] not in allowed]


def values(redis):
    """Every record of requests as text."""
    return {key: redis.command("HGETALL", key) for key in redis.command("KEYS", "*asked:*").splitlines()}


# Requests


async def test_an_accepted_request_makes_both_contacts_on_all_devices(server):
    room = Room(server)
    ana, bob, second = await room.come("ana"), await room.come("bob", "phone"), await room.come("bob", "web")
    await ana.did("updateProfile", changes={"displayName": 'An"a\\'})
    await ana.did("requestContact", user=bob.user, text="We met in “Lyon”")
    for device in (bob, second):
        await asked_by(device, ana)
        held = newest(device)[0]
        assert held["displayName"] == 'An"a\\' and held["text"] == "We met in “Lyon”"
        assert set(held) == {"user", "displayName", "text", "at"}
    assert await contacts(ana) == await contacts(bob) == []
    # A later device receives it too.
    await asked_by(await room.come("bob", "tablet"), ana)
    await second.did("answerContact", user=ana.user, accept=True)
    assert await contacts(bob) == [ana.user] and await contacts(ana) == [bob.user]
    for device in (bob, second):
        await asked_by(device)
    await eventually(lambda: [e for e in ana.log if e["type"] == "ownVisibility" and e["contacts"] == 1], "she is told")
    # The same answer again, and the opposite one.
    await bob.did("answerContact", user=ana.user, accept=True)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=False)
    assert await contacts(bob) == [ana.user]
    # Contacts need not ask.
    await ana.did("requestContact", user=bob.user)
    await bob.did("requestContact", user=ana.user)
    await quiet(bob)
    assert askers(bob) == askers(ana) == []


async def test_a_session_without_requests_hears_of_none(server):
    room = Room(server)
    ana, bob = await people(room, "ana", "bob")
    await ana.did("requestContact", user=bob.user)
    await asked_by(bob, ana)
    await bob.did("answerContact", user=ana.user, accept=False)
    await asked_by(bob)
    again = await room.come("bob", "web")
    await quiet(again)
    assert not [each for each in again.log + ana.log if each["type"] == "contactRequests"]


async def test_refused_and_ignored_look_the_same_and_a_repeat_is_swallowed(server):
    room = Room(server)
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    await ana.subscribe(bob, cy)
    await quiet(ana)
    start = len(ana.log)
    answers = [await ana.ask("requestContact", user=other.user, text="Hi") for other in (bob, cy)]
    await asked_by(bob, ana)
    await asked_by(cy, ana)
    await bob.did("answerContact", user=ana.user, accept=False)
    await asked_by(bob)
    for _ in range(3):
        answers += [await ana.ask("requestContact", user=other.user, text="Again") for other in (bob, cy)]
    await quiet(bob)
    assert {each["type"] for each in answers} == {"ok"}
    assert askers(bob) == [] and len(newest(cy)) == 1 and newest(cy)[0]["text"] == "Hi"
    assert not leaks(ana, start)
    # A refusal twice is one; it cannot be accepted any more, but the user may ask in turn.
    await bob.did("answerContact", user=ana.user, accept=False)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=True)
    await bob.did("requestContact", user=ana.user)
    await are_contacts(ana, bob)


async def test_crossing_requests_become_contacts(server):
    room = Room(server)
    for number in range(12):
        ana, bob = await people(room, f"ana{number}", f"bob{number}")
        asks = [(ana, bob), (bob, ana)]
        if number % 3:
            await asyncio.gather(*[one.did("requestContact", user=other.user) for one, other in asks])
        else:
            for one, other in asks:
                await one.did("requestContact", user=other.user)
        await are_contacts(ana, bob)
        for each in (ana, bob):
            await asked_by(each)
            assert len(await contacts(each)) == 1


async def test_the_asker_learns_neither_of_blocks_nor_of_hiding(server):
    room = Room(server)
    ana, bob, cy, dee, eve = await people(room, "ana", "bob", "cy", "dee", "eve")
    await bob.did("block", users=[ana.user])
    await cy.did("setVisibility", visibility={"findable": "nobody"})
    await dee.did("setVisibility", visibility={"findable": "contacts"})
    await eve.did("setVisibility", visibility={"findable": "contacts"})
    await eve.did("addContacts", users=[ana.user])
    start = len(ana.log)
    for other in (bob.user, cy.user, dee.user, eve.user, room.name("nobody")):
        assert set(await ana.did("requestContact", user=other)) == {"type", "id"}
    await asked_by(eve, ana)
    for other in (bob, cy, dee):
        await quiet(other)
        assert askers(other) == []
        await other.refused("not_found", "answerContact", user=ana.user, accept=True)
    assert not leaks(ana, start)
    # A user who hides may ask, and is then found by the answer.
    await cy.did("requestContact", user=ana.user)
    await are_contacts(ana, cy)
    # Unblocked is not asked: the request is over, and swallowed for now.
    await bob.did("unblock", users=[ana.user])
    await ana.did("requestContact", user=bob.user)
    await quiet(bob)
    assert askers(bob) == []


async def test_a_block_ends_requests_in_both_directions(server):
    room = Room(server)
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    await ana.did("requestContact", user=bob.user)
    await bob.did("requestContact", user=cy.user)
    await asked_by(bob, ana)
    await asked_by(cy, bob)
    await bob.did("block", users=[ana.user, cy.user])
    await asked_by(bob)
    await asked_by(cy)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=True)
    await cy.refused("not_found", "answerContact", user=bob.user, accept=True)
    await bob.refused("forbidden", "requestContact", user=ana.user)
    await bob.did("unblock", users=[ana.user, cy.user])
    await quiet(bob)
    assert askers(bob) == askers(cy) == []
    # Withdrawn and made again, it is not shown twice, however soon.
    await bob.did("requestContact", user=cy.user)
    for _ in range(3):
        await asyncio.gather(bob.did("block", users=[cy.user]), bob.did("unblock", users=[cy.user]),
                             bob.did("requestContact", user=cy.user))
    await quiet(cy)
    assert askers(cy) == []
    # The user who was asked may ask in turn.
    await cy.did("requestContact", user=bob.user)
    await are_contacts(bob, cy)


async def test_bad_requests_have_clear_errors(server):
    room = Room(server)
    ana, bob = await people(room, "ana", "bob")
    for code, field, members in (
            ("bad_request", "user", {}), ("bad_request", "user", {"user": 7}), ("validation_failed", "user", {"user": "a b"}),
            ("validation_failed", "user", {"user": ana.user}), ("bad_request", "text", {"user": bob.user, "text": 7}),
            ("validation_failed", "text", {"user": bob.user, "text": ""}),
            ("validation_failed", "text", {"user": bob.user, "text": "x" * 141}),
            ("validation_failed", "text", {"user": bob.user, "text": "a\nb"})):
        assert (await ana.refused(code, "requestContact", **members))["field"] == field
    for code, field, members in (
            ("bad_request", "user", {"accept": True}), ("bad_request", "accept", {"user": bob.user}),
            ("bad_request", "accept", {"user": bob.user, "accept": "yes"})):
        client = await room.come("cy")
        assert (await client.refused(code, "answerContact", **members))["field"] == field
    await bob.refused("not_found", "answerContact", user=ana.user, accept=True)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=False)
    client = await room.come("cy")
    for code, members in (("bad_request", {}), ("bad_request", {"conversations": "contacts"}),
                          ("bad_request", {"conversations": {"from": 1}}),
                          ("validation_failed", {"conversations": {"from": "nobody"}})):
        await client.refused(code, "setVisibility", **members)
    await ana.did("requestContact", user=bob.user, text="x" * 140)
    await asked_by(bob, ana)


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


async def post(room, user, other, **more):
    api = CheckedAPI(room.server)
    return await api.request("POST", f"/v1/users/{user}/contactRequests", {"user": other} | more, token=room.backend)


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


async def test_an_acceptance_that_meets_a_block_makes_both_contacts_or_neither(server):
    room = Room(server)
    for number in range(12):
        ana, bob = await people(room, f"ana{number}", f"bob{number}")
        await ana.did("requestContact", user=bob.user)
        await asked_by(bob, ana)
        phone = await room.come(f"bob{number}", "phone")
        await asyncio.gather(bob.begin("answerContact", user=ana.user, accept=True),
                             phone.did("block", users=[ana.user]))
        lists = await contacts(ana), await contacts(bob)
        assert lists in (([bob.user], [ana.user]), ([], [])), lists


async def test_a_flood_of_two_devices_and_a_pipeline_changes_nothing_twice(server):
    room = Room(server)
    ana, tablet, bob = await room.come("ana", "phone"), await room.come("ana", "tablet"), await room.come("bob")
    await ana.did("requestContact", user=bob.user)
    floods = [device.begin("requestContact", user=bob.user, text=str(number)) for number in range(9) for device in (ana, tablet)]
    answers = await asyncio.gather(*floods)
    assert {each["type"] for each in answers} == {"ok"}
    await asked_by(bob, ana)
    assert "text" not in newest(bob)[0]
    # Both answers at once, many times: one of them counts, and no contact is one-sided.
    for number in range(10):
        cy, dee, second = await room.come(f"cy{number}"), await room.come(f"dee{number}", "phone"), await room.come(f"dee{number}", "web")
        await cy.did("requestContact", user=dee.user)
        await asked_by(dee, cy)
        await asyncio.gather(*[device.begin("answerContact", user=cy.user, accept=accept)
                               for device, accept in ((dee, True), (second, False), (dee, True), (second, False))])
        await asked_by(dee)
        lists = await contacts(cy), await contacts(dee)
        assert lists in (([dee.user], [cy.user]), ([], [])), lists


async def test_backends_ask_answer_and_read(server):
    room = Room(server)
    ana, bob = await people(room, "ana", "bob")
    api = CheckedAPI(server)
    path = f"/v1/users/{bob.user}/contactRequests"
    assert (await api.request("GET", path, token=room.backend)).json == {"requests": []}
    assert (await post(room, ana.user, bob.user, text="Hello")).status == 204
    await asked_by(bob, ana)
    assert (await api.request("GET", path, token=room.backend)).json == {"requests": newest(bob)}
    answer = await api.request("PUT", f"{path}/{ana.user}", {"accept": True}, token=room.backend)
    assert answer.status == 204, answer
    await are_contacts(ana, bob)
    answer = await api.request("PUT", f"{path}/nobody", {"accept": True}, token=room.backend)
    assert answer.status == 404, answer
    answer = await api.request("PUT", f"{path}/nobody", {}, token=room.backend)
    assert answer.status == 400 and answer.json["field"] == "accept", answer
    answer = await post(room, bob.user, bob.user)
    assert answer.status == 422 and answer.json["field"] == "user", answer
    assert (await api.request("GET", path, token=room.token("ana"))).status == 403


async def test_a_blocked_word_refuses_a_request(start, tmp_path):
    words = tmp_path / "words"
    words.write_text("casino\n")
    room = Room(start(SETTINGS | {"messages.blockedWords": str(words)}))
    ana, bob = await people(room, "ana", "bob")
    assert (await ana.refused("refused", "requestContact", user=bob.user, text="Visit my CASINO"))["reason"]
    await ana.did("requestContact", user=bob.user, text="Visit my house")
    await asked_by(bob, ana)


async def test_a_ban_withdraws_requests(server):
    room = Room(server)
    ana, bob = await people(room, "ana", "bob")
    await ana.did("requestContact", user=bob.user)
    await asked_by(bob, ana)
    answer = await CheckedAPI(server).request("PUT", f"/v1/users/{ana.user}/ban", {"reason": "Spam"}, token=room.backend)
    assert answer.status == 200
    await asked_by(bob)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=True)
    # Nor does a backend ask for them.
    cy, = await people(room, "cy")
    answer = await post(room, ana.user, cy.user)
    assert answer.status == 403 and answer.json["code"] == "banned" and answer.json["reason"] == "Spam", answer
    await quiet(cy)
    assert askers(cy) == []


async def test_an_export_does_not_show_what_a_deleted_user_saw(start):
    redis = start.redis()
    server = start(ON | SETTINGS, redis=redis)
    accounts, room = Accounts(server), Room(server)
    ana, bob, cy = await together(*[accounts.sign_up(displayName=name) for name in ("Ana", "Bob", "Cy")])
    clients = [await room.come(name, token=each.access) for name, each in (("ana", ana), ("bob", bob), ("cy", cy))]
    await clients[2].did("block", users=[ana.user])
    for other in (bob, cy):
        await clients[0].did("requestContact", user=other.user)
    await asked_by(clients[1], clients[0])
    export = await ana.call("GET", "/v1/me/export")
    assert f'"to":"{bob.user}"' in export.body and f'"to":"{cy.user}"' in export.body
    # Bob saw it, and Cy did not.
    assert '"contactRequest"' not in (await cy.call("GET", "/v1/me/export")).body
    for each in (bob, cy):
        assert (await each.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    await eventually(lambda: not any(key.endswith("asked:" + ana.user) and "out:" in value
                                     for key, value in values(redis).items()), "both are forgotten")
    assert '"contactRequest"' not in (await ana.call("GET", "/v1/me/export")).body


async def test_a_deleted_account_takes_requests_along(start):
    redis = start.redis()
    server = start(ON | SETTINGS, redis=redis)
    accounts, room = Accounts(server), Room(server)
    ana, bob, cy = await together(*[accounts.sign_up(displayName=name) for name in ("Ana", "Bob", "Cy")])
    clients = [await room.come(name, token=each.access) for name, each in (("ana", ana), ("bob", bob), ("cy", cy))]
    await clients[1].did("requestContact", user=ana.user, text="Something private")
    await clients[1].did("requestContact", user=cy.user)
    await clients[2].did("requestContact", user=bob.user)
    await are_contacts(clients[1], clients[2])
    await clients[0].did("requestContact", user=cy.user, text="Something else")
    await asked_by(clients[2], clients[0])
    export = await ana.call("GET", "/v1/me/export")
    assert f'"from":"{bob.user}"' in export.body and f'"to":"{cy.user}"' in export.body
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    await asked_by(clients[2])
    await clients[2].refused("not_found", "answerContact", user=ana.user, accept=True)
    left = values(redis)
    assert not [key for key in left if key.endswith(f"asked:{ana.user}")]
    assert not [key for key, value in left.items() if "Something" in value]
    # The answer to a later request is the same.
    await clients[2].did("requestContact", user=ana.user)


# Conversations that strangers begin


async def closed_off(room, name="bob", *devices):
    bob = await room.come(name, *devices)
    await bob.did("setVisibility", conversations={"from": "contacts"})
    return bob


async def test_the_setting_is_own_and_absent_until_set(server):
    room = Room(server)
    bob = await room.come("bob")
    assert "conversations" not in await bob.did("getVisibility")
    await bob.did("setVisibility", visibility={"findable": "contacts"}, conversations={"from": "contacts"})
    read = await bob.did("getVisibility")
    assert read["conversations"] == {"from": "contacts"} and read["visibility"]["findable"] == "contacts"
    own = await eventually(lambda: [e for e in bob.log if e["type"] == "ownVisibility" and "conversations" in e], "told")
    assert own[-1]["conversations"] == {"from": "contacts"}
    await bob.did("setVisibility", visibility={"receipts": "nobody"})
    await bob.did("setVisibility", conversations={"from": "everyone"})
    read = await bob.did("getVisibility")
    assert read["conversations"] == {"from": "everyone"}
    assert read["visibility"] == {"presence": "everyone", "lastSeen": "everyone", "receipts": "nobody", "findable": "contacts"}
    api = CheckedAPI(server)
    answer = await api.request("PATCH", f"/v1/users/{bob.user}/visibility", {"conversations": {"from": "contacts"}}, token=room.backend)
    assert answer.status == 200 and answer.json["conversations"] == {"from": "contacts"}, answer
    answer = await api.request("GET", f"/v1/users/{bob.user}/visibility", token=room.backend)
    assert answer.json["conversations"] == {"from": "contacts"}
    again = await room.come("bob", "web")
    assert (await again.did("getVisibility"))["conversations"] == {"from": "contacts"}


async def test_a_strangers_conversation_is_a_request_and_shows_nothing_until_it_is_answered(server):
    room = Room(server)
    ana, bob = await room.come("ana"), await closed_off(room)
    await listed(ana)
    await listed(bob)
    made = await talk(ana, bob)
    id = made["id"]
    assert "request" not in made
    await say(ana, id, "Hello")
    await sees(bob, id, request=True, last=1)
    assert (await info(bob, id))["request"] is True and "request" not in await info(ana, id)
    await follow(ana, id)
    await follow(bob, id)
    await ana.watch_typing(id)
    start, before = len(ana.log), await info(ana, id)
    await bob.did("mark", conversation=id, delivered=1)
    await bob.did("mark", conversation=id, read=1)
    await bob.did("typing", conversation=id, typing=True)
    await bob.did("conversationSettings", conversation=id, muted=True)
    await quiet(ana)
    assert await info(ana, id) == before
    assert marks(before, bob) == {"user": bob.user, "read": 0, "delivered": 0}
    assert not leaks(ana, start)
    assert (await info(bob, id))["unread"] == 0
    # Nor what he sets.
    for receipts in ("nobody", "everyone"):
        await bob.did("setVisibility", visibility={"receipts": receipts})
        await eventually(lambda: [e for e in bob.log if e["type"] == "ownVisibility"
                                  and e["visibility"].get("receipts") == receipts], "he is told")
        await quiet(ana)
        assert await info(ana, id) == before and not leaks(ana, start)
    # Her own messages still come, and are marked in vain.
    await say(ana, id, "Are you there?")
    await sees(bob, id, last=2, request=True)
    # The answer opens it, and shows what was read before.
    await say(bob, id, "Yes")
    held = await sees(ana, id, last=3)
    assert marks(held, bob)["read"] >= 1
    assert (await sees(bob, id, last=3)).get("request") is None
    await bob.did("mark", conversation=id, read=3)
    await sees(ana, id, members=lambda members: {"user": bob.user, "read": 3, "delivered": 3} in members)
    await bob.did("typing", conversation=id, typing=True)
    await eventually(lambda: ana.typing[id][1] == [bob.user], "she sees him typing")


@pytest.mark.parametrize("accept", [True, False])
async def test_a_request_to_talk_is_answered_without_a_message(server, accept):
    room = Room(server)
    ana, bob = await room.come("ana"), await closed_off(room)
    await listed(bob)
    await listed(ana)
    id = (await talk(ana, bob))["id"]
    await say(ana, id, "Hello")
    await bob.did("mark", conversation=id, read=1)
    await quiet(ana)
    start = len(ana.log)
    await bob.did("answerContact", user=ana.user, accept=accept)
    if accept:
        held = await sees(bob, id, request=lambda value: value is None)
        assert "archived" not in held
        await sees(ana, id, members=lambda members: {"user": bob.user, "read": 1, "delivered": 1} in members)
        await bob.refused("not_found", "answerContact", user=ana.user, accept=True)
    else:
        await sees(bob, id, archived=True, request=True)
        await say(ana, id, "Hello?")
        await quiet(ana)
        assert marks(await info(ana, id), bob) == {"user": bob.user, "read": 0, "delivered": 0}
        assert not leaks(ana, start, "conversation")
        assert all(marks(each["conversation"], bob)["read"] == 0 for each in leaks(ana, start))
        # The user may change their mind.
        await bob.did("answerContact", user=ana.user, accept=True)
        await sees(bob, id, request=lambda value: value is None, archived=lambda value: value is None)
    # It opens the conversation and makes no contacts.
    assert await contacts(ana) == await contacts(bob) == []


async def test_one_answer_is_for_both_requests(server):
    room = Room(server)
    ana, bob = await room.come("ana"), await closed_off(room)
    await listed(bob)
    id = (await talk(ana, bob))["id"]
    await say(ana, id)
    await ana.did("requestContact", user=bob.user)
    await asked_by(bob, ana)
    await bob.did("answerContact", user=ana.user, accept=True)
    await sees(bob, id, request=lambda value: value is None)
    await are_contacts(ana, bob)


async def test_contacts_everyone_and_groups_need_no_request(server):
    room = Room(server)
    bob = await closed_off(room)
    ana, cy, dee = await people(room, "ana", "cy", "dee")
    await bob.did("addContacts", users=[ana.user])
    id = (await talk(ana, bob))["id"]
    assert "request" not in await info(bob, id)
    assert "request" not in await info(bob, (await group(cy, bob, dee))["id"])
    # The user's own conversation with a stranger is none, and one from before stays what it was.
    assert "request" not in await info(bob, (await talk(bob, dee))["id"])
    await bob.did("setVisibility", conversations={"from": "everyone"})
    id = (await talk(cy, bob))["id"]
    await bob.did("setVisibility", conversations={"from": "contacts"})
    await say(cy, id)
    assert "request" not in await info(bob, id)


async def test_repeated_and_crossing_creations_have_one_outcome(server):
    room = Room(server)
    for number in range(10):
        ana, bob = await room.come(f"ana{number}"), await closed_off(room, f"bob{number}")
        made = await asyncio.gather(*[ana.did("createConversation", participants=[bob.user]) for _ in range(3)])
        id = made[0]["conversation"]["id"]
        assert {each["conversation"]["id"] for each in made} == {id}
        assert (await info(bob, id))["request"] is True
        cy, dee = await closed_off(room, f"cy{number}"), await closed_off(room, f"dee{number}")
        both = await asyncio.gather(cy.did("createConversation", participants=[dee.user]),
                                    dee.did("createConversation", participants=[cy.user]))
        assert len({each["conversation"]["id"] for each in both}) == 1
        # The one who was first is the stranger.
        views = [await info(each, both[0]["conversation"]["id"]) for each in (cy, dee)]
        assert [view.get("request") for view in views].count(True) == 1


async def test_two_servers_agree_and_a_late_list_is_read_after_a_break(start):
    redis = start.redis()
    one = start(SETTINGS, redis=redis)
    two = start(SETTINGS, redis=redis, directory=one.directory)
    room = Room(one)
    ana, bob = await room.come("ana"), await room.come("bob", at=two)
    await bob.did("setVisibility", conversations={"from": "contacts"})
    await ana.did("requestContact", user=bob.user)
    await asked_by(bob, ana)
    id = (await talk(ana, bob))["id"]
    assert (await info(bob, id))["request"] is True
    redis.command("CLIENT", "KILL", "TYPE", "pubsub")
    await asyncio.gather(ana.hear("live"), bob.hear("live"))
    await ana.did("requestContact", user=room.name("cy"))
    await bob.did("answerContact", user=ana.user, accept=True)
    await asked_by(bob)
    await are_contacts(ana, bob)


async def test_the_doctor_knows_what_requests_leave(start):
    redis = start.redis()
    server = start(SETTINGS, redis=redis)
    room = Room(server)
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    await ana.did("requestContact", user=bob.user)
    await cy.did("requestContact", user=bob.user)
    await asked_by(bob, ana, cy)
    await bob.did("answerContact", user=ana.user, accept=True)
    await bob.did("setVisibility", conversations={"from": "contacts"})
    await talk(cy, bob)
    made = await asyncio.to_thread(
        subprocess.run, [BINARY, "doctor", "--json", "--redis", redis.url, "--config",
                         server.command[server.command.index("--config") + 1]], capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made
    for key, value in values(redis).items():
        assert int(redis.command("PTTL", key)) > 0, f"{key} has no end"
