"""RFC 6455, frame by frame, in the order of the cases of the Autobahn test suite (their numbers are in the names).

The server echoes nothing, so the answer to a message shows that it was read correctly. A violation ends the connection
with close code 1002, and later frames have no effect.

Over TLS libwebsockets reads the frames. Sources/WebSockets/README.md lists its differences from the server's own
reader, and each test has the expected result.
"""

import asyncio
import json
import struct

import pytest

from support import raw
from support.certificates import Authority
from support.patience import PATIENCE
from support.raw import CLOSE, CONTINUATION, PING, PONG, TEXT, frame
from support.room import Room
from support.server import Server

SETTINGS = {"max_message_bytes": 200_000}


@pytest.fixture(scope="module", params=["plain", "tls"])
def way(request, tmp_path_factory):
    """A server with or without TLS. Over TLS libwebsockets reads the frames, without TLS the server itself."""
    if request.param == "plain":
        server, context = Server(SETTINGS), None
    else:
        authority = Authority(tmp_path_factory.mktemp("tls"))
        files = authority.issue()
        server = Server(SETTINGS | {"tls.certificateFile": files[0], "tls.keyFile": files[1]})
        context = authority.trust()
    yield server, context
    server.close()


@pytest.fixture
def room(way):
    return Room(*way)


def request(number, note=""):
    return json.dumps({"type": "get", "id": number, "users": [], "note": note}, ensure_ascii=False).encode()


def padded(length):
    """A request of exactly that many bytes."""
    empty = len(request(1))
    return request(1, "*" * (length - empty))


async def answered(socket, number=1):
    reply = await socket.read_message()
    assert reply["type"] == "users" and reply["id"] == number, reply


def violation(room):
    """The expected close code. Over TLS the connection ends at once, without a close frame."""
    return None if room.tls else 1002


async def pong(socket):
    """The payload of the next pong. The server also sends pings."""
    while True:
        opcode, payload = await asyncio.wait_for(socket.read_frame(), PATIENCE)
        if opcode != PING:
            assert opcode == PONG, (opcode, payload)
            return payload


async def ends(room, violations):
    """Sends each violation on a connection of its own, all at once, and returns the close code by the name of the
    violation."""
    async def end(data):
        socket = await room.raw("ana")
        await socket.write(data)
        return await socket.closed()
    return dict(zip(violations, await asyncio.gather(*map(end, violations.values()))))


async def still_well(socket):
    await socket.write(frame(TEXT, request(99)))
    await answered(socket, 99)


# ---- 1 Framing -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("length", [80, 125, 126, 127, 128, 65_535, 65_536])
async def test_1_1_a_message_of_any_length_is_read(room, length):
    socket = await room.raw("ana")
    await socket.write(frame(TEXT, padded(length)))
    await answered(socket)


@pytest.mark.parametrize("size", [997, 1])
async def test_1_1_8_a_message_may_come_in_octets(room, size):
    socket = await room.raw("ana")
    data = frame(TEXT, padded(65_536 if size > 1 else 200))
    for start in range(0, len(data), size):
        await socket.write(data[start:start + size])
    await answered(socket)


async def test_1_1_1_an_empty_message_is_a_message(room):
    socket = await room.raw("ana")
    await socket.write(frame(TEXT, b""))
    assert (await socket.read_message())["code"] == "bad_request"
    await still_well(socket)


@pytest.mark.parametrize("length", [0, 125, 126, 65_536])
async def test_1_2_binary_messages_are_not_taken(room, length):
    socket = await room.raw("ana")
    await socket.write(frame(raw.BINARY, b"\xfe" * length))
    assert await socket.closed() == 1003


@pytest.mark.parametrize("head", [struct.pack("!BBH", 0x81, 0x80 | 126, 5), struct.pack("!BBQ", 0x81, 0x80 | 127, 5)],
                         ids=["16", "64"])
