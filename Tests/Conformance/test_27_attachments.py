"""Uploads of a conversation's members: accepted and rejected ones, how they are served, and their removal."""

import asyncio
import contextlib
import glob
import http.client
import os
import re
import socket
import time
from urllib.parse import quote, urlsplit

import pytest

from support import pictures
from support.api import API
from support.openapi import OpenAPI
from support.patience import PATIENCE, eventually
from support.pictures import alike, jpeg, noise, png, scene, shown
from support.room import Room
from support.storage import Storage
from support.talks import group, say, talk

SETTINGS = {
    "attachments.enabled": True, "attachments.perUserPerHour": 100_000, "user_requests_per_second": 100_000,
    "user_request_burst": 100_000}
DOCUMENT = OpenAPI("openapi.yaml")
MOST = 10 * 1024 * 1024
NAME = re.compile(r"/v1/attachments/([0-9a-f]{32})(\.jpg|-small\.jpg|\.bin)")
POLICY = "sandbox; default-src 'none'"


def fetch_now(address, method="GET", headers=None):
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    try:
        connection.request(method, place.path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


async def fetch(address, method="GET", headers=None):
    return await asyncio.to_thread(fetch_now, address, method, headers)


def operation(method, path):
    found, = [each for each in DOCUMENT.operations if (each.method, each.path) == (method, path)]
    return found


async def upload(room, person, conversation, data, type="application/octet-stream", query="", at=None, token=None):
    """Uploads a file, and checks the answer against the document."""
    headers = {"Content-Type": type} if type else {}
    api = API(at) if at else room.api
    token = token or room.token(person, at=at)
    path = f"/v1/conversations/{quote(conversation, safe='')}/attachments{query}"
    answer = await api.request("POST", path, data, token=token, headers=headers)
    responses = operation("POST", "/v1/conversations/{id}/attachments").responses
    DOCUMENT.check("POST", answer, responses[answer.status], path)
    return answer


async def uploaded(room, person, conversation, data, *rest, **more):
    answer = await upload(room, person, conversation, data, *rest, **more)
    assert answer.status == 201 and set(answer.json) == {"attachment"}, answer
    return answer.json["attachment"]


def refused(answer, status, code, reason=None, field=None):
    assert answer.status == status, answer
    body = answer.json
    assert (body["code"], body.get("reason"), body.get("field")) == (code, reason, field), answer
    return True


def as_sent(attachment):
    """The form that messages have."""
    return {member: value for member, value in attachment.items() if member != "name"}


def files(server):
    return sorted(path for path in glob.glob(os.path.join(server.directory, "attachments", "*", "*")) if os.path.isfile(path))


async def pair(room, at=None):
    ana, bob = await room.come("ana", at=at), await room.come("bob", at=at)
    return ana, bob, (await talk(ana, bob))["id"]


async def test_while_it_is_off_there_is_nothing_at_its_paths(start):
    room = Room(start())
    ana, _, id = await pair(room)
    for method, path in [("POST", f"/v1/conversations/{id}/attachments"), ("GET", "/v1/attachments/" + "0" * 32 + ".bin")]:
        answer = await room.api.request(method, path, b"x" if method == "POST" else None, token=room.token("ana"))
        assert answer.status == 404, (method, path, answer)


# Processing


@pytest.mark.parametrize("orientation", [1, 6, 8])
async def test_a_picture_is_turned_and_made_harmless_and_has_a_thumbnail(room, server, orientation):
    ana, bob, id = await pair(room)
    secret = "S3CR3T-PLACE"
    data = jpeg(scene(800, 600), orientation, secret, quality=95)
    attachment = await uploaded(room, "ana", id, data, "image/jpeg", "?name=beach.jpg")
    assert set(attachment) == {"id", "kind", "url", "thumbnailURL", "sizeBytes", "name"}
    assert attachment["kind"] == "image" and attachment["name"] == "beach.jpg"
    base = f"http://{server.host}:{server.port}"
    assert NAME.fullmatch(attachment["url"].removeprefix(base)).groups() == (attachment["id"], ".jpg")
    assert NAME.fullmatch(attachment["thumbnailURL"].removeprefix(base)).groups() == (attachment["id"], "-small.jpg")
    for address, longest in ((attachment["url"], 800), (attachment["thumbnailURL"], 256)):
        status, headers, made = await fetch(address)
        assert status == 200 and headers["Content-Type"] == "image/jpeg" and "Content-Disposition" not in headers
        assert headers["Cache-Control"] == "private, max-age=31536000, immutable"
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Content-Security-Policy"] == POLICY
        assert max(shown(made).size) == longest and alike(shown(made), shown(data).resize(shown(made).size))
        assert not pictures.metadata(made) and secret.encode() not in made
    assert attachment["sizeBytes"] == int((await fetch(attachment["url"], "HEAD"))[1]["Content-Length"])
    # It is part of a message unchanged.
    sent = await say(ana, id, "", more={"attachments": [attachment]})
    assert sent["attachments"] == [as_sent(attachment)]


async def test_a_file_declared_as_a_picture_must_be_one(room, server):
    _, _, id = await pair(room)
    before = files(server)
    for data in (b"hello", jpeg(scene())[:500], png(scene())[:60], b"\0" * 10_000):
        for type in ("image/jpeg", "image/png", "IMAGE/JPEG; x=y"):
            assert refused(await upload(room, "ana", id, data, type), 422, "validation_failed", "attachment_not_an_image")
    # It is accepted as plain bytes.
    assert (await uploaded(room, "ana", id, b"hello"))["kind"] == "file"
    assert len(files(server)) == len(before) + 1


@pytest.mark.parametrize("type", [
    "image/jpg", "IMAGE/JPG; q=1", "image/pjpeg", "image/png", "application/octet-stream", None, "text/plain", "image/webp",
    "image/heic", "video/mp4", "nonsense"])
async def test_a_photo_is_one_by_its_bytes_and_tells_no_place_whatever_it_is_called(room, type):
    _, _, id = await pair(room)
    for data in (pictures.photo(), png(scene())):
        attachment = await uploaded(room, "ana", id, data, type, "?name=IMG_0001.bin")
        assert attachment["kind"] == "image" and "thumbnailURL" in attachment
        for address in (attachment["url"], attachment["thumbnailURL"]):
            status, headers, made = await fetch(address)
            assert status == 200 and headers["Content-Type"] == "image/jpeg" and not pictures.metadata(made)
            assert not shown(made).getexif().get_ifd(0x8825)
    # An upload that begins like a picture but is invalid is not stored, as other programs might read it as one.
    for data in (pictures.photo()[:400], b"\xff\xd8\xff" + b"\0" * 100, b"\x89PNG\r\n\x1a\n" + b"\0" * 100):
        assert refused(await upload(room, "ana", id, data, type), 422, "validation_failed", "attachment_not_an_image")


async def test_a_jpeg_has_so_many_scans_and_no_more(room):
    _, _, id = await pair(room)
    for scans, width, height, status in [
            (12, 64, 64, 201), (30, 64, 64, 201), (31, 64, 64, 422), (99, 6_320, 6_320, 422), (12, 6_320, 6_320, 201),
            (13, 6_320, 6_320, 422)]:
        started = time.monotonic()
        answer = await upload(room, "ana", id, pictures.many_scans(width, height, scans), "image/jpeg")
        assert answer.status == status, (scans, width, answer)
        assert time.monotonic() - started < PATIENCE


@pytest.mark.parametrize("type, kind, served", [
    (None, "file", "application/octet-stream"), ("application/pdf", "file", "application/pdf"),
    ("text/html", "file", "application/octet-stream"), ("image/svg+xml", "file", "application/octet-stream"),
    ("application/xhtml+xml; charset=utf-8", "file", "application/octet-stream"), ("video/mp4", "video", "video/mp4"),
    ("video/nonsense", "video", "application/octet-stream"), ("image/gif", "file", "image/gif"),
    ("text/javascript", "file", "application/octet-stream"), ("nonsense", "file", "application/octet-stream")])
async def test_everything_else_is_kept_as_it_is_and_offered_for_saving(room, type, kind, served):
    ana, bob, id = await pair(room)
    data = b"<script>alert(1)</script>" + os.urandom(200_000)
    attachment = await uploaded(room, "ana", id, data, type, "?name=" + quote("Größe \"1\".html"))
    assert set(attachment) == {"id", "kind", "url", "sizeBytes", "name"}
    assert attachment["kind"] == kind and attachment["sizeBytes"] == len(data) and attachment["name"] == 'Größe "1".html'
    assert NAME.fullmatch(urlsplit(attachment["url"]).path).groups() == (attachment["id"], ".bin")
    status, headers, body = await fetch(attachment["url"])
    assert status == 200 and body == data and headers["Content-Type"] == served
    assert headers["Content-Disposition"] == (
        "attachment; filename=\"Gr__e _1_.html\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22.html")
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Content-Security-Policy"] == POLICY
    assert headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert (await say(ana, id, "", more={"attachments": [attachment]}))["attachments"] == [as_sent(attachment)]


async def test_ranges_conditions_and_heads_are_answered(room):
    _, _, id = await pair(room)
    data = os.urandom(1_000_000)
    url = (await uploaded(room, "ana", id, data))["url"]
    status, headers, body = await fetch(url)
    assert status == 200 and body == data and headers["Accept-Ranges"] == "bytes"
    assert headers["Content-Disposition"] == "attachment"
    for range, part in [("bytes=0-0", data[:1]), ("bytes=700000-", data[700_000:]), ("bytes=-5", data[-5:]),
                        ("bytes=100-699999", data[100:700_000])]:
        status, part_headers, body = await fetch(url, headers={"Range": range})
        assert status == 206 and body == part and part_headers["Content-Disposition"] == "attachment", range
        assert part_headers["Content-Security-Policy"] == POLICY
    assert (await fetch(url, headers={"Range": "bytes=1000000-"}))[0] == 416
    assert (await fetch(url, headers={"If-None-Match": headers["ETag"]}))[0] == 304
    tag, modified = headers["ETag"], headers["Last-Modified"]
    for wanted, status in {
            "If-Match": {tag: 200, f'"x", {tag}': 200, "*": 200, '"x"': 412, f"W/{tag}": 412, tag.strip('"'): 412, "": 412},
            "If-Unmodified-Since": {modified: 200, "Fri, 01 Jan 2100 00:00:00 GMT": 200, "Sun, 06 Nov 1994 08:49:37 GMT": 412,
                                    "never": 200, "Sun, 06 Nov 1994 25:49:37 GMT": 200}}.items():
        for value, expected in status.items():
            for method in ("GET", "HEAD"):
                answer, answered, body = await fetch(url, method, {wanted: value})
                assert answer == expected and answered["ETag"] == tag, (wanted, value, method)
                assert body == (data if (answer, method) == (200, "GET") else b"")
    # In the order of RFC 9110: If-Match before If-None-Match, a tag before a time, both before a range.
    assert (await fetch(url, headers={"If-Match": '"x"', "If-None-Match": tag, "Range": "bytes=0-0"}))[0] == 412
    assert (await fetch(url, headers={"If-Match": tag, "If-None-Match": tag}))[0] == 304
    assert (await fetch(url, headers={"If-Match": tag, "If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"}))[0] == 200
    assert (await fetch(url, headers={"If-Match": tag, "Range": "bytes=0-0"}))[0] == 206
    status, head, body = await fetch(url, "HEAD")
    assert status == 200 and not body and int(head["Content-Length"]) == len(data)


async def test_nothing_else_is_served_there(room, server):
    for name in ["", "x", "..", "../secret", "..%2f..%2fsecret", "%2e%2e%2fsecret", "0" * 32, "0" * 32 + ".jpg",
                 "0" * 32 + ".bin", "0" * 31 + ".bin", "0" * 32 + "-small.jpg", "A" * 32 + ".bin", "0" * 32 + ".bin/x",
                 "secret", "0" * 32 + ".png", "x" * 4_000]:
        status, _, body = await fetch(f"http://{server.host}:{server.port}/v1/attachments/{name}")
        assert status == 404, (name, status, body)
    _, _, id = await pair(room)
    url = (await uploaded(room, "ana", id, b"hello"))["url"]
    for other in (url.replace(".bin", ".jpg"), url.replace("/attachments/", "/photos/"), url.replace(".bin", "-small.jpg")):
        assert (await fetch(other))[0] == 404, other


# Access and limits


async def test_only_members_upload_whether_there_is_a_conversation_or_not(room, server):
    _, _, id = await pair(room)
    before = files(server)
    for conversation in (id, "nothing"):
        assert refused(await upload(room, "cy", conversation, b"x"), 403, "forbidden")
    assert refused(await upload(room, None, id, b"x", token=room.backend), 403, "forbidden")
    answer = await room.api.request("POST", f"/v1/conversations/{id}/attachments", b"x")
    assert answer.status == 401
    assert files(server) == before


async def test_a_member_who_left_cannot_upload(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await group(ana, bob))["id"]
    await uploaded(room, "bob", id, b"x")
    await bob.did("changeMembers", conversation=id, remove=[bob.user])
    assert refused(await upload(room, "bob", id, b"x"), 403, "forbidden")
    await uploaded(room, "ana", id, b"x")


async def head_alone(server, lines):
    """The answer to a head, without a byte of its body."""
    def ask():
        with socket.create_connection((server.host, server.port), timeout=20) as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, answer.read().decode()
    return await asyncio.to_thread(ask)


async def test_uploads_are_rejected_before_their_body(room, server):
    _, _, id = await pair(room)
    path = f"/v1/conversations/{id}/attachments"

    def head(target=path, person="ana", length=MOST):
        return [f"POST {target} HTTP/1.1", "Host: x", f"Authorization: Bearer {room.token(person)}",
                "Content-Type: application/pdf"] + ([f"Content-Length: {length}"] if length is not None else [])
    for lines, status, code in [
            (head(length=MOST + 1), 413, "attachment_too_large"), (head(person="cy"), 403, "forbidden"),
            (head(path + "?name=a%2Fb"), 422, "validation_failed"), (head("/v1/conversations/none/attachments"), 403, "forbidden"),
            (head(length=0), 400, "bad_request"), (head(length=None), 411, "bad_request"),
            (head(length=None) + ["Transfer-Encoding: chunked"], 411, "bad_request")]:
        found, body = await head_alone(server, lines)
        assert found == status and f'"{code}"' in body, (lines[0], found, body)
    # The longest one is accepted.
    attachment = await uploaded(room, "ana", id, os.urandom(MOST), "video/mp4")
    assert attachment["sizeBytes"] == MOST


@pytest.mark.parametrize("query", [
    "?name=", "?name", "?name=.", "?name=..", "?name=a/b", "?name=a%2Fb", "?name=a%5Cb", "?name=%00", "?name=a%0D%0AX:1",
    "?name=%7F", "?name=%C2%80", "?name=%ff", "?name=%4", "?name=%zz", "?name=a&name=b", "?name=%E2%80%AEgpj.exe",
    "?name=" + "a" * 256, "?name=" + "%C3%A9" * 128])
async def test_bad_names_are_refused(room, query):
    _, _, id = await pair(room)
    assert refused(await upload(room, "ana", id, b"x", query=query), 422, "validation_failed", field="name")


async def test_names_are_sent_unchanged(room):
    _, _, id = await pair(room)
    for name in ("a", "...", "a+b & c=d%.pdf", "日本語.txt", "x" * 255, "it's;\"quoted\".txt", "😀"):
        attachment = await uploaded(room, "ana", id, b"x", query="?more=1&name=" + quote(name, safe=""))
        assert attachment["name"] == name
        headers = (await fetch(attachment["url"]))[1]
        assert headers["Content-Disposition"].endswith("filename*=UTF-8''" + quote(name, safe="!#$&+-.^_`|~")), name


async def test_uploads_have_a_rate_of_their_own(start):
    room = Room(start({"attachments.enabled": True, "attachments.perUserPerHour": 3}, shards=1))
    _, _, id = await pair(room)
    for _ in range(3):
        await uploaded(room, "ana", id, b"x")
    answer = await upload(room, "ana", id, b"x")
    assert refused(answer, 429, "rate_limited") and 0 < answer.json["retryAfter"] <= 1_200_000
    await uploaded(room, "bob", id, b"x")


async def test_how_large_an_attachment_may_be_is_a_setting(start):
    room = Room(start({"attachments.enabled": True, "attachments.maxBytes": 1_000}))
    _, _, id = await pair(room)
    await uploaded(room, "ana", id, b"x" * 1_000)
    assert refused(await upload(room, "ana", id, b"x" * 1_001), 413, "too_large", "attachment_too_large")


async def test_an_aborted_upload_leaves_nothing(room, server):
    _, _, id = await pair(room)
    before = files(server)
    connection = socket.create_connection((server.host, server.port))
    connection.sendall(f"POST /v1/conversations/{id}/attachments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.token('ana')}\r\n"
                       "Content-Length: 1000000\r\n\r\n".encode() + b"x" * 300_000)

    async def is_under_way():
        return (await upload(room, "ana", id, b"x")).status == 429

    async def is_over():
        return (await upload(room, "ana", id, b"x")).status == 201
    await eventually(lambda: room.api.metric("presence_http_uploads"), "it has begun")
    assert await is_under_way()
    connection.close()
    await eventually(is_over, "the next upload of hers")
    assert len(files(server)) == len(before) + 1


# How long uploads are kept

SOON = SETTINGS | {"attachments.unusedFor": "8s", "attachments.sweep": "1s"}


async def gone(url):
    async def is_gone():
        return (await fetch(url))[0] == 404
    await eventually(is_gone, f"{url} is gone", within=10 + PATIENCE)


async def test_a_deleted_message_takes_its_files_with_it(room, server):
    ana, bob, id = await pair(room)
    before = files(server)
    picture = await uploaded(room, "ana", id, jpeg(scene()), "image/jpeg")
    file = await uploaded(room, "ana", id, b"hello")
    first = await say(ana, id, "one", more={"attachments": [picture, file]})
    second = await say(ana, id, "two", more={"attachments": [file]})
    # Another conversation's message does not keep it.
    await say(bob, id, "three", more={"attachments": [picture, file]})
    await ana.did("deleteMessage", conversation=id, message=first["id"])
    await gone(picture["url"])
    await gone(picture["thumbnailURL"])
    assert (await fetch(file["url"]))[0] == 200
    answer = await room.api.request("DELETE", f"/v1/conversations/{id}/messages/{second['id']}", token=room.backend)
    assert answer.status == 200
    await gone(file["url"])
    assert files(server) == before


async def test_an_edit_keeps_the_file(room):
    ana, _, id = await pair(room)
    file = await uploaded(room, "ana", id, b"hello")
    message = await say(ana, id, "one", more={"attachments": [file]})
    await ana.did("editMessage", conversation=id, message=message["id"], text="two")
    assert (await fetch(file["url"]))[0] == 200


async def test_an_upload_that_no_message_mentions_goes_and_others_stay(start):
    server = start(SOON)
    room = Room(server)
    ana, _, id = await pair(room)
    kept = await uploaded(room, "ana", id, jpeg(scene()), "image/jpeg")
    await say(ana, id, "", more={"attachments": [kept]})
    unused = [await uploaded(room, "ana", id, b"x") for _ in range(30)]
    for each in unused:
        await gone(each["url"])
    assert len(files(server)) == 2
    assert (await fetch(kept["url"]))[0] == (await fetch(kept["thumbnailURL"]))[0] == 200
    assert await room.api.metric("presence_attachments_removed_total") == 30
    assert await room.api.metric("presence_attachments_total") == 31
    assert await room.api.metric("presence_attachment_bytes_total") >= 30 + kept["sizeBytes"]

    async def none_is_due():
        return await room.api.metric("presence_attachments_due") == 0
    await eventually(none_is_due, "nothing waits to be removed")


async def test_trimmed_messages_and_ended_conversations_remove_their_files(start):
    server = start(SETTINGS | {"attachments.unusedFor": "60s", "messages.keepPerConversation": 2})
    room = Room(server)
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await group(ana, bob))["id"]
    uploads = [await uploaded(room, "ana", id, b"x") for _ in range(3)]
    for each in uploads:
        await say(ana, id, "", more={"attachments": [each]})
    await gone(uploads[0]["url"])
    assert [(await fetch(each["url"]))[0] for each in uploads[1:]] == [200, 200]
    for person in (bob, ana):
        await person.did("changeMembers", conversation=id, remove=[person.user])
    for each in uploads[1:]:
        await gone(each["url"])
    assert files(server) == []


