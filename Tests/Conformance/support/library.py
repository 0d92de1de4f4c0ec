"""Pages with presence.js and presence-messages.js, and their common checks."""

import json
import shutil
import subprocess

import pytest

from .browser import NETWORK, Failed

BLANK = "/healthz"
"""A page of the server without scripts of its own."""

MODULE = """
    globalThis.presence ??= await import("/presence.js");
    globalThis.open = (token, options) => {
        globalThis.client = new presence.PresenceClient({ token, ...options });
        globalThis.states = [];
        client.addEventListener("connection", ({ detail }) => states.push(detail.state));
        return client;
    };
    // The newest element of a loop, and the number of elements.
    globalThis.seen = {};
    globalThis.follow = async (name, loop) => {
        seen[name] = { count: 0 };
        for await (const value of loop) seen[name] = { value, count: seen[name].count + 1 };
        seen[name].ended = true;
    };
"""

TEXTS = "seen.page.value.messages.map((each) => each.text).join()"


async def tab(chromium, line, expected=NETWORK):
    page = await chromium.page(line.origin + BLANK, expected=expected)
    await page.run(MODULE)
    return page


async def opened(page, token, **options):
    """A client on a page that is connected."""
    await page.run(f"open({json.dumps(token)}, {json.dumps(options)})")
    await page.until("client.connection.state === 'live'", "connected")
    return page


async def follow(page, name, loop):
    await page.run(f"follow({json.dumps(name)}, {loop})")


async def refused(page, code):
    with pytest.raises(Failed) as failed:
        await page.run(code)
    return failed.value.args[0]


async def talking(chromium, line, room, person="ana", **options):
    """A page of a user with conversations and messages."""
    page = await opened(await tab(chromium, line), room.token(person), **options)
    await begin(page, room.name(person))
    return page


async def begin(page, user, **options):
    await page.run(f"""
        globalThis.library = await import("/presence-messages.js");
        globalThis.messages = new library.PresenceMessages(client, {{ user: {user!r}, ...{json.dumps(options)} }});
        follow("list", messages.conversations());""")
    await page.until("!!seen.list.value")


async def watch(page, conversation):
    await follow(page, "page", f"messages.messages({conversation!r})")
    await page.until("seen.page.value?.live")


async def write(page, conversation, *texts):
    for text in texts:
        await page.run(f"await messages.send({conversation!r}, {text!r})")


async def stored(room, conversation):
    """The messages in the store."""
    answer = await room.api.request("GET", f"/v1/conversations/{conversation}/messages?limit=100", token=room.backend)
    assert answer.status == 200, answer
    return answer.json["messages"]


def esbuild(*arguments):
    program = shutil.which("esbuild") or pytest.skip("not installed: esbuild")
    made = subprocess.run([program, *arguments], capture_output=True)
    assert made.returncode == 0 and not made.stderr, made.stderr
    return made.stdout
