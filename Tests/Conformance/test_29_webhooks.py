"""Webhooks: signed, delivered at least once whatever dies, retried, bounded, and harmless without a receiver."""

import asyncio
import json
import subprocess
import threading
import time

import pytest

from support.accounts import ON, Accounts
from support.api import API
from support.patience import PATIENCE, eventually
from support.programs import library
from support.receiver import Receiver, Secret
from support.room import Room
from support.server import BINARY, run
from support.talks import group, say, talk

LONG = 4 * PATIENCE


@pytest.fixture
def receive(tmp_path):
    """Makes receivers that end with the test."""
    made = []

    def make(*arguments, **options):
        made.append(Receiver(tmp_path, *arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def settings(*endpoints, **others):
    return {"webhooks": list(endpoints), "partitions": 8, "linger": 1_000, "lease": 6_000} | others


def console(server, *arguments):
    """The output of `presenced webhooks` with the settings of a server."""
    place = ["--data-dir", server.directory]
    if "--config" in server.command:
        place += ["--config", server.command[server.command.index("--config") + 1]]
    if server.redis:
        place += ["--redis", server.redis.url]
    return run("webhooks", *arguments, *place)


def listed(server):
    answer = console(server, "list", "--json")
    assert answer.returncode == 0, answer.stderr
    return [json.loads(line) for line in answer.stdout.splitlines()]


async def told(receiver, *types, count=1, within=LONG):
    await eventually(lambda: len(receiver.of(*types)) >= count, f"{count} of {types}", within=within)
    return receiver.of(*types)


# Events


async def test_messages_are_told_as_members_see_them_whole_and_in_their_order(start, receive):
    receiver = receive()
    room = Room(start(settings(receiver.endpoint("message.created", "message.changed"))))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    sent = [await say(ana, id, f"Ünïcode \"{number}\"\n") for number in range(12)]
    calls = await told(receiver, "message.created", count=12)
    assert [call.data for call in calls] == [{"conversation": id, "message": message} for message in sent]
    assert len({call.id for call in calls}) == 12
    assert all(time.strptime(call.json["timestamp"], "%Y-%m-%dT%H:%M:%SZ") for call in calls)
    edited = (await ana.did("editMessage", conversation=id, message=sent[0]["id"], text="other"))["message"]
    deleted = (await ana.did("deleteMessage", conversation=id, message=sent[1]["id"]))["message"]
    calls = await told(receiver, "message.changed", count=2)
    assert [call.data["message"] for call in calls] == [edited, deleted]
    # The same send again is not another message, and nothing else was requested.
    assert await say(ana, id, f"Ünïcode \"{3}\"\n", sent[3]["id"]) == sent[3]
    await say(ana, id, "last")
    await told(receiver, "message.created", count=13)
    assert len(receiver.calls) == 15


async def test_people_are_told_as_they_come_and_go_and_not_in_between(start, receive):
    receiver = receive()
    room = Room(start(settings(receiver.endpoint("user.online", "user.offline"))))
    ana = await room.come("ana")
    call, = await told(receiver, "user.online")
    assert call.data["user"] == ana.user and call.data["presence"]["status"] == "online"
    await ana.did("status", status="busy")
    phone = await room.come("ana", "phone")
    await ana.close()
    await phone.close()
    call, = await told(receiver, "user.offline")
    assert call.data["user"] == ana.user and call.data["presence"]["status"] == "offline"
    assert call.data["presence"]["lastSeen"] > 0 and len(receiver.calls) == 2


async def test_accounts_are_told_when_they_are_made_and_deleted_here_or_at_the_console(start, receive):
    receiver = receive()
    server = start(settings(receiver.endpoint(), **ON))
    ana = await Accounts(server).sign_up()
    call, = await told(receiver, "account.created")
    assert call.data == {"user": ana.user}
    bob = await Accounts(server).sign_up()
    await told(receiver, "account.created", count=2)
    assert (await ana.call("DELETE", "/v1/me", {"password": "correct horse battery"})).status == 204
    config = server.command[server.command.index("--config") + 1]
    gone = run("user", "delete", bob.user, "--yes", "--data-dir", server.directory, "--config", config)
    assert gone.returncode == 0, gone.stderr
    calls = await told(receiver, "account.deleted", count=2)
    assert {call.data["user"] for call in calls} == {ana.user, bob.user}


async def test_notifications_are_told_once_for_each_user(start, receive):
    receiver = receive()
    room = Room(start(settings(receiver.endpoint("notification.created"))))
    users = [room.name("ana"), room.name("bob")]
    body = {"users": users, "id": "order-77", "kind": "order", "title": "Shipped", "data": {"order": 77}}
    for _ in range(2):
        answer = await room.api.request("POST", "/v1/notifications", body, token=room.backend)
        assert answer.status == 202, answer
    await room.api.request("POST", "/v1/notifications", body | {"id": "order-78"}, token=room.backend)
    calls = await told(receiver, "notification.created", count=4)
    assert sorted((call.data["user"], call.data["notification"]["id"]) for call in calls) == sorted(
        (user, id) for user in users for id in ("order-77", "order-78"))
    shown = calls[0].data["notification"]
    assert shown["seq"] == 1 and shown["title"] == "Shipped" and shown["data"] == {"order": 77} and shown["at"] > 0


async def test_each_endpoint_is_told_what_it_wants_and_a_slow_one_holds_up_no_other(start, receive):
    hold = threading.Event()
    slow, quick = receive(lambda call: 204 if hold.wait(60) else 500), receive()
    room = Room(start(settings(slow.endpoint("message.created"), quick.endpoint("message.created"))))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    for number in range(20):
        await say(ana, id, str(number))
    assert [call.data["message"]["seq"] for call in await told(quick, "message.created", count=20)] == list(range(1, 21))
    # For one conversation, the slow one has one call at a time.
    await told(slow, "message.created")
    assert len(slow.calls) == 1
    hold.set()


async def test_a_call_without_an_answer_delays_only_the_events_of_its_conversation(start, receive):
    hold = threading.Event()
    receiver = receive()
    room = Room(start(settings(receiver.endpoint("message.created"))))
    ana, bob = await room.come("ana"), await room.come("bob")
    stuck = (await talk(ana, bob))["id"]
    others = [(await group(ana, bob, name=str(number)))["id"] for number in range(20)]

    def answer(call):
        if call.data["conversation"] == stuck:
            hold.wait(14)
        return 204

    receiver.answer = answer
    for _ in range(2):
        await say(ana, stuck)
    await told(receiver, "message.created")
    began = time.time()
    for id in others + others:
        await say(ana, id)
    await told(receiver, "message.created", count=1 + 2 * len(others))
    assert time.time() - began < 10 and [call.data["conversation"] for call in receiver.calls].count(stuck) == 1
    hold.set()
    calls = await told(receiver, "message.created", count=2 + 2 * len(others))
    assert [call.data["message"]["seq"] for call in calls if call.data["conversation"] == stuck] == [1, 2]


# A receiver's verification, with the library that Standard Webhooks publishes


async def test_the_library_of_the_standard_verifies_a_call_and_refuses_a_changed_byte(start, receive, tmp_path):
    standard = library("standardwebhooks")
    receiver = receive()
    room = Room(start(settings(receiver.endpoint("message.created"))))
    ana, bob = await room.come("ana"), await room.come("bob")
    sent = await say(ana, (await talk(ana, bob))["id"], "Ünïcode \"1\"\n")
    call, = await told(receiver, "message.created")
    verifier, headers = standard.Webhook(receiver.secret.text), dict(call.headers)
    assert verifier.verify(call.body, headers)["data"]["message"] == sent

    def refused(by, body, headers):
        with pytest.raises(standard.WebhookVerificationError, match="No matching signature"):
            by.verify(body, headers)

    for place, byte in enumerate(call.body):
        refused(verifier, call.body[:place] + bytes([byte ^ 1]) + call.body[place + 1:], headers)
    refused(verifier, call.body + b" ", headers)
    refused(verifier, call.body, headers | {"webhook-id": call.id + "0"})
    refused(verifier, call.body, headers | {"webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)})
    refused(standard.Webhook(Secret(tmp_path).text), call.body, headers)


async def test_the_library_of_the_standard_verifies_with_either_of_two_secrets(start, receive, tmp_path):
    standard = library("standardwebhooks")
    receiver = receive()
    old, new, other = Secret(tmp_path), receiver.secret, Secret(tmp_path)
    both = Secret(tmp_path, texts=[new.text, old.text])
    room = Room(start(settings(receiver.endpoint("user.online") | {"secretFile": both.file})))
    await room.come("ana")
    call, = await told(receiver, "user.online")
    for secret in (old, new):
        verifier = standard.Webhook(secret.text)
        assert verifier.verify(call.body, dict(call.headers)) == call.json
        with pytest.raises(standard.WebhookVerificationError, match="No matching signature"):
            verifier.verify(call.body[:-1] + b" }", dict(call.headers))
    with pytest.raises(standard.WebhookVerificationError, match="No matching signature"):
        standard.Webhook(other.text).verify(call.body, dict(call.headers))


# Retries


@pytest.mark.parametrize("answer", [500, 302, 404, 429, None], ids=str)
async def test_what_is_not_taken_is_tried_again_with_the_same_id_and_body(start, receive, answer):
    receiver = receive()
    trouble = (answer, {"Location": receiver.url + "/other"}) if answer == 302 else answer
    receiver.answer = lambda call: trouble if len(receiver.calls) == 1 else 204
    room = Room(start(settings(receiver.endpoint("message.created"))))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    sent = await say(ana, id)
    first, second = await told(receiver, "message.created", count=2)
    assert first.id == second.id and first.body == second.body and second.data["message"] == sent
    # After 5 s, a fifth more or less.
    assert second.at - first.at > 3.9 and int(second.headers["webhook-timestamp"]) > int(first.headers["webhook-timestamp"])
    assert {call.path for call in receiver.calls} == {"/hook"}, "redirects are not followed"
    await eventually(lambda: listed(room.server)[0]["queued"] == 0, "an empty queue")
    entry, = listed(room.server)
    assert entry["sent"] == 1 and entry["failed"] == 1 and entry["lastFailureAt"] > 0
    assert entry["lastFailure"] == ("broken" if answer is None else f"status {answer}")
    assert await API(room.server).metric("presence_webhook_failures_total") == 1


async def test_a_receiver_that_wants_nothing_any_more_is_not_called_until_an_operator_says_so(start, receive):
    receiver = receive(lambda call: 410)
    room = Room(start(settings(receiver.endpoint("message.created"))))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await say(ana, id, "one")
    await eventually(lambda: listed(room.server)[0].get("offSince"), "the endpoint is off", within=LONG)
    await say(ana, id, "two")
    await eventually(lambda: listed(room.server)[0]["dropped"] == 1, "the next one is dropped", within=LONG)
    assert len(receiver.calls) == 1

    async def is_off():
        return await API(room.server).metric("presence_webhooks_off") == 1

    await eventually(is_off, "the metric says so")
    receiver.answer = lambda call: 204
    answer = console(room.server, "retry", receiver.url)
    assert answer.returncode == 0, answer.stderr
    await say(ana, id, "three")
    texts = [call.data["message"]["text"] for call in (await told(receiver, "message.created", count=3))[1:]]
    assert sorted(texts) == ["one", "three"]


async def test_an_endpoint_that_is_not_there_costs_nobody_anything_and_its_queue_is_bounded(start, receive):
    gone = receive()
    gone.close()
    room = Room(start(settings(gone.endpoint("message.created"), webhookQueue=100)))
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    for number in range(0, 150, 50):
        begun = [ana.begin("send", conversation=id, message={"id": f"m{number + each}", "text": "x"}) for each in range(50)]
        assert {answer["type"] for answer in await asyncio.gather(*begun)} == {"sent"}
    await eventually(lambda: listed(room.server)[0]["dropped"] == 50, "what is too much is dropped", within=LONG)
    await eventually(lambda: listed(room.server)[0]["failed"] > 0, "the first tries have failed", within=LONG)
    entry, = listed(room.server)
    assert entry["queued"] == 100 and entry["lastFailure"] == "unreachable"
    assert abs(entry["oldest"] - time.time() * 1000) < 120_000
    assert await API(room.server).metric("presence_webhooks_dropped_total") == 50
    assert console(room.server, "drop", gone.url).returncode == 64, "it must be said twice"
    assert console(room.server, "drop", gone.url, "--yes").stdout == "100 events\n"
    # A misspelt url has no events.
    for arguments in (["retry", gone.url + "x"], ["drop", gone.url + "x", "--yes"]):
        failed = console(room.server, *arguments)
        assert (failed.returncode, failed.stdout) == (1, "") and f"there is no endpoint {gone.url}x" in failed.stderr, failed
        assert gone.url in failed.stderr.partition(": webhooks has ")[2]
    assert listed(room.server)[0]["queued"] == 0


# Crashes


async def test_nothing_is_lost_when_the_server_is_killed_whenever_that_is(start, receive):
    receiver, redis = receive(), start.redis()
    server = start(settings(receiver.endpoint("message.created")), redis=redis)
    sent = []
    for life in range(3):
        room = Room(server)
        ana, bob = await room.come(f"ana{life}"), await room.come(f"bob{life}")
        id = (await talk(ana, bob))["id"]
        # The receiver is in the middle of it.
        receiver.answer = lambda call: time.sleep(0.05) or 204
        begun = [ana.begin("send", conversation=id, message={"id": f"{life}-{each}", "text": "x"}) for each in range(30)]
        answers = await asyncio.gather(*begun)
        sent += [(id, answer["message"]["id"]) for answer in answers]
        server.kill()
        room.leave()
        server.start()

    def missing():
        return set(sent) - {(call.data["conversation"], call.data["message"]["id"]) for call in receiver.calls}

    await eventually(lambda: not missing(), "all messages", within=60)
    # Repeated events have the same id, and the same body.
    for body in {call.id: set() for call in receiver.calls}:
        assert len({call.body for call in receiver.calls if call.id == body}) == 1
    assert len({call.id for call in receiver.calls}) == len(sent)


async def test_another_server_goes_on_where_one_was_killed(start, receive):
    receiver, redis = receive(lambda call: 500), start.redis()
    first = start(settings(receiver.endpoint("user.online")), redis=redis, shards=1)
    second = start(settings(receiver.endpoint("user.online")), redis=redis, shards=1)
    room = Room(first)
    ana = await room.come("ana")
    await told(receiver, "user.online")
    receiver.answer = lambda call: 204

    async def failing():
        return [server for server in (first, second) if await API(server).metric("presence_webhook_failures_total") > 0]

    # It has not counted the answer yet when the call arrives here.
    server = (await eventually(failing, "a server that was refused"))[0]
    server.kill()
    other = second if server is first else first
    await eventually(lambda: len(receiver.calls) >= 2, "the other one tells it", within=60)
    assert {call.id for call in receiver.calls} == {receiver.calls[0].id}
    assert receiver.calls[1].data["user"] == ana.user
    await eventually(lambda: listed(other)[0]["queued"] == 0, "an empty queue")


async def test_servers_that_share_a_redis_tell_everything_once(start, receive):
    receiver, redis = receive(), start.redis()
    servers = [start(settings(receiver.endpoint("message.created")), redis=redis, shards=2) for _ in range(2)]
    room = Room(servers[0])
    ana, bob = await room.come("ana"), await room.come("bob", at=servers[1])
    id = (await talk(ana, bob))["id"]
    for number in range(20):
        await say(ana if number % 2 else bob, id, str(number))
    calls = await told(receiver, "message.created", count=20)
    await eventually(lambda: listed(servers[0])[0]["queued"] == 0, "an empty queue")
    assert [call.data["message"]["seq"] for call in calls] == list(range(1, 21)) and len(receiver.calls) == 20
    report = run("doctor", "--redis", redis.url, "--config", servers[0].command[servers[0].command.index("--config") + 1])
    assert report.returncode == 0, report.stdout + report.stderr


# Configuration


async def test_two_secrets_both_sign_while_they_change(start, receive, tmp_path):
    receiver = receive()
    old, new = Secret(tmp_path), receiver.secret
    both = Secret(tmp_path, texts=[new.text, old.text])
    entry = receiver.endpoint("user.online") | {"secretFile": both.file}
    room = Room(start(settings(entry)))
    await room.come("ana")
    call, = await told(receiver, "user.online")
    assert old.signs(call.headers, call.body) and len(call.headers["webhook-signature"].split(" ")) == 2


def bad(tmp_path, receiver):
    """Invalid entries, and their error messages."""
    text = receiver.secret.text
    short = Secret(tmp_path, texts=["whsec_" + "AAAA"])
    none = Secret(tmp_path, texts=[text.removeprefix("whsec_")])
    exposed = Secret(tmp_path, mode=0o644)
    good = receiver.endpoint()
    return [
        ([good | {"secretFile": exposed.file}], "can be read by every user of this machine"),
        ([good | {"secretFile": str(tmp_path / "missing")}], "cannot be read"),
        ([good | {"secretFile": short.file}], "base64 of 24 to 64 bytes"),
        ([good | {"secretFile": none.file}], "must hold whsec_"),
        ([good | {"url": "http://example.org/hook"}], "must be https://"),
        ([good | {"url": "ftp://127.0.0.1/hook"}], "must be https://"),
        ([good | {"url": "https://ana:secret@example.org"}], "without user or password"),
        ([good | {"events": ["message.gone"]}], "message.gone is no event"),
        ([good | {"event": ["message.created"]}], "unknown key event"),
        ([{"url": receiver.url}], "without secretFile"),
        ([good, good], "there twice"),
        (["https://example.org"], "list of mappings"),
        ("https://example.org", "list of mappings"),
    ]


def test_what_cannot_be_configured_is_said_at_the_start_without_any_secret(receive, tmp_path):
    receiver = receive()
    for entries, said in bad(tmp_path, receiver):
        file = tmp_path / "bad.yaml"
        file.write_text("webhooks: " + json.dumps(entries) + "\n")
        answer = subprocess.run(
            [BINARY, "serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--config", str(file)],
            capture_output=True, text=True, timeout=60)
        assert answer.returncode == 78 and said in answer.stderr and "webhooks" in answer.stderr, (entries, answer.stderr)
        assert "whsec_" + "AAAA" not in answer.stderr and receiver.secret.text not in answer.stderr
        assert "ana:secret" not in answer.stderr


async def test_neither_secrets_nor_bodies_are_in_the_log(start, receive):
    receiver = receive(lambda call: 500)
    entry = receiver.endpoint() | {"url": receiver.url + "?key=hidden"}
    room = Room(start(settings(entry, logLevel="debug")))
    ana, bob = await room.come("ana"), await room.come("bob")
    await say(ana, (await talk(ana, bob))["id"], "a private word")
    await told(receiver, "message.created")
    await room.server.wait_for_log("webhook not taken")
    log = room.server.whole_log()
    for word in ("hidden", "a private word", receiver.secret.text, ana.user):
        assert word not in log


async def test_without_endpoints_nothing_is_kept(start):
    redis = start.redis()
    room = Room(start({"partitions": 8}, redis=redis))
    ana, bob = await room.come("ana"), await room.come("bob")
    await say(ana, (await talk(ana, bob))["id"])
    assert "offers" not in redis.command("KEYS", "*") and "webhook" not in redis.command("KEYS", "*")
    assert "presence_webhooks" not in (await API(room.server).request("GET", "/metrics")).body
