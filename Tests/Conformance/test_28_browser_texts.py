"""presence.js and presence-messages.js in Chromium: texts that are cut in the middle of a character, and answers that name no request."""

import json
import random

import pytest

from support.library import follow, stored, tab, talking, watch
from support.line import Line
from support.talks import say, talk
from test_28_browser_socket import SOCKET

HALVES = ("\\ud83d", "\\ude00")
WHOLE = ("a", "é", "\\ud83d\\ude00", '\\"', "\\\\", "\\\\ud83d", "\\n", "שלום")


def drawn(draw):
    """A text with half a character in it, in JavaScript and as it arrives."""
    parts = [draw.choice(WHOLE) for _ in range(draw.randint(0, 5))]
    parts.insert(draw.randint(0, len(parts)), draw.choice(HALVES))
    text = f'"x{"".join(parts)}x"'
    # The UTF-16 decoder replaces a half by U+FFFD as browsers do, except before another character: that case is handled here.
    return text, "".join("\ufffd" if 0xD800 <= ord(each) < 0xE000 else each for each in json.loads(text))


async def test_half_a_character_breaks_no_request_and_delays_none(chromium, server, room):
    draw = random.Random(seed := random.randrange(1 << 32))
    print(f"SEED={seed}")
    async with Line(server) as line, chromium:
        bob = await room.come("bob")
        id = (await bob.did("createConversation", participants=[room.name("ana"), "cy"], name="Trip"))["conversation"]["id"]
        page = await talking(chromium, line, room)
        await watch(page, id)
        texts = [drawn(draw) for _ in range(30)]
        for text, _ in texts:
            await page.run(f"await messages.send({id!r}, {text}, {{ priority: {{ reason: 'late \\ud83d' }} }})")
        await page.run(f"await messages.send({id!r}, 'last')")
        await page.until("seen.page.value.messages.at(-1).text === 'last' && seen.page.value.messages.every(({ status }) => status !== 'sending')")
        found = await stored(room, id)
        assert [each["text"] for each in found] == [arrived for _, arrived in texts] + ["last"]
        (text, arrived), (other, _) = drawn(draw), drawn(draw)
        await page.run(f"await messages.edit({id!r}, {found[0]['id']!r}, {text})")
        await page.until(f"seen.page.value.messages[0].text === {json.dumps(arrived)} && seen.page.value.messages[0].status !== 'sending'")
        name, expected = "'Zo\\ud83d'", "Zo\ufffd"
        assert await page.value(f"(await client.updateProfile({{ displayName: {name} }})).displayName") == expected
        await page.run(f"await client.setStatus('busy', {{ text: {name} }})")
        await page.until(f"client.own.status.text === {json.dumps(expected)}")
        await page.run(f"await messages.create(['bob', 'cy'], {{ name: {name}, metadata: {{ ['k\\ud83d']: {other} }} }})")
        await page.until(f"seen.list.value.some((each) => each.name === {json.dumps(expected)})")
        assert not [each for each in page.received if each.get("code") == "bad_request"]
        # The id is first, wherever an error may be.
        assert all(list(each)[0] == "id" for each in page.sent if "id" in each and each["type"] != "connect")


async def test_an_answer_that_names_no_request_is_that_of_the_oldest(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run(SOCKET)
        await page.until("seen.bob.value?.live")
        await page.run("""
            silent = ["status"];
            globalThis.ends = [];
            for (const text of ["one", "two"]) client.setStatus("busy", { text }).then(() => ends.push(text), ({ code }) => ends.push(code));
            socket.hear({ type: "error", code: "bad_request", message: "this is no JSON" });""")
        await page.until("ends.length === 1")
        await page.run("socket.hear({ type: 'ok', id: said.findLast(({ type }) => type === 'status').id })")
        await page.until("ends.length === 2")
        assert await page.value("ends") == ["bad_request", "two"]


async def test_unsendable_requests_fail_at_once_and_no_others(chromium, server, room):
    async with Line(server) as line, chromium:
        first, second = await talking(chromium, line, room), await talking(chromium, line, room)
        await follow(first, "me", "client.me()")
        for page in (first, second):
            assert await page.value("""await client.request("status", (() => { const loop = {}; return (loop.loop = loop); })())
                .then(() => "done", (error) => error.name)""") == "TypeError"
        line.cut()
        await first.until("client.connection.state === 'waiting'")
        line.mend()
        await second.run("client.reconnect(); await client.setStatus('busy', { text: 'fine' })")
        await first.until("seen.me.value.status.text === 'fine'")


async def test_errors_about_malformed_ids_and_tokens_name_them(chromium, server):
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        await page.run("open('token', { share: false })")
        code = "((act) => { try { act(); return 'nothing'; } catch (error) { return error.code; } })"
        for act in ("client.people('bob')", "client.people()", "client.person()", "client.person(['bob'])", "client.setTyping()",
                    "new presence.PresenceClient()", "new presence.PresenceClient({})", "new presence.PresenceClient({ token: '' })",
                    "new presence.PresenceClient({ token: {} })"):
            assert await page.value(f"{code}(() => {act})") == "validation_failed", act
        assert await page.value("await client.get('bob').catch((error) => error.code)") == "validation_failed"


LONGEST = ("x" * 5_000, "\n" * 5_000, '"' * 5_000, "é" * 5_000, "\U0001f600" * 5_000, "e\u0301\u0302\u0303" * 2_900)


@pytest.mark.parametrize("text", LONGEST, ids=[str(number) for number in range(len(LONGEST))])
async def test_the_longest_messages_come_with_all_their_addresses_and_edits(chromium, server, room, text):
    url = "https://example.org/" + "a" * 2_028
    attachments = [{"id": str(n), "kind": "image", "url": url, "thumbnailURL": url, "sizeBytes": 2**53 - 1} for n in range(10)]
    async with Line(server) as line, chromium:
        bob = await room.come("bob")
        id = (await talk(bob, await room.come("ana", "phone")))["id"]
        page = await talking(chromium, line, room)
        await watch(page, id)
        options = {"attachments": attachments, "priority": {"reason": "r" * 200}}
        await page.run(f"await messages.send({id!r}, {json.dumps(text)}, {json.dumps(options)})")
        await say(bob, id, text, "other", more=options)
        for n in range(6):
            changed = await bob.did("editMessage", conversation=id, message="other", text=f"{n}{text[1:]}")
            assert changed["type"] == "messageUpdated", changed
        await page.until(f"seen.page.value.messages.some(({{ text }}) => text === {json.dumps('5' + text[1:])})")
        await page.until("seen.page.value.messages.length === 2 && seen.page.value.messages.every(({ status }) => status !== 'sending')")
        shown = await page.value("seen.page.value.messages")
        assert all(each["attachments"] == attachments for each in shown)
        found = await stored(room, id)
        assert sorted(each["text"] for each in found) == sorted([text, f"5{text[1:]}"])
        assert all(each["attachments"] == attachments for each in found)
