"""Web Push: subscriptions, encrypted pushes signed by one key of the installation, and what services answer."""

import json
import secrets
import threading

import pytest

from support.accounts import ON, Accounts, CheckedAPI
from support.api import API
from support.patience import PATIENCE, eventually
from support.programs import library
from support.receiver import Receiver
from support.room import Room
from support.server import run
from support.settings import text
from support.talks import group, say, talk
from support.web_push import Subscriber, WebPushService, base64url, vapid_key

LONG = 4 * PATIENCE
DEVICE = "/v1/me/devices/current"


@pytest.fixture
def service(tmp_path):
    service = WebPushService(tmp_path)
    yield service
    service.close()


async def register(server, token, device):
    return await CheckedAPI(server).request("PUT", DEVICE, device, token=token)


async def away(room, person, subscriber=None):
    """A user who was online, has a browser and no session."""
    client = await room.come(person)
    if subscriber:
        answer = await register(room.server, room.token(person), subscriber.device)
        assert answer.status == 204, answer
    await client.close()
    return client


async def pushed(service, count=1):
    await eventually(lambda: len(service.pushes) >= count, f"{count} pushes", within=LONG)
    return service.pushes[:count]


async def announced(server):
    return (await API(server).request("GET", "/v1/server")).json["push"]


async def metric(server, name, value):
    async def reached():
        return await API(server).metric(f"presence_{name}") == value

    await eventually(reached, f"presence_{name} {value}", within=LONG)


# What browsers get


async def test_a_browser_gets_a_message_that_only_it_can_read(start, service):
    server = start(service.settings())
    room, browser, other = Room(server), Subscriber(service), Subscriber(service)
    told = await announced(server)
    assert told == {"platforms": ["web"], "vapidKey": vapid_key(server)}
    ana = await room.come("ana")
    await ana.did("updateProfile", changes={"displayName": "Ana"})
    bob, cy = await away(room, "bob", browser), await away(room, "cy", other)
    id = (await talk(ana, bob))["id"]
    await say(ana, id, "see \"you\"\n🏔")
    push, = await pushed(service)
    assert push.json == {"user": bob.user, "conversation": id, "seq": 1, "title": "Ana", "text": "see \"you\"\n🏔", "badge": 1}
    assert push.vapid[1] == told["vapidKey"] and push.name == browser.name
    for secret in (id, bob.user, "Ana"):
        assert secret not in str(push.headers), "the service learns nothing of it"
    trip = await group(ana, bob, cy, name="Trip")
    await say(ana, trip["id"], "one")
    both = [push for push in await pushed(service, 3) if push.json["conversation"] == trip["id"]]
    assert {push.name for push in both} == {browser.name, other.name}
    # A conversation is one topic for one browser alone.
    assert len({push.headers["topic"] for push in service.pushes}) == 3
    client = await room.come("bob")
    await client.did("mark", conversation=id, read=1)
    await client.close()
    await say(ana, id, "two")
    assert (await pushed(service, 4))[3].headers["topic"] == push.headers["topic"]
    # Each push has a key of its own, and the service is shown one signature for some time.
    assert len({push.body[:86] for push in service.pushes}) == 4 and len({push.vapid for push in service.pushes}) == 1
    await metric(server, "pushes_sent_total", 4)


async def test_the_libraries_of_others_read_it(start, service):
    http_ece, vapid = library("http_ece"), library("py_vapid")
    server, browser = start(service.settings()), Subscriber(service)
    room = Room(server)
    ana, bob = await room.come("ana"), await away(room, "bob", browser)
    await say(ana, (await talk(ana, bob))["id"], "Ünïcode")
    push, = await pushed(service)
    assert json.loads(http_ece.decrypt(push.body, private_key=browser.key, auth_secret=browser.auth, version="aes128gcm"))["text"] == "Ünïcode"
    # The library reads the two members without the space of RFC 8292 between them.
    assert vapid.Vapid02.verify(push.headers["authorization"].replace(", ", ","))
    token, key = push.vapid
    assert not vapid.Vapid02.verify(f"vapid t={token[:-4]}AAAA,k={key}")


