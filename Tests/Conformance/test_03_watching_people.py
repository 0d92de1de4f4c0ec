"""Watching people."""

import asyncio

import pytest

from support.client import ABSENT
from support.patience import A_MOMENT

SETTINGS = {"subscriptions": 12, "subscribe_batch": 8, "linger": 1_000}


def nobody(user):
    return {"user": user, "presence": {"version": 0, "status": "offline"}, "profile": None}


async def test_subscribed_has_both_registers_whole(room):
    cy = await room.come("cy", "web")
    profile = await cy.update(displayName="Cy")
    ana = await room.come("ana")
    person, = await ana.subscribe(cy)
    assert set(person) == {"user", "presence", "profile"}
    assert person["presence"].items() >= {"status": "online", "devices": ["web"]}.items()
    assert person["profile"] == profile


async def test_every_change_arrives_as_an_event_with_the_register_whole(room):
    ana = await room.come("ana")
    bob = await room.come("bob", "web")
    person, = await ana.subscribe(bob)
    await bob.status("busy", text="Thinking")
    event = await ana.hear("presence", user=bob.user)
    assert event["presence"].items() >= {"status": "busy", "text": "Thinking", "devices": ["web"]}.items()
    assert event["presence"]["version"] > person["presence"]["version"]
    profile = await bob.update(displayName="Bob")
    assert (await ana.hear("profile", user=bob.user))["profile"] == profile
    profile = await bob.update(locale="de")
    assert (await ana.hear("profile", user=bob.user))["profile"] == profile
    assert profile["displayName"] == "Bob"


async def test_an_unknown_user_has_this_form(room):
    ana = await room.come("ana")
    assert await ana.subscribe(room.name("zed")) == [nobody(room.name("zed"))]
    assert await ana.get(room.name("zed"), room.name("zoe")) == [nobody(room.name("zed")), nobody(room.name("zoe"))]


async def test_one_watched_before_ever_coming_arrives(room):
    ana = await room.come("ana")
    await ana.subscribe(room.name("bob"))
    bob = await room.come("bob", "phone")
    await ana.sees(bob, status="online", devices=["phone"])
    await bob.update(displayName="Bob")
    await ana.sees_profile(bob, displayName="Bob")


async def test_a_person_may_watch_themselves(room):
    ana = await room.come("ana")
    assert (await ana.subscribe(ana))[0]["presence"]["status"] == "online"
    await ana.status("busy")
    await ana.sees(ana, status="busy")


async def test_a_known_register_is_left_out(room):
    bob = await room.come("bob")
    await bob.update(displayName="Bob")
    ana = await room.come("ana")
    person, = await ana.get(bob)
    presence, profile = person["presence"]["version"], person["profile"]["version"]
    for known, sent in [
        ({"presence": presence, "profile": profile}, None),
        ({"presence": presence}, {"user", "profile"}),
        ({"profile": profile}, {"user", "presence"}),
        ({"presence": presence - 1, "profile": profile}, {"user", "presence"}),
        ({"presence": presence + 1, "profile": profile}, {"user", "presence"}),
        ({"presence": presence + 7, "profile": profile - 7}, {"user", "presence", "profile"}),
        ({"presence": 0, "profile": 0}, {"user", "presence", "profile"}),
        ({}, {"user", "presence", "profile"}),
    ]:
        client = await room.come("eve")
        answer = await client.subscribe(bob, room.name("zed"), known={bob.user: known, "stranger": {"presence": 1}})
        answer = {person["user"]: person for person in answer}
        assert answer.pop(room.name("zed"))["presence"]["version"] == 0
        assert (set(answer[bob.user]) if answer else None) == sent, known
    await bob.status("busy")
    await client.sees(bob, status="busy")


async def test_a_user_left_out_as_known_is_still_watched(room):
    bob = await room.come("bob")
    ana = await room.come("ana")
    person, = await ana.get(bob)
    client = await room.come("ana")
    assert await client.subscribe(bob, known={bob.user: {"presence": person["presence"]["version"], "profile": 0}}) == []
    await bob.status("busy")
    await client.sees(bob, status="busy")