async def test_a_length_that_is_not_minimal_is_a_violation(room, head):
    socket = await room.raw("ana")
    await socket.write(head + b"\0\0\0\0" + b"{}\n\n\n")
    if room.tls:
        assert (await socket.read_message())["code"] == "bad_request"
        return await still_well(socket)
    assert await socket.closed() == 1002


async def test_a_length_with_its_first_bit_set_is_a_violation(room):
    socket = await room.raw("ana")
    await socket.write(struct.pack("!BBQ", 0x81, 0x80 | 127, 1 << 63) + b"\0\0\0\0" + b"{}\n\n\n")
    assert await socket.closed() == violation(room)


# ---- 2 Pings and pongs -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("payload", [b"", b"Hello", b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff", b"\xfe" * 125],
                         ids=["empty", "text", "binary", "125"])
async def test_2_1_a_ping_is_answered_with_its_payload(room, payload):
    socket = await room.raw("ana")
    await socket.write(frame(PING, payload))
    assert await pong(socket) == payload


async def test_2_5_a_ping_of_126_bytes_is_a_violation(room):
    socket = await room.raw("ana")
    await socket.write(frame(PING, b"\xfe" * 126))
    assert await socket.closed() == violation(room)


async def test_2_6_a_ping_may_come_in_octets(room):
    socket = await room.raw("ana")
    for byte in frame(PING, b"\xfe" * 125):
        await socket.write(bytes([byte]))
    assert await pong(socket) == b"\xfe" * 125


@pytest.mark.parametrize("payload", [b"", b"unasked"])
async def test_2_7_an_unasked_pong_is_ignored(room, payload):
    socket = await room.raw("ana")
    await socket.write(frame(PONG, payload))
    await still_well(socket)


async def test_2_10_ten_pings_are_answered_in_their_order(room):
    socket = await room.raw("ana")
    for number in range(10):
        await socket.write(frame(PING, f"payload-{number}".encode()))
        assert await pong(socket) == f"payload-{number}".encode()


async def test_2_11_ten_pings_sent_at_once_are_answered_in_their_order(room):
    socket = await room.raw("ana")
    await socket.write(b"".join(frame(PING, bytes([number])) for number in range(10)))
    if room.tls:
        # One at a time: pings that arrive while an answer is pending get none (RFC 6455, 5.5.3).
        assert await pong(socket) == bytes([0])
        return await still_well(socket)
    for number in range(10):
        assert await pong(socket) == bytes([number])
    await still_well(socket)


# ---- 3 Reserved bits, 4 opcodes --------------------------------------------------------------------------------------

async def test_3_reserved_bits_are_a_violation(room):
    violations = {
        (opcode, reserved): frame(opcode, payload, reserved=reserved) + frame(TEXT, request(2))
        for opcode, payload in ((TEXT, request(1)), (PING, b""), (CLOSE, b"")) for reserved in range(1, 8)}
    assert await ends(room, violations) == dict.fromkeys(violations, 1002)


async def test_4_reserved_opcodes_are_a_violation(room):
    violations = {
        (opcode, payload): frame(opcode, payload) + frame(PING)
        for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15) for payload in (b"", b"reserved")}
    assert await ends(room, violations) == dict.fromkeys(violations, 1002)


async def test_a_frame_that_is_not_masked_is_a_violation(room):
    if room.tls:
        socket = await room.raw("ana")
        await socket.write(frame(TEXT, request(1), masked=False))
        await answered(socket)
        return await still_well(socket)
    violations = {(opcode, payload): frame(opcode, payload, masked=False)
                  for opcode, payload in ((TEXT, request(1)), (TEXT, b""), (PING, b""), (PONG, b"x"), (CLOSE, b""))}
    assert await ends(room, violations) == dict.fromkeys(violations, 1002)


# ---- 5 Fragments -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("opcode", [PING, PONG, CLOSE], ids=["ping", "pong", "close"])
async def test_5_1_control_frames_have_no_fragments(room, opcode):
    socket = await room.raw("ana")
    await socket.write(frame(opcode, b"", final=False) + frame(CONTINUATION, b""))
    assert await socket.closed() == 1002