async def test_long_texts_are_cut_to_three_kib(start, service):
    room, browser = Room(start(service.settings())), Subscriber(service)
    ana, bob = await room.come("ana"), await away(room, "bob", browser)
    for number, long in enumerate(("🏔" * 900, "\"\\" * 2_000, "a\n\t" * 1_000)):
        trip = await group(ana, bob, name="ü" * 100)
        await say(ana, trip["id"], long)
        push = (await pushed(service, number + 1))[number]
        assert push.json["text"].endswith("…") and long.startswith(push.json["text"][:-1])
        assert 300 < len(push.plain) <= 3_072 and push.json["title"] == "ü" * 100


async def test_a_sender_of_the_operators_own_gets_the_subscription(start, service, tmp_path):
    receiver = Receiver(tmp_path)
    room, browser = Room(start({"webhooks": [receiver.endpoint("push.due")], "partitions": 8, "linger": 1_000})), Subscriber(service)
    assert await announced(room.server) == {"platforms": []}
    ana, bob = await room.come("ana"), await away(room, "bob", browser)
    await say(ana, (await talk(ana, bob))["id"], "hello")
    await eventually(lambda: receiver.calls, "push.due", within=LONG)
    keys = browser.subscription["keys"]
    assert receiver.calls[0].data["devices"] == [{"platform": "web", "subscription": {"endpoint": browser.endpoint, "keys": keys}}]
    receiver.close()


# Subscriptions


async def test_subscriptions_that_cannot_work_are_refused_when_they_are_registered(start, service):
    room, browser = Room(start(service.settings())), Subscriber(service)
    token, good = room.token("ana"), browser.subscription
    p256dh, auth = good["keys"]["p256dh"], good["keys"]["auth"]
    raw = bytearray(b"\4" + secrets.token_bytes(64))

    async def refused(subscription, status, field):
        answer = await register(room.server, token, {"platform": "web", "subscription": subscription})
        assert (answer.status, answer.json["field"]) == (status, field), (subscription, answer)

    for subscription, field in (
            (None, "subscription"), ("text", "subscription"), ({}, "subscription.endpoint"), ({"endpoint": good["endpoint"]}, "subscription.keys"),
            (good | {"keys": {"auth": auth}}, "subscription.keys.p256dh"), (good | {"keys": {"p256dh": p256dh, "auth": 1}}, "subscription.keys.auth")):
        await refused(subscription, 400, field)
    for endpoint in (
            "http://localhost/push", "https://", "https:///push", "https://user@localhost/", "https://localhost@evil.example/",
            "https://localhost:port/", "https://localhost:0/", "https://localhost:65536/", "https://localhost\\@evil.example/",
            "https://localhost/a b", "https://localhost/#a", "https://[::1]/", "https://lo%63alhost/", "ftp://localhost/", "localhost",
            "https://localhost/" + "a" * 1_024, "https://localhost/ü",
            # Not in push.web.hosts.
            "https://example.org/push", "https://localhost.example.org/", "https://evillocalhost/"):
        await refused(good | {"endpoint": endpoint}, 422, "subscription.endpoint")
    for keys in (
            {"p256dh": base64url(bytes(raw)), "auth": auth}, {"p256dh": p256dh[:-2], "auth": auth}, {"p256dh": "", "auth": auth},
            {"p256dh": p256dh + "=", "auth": auth}, {"p256dh": p256dh, "auth": auth[:-2]}, {"p256dh": p256dh, "auth": auth + "AA"},
            {"p256dh": p256dh, "auth": ""}, {"p256dh": p256dh.replace(p256dh[20], "+"), "auth": auth}):
        await refused(good | {"keys": keys}, 422, "subscription.keys")
    answer = await register(room.server, token, {"platform": "browser", "pushToken": "a"})
    assert (answer.status, answer.json["field"]) == (422, "platform")
    assert (await register(room.server, token, browser.device)).status == 204
    # In capitals, with a query, and with all characters of a path.
    for endpoint in (f"HTTPS://LOCALHOST:{service.port}/a?b=c", "https://push.localhost/a;b,c/%7E~!$&'()*+=:@?x=/?"):
        assert (await register(room.server, token, browser.device | {"subscription": good | {"endpoint": endpoint}})).status == 204


