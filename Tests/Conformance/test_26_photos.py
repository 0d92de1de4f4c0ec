"""Pictures: accepted and rejected ones, their processing, their addresses, and their removal."""

import asyncio
import contextlib
import glob
import http.client
import io
import os
import random
import re
import signal
import socket
import struct
import subprocess
import time
import zlib
from urllib.parse import urlsplit

import pytest
from PIL import Image

from support import pictures
from support.accounts import DOCUMENT, ON, PASSWORD, Accounts, refused, together
from support.api import API
from support.patience import eventually
from support.pictures import alike, bare_png, jpeg, noise, png, scene, shown
from support.processes import children
from support.room import Room

SETTINGS = ON | {"user_requests_per_second": 100_000, "user_request_burst": 100_000}
NAME = re.compile(r"/v1/photos/[0-9a-f]{32}\.jpg")
THUMBNAIL = re.compile(r"/v1/photos/[0-9a-f]{32}-small\.jpg")
MOST = 5 * 1024 * 1024


@pytest.fixture
def accounts(server):
    return Accounts(server)


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


async def upload(person, data, **headers):
    return await person.accounts.api.request("PUT", "/v1/me/photo", data, token=person.access, headers=headers)


async def uploaded(person, data):
    """Uploads a picture and returns the answer, the picture that is served, and its thumbnail."""
    answer = await upload(person, data)
    assert answer.status == 200, answer
    photo, thumbnail = await together(fetch(answer.json["photoURL"]), fetch(answer.json["thumbnailURL"]))
    assert photo[0] == thumbnail[0] == 200
    return answer.json, photo[2], thumbnail[2]


def not_an_image(answer):
    return refused(answer, 422, "validation_failed", "photo_not_an_image", "photo")


def files(server):
    return sorted(glob.glob(os.path.join(server.directory, "photos", "*", "*")))


def an_hour_later(server):
    """Files are old, and a replaced picture is no longer kept for watchers without the newer address."""
    redis = ["redis-cli", "-s", os.path.join(server.directory, "redis.sock")]

    def ask(*words):
        return subprocess.run([*redis, *words], capture_output=True, text=True, check=True, timeout=20).stdout.split()

    for key in ask("--scan", "--pattern", "*:photo:*"):
        [left] = ask("PTTL", key)
        assert int(left) <= 60_000
        if int(left) > 0:
            ask("DEL", key)
    for file in files(server):
        os.utime(file, (time.time() - 3_600,) * 2)


class Uploaders:
    """Enough users for more uploads than one user may make."""

    def __init__(self, accounts):
        self.accounts, self.left, self.person = accounts, 0, None

    async def next(self):
        if not self.left:
            self.person, self.left = await self.accounts.sign_up(), 18
        self.left -= 1
        return self.person


@pytest.fixture
def uploaders(accounts):
    return Uploaders(accounts)


async def test_while_accounts_are_off_there_is_nothing_at_their_paths(start):
    room = Room(start())
    for method, path in [("PUT", "/v1/me/photo"), ("DELETE", "/v1/me/photo"), ("GET", "/v1/photos/" + "0" * 32 + ".jpg")]:
        answer = await room.api.request(method, path, b"x" if method == "PUT" else None, token=room.token("ana"))
        assert answer.status == 404, (method, path, answer)


# Processing


async def test_a_picture_is_served_at_the_addresses_that_the_answer_and_the_profile_have(accounts, room, server):
    ana = await accounts.sign_up(displayName="Ana")
    bob = await room.come("bob")
    await bob.subscribe(ana.user)
    answer, photo, thumbnail = await uploaded(ana, jpeg(scene(800, 600)))
    assert set(answer) == {"photoURL", "thumbnailURL", "profile"}
    base = f"http://{server.host}:{server.port}"
    assert answer["photoURL"].startswith(base) and NAME.fullmatch(answer["photoURL"].removeprefix(base))
    assert answer["thumbnailURL"].startswith(base) and THUMBNAIL.fullmatch(answer["thumbnailURL"].removeprefix(base))
    profile = {member: answer[member] for member in ("photoURL", "thumbnailURL")}
    assert answer["profile"].items() >= (profile | {"displayName": "Ana"}).items()
    assert (await ana.me())["profile"] == answer["profile"]
    await bob.sees_profile(ana.user, **profile)
    assert (await bob.get(ana.user))[0]["profile"] == answer["profile"]
    assert alike(shown(photo), scene(800, 600)) and Image.open(io.BytesIO(thumbnail)).size == (256, 192)


