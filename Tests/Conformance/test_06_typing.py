"""Typing."""

import asyncio
import time

import pytest

from support.patience import A_MOMENT, PATIENCE, SLACK

HOLDS = 1.2
SETTINGS = {"typing": 1_200, "participants": 25, "conversations": 6, "linger": 5_000, "lease": 6_000}


async def conversation(room, creator, *others):
    """A group, also of two: each pair has only one direct conversation."""
    others = [room.name(other) for other in others]
    reply = await creator.did("createConversation", participants=others, name="Group")
    assert reply["type"] == "conversationCreated"
    return reply["conversation"]["id"]


async def test_a_conversation_is_created_with_its_creator_among_the_participants(room):
    ana = await room.come("ana")
    for listed in (["ana", "bob"], ["bob"], ["bob", "ana", "bob"]):
        made = (await ana.did("createConversation", participants=[room.name(name) for name in listed]))["conversation"]
        assert sorted(made["participants"]) == sorted([room.name("ana"), room.name("bob")])
        assert isinstance(made["id"], str)


async def test_ids_of_conversations_cannot_be_guessed(room):
    ana = await room.come("ana")
    made = {await conversation(room, ana, "bob") for _ in range(4)}
    assert len(made) == 4
    assert all(len(name) >= 16 and name.isascii() for name in made)


async def test_a_conversation_has_two_participants_up_to_the_limit(room):
    ana = await room.come("ana")
    await ana.refused("validation_failed", "createConversation", participants=[])
    await ana.refused("validation_failed", "createConversation", participants=[ana.user])
    everyone = [room.name(f"p{number}") for number in range(25)]
    await ana.did("createConversation", participants=everyone[:1])
    await ana.did("createConversation", participants=everyone[:24])
    await ana.did("createConversation", participants=everyone[:24] + [ana.user])
    await ana.refused("too_many", "createConversation", participants=everyone)


@pytest.mark.parametrize("participants", [None, "bob", 7, [7], [None], {}, [["bob"]]], ids=str)
async def test_participants_of_another_kind_are_refused(room, participants):
    ana = await room.come("ana")
    await ana.send({"type": "createConversation", "id": 900, "participants": participants})
    assert (await ana.hear("error", id=900))["code"] == "bad_request"
    await ana.refused("bad_request", "createConversation")