async def test_a_user_has_ten_browsers_and_a_further_one_replaces_the_first(start, service):
    accounts = Accounts(start(service.settings() | ON))
    room = Room(accounts.server)
    people = [await accounts.sign_up()]
    while len(people) < 11:
        people.append(await accounts.signed_in(people[0].email))
    browsers = [Subscriber(service) for _ in people]
    for person, browser in zip(people, browsers):
        assert (await register(room.server, person.access, browser.device)).status == 204
        # Registered once more, one stays the first.
    ana = await room.come("ana")
    id = (await ana.did("createConversation", participants=[people[0].user]))["conversation"]["id"]
    await say(ana, id, "hello")
    await pushed(service, 10)
    assert {push.name for push in service.pushes} == {browser.name for browser in browsers[1:]}
    await metric(room.server, "pushes_sent_total", 10)


# One key


async def test_all_servers_of_an_installation_have_one_key_which_outlives_redis(start, service):
    redis = start.redis()
    one, other = start(service.settings(), redis=redis), start(service.settings(), redis=redis)
    key = (await announced(one))["vapidKey"]
    assert (await announced(other))["vapidKey"] == key
    await eventually(lambda: vapid_key(other) == vapid_key(one) == key, "both data directories have it")
    room, browser = Room(one), Subscriber(service)
    ana, bob = await room.come("ana"), await away(room, "bob", browser)
    await say(ana, (await talk(ana, bob))["id"], "hello")
    assert (await pushed(service))[0].vapid[1] == key
    one.stop(), other.stop()
    assert key not in one.whole_log() and "PRIVATE" not in one.whole_log()
    third = start(service.settings(), redis=start.redis(), directory=other.directory)
    assert (await announced(third))["vapidKey"] == key


@pytest.mark.parametrize("setting, value, key", [
    ("push.web.subject", "operator@example.org", "push.web.subject"), ("push.web.subject", "mailto:operator", "push.web.subject"),
    ("push.web.subject", "https://ex ample.org", "push.web.subject"), ("push.web.hosts", ["https://localhost"], "push.web.hosts"),
    ("push.web.hosts", ["*.*.example.org"], "push.web.hosts"), ("push.web.hosts", [], "push.web.privateAddresses")])
def test_settings_that_cannot_work_are_refused_at_the_start(service, tmp_path, setting, value, key):
    file = tmp_path / "presenced.yaml"
    file.write_text(text(service.settings() | {setting: value}))
    ran = run("serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--config", str(file))
    assert ran.returncode != 0 and key in ran.stderr, ran.stderr


# Services' answers


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_has_unsubscribed_is_removed(start, service, status):
    room, old, new = Room(start(service.settings())), Subscriber(service), Subscriber(service)
    service.answer = lambda push: status if push.name == old.name else 201
    ana, bob, cy = await room.come("ana"), await away(room, "bob", old), await away(room, "cy", new)
    await say(ana, (await group(ana, bob, cy))["id"], "one")
    await pushed(service, 2)
    await metric(room.server, "push_devices_removed_total", 1)
    await say(ana, (await group(ana, bob, cy))["id"], "two")
    assert [push.name for push in (await pushed(service, 3))[2:]] == [new.name]
    # It may return.
    service.answer = lambda push: 201
    assert (await register(room.server, room.token("bob"), old.device)).status == 204
    await say(ana, (await group(ana, bob))["id"], "three")
    assert (await pushed(service, 4))[3].name == old.name


async def test_too_long_a_push_is_sent_again_without_its_text(start, service):
    room, browser = Room(start(service.settings())), Subscriber(service)
    service.answer = lambda push: 413 if push.json["text"] else 201
    ana, bob = await room.come("ana"), await away(room, "bob", browser)
    await say(ana, (await group(ana, bob, name="Trip"))["id"], "long")
    first, second = await pushed(service, 2)
    assert first.json["text"] == "long" and second.json == first.json | {"text": ""}
    await metric(room.server, "pushes_sent_total", 1)
    service.answer = lambda push: 413
    await say(ana, (await group(ana, bob, name="Trip"))["id"], "long")
    await pushed(service, 4)
    await metric(room.server, "pushes_given_up_total", 1)
    assert len(service.pushes) == 4


