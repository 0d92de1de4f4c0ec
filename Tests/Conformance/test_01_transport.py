"""Transport."""

import json

import pytest
import websockets

from support import raw
from support.patience import eventually, now
from support.raw import RawSocket

SETTINGS = {"max_message_bytes": 60_000, "max_server_message_bytes": 16_384, "subscribe_batch": 1_000}


async def test_the_subprotocol_is_echoed_when_it_is_offered(room):
    client = await room.socket(subprotocols=["presence.v1"])
    assert client.socket.subprotocol == "presence.v1"


async def test_the_subprotocol_is_found_among_others(room):
    client = await room.socket(subprotocols=["presence.v9", "presence.v1"])
    assert client.socket.subprotocol == "presence.v1"


async def test_no_subprotocol_is_accepted_too(room):
    client = await room.socket(subprotocols=None)
    assert client.socket.subprotocol is None
    await client.connect(room.token("ana"))


async def test_an_unknown_subprotocol_alone_is_refused_with_400(room):
    with pytest.raises(websockets.InvalidStatusCode) as refusal:
        await room.socket(subprotocols=["chat.v1"])
    assert refusal.value.status_code == 400


@pytest.mark.parametrize("connected", [False, True], ids=["before_connect", "after_connect"])
async def test_a_binary_message_closes_with_1003(room, connected):
    client = await (room.come("ana") if connected else room.socket())
    await client.send(b'{"type":"get","id":5,"users":[]}')
    await client.closed(1003)


@pytest.mark.parametrize("payload", [b'{"type":"\xff"}', b'{"type":"\xc3', b'{"type":"\xed\xa0\x80"}', b"\xc0\xaf"],
                         ids=["stray_byte", "cut_off", "surrogate", "overlong"])
async def test_invalid_utf8_closes_with_1007(room, payload):
    socket = await room.raw("ana")
    await socket.write(raw.frame(raw.TEXT, payload))
    assert await socket.closed() == 1007


async def test_a_character_may_be_split_over_fragments(room):
    socket = await room.raw("ana")
    message = json.dumps({"type": "get", "id": 7, "users": [], "note": "ä€😀"}, ensure_ascii=False).encode()
    await socket.write(raw.frame(raw.TEXT, message[:1], final=False))
    for index in range(1, len(message)):
        await socket.write(raw.frame(raw.CONTINUATION, message[index:index + 1], final=index == len(message) - 1))
    assert (await socket.read_message())["id"] == 7


def padded(size):
    message = {"type": "get", "id": 9, "users": [], "pad": ""}
    message["pad"] = "x" * (size - len(json.dumps(message)))
    return json.dumps(message)


async def test_a_message_of_exactly_the_limit_is_read(room):
    ana = await room.come("ana")
    await ana.send(padded(60_000))
    assert (await ana.hear("users"))["id"] == 9


async def test_a_message_over_the_limit_closes_with_1009(room):
    ana = await room.come("ana")
    await ana.send(padded(60_001))
    await ana.closed(1009)


async def test_fragments_that_together_are_over_the_limit_close_with_1009(room):
    socket = await room.raw("ana")
    await socket.write(raw.frame(raw.TEXT, b'{"type":"' + b"x" * 25_000, final=False))
    await socket.write(raw.frame(raw.CONTINUATION, b"x" * 25_000, final=False))
    await socket.write(raw.frame(raw.CONTINUATION, b"x" * 25_000, final=False))
    assert await socket.closed() == 1009


@pytest.mark.parametrize("message", [
    "", " ", "hello", "{", '{"type":"get"', "[]", '[{"type":"get"}]', "null", "17", '"get"', "{}", '{"type":17}',
    '{"type":null}', '{"users":[]}', '{"type":"get","users":[]} {}', "{'type':'get'}", '{"type":"get","users":[],}',
])
async def test_a_message_that_is_not_one_object_with_a_type_is_a_bad_request(room, message):
    ana = await room.come("ana")
    await ana.send(message)
    assert (await ana.hear("error"))["code"] == "bad_request"
    assert await ana.get() == []


@pytest.mark.parametrize("number", [1, 2**31, 2**32, 2**53 - 1])
async def test_a_reply_carries_the_id_of_its_request(room, number):
    ana = await room.come("ana")
    await ana.send({"type": "get", "id": number, "users": []})
    assert (await ana.hear("users"))["id"] == number


@pytest.mark.parametrize("number", ["0", "-1", "1.5", '"7"', "9007199254740992", "true", "null", "[1]", "{}", "1e30"])
async def test_an_id_of_another_kind_is_a_bad_request_answered_without_id(room, number):
    ana = await room.come("ana")
    await ana.send(f'{{"type":"get","id":{number},"users":[]}}')
    error = await ana.hear("error")
    assert error["code"] == "bad_request" and "id" not in error
    assert await ana.get() == []


