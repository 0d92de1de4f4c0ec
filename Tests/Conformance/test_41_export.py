"""The export of one person's data: a tar with JSON lines and files, for themselves and for backends."""

import asyncio
import http.client
import io
import json
import os
import tarfile

import pytest

from support.accounts import Accounts
from support.room import Room
from support.talks import group, pair, say, talk

SETTINGS = {"accounts.enabled": True, "attachments.enabled": True, "history.enabled": True, "linger": 1_000, "lease": 6_000}


async def fetch(server, path, token):
    def call():
        connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    return await asyncio.to_thread(call)


async def export(server, path, token):
    """The lines and the files of an export."""
    status, headers, body = await fetch(server, path, token)
    assert status == 200, (status, body[:500])
    assert headers["Content-Type"] == "application/x-tar" and headers["Cache-Control"] == "no-store"
    assert headers["Content-Disposition"] == 'attachment; filename="export.tar"' and len(body) == int(headers["Content-Length"])
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive.getmembers()}
        assert all(member.isreg() and member.mode == 0o600 for member in archive.getmembers())
    lines = [json.loads(line) for line in files.pop("export.jsonl").splitlines()]
    assert all(set(line) == {"type", line["type"]} for line in lines)
    return lines, files


def of(lines, type):
    return [line[type] for line in lines if line["type"] == type]


@pytest.fixture
def server(start):
    return start(SETTINGS)


async def test_an_export_has_all_of_a_user_and_nothing_that_others_wrote(server):
    accounts, room = Accounts(server), Room(server)
    ana = await accounts.sign_up(displayName="Ana", username="ana.x")
    at_ana, bob, eve = await room.come("ana", token=ana.access), await room.come("bob"), await room.come("eve")
    direct, left = (await talk(at_ana, bob))["id"], (await group(bob, at_ana))["id"]
    await at_ana.did("addContacts", users=[bob.user])
    await at_ana.did("block", users=[eve.user])
    await at_ana.status("busy")
    first = await say(at_ana, direct, "one “two”\n")
    await say(bob, direct, "of bob")
    edited = (await at_ana.did("editMessage", conversation=direct, message=first["id"], text="three"))["message"]
    elsewhere = await say(at_ana, left, "four")
    await at_ana.did("changeMembers", conversation=left, remove=[ana.user])
    data = os.urandom(300_000)
    upload = await accounts.api.request(
        "POST", f"/v1/conversations/{direct}/attachments", data, token=ana.access,
        headers={"Content-Type": "application/octet-stream"})
    assert upload.status == 201, upload
    attachment = {name: upload.json["attachment"][name] for name in ("id", "kind", "url", "sizeBytes")}
    sent = await say(at_ana, direct, "", more={"attachments": [attachment]})
    await say(bob, direct, "of bob, the last message")
    notified = await accounts.api.request(
        "POST", "/v1/notifications", {"users": [ana.user], "id": "n1", "kind": "order", "title": "Shipped"}, token=room.backend)
    assert notified.status == 202, notified

    lines, files = await export(server, "/v1/me/export", ana.access)
    me = await ana.me()
    assert of(lines, "user") == [ana.user] and of(lines, "account") == [me["account"]]
    assert of(lines, "profile") == [me["profile"]] and len(of(lines, "sessions")[0]) == 1
    assert of(lines, "contacts") == [[bob.user]] and of(lines, "blocks") == [[eve.user]]
    assert of(lines, "visibility")[0]["presence"] == "everyone"
    assert [each["id"] for each in of(lines, "conversation")] == [direct]
    assert sorted((each["conversation"], each["message"]["seq"]) for each in of(lines, "message")) == sorted(
        [(direct, 1), (direct, 3), (left, elsewhere["seq"])])
    assert edited in [each["message"] for each in of(lines, "message")]
    assert [each["id"] for each in of(lines, "notification")] == ["n1"]
    assert "busy" in {each["status"] for each in of(lines, "status")}
    assert files == {"attachments/" + sent["attachments"][0]["url"].rsplit("/", 1)[1]: data}
    assert "of bob" not in json.dumps(lines, ensure_ascii=False)
    # A backend gets the same, but for the time of the last use of a device.
    others, same = await export(server, f"/v1/users/{ana.user}/export", room.backend)
    assert same == files and [line for line in others if line["type"] != "sessions"] == [
        line for line in lines if line["type"] != "sessions"]


async def test_many_messages_fill_many_pieces(server):
    room = Room(server)
    ana, bob, id = await pair(room)
    text = "x" * 2_000
    for number in range(130):
        await say(ana, id, f"{number} {text}")
    lines, files = await export(server, "/v1/me/export", room.token("ana"))
    assert [each["message"]["seq"] for each in of(lines, "message")] == list(range(130, 0, -1)) and not files
    assert of(lines, "account") == [] and of(lines, "profile") == [None]


async def test_only_the_user_and_backends_get_an_export(server):
    room = Room(server)
    ana, bob, id = await pair(room)
    place = f"/v1/users/{ana.user}/export"
    assert (await fetch(server, place, None))[0] == 401 and (await fetch(server, "/v1/me/export", None))[0] == 401
    assert (await fetch(server, place, room.token("bob")))[0] == 403
    assert (await fetch(server, place, room.token("ana")))[0] == 403
    assert (await fetch(server, "/v1/me/export", room.backend))[0] == 403
    lines, _ = await export(server, f"/v1/users/{room.name('nobody')}/export", room.backend)
    assert [line["type"] for line in lines] == ["user", "sessions", "profile", "visibility", "contacts", "blocks"]


async def test_exports_have_a_rate_and_leave_no_file(start):
    server = start(SETTINGS, shards=1)
    room = Room(server)
    await pair(room)
    token = room.token("ana")
    assert [(await fetch(server, "/v1/me/export", token))[0] for _ in range(4)] == [200, 200, 200, 429]
    assert (await fetch(server, f"/v1/users/{room.name('ana')}/export", room.backend))[0] == 200
    assert not [name for name in os.listdir(server.directory) if name.startswith("export")]