async def test_it_is_a_file_that_may_be_kept_for_ever(accounts):
    ana = await accounts.sign_up()
    answer = (await upload(ana, jpeg(scene()))).json
    for address in (answer["photoURL"], answer["thumbnailURL"]):
        status, headers, body = await fetch(address)
        assert status == 200 and headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert headers["Content-Type"] == "image/jpeg" and headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] and int(headers["Content-Length"]) == len(body)
        assert (await fetch(address, headers={"If-None-Match": headers["ETag"]}))[0] == 304
        head = await fetch(address, "HEAD")
        assert head[0] == 200 and not head[2] and head[1]["Content-Length"] == headers["Content-Length"]
        part = await fetch(address, headers={"Range": "bytes=2-9"})
        assert part[0] == 206 and part[2] == body[2:10]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("progressive", [False, True])
async def test_a_picture_is_rotated_and_loses_its_metadata(
        accounts, uploaders, mode, progressive, orientation):
    secret = "S3CR3T-PLACE"
    data = jpeg(scene(mode=mode), orientation, secret, progressive=progressive, quality=95)
    assert secret.encode() in data
    _, photo, thumbnail = await uploaded(await uploaders.next(), data)
    assert alike(shown(photo), shown(data)), (shown(photo).size, shown(data).size)
    for made in (photo, thumbnail):
        assert not pictures.metadata(made) and secret.encode() not in made
        assert Image.open(io.BytesIO(made)).mode == "RGB"


PNGS = {
    "grey 1": lambda: png(scene(mode="1")), "grey": lambda: png(scene(mode="L")),
    "grey 2": lambda: bare_png(64, 64, 2, 0, b"".join(b"\0" + bytes([0x1B]) * 16 for _ in range(64))),
    "grey 4": lambda: bare_png(64, 64, 4, 0, b"".join(b"\0" + bytes([0x5A]) * 32 for _ in range(64))),
    "grey 16": lambda: png(scene(mode="L").convert("I").point(lambda value: value * 257).convert("I;16")),
    "grey and alpha": lambda: png(scene(mode="LA")), "colour": lambda: png(scene()),
    "colour 16": lambda: bare_png(64, 64, 16, 2, b"".join(b"\0" + b"\xC8\0\x64\0\x32\0" * 64 for _ in range(64))),
    "colour and alpha": lambda: png(scene(mode="RGBA")), "palette": lambda: png(scene(mode="P")),
    "palette 4": lambda: png(scene(mode="P").quantize(12), bits=4),
    "a transparent colour": lambda: png(scene(), transparency=(255, 0, 0)),
    "a transparent entry": lambda: png(scene().quantize(8), transparency=0),
    "half transparent": lambda: png(Image.new("RGBA", (64, 64), (200, 0, 0, 128))),
    "alpha 16": lambda: bare_png(64, 64, 16, 6, b"".join(b"\0" + b"\xC8\0\0\0\0\0\x80\0" * 64 for _ in range(64))),
}


@pytest.mark.parametrize("kind", PNGS)
async def test_png_of_every_kind_over_white(accounts, uploaders, kind):
    data = PNGS[kind]()
    _, photo, _ = await uploaded(await uploaders.next(), data)
    want = shown(data)
    if kind in ("colour 16", "alpha 16", "grey 2", "grey 4", "grey 1"):
        # Debian's PIL is not reliable for these.
        want = Image.new("RGB", (64, 64), {
            "colour 16": (200, 100, 50), "alpha 16": (227, 127, 127), "grey 2": (127, 127, 127),
            "grey 4": (127, 127, 127), "grey 1": (0, 0, 0)}[kind])
        middle = shown(photo).resize((1, 1), Image.BOX).getpixel((0, 0))
        assert kind == "grey 1" or all(abs(a - b) < 12 for a, b in zip(middle, want.getpixel((0, 0)))), middle
    else:
        assert alike(shown(photo), want), [shown(photo).getpixel((24, 16)), want.getpixel((24, 16))]