async def test_files_that_nobody_knows_of_are_swept_and_young_ones_are_not(start):
    server = start(SETTINGS | {"attachments.sweep": "1s"})
    room = Room(server)
    _, _, id = await pair(room)
    kept = await uploaded(room, "ana", id, b"kept")
    path = files(server)[0]
    folder = os.path.join(server.directory, "attachments")
    orphans = [os.path.join(folder, name[:2], name + end) for name, end in [("00" * 16, ".bin"), ("ff" * 16, ".jpg")]]
    young = os.path.join(folder, "11", "11" * 16 + ".bin")
    other = os.path.join(folder, "22", "read.me")
    for name in (*orphans, young, other):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w") as file:
            file.write("x")
    for name in (path, other, *orphans):
        os.utime(name, (time.time() - 3_600,) * 2)
    await eventually(lambda: not any(map(os.path.exists, orphans)), "what belongs to nobody is gone")
    assert os.path.exists(young) and os.path.exists(other) and (await fetch(kept["url"]))[0] == 200


async def test_a_server_killed_among_uploads_loses_no_file_and_leaves_none_behind(start):
    server = start(SOON)
    room = Room(server)
    ana, _, id = await pair(room)
    kept = [await uploaded(room, "ana", id, os.urandom(5_000)) for _ in range(3)]
    await say(ana, id, "", more={"attachments": kept})
    for _ in range(2):
        calls = [asyncio.create_task(asyncio.to_thread(
            try_upload, server, room.token(person), id)) for person in ("ana", "bob")]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        server.kill()
        await asyncio.gather(*calls)
        server.start()
    for file in files(server):
        with contextlib.suppress(FileNotFoundError):
            os.utime(file, (time.time() - 3_600,) * 2)
    await eventually(lambda: len(files(server)) == 3, "what messages mention, and nothing else", within=10 + PATIENCE)
    for each in kept:
        # By now the server has another port.
        assert (await fetch(f"http://{server.host}:{server.port}{urlsplit(each['url']).path}"))[0] == 200


