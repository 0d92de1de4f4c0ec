"""Checks before a message is stored: by the operator's server, whatever it answers, and by a list of words."""

import asyncio
import json
import signal
import threading

import pytest

from support.accounts import CheckedAPI
from support.patience import PATIENCE, eventually
from support.receiver import Receiver
from support.room import Room
from support.server import run
from support.settings import text as yaml
from support.talks import fresh, hears, follow, pair, say, talk

SETTINGS = {"linger": 5_000, "lease": 6_000, "partitions": 8}
ALLOW = {"action": "allow"}


def body(value):
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


@pytest.fixture
def hook(tmp_path):
    """Makes hook servers that end with the test; `answer` is called with each call."""
    made = []

    def make(answer=lambda call: body(ALLOW), **options):
        made.append(Receiver(tmp_path, answer, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def settings(hook, **others):
    return SETTINGS | {
        "hooks.beforeMessage.url": hook.url, "hooks.beforeMessage.secretFile": hook.secret.file} | others


def by_text(answers):
    """Answers by the text of the message; every other one is allowed."""
    return lambda call: answers.get(call.data["message"]["text"], body(ALLOW))


async def refused(client, conversation, text, message=None):
    error = await client.refused(
        "refused", "send", conversation=conversation, message={"id": message or fresh(), "text": text})
    return error.get("reason")


async def texts(client, conversation):
    page = await client.did("getMessages", conversation=conversation)
    return [message["text"] for message in page["messages"]]


# The answers


async def test_a_text_is_stored_refused_or_replaced_as_the_server_answers(start, hook):
    server = hook(by_text({
        "spam": body({"action": "refuse", "reason": "No advertising “here”."}), "rude": body({"action": "refuse"}),
        "damn": body({"action": "replace", "text": "d***\n"})}))
    ana, bob, id = await pair(Room(start(settings(server))))
    await follow(bob, id)
    assert (await say(ana, id, "hello"))["text"] == "hello"
    assert await refused(ana, id, "spam") == "No advertising “here”."
    assert await refused(ana, id, "rude") is None
    replaced = await say(ana, id, "damn")
    assert replaced["text"] == "d***\n" and replaced["seq"] == 2
    assert [event["message"]["text"] for event in await hears(bob, id, 2)] == ["hello", "d***\n"]
    assert await texts(bob, id) == ["hello", "d***\n"]
    assert [call.type for call in server.calls] == ["message.before"] * 4
    assert server.calls[0].data["message"].keys() == {"id", "from", "text"}
    assert server.calls[0].data["conversation"] == id and server.calls[0].data["message"]["from"] == ana.user


async def test_edits_are_asked_about_too(start, hook):
    server = hook(by_text({
        "spam": body({"action": "refuse", "reason": "No."}), "damn": body({"action": "replace", "text": "d***"})}))
    ana, bob, id = await pair(Room(start(settings(server))))
    sent = await say(ana, id, "hello")
    error = await ana.refused("refused", "editMessage", conversation=id, message=sent["id"], text="spam")
    assert error["reason"] == "No."
    for _ in range(2):
        edited = (await ana.did("editMessage", conversation=id, message=sent["id"], text="damn"))["message"]
        assert edited["text"] == "d***" and edited["editCount"] == 1
    assert await texts(bob, id) == ["d***"]
    assert [call.data.get("edit") for call in server.calls] == [None, True, True]


async def test_attachments_and_priority_are_shown_and_backends_are_asked_about(start, hook):
    server = hook(by_text({"spam": body({"action": "refuse", "reason": "No."})}))
    room = Room(start(settings(server)))
    ana, bob, id = await pair(room)
    attachment = {"id": "a", "kind": "file", "url": "https://example.org/a", "sizeBytes": 1}
    await say(ana, id, "", more={"attachments": [attachment], "priority": {"reason": "now"}})
    assert server.calls[0].data["message"]["attachments"] == [attachment]
    assert server.calls[0].data["message"]["priority"] == {"reason": "now"}
    api = CheckedAPI(room.server)
    place = f"/v1/conversations/{id}/messages"
    for text, status in (("hello", 200), ("spam", 403)):
        answer = await api.request(
            "POST", place, {"from": bob.user, "message": {"id": fresh(), "text": text}}, token=room.backend)
        assert answer.status == status, answer
    assert answer.json["code"] == "refused" and answer.json["reason"] == "No."
    assert [call.data.get("backend") for call in server.calls] == [None, True, True]


async def test_only_texts_that_would_be_stored_are_asked_about(start, hook):
    server = hook()
    room = Room(start(settings(server)))
    ana, bob, id = await pair(room)
    eve = await room.come("eve")
    await eve.refused("forbidden", "send", conversation=id, message={"id": fresh(), "text": "hello"})
    await bob.did("block", users=[ana.user])
    await ana.refused("forbidden", "send", conversation=id, message={"id": fresh(), "text": "hello"})
    assert not server.calls


# Failures


NONSENSE = {
    "status": 204, "failure": 500, "empty": (200, {}, b""), "text": (200, {}, b"yes"), "list": body([]),
    "action": body({"action": "perhaps"}), "kind": body({"action": 1}), "none": body({"action": "replace"}),
    "long": body({"action": "replace", "text": "x" * 5_001}), "control": body({"action": "replace", "text": "\x00"}),
    "blank": body({"action": "replace", "text": ""}), "huge": (200, {}, b'{"action":"allow"}' + b" " * 200_000),
    "redirect": (307, {"Location": "/elsewhere"}), "cut": None,
}


@pytest.mark.parametrize("then", ["allow", "refuse"])
async def test_nonsense_is_a_failure(start, hook, then):
    server = hook(lambda call: NONSENSE[call.data["message"]["text"]])
    ana, bob, id = await pair(Room(start(settings(server, **{"hooks.beforeMessage.onFailure": then}))))
    for text in NONSENSE:
        if then == "allow":
            assert (await say(ana, id, text))["text"] == text
        else:
            assert await refused(ana, id, text) is None
    assert await texts(bob, id) == (list(NONSENSE) if then == "allow" else [])
    assert {call.path for call in server.calls} == {"/hook"}


@pytest.mark.parametrize("then", ["allow", "refuse"])
async def test_a_server_that_is_gone_is_a_failure_until_it_is_back(start, hook, then):
    server = hook()
    room = Room(start(settings(server, **{"hooks.beforeMessage.onFailure": then})))
    ana, bob, id = await pair(room)
    server.server.shutdown()
    server.server.server_close()
    message = fresh()
    if then == "allow":
        await say(ana, id, "hello", message)
    else:
        assert await refused(ana, id, "hello", message) is None
    back = hook(port=server.port)
    back.secret = server.secret
    assert (await say(ana, id, "again"))["text"] == "again"
    assert [call.data["message"]["text"] for call in back.calls] == ["again"]


async def test_a_slow_server_delays_its_senders_by_the_timeout_and_no_other_user(start, hook):
    hold = threading.Event()
    server = hook(lambda call: body(ALLOW) if hold.wait(60) else 500)
    room = Room(start(settings(server, **{"hooks.beforeMessage.timeout": "1s"})))
    ana, bob, id = await pair(room)
    eve, dan = await room.come("eve"), await room.come("dan")
    await eve.did("subscribe", users=[dan.user])
    sending = asyncio.ensure_future(say(ana, id, "slow"))
    await eventually(lambda: server.calls, "the call")
    for number in range(5):
        await dan.status("busy", text=str(number))
    assert not sending.done(), "others waited for the check"
    assert (await asyncio.wait_for(sending, PATIENCE))["text"] == "slow"
    hold.set()


async def test_a_failure_that_refuses_is_not_remembered(start, hook):
    isOver = threading.Event()
    server = hook(lambda call: body(ALLOW) if isOver.is_set() else 500)
    ana, bob, id = await pair(Room(start(settings(server, **{"hooks.beforeMessage.onFailure": "refuse"}))))
    message = fresh()
    assert await refused(ana, id, "hello", message) is None
    isOver.set()
    assert (await say(ana, id, "hello", message))["seq"] == 1
    assert server.calls[0].id == server.calls[1].id and len(server.calls) == 2


# Order, repetition, bounds


async def test_a_sender_s_messages_keep_their_order(start, hook):
    wait = threading.Event()
    server = hook(lambda call: (wait.wait(0.3) if call.data["message"]["text"] == "0" else None) or body(ALLOW))
    ana, bob, id = await pair(Room(start(settings(server))))
    sent = await asyncio.gather(*(say(ana, id, str(number)) for number in range(8)))
    assert [message["seq"] for message in sent] == list(range(1, 9))
    assert await texts(bob, id) == [str(number) for number in range(8)]


async def test_the_same_request_is_asked_about_once_on_all_connections(start, hook):
    hold = threading.Event()
    server = hook(lambda call: hold.wait(60) and body({"action": "replace", "text": "other"}))
    room = Room(start(settings(server, **{"hooks.beforeMessage.timeout": "10s"}), shards=2))
    ana, bob, id = await pair(room)
    tablets = [await room.come("ana", device={"id": f"d{number}", "kind": "tablet"}) for number in range(4)]
    message = fresh()
    sending = [asyncio.ensure_future(say(each, id, "hello", message)) for each in [ana, *tablets]]
    await eventually(lambda: server.calls, "the call")
    await asyncio.sleep(0.2)
    hold.set()
    sent = await asyncio.gather(*sending)
    assert all(each == sent[0] for each in sent) and sent[0]["text"] == "other"
    # Once it is stored, it is known, also with another answer.
    assert await say(tablets[0], id, "hello", message) == sent[0]
    await bob.close()
    assert len(server.calls) == 1, [call.id for call in server.calls]


async def test_a_refusal_is_remembered(start, hook):
    server = hook(lambda call: body({"action": "refuse", "reason": "No."}))
    ana, bob, id = await pair(Room(start(settings(server))))
    message = fresh()
    assert [await refused(ana, id, "spam", message) for _ in range(3)] == ["No."] * 3
    assert len(server.calls) == 1
    # Another text with this id is another request.
    assert await refused(ana, id, "more", message) == "No."
    assert len(server.calls) == 2


async def test_one_user_has_a_share_of_the_places_only(start, hook):
    hold = threading.Event()
    server = hook(lambda call: hold.wait(60) and body(ALLOW))
    room = Room(start(
        settings(server, **{"hooks.concurrent": 4, "hooks.beforeMessage.timeout": "10s"}), shards=1))
    ana, bob, id = await pair(room)
    tablet = await room.come("ana", device={"id": "tablet", "kind": "tablet"})
    sending = asyncio.ensure_future(say(ana, id, "first"))
    await eventually(lambda: server.calls, "the first call")
    error = await tablet.refused("unavailable", "send", conversation=id, message={"id": fresh(), "text": "second"})
    assert error["retryAfter"] > 0
    other = asyncio.ensure_future(say(bob, id, "other"))
    await eventually(lambda: len(server.calls) == 2, "the call of another user")
    hold.set()
    await asyncio.gather(sending, other)
    assert (await say(tablet, id, "second"))["text"] == "second"


@pytest.mark.parametrize("then", ["allow", "refuse"])
async def test_a_text_whose_time_passes_in_the_queue_is_unavailable(start, hook, then):
    hold = threading.Event()
    server = hook(lambda call: body(ALLOW) if hold.wait(60) else 500)
    room = Room(start(settings(server, **{
        "hooks.concurrent": 1, "hooks.beforeMessage.timeout": "2s", "hooks.beforeMessage.onFailure": then}), shards=1))
    ana, bob, id = await pair(room)
    eve, dan = await room.come("eve"), await room.come("dan")
    other = (await talk(eve, dan))["id"]
    places = {"first": (ana, id), "second": (bob, id), "third": (eve, other), "fourth": (dan, other)}

    def send(text, message):
        client, conversation = places[text]
        return asyncio.ensure_future(
            client.ask("send", conversation=conversation, message={"id": message, "text": text}))

    messages = {text: fresh() for text in places}
    replies = {"first": send("first", messages["first"])}
    await eventually(lambda: server.calls, "the first call")
    replies |= {text: send(text, messages[text]) for text in places if text != "first"}
    replies = {text: await reply for text, reply in replies.items()}
    asked = {call.data["message"]["text"] for call in server.calls}
    late = [text for text, reply in replies.items() if reply.get("code") == "unavailable"]
    # There is one place, and a call takes as long as the others wait: at most one of them gets the place.
    assert len(late) >= 2 and "first" not in late
    for text, reply in replies.items():
        if text in late:
            assert reply["retryAfter"] > 0 and text not in asked, reply
        else:
            assert (reply["type"] == "sent" if then == "allow" else reply["code"] == "refused") and text in asked, reply
    hold.set()
    for text in late:
        assert (await send(text, messages[text]))["type"] == "sent"
    assert set(late) <= {call.data["message"]["text"] for call in server.calls}


# Words


async def test_blocked_words_refuse_whole_words_without_any_server(start, tmp_path):
    file = tmp_path / "words"
    file.write_text("# the list\n\nDarn\nbuy now\n禁止\n☠\n")
    ana, bob, id = await pair(Room(start(SETTINGS | {"messages.blockedWords": str(file)})))
    for text in ("darn", "Oh DARN!", "d\u200barn", "Buy\nnow", "buy, now", "これは禁止です", "x☠x", "x " * 2_000 + "darn"):
        assert await refused(ana, id, text), text
    fine = ["darned", "buy it now", "now buy", "hello", "x " * 2_000 + "y"]
    for text in fine:
        await say(ana, id, text)
    sent = await say(ana, id, "last")
    error = await ana.refused("refused", "editMessage", conversation=id, message=sent["id"], text="darn")
    assert error["reason"]
    await ana.refused(
        "refused", "send", conversation=id, message={"id": fresh(), "text": "x", "priority": {"reason": "darn"}})
    assert await texts(bob, id) == fine + ["last"]


async def test_the_list_is_read_again_and_an_unusable_one_changes_nothing(start, tmp_path):
    file = tmp_path / "words"
    file.write_text("darn\n")
    server = start(SETTINGS | {"messages.blockedWords": str(file), "auth.keyCheck": "200ms"})
    room = Room(server)
    ana, bob, id = await pair(room)
    known = await say(ana, id, "heck")
    file.write_text("heck\n")

    async def is_refused(text):
        reply = await ana.ask("send", conversation=id, message={"id": fresh(), "text": text})
        return reply["type"] == "error"

    await until(lambda: is_refused("heck"))
    await say(ana, id, "darn")
    # A message from before is known.
    assert await say(ana, id, "heck", known["id"]) == known
    file.write_bytes(b"\xff\xfe\n")
    await eventually(lambda: "blocked words not read anew" in server.whole_log(), "the log")
    assert await is_refused("heck") and not await is_refused("fine")
    file.write_text("fine\n")
    await until(lambda: is_refused("fine"))


async def until(condition):
    for _ in range(int(PATIENCE * 20)):
        if await condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not come true")


async def test_a_blocked_word_asks_no_server_and_sighup_reads_the_list(start, hook, tmp_path):
    server = hook()
    file = tmp_path / "words"
    file.write_text("darn\n")
    process = start(settings(server, **{"messages.blockedWords": str(file), "auth.keyCheck": "0s"}))
    ana, bob, id = await pair(Room(process))
    assert await refused(ana, id, "darn")
    assert not server.calls
    file.write_text("other\n")
    process.process.send_signal(signal.SIGHUP)
    for _ in range(int(PATIENCE * 20)):
        reply = await ana.ask("send", conversation=id, message={"id": fresh(), "text": "other"})
        if reply["type"] == "error":
            break
        await asyncio.sleep(0.05)
    assert reply["code"] == "refused"
    await say(ana, id, "darn")


# Settings


@pytest.mark.parametrize("key, value", [
    ("hooks.beforeMessage.url", "http://example.org/hook"), ("hooks.beforeMessage.url", "https://a:b@example.org/"),
    ("hooks.beforeMessage.secretFile", ""), ("hooks.beforeMessage.secretFile", "/nowhere"),
    ("hooks.beforeMessage.timeout", "20s"), ("hooks.beforeMessage.onFailure", "wait"), ("hooks.concurrent", 0),
    ("messages.blockedWords", "/nowhere")])
def test_wrong_settings_are_named_at_the_start(hook, key, value, tmp_path):
    file = tmp_path / "presenced.yaml"
    file.write_text(yaml(settings(hook()) | {key: value}))
    ran = run("serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--config", str(file))
    assert ran.returncode != 0 and key in ran.stderr, ran.stderr