async def test_requests_are_answered_in_their_order(room):
    ana = await room.come("ana")
    requests = [
        lambda number: {"type": "updateProfile", "changes": {"displayName": f"Ana {number}"}},
        lambda number: {"type": "get", "users": []},
        lambda number: {"type": "status", "status": "auto"},
        lambda number: {"type": "subscribe", "users": [room.name(f"p{number}")]},
        lambda number: {"type": "nonsense"},
        lambda number: {"type": "createConversation", "participants": [room.name("bob")]},
        lambda number: {"type": "get", "users": [room.name("ana"), room.name(f"q{number}")]},
        lambda number: {"type": "activity", "state": "active"},
        lambda number: {"type": "unsubscribe", "users": [room.name(f"p{number}")]},
    ]
    numbers = range(100, 160)
    for number in numbers:
        await ana.send(requests[number % len(requests)](number) | {"id": number})
    await eventually(lambda: any(message.get("id") == numbers[-1] for message in ana.log), "the last reply")
    assert [message["id"] for message in ana.log if message.get("id", 0) >= 100] == list(numbers)


async def test_a_request_with_no_reply_of_its_own_is_answered_ok_with_its_id(room):
    ana = await room.come("ana")
    await ana.send({"type": "activity", "id": 77, "state": "idle"})
    assert await ana.hear("ok") == {"type": "ok", "id": 77}


async def test_without_an_id_content_and_errors_come_and_ok_does_not(room):
    ana = await room.come("ana")
    await ana.send({"type": "activity", "state": "idle"})
    await ana.send({"type": "get", "users": []})
    await ana.send({"type": "nonsense"})
    await ana.get()
    kinds = [(message["type"], message.get("id")) for message in ana.log[1:]]
    assert kinds == [("users", None), ("error", None), ("users", 2)]


async def test_connect_without_an_id_is_answered(room):
    client = await room.socket()
    await client.send({"type": "connect", "token": room.token("ana")})
    assert "id" not in await client.hear("connected")


async def test_unknown_members_are_ignored(room):
    ana = await room.come("ana", device={"id": "d", "kind": "web", "colour": "red"}, flavour={"deep": [1, {"x": None}]})
    assert (await ana.did("get", users=[], extra=1, more=True))["users"] == []
    await ana.status("busy", mood="good")
    await ana.did("updateProfile", changes={"displayName": "Ana"}, reason="why not")


async def test_an_unknown_type_is_answered_and_the_connection_stays(room):
    ana = await room.come("ana")
    for _ in range(15):
        await ana.refused("unknown_type", "nonsense", users=[])
    assert await ana.get() == []


async def test_the_types_of_the_server_are_unknown_to_it(room):
    ana = await room.come("ana")
    for kind in ("connected", "subscribed", "presence", "live", "GET", "get ", ""):
        await ana.refused("unknown_type", kind)


@pytest.mark.parametrize("text", [r"\ud800", r"\udc00", r"\ud83d.", r"\ude00\ud83d", r"x\udfff"])
async def test_lone_surrogates_are_a_bad_request(room, text):
    ana = await room.come("ana")
    await ana.send('{"type":"status","id":5,"status":"busy","text":"%s"}' % text)
    assert (await ana.hear("error"))["code"] == "bad_request"
    assert (await ana.truth(ana))["status"] == "online"


async def test_a_pair_of_surrogates_is_a_character(room):
    ana = await room.come("ana")
    await ana.send(r'{"type":"status","id":5,"status":"busy","text":"\ud83d\ude00"}')
    await ana.hear("ok")
    assert (await ana.truth(ana))["text"] == "😀"


async def test_a_long_reply_is_split_and_all_parts_but_the_last_say_more(room):
    ana = await room.come("ana")
    people = [room.name(f"someone-with-a-long-name-{number}") for number in range(900)]
    for kind, reply in (("subscribe", "subscribed"), ("get", "users")):
        whole = await ana.did(kind, users=people)
        parts = [message for message in ana.log if message["type"] == reply and message.get("id") == whole["id"]]
        assert len(parts) > 3
        assert [part.get("more", False) for part in parts] == [True] * (len(parts) - 1) + [False]
        assert sorted(person["user"] for person in whole["users"]) == sorted(people)


async def test_the_clock_is_the_servers_and_in_milliseconds(room):
    before = now()
    ana = await room.come("ana")
    assert type(ana.connected["serverTime"]) is int
    assert before - 5_000 < ana.connected["serverTime"] < now() + 5_000


