"""Actions and waits for tests of conversations and messages."""

import itertools
import secrets

from .patience import PATIENCE, eventually

NUMBERS = itertools.count(1)
IMAGE = {"id": "a1", "kind": "image", "url": "https://example.org/a.jpg", "thumbnailURL": "https://example.org/t.jpg",
         "sizeBytes": 12_345_678_901}


def fresh():
    """A new message id."""
    return secrets.token_hex(16)


async def talk(creator, *others, **members):
    """Creates a conversation and returns it as its creator sees it."""
    reply = await creator.did("createConversation", participants=[other.user for other in others], **members)
    assert reply["type"] == "conversationCreated", reply
    return reply["conversation"]


async def pair(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    return ana, bob, (await talk(ana, bob))["id"]


async def group(creator, *others, **members):
    return await talk(creator, *others, name=members.pop("name", f"Group {next(NUMBERS)}"), **members)


async def info(client, conversation):
    reply = await client.did("getConversation", conversation=conversation)
    assert reply["type"] == "conversationInfo", reply
    return reply["conversation"]


async def listed(client, **members):
    """The client's list of conversations, watched from now on."""
    reply = await client.did("subscribe", conversationList=True, **members)
    assert reply["type"] == "subscribed", reply
    return reply["conversationList"]


async def say(client, conversation, text="hello", message=None, **members):
    """Sends a message and returns it in its stored form."""
    message = {"id": message or fresh(), "text": text} | members.pop("more", {})
    reply = await client.did("send", conversation=conversation, message=message, **members)
    assert reply["type"] == "sent" and reply["conversation"] == conversation, reply
    return reply["message"]


async def follow(client, conversation, **cursor):
    """Subscribes to a conversation's messages and returns the reply about it, with its parts joined."""
    reply = await client.did("subscribe", conversations=[{"id": conversation} | cursor])
    parts = [part for part in reply["conversations"] if part["conversation"] == conversation]
    whole = dict(parts[0])
    for part in parts[1:]:
        whole["messages"] = whole["messages"] + part["messages"]
    return whole


def heard(client, conversation):
    """The `message` events of a conversation so far, in the order of their coming."""
    return [event for event in client.log if event["type"] == "message" and event["conversation"] == conversation]


async def hears(client, conversation, count, within=PATIENCE):
    """Waits for this many `message` events."""
    await eventually(lambda: len(heard(client, conversation)) >= count, within=within, every=0.005,
                     what=f"{count} message events of {conversation}")
    return heard(client, conversation)


def told(client, conversation):
    """The client's copy of a conversation after all events: the newest version wins."""
    newest = {}
    for event in client.log:
        if event["type"] == "conversation" and event["conversation"]["id"] == conversation:
            if event["conversation"]["version"] > newest.get("version", 0):
                newest = event["conversation"]
    return newest


async def sees(client, conversation, **expected):
    """Waits until the newest event of a conversation has these members; a function as a value is a predicate."""
    def fits():
        held = told(client, conversation)
        return bool(held) and all(
            value(held.get(name)) if callable(value) else held.get(name) == value for name, value in expected.items())
    await eventually(fits, within=PATIENCE, every=0.005, what=f"{list(expected)} of {conversation}")
    return told(client, conversation)


def marks(conversation, client):
    return next(member for member in conversation["members"] if member["user"] == client.user)
