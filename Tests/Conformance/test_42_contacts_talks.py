"""Conversations that strangers begin."""

import asyncio

import pytest

from support.accounts import CheckedAPI
from support.contacts import SETTINGS, are_contacts, asked_by, closed_off, contacts, leaks, people, quiet
from support.patience import eventually
from support.room import Room
from support.talks import follow, group, info, listed, marks, say, sees, talk


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