async def test_an_interlaced_png(accounts):
    ana = await accounts.sign_up()
    # Adam7 of 8 × 8 grey pixels, all 200: passes of 1, 1, 2, 4, 8, 16 and 32 pixels.
    rows = b"".join(b"\0" + b"\xC8" * width for width, count in
                    [(1, 1), (1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (8, 4)] for _ in range(count))
    data = bare_png(8, 8, 8, 0, rows, interlaced=1)
    assert Image.open(io.BytesIO(data)).getpixel((7, 7)) == 200
    _, photo, _ = await uploaded(ana, data)
    assert all(abs(value - 200) < 3 for value in shown(photo).getpixel((7, 7)))


async def test_the_size_is_bounded_and_small_ones_stay_as_they_are(accounts):
    ana = await accounts.sign_up()
    for data, size in [(jpeg(scene(4_100, 3_000)), (2048, 1498)), (png(scene(1_000, 5_000)), (409, 2048)),
                       (jpeg(scene(2_048, 16)), (2048, 16)), (jpeg(scene(30, 20)), (30, 20)), (png(scene(1, 1)), (1, 1)),
                       (png(scene(9_000, 1)), (2048, 1))]:
        _, photo, thumbnail = await uploaded(ana, data)
        assert Image.open(io.BytesIO(photo)).size == size
        assert max(Image.open(io.BytesIO(thumbnail)).size) <= 256


async def test_a_picture_that_compresses_badly_has_less_detail(accounts):
    ana = await accounts.sign_up()
    data = jpeg(noise(2_600, 2_000), quality=70)
    assert 1_000_000 < len(data) <= MOST
    _, photo, thumbnail = await uploaded(ana, data)
    assert len(photo) <= 500_000 and len(thumbnail) <= 500_000
    assert max(Image.open(io.BytesIO(photo)).size) <= 2_048


# Invalid pictures


async def test_a_truncated_picture_is_rejected(accounts, uploaders):
    # Cut at each kilobyte, and just before its end.
    for data in [jpeg(noise(150, 120), quality=90), jpeg(noise(150, 120), quality=90, progressive=True),
                 png(noise(60, 60))]:
        assert len(data) > 8_000
        for end in [0, 1, 3, 20, *range(1_024, len(data), 1_024), len(data) - 100, len(data) - 1]:
            person = await uploaders.next()
            not_an_image(await upload(person, data[:end]))
        await uploaded(await uploaders.next(), data)


async def test_bytes_behind_the_picture_are_dropped(accounts):
    ana = await accounts.sign_up()
    for data in [jpeg(scene()), png(scene())]:
        _, photo, thumbnail = await uploaded(ana, data + b"<script>S3CR3T</script>" + b"PK\x03\x04" + data)
        assert alike(shown(photo), scene())
        for made in (photo, thumbnail):
            assert b"S3CR3T" not in made and b"PK\x03\x04" not in made and made.endswith(b"\xff\xd9")


BOMBS = {
    "40 million pixels and some": lambda: bare_png(6_400, 6_400, 1, 0, (b"\0" + b"\0" * 800) * 6_400),
    "900 million pixels": lambda: bare_png(30_000, 30_000, 1, 0, (b"\0" + b"\0" * 3_750) * 30_000),
    "more pixels than there are numbers": lambda: bare_png(2**31 - 1, 2**31 - 1, 8, 6, b"\0"),
    "none": lambda: bare_png(0, 10, 8, 2, b"\0"),
    "a long text": lambda: bare_png(1, 1, 8, 0, b"\0", extra=pictures.chunk(b"IDAT", b"")),
    "a JPEG of 65,500 a side": lambda: re.sub(
        rb"(\xff\xc0\x00\x11\x08)....", lambda found: found[1] + struct.pack(">HH", 65_500, 65_500), jpeg(scene()), 1,
        re.DOTALL),
    "a JPEG whose height comes later": lambda: re.sub(
        rb"(\xff\xc0\x00\x11\x08)..", lambda found: found[1] + b"\0\0", jpeg(scene()), 1, re.DOTALL),
}


@pytest.mark.parametrize("kind", BOMBS)
async def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(accounts, kind):
    ana = await accounts.sign_up()
    data = BOMBS[kind]()
    assert len(data) < MOST
    begun = time.monotonic()
    not_an_image(await upload(ana, data))
    assert time.monotonic() - begun < 8


async def test_a_text_that_unpacks_to_much_is_not_unpacked(accounts):
    ana = await accounts.sign_up()
    text = pictures.chunk(b"zTXt", b"a\0\0" + zlib.compress(b"\0" * 200_000_000, 9))
    assert len(text) < MOST
    rows = b"".join(b"\0" + b"\xC8\x64\x32" * 64 for _ in range(64))
    _, photo, _ = await uploaded(ana, bare_png(64, 64, 8, 2, rows, extra=text))
    assert shown(photo).size == (64, 64)


OTHERS = {
    "nothing": b"", "a text": b"hello", "a page": b"<html><body>hello", "a GIF": b"GIF89a" + b"\0" * 100,
    "a WebP": b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 100, "a HEIC": b"\0\0\0\x18ftypheic" + b"\0" * 100,
    "an SVG": b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
    "a PostScript": b"%!PS-Adobe-3.0\n(/etc/passwd) run", "a ZIP": b"PK\x03\x04" + b"\0" * 100,
    "the beginning of a JPEG": b"\xff\xd8\xff", "the beginning of a PNG": b"\x89PNG\r\n\x1a\n",
    "a PDF with a JPEG in it": b"%PDF-1.4\n" + jpeg(scene()),
    "a text before a JPEG": b"hello" + jpeg(scene()), "a BMP": b"BM" + b"\0" * 100,
    "a program": b"\x7fELF" + b"\0" * 100,
}


@pytest.mark.parametrize("kind", OTHERS)
async def test_other_formats_are_rejected_whatever_their_type(accounts, kind):
    ana = await accounts.sign_up()
    for header in ({}, {"Content-Type": "image/jpeg"}, {"Content-Type": "image/png"}):
        not_an_image(await upload(ana, OTHERS[kind], **header))
    assert "photoURL" not in (await ana.me())["profile"]


async def test_damaged_pictures_harm_nobody(accounts, uploaders, server, room):
    """Bytes changed at random: every upload is answered, without other effects."""
    chance = random.Random(7)
    for data in [jpeg(noise(80, 60), quality=80), jpeg(noise(80, 60), progressive=True), png(noise(60, 40))]:
        for _ in range(25):
            damaged = bytearray(data)
            for _ in range(chance.randint(1, 6)):
                damaged[chance.randrange(2, len(damaged))] = chance.randrange(256)
            answer = await upload(await uploaders.next(), bytes(damaged))
            assert answer.status == 200 or not_an_image(answer)
    assert await room.api.metric("presence_photos_killed_total") == 0


# Heads


async def test_a_length_is_needed(accounts, server):
    ana = await accounts.sign_up()
    answer = await asyncio.to_thread(raw, server, ana.access, b"Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 411 ") and b'"code":"bad_request"' in answer


async def test_a_picture_that_is_too_large_is_rejected_by_its_head(accounts, server):
    ana = await accounts.sign_up()
    answer = await asyncio.to_thread(raw, server, ana.access, b"Content-Length: %d" % (MOST + 1))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code":"too_large"' in answer and b'"reason":"photo_too_large"' in answer
    # At the limit it is read.
    data = jpeg(scene())
    answer, photo, _ = await uploaded(ana, data + b"\0" * (MOST - len(data)))
    assert alike(shown(photo), scene())


async def test_the_token_is_judged_by_the_head(accounts, server, room):
    for token, status in [(None, b"401"), ("none", b"401")]:
        answer = await asyncio.to_thread(raw, server, token, b"Content-Length: 5000000")
        assert answer.startswith(b"HTTP/1.1 " + status), answer


def raw(server, token, header, body=b""):
    """Sends a request with only the given part of its body, and returns the answer."""
    with socket.create_connection((server.host, server.port), timeout=20) as connection:
        lines = [b"PUT /v1/me/photo HTTP/1.1", b"Host: x", header]
        if token:
            lines.append(b"Authorization: Bearer " + token.encode())
        connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        answer = b""
        while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
            came = connection.recv(65536)
            if not came:
                break
            answer += came
        return answer


async def test_tokens_without_an_account_and_backends(accounts, room):
    for method, body in [("PUT", jpeg(scene())), ("DELETE", None)]:
        refused(await accounts.api.request(method, "/v1/me/photo", body, token=room.token("ana")), 404, "not_found")
        refused(await accounts.api.request(method, "/v1/me/photo", body), 401, "unauthorized")
    refused(await accounts.api.request("DELETE", "/v1/me/photo", token=room.backend), 403, "forbidden")
    refused(await accounts.api.request("PUT", "/v1/me/photo", jpeg(scene()), token=room.backend), 403, "forbidden")


async def test_one_may_change_it_often_within_an_hour(start):
    ana = await Accounts(start(ON, shards=1)).sign_up()
    data = jpeg(scene(20, 20))
    for _ in range(10):
        assert (await upload(ana, data)).status == 200
    statuses = [(await upload(ana, data)).status for _ in range(15)]
    assert 429 in statuses and set(statuses) == {200, 429}


# Removal


async def test_a_replaced_picture_stays_a_while_and_a_removed_one_is_deleted(start):
    server = start(ON | {"photos.sweep": "1s"})
    accounts, room = Accounts(server), Room(server)
    ana = await accounts.sign_up()
    bob = await room.come("bob")
    await bob.subscribe(ana.user)
    first, _, _ = await uploaded(ana, jpeg(scene()))
    assert len(files(server)) == 2
    for file in files(server):
        os.utime(file, (time.time() - 3_600,) * 2)
    second, _, _ = await uploaded(ana, png(scene()))
    assert len({first[key] for key in ("photoURL", "thumbnailURL")} | {second[key] for key in ("photoURL", "thumbnailURL")}) == 4
    # Watchers without the newer address still get the first picture, though a sweep has run.
    await asyncio.sleep(2.5)
    for member in ("photoURL", "thumbnailURL"):
        assert (await fetch(first[member]))[0] == (await fetch(second[member]))[0] == 200
    an_hour_later(server)
    await eventually(lambda: len(files(server)) == 2, "the first is gone")
    for member in ("photoURL", "thumbnailURL"):
        assert (await fetch(first[member]))[0] == 404 and (await fetch(second[member]))[0] == 200
    answer = await ana.call("DELETE", "/v1/me/photo")
    assert answer.status == 204
    for member in ("photoURL", "thumbnailURL"):
        assert (await fetch(second[member]))[0] == 404
    assert files(server) == []
    profile = (await ana.me())["profile"]
    assert "photoURL" not in profile and "thumbnailURL" not in profile
    await eventually(lambda: bob.profile[ana.user] == profile, "the profile without a picture")
    assert (await ana.call("DELETE", "/v1/me/photo")).status == 204


async def test_the_picture_of_a_deleted_account_is_gone(accounts, server):
    ana = await accounts.sign_up()
    answer, _, _ = await uploaded(ana, jpeg(scene()))
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    for member in ("photoURL", "thumbnailURL"):
        assert (await fetch(answer[member]))[0] == 404


async def test_an_address_of_their_own_takes_the_place_of_picture_and_thumbnail(accounts, room):
    ana = await accounts.sign_up()
    await uploaded(ana, jpeg(scene()))
    answer = await ana.call("PATCH", "/v1/me", {"changes": {"photoURL": "https://example.org/a.jpg"}})
    assert answer.json["profile"]["photoURL"] == "https://example.org/a.jpg" and "thumbnailURL" not in answer.json["profile"]
    # The next upload takes the place of that.
    answer, _, _ = await uploaded(ana, jpeg(scene()))
    client = await room.come("ana", token=ana.access)
    profile = await client.update(photoURL=None)
    assert "photoURL" not in profile and "thumbnailURL" not in profile
    # A change of something else leaves it.
    answer, _, _ = await uploaded(ana, jpeg(scene()))
    profile = await client.update(displayName="Ana B.", photoURL=answer["photoURL"])
    assert profile["thumbnailURL"] == answer["thumbnailURL"]


async def test_two_uploads_of_one_user_leave_one_picture(start):
    server = start(ON | {"photos.sweep": "1s"})
    ana = await Accounts(server).sign_up()
    answers = await together(*(upload(ana, jpeg(scene(200 + number, 100))) for number in range(6)))
    assert set(answer.status for answer in answers) <= {200, 429} and 200 in [answer.status for answer in answers]
    profile = (await ana.me())["profile"]
    assert (await fetch(profile["photoURL"]))[0] == 200 and (await fetch(profile["thumbnailURL"]))[0] == 200
    an_hour_later(server)
    await eventually(lambda: len(files(server)) == 2, "one picture")
    assert (await fetch(profile["photoURL"]))[0] == 200 and (await fetch(profile["thumbnailURL"]))[0] == 200


async def test_files_left_by_a_crash_are_swept(start):
    server = start(ON | {"photos.sweep": "1s"})
    accounts = Accounts(server)
    ana, bob = await together(accounts.sign_up(), accounts.sign_up())
    kept, _, _ = await uploaded(ana, jpeg(scene()))
    other, _, _ = await uploaded(bob, jpeg(scene()))
    await bob.call("PATCH", "/v1/me", {"changes": {"photoURL": "https://example.org/b.jpg"}})
    orphans = []
    for name in ("0" * 32, "f" * 32):
        folder = os.path.join(server.directory, "photos", name[:2])
        os.makedirs(folder, exist_ok=True)
        orphans += [os.path.join(folder, name + end) for end in (".jpg", "-small.jpg")]
    young = os.path.join(os.path.dirname(orphans[0]), "00" + "1" * 30 + ".jpg")
    for file in (*orphans, young):
        with open(file, "wb") as out:
            out.write(b"x")
    # As if an hour had passed, for all but one.
    for file in files(server):
        if file != young:
            os.utime(file, (time.time() - 3_600,) * 2)
    await eventually(lambda: not any(map(os.path.exists, orphans)), "the orphans are gone")
    await eventually(lambda: len(files(server)) == 3, "what belongs to nobody is gone")
    assert os.path.exists(young) and (await fetch(kept["photoURL"]))[0] == (await fetch(kept["thumbnailURL"]))[0] == 200
    assert (await fetch(other["photoURL"]))[0] == 404


async def test_pictures_of_another_installation_are_left_alone(start, tmp_path):
    """Its Redis does not know them, like one that has lost its data."""
    settings = ON | {"photos.folder": str(tmp_path / "pictures"), "photos.sweep": "1s"}
    ana = await Accounts(start(settings)).sign_up()
    kept, _, _ = await uploaded(ana, jpeg(scene()))
    await eventually(lambda: (tmp_path / "pictures" / "installation").exists(), "they are marked")
    for file in (tmp_path / "pictures").glob("*/*"):
        os.utime(file, (time.time() - 3_600,) * 2)
    other = start(settings)
    await eventually(lambda: "the files of another installation" in other.whole_log(), "it is told")
    assert (await API(other).metric("presence_photo_store_failures_total")) == 1
    assert (await fetch(kept["photoURL"]))[0] == 200 and len(list((tmp_path / "pictures").glob("*/*"))) == 2


async def test_pictures_stay_when_redis_loses_its_data(start, tmp_path):
    """So that they exist when its backup is restored."""
    redis = start.redis()
    server = start(ON | {"photos.folder": str(tmp_path / "pictures"), "photos.sweep": "1s"}, redis=redis)
    ana = await Accounts(server).sign_up()
    kept, _, _ = await uploaded(ana, jpeg(scene()))
    await eventually(lambda: (tmp_path / "pictures" / "installation").exists(), "they are marked")
    for file in (tmp_path / "pictures").glob("*/*"):
        os.utime(file, (time.time() - 3_600,) * 2)
    redis.command("FLUSHALL")
    await eventually(lambda: "this one's Redis has lost its data" in server.whole_log(), "it is told")
    assert (await fetch(kept["photoURL"]))[0] == 200 and len(list((tmp_path / "pictures").glob("*/*"))) == 2


async def test_a_server_killed_among_uploads_leaves_each_with_a_picture_that_is_there(start):
    server = start(ON | {"photos.sweep": "1s"})
    accounts = Accounts(server)
    people = await together(*(accounts.sign_up() for _ in range(4)))
    for person in people:
        await uploaded(person, jpeg(scene()))

    async def attempt(person):
        try:
            return await upload(person, jpeg(noise(900, 700), quality=80))
        except OSError:
            return None

    for _ in range(3):
        calls = [asyncio.create_task(attempt(person)) for person in people]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        server.kill()
        await asyncio.gather(*calls)
        server.start()
        for person in people:
            profile = (await person.me())["profile"]
            for member in ("photoURL", "thumbnailURL"):
                # By now the server has another port.
                assert profile[member].startswith(f"http://{server.host}:{server.port}/")
                assert (await fetch(profile[member]))[0] == 200
    an_hour_later(server)
    await eventually(lambda: len(files(server)) == 8, "two files a person")


# Addresses


async def test_addresses_have_the_configured_base(start):
    server = start(ON | {"photos.publicURL": "https://cdn.example.org/presence/"})
    ana = await Accounts(server).sign_up()
    answer = (await upload(ana, jpeg(scene()))).json
    base = "https://cdn.example.org/presence"
    assert NAME.fullmatch(answer["photoURL"].removeprefix(base)) and answer["profile"]["photoURL"] == answer["photoURL"]
    assert (await fetch(f"http://{server.host}:{server.port}" + answer["photoURL"].removeprefix(base)))[0] == 200


async def test_addresses_have_the_base_configured_at_their_delivery(start):
    """Not the setting of the time when the picture was uploaded."""
    redis = start.redis()
    bases = ["https://one.example.org", "https://two.example.org/presence"]
    first = start(ON | {"photos.publicURL": bases[0]}, redis=redis, shards=1)
    accounts, room = Accounts(first), Room(first)
    ana = await accounts.sign_up()
    watcher = await room.come("bob")
    await watcher.subscribe(ana.user)
    uploads = (await upload(ana, jpeg(scene()))).json
    path = uploads["photoURL"].removeprefix(bases[0])
    small = uploads["thumbnailURL"].removeprefix(bases[0])
    assert NAME.fullmatch(path) and THUMBNAIL.fullmatch(small)
    await watcher.sees_profile(ana.user, photoURL=bases[0] + path, thumbnailURL=bases[0] + small)
    second = start(ON | {"photos.publicURL": bases[1]}, redis=redis, directory=first.directory, shards=1)
    third = start(ON, redis=redis, directory=first.directory, shards=1)
    for server, base in [(second, bases[1]), (third, f"http://{third.host}:{third.port}"), (first, bases[0])]:
        told = {"photoURL": base + path, "thumbnailURL": base + small}
        api, client = Accounts(server).api, await room.come("cy", at=server)
        me = (await api.request("GET", "/v1/me", token=ana.access)).json["profile"]
        known = (await api.request("GET", f"/v1/users/{ana.user}", token=room.backend)).json["profile"]
        asked = (await client.get(ana.user))[0]["profile"]
        await client.subscribe(ana.user)
        # A change publishes the new address, with the present picture.
        text = 'A ":"photo: \\"'
        changed = await api.request("PATCH", "/v1/me", {"changes": {"displayName": text + base}}, token=ana.access)
        seen = await client.sees_profile(ana.user, displayName=text + base)
        for profile in (me, known, asked, changed.json["profile"], seen):
            assert {member: profile[member] for member in told} == told
    # An address under another base means the same picture.
    answer = await ana.call("PATCH", "/v1/me", {"changes": {"photoURL": bases[1] + path}})
    assert answer.json["profile"]["photoURL"] == bases[0] + path and answer.json["profile"]["thumbnailURL"] == bases[0] + small
    answer = await ana.call("PATCH", "/v1/me", {"changes": {"photoURL": bases[1] + small}})
    assert answer.json["profile"]["photoURL"] == bases[1] + small and "thumbnailURL" not in answer.json["profile"]


async def test_files_are_in_the_configured_folder(start, tmp_path):
    ana = await Accounts(start(ON | {"photos.folder": str(tmp_path / "pictures")})).sign_up()
    await uploaded(ana, jpeg(scene()))
    kept = list((tmp_path / "pictures").glob("*/*"))
    assert len(kept) == 2 and all(file.stat().st_mode & 0o077 == 0 for file in kept)


async def test_nothing_else_is_served_there(accounts, server):
    for name in ["", "x", "..", "../secret", "..%2f..%2fsecret", "%2e%2e%2fsecret", "0" * 32, "0" * 32 + ".jpg", "0" * 31 + ".jpg",
                 "0" * 32 + "-small.jpg", "A" * 32 + ".jpg", "0" * 32 + ".jpg/x", "secret", "0" * 32 + ".png", "x" * 4_000]:
        status, _, body = await fetch(f"http://{server.host}:{server.port}/v1/photos/{name}")
        assert status == 404, (name, status, body)


# The process that decodes


def decoding(server):
    """The processes that are decoding, already confined: the id of each, its command and its status."""
    for child in children(server.process.pid):
        try:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                command = file.read().split(b"\0")
            with open(f"/proc/{child}/status") as file:
                status = file.read()
        except OSError:
            continue
        if command[1:2] == [b"photo-worker"] and "Seccomp:\t2" in status:
            yield child, command, status


async def test_it_is_a_process_with_nothing_of_the_server(accounts, uploaders, server):
    """Seen from outside while it works: its open files, and its allowed system calls."""
    people = [await uploaders.accounts.sign_up() for _ in range(4)]
    data = jpeg(noise(2_600, 2_000), quality=70)

    async def upload_in_the_end(person):
        # On a machine that stalls, a picture may take longer than allowed; the client can send it again.
        while (answer := await upload(person, data)).status == 503:
            await asyncio.sleep(answer.json["retryAfter"] / 1_000)
        return answer

    calls = [asyncio.create_task(upload_in_the_end(person)) for person in people]

    def look():
        for child, command, status in decoding(server):
            try:
                with open(f"/proc/{child}/limits") as file:
                    return command, sorted(os.listdir(f"/proc/{child}/fd")), status, file.read()
            except OSError:
                pass

    seen = await eventually(look, "a process that decodes", every=0.001)
    command, descriptors, status, limits = seen
    assert descriptors == ["0", "1", "2"] and "NoNewPrivs:\t1" in status
    assert re.search(r"Max open files\s+0\s+0", limits) and re.search(r"Max processes\s+0\s+0", limits)
    assert re.search(r"Max cpu time\s+10\s+11", limits)
    assert {answer.status for answer in await asyncio.gather(*calls)} == {200}
    await eventually(lambda: not look(), "none is left")


async def ended(server, accounts, data, end):
    """Returns a user, and the answer to their upload, whose process received a signal. On a busy machine it may end
    before it is seen or signalled: then the picture exists."""
    for _ in range(50):
        person = await accounts.sign_up()
        call = asyncio.create_task(upload(person, data))
        while not call.done():
            if seen := next(decoding(server), None):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(seen[0], end)
                break
            await asyncio.sleep(0.001)
        if (answer := await call).status != 200:
            return person, answer
    raise AssertionError("no process was ended while it decoded")


async def test_the_end_of_the_process_shows_whether_the_picture_is_at_fault(start):
    """A process that is killed from outside, for its time or by a kernel without memory, has found nothing wrong with
    the picture."""
    server = start(SETTINGS)
    accounts, room = Accounts(server), Room(server)
    data = jpeg(noise(2_600, 2_000), quality=70)
    for count, end in enumerate([signal.SIGKILL, signal.SIGXCPU, signal.SIGSEGV], 1):
        ana, answer = await ended(server, accounts, data, end)
        if end == signal.SIGKILL:
            error = refused(answer, 503, "unavailable")
            assert error["retryAfter"] > 0 and "outcomeUnknown" not in error
        else:
            not_an_image(answer)
        assert "photoURL" not in (await ana.me())["profile"]
        assert await room.api.metric("presence_photos_killed_total") == count
    await uploaded(ana, jpeg(scene()))


# The document


async def test_every_example_of_a_refusal_is_what_the_server_answers(accounts):
    ana = await accounts.sign_up()
    answered = [(await upload(ana, b"hello")).json,
                (await upload(ana, b"\0" * (MOST + 1))).json,
                (await accounts.api.request("GET", "/v1/photos/" + "0" * 32 + ".jpg")).json]
    untrue = [place for place, _, _, value in DOCUMENT.examples()
              if re.match("#/components/responses/(No)?Photo", place) and value not in answered]
    assert not untrue, f"{untrue}: {answered}"