BAD_IDS = ["", "x" * 129, "a b", " ", "a\tb", "a\n", "jos\u00e9", "jose\u0301", "\x7f", "\x00", "a\u202eb", "😀"]
ids = dict(argvalues=BAD_IDS, ids=[ascii(name)[1:12] for name in BAD_IDS])


@pytest.mark.parametrize("name", **ids)
async def test_an_id_that_is_not_printable_ascii_is_refused_everywhere(room, name):
    ana = await room.come("ana")
    conversation = (await ana.did("createConversation", participants=[room.name("bob")]))["conversation"]["id"]
    await ana.refused("validation_failed", "subscribe", users=[name])
    await ana.refused("validation_failed", "subscribe", users=[room.name("bob"), name])
    await ana.refused("validation_failed", "get", users=[name])
    await ana.refused("validation_failed", "createConversation", participants=[name])
    await ana.refused("validation_failed", "subscribe", conversations=[name])
    await ana.refused("validation_failed", "typing", conversation=name, typing=True)
    await ana.did("subscribe", users=[], conversations=[conversation])


@pytest.mark.parametrize("name", **ids)
async def test_a_bad_id_is_refused_in_connect(room, name):
    client = await room.socket()
    await client.refused("unauthorized", "connect", token=room.server.mint.token(name))
    client = await room.socket()
    await client.refused("validation_failed", "connect", token=room.token("ana"), device={"id": name, "kind": "web"})


async def test_ids_of_1_and_of_128_bytes_and_of_every_character_are_taken(room):
    everything = "".join(chr(code) for code in range(0x21, 0x7F))
    ana = await room.come("ana", device={"id": "!" * 128, "kind": "web"})
    people = ["~", "x" * 128, everything]
    assert [person["user"] for person in await ana.subscribe(*people)] == people
    for user in (everything, "y" * (128 - len(room.suffix)) + room.suffix):
        client = await room.socket()
        await client.connect(room.server.mint.token(user))
        assert client.user == user
        # `connected` means that it is stored, but watchers are answered with the state that their shard has received.
        await eventually(lambda: is_online(ana, user), f"{user} online")


async def is_online(client, user):
    return (await client.truth(user))["status"] == "online"


async def test_ids_are_compared_byte_by_byte(room):
    await room.come("Bob")
    ana = await room.come("ana")
    assert (await ana.truth(room.name("bob")))["status"] == "offline"
    assert (await ana.truth(room.name("Bob")))["status"] == "online"


CONTROLS = ["\x00", "\x07", "\n", "\x7f", "\x85", "\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"]


@pytest.mark.parametrize("character", CONTROLS, ids=[f"U+{ord(character):04X}" for character in CONTROLS])
async def test_free_text_has_no_control_and_no_bidirectional_control_characters(room, character):
    ana = await room.come("ana")
    # In the middle, because trimming may remove it at an end.
    assert (await ana.refused("validation_failed", "updateProfile",
                              changes={"displayName": f"A{character}B"}))["field"].endswith("displayName")
    assert (await ana.refused("validation_failed", "status", status="busy",
                              text=f"A{character}B"))["field"].endswith("text")
    assert (await ana.truth(ana))["status"] == "online"
    client = await room.socket()
    await client.refused("validation_failed", "connect", token=room.token("bob"),
                         device={"id": "d", "kind": "web", "name": f"A{character}B"})


async def test_a_frame_that_comes_byte_by_byte_is_read(room):
    socket = await room.dial()
    for byte in socket.upgrade():
        await socket.write(bytes([byte]))
    await socket.reader.readuntil(b"\r\n\r\n")
    for byte in raw.text({"type": "connect", "id": 3, "token": room.token("ana")}):
        await socket.write(bytes([byte]))
    assert (await socket.read_message())["type"] == "connected"


async def test_two_messages_in_one_segment_are_both_read(room):
    socket = await room.raw("ana")
    await socket.write(raw.text({"type": "get", "id": 2, "users": []}) + raw.text({"type": "get", "id": 3, "users": []}))
    assert [(await socket.read_message())["id"] for _ in range(2)] == [2, 3]


async def test_a_ping_is_answered_with_its_payload(room):
    socket = await RawSocket(room.server).open()
    room.open.append(socket)
    await socket.write(raw.frame(raw.PING, b"are you there"))
    opcode, payload = await socket.read_frame()
    while opcode == raw.PING:
        opcode, payload = await socket.read_frame()
    assert (opcode, payload) == (raw.PONG, b"are you there")
