"""The proxies of config/proxies in front of a server: nginx, Caddy and HAProxy, with TLS, as in docs/behind-a-proxy.md."""

import asyncio
import json
import time

import pytest
import websockets

from support.accounts import ON, Accounts
from support.fronts import Front
from support.patience import PATIENCE, eventually
from support.pictures import noise, png
from support.room import Room

IDLE = 2
"""Seconds of silence after which the proxies close a connection, in the test of that."""

MOST = 5 * 1024 * 1024
"""Bytes of a picture."""


@pytest.fixture(params=["nginx", "caddy", "haproxy"])
def front(request, start, tmp_path):
    """Starts the proxy in front of a server with these settings."""
    fronts = []

    def make(idle=75, **settings):
        server = start({"trustedProxies": ["127.0.0.1"]} | settings)
        fronts.append(Front(request.param, server, tmp_path, idle))
        return fronts[-1]

    make.name = request.param
    yield make
    for each in fronts:
        each.close()


async def dial(room, front, address="127.0.0.1", **options):
    """A client through the proxy, from an address of its own."""
    return await room.socket(at=front, ssl=front.trust, host="127.0.0.1", port=front.port, local_addr=(address, 0), **options)


async def come(room, front, person, **options):
    client = await dial(room, front, **options)
    await client.connect(room.token(person))
    return client


async def test_a_websocket_goes_through(front):
    front = await front().up()
    room = Room(front.server)
    ana, bob = await come(room, front, "ana"), await come(room, front, "bob")
    assert ana.socket.subprotocol == "presence.v1"
    await bob.subscribe(ana)
    await ana.status("busy", text="Through it")
    await bob.sees(ana, text="Through it")
    # The longest allowed message.
    answer = await ana.ask("status", status="auto", padding="x" * 200_000)
    assert answer["type"] == "ok", answer


async def test_the_server_knows_its_clients_addresses(front):
    front = await front(connections_per_address=2, limit_loopback=True).up()
    room = Room(front.server)
    for person in ("ana", "bob"):
        await come(room, front, person, address="127.0.0.2")
    for headers in ({}, {"X-Forwarded-For": "203.0.113.9"}, {"X-Forwarded-For": "127.0.0.1"}):
        # An address that a client claims is ignored.
        client = await dial(room, front, address="127.0.0.2", extra_headers=headers)
        _, reason = await client.closed(1013)
        assert json.loads(reason)["reconnectAfter"] > 0
    await come(room, front, "cy", address="127.0.0.3")


async def test_a_connection_on_which_nobody_speaks_stays(front):
    front = await front(idle=IDLE, heartbeat_interval=500, heartbeat_timeout=2_000).up()
    room = Room(front.server)
    ana, bob = await come(room, front, "ana"), await come(room, front, "bob")
    await bob.subscribe(ana)
    log, begun = len(bob.log), time.monotonic()
    # Only pings of the server and their answers pass in both directions.
    await eventually(lambda: time.monotonic() > begun + 2 * IDLE, "some silence", within=4 * IDLE)
    assert len(bob.log) == log and ana.socket.open and bob.socket.open
    await ana.status("busy", text="Still here")
    await bob.sees(ana, text="Still here")


async def test_without_pings_the_proxy_would_give_it_up(front):
    """The time limit is what the test above assumes. Caddy has none."""
    if front.name == "caddy":
        pytest.skip("Caddy gives up no WebSocket for its silence")
    front = await front(idle=IDLE).up()
    ana = await come(Room(front.server), front, "ana")
    await asyncio.wait_for(ana.socket.wait_closed(), PATIENCE)


async def test_bodies_are_streamed_up_to_the_limit(front):
    front = await front(**ON).up()
    accounts = Accounts(front.server)
    person = await accounts.sign_up()
    token = {"Authorization": f"Bearer {person.access}", "Content_Type": "image/png"}
    picture = png(noise(1_000, 800))
    assert 2_000_000 < len(picture) < MOST
    status, body = await front.request("PUT", "/v1/me/photo", picture, **token)
    assert status == 200, body
    assert json.loads(body)["photoURL"]
    # The server has decided by the head: the answer arrives before the body is complete.
    reader, writer = await asyncio.open_connection("127.0.0.1", front.port, ssl=front.trust, server_hostname="localhost")
    writer.write(f"PUT /v1/me/photo HTTP/1.1\r\nHost: localhost:{front.port}\r\nContent-Length: {MOST}\r\n"
                 "Authorization: Bearer wrong\r\n\r\n".encode())
    answer, sent = asyncio.create_task(reader.readline()), 0
    while not answer.done() and sent + 16_384 < MOST:
        # (Go's servers, such as Caddy, check for an answer again when a piece has arrived.)
        writer.write(b"x" * 16_384)
        sent += 16_384
        await asyncio.wait([answer], timeout=0.05)
    assert b" 401 " in await asyncio.wait_for(answer, PATIENCE)
    writer.transport.abort()
    status, body = await front.request("PUT", "/v1/me/photo", b"x" * (MOST + 1), **token)
    assert status == 413 and json.loads(body)["reason"] == "photo_too_large"


async def test_attachments_of_the_longest_size_go_through_and_longer_ones_are_refused_by_the_server(front):
    front = await front(**{"attachments.enabled": True}).up()
    room = Room(front.server)
    ana = await room.come("ana")
    conversation = (await ana.did("createConversation", participants=[room.name("bob")]))["conversation"]["id"]
    token = {"Authorization": f"Bearer {room.token('ana')}", "Content_Type": "application/octet-stream"}
    longest = 10 * 1024 * 1024
    for size, expected in ((longest, 201), (longest + 1, 413)):
        status, body = await front.request("POST", f"/v1/conversations/{conversation}/attachments", b"x" * size, **token)
        assert status == expected, body
    assert json.loads(body)["reason"] == "attachment_too_large"


async def test_metrics_are_not_for_clients(front):
    front = await front().up()
    assert (await front.get("/metrics"))[0] == 404
    assert (await front.get("/readyz"))[0] == 200


async def test_clients_are_told_when_the_server_restarts_and_come_back(front):
    front = await front().up()
    room = Room(front.server)
    ana = await come(room, front, "ana")
    ended = asyncio.create_task(ana.closed(1012))
    status = await asyncio.to_thread(front.server.stop)
    assert status == 0
    _, reason = await ended
    assert json.loads(reason)["reconnectAfter"] >= 0
    # The same port, to which the proxy connects.
    front.server.command[front.server.command.index("--port") + 1] = str(front.server.port)
    await asyncio.to_thread(front.server.start)
    room = Room(front.server)

    async def back():
        try:
            return await come(room, front, "ana")
        except (OSError, websockets.InvalidStatusCode, websockets.InvalidHandshake):
            return None

    await eventually(back, "the client is back", every=0.2)
