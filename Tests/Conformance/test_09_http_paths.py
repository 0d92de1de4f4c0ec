"""Ids in HTTP paths: a request concerns exactly the given id, whatever it looks like."""

import asyncio
import json
import re
from urllib.parse import quote

import pytest

from support.patience import PATIENCE
from support.raw import RawSocket

# Ids with another meaning after normalising or decoding twice; `{}` is the victim's id.
LOOKALIKES = [
    "x/../{}", "../{}", "./{}", "/{}", "//{}", "{}/", "{}/.", "{}/x/..", "x//../{}", "{}//", "../users/{}",
    "../../v1/users/{}", "x%2F..%2F{}", "%2e%2e/{}", "{}%00", "{}%20", "{}+", "\\..\\{}", "{}?x", "{}#x", "{};x",
    "{}&x=1", "{}/profile", "{}/disconnect", "{}/participants",
]
WITHOUT_VICTIM = ["..", ".", "/", "//", "a//b", "../..", "get", "profile", "%", "%zz", "+", "a+b", "a%2Fb", "a%252Fb",
                  "?", "#"]

NO_IDS = ["", "%0A", "%00", "%0D%0A", "bob%0A", "%7F", "%20", "a%20b", "%C3%A9", "%c3%28", "%FF", "x" * 129,
          "%2F" * 129]
NO_ESCAPES = ["%", "%2", "%zz", "bob%", "%%41", "%+1", "%-1", "%0x", "%g0", "%0g", "x%2F..%2", "%C3%A"]

CALLS = [
    ("GET", "/v1/users/{}", None), ("PATCH", "/v1/users/{}/profile", {"displayName": "Eve"}),
    ("POST", "/v1/users/{}/disconnect", None),
    ("PUT", "/v1/conversations/{}/participants", {"participants": ["a", "b"]}),
    ("DELETE", "/v1/conversations/{}/participants", None)]


def encodings(id):
    """The ways to write an id in a path: as little as possible, and everything, in both cases."""
    everything = "".join(f"%{byte:02X}" for byte in id.encode())
    return [quote(id, safe=""), everything, everything.lower()]


def is_error(answer, status, code, field=None):
    assert answer.status == status, f"{answer} instead of {status}"
    assert answer.json["type"] == "error" and answer.json["code"] == code, answer
    assert answer.json.get("field") == field, answer


async def read(room, *people):
    """Requests users in a body, where nothing is encoded."""
    answer = await room.api.request("POST", "/v1/users/get", {"users": list(people)}, token=room.backend)
    assert answer.status == 200, answer
    return {person["user"]: person for person in answer.json["users"]}


async def send(room, method, target, body=None, ahead=b""):
    """Sends a request with exactly these bytes as its target, and returns the status of the last answer."""
    raw = await RawSocket(room.server).dial()
    data = b"" if body is None else json.dumps(body).encode()
    target = target if isinstance(target, bytes) else target.encode()
    head = f" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.backend}\r\nContent-Length: {len(data)}\r\n"
    try:
        await raw.write(ahead + method.encode() + b" " + target + head.encode() + b"Connection: close\r\n\r\n" + data)
        said = await asyncio.wait_for(raw.reader.read(), PATIENCE)
    finally:
        raw.abort()
    statuses = re.findall(rb"HTTP/1\.[01] (\d{3})", said)
    return int(statuses[-1]) if statuses else None


@pytest.mark.parametrize("lookalike", LOOKALIKES + WITHOUT_VICTIM, ids=ascii)
async def test_the_one_who_is_named_is_read(room, lookalike):
    for place in encodings(lookalike.format(room.name("bob"))):
        answer = await room.api.request("GET", f"/v1/users/{place}", token=room.backend)
        assert answer.status == 200 and answer.json["user"] == lookalike.format(room.name("bob")), answer


@pytest.mark.parametrize("lookalike", LOOKALIKES, ids=ascii)
async def test_the_one_who_is_named_gets_the_profile(room, lookalike):
    bob, other = room.name("bob"), lookalike.format(room.name("bob"))
    await room.api.request("PATCH", f"/v1/users/{bob}/profile", {"displayName": "Bob"}, token=room.backend)
    before = await read(room, bob)
    for number, place in enumerate(encodings(other)):
        change = {"displayName": f"Not Bob {number}"}
        answer = await room.api.request("PATCH", f"/v1/users/{place}/profile", change, token=room.backend)
        assert answer.status == 200, answer
        assert (await read(room, other))[other]["profile"] == answer.json["profile"]
        assert answer.json["profile"]["displayName"] == f"Not Bob {number}"
    assert await read(room, bob) == before


@pytest.mark.parametrize("lookalike", LOOKALIKES, ids=ascii)
async def test_the_one_who_is_named_is_disconnected(room, lookalike):
    bob = await room.come("bob")
    other = lookalike.format(bob.user)
    place = encodings(other)
    for each in place:
        client = await room.socket()
        await client.connect(room.server.mint.token(other))
        answer = await room.api.request("POST", f"/v1/users/{each}/disconnect", token=room.backend)
        assert answer.status == 200 and answer.json == {"disconnected": 1}, answer
        await client.closed(4006)
    assert (await bob.truth(bob))["status"] == "online"


@pytest.mark.parametrize("lookalike", [each for each in LOOKALIKES if "users" not in each] +
                         ["../conversations/{}", "x/../../conversations/{}"], ids=ascii)
