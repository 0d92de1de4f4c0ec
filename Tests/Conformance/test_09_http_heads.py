"""Heads of requests, byte by byte: valid HTTP/1.1 (RFC 9112) is answered, anything else rejected, in JSON."""

import asyncio
import json
import re
import socket

import pytest

from support.api import API, path
from support.certificates import Authority
from support.patience import PATIENCE, eventually
from support.ports import free_port
from support.raw import RawSocket
from support.room import Room

NAMES = ["X", "X-Auth", "X-Forwarded", "X-Real", "User", "If", "Auth", "Content", "Accept-", "Sec-", "Ref", "Up", "Orig",
         "C", "D", "H", "P", "Get", "Put", "Host-", "a", "z"]


async def exchange(server, data, context=None, pieces=False):
    """All bytes answered to these bytes."""
    options = {"ssl": context, "server_hostname": "localhost"} if context else {}
    reader, writer = await asyncio.open_connection(server.host, server.port, **options)
    try:
        for start in range(0, len(data), 7) if pieces else [0]:
            writer.write(data[start:start + 7] if pieces else data)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), PATIENCE)
    finally:
        writer.transport.abort()


def answers(said):
    """Status and body of each answer."""
    found = []
    while said:
        head, _, said = said.partition(b"\r\n\r\n")
        length = int(re.search(rb"Content-Length: (\d+)", head)[1])
        assert head.startswith(b"HTTP/1.1 ")
        found.append((int(head.split()[1]), said[:length]))
        said = said[length:]
    return found


def is_json_error(said, *statuses):
    (status, body), = answers(said)
    assert status in statuses, said
    error = json.loads(body)
    assert error["type"] == "error" and error["message"], error
    assert b"Content-Type: application/json" in said and b"Connection: close" in said


@pytest.fixture(params=["plain", "tls"])
def way(request, start, tmp_path):
    """A server, and the TLS context for it."""
    if request.param == "plain":
        return start(), None
    authority = Authority(tmp_path)
    files = authority.issue()
    return start({"tls.certificateFile": files[0], "tls.keyFile": files[1]}), authority.trust()


async def test_no_header_takes_anything_of_the_next(way):
    server, context = way
    room = Room(server)
    for number, name in enumerate(NAMES):
        body = json.dumps({"displayName": f"Bob {number}"}).encode()
        rest = f"Authorization: Bearer {room.backend}\r\nContent-Length: {len(body)}\r\n"
        for headers in (f"{name}: v\r\n{rest}", f"{rest}{name}: v\r\n"):
            head = f"PATCH {path('users', room.name('bob'), 'profile')} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n"
            (status, answer), = answers(await exchange(server, head.encode() + body, context))
            assert status == 200 and json.loads(answer)["profile"]["displayName"] == f"Bob {number}", (name, answer)


async def test_no_header_disturbs_an_upgrade(way):
    server, context = way
    room = Room(server)
    options = {"ssl": context, "server_hostname": "localhost"} if context else {}
    for name in NAMES:
        client = await room.socket(extra_headers={name: "v"}, **options)
        await client.connect(room.token("ana"))
        await client.socket.close()


