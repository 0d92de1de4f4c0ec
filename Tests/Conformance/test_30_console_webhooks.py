"""The console's webhooks: the queue of each endpoint, and retries."""

import pytest

from support.app import press, shot, shows, title
from support.patience import PATIENCE, eventually, now
from support.receiver import Receiver
from support.room import Room
from support.talks import say, talk

from test_29_webhooks import listed
from test_30_console import SETTINGS, ask, console

WEBHOOKS = "/v1/console/webhooks"
LONG = 4 * PATIENCE


@pytest.fixture
def failing(tmp_path):
    receiver = Receiver(tmp_path, lambda call: 500)
    yield receiver
    receiver.close()


def with_endpoint(receiver):
    return SETTINGS | {"webhooks": [receiver.endpoint("message.created") | {"url": receiver.url + "?key=hidden"}], "partitions": 8}


async def put_off(room):
    """Failed events are retried in an hour; an event due within half a minute is not affected."""
    await room.server.wait_for_log("webhook not taken")
    redis = room.server.redis
    key = redis.command("--scan", "--pattern", "*webhook-due*")
    entry = redis.command("ZRANGE", key, "0", "-1")
    redis.command("ZADD", key, "XX", str(now() + 3_600_000), entry)


async def write(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    await say(ana, (await talk(ana, bob))["id"], "a private word")


async def test_endpoints_are_told_as_the_command_tells_them(start, failing):
    room = Room(start(with_endpoint(failing), redis=start.redis()))
    await write(room)
    await room.server.wait_for_log("webhook not taken")
    answer = await ask(room, "GET", WEBHOOKS)
    endpoint, = answer.json["endpoints"]
    assert "hidden" not in answer.body and failing.secret.text not in answer.body
    id = endpoint.pop("id")
    assert endpoint == listed(room.server)[0]
    assert endpoint["queued"] == 1 and endpoint["failed"] >= 1 and "500" in endpoint["lastFailure"]
    await put_off(room)
    calls = len(failing.calls)
    failing.answer = lambda call: 204
    assert (await ask(room, "POST", f"{WEBHOOKS}/{id}/retry")).json == {"events": 1}
    await eventually(lambda: len(failing.calls) > calls, "it is tried again", within=LONG)
    assert (await ask(room, "POST", f"{WEBHOOKS}/0123456789abcdef/retry")).status == 404


async def test_without_endpoints_there_are_none(room):
    assert (await ask(room, "GET", WEBHOOKS)).json == {"endpoints": []}


@pytest.mark.parametrize("method,place", [("GET", WEBHOOKS), ("POST", f"{WEBHOOKS}/0123456789abcdef/retry")])
async def test_they_are_for_backends(room, method, place):
    assert (await ask(room, method, place, token=room.token("ana"))).status == 403
    assert (await ask(room, method, place, token="garbage")).status == 401


async def test_the_screen_shows_failures_and_tries_again(chromium, start, failing):
    room = Room(start(with_endpoint(failing), redis=start.redis()))
    await write(room)
    await put_off(room)
    async with chromium:
        page = await console(chromium, room, "/webhooks")
        await title(page, "Webhooks")
        await shows(page, "1 wait.")
        await shows(page, "500")
        await shot(page, "console-webhooks")
        calls = len(failing.calls)
        failing.answer = lambda call: 204
        await press(page, f"Try all that waits for {failing.url}?… now")
        await shows(page, "1 event is tried now.")
        await eventually(lambda: len(failing.calls) > calls, "it is tried again", within=LONG)
        await shows(page, "Nothing waits.")


async def test_the_screen_without_endpoints_says_how_to_have_some(chromium, room):
    async with chromium:
        page = await console(chromium, room, "/webhooks")
        await shows(page, "No endpoint receives events.")
