"""Unreasonable numbers: each is answered, and breaks neither the connection nor the server."""

import pytest

from support.talks import listed, say, talk

EXTREMES = [2**63 - 1, 2**63, -(2**63), 2**53, 2**53 - 1, 2**31, 0, -1]


def requests(conversation, n):
    """Each number that a request may have."""
    message = {"id": "m1", "text": "Hello"}
    return [
        ("subscribe", dict(conversationList=True, known={conversation: n})),
        ("subscribe", dict(conversationList=True, known={"nothing": n})),
        ("subscribe", dict(users=["bob"], known={"bob": {"presence": n, "profile": n}})),
        ("subscribe", dict(conversations=[{"id": conversation, "after": n, "messagesVersion": n}])),
        ("subscribe", dict(conversations=[{"id": conversation, "after": n}])),
        ("subscribe", dict(conversations=[{"id": conversation, "messagesVersion": n}])),
        ("getMessages", dict(conversation=conversation, before=n)),
        ("getMessages", dict(conversation=conversation, limit=n)),
        ("send", dict(conversation=conversation, message=message, after=n)),
        ("mark", dict(conversation=conversation, read=n)),
        ("mark", dict(conversation=conversation, delivered=n)),
        ("conversationSettings", dict(conversation=conversation, muted=True, muteFor=n)),
        ("markNotifications", dict(seen=n)),
        ("markNotifications", dict(read=[n], archived=[n])),
        ("getNotifications", dict(before=n)),
        ("getNotifications", dict(limit=n)),
        ("status", dict(status="busy", clearAfter=n)),
    ]


@pytest.mark.parametrize("number", EXTREMES)
async def test_a_number_at_its_bounds_is_answered(room, number):
    ana, bob = await room.come("ana"), await room.come("bob")
    made = (await talk(ana, bob))["id"]
    await say(bob, made)
    for type, members in requests(made, number):
        # Each on a connection of its own, because one with many errors is closed.
        reply = await (await room.come("ana")).ask(type, **members)
        assert reply["type"] != "(closed)", f"{type} {members}"
        assert reply.get("code") != "internal", f"{reply} for {type} {members}"
    # All users are still connected, and all data is there.
    assert [each["id"] for each in await listed(bob)] == [made]
    assert (await listed(ana))[0]["id"] == made
