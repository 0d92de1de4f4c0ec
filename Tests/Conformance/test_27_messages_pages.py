"""Older messages, page by page, and those that are no longer kept."""

import asyncio

from support.patience import eventually
from support.room import Room
from support.talks import follow, fresh, info, listed, pair, say, sees

SETTINGS = {"linger": 5_000, "lease": 6_000}


async def test_pages_go_back_to_the_first_message(room):
    ana, bob, id = await pair(room)
    for number in range(1, 61):
        await say(ana, id, f"{number}")

    async def page(**members):
        reply = await bob.did("getMessages", conversation=id, **members)
        assert (reply["type"], reply["conversation"], reply["first"], reply["last"]) == ("messages", id, 1, 60)
        return [message["seq"] for message in reply["messages"]]
    assert await page() == list(range(11, 61))
    assert await page(before=31, limit=30) == list(range(1, 31))
    assert await page(before=31, limit=5) == list(range(26, 31))
    assert await page(before=1) == [] and await page(limit=100) == list(range(1, 61))
    assert await page(before=1_000_000, limit=1) == [60]
    for wrong in ({"limit": 101}, {"limit": 0}, {"before": 0}):
        assert (await bob.refused("validation_failed", "getMessages", conversation=id, **wrong))["field"] in wrong
    await bob.refused("bad_request", "getMessages", conversation=id, limit="10")


async def test_the_oldest_go_when_there_are_too_many(start):
    room = Room(start(SETTINGS | {"messages.keepPerConversation": 10}))
    ana, bob, id = await pair(room)
    names = [fresh() for _ in range(25)]
    for name in names:
        await say(ana, id, "text " + name, name)
    page = await bob.did("getMessages", conversation=id, limit=100)
    assert [message["seq"] for message in page["messages"]] == list(range(16, 26))
    assert page["first"] == 16 and page["last"] == 25
    assert await say(ana, id, "text " + names[15], names[15]) == page["messages"][0]
    assert (await info(bob, id))["unread"] == 25
    await ana.refused("not_found", "editMessage", conversation=id, message=names[0], text="x")
    held = await follow(bob, id, after=5)
    assert held["reset"] is True and [message["seq"] for message in held["messages"]] == list(range(16, 26))
    held = await follow(bob, id, after=20)
    assert "reset" not in held and [message["seq"] for message in held["messages"]] == list(range(21, 26))


async def test_old_ones_go_with_the_next_message(start):
    room = Room(start(SETTINGS | {"messages.keepFor": "1s"}))
    ana, bob, id = await pair(room)
    for _ in range(3):
        await say(ana, id)
    await asyncio.sleep(1.1)
    assert (await say(ana, id))["seq"] == 4
    held = await info(bob, id)
    assert (held["first"], held["last"]) == (4, 4)


async def test_a_client_away_while_many_were_removed_gets_one_reset(start):
    room = Room(start(SETTINGS | {"messages.keepFor": "3s"}))
    ana, bob, id = await pair(room)
    await follow(bob, id)
    await bob.activity("background")
    for _ in range(250):
        await say(ana, id)
    # Newer messages are sent until the last of them has expired.
    late = []
    while (await info(ana, id))["first"] <= 250:
        late.append(await say(ana, id))
        await asyncio.sleep(0.3)

    def told():
        return [each for each in bob.log if each["type"] in ("message", "messagesReset")]
    assert told() == []
    late.append(await say(ana, id))
    await bob.activity("active")
    await eventually(lambda: late[-1] in [each.get("message") for each in told()], "what is kept is told")
    messages = [each.get("message") for each in told()]
    assert messages[0] is None and messages[1:] == late[-len(messages) + 1:]


async def test_expired_messages_are_removed_without_new_ones(start):
    room = Room(start(SETTINGS | {"messages.keepFor": "4s"}))
    ana, bob, id = await pair(room)
    await listed(bob)
    held = await follow(bob, id)
    for _ in range(3):
        await say(ana, id, more={"priority": {"reason": "now"}})
    assert (await info(bob, id))["unread"] == 3
    seen = await sees(bob, id, first=4, last=3, unread=0)
    assert "lastMessage" not in seen and "priorityCount" not in seen and "hasUnreadPriority" not in seen
    page = await bob.did("getMessages", conversation=id)
    assert page["messages"] == [] and (page["first"], page["last"]) == (4, 3)
    assert (await follow(bob, id, after=1, messagesVersion=held["messagesVersion"]))["reset"] is True
    others = {member["user"]: member for member in (await info(ana, id))["members"]}
    assert others[bob.user]["read"] == 0
    assert (await say(ana, id))["seq"] == 4
    assert (await info(bob, id))["unread"] == 1
