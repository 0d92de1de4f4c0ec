"""The server's HTTP: health, metrics, and the backends' API."""

import asyncio
import json
import random
import re

import pytest

from support.api import path
from support.patience import PATIENCE, eventually
from support.raw import RawSocket
from support.tokens import FOR_EVER

SETTINGS = {"subscribe_batch": 20, "linger": 1_000}


def is_error(answer, status, *codes):
    assert answer.status == status, f"{answer} instead of {status}"
    assert answer.headers["Content-Type"].startswith("application/json"), answer.headers
    assert answer.json["type"] == "error" and isinstance(answer.json["message"], str)
    assert not codes or answer.json["code"] in codes, answer


async def test_healthz_and_readyz(room):
    for page in ("/healthz", "/readyz"):
        answer = await room.api.request("GET", page)
        assert answer.status == 200, answer


SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*",?)*\})? '
                    r'(NaN|[+-]?Inf|[+-]?[0-9.eE+-]+)( [0-9]+)?$')


async def test_metrics_are_prometheus_text(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.subscribe(bob)
    await bob.status("busy")
    await ana.sees(bob, status="busy")
    await bob.refused("unknown_type", "frobnicate")
    answer = await room.api.request("GET", "/metrics")
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/plain")
    assert answer.body.endswith("\n")
    types, families, seen = {}, [], set()
    for line in answer.body.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types, f"two TYPE lines for {name}"
            assert kind in ("counter", "gauge", "histogram", "summary", "untyped")
            types[name] = kind
        elif line and not line.startswith("#"):
            sample = SAMPLE.match(line)
            assert sample, f"no sample: {line!r}"
            assert (sample[1], sample[2]) not in seen, f"twice: {line!r}"
            seen.add((sample[1], sample[2]))
            family = sample[1] if sample[1] in types else re.sub("_(bucket|sum|count)$", "", sample[1])
            assert family in types, f"no TYPE for {line!r}"
            if not families or families[-1] != family:
                families.append(family)
    assert len(families) == len(set(families)), "samples of one metric are not together"
    histograms = [name for name, kind in types.items() if kind == "histogram"]
    assert histograms, "no histogram"
    for name in histograms:
        buckets = {}
        for line in answer.body.splitlines():
            if line.startswith(f"{name}_bucket{{"):
                le = re.search('le="([^"]*)"', line)[1]
                rest = re.sub(',?le="[^"]*"', "", line.rsplit(" ", 1)[0])
                buckets.setdefault(rest, []).append((float(le.replace("Inf", "inf")), float(line.rsplit(" ", 1)[1])))
        for series in buckets.values():
            assert series == sorted(series) and series[-1][0] == float("inf"), f"{name}: {series}"
            assert [count for _, count in series] == sorted(count for _, count in series)


async def test_metrics_count_what_happens(room):
    before = await room.api.metric("connections")
    clients = [await room.come(f"p{number}") for number in range(5)]
    await eventually(lambda: more(room, "connections", before + 5), "five more connections")
    errors = await room.api.metric("errors", code="unknown_type")
    await clients[0].refused("unknown_type", "frobnicate")
    await eventually(lambda: more(room, "errors", errors + 1, code="unknown_type"), "one more error")


async def more(room, name, least, **labels):
    return await room.api.metric(name, **labels) >= least


async def test_a_backend_reads_a_person(room):
    bob = await room.come("bob", "web")
    await bob.update(displayName="Bob")
    answer = await room.api.request("GET", path("users", bob.user), token=room.backend)
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("application/json")
    assert answer.json.items() >= (await bob.get(bob))[0].items()


async def test_a_user_may_read_people_too(room):
    bob = await room.come("bob")
    answer = await room.api.request("GET", path("users", bob.user), token=room.token("ana"))
    assert answer.status == 200 and answer.json["presence"]["status"] == "online"
    answer = await room.api.request("POST", "/v1/users/get", {"users": [bob.user]}, token=room.token("ana"))
    assert answer.status == 200 and answer.json["users"][0]["presence"]["status"] == "online"


async def test_an_unknown_person_looks_as_on_the_socket(room):
    answer = await room.api.request("GET", path("users", room.name("zed")), token=room.backend)
    assert answer.status == 200
    assert answer.json.items() >= {"user": room.name("zed"), "presence": {"version": 0, "status": "offline"},
                                   "profile": None}.items()


async def test_many_people_at_once(room):
    bob = await room.come("bob")
    people = [bob.user, room.name("zed")]
    answer = await room.api.request("POST", "/v1/users/get", {"users": people}, token=room.backend)
    assert answer.status == 200
    assert answer.json["users"] == await bob.get(*people)
    answer = await room.api.request("POST", "/v1/users/get", {"users": []}, token=room.backend)
    assert answer.json["users"] == []


async def test_too_many_people_at_once_are_refused(room):
    people = [room.name(f"p{number}") for number in range(21)]
    answer = await room.api.request("POST", "/v1/users/get", {"users": people[:20]}, token=room.backend)
    assert len(answer.json["users"]) == 20
    answer = await room.api.request("POST", "/v1/users/get", {"users": people}, token=room.backend)
    is_error(answer, 422, "too_many")


async def test_ids_in_paths_are_percent_encoded(room):
    user = f"a/b?c%d#e&f+g{room.suffix}"
    client = await room.socket()
    await client.connect(room.server.mint.token(user))
    answer = await room.api.request("GET", path("users", user), token=room.backend)
    assert answer.status == 200 and answer.json["user"] == user and answer.json["presence"]["status"] == "online"


async def test_a_backend_changes_a_profile_and_watchers_hear_it(room):
    ana = await room.come("ana")
    await ana.subscribe(room.name("bob"))
    answer = await room.api.request("PATCH", path("users", room.name("bob"), "profile"),
                                    {"displayName": "Bob", "locale": "de"}, token=room.backend)
    assert answer.status == 200, answer
    profile = await ana.sees_profile(room.name("bob"), displayName="Bob", locale="de")
    assert answer.json["profile"] == profile
    answer = await room.api.request("PATCH", path("users", room.name("bob"), "profile"),
                                    {"locale": None}, token=room.backend)
    assert "locale" not in answer.json["profile"] and answer.json["profile"]["displayName"] == "Bob"


async def test_a_bad_change_of_a_profile_is_refused_whole(room):
    answer = await room.api.request("PATCH", path("users", room.name("bob"), "profile"),
                                    {"displayName": "Bob", "locale": "not a locale"}, token=room.backend)
    is_error(answer, 422, "validation_failed")
    assert answer.json["field"] == "locale"
    answer = await room.api.request("GET", path("users", room.name("bob")), token=room.backend)
    assert answer.json["profile"] is None


async def test_participants_are_set_and_a_conversation_is_taken_away(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    talk = (await ana.did("createConversation", participants=[room.name("cy")]))["conversation"]["id"]
    await bob.refused("forbidden", "subscribe", conversations=[talk])
    place = path("conversations", talk, "participants")
    answer = await room.api.request("PUT", place, {"participants": [ana.user, bob.user]}, token=room.backend)
    assert answer.status == 200, answer
    await bob.watch_typing(talk)
    answer = await room.api.request("DELETE", place, token=room.backend)
    assert answer.status == 204, answer
    for client in (ana, bob):
        await client.refused("forbidden", "typing", conversation=talk, typing=True)


async def test_participants_past_the_limits_are_refused(room):
    ana = await room.come("ana")
    talk = (await ana.did("createConversation", participants=[room.name("bob")]))["conversation"]["id"]
    place = path("conversations", talk, "participants")
    for people, status, code in [
            ([room.name(f"p{number}") for number in range(11)], 422, "too_many"),
            (["not an id", ana.user], 422, "validation_failed"), ("ana", 400, "bad_request"), ([7], 400, "bad_request")]:
        answer = await room.api.request("PUT", place, {"participants": people}, token=room.backend)
        is_error(answer, status, code)
    await ana.watch_typing(talk)


async def test_disconnect_closes_all_devices_and_is_fine_for_one_who_is_not_here(room):
    clients = [await room.come("bob", "phone"), await room.come("bob", "web")]
    answer = await room.api.request("POST", path("users", room.name("bob"), "disconnect"), token=room.backend)
    assert answer.status == 200, answer
    for client in clients:
        await client.closed(4006)
    answer = await room.api.request("POST", path("users", room.name("nobody"), "disconnect"), token=room.backend)
    assert answer.status == 200, answer


# Rejected calls

FOR_BACKENDS = [
    ("PATCH", "/v1/users/bob/profile", {"displayName": "Eve"}),
    ("PUT", "/v1/conversations/c1/participants", {"participants": ["a", "b"]}),
    ("DELETE", "/v1/conversations/c1/participants", None),
    ("POST", "/v1/users/bob/disconnect", None),
]
FOR_ALL = [("GET", "/v1/users/bob", None), ("POST", "/v1/users/get", {"users": ["bob"]})]


@pytest.mark.parametrize("method,place,body", FOR_ALL + FOR_BACKENDS, ids=lambda value: str(value)[:40])
async def test_401_without_a_valid_token(room, method, place, body):
    mint = room.server.mint
    name = f"backend-{room.suffix}"
    for token in (None, "garbage", mint.token(name, role="backend", expires=-5), mint.unsigned(name),
                  mint.token(name, role="backend", expires=FOR_EVER), mint.token(name, role="backend", secret=b"x" * 32)):
        is_error(await room.api.request(method, place, body, token=token), 401, "unauthorized")
    for header in ("Basic YTpi", "Bearer", "Bearer ", f"bearer{room.backend}", room.backend):
        answer = await room.api.request(method, place, body, headers={"Authorization": header})
        is_error(answer, 401, "unauthorized")
    is_error(await room.api.request(method, f"{place}?token={room.backend}", body), 401, "unauthorized")


@pytest.mark.parametrize("method,place,body", FOR_BACKENDS, ids=lambda value: str(value)[:40])
async def test_403_for_what_only_backends_may(room, method, place, body):
    for token in (room.token("bob"), room.token("bob", role="user"), room.token("bob", role=["backend"])):
        is_error(await room.api.request(method, place, body, token=token), 403, "forbidden")


@pytest.mark.parametrize("place", ["/", "/v1", "/v1/", "/v1/users", "/v1/nothing", "/v2/users/bob",
                                   "/v1/users/bob/nothing", "/v1/users/a/b/c", "/favicon.ico", "/v1/wsx",
                                   "/../etc/passwd", "/v1/conversations/c1", "/metrics/x", "/v1/users/bob/",
                                   "/v1/users/x/../bob", "//healthz", "/v1//users/bob", "/healthz/", "/v1/./ws"])
async def test_404_for_what_is_not_there(room, place):
    is_error(await room.api.request("GET", place, token=room.backend), 404, "not_found")


@pytest.mark.parametrize("method,place", [
    ("POST", "/healthz"), ("DELETE", "/readyz"), ("PUT", "/metrics"), ("DELETE", "/v1/users/bob"),
    ("PUT", "/v1/users/bob/profile"), ("GET", "/v1/users/bob/disconnect"), ("POST", "/v1/conversations/c1/participants"),
    ("PATCH", "/v1/users/get"),
])
async def test_405_for_another_method(room, method, place):
    is_error(await room.api.request(method, place, token=room.backend), 405)


async def test_413_for_a_body_that_is_too_large(room):
    body = json.dumps({"users": [], "pad": "x" * 3_000_000}).encode()
    try:
        is_error(await room.api.request("POST", "/v1/users/get", body, token=room.backend), 413, "too_large")
    except ConnectionError:
        # The answer was lost because the server stopped reading: send little more than a head that is too large.
        pytest.skip("the connection was reset before the answer could be read")


async def test_413_is_said_from_the_length_alone(room):
    headers = {"Content-Length": "100000000", "Content-Type": "application/json"}
    reader, writer = await asyncio.open_connection(room.server.host, room.server.port)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"POST /v1/users/get HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.backend}\r\n{head}\r\n".encode())
    answer = await asyncio.wait_for(reader.read(4_096), 15)
    writer.close()
    assert answer.split(b" ")[1] == b"413", answer


BODIES = [b"", b"hello", b"{", b"[]", b"null", b'{"users":"bob"}', b'{"users":[7]}', b'{"users":null}', b"{}",
          b'{"users":["\xff"]}', b'{"users":["\\ud800"]}', b'{"users":[]} x', b"[" * 5_000]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: ascii(body)[:30])
