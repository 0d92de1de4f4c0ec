"""Conversations: their members, the members' events, and each member's own settings."""

import asyncio
import json
import time

import pytest

from support.accounts import ON, Accounts
from support.patience import eventually
from support.rules import is_time
from support.room import Room
from support.talks import follow, group, info, listed, say, sees, talk, told

SETTINGS = {"linger": 5_000, "lease": 6_000}


async def people(room, *names):
    return [await room.come(name) for name in names]


# Creating


async def test_two_people_have_one_direct_conversation_whoever_asks_and_however_often(room):
    ana, bob = await people(room, "ana", "bob")
    made = await talk(ana, bob)
    assert made["kind"] == "direct" and made["participants"] == sorted([ana.user, bob.user])
    assert [member["user"] for member in made["members"]] == [ana.user, bob.user]
    assert is_time(made["createdAt"]) and made["last"] == 0 and made["unread"] == 0 and made["version"] > 0
    assert "owner" not in made and "name" not in made and "lastMessage" not in made and "muted" not in made
    begun = [client.begin("createConversation", participants=[ana.user, bob.user]) for client in (ana, bob) * 10]
    assert {answer["conversation"]["id"] for answer in await asyncio.gather(*begun)} == {made["id"]}


async def test_pairs_who_create_at_the_same_moment_get_one(room):
    for number in range(5):
        ana, bob = await people(room, f"a{number}", f"b{number}")
        begun = [client.begin("createConversation", participants=[ana.user, bob.user]) for client in (ana, bob) * 3]
        answers = await asyncio.gather(*begun)
        assert {answer["type"] for answer in answers} == {"conversationCreated"}, answers
        assert len({answer["conversation"]["id"] for answer in answers}) == 1
        assert len(await listed(ana)) == len(await listed(bob)) == 1


