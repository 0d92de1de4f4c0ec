"""Actions and waits for tests of notifications."""

import secrets

from .openapi import OpenAPI
from .patience import PATIENCE, eventually

DOCUMENT = OpenAPI("openapi.yaml")
OPERATION, = [each for each in DOCUMENT.operations if each.path == "/v1/notifications"]


async def post(room, people, at=None, **members):
    """Posts, and checks the answer against docs/openapi.yaml."""
    body = {"users": [getattr(user, "user", user) for user in people], "id": secrets.token_hex(6), "kind": "test",
            "title": "Hello"} | members
    body = {name: value for name, value in body.items() if value is not ...}
    answer = await (at or room.api).request("POST", "/v1/notifications", body, token=room.backend)
    assert answer.status in OPERATION.responses, answer
    DOCUMENT.check("POST", answer, OPERATION.responses[answer.status], "notify")
    return answer


async def notify(room, *users, at=None, **members):
    """Posts, and expects it to be accepted."""
    answer = await post(room, users, at=at, **members)
    assert answer.status == 202 and answer.json == {"accepted": len(set(map(str, users)))}, answer


async def inbox(client, **members):
    """The user's notifications, watched from now on."""
    reply = await client.did("subscribe", notifications=True, **members)
    assert reply["type"] == "subscribed", reply
    return reply["notifications"]


async def mark(client, **members):
    reply = await client.did("markNotifications", **members)
    assert reply["type"] == "notificationCounts", reply
    return reply


async def pages(client, **members):
    """A page of older notifications."""
    reply = await client.did("getNotifications", **members)
    assert reply["type"] == "notifications", reply
    return reply


def told(client):
    """The `notification` events so far."""
    return [event for event in client.log if event["type"] == "notification"]


def titles(client):
    return [event["notification"]["title"] for event in told(client)]


async def hears(client, count, within=PATIENCE):
    await eventually(lambda: len(told(client)) >= count, within=within, every=0.005, what=f"{count} notifications")
    return told(client)


def counts(message):
    return {name: message[name] for name in ("version", "unseen", "unread", "seen", "first")}


def newest(client):
    """The counts of a client after all its messages: the newest version wins."""
    held = {"version": -1}
    for message in client.log:
        for each in (message, message.get("notifications")):
            if isinstance(each, dict) and "unseen" in each and each["version"] >= held["version"]:
                held = counts(each)
    return held


async def agree(*clients, **expected):
    """Waits until all clients have the same counts, with these values."""
    def do():
        held = [newest(client) for client in clients]
        return all(each == held[0] for each in held) and all(held[0].get(name) == value for name, value in expected.items())
    await eventually(do, within=PATIENCE, every=0.005, what=f"{expected} on {len(clients)} devices")