async def test_400_for_a_malformed_body(room, body):
    answer = await room.api.request("POST", "/v1/users/get", body, token=room.backend)
    is_error(answer, 400, "bad_request")


@pytest.mark.parametrize("user", ["not an id", ""])
async def test_422_for_a_malformed_id(room, user):
    answer = await room.api.request("POST", "/v1/users/get", {"users": [user]}, token=room.backend)
    is_error(answer, 422, "validation_failed")


def pieces(data, length):
    return [data[start:start + length] for start in range(0, len(data), length)]


async def answer_on(reader):
    """Status, headers (in lower case) and body of the next answer on a connection."""
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)).decode().lower()
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    body = await asyncio.wait_for(reader.readexactly(int(headers["content-length"])), PATIENCE)
    return int(first.split()[1]), headers, body.decode()


async def test_a_connection_for_operators_is_kept_for_the_next_request(room):
    raw = await room.dial()
    for page in ("/healthz", "/readyz", "/metrics", "/healthz"):
        await raw.write(f"GET {page} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        status, headers, _ = await answer_on(raw.reader)
        assert status == 200 and headers.get("connection", "keep-alive") == "keep-alive", f"{page}: {headers}"


async def test_a_connection_is_kept_for_the_next_call(room):
    """Whatever the answer, and with each call's own token."""
    bob = await room.come("bob")
    own = room.token("carol")
    calls = [("GET", f"/v1/users/{bob.user}", room.backend, 200), ("GET", f"/v1/users/{bob.user}", own, 200),
             ("GET", "/v1/users/a%20b", room.backend, 400), ("GET", "/v1/nowhere", room.backend, 404),
             ("POST", f"/v1/users/{bob.user}/disconnect", own, 403), ("PUT", f"/v1/users/{bob.user}", room.backend, 405),
             ("GET", f"/v1/users/{bob.user}", None, 401), ("GET", f"/v1/users/{bob.user}", "x.y.z", 401),
             ("GET", "/healthz", None, 200), ("GET", f"/v1/users/{bob.user}/visibility", room.backend, 200),
             ("POST", f"/v1/users/{bob.user}/disconnect", room.backend, 200)]
    raw = await room.dial()
    for method, place, token, expected in calls:
        lines = [f"{method} {place} HTTP/1.1", "Host: x"] + ([f"Authorization: Bearer {token}"] if token else [])
        body = b"{}" if method in ("POST", "PUT") else b""
        await raw.write(("\r\n".join([*lines, f"Content-Length: {len(body)}"]) + "\r\n\r\n").encode() + body)
        status, headers, _ = await answer_on(raw.reader)
        # A call that is rejected before its body was read cannot be followed by another.
        is_kept = not (body and status in (401, 403))
        assert status == expected, f"{method} {place}: {status}"
        assert headers["connection"] == ("keep-alive" if is_kept else "close"), f"{method} {place}: {headers}"
        if not is_kept:
            raw.abort()
            raw = await room.dial()
    raw.abort()
    await bob.closed(4006)


async def test_calls_sent_ahead_are_answered_in_their_order(room):
    names = [f"p{number}" for number in range(200)]
    raw = await room.dial()
    await raw.write(b"".join(
        f"GET /v1/users/{name} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.backend}\r\n\r\n".encode()
        for name in names))
    for name in names:
        status, _, body = await answer_on(raw.reader)
        assert status == 200 and json.loads(body)["user"] == name
    raw.abort()


async def test_a_connection_ends_when_the_client_asks_for_it(room):
    raw = await room.dial()
    await raw.write(f"GET /v1/users/bob HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.backend}\r\n"
                    "Connection: close\r\n\r\n".encode())
    said = await asyncio.wait_for(raw.reader.read(), PATIENCE)
    assert said.startswith(b"HTTP/1.1 200 ") and b"\r\nconnection: close\r\n" in said.lower(), said


@pytest.mark.parametrize("length", [1, 7, 40])
async def test_a_request_may_come_in_pieces(room, length):
    body = b'{"users":["bob"]}'
    head = f"POST /v1/users/get HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.backend}\r\n"
    raw = await room.dial()
    for piece in pieces(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body, length):
        await raw.write(piece)
        await asyncio.sleep(0.001)
    status, _, body = await answer_on(raw.reader)
    assert status == 200 and json.loads(body)["users"][0]["user"] == "bob", body


async def test_a_request_without_content_length_has_an_empty_body(room):
    bob = await room.come("bob")
    head = f" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.backend}\r\n\r\n"
    for line, status in [(f"POST /v1/users/{bob.user}/disconnect", 200), ("POST /v1/users/get", 400),
                         (f"PATCH /v1/users/{bob.user}/profile", 400), ("PUT /v1/conversations/c1/participants", 400)]:
        raw = await room.dial()
        await raw.write((line + head).encode())
        answer = await answer_on(raw.reader)
        assert answer[0] == status, f"{line}: {answer}"
    await bob.closed(4006)


def chunked(body, drawn):
    """A body in random chunks, as .NET and Java send one of unknown length."""
    rest, text = body, b""
    while rest:
        size = drawn.randint(1, len(rest))
        text += f"{size:{drawn.choice('xX')}}".encode() + drawn.choice([b"", b";name=value"]) + b"\r\n" + rest[:size] + b"\r\n"
        rest = rest[size:]
    return text + b"0\r\n" + drawn.choice([b"", b"X-Checksum: 1\r\n"]) + b"\r\n"


@pytest.mark.parametrize("seed", range(6))
async def test_a_body_in_chunks_is_taken_and_the_next_request_follows_it(room, seed):
    drawn = random.Random(seed)
    raw = await room.dial()
    names = [room.name(f"p{number}") for number in range(5)]
    head = f"POST /v1/users/get HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.backend}\r\n"
    sent = b""
    for number in range(4):
        body = json.dumps({"users": names[:number + 1]}).encode()
        if number % 2:
            sent += f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        else:
            sent += f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunked(body, drawn)
    while sent:
        size = drawn.randint(1, 200)
        await raw.write(sent[:size])
        sent = sent[size:]
    for number in range(4):
        status, _, body = await answer_on(raw.reader)
        assert status == 200 and [each["user"] for each in json.loads(body)["users"]] == names[:number + 1]


@pytest.mark.parametrize("header, body, status", [
    ("Transfer-Encoding: chunked", b"3\r\n{}\r\n0\r\n\r\n", 400), ("Transfer-Encoding: chunked", b"2\n{}\n0\n\n", 400),
    ("Transfer-Encoding: chunked", b"-2\r\n{}\r\n", 400), ("Transfer-Encoding: chunked", b"2 \r\n{}\r\n", 400),
    ("Transfer-Encoding: chunked", b"100001\r\n", 413), ("Transfer-Encoding: chunked", b"ffffffff\r\n", 413),
    ("Transfer-Encoding: chunked\r\nContent-Length: 2", b"2\r\n{}\r\n0\r\n\r\n", 400),
    ("Transfer-Encoding: gzip, chunked", b"", 400), ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", b"", 400),
])
async def test_ambiguous_requests_are_rejected(room, header, body, status):
    raw = await room.dial()
    await raw.write(f"POST /v1/users/get HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.backend}\r\n{header}\r\n\r\n".encode()
                    + body + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    answered, headers, _ = await answer_on(raw.reader)
    assert answered == status and headers["connection"] == "close"
    # Bytes after it are not another request.
    assert await raw.reader.read() == b""


async def test_head_is_wherever_get_is(room):
    bob = await room.come("bob")
    for place in (f"/v1/users/{bob.user}", "/v1/usernames/anybody", "/v1/server", "/healthz"):
        get, head = [await room.api.request(method, place, token=room.backend) for method in ("GET", "HEAD")]
        assert head.status == get.status and not head.body, place
        if get.status == 200:
            assert head.headers["Content-Length"] == str(len(get.body.encode()))
            assert head.headers["Content-Type"] == get.headers["Content-Type"]
    assert (await room.api.request("HEAD", f"/v1/users/{bob.user}")).status == 401
    answer = await room.api.request("DELETE", f"/v1/users/{bob.user}", token=room.backend)
    assert answer.status == 405 and set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD"}


async def test_a_websocket_at_another_path_is_refused(room):
    socket = await RawSocket(room.server).dial()
    status, _ = await socket.shake_hands(path="/v1/other")
    socket.abort()
    assert status == 404, status


async def test_a_plain_get_of_the_sockets_path_is_refused(room):
    answer = await room.api.request("GET", "/v1/ws")
    assert answer.status == 426, answer


@pytest.mark.parametrize("status,headers", [
    (400, {"Sec-WebSocket-Key": "short"}), (400, {"Connection": "keep-alive"}),
    (400, {"Sec-WebSocket-Protocol": "chess"}), (426, {"Sec-WebSocket-Version": "8"}), (426, {"Upgrade": None})], ids=str)
async def test_a_refused_upgrade_says_why_as_json(room, status, headers):
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "MTIzNDU2Nzg5MDEyMzQ1Ng=="} | headers
    raw = await room.dial()
    lines = ["GET /v1/ws HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers.items() if value)]
    await raw.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    answer = await answer_on(raw.reader)
    assert answer[0] == status and answer[1]["content-type"] == "application/json", answer
    assert json.loads(answer[2]).items() >= {"type": "error", "code": "bad_request"}.items()


async def test_a_websocket_asked_for_with_another_method_is_refused(room):
    for method in ["POST", "HEAD", "PUT"]:
        raw = await room.dial()
        await raw.write(raw.upgrade().replace(b"GET", method.encode(), 1))
        head = (await raw.reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("http/1.1 405 ") and "\r\nallow: get\r\n" in head, head
        raw.abort()


@pytest.mark.parametrize("upgrade", ["h2c", "TLS/1.0", "h2c, TLS/1.3"])
async def test_an_upgrade_to_something_else_is_ignored(room, upgrade):
    """Allowed by RFC 9110, 7.8: curl --http2 requests h2c with each plain request."""
    raw = await room.dial()
    for place, status in [("/healthz", 200), ("/healthz", 200), ("/v1/ws", 426)]:
        await raw.write((f"GET {place} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                         f"Upgrade: {upgrade}\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n").encode())
        answer = await answer_on(raw.reader)
        assert answer[0] == status, answer
    raw.abort()


async def test_an_upgrade_to_a_websocket_among_others_is_one(room):
    raw = await room.dial()
    data = raw.upgrade().replace(b"Upgrade: websocket", b"Upgrade: h2c, WebSocket")
    assert b"WebSocket" in data
    await raw.write(data)
    head = await raw.reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 "), head
    raw.abort()