async def test_an_upgrade_in_any_pieces_is_one(way):
    """Over TLS each piece is a record; a frame may arrive with the last."""
    server, context = way
    room = Room(server)
    raw = RawSocket(server)
    data = raw.upgrade(headers=["X: v", "Cookie: " + "c" * 3_000])
    options = {"ssl": context, "server_hostname": "localhost"} if context else {}
    for size in (1, 64, 1_000, len(data) - 1, len(data)):
        raw.reader, raw.writer = await asyncio.open_connection(server.host, server.port, limit=2**16, **options)
        if not context:
            raw.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(data), size):
            raw.writer.write(data[start:start + size])
            await raw.writer.drain()
        head = await asyncio.wait_for(raw.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        assert head.startswith(b"HTTP/1.1 101 "), head
        await raw.connect(room.token("ana"))
        raw.abort()


async def test_a_head_larger_than_a_record_is_read(way):
    server, context = way
    room = Room(server)
    filler = "".join(f"X-Filler-{number}: {'f' * 900}\r\n" for number in range(16))
    head = f"GET {path('users', 'a/../b')} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{filler}Authorization: Bearer {room.backend}\r\n\r\n"
    for pieces in (False, True):
        (status, body), = answers(await exchange(server, head.encode(), context, pieces))
        assert status == 200 and json.loads(body)["user"] == "a/../b"
    is_json_error(await exchange(server, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000, context), 431)


@pytest.mark.parametrize("head", [
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nno colon\r\n", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\r\n folded\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n: a\r\n", b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length : 21\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n", b"GET /healthz HTTP/1.1\nHost: a\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: \0\r\n", b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n",
    b"GET /healthz HTTP/1.1\r\n", b"GET /healthz HTTP/9.9\r\nHost: a\r\n", b"GET /healthz FOO/1.1\r\nHost: a\r\n",
    b"GET /healthz HTTP/1.1x\r\nHost: a\r\n", b"GET  /healthz HTTP/1.1\r\nHost: a\r\n",
    b"GET nowhere HTTP/1.1\r\nHost: a\r\n", b"\x16\x03\x01\x02\x00",
], ids=ascii)
async def test_a_malformed_head_is_refused_and_ends_the_connection(server, head):
    second = b"\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    is_json_error(await exchange(server, head + b"\r\n" + second), 400)


@pytest.mark.parametrize("line,status", [
    ("GET http://a/healthz", 200), ("GET http://elsewhere:80/healthz?x", 200), ("GET http://a", 404), ("OPTIONS *", 404),
    ("CONNECT a:1", 404), ("FROB /healthz", 405), ("get /healthz", 405), ("PROPFIND /v1/users/bob", 405), ("FROB /x", 404),
    ("TRACE /v1/ws", 405), ("GET /v1/users/a%00b", 400), ("GET //healthz", 404),
])
async def test_a_target_or_method_of_any_kind_has_an_answer_of_ours(server, line, status):
    method = line.split()[0]
    token = server.mint.token("ana")
    head = f"{line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    said = await exchange(server, head.encode())
    (got, body), = answers(said)
    assert got == status, said
    if status != 200:
        is_json_error(said, status)
    assert status != 405 or b"Allow: " in said
    assert method in line


@pytest.mark.parametrize("place", ["/v1//ws", "//v1/ws", "/v1/ws/", "/v1/./ws", "/v1/x/../ws", "/v1%2Fws", "/V1/ws"])
async def test_an_upgrade_elsewhere_is_refused(server, place):
    raw = await RawSocket(server).dial()
    status, headers = await raw.shake_hands(path=place)
    assert status == 404 and headers["content-type"] == "application/json"
    raw.abort()


async def test_requests_on_a_kept_connection_are_as_exact(server):
    data = b"".join(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: v\r\n\r\n" for _ in range(300))
    found = answers(await exchange(server, data + b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
    assert [status for status, _ in found] == [200] * 301


@pytest.mark.parametrize("header", ["Transfer-Encoding: chunked", "Content-Length: 5", "Content-Length: 9999999999"])
async def test_an_upgrade_with_a_body_is_refused(server, header):
    raw = await RawSocket(server).dial()
    status, _ = await raw.shake_hands(headers=[header])
    assert status == 400
    raw.abort()


# Behind a proxy

@pytest.mark.parametrize("sent", [[], ["X-Forwarded-For: 198.51.100.{}"], ["X: v"],
                                  ["X-Forwarded-For: 198.51.100.{}", "X: v"], ["X-Forwarded-For: 198.51.100.{}", "X-: v"]],
                         ids=ascii)
async def test_behind_a_proxy_an_address_is_the_one_that_the_proxy_saw(start, sent):
    """The proxy's line follows those that the client sent, whatever they are."""
    server = start({"trustedProxies": ["127.0.0.1"], "connections_per_address": 2}, shards=2)
    held, codes = [], []
    for number in range(6):
        raw = await RawSocket(server).dial()
        headers = [each.format(number) for each in sent] + ["X-Forwarded-For: 203.0.113.9"]
        status, _ = await raw.shake_hands(headers=headers)
        assert status == 101
        held.append(raw)
        if number < 2:
            # A shard counts a connection just after its 101: without an answer, the next one could be counted first.
            await raw.connect(server.mint.token(f"held{number}"))
        else:
            codes.append(await raw.closed())
    assert codes == [1013] * 4
    # Another address has a count of its own.
    raw = await RawSocket(server).dial()
    await raw.shake_hands(headers=["X-Forwarded-For: 203.0.113.10"])
    await raw.connect(server.mint.token("bob"))
    for each in [*held, raw]:
        each.abort()


async def test_an_address_has_so_many_connections_from_their_acceptance_on(start):
    """Silent connections count too; a few more are accepted, to send the rejection, and then none."""
    server = start({"connections_per_address": 5, "limit_loopback": True}, shards=2)

    def dial():
        one = socket.create_connection((server.host, server.port), source_address=("127.0.0.2", 0))
        one.setblocking(False)
        return one

    silent = [dial() for _ in range(5)]
    api = API(server)
    await eventually(lambda: at_least(api, "handshakes", 6), "five that say nothing, and the one that asks")
    raw = RawSocket(server)
    raw.reader, raw.writer = await asyncio.open_connection(server.host, server.port, local_addr=("127.0.0.2", 0))
    await raw.shake_hands()
    assert await raw.closed() == 1013
    crowd = [dial() for _ in range(150)]
    await eventually(lambda: ended(crowd) >= 150 - 64, "those beyond are ended at once")
    assert ended(crowd) <= 150 - 64 + 1 and ended(silent) == 0
    for one in silent + crowd:
        one.close()
    await eventually(lambda: lets_in(server), "room again")


async def at_least(api, name, least):
    return await api.metric(name) >= least


def ended(connections):
    count = 0
    for one in connections:
        try:
            count += one.recv(1) == b""
        except BlockingIOError:
            pass
        except OSError:
            count += 1
    return count


async def lets_in(server):
    raw = RawSocket(server)
    raw.reader, raw.writer = await asyncio.open_connection(server.host, server.port, local_addr=("127.0.0.2", 0))
    try:
        await raw.shake_hands()
        await asyncio.wait_for(raw.connect(server.mint.token("cy")), PATIENCE)
        return True
    except (AssertionError, asyncio.IncompleteReadError, ConnectionError):
        return False
    finally:
        raw.abort()


# The operators' port

async def test_the_public_port_tells_nothing_of_private_paths(start):
    port = free_port()
    server = start({"api.port": port})
    room = Room(server)
    front = API(server)
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"):
        for place in ("/metrics", "/v1/users/bob/profile", "/v1/users/%20/profile", "/v1/users/bob/disconnect",
                      "/v1/users/bob/revokeTokens", "/v1/users/bob/visibility", "/v1/users/bob/contacts",
                      "/v1/users/bob/blocks", "/v1/conversations/c/participants", "/v1/conversations/%20/participants"):
            for token in (None, room.token("ana"), room.backend):
                answer = await front.request(method, place, token=token)
                assert answer.status == 404, (method, place, answer)
    assert (await front.request("POST", "/v1/users/bob", token=room.token("ana"))).status == 405
    assert (await front.request("GET", "/v1/users/%20", token=room.token("ana"))).status == 400
    assert (await front.request("POST", "/v1/ws")).status == 405

    class Back:
        host, url = server.host, server.url
    Back.port = port
    back = API(server)
    back.server = Back
    for method in ("GET", "POST"):
        assert (await back.request(method, "/v1/ws")).status == 404


# Bodies

async def test_a_body_is_read_only_with_permission(server):
    """Rejected by the head, before any byte of the body has arrived."""
    for token, status in ((None, 401), ("nonsense", 401), (server.mint.token("ana"), 403)):
        auth = f"Authorization: Bearer {token}\r\n" if token else ""
        head = f"PATCH /v1/users/bob/profile HTTP/1.1\r\nHost: a\r\n{auth}Content-Length: 1000000\r\n\r\n"
        is_json_error(await exchange(server, head.encode()), status)
    backend = server.mint.token("backend", role="backend")
    head = f"PATCH /v1/users/bob/profile HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {backend}\r\nContent-Length: 1048577\r\n\r\n"
    is_json_error(await exchange(server, head.encode()), 413)


async def test_incoming_bytes_have_a_budget(start):
    """An incomplete message reserves its bytes; a client that exceeds the budget has to come back later."""
    server = start({"inbox_bytes": 300_000}, shards=2)
    room = Room(server)
    api = room.api
    half = b"\x01\xff" + (200_000).to_bytes(8, "big") + b"\0\0\0\0" + b" " * 140_000
    held = []
    for number in range(2):
        raw = await RawSocket(server).open()
        await raw.connect(room.token(f"held{number}"))
        await raw.write(half)
        held.append(raw)
    await eventually(lambda: at_least(api, "inbox_bytes", 2 * 139_000), "both are held")
    third = await RawSocket(server).open()
    await third.connect(room.token("third"))
    await third.write(half)
    assert await third.closed() == 1013 and json.loads(third.reason)["reconnectAfter"] > 0
    assert await api.metric("limit_met_total", limit="inbox_bytes") == 1
    backend = room.backend
    head = f"POST /v1/users/get HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {backend}\r\nContent-Length: 100000\r\n\r\n"
    said = await exchange(server, head.encode() + b" " * 99_000)
    is_json_error(said, 503)
    assert json.loads(answers(said)[0][1])["retryAfter"] > 0
    # All other clients continue, and the budget is free again.
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.subscribe(bob)
    await bob.status("busy")
    await ana.sees(bob, status="busy")
    for raw in held:
        raw.abort()
    await eventually(lambda: is_empty(api), "nothing is held")


async def is_empty(api):
    return await api.metric("inbox_bytes") == 0
