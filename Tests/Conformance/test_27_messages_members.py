"""Messages and membership: members who leave, are added back, start over, or are blocked."""

import pytest

from support.patience import PATIENCE, eventually
from support.talks import follow, group, heard, hears, info, listed, pair, say, talk

SETTINGS = {"linger": 5_000, "lease": 6_000}


async def test_only_members_send_and_see(room):
    ana, bob, id = await pair(room)
    cy = await room.come("cy")
    sent = await say(ana, id)
    for where in (id, "nothing"):
        await cy.refused("forbidden", "send", conversation=where, message={"id": "m", "text": "a"})
        await cy.refused("forbidden", "getMessages", conversation=where)
        await cy.refused("forbidden", "editMessage", conversation=where, message=sent["id"], text="x")
        await cy.refused("forbidden", "deleteMessage", conversation=where, message=sent["id"])


async def test_who_leaves_hears_no_more(room):
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    id = (await group(ana, bob, cy))["id"]
    await follow(bob, id)
    await follow(cy, id)
    await say(ana, id, "all")
    await hears(bob, id, 1)
    await ana.did("changeMembers", conversation=id, remove=[bob.user])
    await say(ana, id, "without bob")
    await hears(cy, id, 2)
    assert len(heard(bob, id)) == 1
    await bob.refused("forbidden", "subscribe", conversations=[{"id": id, "after": 1}])
    await ana.did("changeMembers", conversation=id, add=[bob.user])
    # After returning, the user sees all messages.
    assert [message["text"] for message in (await follow(bob, id))["messages"]] == ["all", "without bob"]


@pytest.mark.parametrize("has_list", [True, False], ids=["with the list", "without the list"])
@pytest.mark.parametrize("activity", ["active", "background"])
async def test_a_member_added_back_continues_and_misses_nothing(room, activity, has_list):
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    id = (await group(ana, bob, cy))["id"]
    if has_list:
        await listed(cy)
    await follow(cy, id)
    await follow(bob, id)
    if activity == "background":
        await cy.activity("background")
    await say(ana, id, "first")
    await ana.did("changeMembers", conversation=id, remove=[cy.user])
    await say(ana, id, "second")
    await hears(bob, id, 2)
    before = len(heard(cy, id))
    await ana.did("changeMembers", conversation=id, add=[cy.user])
    await say(ana, id, "third")
    if activity == "background":
        await cy.did("getMessages", conversation=id)
        assert before == 0 and not heard(cy, id)
        await cy.activity("active")
    events = await hears(cy, id, 3)
    assert [event["message"]["text"] for event in events] == ["first", "second", "third"]
    assert before <= 1, "who was not in it has heard of it"
    await ana.types(id)
    await cy.sees_typing(id, [ana])
    assert len(heard(cy, id)) == 3


async def test_a_removed_member_receives_nothing_and_may_unsubscribe(room):
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    id = (await group(ana, bob, cy))["id"]
    await follow(cy, id)
    await follow(bob, id)
    await ana.did("changeMembers", conversation=id, remove=[cy.user])
    await say(ana, id, "without cy")
    await hears(bob, id, 1)
    assert (await cy.did("unsubscribe", conversations=[id]))["type"] == "unsubscribed"
    await ana.did("changeMembers", conversation=id, add=[cy.user])
    await say(ana, id, "with cy")
    await hears(bob, id, 2)
    await cy.did("getConversation", conversation=id)
    assert not heard(cy, id)


async def test_a_direct_conversation_that_was_ended_and_made_again_begins_anew(room):
    ana, bob, id = await pair(room)
    phone = await room.come("bob", "phone")
    for number in range(5):
        await say(ana, id, f"old {number}")
    held = await follow(bob, id)
    await follow(phone, id)
    await bob.close()
    answer = await room.api.request("DELETE", f"/v1/conversations/{id}/participants", token=room.backend)
    assert answer.status == 204
    assert (await talk(ana, phone))["id"] == id
    # Followers are notified that their messages are outdated.
    await eventually(lambda: any(event["type"] == "messagesReset" for event in phone.log), within=PATIENCE,
                     what="messagesReset")
    new = [await say(ana, id, f"new {number}") for number in range(7)]
    assert [message["seq"] for message in new] == list(range(6, 13))
    bob = await room.come("bob")
    again = await follow(bob, id, after=5, messagesVersion=held["messagesVersion"])
    assert again["reset"] is True and again["messages"] == new and again["first"] == 6 and again["last"] == 12
    await hears(phone, id, 7)
    assert [event["message"] for event in heard(phone, id)[-7:]] == new
    late = await info(bob, id)
    assert late["first"] == 6 and late["unread"] == 7


async def test_a_block_refuses_both_sends_and_uses_no_number(room):
    ana, bob, id = await pair(room)
    await say(ana, id)
    await bob.did("block", users=[ana.user])
    await ana.refused("forbidden", "send", conversation=id, message={"id": "m1", "text": "a"})
    await bob.refused("forbidden", "send", conversation=id, message={"id": "m2", "text": "a"})
    await bob.did("unblock", users=[ana.user])
    assert (await say(ana, id, "a", "m1"))["seq"] == 2
    # They have no access to the group.
    cy = await room.come("cy")
    three = (await group(cy, ana, bob))["id"]
    await bob.did("block", users=[ana.user])
    await say(ana, three)


async def test_no_new_text_reaches_anybody_by_an_edit_while_one_blocks_the_other(room):
    ana, bob, id = await pair(room)
    one, two = await say(ana, id, "one"), await say(bob, id, "two")
    await ana.did("editMessage", conversation=id, message=one["id"], text="once edited")
    await follow(bob, id)
    await bob.did("block", users=[ana.user])
    await ana.refused("forbidden", "editMessage", conversation=id, message=one["id"], text="an insult")
    await bob.refused("forbidden", "editMessage", conversation=id, message=two["id"], text="an answer")
    # Stored results are returned: the same edit, the same send. Deleting is still possible.
    assert (await ana.did("editMessage", conversation=id, message=one["id"], text="once edited"))["type"] == "messageUpdated"
    assert (await say(ana, id, "one", one["id"]))["text"] == "once edited"
    assert (await ana.did("deleteMessage", conversation=id, message=one["id"]))["message"]["deletedAt"]
    event, = await hears(bob, id, 1)
    assert event["message"]["text"] == "" and event["message"]["deletedAt"]
    await bob.did("unblock", users=[ana.user])
    await bob.did("editMessage", conversation=id, message=two["id"], text="an answer")
    assert (await info(ana, id))["lastMessage"]["text"] == "an answer"
