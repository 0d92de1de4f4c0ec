"""FCM and APNs: the pushes to devices, the access tokens, retries, and the removal of devices."""

import json
import re
import subprocess

import pytest

from support.accounts import CheckedAPI
from support.api import API
from support.devices import APNS_TOKEN, DEVICE, away, phone, register
from support.patience import PATIENCE, eventually
from support.receiver import Receiver
from support.room import Room
from support.server import BINARY, run
from support.talks import group, say, talk

LONG = 4 * PATIENCE


async def sent(services, platform, count=1):
    await eventually(lambda: len(services.of(platform)) >= count, f"{count} pushes of {platform}", within=LONG)
    return services.of(platform)


async def metric(server, name, value):
    async def reached():
        return await API(server).metric(f"presence_{name}") == value

    await eventually(reached, f"presence_{name} {value}", within=LONG)


# FCM


async def test_fcm_is_told_once_for_each_device_with_one_access_token(start, services):
    room = Room(start(services.settings()))
    ana = await room.come("ana")
    await ana.did("updateProfile", changes={"displayName": "Ana"})
    assert (await room.api.request("GET", "/v1/server")).json["push"]["platforms"] == ["fcm", "apns"]
    bob, cy, _ = await away(room, "bob", phone("fcm", "b:1")), await away(room, "cy", phone("fcm", "c-2")), await away(room, "dan")
    id = (await talk(ana, bob))["id"]
    await say(ana, id, "see \"you\"\n")
    push, = await sent(services, "fcm")
    message = push.json["message"]
    assert message["token"] == "b:1" and message["notification"] == {"title": "Ana", "body": "see \"you\"\n"}
    assert message["data"] == {"user": bob.user, "conversation": id}
    assert message["android"] == {"priority": "HIGH", "notification": {"tag": id, "notification_count": 1}}
    assert message["apns"]["payload"] == {"aps": {"badge": 1, "sound": "default", "thread-id": id}}
    trip = await group(ana, bob, cy, name="Trip")
    await say(ana, trip["id"], "🏔" * 900)
    pushes = (await sent(services, "fcm", 3))[1:]
    assert sorted(push.token for push in pushes) == ["b:1", "c-2"]
    for push in pushes:
        notification = push.json["message"]["notification"]
        # 2,000 bytes of it.
        assert notification["title"] == "Trip" and re.fullmatch("🏔{490,500}…", notification["body"])
    assert len(services.grants) == 1 and not services.of("apns")
    await metric(room.server, "pushes_sent_total", 3)
    await metric(room.server, "pushes_queued", 0)


async def test_fcm_removes_a_device_that_is_not_registered_any_more(start, services):
    unknown = {"error": {"status": "NOT_FOUND", "details": [
        {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "UNREGISTERED"}]}}
    services.fcm = lambda push: (404, unknown) if push.token == "old" else (200, {})
    room = Room(start(services.settings(), redis=start.redis()))
    ana, bob, cy = await room.come("ana"), await away(room, "bob", phone("fcm", "old")), await away(room, "cy", phone("fcm", "new"))
    trip = await group(ana, bob, cy)
    await say(ana, trip["id"], "one")
    await sent(services, "fcm", 2)
    await metric(room.server, "push_devices_removed_total", 1)
    other = await group(ana, bob, cy)
    await say(ana, other["id"], "two")
    assert [push.token for push in (await sent(services, "fcm", 3))[2:]] == ["new"]
    # It may return.
    await register(room, "bob", phone("fcm", "newer"))
    third = await group(ana, bob)
    await say(ana, third["id"], "three")
    assert (await sent(services, "fcm", 4))[3].token == "newer"
    assert await API(room.server).metric("presence_pushes_given_up_total") == 0


async def test_what_fcm_does_not_take_now_is_tried_again_and_what_it_refuses_is_not(start, services):
    answers = [(503, {}), (200, {})]
    services.fcm = lambda push: (400, {"error": {"status": "INVALID_ARGUMENT"}}) if push.token == "bad" else answers.pop(0)
    room = Room(start(services.settings()))
    ana, bob, cy = await room.come("ana"), await away(room, "bob", phone("fcm", "good")), await away(room, "cy", phone("fcm", "bad"))
    trip = await group(ana, bob, cy)
    await say(ana, trip["id"], "one")
    first, second = [push for push in await sent(services, "fcm", 3) if push.token == "good"]
    assert first.json == second.json and second.at - first.at > 7.9
    await metric(room.server, "pushes_sent_total", 1)
    assert await API(room.server).metric("presence_push_failures_total") == 1
    assert await API(room.server).metric("presence_pushes_given_up_total") == 1
    assert len(services.pushes) == 3
    assert "status 503" in room.server.whole_log() and "status 400 INVALID_ARGUMENT" in room.server.whole_log()


