"""Presence: the status of a user with several devices; status, text, activity, background."""

import asyncio
import random
import time

import pytest

from support.client import ABSENT
from support.codes import code_for
from support.patience import A_MOMENT, eventually, now

SETTINGS = {"linger": 1_000}
DAY = 24 * 3600 * 1000


async def test_events_say_when_the_server_made_the_change(room):
    ana = await room.come("ana")
    await ana.subscribe(room.name("bob"))
    before = now()
    bob = await room.come("bob", "web")
    event = await ana.hear("presence", user=bob.user)
    assert before - 1_000 < event["at"] < now() + 1_000
    assert set(event) == {"type", "user", "presence", "at"}
    assert set(event["presence"]) == {"version", "status", "since", "devices"}
    assert abs(event["presence"]["since"] - event["at"]) < 1_000


async def test_since_is_when_the_status_began_and_not_when_something_else_changed(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    person, = await ana.subscribe(bob)
    await asyncio.sleep(0.05)
    await bob.status("auto", text="Hello")
    assert (await ana.sees(bob, text="Hello"))["since"] == person["presence"]["since"]
    await bob.status("busy")
    assert (await ana.sees(bob, status="busy"))["since"] > person["presence"]["since"]


async def test_active_is_online_and_idle_is_away(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    for state, status in [("idle", "away"), ("active", "online"), ("background", "away"), ("active", "online")]:
        await bob.activity(state)
        await ana.sees(bob, status=status)
    await bob.activity("background")
    await bob.activity("idle")
    await ana.sees(bob, status="away")
    assert ana.statuses(bob) == ["away", "online", "away", "online", "away"]


@pytest.mark.parametrize("state", ["asleep", "", 7, None, "ACTIVE"])
async def test_another_activity_is_refused(room, state):
    ana = await room.come("ana")
    await ana.refused(code_for(state, str), "activity", state=state)
    await ana.refused("bad_request", "activity")
    assert (await ana.truth(ana))["status"] == "online"


async def test_any_active_device_makes_online(room):
    ana = await room.come("ana")
    phone = await room.come("bob", "phone")
    await ana.subscribe(phone)
    web = await room.come("bob", "web", activity="idle")
    await ana.sees(web, status="online", devices=["phone", "web"])
    await phone.activity("idle")
    await ana.sees(web, status="away")
    await web.activity("active")
    await ana.sees(web, status="online")
    await web.close()
    await ana.sees(web, status="away", devices=["phone"])
    await phone.close()
    await ana.sees(phone, status="offline", devices=ABSENT)
    assert set(ana.statuses(phone)) == {"online", "away", "offline"}


async def test_devices_are_sorted_and_without_repetition(room):
    ana = await room.come("ana")
    await ana.subscribe(room.name("bob"))
    for number, kind in enumerate(["web", "phone", "web", "desktop", "phone", "bot"]):
        await room.come("bob", {"id": f"device-{number}", "kind": kind})
    await ana.sees(room.name("bob"), devices=["bot", "desktop", "phone", "web"])
    assert set(ana.statuses(room.name("bob"))) == {"online"}


async def test_a_second_device_of_a_kind_changes_nothing_that_others_see(room):
    ana = await room.come("ana")
    first = await room.come("bob", {"id": "one", "kind": "web"})
    await ana.subscribe(first)
    second = await room.come("bob", {"id": "two", "kind": "web"})
    await second.activity("idle")
    await second.activity("active")
    await second.close()
    await first.status(text="marker")
    await ana.sees(first, text="marker")
    assert len(ana.events("presence")) == 1


async def test_two_devices_never_make_the_status_flicker(room):
    ana = await room.come("ana")
    steady = await room.come("bob", "phone")
    await ana.subscribe(steady)
    chance = random.Random(1)
    for _ in range(15):
        other = await room.come("bob", "web", activity=chance.choice(["active", "idle"]))
        await other.activity(chance.choice(["active", "idle", "background"]))
        if chance.random() < 0.5:
            await other.close(chance.choice([1000, 1001]))
        else:
            other.abort()
    await steady.status(text="marker")
    await ana.sees(steady, text="marker")
    assert set(ana.statuses(steady)) == {"online"}


# Status


async def test_busy_holds_over_all_devices_and_activities(room):
    ana = await room.come("ana")
    phone = await room.come("bob", "phone")
    web = await room.come("bob", "web", activity="idle")
    await ana.subscribe(phone)
    await phone.status("busy")
    await ana.sees(phone, status="busy")
    await phone.activity("idle")
    await phone.activity("active")
    await phone.close()
    await ana.sees(web, devices=["web"])
    await web.status("auto")
    await ana.sees(web, status="away")
    assert set(ana.statuses(phone)) == {"busy", "away"}


async def test_status_holds_over_reconnects(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    await bob.status("busy", text="Long meeting")
    await bob.close()
    await ana.sees(bob, status="offline")
    bob = await room.come("bob")
    assert bob.connected["status"] == {"status": "busy", "text": "Long meeting"}
    await ana.sees(bob, status="busy", text="Long meeting")
    assert "online" not in ana.statuses(bob)


async def test_all_sessions_of_the_user_are_told_and_nobody_else(room):
    phone, web = await room.come("bob", "phone"), await room.come("bob", "web")
    ana = await room.come("ana")
    await ana.subscribe(phone)
    await phone.status("busy", text="In a meeting")
    for client in (phone, web):
        assert (await client.hear("ownStatus"))["status"] == {"status": "busy", "text": "In a meeting"}
    await web.status("invisible")
    for client in (phone, web):
        assert (await client.hear("ownStatus"))["status"]["status"] == "invisible"
    await ana.sees(phone, status="offline")
    assert ana.events("ownStatus") == []


async def test_a_text_stays_when_absent_and_is_cleared_by_null_or_nothing(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    for nothing in (None, ""):
        await bob.status("busy", text="Thinking")
        await ana.sees(bob, status="busy", text="Thinking")
        await bob.status("auto")
        await ana.sees(bob, status="online", text="Thinking")
        await bob.status("auto", text=nothing)
        await ana.sees(bob, status="online", text=ABSENT)


@pytest.mark.parametrize("text", ["x" * 140, "ä" * 140, "😀" * 140, "🇩🇪" * 60, "é" * 140], ids=ascii)
async def test_a_text_at_its_bounds_is_taken(room, text):
    ana = await room.come("ana")
    await ana.status("auto", text=text)
    assert (await ana.truth(ana))["text"] == text


@pytest.mark.parametrize("text", ["x" * 141, "ä" * 141, "😀" * 141, "e" + "\u0301" * 520],
                         ids=["141 letters", "141 umlauts", "141 emoji", "over 1 KiB"])
async def test_a_text_past_its_bounds_is_refused(room, text):
    ana = await room.come("ana")
    await ana.status("auto", text="before")
    assert (await ana.refused("validation_failed", "status", status="busy", text=text))["field"].endswith("text")
    presence = await ana.truth(ana)
    assert presence["status"] == "online" and presence["text"] == "before"


@pytest.mark.parametrize("status", ["online", "away", "offline", "", "BUSY", 7, None])
async def test_another_status_is_refused(room, status):
    ana = await room.come("ana")
    await ana.refused(code_for(status, str), "status", status=status)
    assert (await ana.truth(ana))["status"] == "online"


async def test_a_text_of_another_kind_is_refused(room):
    ana = await room.come("ana")
    for text in (7, [], {}, True):
        await ana.refused("bad_request", "status", status="busy", text=text)
    assert (await ana.truth(ana))["status"] == "online"


async def test_after_clear_after_status_is_auto_and_the_text_is_cleared(room):
    ana = await room.come("ana")
    bob, web = await room.come("bob", "phone"), await room.come("bob", "web")
    await ana.subscribe(bob)
    began, before = time.monotonic(), now()
    await bob.status("busy", text="Back in a second", clearAfter=1_000)
    own = (await web.hear("ownStatus"))["status"]
    assert own.items() >= {"status": "busy", "text": "Back in a second"}.items()
    assert before + 500 < own["clearAt"] < now() + 1_500
    await ana.sees(bob, status="busy", text="Back in a second")
    await ana.sees(bob, status="online", text=ABSENT)
    assert time.monotonic() - began > 0.9
    for client in (bob, web):
        assert (await client.hear("ownStatus", status={"status": "auto"}))


async def test_a_status_is_cleared_while_its_user_is_away(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    await bob.status("busy", text="Short", clearAfter=1_000)
    await bob.close()
    await asyncio.sleep(1.5)
    bob = await room.come("bob")
    await eventually(lambda: bob.connected["status"]["status"] == "auto" or bob.events("ownStatus"), "auto again")
    assert "text" not in await ana.truth(bob) and (await ana.truth(bob))["status"] == "online"


async def test_a_later_status_without_clear_after_cancels_it(room):
    bob = await room.come("bob")
    await bob.status("busy", text="Short", clearAfter=1_000)
    await bob.status("busy", text="Long")
    own = await bob.hear("ownStatus", status=lambda status: status.get("text") == "Long")
    assert "clearAt" not in own["status"]
    await asyncio.sleep(1.5)
    presence = await bob.truth(bob)
    assert presence["status"] == "busy" and presence["text"] == "Long"


@pytest.mark.parametrize("clear_after,taken", [
    (999, False), (1_000, True), (30 * DAY, True), (30 * DAY + 1, False), (0, False), (-1, False),
    ("1000", False), (1500.5, False), (True, False)])
async def test_clear_after_is_between_a_second_and_thirty_days(room, clear_after, taken):
    ana = await room.come("ana")
    if taken:
        await ana.status("busy", clearAfter=clear_after)
    else:
        error = await ana.refused(code_for(clear_after, int), "status", status="busy", clearAfter=clear_after)
        assert error["field"] == "clearAfter"
        assert (await ana.truth(ana))["status"] == "online"


async def test_a_change_that_others_do_not_see_is_not_announced(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    await bob.status("busy", text="Once")
    await bob.status("busy", text="Once")
    await bob.activity("idle")
    await bob.activity("active")
    await bob.status("busy", text="Twice")
    await ana.sees(bob, text="Twice")
    assert [event["presence"]["text"] for event in ana.events("presence")] == ["Once", "Twice"]


# Invisible


async def test_invisible_looks_offline_since_the_moment_it_began(room):
    ana = await room.come("ana")
    bob = await room.come("bob", status={"status": "auto", "text": "Hello"})
    await ana.subscribe(bob)
    before = now()
    await bob.status("invisible")
    presence = await ana.sees(bob, status="offline", text=ABSENT, devices=ABSENT)
    assert before - 200 < presence["lastSeen"] < now() + 200


async def test_nothing_changes_until_invisible_ends(room):
    ana = await room.come("ana")
    bob = await room.come("bob", "phone")
    await ana.subscribe(bob)
    await bob.status("invisible")
    hidden = await ana.sees(bob, status="offline")
    await asyncio.sleep(0.05)
    await bob.activity("idle")
    await bob.activity("active")
    await bob.status("invisible", text="Secret")
    web = await room.come("bob", "web")
    assert web.connected["status"]["status"] == "invisible"
    await web.close()
    await bob.close()
    await asyncio.sleep(A_MOMENT)
    bob = await room.come("bob", "phone")
    assert await ana.truth(bob) == hidden
    assert len(ana.events("presence", bob)) == 1
    await bob.status("auto")
    await ana.sees(bob, status="online", text="Secret", lastSeen=ABSENT)


async def test_leaving_while_invisible_keeps_last_seen(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    await bob.status("invisible")
    hidden = await ana.sees(bob, status="offline")
    await asyncio.sleep(0.05)
    await bob.close()
    await asyncio.sleep(A_MOMENT)
    assert await ana.truth(bob) == hidden


async def test_an_invisible_user_receives_everything_as_usual(room):
    ana = await room.come("ana", status={"status": "invisible"})
    bob = await room.come("bob")
    await ana.subscribe(bob)
    await bob.status("busy")
    await ana.sees(bob, status="busy")
    await ana.update(displayName="Ana")


# Background


async def test_in_the_background_events_are_held_back_and_then_only_the_newest_come(room):
    ana = await room.come("ana")
    bob, cy = await room.come("bob"), await room.come("cy")
    talk = (await bob.did("createConversation", participants=[ana.user]))["conversation"]["id"]
    await ana.subscribe(bob, cy)
    await ana.watch_typing(talk)
    await ana.activity("background")
    for number in range(5):
        await bob.status("busy" if number % 2 else "auto", text=f"{number}")
        await bob.update(displayName=f"Bob {number}")
    await bob.types(talk)
    await asyncio.sleep(A_MOMENT)
    assert [message for message in ana.log if message["type"] in ("presence", "profile", "typing")] == []
    await ana.activity("active")
    await ana.sees(bob, status="online", text="4")
    await ana.sees_profile(bob, displayName="Bob 4")
    await ana.sees_typing(talk, [bob])
    assert [len(ana.events(kind, bob)) for kind in ("presence", "profile")] == [1, 1]
    assert len(ana.events("typing")) == 1
    assert ana.events("presence", cy) == []


async def test_idle_ends_the_background_too(room):
    ana = await room.come("ana", activity="background")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    await bob.status("busy")
    await asyncio.sleep(A_MOMENT)
    assert ana.events("presence") == []
    await ana.activity("idle")
    await ana.sees(bob, status="busy")


async def test_in_the_background_everything_else_is_not_held_back(room):
    ana, other = await room.come("ana", "phone"), await room.come("ana", "web")
    bob = await room.come("bob")
    await ana.activity("background")
    assert (await ana.subscribe(bob))[0]["presence"]["status"] == "online"
    await bob.status("busy")
    # Bob's `ok` means that it is stored, not that all shards have received it.
    await eventually(lambda: has_status(ana, bob, "busy"), "what was asked for, busy")
    await other.status("busy")
    await ana.hear("ownStatus")
    await ana.refused("unknown_type", "nonsense")
    assert ana.events("presence") == []


async def has_status(client, person, status):
    return (await client.truth(person))["status"] == status


async def test_the_other_device_of_one_in_the_background_gets_events(room):
    phone, web = await room.come("ana", "phone"), await room.come("ana", "web")
    bob = await room.come("bob")
    await phone.subscribe(bob)
    await web.subscribe(bob)
    await phone.activity("background")
    await bob.status("busy")
    await web.sees(bob, status="busy")
    assert phone.events("presence") == []


async def test_a_change_reverted_in_the_background_is_shown_correctly_afterwards(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    await ana.activity("background")
    await bob.status("busy")
    await bob.status("auto")
    await ana.activity("active")
    await eventually(lambda: holds_the_truth(ana, bob, "online"), "what bob is")
    await bob.status("busy")
    await ana.sees(bob, status="busy")


async def holds_the_truth(client, person, status):
    truth = await client.truth(person)
    return truth["status"] == status and client.presence[person.user]["status"] == status


async def test_presence_and_profile_changed_together_in_the_background_arrive_both(room):
    ana = await room.come("ana", activity="background")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    await asyncio.gather(bob.status("busy", text="Both"), bob.update(displayName="Both"))
    await ana.activity("active")
    await asyncio.gather(ana.sees(bob, text="Both"), ana.sees_profile(bob, displayName="Both"))