async def test_a_name_or_a_third_person_makes_a_group_with_its_creator_as_owner(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    trip = await talk(ana, bob, name="Trip")
    assert trip["kind"] == "group" and trip["name"] == "Trip" and trip["owner"] == ana.user
    three = await talk(ana, bob, cy)
    assert three["kind"] == "group" and "name" not in three
    assert len({trip["id"], three["id"], (await talk(ana, bob))["id"], (await talk(ana, bob, name="Trip"))["id"]}) == 4


async def test_a_key_makes_a_repeated_creation_the_same_with_other_members_or_another_name_too(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    made = await group(ana, bob, key="trip", name="Trip")
    for again in (await group(ana, bob, key="trip", name="Other"), await group(ana, bob, cy, key="trip")):
        assert (again["id"], again["name"], again["participants"]) == (made["id"], "Trip", made["participants"])
    assert (await group(bob, ana, key="trip"))["id"] != made["id"]


async def test_metadata_is_the_apps_own_up_to_2_kib(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    metadata = {"colour": "red", "n": [1, 2.5, None, {"deep": "\n é \" \\"}], "text": "a b\tc"}
    made = await group(ana, bob, metadata=metadata)
    assert made["metadata"] == metadata == (await info(bob, made["id"]))["metadata"]
    assert (await talk(ana, cy, metadata={}))["metadata"] == {}
    fits = {"x": "y" * (2048 - 8)}
    assert (await group(ana, bob, metadata=fits))["metadata"] == fits
    error = await ana.refused("validation_failed", "createConversation", participants=[bob.user], name="n",
                              metadata={"x": "y" * (2048 - 7)})
    assert error["field"] == "metadata"
    deepest = {"[{": json.loads("[" * 15 + "]" * 15)}
    assert (await group(ana, bob, metadata=deepest))["metadata"] == deepest
    await ana.refused("validation_failed", "createConversation", participants=[bob.user], name="n",
                      metadata={"x": [deepest]})
    for wrong in ("text", 7, [], True):
        await ana.refused("bad_request", "createConversation", participants=[bob.user], name="n", metadata=wrong)


async def test_a_group_has_2_to_10_people(room):
    ana, = await people(room, "ana")
    others = [room.name(f"p{number}") for number in range(10)]
    await ana.refused("validation_failed", "createConversation", participants=[ana.user], name="Alone")
    assert len((await ana.did("createConversation", participants=others[:9]))["conversation"]["members"]) == 10
    await ana.refused("too_many", "createConversation", participants=others)


@pytest.mark.parametrize("name", ["x" * 101, "a\nb", "a\u202eb"], ids=ascii)
async def test_a_malformed_name_is_rejected(room, name):
    ana, bob = await people(room, "ana", "bob")
    assert (await ana.refused("validation_failed", "createConversation", participants=[bob.user], name=name))["field"] == "name"


async def test_users_with_a_block_between_them_cannot_create_a_conversation(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    await bob.did("block", users=[ana.user])
    for client, other in ((ana, bob), (bob, ana)):
        await client.refused("forbidden", "createConversation", participants=[other.user])
        await client.refused("forbidden", "createConversation", participants=[other.user, cy.user])
    await bob.did("unblock", users=[ana.user])
    await talk(ana, bob)


async def test_a_user_may_make_so_many_and_direct_ones_count_once(start):
    room = Room(start(SETTINGS | {"conversations": 2}))
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    for _ in range(3):
        await talk(ana, bob)
    await group(ana, bob)
    await ana.refused("too_many", "createConversation", participants=[cy.user])
    await ana.refused("too_many", "createConversation", participants=[cy.user], name="n")
    # An existing one can still be found.
    await talk(ana, bob)
    await talk(cy, ana)
    assert (await talk(ana, cy))["kind"] == "direct"


# Reading


async def test_a_conversation_of_others_is_forbidden_as_is_one_that_does_not_exist(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    made = (await talk(ana, bob))["id"]
    assert (await info(bob, made))["id"] == made
    for id in (made, "nothing"):
        await cy.refused("forbidden", "getConversation", conversation=id)
        await cy.refused("forbidden", "conversationSettings", conversation=id, muted=True)
        await cy.refused("forbidden", "renameConversation", conversation=id, name="x")
        await cy.refused("forbidden", "changeMembers", conversation=id, add=[cy.user])
        await cy.refused("forbidden", "mark", conversation=id, read=1)
        await cy.refused("forbidden", "subscribe", conversations=[{"id": id}])


async def test_the_list_comes_newest_first_with_what_is_known_left_out(room):
    ana, bob, cy, dan = await people(room, "ana", "bob", "cy", "dan")
    first, second, third = [(await talk(ana, other))["id"] for other in (bob, cy, dan)]
    await say(bob, first)
    # In another millisecond: the list is in the order of times.
    await asyncio.sleep(0.002)
    await say(dan, third)
    found = await listed(ana)
    assert [each["id"] for each in found] == [third, first, second]
    assert found[0]["lastMessage"]["from"] == dan.user and found[0]["unread"] == 1
    phone = await room.come("ana", "phone")
    known = {each["id"]: each["version"] for each in found} | {first: 1, "gone": 7}
    again = await listed(phone, known=known)
    assert [each["id"] for each in again] == [first, "gone"]
    assert again[1] == {"id": "gone", "version": again[1]["version"], "removed": True} and again[1]["version"] > 7


async def test_an_empty_list_is_answered_empty(room):
    ana, = await people(room, "ana")
    reply = await ana.did("subscribe", conversationList=True)
    assert reply["conversationList"] == [] and reply["users"] == []


async def test_unsubscribing_and_subscribing_at_once_is_subscribed(room):
    """The first waits until an answer arrives, and the second is read in that time."""
    ana, bob = await people(room, "ana", "bob")
    await listed(ana)
    begun = [
        ana.begin("status", status="busy"), ana.begin("unsubscribe", conversationList=True),
        ana.begin("subscribe", users=[], conversationList=True),
    ]
    assert [reply["type"] for reply in await asyncio.gather(*begun)] == ["ok", "unsubscribed", "subscribed"]
    await sees(ana, (await talk(bob, ana))["id"], last=0)


async def test_a_long_list_comes_in_parts(start):
    room = Room(start(SETTINGS | {"max_server_message_bytes": 16_384}))
    ana, bob = await people(room, "ana", "bob")
    made = [await group(ana, bob, metadata={"x": "y" * 1500}) for _ in range(30)]
    found = await listed(bob)
    assert [each["id"] for each in found] == [each["id"] for each in reversed(made)] or \
        {each["id"] for each in found} == {each["id"] for each in made}
    assert sum(1 for message in bob.log if message["type"] == "subscribed" and message.get("more")) >= 2


# Events


async def test_events_follow_each_change_for_every_member(room):
    ana, bob = await people(room, "ana", "bob")
    await listed(ana)
    await listed(bob)
    made = await talk(ana, bob)
    first = await sees(bob, made["id"], unread=0, last=0)
    await sees(ana, made["id"], last=0)
    sent = await say(ana, made["id"], "On my way")
    held = await sees(bob, made["id"], unread=1, last=1, lastMessage=sent)
    assert held["version"] > first["version"]
    await sees(ana, made["id"], unread=0, last=1)
    await bob.did("mark", conversation=made["id"], read=1)
    await sees(bob, made["id"], unread=0)
    await sees(ana, made["id"], members=[
        {"user": ana.user, "read": 0, "delivered": 0}, {"user": bob.user, "read": 1, "delivered": 1}])
    assert all(event["at"] > 0 for event in ana.log if event["type"] == "conversation")


async def test_a_background_client_gets_only_the_newest_of_each(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    one, two = (await talk(ana, bob))["id"], (await talk(ana, cy))["id"]
    await listed(ana)
    await ana.activity("background")
    # It is stored when this is answered. Before that, later steps of the creation may still be on their way.
    await ana.did("getConversation", conversation=one)
    before = len(ana.log)
    for number in range(5):
        await say(bob, one, f"one {number}")
        await say(cy, two, f"two {number}")
    await ana.did("getConversation", conversation=one)

    def heard(id):
        return [event for event in ana.log[before:] if event["type"] == "conversation" and event["conversation"]["id"] == id]

    assert not heard(one) and not heard(two)
    await ana.activity("active")
    for id, text in ((one, "one 4"), (two, "two 4")):
        await sees(ana, id, unread=5, lastMessage=lambda message, text=text: message["text"] == text)
        assert len(heard(id)) == 1


# Settings


async def test_muting_and_archiving_are_told_to_the_own_devices_alone(room):
    ana, bob = await people(room, "ana", "bob")
    made = (await talk(ana, bob))["id"]
    phone = await room.come("ana", "phone")
    for client in (ana, bob, phone):
        await listed(client)
    assert (await ana.did("conversationSettings", conversation=made, muted=True))["type"] == "ok"
    for client in (ana, phone):
        assert "mutedUntil" not in await sees(client, made, muted=True)
    await ana.did("conversationSettings", conversation=made, muted=True, muteFor=3_600_000, archived=True)
    held = await sees(phone, made, archived=True)
    assert held["muted"] is True and is_time(held["mutedUntil"]) and is_time(held["archivedAt"])
    await phone.did("conversationSettings", conversation=made, muted=False, archived=False)
    held = await sees(ana, made, muted=None)
    assert not {"muted", "mutedUntil", "archived", "archivedAt"} & set(held)
    await say(ana, made)
    await sees(bob, made, last=1)
    assert len([event for event in bob.log if event["type"] == "conversation"]) == 1, "bob has heard of what is ana's own"


async def test_a_timed_mute_ends_by_itself(room):
    ana, bob = await people(room, "ana", "bob")
    made = (await talk(ana, bob))["id"]
    await ana.did("conversationSettings", conversation=made, muted=True, muteFor=300)
    assert (await info(ana, made))["muted"] is True

    async def over():
        return "muted" not in await info(ana, made)
    await eventually(over, what="the end of the silence")


async def test_the_end_of_a_mute_is_an_event_with_a_version_of_its_own(room):
    ana, bob = await people(room, "ana", "bob")
    made = (await talk(ana, bob))["id"]
    await listed(ana)
    await listed(bob)
    await ana.did("conversationSettings", conversation=made, muted=True, muteFor=300)
    muted = await sees(ana, made, muted=True)
    over = await sees(ana, made, muted=None)
    assert over["version"] > muted["version"] and "mutedUntil" not in over
    # Members who were offline are notified too, but not those who have the version already.
    phone = await room.come("ana", "phone")
    # (A suspended shard sees the end later, and sends its events then.)
    shown = await listed(phone, known={made: muted["version"]}) or [await sees(phone, made, muted=None)]
    assert [each["version"] for each in shown] == [over["version"]]
    assert await listed(phone, known={made: over["version"]}) == []
    # Later versions are newer.
    await bob.did("conversationSettings", conversation=made, archived=True)
    assert "archived" in await sees(bob, made, archived=True)
    await ana.did("conversationSettings", conversation=made, archived=True)
    assert (await sees(ana, made, archived=True))["version"] > over["version"]
    assert not told(bob, made).get("muted")


@pytest.mark.parametrize("members", [{"muteFor": 5}, {"muted": False, "muteFor": 5}, {"muted": True, "muteFor": 0}], ids=str)
async def test_settings_that_cannot_be_are_refused(room, members):
    ana, bob = await people(room, "ana", "bob")
    made = (await talk(ana, bob))["id"]
    await ana.refused("validation_failed", "conversationSettings", conversation=made, **members)
    await ana.refused("bad_request", "conversationSettings", conversation=made, muted="yes")


# Members


async def test_members_rename_a_group_and_nobody_a_direct_conversation(room):
    ana, bob = await people(room, "ana", "bob")
    made = (await group(ana, bob, name="Trip"))["id"]
    await listed(ana)
    assert (await bob.did("renameConversation", conversation=made, name=" Alps "))["type"] == "ok"
    await sees(ana, made, name="Alps")
    direct = (await talk(ana, bob))["id"]
    await ana.refused("forbidden", "renameConversation", conversation=direct, name="x")
    await ana.refused("forbidden", "changeMembers", conversation=direct, add=[room.name("cy")])


async def test_members_add_and_leave_and_only_the_owner_removes(room):
    ana, bob, cy, dan = await people(room, "ana", "bob", "cy", "dan")
    for client in (ana, bob, cy, dan):
        await listed(client)
    made = (await group(ana, bob))["id"]
    await say(ana, made)
    assert (await bob.did("changeMembers", conversation=made, add=[cy.user, dan.user], remove=[]))["type"] == "ok"
    held = await sees(cy, made, participants=sorted([ana.user, bob.user, cy.user, dan.user]))
    # For a new member, all earlier messages count as read.
    assert held["unread"] == 0 and held["last"] == 1
    assert [each["id"] for each in await listed(await room.come("cy", "phone"))] == [made]
    await bob.refused("forbidden", "changeMembers", conversation=made, remove=[cy.user])
    assert (await info(ana, made))["participants"] == sorted([ana.user, bob.user, cy.user, dan.user])
    await ana.did("changeMembers", conversation=made, remove=[cy.user])
    gone = await sees(cy, made, removed=True)
    assert set(gone) == {"id", "version", "removed"}
    await cy.refused("forbidden", "getConversation", conversation=made)
    await dan.did("changeMembers", conversation=made, remove=[dan.user])
    await sees(bob, made, participants=sorted([ana.user, bob.user]))
    assert await listed(await room.come("dan", "phone")) == []
    # And back again.
    await bob.did("changeMembers", conversation=made, add=[cy.user])
    await sees(cy, made, participants=sorted([ana.user, bob.user, cy.user]))


async def test_the_longest_standing_member_becomes_the_next_owner(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    made = (await group(ana, cy, bob))["id"]
    await ana.did("changeMembers", conversation=made, remove=[ana.user])
    # Of users who joined together, the first one in `participants` becomes the owner.
    assert (await info(bob, made))["owner"] == cy.user
    await cy.did("changeMembers", conversation=made, add=[ana.user])
    await cy.did("changeMembers", conversation=made, remove=[cy.user])
    assert (await info(ana, made))["owner"] == bob.user
    await bob.did("changeMembers", conversation=made, remove=[bob.user])
    await ana.did("changeMembers", conversation=made, remove=[ana.user])
    await ana.refused("forbidden", "getConversation", conversation=made)
    assert await listed(ana) == []


async def test_a_full_group_and_a_block_refuse_whole_changes(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    others = [room.name(f"p{number}") for number in range(9)]
    made = (await group(ana, bob))["id"]
    await ana.refused("too_many", "changeMembers", conversation=made, add=others)
    await cy.did("block", users=[ana.user])
    await ana.refused("forbidden", "changeMembers", conversation=made, add=[cy.user, others[0]])
    assert (await info(ana, made))["participants"] == sorted([ana.user, bob.user])
    await bob.did("changeMembers", conversation=made, add=[cy.user])
    error = await ana.refused("validation_failed", "changeMembers", conversation=made, add=[cy.user], remove=[cy.user])
    assert error["field"] == "remove"
    await ana.refused("bad_request", "changeMembers", conversation=made)


async def test_typing_is_shown_to_neither_of_two_who_block_each_other(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    made, other = (await talk(ana, bob))["id"], (await talk(ana, cy))["id"]
    await ana.watch_typing(made, other)
    await bob.watch_typing(made)
    await ana.did("block", users=[bob.user])
    await bob.types(made)
    await ana.types(made)
    # A later change, in another conversation.
    await cy.types(other)
    await ana.sees_typing(other, [cy])
    assert not ana.events_in(made) and not bob.events_in(made)


@pytest.mark.parametrize("others", [0, 20], ids=["alone", "among many"])
@pytest.mark.parametrize("is_typist", [True, False], ids=["by who types", "by who watches"])
async def test_a_block_ends_what_was_typed_before_it(room, is_typist, others):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    made, three = (await talk(ana, bob))["id"], (await group(ana, bob, cy))["id"]
    await bob.watch_typing(made, three)
    await ana.types(made)
    await ana.types(three)
    await bob.sees_typing(made, [ana])
    await bob.sees_typing(three, [ana])
    began = time.monotonic()
    by, of = (ana, bob) if is_typist else (bob, ana)
    await by.did("block", users=[of.user] + [f"nobody-{number}" for number in range(others)])
    await bob.sees_typing(made, [])
    # Later subscribers get nothing about it either; they have no access to the group.
    again = await (await room.come("bob", "phone")).watch_typing(made, three)
    assert [entry["typing"] for entry in again] == [[], [ana.user]]
    assert time.monotonic() - began < 5, "it may have run out by itself"


async def test_backends_read_a_conversation_and_set_who_is_in_it(room):
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    made = (await group(ana, bob, name="Trip"))["id"]
    await listed(cy)
    await follow(bob, made)

    async def call(method, path, body=None, token=room.backend):
        return await room.api.request(method, f"/v1/conversations/{made}{path}", body, token=token)
    answer = await call("GET", "")
    assert answer.status == 200 and answer.json["conversation"]["name"] == "Trip"
    assert (await call("GET", "", token=room.token("ana"))).status == 403
    answer = await call("PUT", "/participants", {"participants": [ana.user, cy.user]})
    assert answer.status == 200
    await sees(cy, made, participants=sorted([ana.user, cy.user]))
    await bob.refused("forbidden", "getConversation", conversation=made)
    assert (await call("DELETE", "/participants")).status == 204
    await sees(cy, made, removed=True)
    assert (await call("GET", "")).status == 404


async def test_membership_outlives_servers(start):
    room = Room(start(SETTINGS))
    ana, bob = await people(room, "ana", "bob")
    made = await group(ana, bob, name="Trip", metadata={"a": 1})
    await say(ana, made["id"])
    before = await info(bob, made["id"])
    room.server.kill()
    room.server.start()
    bob = await room.come("bob")
    assert await listed(bob) == [before]


async def test_a_deleted_user_leaves_and_what_they_wrote_stays(start):
    room = Room(start(SETTINGS | ON))
    eve = await Accounts(room.server).sign_up()
    bob, cy = await people(room, "bob", "cy")
    client = await room.come("eve", token=eve.access)
    for each in (bob, cy):
        await listed(each)
    direct, three = (await talk(client, bob))["id"], (await group(client, cy, bob))["id"]
    await say(client, direct, "first")
    await say(client, three, "second")
    answer = await room.api.request("DELETE", f"/v1/users/{client.user}/account", token=room.backend)
    assert answer.status == 204, answer
    await sees(bob, direct, participants=[bob.user])
    held = await sees(cy, three, participants=sorted([bob.user, cy.user]))
    assert held["owner"] == cy.user and held["lastMessage"]["from"] == client.user
    assert [message["text"] for message in (await follow(bob, direct))["messages"]] == ["first"]


async def test_a_user_cannot_be_added_beyond_the_limit_of_conversations(start):
    room = Room(start(SETTINGS | {"conversations.mostPerUser": 2}))
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    first, direct = await group(ana, bob, cy), await talk(bob, cy)
    # Strangers are rejected, and so are backends, whichever user they add.
    dan = await room.come("dan")
    assert "bob" not in str(await dan.refused("too_many", "createConversation", participants=[bob.user]))
    await dan.refused("too_many", "createConversation", participants=[bob.user, ana.user], name="More")
    await bob.refused("too_many", "createConversation", participants=[dan.user])
    other = await group(ana, dan)
    await ana.refused("too_many", "changeMembers", conversation=other["id"], add=[bob.user])
    # Users outside a conversation learn nothing, whether it exists or not.
    for strange in (other["id"], "none"):
        await cy.refused("forbidden", "changeMembers", conversation=strange, add=[bob.user])
    path = f"/v1/conversations/{other['id']}/participants"
    answer = await room.api.request("PUT", path, {"participants": [ana.user, bob.user]}, token=room.backend)
    assert answer.status == 422 and answer.json["code"] == "too_many", answer
    assert (await info(ana, other["id"]))["participants"] == sorted([ana.user, dan.user])
    # An existing conversation stays, and can be requested again.
    assert (await talk(cy, bob))["id"] == direct["id"]
    path = f"/v1/conversations/{first['id']}/participants"
    answer = await room.api.request("PUT", path, {"participants": [ana.user, bob.user]}, token=room.backend)
    assert answer.status == 200, answer
    # Leaving one makes room for another.
    await bob.did("changeMembers", conversation=first["id"], remove=[bob.user])
    await ana.did("changeMembers", conversation=other["id"], add=[bob.user])
    assert {each["id"] for each in await listed(bob)} == {direct["id"], other["id"]}
