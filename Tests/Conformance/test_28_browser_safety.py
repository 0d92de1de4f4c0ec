"""presence-people.js in Chromium: finding people, reports, the export of a user's data, and deletion with messages."""

import io
import json
import tarfile

import pytest

from support.accounts import ON, PASSWORD, Accounts
from support.app import REFUSED
from support.library import opened, refused, tab
from support.line import Line
from support.patience import eventually
from support.room import Room
from support.talks import say, talk

SETTINGS = ON | {"accounts.directory": True, "linger": 1000, "lease": 6000}


async def page_of(chromium, line, token):
    page = await opened(await tab(chromium, line, expected=REFUSED), token)
    await page.run("""
        const { PresencePeople } = await import("/presence-people.js");
        globalThis.people = new PresencePeople(client);""")
    return page


@pytest.fixture
def accounts(server):
    return Accounts(server)


async def test_people_are_found_by_username_and_by_the_beginning_of_a_name(chromium, accounts):
    ana, bob = [await accounts.sign_up(displayName=name, username=username) for name, username in (("Ana Lovelace", "ana.l"), ("Bob Ray", "bob.ray"))]
    at_bob = await Room(accounts.server).come("bob", token=bob.access)
    async with Line(accounts.server) as line, chromium:
        page = await page_of(chromium, line, ana.access)
        assert (await page.value("await people.find('BOB.ray')"))["user"] == bob.user
        assert await page.value("await people.find('nobody.x')") is None
        assert [each["user"] for each in await page.value("await people.search('bob r')")] == [bob.user]
        assert (await page.value("await people.search('bob', { limit: 1 })"))[0]["profile"]["displayName"] == "Bob Ray"
        assert (await refused(page, "await people.search('b')"))["field"] == "starts"
        await at_bob.did("setVisibility", visibility={"findable": "nobody"})
        assert await page.value("await people.find('bob.ray')") is None
        assert await page.value("await people.search('bob')") == []


async def test_a_message_is_reported_once_and_what_cannot_be_seen_never(chromium, server, room):
    ana, eve = await room.come("ana"), await room.come("eve")
    id = (await talk(ana, eve))["id"]
    sent = await say(eve, id, "Buy this")
    async with Line(server) as line, chromium:
        page = await page_of(chromium, line, room.token("ana"))
        what = json.dumps({"conversation": id, "message": sent["id"], "reason": "spam", "text": "Again"})
        made = await page.value(f"await people.report({what})")
        assert await page.value(f"await people.report({what})") == made
        kept = (await room.api.request("GET", "/v1/reports?limit=100", token=room.backend)).json["reports"]
        [report] = [each for each in kept if each["id"] == made]
        assert (report["by"], report["user"], report["message"]["text"], report["text"]) == (ana.user, eve.user, "Buy this", "Again")
        assert (await refused(page, "await people.report({ conversation: 'elsewhere', reason: 'spam' })"))["code"] == "not_found"
        assert (await refused(page, f"await people.report({{ user: {ana.user!r}, reason: 'spam' }})"))["code"] == "validation_failed"


async def test_an_export_is_a_whole_tar_and_its_failures_are_errors(chromium, server, room):
    ana, eve = await room.come("ana"), await room.come("eve")
    await say(ana, (await talk(ana, eve))["id"], "Hello Eve")
    async with Line(server) as line, chromium:
        page = await page_of(chromium, line, room.token("ana"))
        await page.run("""
            globalThis.shares = [];
            globalThis.archive = await people.export({ progress: (share) => shares.push(share) });""")
        assert await page.value("archive instanceof Blob && shares.at(-1) === 1")
        bytes_ = bytes(await page.value("[...new Uint8Array(await archive.arrayBuffer())]"))
        with tarfile.open(fileobj=io.BytesIO(bytes_)) as tar:
            lines = [json.loads(line) for line in tar.extractfile("export.jsonl").read().splitlines()]
        assert {"type": "user", "user": ana.user} in lines
        assert [each["message"]["message"]["text"] for each in lines if each["type"] == "message"] == ["Hello Eve"]
        ended = await refused(page, """
            const ending = new AbortController();
            const wanted = people.export({ signal: ending.signal });
            ending.abort();
            await wanted;""")
        assert ended["code"] == "cancelled"
        # Some are within the limit of a user.
        assert await page.value("""await (async () => {
            for (let tries = 0; tries < 10; tries++) {
                try { await people.export(); } catch ({ code, retryAfter }) { return [code, retryAfter > 0]; }
            }
        })()""") == ["rate_limited", True]
        line.cut()
        assert (await refused(page, "await people.export()"))["code"] == "network"
        line.mend()


async def test_nothing_is_asked_for_with_the_token_of_another_user(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await page_of(chromium, line, room.token("ana"))
        await page.run(f"client.user = {room.name('ana')!r}; client.token = async () => {room.token('bob')!r}")
        for call in ("people.export()", "people.find('bob')", "people.report({ user: 'x', reason: 'spam' })"):
            assert (await refused(page, f"await {call}"))["code"] == "closed", call
        assert not [url for _, url in page.requests if "/v1/me" in url or "/v1/usernames" in url or "/v1/reports" in url]


async def test_an_account_is_deleted_with_its_messages(chromium, accounts):
    room = Room(accounts.server)
    ana = await accounts.sign_up(displayName="Ana")
    at_ana, eve = await room.come("ana", token=ana.access), await room.come("eve")
    id = (await talk(at_ana, eve))["id"]
    await say(at_ana, id, "Hello Eve")
    async with Line(accounts.server) as line, chromium:
        page = await tab(chromium, line, expected=REFUSED)
        await page.run(f"""
            globalThis.account = new presence.PresenceAccount();
            await account.signIn({ana.email!r}, {PASSWORD!r});
            await account.deleteAccount({PASSWORD!r}, {{ messages: "delete" }});""")
        assert await page.value("account.state") is None

    async def texts():
        answer = await room.api.request("GET", f"/v1/conversations/{id}/messages", token=room.backend)
        return [each["text"] for each in answer.json["messages"]] == [""]

    await eventually(texts, "the message is emptied")
