"""A disk that fills: uploads leave room for everything else, and unused files are removed automatically."""

import asyncio
import os
import random
import shutil
import subprocess
import tempfile

import pytest

from support.accounts import ON
from support.api import API
from support.patience import eventually
from support.room import Room
from support.talks import say, talk

MEBI = 1024 * 1024
DISK, RESERVE = 64 * MEBI, 16 * MEBI
SETTINGS = {"attachments.enabled": True, "attachments.perUserPerHour": 100_000, "attachments.unusedFor": "2s"}
LONG = 40


@pytest.fixture
def disk():
    """A folder with a disk of its own."""
    place = tempfile.mkdtemp(prefix="presence-disk-")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", place], capture_output=True)
    if made.returncode != 0:
        os.rmdir(place)
        pytest.skip("mounting a disk needs root")
    yield place
    subprocess.run(["umount", "-l", place], check=True)
    shutil.rmtree(place, ignore_errors=True)


def free(place):
    status = os.statvfs(place)
    return status.f_bavail * status.f_frsize


async def upload(room, person, conversation, size):
    path = f"/v1/conversations/{conversation}/attachments"
    return await room.api.request(
        "POST", path, b"\x07" * size, token=room.token(person), headers={"Content-Type": "application/octet-stream"})


async def ready(room):
    return (await room.api.request("GET", "/readyz")).status == 200


async def not_ready(room):
    return not await ready(room)


async def conversation_of(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    return ana, bob, (await talk(ana, bob))["id"]


async def test_uploads_leave_a_reserve_and_come_again_when_there_is_room(disk, start):
    room = Room(start(SETTINGS, directory=disk, shards=1))
    ana, bob, conversation = await conversation_of(room)
    draw = random.Random(3)
    refused = 0
    while refused < 6:
        person, before = draw.choice(["ana", "bob"]), free(disk)
        size = draw.choice([1, 5_000, 70_000, MEBI, 5 * MEBI]) if before - RESERVE < 6 * MEBI else 5 * MEBI
        answer = await upload(room, person, conversation, size)
        if answer.status == 503:
            refused += 1
            assert answer.json["code"] == "unavailable" and int(answer.headers["Retry-After"]) >= 1
            # (Redis also writes its log.)
            assert before - size < RESERVE + MEBI
        else:
            assert answer.status == 201, answer
        assert free(disk) > RESERVE - MEBI
    assert await room.api.metric("limit_met_total", limit="disk_reserve") == refused
    assert await room.api.metric("disk_free_bytes") < RESERVE + 6 * MEBI
    assert await room.api.metric("disk_reserve_bytes") == RESERVE
    # Everything else works.
    assert await ready(room)
    await bob.subscribe(ana)
    await ana.status("busy")
    await bob.sees(ana, status="busy")
    await say(ana, conversation)
    # Files that no message mentions are removed, and then there is room.
    await eventually(lambda: takes(room, conversation, 5 * MEBI), "there is room again", within=LONG)


async def takes(room, conversation, size):
    return (await upload(room, "ana", conversation, size)).status == 201


async def test_due_files_are_removed_while_redis_cannot_write_and_the_service_recovers(disk, start):
    room = Room(start(SETTINGS | {"attachments.unusedFor": "8s"}, directory=disk, shards=2))
    ana, _, conversation = await conversation_of(room)
    kept = [await upload(room, "ana", conversation, 2 * MEBI) for _ in range(12)]
    assert {answer.status for answer in kept} == {201}
    await say(ana, conversation, more={"attachments": [kept[0].json["attachment"]]})
    # Something else fills the rest, to the last byte.
    with open(os.path.join(disk, "filler"), "wb", buffering=0) as filler:
        piece = bytes(MEBI)
        while piece:
            try:
                filler.write(piece)
            except OSError:
                piece = piece[:len(piece) // 2]
    token = room.token("carol")
    task = asyncio.ensure_future(push_on(room, ana))
    await eventually(lambda: not_ready(room), "Redis cannot write", within=LONG)
    task.cancel()
    await eventually(lambda: lets_in(room, token), "there is room for Redis again", within=LONG)
    # A mentioned file exists.
    name = kept[0].json["attachment"]["url"].split("/v1/")[1]
    await eventually(lambda: serves(room, name), "it is served", within=LONG)
    await eventually(lambda: none_due(room), "what went is written down nowhere", within=LONG)


async def lets_in(room, token):
    return (await (await room.socket()).ask("connect", token=token))["type"] == "connected"


async def serves(room, name):
    return (await room.api.request("GET", "/v1/" + name)).status == 200


async def none_due(room):
    return await room.api.metric("attachments_due") == 0 and await room.api.metric("attachments_removed_total") >= 11


async def push_on(room, client):
    """Something is written all the time."""
    number = 0
    while True:
        number += 1
        await client.ask("updateProfile", changes={"displayName": f"Ana {number} {'x' * 40}"})
        await asyncio.sleep(0.02)


async def test_mails_without_a_mail_server_leave_redis_half_of_the_reserve(disk, start):
    room = Room(start(ON, directory=disk, shards=1))
    api = API(room.server)

    async def sign_up(number):
        body = {"email": f"a{number}@example.org", "password": "correct horse battery"}
        assert (await api.request("POST", "/v1/accounts", body)).status == 201
    await sign_up(1)
    await eventually(lambda: mails(disk, 1), "the mail is there")
    with open(os.path.join(disk, "filler"), "wb", buffering=0) as filler:
        os.posix_fallocate(filler.fileno(), 0, free(disk) - RESERVE // 2 + 64 * 1024)
    await sign_up(2)
    await eventually(lambda: refused_mails(room), "no mail is written")
    assert len(os.listdir(os.path.join(disk, "outbox"))) == 1
    os.unlink(os.path.join(disk, "filler"))
    await eventually(lambda: mails(disk, 2), "the second one comes", within=LONG)


async def mails(disk, count):
    folder = os.path.join(disk, "outbox")
    return os.path.isdir(folder) and len([name for name in os.listdir(folder) if name.endswith(".eml")]) == count


async def refused_mails(room):
    return "what is left of the disk is kept" in room.server.logged()
