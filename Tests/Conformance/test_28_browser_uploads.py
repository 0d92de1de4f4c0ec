"""Uploads by presence-messages.js in Chromium: files for messages, with progress, cancelled, rejected."""

import pytest

from support.library import refused, stored, talking
from support.line import Line
from support.patience import eventually
from support.room import Room
from support.talks import talk

MOST = 3_000_000
REFUSED = ("Failed to load resource", "WebSocket connection to")


@pytest.fixture
def room(start):
    return Room(start({"attachments.enabled": True, "attachments.maxBytes": MOST, "attachments.perUserPerHour": 1000}, shards=1))


async def conversation_of(room):
    """A conversation of ana and bob."""
    ana, bob = await room.come("ana", device="phone"), await room.come("bob")
    return (await talk(ana, bob))["id"]


async def test_a_file_is_uploaded_with_progress_and_goes_with_a_message(chromium, room):
    async with Line(room.server) as line, chromium:
        id = await conversation_of(room)
        page = await talking(chromium, line, room)
        await page.run(f"""
            globalThis.shares = [];
            globalThis.file = new File([new Uint8Array({MOST}).fill(7)], "Größe 1.pdf", {{ type: "application/pdf" }});
            globalThis.made = await messages.upload({id!r}, file, {{ progress: (share) => shares.push(share) }});""")
        made = await page.value("made")
        assert made["kind"] == "file" and made["sizeBytes"] == MOST and made["name"] == "Größe 1.pdf"
        shares = await page.value("shares")
        assert shares == sorted(shares) and shares[-1] == 1
        # A Blob that is not a File has no name unless it is given one.
        assert "name" not in await page.value(f"await messages.upload({id!r}, new Blob(['a']))")
        assert (await page.value(f"await messages.upload({id!r}, new Blob(['a']), {{ name: 'b' }})"))["name"] == "b"
        await page.run(f"await messages.send({id!r}, 'The map', {{ attachments: [made] }})")
        message, = await eventually(lambda: stored(room, id), "the message")
        assert message["attachments"] == [{key: value for key, value in made.items() if key != "name"}]


async def test_a_rejected_upload_has_its_reason_and_later_ones_proceed(chromium, room):
    async with Line(room.server) as line, chromium:
        id = await conversation_of(room)
        page = await talking(chromium, line, room)
        page.expected += REFUSED
        large = await refused(page, f"await messages.upload({id!r}, new Blob([new Uint8Array({MOST} + 1)]))")
        assert (large["code"], large["reason"], large["status"]) == ("too_large", "attachment_too_large", 413)
        picture = await refused(page, f"await messages.upload({id!r}, new Blob(['a'], {{ type: 'image/png' }}))")
        assert (picture["code"], picture["reason"]) == ("validation_failed", "attachment_not_an_image")
        assert (await refused(page, "await messages.upload('another', new Blob(['a']))"))["code"] == "forbidden"
        # All at once: a server accepts one upload of a user at a time, and these wait for each other.
        await page.run(f"""
            const files = [1, 2, 3, 4].map((number) => new Blob(["a".repeat(number * 100_000)]));
            globalThis.all = await Promise.all(files.map((file) => messages.upload({id!r}, file)));""")
        assert await page.value("all.map((each) => each.sizeBytes)") == [100_000, 200_000, 300_000, 400_000]


async def test_an_upload_is_cancelled_and_again_is_a_retry(chromium, room):
    async with Line(room.server) as line, chromium:
        id = await conversation_of(room)
        page = await talking(chromium, line, room)
        page.expected += REFUSED
        await page.run(f"""
            globalThis.file = new Blob([new Uint8Array({MOST})]);
            globalThis.ending = new AbortController();
            const {{ signal }} = ending;
            globalThis.first = messages.upload({id!r}, file, {{ signal, progress: () => ending.abort() }}).catch(({{ code }}) => code);
            globalThis.second = messages.upload({id!r}, file, {{ signal }}).catch(({{ code }}) => code);""")
        assert await page.value("await Promise.all([first, second])") == ["cancelled", "cancelled"]
        line.cut()
        assert (await refused(page, f"await messages.upload({id!r}, file)"))["code"] == "network"
        line.mend()
        assert (await page.value(f"await messages.upload({id!r}, file)"))["sizeBytes"] == MOST


async def test_a_refused_token_is_replaced_once(chromium, room):
    async with Line(room.server) as line, chromium:
        id = await conversation_of(room)
        page = await talking(chromium, line, room)
        page.expected += REFUSED
        await page.run(f"""
            globalThis.asked = [];
            const good = await client.token();
            client.token = async (how) => (asked.push(how?.renew ?? false), how?.renew ? good : "nonsense");
            globalThis.made = await messages.upload({id!r}, new Blob(["a"]));""")
        assert await page.value("asked") == [False, True] and await page.value("made.sizeBytes") == 1
        await page.run("client.token = async () => 'nonsense'")
        assert (await refused(page, f"await messages.upload({id!r}, new Blob(['a']))"))["code"] == "unauthorized"


async def test_a_server_that_takes_no_files_says_so(chromium, server):
    room = Room(server)
    async with Line(server) as line, chromium:
        id = await conversation_of(room)
        page = await talking(chromium, line, room)
        page.expected += REFUSED
        assert (await refused(page, f"await messages.upload({id!r}, new Blob(['a']))"))["status"] == 404