def try_upload(server, token, id):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
    try:
        connection.request("POST", f"/v1/conversations/{id}/attachments", os.urandom(2_000_000),
                           {"Authorization": f"Bearer {token}"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


# In S3-compatible storage


async def test_in_a_bucket_attachments_are_behind_the_prefix_and_served_in_pieces(start, tmp_path):
    storage = Storage(str(tmp_path))
    try:
        server = start(SETTINGS | storage.settings(publicURL="https://cdn.example.org"))
        room = Room(server)
        ana, _, id = await pair(room)
        data = os.urandom(1_300_000)
        file = await uploaded(room, "ana", id, data, "application/pdf", "?name=a.pdf")
        picture = await uploaded(room, "ana", id, jpeg(scene()), "image/jpeg")
        message = await say(ana, id, "", more={"attachments": [file, picture]})
        place = "presence/photos/attachments/"
        assert storage.keys() == sorted(
            place + url.rsplit("/", 1)[1] for url in (file["url"], picture["url"], picture["thumbnailURL"]))
        status, headers, kept = storage.get(place + file["url"].rsplit("/", 1)[1])
        assert status == 200 and kept == data
        asked = len(storage.requests)
        # The bucket never serves strangers' files directly.
        status, headers, body = await fetch(file["url"])
        assert status == 200 and body == data and headers["Content-Disposition"].startswith("attachment; filename=\"a.pdf\"")
        assert [request.headers.get("Range") for request in storage.requests[asked:] if request.method == "GET"
                and not request.lists and request.key.endswith(".bin")] == [
            "bytes=0-524287", "bytes=524288-1048575", "bytes=1048576-1299999"]
        status, _, body = await fetch(file["url"], headers={"Range": "bytes=1000000-1100000"})
        assert status == 206 and body == data[1_000_000:1_100_001]
        status, headers, body = await fetch(file["url"], "HEAD")
        assert status == 200 and int(headers["Content-Length"]) == len(data) and not body
        assert (await fetch(picture["url"]))[0] == (await fetch(picture["thumbnailURL"]))[0] == 200
        storage.answer = lambda request: (503, "SlowDown") if request.method == "GET" and not request.lists else None
        assert (await fetch(file["url"]))[0] == 503
        storage.answer = lambda request: None
        await ana.did("deleteMessage", conversation=id, message=message["id"])
        await eventually(lambda: storage.keys() == [], "the bucket is empty")
        await gone(file["url"])
        assert not storage.wrong
    finally:
        storage.close()


# The document


async def test_every_answer_of_a_download_is_what_the_document_says(room):
    _, _, id = await pair(room)
    for data, type in ((b"hello", "text/html"), (jpeg(noise(64, 64)), "image/jpeg")):
        url = (await uploaded(room, "ana", id, data, type))["url"]
        for method in ("GET", "HEAD"):
            status, headers, _ = await fetch(url, method)
            stated = operation(method, "/v1/attachments/{name}").responses[status]
            for name, header in stated["headers"].items():
                if header.get("required"):
                    assert headers[name] == header["schema"].get("const", headers[name]) and headers[name], name