async def test_known_versions_of_an_earlier_connection_are_valid_on_a_later_one(room):
    bob = await room.come("bob", "web")
    ana = await room.come("ana")
    person, = await ana.subscribe(bob)
    await ana.close()
    ana = await room.come("ana")
    known = {bob.user: {"presence": person["presence"]["version"], "profile": 0}}
    assert await ana.subscribe(bob, known=known) == []
    await ana.close()
    await bob.status("busy")
    ana = await room.come("ana")
    person, = await ana.subscribe(bob, known=known)
    assert person["presence"]["status"] == "busy" and "profile" not in person


@pytest.mark.parametrize("known", ["x", 7, [], {"bob": 7}, {"bob": {"presence": "7"}}, {"bob": {"profile": 1.5}}], ids=str)
async def test_a_known_of_another_kind_is_a_bad_request(room, known):
    ana = await room.come("ana")
    await ana.refused("bad_request", "subscribe", users=["bob"], known=known)


async def test_subscribing_again_is_answered_again_and_changes_nothing(room):
    bob = await room.come("bob")
    ana = await room.come("ana")
    first = await ana.subscribe(bob)
    assert await ana.subscribe(bob) == first
    await bob.status("busy")
    await ana.sees(bob, status="busy")
    await bob.status("auto")
    await ana.sees(bob, status="online")
    assert ana.statuses(bob) == ["busy", "online"]
    await ana.did("unsubscribe", users=[bob.user])
    await bob.status("busy")
    await asyncio.sleep(A_MOMENT)
    assert ana.statuses(bob) == ["busy", "online"]


async def test_duplicates_count_once(room):
    bob = await room.come("bob")
    ana = await room.come("ana")
    assert [person["user"] for person in await ana.subscribe(bob, bob, bob)] == [bob.user]
    await bob.status("busy")
    await ana.sees(bob, status="busy")
    assert len(ana.events("presence")) == 1
    # The limit leaves room for eleven more people if duplicates count once.
    await ana.subscribe(*[room.name(f"p{number}") for number in range(8)])
    await ana.subscribe(*[room.name(f"p{number}") for number in range(8, 11)])


async def test_an_empty_list_is_answered_empty(room):
    ana = await room.come("ana")
    assert (await ana.did("subscribe", users=[])) == {"type": "subscribed", "id": 2, "users": []}
    assert (await ana.did("get", users=[])) == {"type": "users", "id": 3, "users": []}
    assert (await ana.did("unsubscribe", users=[]))["type"] == "unsubscribed"


async def test_after_unsubscribe_nothing_comes(room):
    bob = await room.come("bob")
    cy = await room.come("cy")
    ana = await room.come("ana")
    await ana.subscribe(bob, cy)
    assert (await ana.did("unsubscribe", users=[bob.user, room.name("nobody")]))["type"] == "unsubscribed"
    await bob.status("busy")
    await cy.status("busy")
    await ana.sees(cy, status="busy")
    await asyncio.sleep(A_MOMENT)
    assert ana.events("presence", bob) == []
    await ana.subscribe(bob)
    await bob.status("auto")
    await ana.sees(bob, status="online")


async def test_get_tells_once_and_subscribes_to_nothing(room):
    bob = await room.come("bob")
    ana = await room.come("ana")
    person, = await ana.get(bob)
    assert person["presence"]["status"] == "online"
    await bob.status("busy")
    await asyncio.sleep(A_MOMENT)
    assert ana.events("presence") == []
    assert (await ana.get(bob))[0]["presence"]["status"] == "busy"


async def test_get_and_subscribe_show_the_same(room):
    bob = await room.come("bob", "phone", activity="idle")
    await bob.update(displayName="Bob", timezone="Europe/Berlin")
    ana = await room.come("ana")
    assert await ana.get(bob, room.name("zed")) == await ana.subscribe(bob, room.name("zed"))


@pytest.mark.parametrize("request_", ["subscribe", "get", "unsubscribe"])
async def test_users_of_another_kind_are_a_bad_request(room, request_):
    ana = await room.come("ana")
    for users in ("bob", 7, None, {}, [7], [None], [["bob"]], [{"user": "bob"}]):
        if users is not None or request_ != "subscribe":
            await ana.send({"type": request_, "id": 900, "users": users})
            error = await ana.hear("error", id=900)
            assert error["code"] == "bad_request", f"{users}: {error}"
    await ana.refused("bad_request", request_)