async def test_the_conversation_that_is_named_is_changed_and_ended(room, lookalike):
    ana, bob, cy = await room.come("ana"), await room.come("bob"), await room.come("cy")
    talk = (await ana.did("createConversation", participants=[bob.user]))["conversation"]["id"]
    other = lookalike.format(talk)
    for place in encodings(other):
        place = f"/v1/conversations/{place}/participants"
        answer = await room.api.request("PUT", place, {"participants": [bob.user, cy.user]}, token=room.backend)
        assert answer.status == 200 and answer.json["conversation"]["id"] == other, answer
        await cy.watch_typing(other)
        await cy.refused("forbidden", "subscribe", conversations=[talk])
        answer = await room.api.request("DELETE", place, token=room.backend)
        assert answer.status == 204, answer
        await cy.refused("forbidden", "typing", conversation=other, typing=True)
    await ana.types(talk)


CLIMBING = [
    "/v1/users/x/../{}/profile", "/v1/users/x/%2E%2E/{}/profile", "/v1/users/./{}/profile", "/v1/users//{}/profile",
    "//v1/users/{}/profile", "/v1//users/{}/profile", "/./v1/users/{}/profile", "/x/../v1/users/{}/profile",
    "/v1/conversations/../users/{}/profile", "/v1/conversations/..%2Fusers%2F{}/profile", "/v1%2Fusers%2F{}%2Fprofile",
    "/v1%2Fusers/{}/profile", "/v1/users/{}%2Fprofile", "/v1/users%2F{}/profile", "/v1/users/{}/profile/",
    "/v1/users/{}/x/../profile", "/v1/users/{}//profile",
    "/v1/users/{}/./profile", "/v1/users/{}/profile/.", "/%2e%2e/v1/users/{}/profile"]


@pytest.mark.parametrize("place", CLIMBING)
async def test_no_path_leads_to_another(room, place):
    bob = room.name("bob")
    await room.api.request("PATCH", f"/v1/users/{bob}/profile", {"displayName": "Bob"}, token=room.backend)
    before = await read(room, bob)
    status = await send(room, "PATCH", place.format(bob), {"displayName": "Eve"})
    # One of them names another user, at a path that allows no change.
    assert status == (405 if place == "/v1/users/{}%2Fprofile" else 404), status
    assert await read(room, bob) == before


@pytest.mark.parametrize("id", NO_IDS, ids=lambda id: ascii(id)[:24])
async def test_a_malformed_id_is_rejected(room, id):
    for method, place, body in CALLS:
        answer = await room.api.request(method, place.format(id), body, token=room.backend)
        is_error(answer, 400, "validation_failed", "id")


@pytest.mark.parametrize("id", [b"\xc3\xa9", b"\xff", b"bob\x01", b"bob\x7f"], ids=ascii)
async def test_bytes_that_have_no_place_in_a_path_are_refused(room, id):
    assert await send(room, "GET", b"/v1/users/" + id) == 400


@pytest.mark.parametrize("id", NO_ESCAPES)
async def test_a_percent_that_encodes_nothing_is_refused(room, id):
    for method, place, body in CALLS:
        answer = await room.api.request(method, place.format(id), body, token=room.backend)
        is_error(answer, 400, "bad_request")


@pytest.mark.parametrize("line_break, status", [("%0A", 400), ("%0D%0A", 400), ("%20HTTP%2F1.1%0D%0A", 400),
                                                ("%20HTTP/1.1%0D%0A", 404)])
async def test_no_header_comes_out_of_a_path(room, line_break, status):
    place = f"/v1/users/bob{line_break}Authorization:%20Bearer%20{room.backend}{line_break}X:%20"
    answer = await room.api.request("GET", place)
    is_error(answer, status, *(("validation_failed", "id") if status == 400 else ("not_found",)))


@pytest.mark.parametrize("query", ["", "x", "x=1/2", "x=%2F..%2F", "..", "/../../v1/users/eve", "?"])
async def test_a_query_is_no_part_of_the_id(room, query):
    answer = await room.api.request("GET", f"/v1/users/{room.name('bob')}?{query}", token=room.backend)
    assert answer.status == 200 and answer.json["user"] == room.name("bob"), answer


@pytest.mark.parametrize("query", ["%", "x=%zz", "%2", "x=%00", "x=%0A", "%0D%0AX:%20"])
async def test_a_malformed_query_is_passed_over(room, query):
    assert await send(room, "GET", f"/v1/users/{room.name('bob')}?{query}") == 200


@pytest.mark.parametrize("lookalike", ["x/../{}", "//{}", "{}/."])
async def test_a_later_request_of_a_connection_is_as_exact(room, lookalike):
    """Sent with the first in one piece, and once that is answered."""
    bob = room.name("bob")
    await room.api.request("PATCH", f"/v1/users/{bob}/profile", {"displayName": "Bob"}, token=room.backend)
    before = await read(room, bob)
    target = f"/v1/users/{quote(lookalike.format(bob), safe='')}/profile"
    first = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    await send(room, "PATCH", target, {"displayName": "Eve"}, ahead=first)
    raw = await room.dial()
    await raw.write(first)
    await asyncio.wait_for(raw.reader.readuntil(b'{"status":"ok"}'), PATIENCE)
    body = b'{"displayName":"Eve"}'
    head = f"PATCH {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {room.backend}\r\n"
    await raw.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await asyncio.wait_for(raw.reader.read(), PATIENCE)
    assert await read(room, bob) == before