@pytest.mark.parametrize("together", [True, False], ids=["one_segment", "frame_by_frame"])
async def test_5_3_a_message_in_fragments_is_one_message(room, together):
    socket = await room.raw("ana")
    whole = request(1, "fragments")
    frames = [frame(TEXT, whole[:9], final=False), frame(CONTINUATION, b"", final=False), frame(CONTINUATION, whole[9:])]
    if together:
        await socket.write(b"".join(frames))
    else:
        for one in frames:
            await socket.write(one)
    await answered(socket)


async def test_5_6_a_ping_between_fragments_is_answered_meanwhile(room):
    socket = await room.raw("ana")
    whole = request(1)
    await socket.write(frame(TEXT, whole[:5], final=False) + frame(PING, b"ping"))
    assert await pong(socket) == b"ping"
    await socket.write(frame(CONTINUATION, whole[5:]))
    await answered(socket)


@pytest.mark.parametrize("final", [True, False])
async def test_5_9_a_continuation_of_nothing_is_a_violation(room, final):
    socket = await room.raw("ana")
    await socket.write(frame(CONTINUATION, request(1), final=final) + frame(TEXT, request(2)))
    assert await socket.closed() == 1002


async def test_5_18_a_second_beginning_is_a_violation(room):
    socket = await room.raw("ana")
    await socket.write(frame(TEXT, request(1)[:4], final=False) + frame(TEXT, request(1)[4:]))
    assert await socket.closed() == 1002


async def test_5_19_many_fragments_with_pings_between(room):
    socket = await room.raw("ana")
    whole = request(1, "0123456789" * 5)
    pieces = [whole[start:start + 10] for start in range(0, len(whole), 10)]
    for number, piece in enumerate(pieces):
        await socket.write(frame(TEXT if number == 0 else CONTINUATION, piece, final=number == len(pieces) - 1))
        if number < len(pieces) - 1:
            await socket.write(frame(PING, bytes([number])))
            assert await pong(socket) == bytes([number])
    await answered(socket)


# ---- 6 UTF-8 ---------------------------------------------------------------------------------------------------------

VALID = {
    "kosme": "κόσμε", "two": "\u0080", "three": "\u0800", "four": "\U00010000", "last_one": "\x7f", "last_two": "\u07ff",
    "last_three": "\uffff", "last": "\U0010ffff", "before_surrogates": "\ud7ff", "after_surrogates": "\ue000",
    "replacement": "\ufffd", "noncharacters": "\ufffe\ufdd0\U0001fffe",
}
INVALID = {
    "continuation": b"\x80", "continuation_last": b"\xbf", "continuations": b"\x80\xbf\x80\xbf", "lonely_two": b"\xc3 ",
    "lonely_three": b"\xe0 ", "lonely_four": b"\xf0 ", "cut_three": b"\xe0\x80", "cut_four": b"\xf0\x80\x80",
    "impossible_fe": b"\xfe", "impossible_ff": b"\xff", "overlong_slash_2": b"\xc0\xaf", "overlong_slash_3": b"\xe0\x80\xaf",
    "overlong_slash_4": b"\xf0\x80\x80\xaf", "overlong_max_2": b"\xc1\xbf", "overlong_max_3": b"\xe0\x9f\xbf",
    "overlong_max_4": b"\xf0\x8f\xbf\xbf", "overlong_zero": b"\xc0\x80", "surrogate_high": b"\xed\xa0\x80",
    "surrogate_high_last": b"\xed\xaf\xbf", "surrogate_low": b"\xed\xb0\x80", "surrogate_low_last": b"\xed\xbf\xbf",
    "surrogate_pair": b"\xed\xa0\x80\xed\xb0\x80", "beyond": b"\xf4\x90\x80\x80", "five": b"\xf8\x88\x80\x80\x80",
    "six": b"\xfc\x84\x80\x80\x80\x80",
}


