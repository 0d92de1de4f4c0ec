"""The deletion of an account: what is left in Redis and in files, with and without the user's messages, whatever crashes."""

import asyncio
import os
import re

import pytest

from support.accounts import PASSWORD, Accounts, together
from support.patience import PATIENCE, eventually
from support.redis import Redis
from support.room import Room
from support.talks import group, say, talk

SETTINGS = {
    "accounts.enabled": True, "history.enabled": True, "linger": 1_000, "lease": 6_000, "partitions": 8,
}
LONG = 6 * PATIENCE


@pytest.fixture
def redis():
    redis = Redis()
    yield redis
    redis.close()


def values(redis):
    """Every key with all that it holds, as text."""
    found = {}
    for key in redis.command("KEYS", "*").splitlines():
        kind = redis.command("TYPE", key).strip()
        if kind == "none":
            continue
        read = {
            "string": ("GET", key), "hash": ("HGETALL", key), "list": ("LRANGE", key, "0", "-1"), "set": ("SMEMBERS", key),
            "zset": ("ZRANGE", key, "0", "-1"), "stream": ("XRANGE", key, "-", "+"),
        }[kind]
        found[key] = redis.command(*read)
    return found


def holding(redis, text):
    """The families of the keys in which a text occurs: `{p3}:user:ana` is `user`."""
    return sorted({
        re.sub(r"^\{?[^:]*\}?:", "", key).split(":")[0] for key, value in values(redis).items() if text in key or text in value})


def files(directory):
    return [os.path.join(place, name) for place, _, names in os.walk(directory) for name in names]


def files_with(directory, text):
    found = []
    for file in files(directory):
        # Logs, mails of development and Redis' own files; Redis is read itself.
        if file.endswith(".log") or "/outbox" in file or "redis" in os.path.basename(file).lower() or file.endswith((".aof", ".rdb")):
            continue
        with open(file, "rb") as opened:
            if text.encode() in opened.read() or text in file:
                found.append(file)
    return found


async def people(server):
    accounts, room = Accounts(server), Room(server)
    ana, bob, eve = await together(
        accounts.sign_up(email="ana.unique@example.org", displayName="Ana Unique", username="unique.ana"),
        accounts.sign_up(displayName="Bob"), accounts.sign_up(displayName="Eve"))
    clients = [await room.come(name, token=each.access) for name, each in (("ana", ana), ("bob", bob), ("eve", eve))]
    return ana, bob, eve, clients


async def contents(client, conversation):
    page = await client.did("getMessages", conversation=conversation, limit=100)
    return [(message["from"], message.get("text")) for message in page["messages"]]


async def erased(client, conversation, others):
    """Waits until only messages of others have a text."""

    async def rest():
        return sorted(text for sender, text in await contents(client, conversation) if text)

    for _ in range(int(LONG * 5)):
        if await rest() == sorted(others):
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"{await rest()} instead of {others}")


@pytest.mark.parametrize("messages", ["delete", "keep", None])
async def test_nothing_of_a_deleted_user_is_left_but_what_the_page_names(start, redis, messages):
    server = start(SETTINGS, redis=redis)
    ana, bob, eve, (at_ana, at_bob, at_eve) = await people(server)
    direct = (await talk(at_ana, at_bob))["id"]
    room = (await group(at_ana, at_bob, at_eve))["id"]
    left = (await group(at_bob, at_ana))["id"]
    await say(at_ana, left, "classified in the one that she left")
    await at_ana.did("changeMembers", conversation=left, remove=[ana.user])
    await at_ana.did("addContacts", users=[bob.user])
    await at_ana.did("block", users=[eve.user])
    await at_ana.did("unblock", users=[eve.user])
    first = await say(at_ana, direct, "classified one")
    await at_ana.did("editMessage", conversation=direct, message=first["id"], text="classified two")
    await say(at_bob, direct, "of bob")
    for number in range(45):
        await say(at_ana, room, f"classified {number}")
    await say(at_eve, room, "of eve")
    body = {"password": PASSWORD} | ({"messages": messages} if messages else {})
    assert (await ana.call("DELETE", "/v1/me", body)).status == 204
    await at_ana.closed()
    if messages == "delete":
        await erased(at_bob, direct, ["of bob"])
        await erased(at_bob, room, ["of eve"])
        await erased(at_bob, left, [])
        await eventually(lambda: holding(redis, "classified") == [], "no text is left", within=LONG)
    else:
        assert ("classified two" in {text for _, text in await contents(at_bob, direct)})
    await eventually(lambda: not set(holding(redis, ana.user)) & {"unfinished", "inbox"}, "the rest is done", within=LONG)
    for text in ("ana.unique", "Ana Unique", "unique.ana", "ana unique"):
        assert holding(redis, text) == [], text
    kept = set(holding(redis, ana.user))
    assert kept <= {"user", "log", "conversation", "contacts", "blocks"}, kept
    for text in ("ana.unique", "Ana Unique", "unique.ana", ana.user, "classified"):
        assert files_with(server.directory, text) == [], text


async def test_the_messages_are_deleted_even_if_the_server_dies_at_once(start, redis):
    server = start(SETTINGS, redis=redis)
    ana, bob, eve, (at_ana, at_bob, _) = await people(server)
    rooms = [(await group(at_ana, at_bob))["id"] for _ in range(3)]
    for id in rooms:
        for number in range(30):
            await say(at_ana, id, f"classified {number}")
    deletion = ana.call("DELETE", "/v1/me", {"password": PASSWORD, "messages": "delete"})
    assert (await deletion).status == 204
    server.kill()
    start(SETTINGS, redis=redis, directory=server.directory)
    await eventually(lambda: holding(redis, "classified") == [], "no text is left", within=LONG)
    await eventually(lambda: "unfinished" not in holding(redis, ana.user), "the deletion is finished", within=LONG)


@pytest.mark.parametrize("value", ["all", "", 1])
async def test_other_values_are_refused_and_change_nothing(start, value):
    accounts = Accounts(start({"accounts.enabled": True}))
    ana = await accounts.sign_up()
    answer = await ana.call("DELETE", "/v1/me", {"password": PASSWORD, "messages": value})
    assert answer.status in (400, 422) and answer.json["field"] == "messages", answer
    assert (await ana.me())["account"]["user"] == ana.user
