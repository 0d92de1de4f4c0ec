"""UnifiedPush: an app registers the endpoint of its user's own push server, on a host of its own, as a subscription of Web Push."""

import json

import pytest

from support.accounts import CheckedAPI
from support.api import API
from support.patience import PATIENCE, eventually
from support.room import Room
from support.talks import group, say, talk
from support.web_push import Subscriber, WebPushService

LONG = 4 * PATIENCE
DEVICE = "/v1/me/devices/current"
ACCEPTED = (200, {"Content-Type": "application/json"}, json.dumps({"id": "sPs71M8A2T", "event": "message"}).encode())
"""What ntfy answers."""


@pytest.fixture
def service(tmp_path):
    """All push servers of these tests: their names resolve to this machine."""
    service = WebPushService(tmp_path)
    service.answer = lambda push: ACCEPTED
    yield service
    service.close()


async def register(room, person, app):
    return await CheckedAPI(room.server).request("PUT", DEVICE, app.device, token=room.token(person))


async def away(room, person, app):
    """A user who was online, has an app, and has no session."""
    client = await room.come(person)
    answer = await register(room, person, app)
    assert answer.status == 204, answer
    await client.close()
    return client


async def pushed(service, app, count=1):
    await eventually(lambda: len(service.to(app)) >= count, f"{count} pushes", within=LONG)
    return service.to(app)


async def metric(room, name, value):
    async def reached():
        return await API(room.server).metric(f"presence_{name}") == value

    await eventually(reached, f"presence_{name} {value}", within=LONG)


async def test_users_have_push_servers_of_their_own(start, service):
    room = Room(start(service.settings(**{"push.web.hosts": ["push.localhost", "*.push.localhost"]})))
    bobs = Subscriber(service, host="push.localhost", query="?up=1")
    cys = Subscriber(service, host="ana.push.localhost", query="?up=1&auth=a%2Fb")
    ana = await room.come("ana")
    bob, cy = await away(room, "bob", bobs), await away(room, "cy", cys)
    await say(ana, (await group(ana, bob, cy, name="Trip"))["id"], "hello")
    for app, host in ((bobs, "push.localhost"), (cys, "ana.push.localhost")):
        push, = await pushed(service, app)
        assert push.json["title"] == "Trip" and push.json["text"] == "hello"
        # Each server learns that it is meant, and its endpoint comes whole: the query is a part of it.
        assert push.claims["aud"] == f"https://{host}:{service.port}"
        assert f"https://{push.headers['host']}{push.path}" == app.endpoint
    assert bobs.endpoint != cys.endpoint and {push.vapid[1] for push in service.pushes} == {
        (await API(room.server).request("GET", "/v1/server")).json["push"]["vapidKey"]}
    await metric(room, "pushes_sent_total", 2)


async def test_only_hosts_that_the_operator_names_can_be_registered(start, service):
    room = Room(start(service.settings(**{"push.web.hosts": ["push.localhost", "*.friends.localhost"]})))
    for host in ("push.localhost", "PUSH.localhost", "a.friends.localhost", "b.a.friends.localhost"):
        assert (await register(room, "bob", Subscriber(service, host=host))).status == 204, host
    for host in ("localhost", "ana.push.localhost", "evilpush.localhost", "push.localhost.example.org", "friends.localhost",
                 "evilfriends.localhost", "127.0.0.1"):
        answer = await register(room, "bob", Subscriber(service, host=host))
        assert (answer.status, answer.json["field"]) == (422, "subscription.endpoint"), host


async def test_a_host_that_is_named_no_more_gets_no_pushes_and_holds_up_no_others(start, service):
    redis = start.redis()
    server = start(service.settings(**{"push.web.hosts": ["push.localhost", "ana.push.localhost"]}), redis=redis)
    room, old, kept = Room(server), Subscriber(service, host="ana.push.localhost"), Subscriber(service, host="push.localhost")
    bob, cy = await away(room, "bob", old), await away(room, "cy", kept)
    server.stop()
    room = Room(start(service.settings(**{"push.web.hosts": ["push.localhost"]}), redis=redis, directory=server.directory))
    ana = await room.come("ana")
    await say(ana, (await group(ana, bob, cy))["id"], "hello")
    await pushed(service, kept)
    await metric(room, "pushes_given_up_total", 1)
    assert not service.to(old) and "push.web.hosts has no ana.push.localhost" in room.server.whole_log()


async def test_a_server_in_a_private_network_needs_the_operators_word(start, service):
    # Without push.web.hosts every name may be registered, and none in a private network is called.
    room = Room(start(service.settings(**{"push.web.hosts": [], "push.web.privateAddresses": False})))
    app = Subscriber(service, host="push.localhost")
    ana, bob = await room.come("ana"), await away(room, "bob", app)
    await say(ana, (await talk(ana, bob))["id"], "hello")
    await metric(room, "pushes_given_up_total", 1)
    assert not service.pushes and "forbidden push.localhost" in room.server.whole_log()


async def test_an_app_that_has_unregistered_is_removed_until_it_has_a_new_endpoint(start, service):
    old, new = (Subscriber(service, host="push.localhost", query="?up=1") for _ in range(2))
    service.answer = lambda push: 404 if push.name == old.name else ACCEPTED
    room = Room(start(service.settings(**{"push.web.hosts": ["push.localhost"]})))
    ana, bob = await room.come("ana"), await away(room, "bob", old)
    id = (await talk(ana, bob))["id"]
    await say(ana, id, "one")
    await metric(room, "push_devices_removed_total", 1)
    # The distributor has given the app another endpoint: it gets the next message, though the first is not read.
    assert (await register(room, "bob", new)).status == 204
    await say(ana, id, "two")
    push, = await pushed(service, new)
    assert push.json["text"] == "two" and push.json["badge"] == 2
