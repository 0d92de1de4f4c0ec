"""The cost of connections that begin and then stall: the server's processor time and memory, with a thousand of each
kind.

A waiting connection costs nothing, however it waits. The processor time is the kernel's count for the server
(nanoseconds that its threads ran, ended threads included), so a busy machine makes no difference.
"""

import asyncio
import os
import socket
import ssl
import time

import pytest

from support.api import API
from support.certificates import Authority
from support.patience import eventually
from support.raw import RawSocket

COUNT = 1_000
WINDOW = 2
SHARE = 0.01
"""The share of one core, for all of them together."""

WAKES = 200 * WINDOW
"""The number of additional wake-ups of the server's threads in a window: at most one in five seconds for each
connection. A busy machine does not change that; repeated checks of waiting connections would."""

SETTINGS = {"handshakeTimeout": "2m", "connect_timeout": 120_000, "limits.handshakes": 2 * COUNT}


def processor_seconds(server):
    """The processor time of the server since it started."""
    # CPUCLOCK_SCHED of another process, by the formula of clock_getcpuclockid(3).
    return time.clock_gettime(~server.process.pid << 3 | 2)


def wakes(server):
    """The number of times that the server's threads have waited and continued since its start."""
    total = 0
    for task in os.listdir(f"/proc/{server.process.pid}/task"):
        with open(f"/proc/{server.process.pid}/task/{task}/status") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))
    return total


def resident(server):
    """Its memory in MB."""
    with open(f"/proc/{server.process.pid}/status") as file:
        line, = (line for line in file if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


async def spent(server):
    """Processor time of the server in a window, and how often it woke."""
    before = processor_seconds(server), wakes(server)
    await asyncio.sleep(WINDOW)
    return processor_seconds(server) - before[0], wakes(server) - before[1]


def hello(name="localhost"):
    """A complete client hello."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    stream = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        stream.do_handshake()
    return outgoing.read()


UPGRADE = b"GET /v1/ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
WHOLE = UPGRADE + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
PLAIN = {
    "nothing": b"", "a_letter": b"G", "half_a_line": b"GET /" + b"a" * 8_186, "half_the_headers": UPGRADE + b"X: ",
    "half_a_frame": WHOLE + b"\x81\xfe\x10\x00abcd" + b"x" * 100,
    "half_a_frame_header": WHOLE + b"\x81\xff\x00\x00",
}
SECURE = {"nothing": b"", "a_byte": hello()[:1], "half_a_hello": hello()[:60], "a_hello": hello()}


async def hold(server, data, count=COUNT):
    """Connections that have sent these bytes."""
    held = []
    for _ in range(count):
        one = socket.create_connection((server.host, server.port))
        held.append(one)
        one.sendall(data)
        if len(held) % 50 == 0:
            await asyncio.sleep(0)
    return held


async def cost(server, data):
    """Whether waiting costs too much. The cheapest of three windows counts: a busy machine makes everything dearer for
    a while, but waiting that costs does so always."""
    idle = await spent(server)
    held = await hold(server, data)
    try:
        await quiet(server)
        found = []
        for _ in range(3):
            now = await spent(server)
            found.append((now[0] - idle[0], now[1] - idle[1]))
            if found[-1][0] <= WINDOW * SHARE and found[-1][1] <= WAKES:
                return None
        return f"seconds and wakes more than when idle, {idle}: {found}"
    finally:
        for one in held:
            one.close()


async def quiet(server):
    """Waits until the server has handled all input: until it has been idle for a moment."""
    async def rests():
        before = processor_seconds(server)
        await asyncio.sleep(0.3)
        return processor_seconds(server) - before < 0.3 * 0.03
    # (A server that is never idle fails the checks below.)
    for _ in range(20):
        if await rests():
            return


@pytest.mark.parametrize("kind", PLAIN)
async def test_connections_that_do_not_go_on_cost_no_time(start, kind):
    server = start(SETTINGS)
    assert await cost(server, PLAIN[kind]) is None
    assert (await API(server).request("GET", "/readyz")).status == 200


@pytest.mark.parametrize("kind", SECURE)
async def test_connections_over_tls_that_do_not_go_on_cost_no_time(start, tmp_path, kind):
    authority = Authority(tmp_path)
    files = authority.issue()
    server = start(SETTINGS | {"tls.certificateFile": files[0], "tls.keyFile": files[1]})
    assert await cost(server, SECURE[kind]) is None


async def test_handshakes_that_do_not_end_leave_no_memory_behind(start, tmp_path):
    authority = Authority(tmp_path)
    files = authority.issue()
    server = start(SETTINGS | {"tls.certificateFile": files[0], "tls.keyFile": files[1]}, shards=2)

    async def wave():
        held = await hold(server, hello())
        await quiet(server)
        during = resident(server)
        for one in held:
            one.close()
        await quiet(server)
        return during

    # A few first, so that one-time allocations are done.
    for one in await hold(server, hello(), 20):
        one.close()
    await quiet(server)
    before = resident(server)
    waves = [await wave() - before for _ in range(3)]
    # The allocator keeps less than one and a half waves of memory for the next one.
    await eventually(lambda: resident(server) - before < 1.5 * max(waves), f"{before} MB, waves of {waves}, and little is left")


async def test_slowly_arriving_bytes_are_read_once(start):
    """Each byte of a head is read once, however slowly they come."""
    server = start(SETTINGS)
    slow = await RawSocket(server).dial()
    before = processor_seconds(server)
    for _ in range(2_000):
        await slow.write(b"G")
    await quiet(server)
    assert processor_seconds(server) - before < 1
    slow.abort()