async def test_what_waits_is_not_sent_to_a_device_that_was_taken_away(start, services):
    services.fcm = lambda push: (503, {}) if push.token == "left" else (200, {})
    room = Room(start(services.settings()))
    ana, bob = await room.come("ana"), await away(room, "bob", phone("fcm", "left"))
    await say(ana, (await talk(ana, bob))["id"], "a secret")
    await sent(services, "fcm")
    gone = await CheckedAPI(room.server).request("DELETE", DEVICE, token=room.token("bob"))
    assert gone.status == 204, gone
    # The next try would be after 8 to 12 s. The queue is empty then, and nothing was sent or counted as given up.
    await metric(room.server, "pushes_queued", 0)
    assert len(services.pushes) == 1
    assert await API(room.server).metric("presence_pushes_given_up_total") == 0


async def test_what_waits_tells_what_is_unread_and_not_deleted_when_it_is_sent(start, services):
    tried = set()

    def once(push):
        is_first = push.token not in tried
        tried.add(push.token)
        return 503 if is_first else 200, {}

    services.fcm = once
    room = Room(start(services.settings()))
    ana, people = await room.come("ana"), [await away(room, name, phone("fcm", name)) for name in ("deleted", "edited", "older")]
    deleted, edited, older = [(await talk(ana, each))["id"] for each in people]
    secret, mistake = await say(ana, deleted, "a secret"), await say(ana, edited, "a mistake")
    await say(ana, older, "still here")
    assert sorted(text(push) for push in await sent(services, "fcm", 3)) == ["a mistake", "a secret", "still here"]
    slip = await say(ana, older, "a slip")
    await ana.did("deleteMessage", conversation=deleted, message=secret["id"])
    await ana.did("deleteMessage", conversation=older, message=slip["id"])
    await ana.did("editMessage", conversation=edited, message=mistake["id"], text="as meant")
    again = (await sent(services, "fcm", 5))[3:]
    assert sorted((push.token, text(push)) for push in again) == [("edited", "as meant"), ("older", "still here")]
    await metric(room.server, "pushes_queued", 0)
    assert await API(room.server).metric("presence_pushes_given_up_total") == 0
    # The withdrawn message was not pushed: the next one is.
    await say(ana, deleted, "no secret")
    last = (await sent(services, "fcm", 6))[5]
    assert (last.token, text(last)) == ("deleted", "no secret")


def text(push):
    return push.json["message"]["notification"]["body"]


async def test_an_access_token_that_fcm_does_not_take_is_asked_for_anew(start, services):
    services.fcm = lambda push: (401 if push.headers["authorization"] == "Bearer access-1" else 200, {})
    room = Room(start(services.settings()))
    ana, bob = await room.come("ana"), await away(room, "bob", phone("fcm"))
    await say(ana, (await talk(ana, bob))["id"])
    _, second = await sent(services, "fcm", 2)
    assert second.headers["authorization"] == "Bearer access-2" and len(services.grants) == 2


async def test_pushes_wait_while_there_is_no_access_token(start, services):
    good = services.grant
    services.grant = lambda number: (400, {"error": "invalid_grant"}) if number == 1 else good(number)
    room = Room(start(services.settings()))
    ana, bob = await room.come("ana"), await away(room, "bob", phone("fcm"))
    await say(ana, (await talk(ana, bob))["id"])
    await room.server.wait_for_log("no access token: status 400 invalid_grant")
    await sent(services, "fcm")


# APNs


async def test_apns_is_told_over_one_connection_with_one_token(start, services):
    room = Room(start(services.settings()))
    ana = await room.come("ana")
    people = [await away(room, f"p{number}", phone("apns", f"{number:02x}" * 32)) for number in range(12)]
    trip = await group(ana, *people[:9], name="Trip")
    await say(ana, trip["id"], "x" * 3_000)
    pushes = await sent(services, "apns", 9)
    assert {push.token for push in pushes} == {f"{number:02x}" * 32 for number in range(9)}
    for push in pushes:
        assert push.json["aps"] == {
            "alert": {"title": "Trip", "body": "x" * 499 + "…"}, "badge": 1, "sound": "default", "thread-id": trip["id"]}
        assert push.json["conversation"] == trip["id"] and push.headers["apns-collapse-id"] == trip["id"]
        assert push.headers["apns-priority"] == "10"
    assert len({push.headers["apns-id"] for push in pushes}) == 9
    for each in people[9:]:
        await say(ana, (await talk(ana, each))["id"], "hi")
    pushes = await sent(services, "apns", 12)
    assert services.connections == 1 and len({push.headers["authorization"] for push in pushes}) == 1
    await metric(room.server, "pushes_sent_total", 12)


