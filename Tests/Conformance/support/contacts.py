"""Contact requests, as clients see them."""

import asyncio

from support.accounts import CheckedAPI
from support.patience import A_MOMENT, eventually

SETTINGS = {"requests_per_second": 0, "user_requests_per_second": 0, "linger": 1_000}


async def people(room, *names, **options):
    return [await room.come(name, **options) for name in names]


def newest(client):
    """The client's copy of its list: empty until it is told."""
    lists = [event for event in client.log if event["type"] == "contactRequests"]
    versions = [event["version"] for event in lists]
    assert versions == sorted(versions), versions
    return lists[-1]["requests"] if lists else []


def askers(client):
    return [each["user"] for each in newest(client)]


async def asked_by(client, *others):
    await eventually(lambda: askers(client) == [each.user for each in others], f"{client.user} is asked", every=0.005)


async def contacts(client):
    return (await client.did("getVisibility"))["contacts"]


async def are_contacts(*clients):
    for one, other in (clients, clients[::-1]):
        async def lists():
            return other.user in await contacts(one)
        await eventually(lists, f"{one.user} lists {other.user}")


async def quiet(client):
    """Waits until everything that was on its way to a client has come."""
    await asyncio.sleep(A_MOMENT)
    await client.did("get", users=[])


def leaks(asker, since, *allowed):
    """The messages to the asker since then that no answer to a request of theirs explains."""
    return [each for each in asker.log[since:] if "id" not in each and each["type"] not in allowed]


def values(redis):
    """Every record of requests as text."""
    return {key: redis.command("HGETALL", key) for key in redis.command("KEYS", "*asked:*").splitlines()}


async def post(room, user, other, **more):
    api = CheckedAPI(room.server)
    return await api.request("POST", f"/v1/users/{user}/contactRequests", {"user": other} | more, token=room.backend)


async def closed_off(room, name="bob", *devices):
    bob = await room.come(name, *devices)
    await bob.did("setVisibility", conversations={"from": "contacts"})
    return bob