@pytest.mark.parametrize("status, headers, pause", [(429, {"Retry-After": "16"}, 16), (503, {}, 7.9), (500, {"Retry-After": "1"}, 7.9)])
async def test_a_service_that_is_busy_is_asked_again_when_it_says(start, service, status, headers, pause):
    room, browser = Room(start(service.settings())), Subscriber(service)
    answers = [(status, headers), 201]
    service.answer = lambda push: answers.pop(0)
    ana, bob = await room.come("ana"), await away(room, "bob", browser)
    await say(ana, (await talk(ana, bob))["id"], "hello")
    first, second = await pushed(service, 2)
    assert second.at - first.at >= pause and second.json == first.json
    await metric(room.server, "pushes_sent_total", 1)
    assert await API(room.server).metric("presence_push_failures_total") == 1
    await room.server.wait_for_log(f"status {status} localhost")


@pytest.mark.parametrize("status", [400, 401, 403, 302, 307])
async def test_what_is_refused_is_dropped_and_counted(start, service, status):
    room, bad, good = Room(start(service.settings())), Subscriber(service), Subscriber(service)
    leads = {"Location": f"https://127.0.0.1:{service.port}/push/{good.name}"}
    service.answer = lambda push: (status, leads) if push.name == bad.name else 201
    ana, bob = await room.come("ana"), await away(room, "bob", bad)
    await say(ana, (await talk(ana, bob))["id"], "hello")
    await metric(room.server, "pushes_given_up_total", 1)
    assert [push.name for push in service.pushes] == [bad.name], "redirects are not followed"
    await room.server.wait_for_log(f"status {status} localhost")
    # A refused push counts for nothing: the next message is pushed.
    service.answer = lambda push: 201
    await say(ana, (await talk(ana, bob))["id"], "again")
    assert (await pushed(service, 2))[1].json["text"] == "again"


async def test_services_that_are_slow_never_answer_or_break_off_hold_up_no_others(start, service):
    room = Room(start(service.settings()))
    never, broken, slow, fine = (Subscriber(service) for _ in range(4))
    ended = threading.Event()

    def answer(push):
        if push.name == broken.name:
            return None
        if push.name == never.name:
            ended.wait(60)
        elif push.name == slow.name:
            ended.wait(3)
        return 201

    service.answer = answer
    ana = await room.come("ana")
    for number, browser in enumerate((never, broken, slow)):
        await say(ana, (await talk(ana, await away(room, f"p{number}", browser)))["id"], "hello")
    await pushed(service, 3)
    # All that was sent so far has failed, or has no answer: nothing rests.
    bob = await away(room, "bob", fine)
    sent = await say(ana, (await talk(ana, bob))["id"], "hello")
    await eventually(lambda: service.to(fine), "the push", within=LONG)
    assert service.to(fine)[0].at * 1_000 - sent["at"] < 6_000
    await metric(room.server, "pushes_sent_total", 2)
    # The others are tried again.
    await eventually(lambda: len(service.to(broken)) > 1, "another try", within=LONG)
    ended.set()


# Where pushes are sent


async def test_private_addresses_are_never_called_unless_the_operator_says_so(start, service):
    settings = service.settings() | {"push.web.hosts": [], "push.web.privateAddresses": False}
    room = Room(start(settings))
    ana = await room.come("ana")
    hosts = ("localhost", "127.0.0.1", "push.localhost", "2130706433", "0x7f000001", "0.0.0.0")
    for number, host in enumerate(hosts):
        bob = await away(room, f"bob{number}", Subscriber(service, host=host))
        await say(ana, (await talk(ana, bob))["id"], "hello")
    await metric(room.server, "pushes_given_up_total", len(hosts))
    assert not service.pushes and await API(room.server).metric("presence_push_failures_total") == 0
    assert "forbidden localhost" in room.server.whole_log()
