"""Pictures in S3-compatible storage: signed as botocore signs, served, removed and swept, whatever the storage does."""

import asyncio
import os
import secrets
import threading
from urllib.parse import urlsplit

import pytest

from support.accounts import ON, PASSWORD, Accounts, refused, together
from support.patience import PATIENCE, eventually
from support.pictures import alike, jpeg, noise, png, scene, shown
from support.room import Room
from support.server import run
from support.settings import text
from support.storage import Storage
from test_26_photos import fetch, upload, uploaded


@pytest.fixture
def storage(tmp_path):
    storage = Storage(str(tmp_path))
    yield storage
    storage.close()


@pytest.fixture
def begin(start, storage):
    """Starts a server with pictures in the storage. By default, the sweep does not disturb a test's calls."""

    def begin(**more):
        names = {f"photos.{name}": value for name, value in ({"sweep": "1d"} | more).items()}
        return start(ON | storage.settings() | names)

    return begin


def keys_of(answer):
    return sorted("presence/photos/" + answer[member].rsplit("/", 1)[1] for member in ("photoURL", "thumbnailURL"))


async def test_a_picture_is_in_the_bucket_and_served_from_there(begin, storage):
    server = begin()
    ana = await Accounts(server).sign_up()
    answer, photo, thumbnail = await uploaded(ana, jpeg(noise(900, 700), quality=80))
    assert len(photo) > 150_000
    assert answer["photoURL"].startswith(f"http://{server.host}:{server.port}/v1/photos/")
    assert storage.keys() == keys_of(answer)
    for address, body in ((answer["photoURL"], photo), (answer["thumbnailURL"], thumbnail)):
        status, headers, kept = storage.get("presence/photos/" + address.rsplit("/", 1)[1])
        assert status == 200 and kept == body
        named = {name.lower(): value for name, value in headers.items()}
        assert named["content-type"] == "image/jpeg" and "immutable" in named["cache-control"]
        status, headers, _ = await fetch(address)
        assert status == 200 and headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert headers["Content-Type"] == "image/jpeg" and headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] and int(headers["Content-Length"]) == len(body)
        assert (await fetch(address, headers={"If-None-Match": headers["ETag"]}))[0] == 304
        head = await fetch(address, "HEAD")
        assert head[0] == 200 and not head[2] and int(head[1]["Content-Length"]) == len(body)
        end = len(body) - 1
        for first, last in [(2, 9), (0, end), (end // 2, end)]:
            part = await fetch(address, headers={"Range": f"bytes={first}-{last}"})
            assert part[0] == 206 and part[2] == body[first:last + 1]
    assert not os.path.exists(os.path.join(server.directory, "photos"))
    assert not storage.wrong and {request.method for request in storage.requests} >= {"HEAD", "PUT", "GET"}


async def test_an_unknown_name_causes_no_storage_request(begin, storage):
    server = begin()
    ana = await Accounts(server).sign_up()
    answer, photo, _ = await uploaded(ana, jpeg(scene()))
    base, before = answer["photoURL"].rsplit("/", 1)[0], len(storage.requests)
    names = [secrets.token_hex(16) + ending for ending in (".jpg", "-small.jpg") for _ in range(20)]
    answers = await asyncio.gather(*[fetch(f"{base}/{name}") for name in names])
    assert {status for status, _, _ in answers} == {404} and len(storage.requests) == before
    assert (await fetch(answer["photoURL"]))[2] == photo and len(storage.requests) == before + 1


async def test_removed_pictures_and_those_of_deleted_accounts_leave_the_bucket(begin, storage):
    ana = await Accounts(begin()).sign_up()
    first, _, _ = await uploaded(ana, jpeg(scene()))
    second, photo, _ = await uploaded(ana, png(scene()))
    # A replaced one stays for a while, for watchers without the newer address.
    assert alike(shown(photo), scene()) and storage.keys() == sorted(keys_of(first) + keys_of(second))
    assert (await fetch(first["photoURL"]))[0] == 200
    assert (await ana.call("DELETE", "/v1/me/photo")).status == 204
    assert storage.keys() == keys_of(first) and (await fetch(second["photoURL"]))[0] == 404
    await uploaded(ana, jpeg(scene()))
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    assert storage.keys() == keys_of(first) and not storage.wrong


async def test_invalid_pictures_never_reach_the_bucket(begin, storage):
    server = begin()
    ana = await Accounts(server).sign_up()
    refused(await upload(ana, b"hello"), 422, "validation_failed", "photo_not_an_image", "photo")
    for name in ["x.jpg", "../secret", "%2e%2e%2f" + "0" * 32 + ".jpg", "0" * 32 + ".jpg?list-type=2"]:
        assert (await fetch(f"http://{server.host}:{server.port}/v1/photos/{name}"))[0] == 404
    assert {(request.method, request.key) for request in storage.requests} <= {
        ("HEAD", ""), ("GET", ""), ("GET", "presence/photos/" + "0" * 32 + ".jpg")}


async def test_orphaned_objects_are_swept_page_by_page_and_nothing_else(begin, storage):
    storage.page = 3
    ana = await Accounts(begin(sweep="1s")).sign_up()
    kept, _, _ = await uploaded(ana, jpeg(scene()))
    names = [f"{number:032x}" for number in range(8)] + ["f" * 32]
    orphans = [f"presence/photos/{name}{end}" for name in names for end in (".jpg", "-small.jpg")]
    others = ["presence/photos/00-read.me", "other/" + "0" * 32 + ".jpg", "0" * 32 + ".jpg"]
    for key in orphans + others:
        storage.put(key)
    # By the storage's clock they are young: each part has been checked since.
    looked = len(storage.requests)
    await eventually(lambda: len({each.query["prefix"] for each in storage.requests[looked:] if each.lists}) == 256, "a whole look",
                     within=6 * PATIENCE)
    assert storage.keys() == sorted(orphans + others + keys_of(kept))
    storage.ahead = 3_600
    await eventually(lambda: storage.keys() == sorted(others + keys_of(kept)), "nothing is left that is nobody's",
                     within=6 * PATIENCE)
    assert not storage.wrong and (await fetch(kept["photoURL"]))[0] == 200


async def test_a_server_killed_within_an_upload_leaves_the_former_picture(begin, storage):
    server = begin(sweep="1s")
    ana = await Accounts(server).sign_up()
    first, _, _ = await uploaded(ana, jpeg(scene()))
    arrived, goes_on = threading.Event(), threading.Event()

    def hold(request):
        if request.method == "PUT" and request.key.endswith("-small.jpg"):
            arrived.set()
            goes_on.wait(30)

    storage.answer = hold
    attempt = asyncio.create_task(upload(ana, png(scene())))
    await asyncio.to_thread(arrived.wait, 30)
    server.kill()
    with pytest.raises(OSError):
        await attempt
    goes_on.set()
    await eventually(lambda: len(storage.keys()) == 4, "the thumbnail has come all the same")
    storage.ahead = 3_600
    server.start()
    await eventually(lambda: storage.keys() == keys_of(first), "what the crash has left is swept", within=3 * PATIENCE)
    path = urlsplit((await ana.me())["profile"]["photoURL"]).path
    assert (await fetch(f"http://{server.host}:{server.port}{path}"))[0] == 200


# A storage that fails


async def test_a_wrong_key_shows_at_the_start_and_never_in_a_log(begin, storage):
    right, storage.secret_key = storage.secret_key, "another"
    server = begin()
    ana = await Accounts(server).sign_up()
    await server.wait_for_log("pictures cannot be kept")
    answer = await upload(ana, jpeg(scene()))
    assert answer.status == 503 and answer.json["code"] == "unavailable" and answer.json["retryAfter"] > 0
    assert "403 SignatureDoesNotMatch" in server.whole_log()
    assert "photoURL" not in (await ana.me())["profile"] and storage.keys() == []
    assert await ana.accounts.api.metric("presence_photo_store_failures_total") >= 2
    page = (await ana.accounts.api.request("GET", "/metrics")).body
    assert right not in server.whole_log() + page + answer.body
    storage.secret_key = right
    await uploaded(ana, jpeg(scene()))


async def test_a_failed_request_is_repeated(begin, storage):
    ana = await Accounts(begin()).sign_up()
    failures = iter([(503, "SlowDown"), None, (None, ""), None, (500, "InternalError"), None])
    storage.answer = lambda request: next(failures, None) if request.method in ("PUT", "GET") and request.key else None
    answer = await upload(ana, jpeg(scene()))
    assert answer.status == 200 and storage.keys() == keys_of(answer.json)
    assert (await fetch(answer.json["photoURL"]))[0] == 200
    # All failed ones except the second exist again.
    assert len([each for each in storage.requests if each.key]) == 6


async def test_an_unreachable_storage_makes_pictures_unavailable_and_breaks_nothing_else(begin, storage):
    server = begin()
    ana = await Accounts(server).sign_up()
    kept, _, _ = await uploaded(ana, jpeg(scene()))
    storage.close()
    answer = await upload(ana, jpeg(scene()))
    assert answer.status == 503 and answer.json["code"] == "unavailable"
    status, _, body = await fetch(kept["photoURL"])
    assert status == 503 and b"retryAfter" in body
    assert (await ana.me())["profile"]["photoURL"] == kept["photoURL"]
    storage.open()
    await uploaded(ana, jpeg(scene()))


async def test_a_storage_that_hangs_holds_up_nobody_else(begin, storage):
    server = begin()
    room = Room(server)
    ana = await Accounts(server).sign_up()
    bob = await room.come("bob")
    arrived, goes_on = threading.Event(), threading.Event()

    def hold(request):
        if request.method == "PUT":
            arrived.set()
            goes_on.wait(30)

    storage.answer = hold
    attempt = asyncio.create_task(upload(ana, jpeg(scene())))
    await asyncio.to_thread(arrived.wait, 30)
    await together(*(ana.me() for _ in range(20)))
    assert await bob.get(ana.user)
    assert not attempt.done()
    goes_on.set()
    assert (await attempt).status == 200


# A public bucket


async def test_browsers_are_sent_to_a_public_bucket(begin, storage):
    storage.is_public = True
    base = f"{storage.endpoint}/{storage.bucket}/presence/photos"
    server = begin(**{"s3.publicURL": base + "/"})
    ana = await Accounts(server).sign_up()
    answer = (await upload(ana, jpeg(scene()))).json
    for member in ("photoURL", "thumbnailURL"):
        assert answer[member].startswith(f"http://{server.host}:{server.port}/v1/photos/")
        for method in ("GET", "HEAD"):
            status, headers, body = await fetch(answer[member], method)
            assert status == 302 and not body and "max-age=" in headers["Cache-Control"]
            assert headers["Location"] == base + "/" + answer[member].rsplit("/", 1)[1]
        assert (await fetch(headers["Location"]))[0] == 200
    assert (await fetch(f"http://{server.host}:{server.port}/v1/photos/secret"))[0] == 404
    assert not storage.wrong


# Settings

WRONG = {
    "endpoint": ["", "storage.example.org", "ftp://storage.example.org", "https://user:word@storage.example.org",
                 "https://storage.example.org/bucket", "https://storage.example.org?x=y"],
    "bucket": ["ab", "Pictures", "a..b", "-abc", "a/b", "x" * 64], "prefix": ["/a", "a//b", "../a/", "a b", "a?"],
    "region": ["", "a/b", "a b"], "accessKey": ["", "a/b", "a,b"], "secretKeyFile": ["", "/nowhere/secret"],
    "publicURL": ["http://cdn.example.org", "https://cdn.example.org?x", "cdn.example.org"],
}


@pytest.mark.parametrize("name,value", [(name, value) for name, values in WRONG.items() for value in values])
def test_a_setting_that_cannot_be_is_refused_at_the_start(storage, tmp_path, name, value):
    refused_at_start(tmp_path, ON | storage.settings(**{name: value}), "photos.s3." + name)


def test_settings_that_contradict_each_other_are_refused(storage, tmp_path):
    refused_at_start(tmp_path, ON | storage.settings() | {"photos.folder": "/tmp/pictures"}, "photos.folder")
    refused_at_start(tmp_path, ON | storage.settings(bucket=""), "photos.s3.bucket")


def test_a_secret_that_others_can_read_or_that_is_none_is_refused(storage, tmp_path):
    os.chmod(storage.key_file, 0o644)
    refused_at_start(tmp_path, ON | storage.settings(), storage.key_file)
    os.chmod(storage.key_file, 0o600)
    for secret in ("", "two words", "one\ntwo"):
        with open(storage.key_file, "w") as file:
            file.write(secret)
        said = refused_at_start(tmp_path, ON | storage.settings(), storage.key_file)
        assert not secret or secret not in said


def refused_at_start(tmp_path, configuration, named):
    file = tmp_path / "presenced.yaml"
    file.write_text(text(configuration))
    ended = run("serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--config", str(file))
    assert ended.returncode == 78 and ended.stdout == "" and named in ended.stderr, ended
    return ended.stderr


async def test_the_doctor_and_the_commands_for_accounts_work_with_it(begin, storage):
    server = begin(sweep="1s")
    ana = await Accounts(server).sign_up()
    await uploaded(ana, jpeg(scene()))
    config = server.command[server.command.index("--config") + 1]
    found = run("doctor", "--config", config, "--data-dir", server.directory)
    assert found.returncode == 0, found
    deleted = run("user", "delete", ana.user, "--yes", "--config", config, "--data-dir", server.directory)
    assert deleted.returncode == 0, deleted
    storage.ahead = 3_600
    await eventually(lambda: storage.keys() == [], "the picture is swept", within=3 * PATIENCE)
