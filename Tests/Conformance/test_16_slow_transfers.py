"""Very slow uploads and downloads: when their places are needed, the slowest of the address with the most is aborted."""

import asyncio
import http.client
import socket
import time

from support.patience import PATIENCE, eventually
from support.room import Room
from support.talks import talk

SETTINGS = {
    "attachments.enabled": True, "limit_loopback": True, "limits.uploads": 6, "limits.uploadsPerAddress": 3,
    "limits.downloads": 4, "limits.downloadsPerAddress": 2}
GRACE = 5
"""Seconds in which no transfer gives its place to another."""


def open_from(room, address, receive_buffer=None):
    stream = socket.socket()
    if receive_buffer:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    stream.bind((address, 0))
    stream.settimeout(PATIENCE)
    stream.connect((room.server.host, room.server.port))
    return stream


def begin_upload(room, person, conversation, address):
    stream = open_from(room, address)
    stream.sendall((
        f"POST /v1/conversations/{conversation}/attachments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        f"{room.token(person)}\r\nContent-Type: application/pdf\r\nContent-Length: 9000000\r\n\r\n").encode() + b"x" * 1_000)
    return stream


def upload_now(room, person, conversation, address, size=100_000):
    connection = http.client.HTTPConnection(
        room.server.host, room.server.port, timeout=PATIENCE, source_address=(address, 0))
    try:
        connection.request(
            "POST", f"/v1/conversations/{conversation}/attachments", b"y" * size,
            {"Authorization": f"Bearer {room.token(person)}", "Content-Type": "application/octet-stream"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


async def count(room, name, wanted):
    return await room.api.metric(name) == wanted


async def test_slow_uploads_of_few_addresses_keep_nobody_out(start):
    room = Room(start(SETTINGS, shards=2))
    people = [f"slow{number}" for number in range(6)]
    clients = [await room.come(person) for person in people + ["honest"]]
    conversation = (await talk(clients[0], *clients[1:], name="All"))["id"]
    began = time.monotonic()
    slow = [begin_upload(room, person, conversation, f"127.0.0.{2 + number // 3}") for number, person in enumerate(people)]
    await eventually(lambda: count(room, "http_uploads", 6), "all places are taken")
    # At first the server cannot know that they are slow.
    status, _ = await asyncio.to_thread(upload_now, room, "honest", conversation, "127.0.0.9")
    assert status == 503 or time.monotonic() - began > GRACE
    while time.monotonic() - began < GRACE + 0.2:
        for stream in slow:
            stream.sendall(b"x" * 500)
        await asyncio.sleep(0.25)
    for _ in range(3):
        status, body = await asyncio.to_thread(upload_now, room, "honest", conversation, "127.0.0.9")
        assert status == 201, body
    # One place was enough for all three; the others continue.
    assert await room.api.metric("http_transfers_too_slow_total") == 1
    await eventually(lambda: count(room, "http_uploads", 5), "one of the slow ones is gone")
    for stream in slow:
        stream.close()


async def test_slow_readers_of_few_addresses_keep_nobody_out(start):
    room = Room(start(SETTINGS, shards=2))
    ana, bob = await room.come("ana"), await room.come("bob")
    conversation = (await talk(ana, bob))["id"]
    status, body = await asyncio.to_thread(upload_now, room, "ana", conversation, "127.0.0.9", 8_000_000)
    assert status == 201
    name = body.decode().split("/v1/attachments/")[1].split('"')[0]
    slow = []
    for number in range(4):
        stream = open_from(room, f"127.0.0.{2 + number // 2}", receive_buffer=4_096)
        stream.sendall(f"GET /v1/attachments/{name} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        slow.append(stream)
    began = time.monotonic()
    await eventually(lambda: count(room, "http_downloads", 4), "all places are taken")

    def read():
        connection = http.client.HTTPConnection(
            room.server.host, room.server.port, timeout=PATIENCE, source_address=("127.0.0.9", 0))
        connection.request("GET", f"/v1/attachments/{name}")
        answer = connection.getresponse()
        return answer.status, len(answer.read())
    # After some seconds, the bytes that the kernel buffered at the beginning count as slow. (Connections that read
    # nothing end after 20 s anyway.)
    while (answer := await asyncio.to_thread(read)) != (200, 8_000_000):
        assert answer[0] == 503 and time.monotonic() - began < 18, answer
        await asyncio.sleep(0.5)
    for stream in slow:
        stream.close()