@pytest.mark.parametrize("since, stays", [(lambda now: now, False), (lambda now: now - 3_600_000, True)], ids=["gone", "back"])
async def test_apns_removes_a_device_that_is_gone_unless_it_came_back_since(start, services, since, stays):
    gone = lambda push: (410, {"reason": "Unregistered", "timestamp": int(since(push.at * 1000))})
    services.apns = gone
    room = Room(start(services.settings(), redis=start.redis()))
    ana, bob = await room.come("ana"), await away(room, "bob", phone("apns", APNS_TOKEN))
    await say(ana, (await talk(ana, bob))["id"])
    await sent(services, "apns")
    services.apns = lambda push: (200, {})
    if not stays:
        await metric(room.server, "push_devices_removed_total", 1)
        await register(room, "bob", phone("fcm", "other"))
    await say(ana, (await group(ana, bob))["id"])
    if stays:
        await sent(services, "apns", 2)
        assert await API(room.server).metric("presence_push_devices_removed_total") == 0
    else:
        await sent(services, "fcm")
        assert len(services.of("apns")) == 1


async def test_what_apns_cannot_take_is_given_up_and_its_device_stays(start, services):
    services.apns = lambda push: (400, {"reason": "BadDeviceToken"})
    room = Room(start(services.settings()))
    ana, bob = await room.come("ana"), await away(room, "bob", phone("apns", APNS_TOKEN))
    await say(ana, (await talk(ana, bob))["id"])
    await metric(room.server, "pushes_given_up_total", 1)
    await room.server.wait_for_log("status 400 BadDeviceToken")
    services.apns = lambda push: (200, {})
    await say(ana, (await group(ana, bob))["id"])
    assert (await sent(services, "apns", 2))[1].token == APNS_TOKEN


async def test_a_push_that_is_tried_again_has_the_same_id(start, services):
    answers = [(429, {"reason": "TooManyRequests"}), (200, {})]
    services.apns = lambda push: answers.pop(0)
    room = Room(start(services.settings()))
    ana, bob = await room.come("ana"), await away(room, "bob", phone("apns", APNS_TOKEN))
    await say(ana, (await talk(ana, bob))["id"])
    first, second = await sent(services, "apns", 2)
    assert first.headers == second.headers and first.json == second.json
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first.headers["apns-id"])


async def test_servers_share_the_token_for_apns_and_one_goes_on_where_another_was_killed(start, services):
    redis = start.redis()
    first, second = [start(services.settings(), redis=redis, shards=1) for _ in range(2)]
    room = Room(second)
    ana, bob = await room.come("ana"), await away(room, "bob", phone("apns", APNS_TOKEN))
    await say(ana, (await talk(ana, bob))["id"])
    before, = await sent(services, "apns")
    report = run("doctor", "--redis", redis.url, "--config", first.command[first.command.index("--config") + 1])
    assert report.returncode == 0, report.stdout + report.stderr
    sender = first if await API(first).metric("presence_pushes_sent_total") else second
    sender.kill()
    room.leave()
    room = Room(second if sender is first else first)
    dan, eve = await room.come("dan"), await away(room, "eve", phone("apns", "ab" * 32))
    await say(dan, (await talk(dan, eve))["id"])
    _, after = await sent(services, "apns", 2)
    assert after.token == "ab" * 32 and after.headers["authorization"] == before.headers["authorization"]


# Both, and neither


async def test_each_platform_gets_its_own_and_a_webhook_is_told_too(start, services, tmp_path):
    receiver = Receiver(tmp_path)
    room = Room(start(services.settings(webhooks=[receiver.endpoint("push.due")])))
    ana, bob, cy = await room.come("ana"), await away(room, "bob", phone("apns", APNS_TOKEN)), await away(room, "cy", phone("fcm", "c"))
    await say(ana, (await group(ana, bob, cy))["id"], "hi")
    assert (await sent(services, "apns"))[0].token == APNS_TOKEN and (await sent(services, "fcm"))[0].token == "c"
    await eventually(lambda: len(receiver.calls) == 2, "both are told of", within=LONG)
    assert sorted(call.data["devices"][0]["platform"] for call in receiver.calls) == ["apns", "fcm"]
    answer = await CheckedAPI(room.server).request("PUT", DEVICE, {"pushToken": "no-hex", "platform": "apns"}, token=room.token("bob"))
    assert answer.status == 422 and answer.json["field"] == "pushToken", answer
    receiver.close()