async def test_a_user_may_make_so_many_conversations_and_no_more(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    for _ in range(6):
        await conversation(room, ana, "bob")
    await ana.refused("too_many", "createConversation", participants=[bob.user], name="Group")
    await (await room.come("ana")).refused("too_many", "createConversation", participants=[bob.user])
    await conversation(room, bob, "ana")


async def test_typing_is_told_to_who_subscribed(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    snapshot, = await ana.watch_typing(talk)
    assert snapshot["conversation"] == talk and snapshot["typing"] == []
    await bob.types(talk)
    event = await ana.hear("typing", conversation=talk)
    assert set(event) == {"type", "conversation", "version", "users", "at"}
    assert event["users"] == [bob.user] and event["version"] > snapshot["version"]
    await bob.types(talk, False)
    later = await ana.hear("typing", conversation=talk)
    assert later["users"] == [] and later["version"] > event["version"]


async def test_a_snapshot_has_who_types(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    await bob.types(talk)
    snapshot, = await ana.watch_typing(talk)
    assert snapshot["typing"] == [bob.user]
    await ana.sees_typing(talk, [])


async def test_the_event_has_everyone_who_types_sorted(room):
    ana, bob, cy = await room.come("ana"), await room.come("bob"), await room.come("cy")
    talk = await conversation(room, ana, "bob", "cy")
    await ana.watch_typing(talk)
    for typist in (cy, ana, bob):
        await typist.types(talk)
    await ana.sees_typing(talk, [ana, bob, cy])
    await ana.types(talk, False)
    await ana.sees_typing(talk, [bob, cy])


async def test_typing_ends_after_six_seconds(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    await ana.watch_typing(talk)
    began = time.monotonic()
    await bob.types(talk)
    await ana.sees_typing(talk, [bob])
    await ana.sees_typing(talk, [])
    assert HOLDS * 0.9 < time.monotonic() - began < HOLDS + SLACK


async def test_repeating_keeps_it(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    await ana.watch_typing(talk)
    for _ in range(10):
        await bob.types(talk)
        await asyncio.sleep(HOLDS / 4)
    assert all(event["users"] == [bob.user] for event in ana.events_in(talk)) and ana.events_in(talk)
    await ana.sees_typing(talk, [])


@pytest.mark.parametrize("end", ["disconnect", "close"])
async def test_the_end_of_the_session_ends_it(room, end):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    await ana.watch_typing(talk)
    began = time.monotonic()
    await bob.types(talk)
    await ana.sees_typing(talk, [bob])
    if end == "close":
        await bob.close()
    else:
        await bob.send({"type": "disconnect"})
    await ana.sees_typing(talk, [])
    assert time.monotonic() - began < HOLDS, "it was the silence that ended it"


async def test_a_typist_whose_line_breaks_is_not_stuck(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    await ana.watch_typing(talk)
    await bob.types(talk)
    await ana.sees_typing(talk, [bob])
    bob.abort()
    await ana.sees_typing(talk, [], within=HOLDS + SLACK)


async def test_a_user_types_while_any_session_does(room):
    ana = await room.come("ana")
    phone, web = await room.come("bob", "phone"), await room.come("bob", "web")
    talk = await conversation(room, ana, "bob")
    await ana.watch_typing(talk)
    await phone.types(talk)
    await web.types(talk)
    await phone.types(talk, False)
    await web.types(talk)
    await phone.close()
    await web.types(talk)
    await asyncio.sleep(A_MOMENT)
    assert {tuple(event["users"]) for event in ana.events_in(talk)} == {(phone.user,)}
    await web.types(talk, False)
    await ana.sees_typing(talk, [])


async def test_someone_invisible_is_never_shown_typing(room):
    ana = await room.come("ana")
    bob = await room.come("bob", status={"status": "invisible"})
    talk = await conversation(room, ana, "bob")
    await ana.watch_typing(talk)
    await bob.types(talk)
    await asyncio.sleep(A_MOMENT)
    assert not any(event["users"] for event in ana.events_in(talk))
    assert (await ana.watch_typing(talk))[0]["typing"] == []


async def test_a_user_who_becomes_invisible_is_shown_typing_no_more(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    await ana.watch_typing(talk)
    began = time.monotonic()
    await bob.types(talk)
    await ana.sees_typing(talk, [bob])
    await bob.status("invisible")
    await ana.sees_typing(talk, [])
    assert time.monotonic() - began < HOLDS, "it was the silence that ended it"


async def test_outsiders_and_unknown_conversations_are_forbidden(room):
    ana, eve = await room.come("ana"), await room.come("eve")
    talk = await conversation(room, ana, "bob")
    for request in (lambda name: ("subscribe", {"conversations": [name]}),
                    lambda name: ("typing", {"conversation": name, "typing": True}),
                    lambda name: ("typing", {"conversation": name, "typing": False})):
        errors = []
        for name in (talk, talk[:-1] + ("a" if talk[-1] != "a" else "b")):
            kind, members = request(name)
            errors.append(await eve.refused("forbidden", kind, **members))
            errors[-1].pop("id")
        assert str(errors[0]).replace(talk, "") == str(errors[1]).replace(name, ""), "they can be told apart"
    assert (await ana.watch_typing(talk))[0]["typing"] == []


async def test_one_forbidden_conversation_refuses_the_whole_request(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    await ana.refused("forbidden", "subscribe", conversations=[talk, "not-there"])
    await bob.types(talk)
    await asyncio.sleep(A_MOMENT)
    assert ana.events("typing") == []


async def test_subscribing_to_several_conversations_and_out_of_one(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    one, two = await conversation(room, ana, "bob"), await conversation(room, ana, "bob")
    assert sorted(each["conversation"] for each in await ana.watch_typing(one, two, one)) == sorted([one, two])
    reply = await ana.did("unsubscribe", conversations=[one])
    assert reply["type"] == "unsubscribed"
    await bob.types(one)
    await bob.types(two)
    await ana.sees_typing(two, [bob])
    assert ana.events_in(one) == []


async def test_people_and_conversations_may_be_subscribed_together(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    reply = await ana.did("subscribe", users=[bob.user], conversations=[talk])
    assert [person["user"] for person in reply["users"]] == [bob.user]
    assert [each["conversation"] for each in reply["conversations"]] == [talk]
    await bob.types(talk)
    await ana.sees_typing(talk, [bob])


@pytest.mark.parametrize("members", [
    {}, {"conversation": "c"}, {"typing": True}, {"conversation": 7, "typing": True},
    {"conversation": "c", "typing": "yes"}, {"conversation": "c", "typing": 1}, {"conversation": "c", "typing": None},
], ids=str)
async def test_typing_of_another_form_is_a_bad_request(room, members):
    ana = await room.come("ana")
    await ana.refused("bad_request", "typing", **members)


async def test_one_may_type_without_having_subscribed(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, bob, "ana")
    await ana.watch_typing(talk)
    await bob.send({"type": "typing", "conversation": talk, "typing": True})
    await ana.sees_typing(talk, [bob])
    assert bob.events("typing") == []


async def test_a_stop_without_a_start_is_nothing(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = await conversation(room, ana, "bob")
    await ana.watch_typing(talk)
    await bob.types(talk, False)
    await bob.types(talk)
    await ana.sees_typing(talk, [bob])
    assert [event["users"] for event in ana.events_in(talk) if event["users"]] == [[bob.user]]


async def test_more_than_twenty_typists_are_twenty_names_and_more(room):
    ana = await room.come("ana")
    names = [f"p{number:02}" for number in range(22)]
    talk = await conversation(room, ana, *names)
    typists = [await room.come(name) for name in names]
    await ana.watch_typing(talk)
    deadline = time.monotonic() + PATIENCE
    while not any(event.get("more") for event in ana.events_in(talk)):
        assert time.monotonic() < deadline, ana.events_in(talk)[-3:]
        await asyncio.gather(*[typist.types(talk) for typist in typists])
        await asyncio.sleep(0.1)
    crowded = next(event for event in ana.events_in(talk) if event.get("more"))
    assert len(crowded["users"]) == 20
    await ana.sees_typing(talk, [], within=HOLDS + PATIENCE)


async def test_a_backend_can_set_the_participants(room):
    ana, bob, cy = await room.come("ana"), await room.come("bob"), await room.come("cy")
    talk = await conversation(room, ana, "bob")
    await bob.watch_typing(talk)
    await bob.types(talk)
    answer = await room.api.request("PUT", f"/v1/conversations/{talk}/participants", token=room.backend,
                                    body={"participants": [ana.user, cy.user]})
    assert answer.status < 300, answer
    await cy.watch_typing(talk)
    await cy.types(talk)
    await bob.refused("forbidden", "typing", conversation=talk, typing=True)
    await bob.refused("forbidden", "subscribe", conversations=[talk])
    await ana.watch_typing(talk)
    await ana.sees_typing(talk, [cy])
    assert not any(cy.user in event["users"] for event in bob.events_in(talk)), "one who was taken out still hears"