async def test_a_batch_may_have_as_many_as_the_limit_says_and_no_more(room):
    ana = await room.come("ana")
    people = [room.name(f"p{number}") for number in range(9)]
    assert len(await ana.get(*people[:8])) == 8
    await ana.refused("too_many", "get", users=people)
    await ana.refused("too_many", "subscribe", users=people)
    assert len(await ana.subscribe(*people[:8])) == 8


async def test_a_connection_may_watch_as_many_as_the_limit_says_and_no_more(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    people = [room.name(f"p{number}") for number in range(12)]
    await ana.subscribe(*people[:6])
    await ana.subscribe(*people[6:11])
    await ana.refused("too_many", "subscribe", users=[people[11], bob.user])
    # The remaining place is still free, and users who are watched already do not count again.
    assert len(await ana.subscribe(*people[:7], people[11])) == 8
    await ana.refused("too_many", "subscribe", users=[bob.user])
    await ana.did("unsubscribe", users=[people[0]])
    await ana.subscribe(bob)
    await bob.status("busy")
    await ana.sees(bob, status="busy")


async def test_a_refused_subscribe_has_changed_nothing(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    cy = await room.come("cy")
    await ana.refused("too_many", "subscribe", users=[bob.user] + [room.name(f"p{number}") for number in range(8)])
    await ana.refused("validation_failed", "subscribe", users=[bob.user, "not an id"])
    await ana.refused("bad_request", "subscribe", users=[bob.user, 7])
    await ana.refused("forbidden", "subscribe", users=[bob.user], conversations=["not-there"])
    await ana.subscribe(cy)
    await bob.status("busy")
    await cy.status("busy")
    await ana.sees(cy, status="busy")
    await asyncio.sleep(A_MOMENT)
    assert ana.events("presence", bob) == []


async def test_there_is_no_gap_between_a_snapshot_and_its_events(room):
    bob = await room.come("bob")
    going_on = True

    async def change():
        number = 0
        while going_on:
            number += 1
            await bob.status("busy" if number % 2 else "auto", text=f"change {number}")
            await bob.update(displayName=f"Bob {number}")
        return number
    changing = asyncio.create_task(change())
    watchers = []
    for number in range(12):
        watchers.append(await room.come(f"watcher{number}"))
        await watchers[-1].subscribe(bob)
        await asyncio.sleep(0.01)
    going_on = False
    number = await changing
    for watcher in watchers:
        await watcher.sees(bob, text=f"change {number}", status="busy" if number % 2 else "online")
        await watcher.sees_profile(bob, displayName=f"Bob {number}")
    assert all(watcher.presence[bob.user] == watchers[0].presence[bob.user] for watcher in watchers)
    assert await watchers[0].truth(bob) == watchers[0].presence[bob.user]


async def test_one_persons_pending_events_leave_in_the_order_of_their_making(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    for number in range(20):
        if number % 2:
            await bob.status("busy", text=f"{number}")
            await bob.update(displayName=f"Bob {number}")
        else:
            await bob.update(displayName=f"Bob {number}")
            await bob.status("auto", text=f"{number}")
    await ana.sees(bob, text="19")
    await ana.sees_profile(bob, displayName="Bob 19")
    events = [message for message in ana.log if message["type"] in ("presence", "profile")]
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    assert events[-1]["type"] == "profile"


async def test_all_watchers_get_the_same(room):
    bob = await room.come("bob", "web")
    watchers = [await room.come(f"watcher{number}") for number in range(10)]
    for watcher in watchers:
        await watcher.subscribe(bob)
    await bob.status("busy", text="For all")
    events = [await watcher.hear("presence") for watcher in watchers]
    assert all(event == events[0] for event in events)


async def test_a_user_who_left_is_offline_with_no_text_and_no_devices(room):
    bob = await room.come("bob", "web", status={"status": "busy", "text": "Here"})
    ana = await room.come("ana")
    await ana.subscribe(bob)
    await bob.close()
    await ana.sees(bob, status="offline", text=ABSENT, devices=ABSENT)
