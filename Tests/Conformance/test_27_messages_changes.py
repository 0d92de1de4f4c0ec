"""Editing and deleting messages."""

import json

import pytest

from support.room import Room
from support.rules import is_time
from support.talks import IMAGE, follow, group, hears, info, listed, pair, say, sees

SETTINGS = {"linger": 5_000, "lease": 6_000}


async def test_a_sender_edits_and_the_10_newest_earlier_texts_are_kept(room):
    ana, bob, id = await pair(room)
    await follow(bob, id)
    await listed(bob)
    sent = await say(ana, id, "0")
    for number in range(1, 13):
        reply = await ana.did("editMessage", conversation=id, message=sent["id"], text=f"{number}")
        assert reply["type"] == "messageUpdated" and reply["conversation"] == id
    edited = reply["message"]
    assert edited["text"] == "12" and edited["editCount"] == 12 and is_time(edited["editedAt"])
    assert [edit["text"] for edit in edited["edits"]] == [f"{number}" for number in range(2, 12)]
    assert all(is_time(edit["at"]) for edit in edited["edits"]) and edited["version"] > sent["version"]
    assert edited["seq"] == 1 and edited["at"] == sent["at"] and edited["from"] == ana.user
    events = await hears(bob, id, 13)
    assert events[-1]["message"] == edited
    assert (await sees(bob, id, lastMessage=edited))["unread"] == 1
    # The same edit again changes nothing.
    again = await ana.did("editMessage", conversation=id, message=sent["id"], text="12")
    assert again["message"] == edited
    await bob.refused("forbidden", "editMessage", conversation=id, message=sent["id"], text="x")
    await ana.refused("not_found", "editMessage", conversation=id, message="nothing", text="x")
    error = await ana.refused("validation_failed", "editMessage", conversation=id, message=sent["id"], text="")
    assert error["field"] == "text"
    await ana.refused("bad_request", "editMessage", conversation=id, message=sent["id"])


@pytest.mark.parametrize("limit, characters, files, least", [
    (262_144, 4_090, 10, 0), (262_144, 4_090, 0, 2), (16_384, 250, 0, 2)])
async def test_no_message_gets_too_long_for_clients_by_its_edits(start, limit, characters, files, least):
    edits = 11
    room = Room(start(SETTINGS | {"max_server_message_bytes": limit}))
    ana, bob, id = await pair(room)
    await listed(bob)
    await follow(bob, id)
    # One character each, of 5 bytes, 6 in JSON.
    texts = ['"\u0301\u0302' * characters + chr(97 + number) for number in range(edits + 1)]
    address = "https://example.org/" + "u" * 2_000
    more = {"attachments": [{"id": f"{number}" + "x" * 100, "kind": "image", "url": address, "thumbnailURL": address,
                             "sizeBytes": 1} for number in range(files)]} if files else {}
    sent = await say(ana, id, texts[0], more=more)
    for number in range(1, edits + 1):
        reply = await ana.did("editMessage", conversation=id, message=sent["id"], text=texts[number])
        held = reply["message"]
        assert held["text"] == texts[number] and held["editCount"] == number
        # The newest of the earlier texts are stored.
        kept = [edit["text"] for edit in held.get("edits", [])]
        assert kept == texts[number - len(kept):number] and min(least, number) <= len(kept) < 10
        assert len(json.dumps(held, ensure_ascii=False, separators=(",", ":")).encode()) <= limit // 3
    # Each client checks that no message exceeds the limit.
    events = await hears(bob, id, edits + 1)
    assert events[-1]["message"] == held
    await sees(bob, id, lastMessage=held)
    assert (await ana.did("getMessages", conversation=id))["messages"] == [held]
    assert (await follow(ana, id))["messages"] == [held]


async def test_a_message_too_long_for_clients_is_rejected_and_uses_no_number(start):
    room = Room(start(SETTINGS | {"max_server_message_bytes": 16_384}))
    ana, bob, id = await pair(room)
    await ana.refused("validation_failed", "send", conversation=id, message={"id": "a", "text": "é" * 4_000})
    sent = await say(ana, id, "x" * 4_000, "a")
    assert sent["seq"] == 1
    await ana.refused("validation_failed", "editMessage", conversation=id, message="a", text="é" * 4_000)
    assert (await info(bob, id))["lastMessage"] == sent
    for number in range(60):
        await say(bob, id, f"{number}")
    page = (await ana.did("getMessages", conversation=id, limit=100))["messages"]
    assert page[-1]["text"] == "59" and len(page) > 10
    assert [message["seq"] for message in (await follow(ana, id, after=0))["messages"]] == list(range(1, 62))


async def test_deleting_empties_a_message_and_keeps_its_place(room):
    ana, bob, id = await pair(room)
    await follow(bob, id)
    sent = await say(ana, id, "oops", more={"attachments": [IMAGE], "priority": {"reason": "now"}})
    await say(ana, id, "next")
    await ana.did("editMessage", conversation=id, message=sent["id"], text="ooops")
    reply = await ana.did("deleteMessage", conversation=id, message=sent["id"])
    gone = reply["message"]
    assert reply["type"] == "messageUpdated" and gone["text"] == "" and gone["seq"] == 1
    assert is_time(gone["deletedAt"]) and gone["deletedBy"] == ana.user
    assert not {"attachments", "edits", "priority"} & set(gone)
    assert (await hears(bob, id, 4))[-1]["message"] == gone
    assert (await ana.did("deleteMessage", conversation=id, message=sent["id"]))["message"] == gone
    await ana.refused("conflict", "editMessage", conversation=id, message=sent["id"], text="x")
    await bob.refused("forbidden", "deleteMessage", conversation=id, message=sent["id"])
    await ana.refused("not_found", "deleteMessage", conversation=id, message="nothing")
    held = await info(bob, id)
    assert held["unread"] == 1 and "hasUnreadPriority" not in held


async def test_deleted_messages_are_not_unread(room):
    ana, bob, id = await pair(room)
    await listed(bob)
    sent = [await say(ana, id, f"text {number}") for number in range(6)]
    for place, left in ((5, 5), (1, 4), (1, 4), (3, 3)):
        await ana.did("deleteMessage", conversation=id, message=sent[place]["id"])
        assert (await sees(bob, id, unread=left))["last"] == 6
        assert (await info(bob, id))["unread"] == left
    # 1, 3 and 5 are left; read ones do not count in any case.
    for read, left in ((1, 2), (2, 2), (3, 1), (4, 1)):
        await bob.did("mark", conversation=id, read=read)
        assert (await info(bob, id))["unread"] == left
    # Deleting a message that has been read.
    await ana.did("deleteMessage", conversation=id, message=sent[0]["id"])
    assert (await info(bob, id))["unread"] == 1
    await ana.did("deleteMessage", conversation=id, message=sent[4]["id"])
    held = await sees(bob, id, unread=0)
    assert held["lastMessage"]["deletedAt"] and held["last"] == 6
    await say(ana, id)
    assert (await info(bob, id))["unread"] == 1
    assert (await info(ana, id))["unread"] == 0


async def test_a_groups_owner_deletes_what_others_wrote(room):
    ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
    id = (await group(ana, bob, cy))["id"]
    sent = await say(bob, id)
    await cy.refused("forbidden", "deleteMessage", conversation=id, message=sent["id"])
    gone = (await ana.did("deleteMessage", conversation=id, message=sent["id"]))["message"]
    assert gone["deletedBy"] == ana.user and gone["from"] == bob.user