@pytest.mark.parametrize("note", VALID.values(), ids=VALID)
async def test_6_valid_text_is_read_however_it_is_cut(room, note):
    socket = await room.raw("ana")
    whole = request(1, note)
    if note == "\x7f":
        whole = whole.replace(b"\x7f", b"x\x7f")
    await socket.write(frame(TEXT, whole))
    await answered(socket)
    for number, byte in enumerate(whole):
        await socket.write(frame(TEXT if number == 0 else CONTINUATION, bytes([byte]), final=number == len(whole) - 1))
    await answered(socket)


@pytest.mark.parametrize("note", INVALID.values(), ids=INVALID)
async def test_6_invalid_text_closes_with_1007(room, note):
    socket = await room.raw("ana")
    await socket.write(frame(TEXT, request(1, "@").replace(b"@", b"\xce\xba" + note)))
    assert await socket.closed() == 1007


# ---- 7 Closing -------------------------------------------------------------------------------------------------------

def goodbye(code=None, reason=b""):
    return frame(CLOSE, b"" if code is None else struct.pack("!H", code) + reason)


async def test_7_1_what_comes_after_a_close_is_ignored(room):
    socket = await room.raw("ana")
    await socket.write(goodbye(1000) + frame(PING) + frame(TEXT, request(1)))
    opcode, payload = await asyncio.wait_for(socket.read_frame(), PATIENCE)
    assert (opcode, payload[:2]) == (CLOSE, struct.pack("!H", 1000))
    assert await socket.closed() is None


@pytest.mark.parametrize("code", [None, 1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999,
                                  4000, 4999])
async def test_7_7_a_close_is_answered_by_a_close_with_its_code(room, code):
    socket = await room.raw("ana")
    await socket.write(goodbye(code, b"" if code is None else b"a reason"))
    opcode, payload = await asyncio.wait_for(socket.read_frame(), PATIENCE)
    if room.tls and code in (1012, 1013, 1014):
        code = 1002
    assert opcode == CLOSE and payload[:2] == (b"" if code is None else struct.pack("!H", code))
    assert await socket.closed() is None


async def test_7_3_6_a_close_of_126_bytes_is_a_violation(room):
    socket = await room.raw("ana")
    await socket.write(goodbye(1000, b"*" * 124))
    assert await socket.closed() == violation(room)


async def test_7_3_a_close_of_one_byte_ends_it(room):
    socket = await room.raw("ana")
    await socket.write(frame(CLOSE, b"\x03"))
    assert await socket.closed() == 1002


async def test_7_9_a_close_with_a_reserved_code_is_a_violation(room):
    violations = {code: goodbye(code) for code in (0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65_535)}
    assert await ends(room, violations) == dict.fromkeys(violations, 1002)


@pytest.mark.parametrize("reason", [b"\xff", b"fine \xed\xa0\x80", b"\xc3"])
async def test_7_5_a_close_whose_reason_is_not_utf8_is_a_violation(room, reason):
    socket = await room.raw("ana")
    await socket.write(goodbye(1000, reason))
    assert await socket.closed() == 1007


# ---- 9 Limits --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fragment", [64, 1_024, 65_536])
async def test_9_a_large_message_in_fragments_of_any_size_is_read(room, fragment):
    socket = await room.raw("ana")
    whole = padded(131_072)
    frames = []
    for start in range(0, len(whole), fragment):
        frames.append(frame(TEXT if start == 0 else CONTINUATION, whole[start:start + fragment],
                            final=start + fragment >= len(whole)))
    await socket.write(b"".join(frames))
    await answered(socket)


async def test_9_7_a_thousand_small_messages_are_all_answered_in_their_order(room):
    socket = await room.raw("ana")
    await socket.write(b"".join(frame(TEXT, request(number)) for number in range(1, 1_001)))
    for number in range(1, 1_001):
        await answered(socket, number)