async def test_a_service_whose_certificate_is_not_trusted_gets_nothing(start, services):
    room = Room(start(services.settings(**{"push.caFile": ""})))
    ana, bob, cy = await room.come("ana"), await away(room, "bob", phone("apns", APNS_TOKEN)), await away(room, "cy", phone("fcm", "c"))
    await say(ana, (await group(ana, bob, cy))["id"], "hi")
    await metric(room.server, "push_failures_total", 2)
    await room.server.wait_for_log("untrusted", times=2)
    assert not services.pushes and not services.grants


async def test_neither_keys_nor_tokens_nor_texts_are_in_the_log(start, services):
    services.apns = services.fcm = lambda push: (500, {"reason": "InternalServerError"})
    room = Room(start(services.settings(logLevel="trace")))
    ana, bob, cy = await room.come("ana"), await away(room, "bob", phone("apns", APNS_TOKEN)), await away(room, "cy", phone("fcm", "hidden-c"))
    await say(ana, (await group(ana, bob, cy))["id"], "hidden-text")
    await metric(room.server, "push_failures_total", 2)
    await room.server.wait_for_log("push not taken", times=2)
    log = room.server.whole_log()
    used = services.of("apns")[0].headers["authorization"].partition(" ")[2]
    for secret in (APNS_TOKEN, "hidden", "access-1", used, used.split(".")[1], "PRIVATE KEY"):
        assert secret not in log, secret


def test_what_cannot_be_configured_is_said_at_the_start_without_any_key(services, tmp_path):
    keys = services.keys
    everything = keys.everything
    exposed, other, odd = tmp_path / "exposed.p8", tmp_path / "other.p8", tmp_path / "odd.json"
    exposed.write_text(open(keys.apns).read())
    exposed.chmod(0o644)
    other.write_text(open(keys.fcm).read())
    account = json.load(open(keys.account))
    for path in (other, odd):
        path.touch()
        path.chmod(0o600)
    cases = [
        ({"push.apns.keyFile": str(exposed)}, "push.apns.keyFile: ", "can be read by every user"),
        ({"push.apns.keyFile": str(tmp_path / "missing")}, "push.apns.keyFile: ", "cannot be read"),
        ({"push.apns.keyFile": str(other)}, "push.apns.keyFile: ", "is not a private key for ES256"),
        ({"push.apns.keyID": "short"}, "push.apns.keyID: must be 10 capital letters and digits"),
        ({"push.apns.teamID": ""}, "push.apns.teamID: must be 10 capital letters and digits"),
        ({"push.apns.topic": "a b"}, "push.apns.topic: must be the app's bundle id"),
        ({"push.apns.url": "http://example.org"}, "push.apns.url: must be https://"),
        ({"push.fcm.url": "https://example.org?a=b"}, "push.fcm.url: must be https://"),
        ({"push.caFile": str(tmp_path / "missing")}, "push.caFile: ", "cannot be read"),
        ({"push.fcm.serviceAccountFile": str(other)}, "is not a service account's key"),
        ({"push.fcm.serviceAccountFile": account | {"token_uri": "http://example.org"}}, "has a token_uri"),
        ({"push.fcm.serviceAccountFile": account | {"project_id": "a/b"}}, "is not a service account's key"),
        ({"push.fcm.serviceAccountFile": account | {"private_key": "none"}}, "is not a private key for RS256"),
    ]
    for changes, *said in cases:
        settings = everything | changes
        found = settings.get("push.fcm.serviceAccountFile")
        if isinstance(found, dict):
            odd.write_text(json.dumps(found))
            settings["push.fcm.serviceAccountFile"] = str(odd)
        file = tmp_path / "bad.yaml"
        tree = {"push": {}}
        for key, value in settings.items():
            *path, last = key.split(".")
            node = tree
            for part in path:
                node = node.setdefault(part, {})
            node[last] = value
        file.write_text(json.dumps(tree) + "\n")
        answer = subprocess.run(
            [BINARY, "serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--config", str(file)],
            capture_output=True, text=True, timeout=60)
        assert answer.returncode == 78 and all(each in answer.stderr for each in said), (changes, answer.stderr)
        assert "PRIVATE" not in answer.stderr, changes
