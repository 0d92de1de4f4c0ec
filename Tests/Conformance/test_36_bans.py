"""Bans: everywhere or in one conversation, on all servers at once, until their end."""

import asyncio
import json
import time

import pytest

from support.accounts import ON, PASSWORD, Accounts, CheckedAPI, refused
from support.app import fill, press, shot, shows, title
from support.patience import eventually
from support.receiver import Receiver
from support.room import Room
from support.rules import is_time
from support.talks import follow, fresh, group, hears, listed, pair, say, talk

SETTINGS = ON | {"linger": 5_000, "lease": 6_000}
REASON = "Spam, and “ünïcode”"


async def ban(room, user, reason=REASON, at=None, **more):
    api = CheckedAPI(at or room.server)
    answer = await api.request("PUT", f"/v1/users/{user}/ban", {"reason": reason} | more, token=room.backend)
    assert answer.status == 200, answer
    held = answer.json["ban"]
    assert held["user"] == user and held["reason"] == reason and is_time(held["at"])
    assert held.get("until") == more.get("until") and held["scope"] == more.get("scope", "all")
    return held


async def unban(room, user, scope=""):
    answer = await CheckedAPI(room.server).request("DELETE", f"/v1/users/{user}/ban" + scope, token=room.backend)
    assert answer.status == 204, answer


async def page(room, query=""):
    answer = await CheckedAPI(room.server).request("GET", "/v1/bans" + query, token=room.backend)
    assert answer.status == 200, answer
    return answer.json


def soon(seconds):
    """A time from now on; the server's clock is this machine's."""
    return int((time.time() + seconds) * 1000)


async def expelled(client, until=None, reason=REASON):
    """The connection has received why, and is closed for good."""
    code, text = await client.closed(4003)
    why = [message for message in client.log if message.get("code") == "banned" and "id" not in message]
    assert len(why) == 1, client.log[-3:]
    assert why[0]["reason"] == reason and why[0].get("until") == until
    told = json.loads(text)
    assert told["code"] == "banned" and told.get("until") == until and told.get("reason", reason) == reason


async def turned_away(room, token, until=None, reason=REASON, at=None):
    """`connect` and calls over HTTP are refused."""
    client = await room.socket(at=at)
    answer = await client.ask("connect", token=token)
    assert answer["type"] == "error" and answer["code"] == "banned", answer
    assert answer["reason"] == reason and answer.get("until") == until
    await client.closed(4003)
    api = CheckedAPI(at or room.server)
    for method, path, body in (("GET", "/v1/users/bob", None), ("POST", "/v1/users/get", {"users": ["bob"]})):
        answer = await api.request(method, path, body, token=token)
        assert answer.status == 403 and answer.json["code"] == "banned", answer
        assert answer.json["reason"] == reason and answer.json.get("until") == until


# Everywhere


async def test_a_ban_ends_all_sessions_on_all_servers_and_lets_none_begin(start):
    redis = start.redis()
    one = start({}, redis=redis)
    two = start({}, redis=redis, directory=one.directory)
    room = Room(one)
    watcher = await room.come("bob")
    eve = room.name("eve")
    await watcher.subscribe(eve)
    clients = [await room.come("eve", device, at=at) for device, at in
               (("phone", one), ("desktop", one), ("tablet", two), (None, two))]
    await watcher.sees(eve, status="online")
    until = soon(3_600)
    await ban(room, eve, until=until)
    for client in clients:
        await expelled(client, until)
    # Without lingering.
    await watcher.sees(eve, status="offline")
    for at in (one, two):
        await turned_away(room, room.token("eve"), until, at=at)
        # A token of another device, issued later, is of the same user.
        await turned_away(room, room.token("eve", iat=int(time.time()) + 1), until, at=at)
    # Others notice nothing else.
    await watcher.status("busy")
    await unban(room, eve)
    for at in (one, two):
        await (await room.come("eve", at=at)).status("busy")


async def test_a_session_that_lingers_ends_at_once(room):
    bob, eve = await room.come("bob"), await room.come("eve")
    await bob.subscribe(eve)
    await bob.sees(eve, status="online")
    eve.abort()
    begun = time.monotonic()
    await ban(room, eve.user)
    await bob.sees(eve, status="offline")
    assert time.monotonic() - begun < 3


async def test_a_ban_ends_by_time_alone(room):
    eve = await room.come("eve")
    until = soon(2)
    await ban(room, eve.user, until=until)
    await expelled(eve, until)
    await turned_away(room, room.token("eve"), until)
    assert any(held["user"] == eve.user for held in (await page(room, "?limit=1000"))["bans"])
    # No earlier: the client learned the end.
    await asyncio.sleep(until / 1000 - time.time() + 0.1)
    back = await room.come("eve")
    assert (await CheckedAPI(room.server).request("GET", f"/v1/users/{eve.user}", token=room.token("eve"))).status == 200
    await back.status("busy")
    assert not any(held["user"] == eve.user for held in (await page(room, "?limit=1000"))["bans"])


async def test_requests_behind_the_ban_are_not_carried_out(room):
    eve, bob = await room.come("eve"), await room.come("bob")
    id = (await talk(eve, bob))["id"]
    await follow(bob, id)
    for round in range(5):
        sending = [eve.begin("send", conversation=id, message={"id": fresh(), "text": str(number)}) for number in range(40)]
        banning = asyncio.create_task(ban(room, eve.user))
        answers = await asyncio.gather(*sending)
        await banning
        await expelled(eve)
        count = sum(answer["type"] == "sent" for answer in answers)
        seen = len([event for event in await hears(bob, id, 0) if event["message"]["from"] == eve.user])
        await eventually(lambda: len(bob.log) and len(
            [event for event in bob.log if event["type"] == "message"]) >= seen, "events")
        after = len((await bob.did("getMessages", conversation=id, limit=100))["messages"])
        assert after >= count
        # Nothing is written once the ban is answered.
        await asyncio.sleep(0.2)
        assert len((await bob.did("getMessages", conversation=id, limit=100))["messages"]) == after
        await unban(room, eve.user)
        eve = await room.come("eve")
        id = (await talk(eve, bob, name=f"Round {round}"))["id"]
        await follow(bob, id)


async def test_pipelined_requests_behind_connect_are_dropped(room):
    await ban(room, room.name("eve"))
    client = await room.socket()
    asked = [client.begin("connect", token=room.token("eve"))]
    asked += [client.begin("updateProfile", changes={"displayName": "Eve"}) for _ in range(5)]
    answers = await asyncio.gather(*asked)
    assert answers[0]["code"] == "banned" and all(answer["type"] == "(closed)" for answer in answers[1:])
    bob = await room.come("bob")
    held, = await bob.get(room.name("eve"))
    assert held["profile"] is None


async def test_accounts_cannot_sign_in_refresh_or_call_and_keep_their_devices(server, room):
    accounts = Accounts(server)
    eve = await accounts.sign_up()
    socket = await room.come("eve", token=eve.access)
    until = soon(3_600)
    await ban(room, eve.user, until=until)
    await expelled(socket, until)
    for answer in (await accounts.sign_in(eve.email), await accounts.refresh(eve.tokens["refreshToken"]),
                   await eve.call("GET", "/v1/me"), await eve.call("DELETE", "/v1/me", {"password": PASSWORD})):
        assert refused(answer, 403, "banned", REASON)["until"] == until
    code, _ = await accounts.code(eve.email)
    assert refused(await accounts.post("/v1/sessions", email=eve.email, mailCode=code), 403, "banned", REASON)["until"] == until
    # A guess learns nothing.
    refused(await accounts.sign_in(eve.email, "wrong password"), 401, "unauthorized", "invalid_credentials")
    await unban(room, eve.user)
    renewed = await accounts.refresh(eve.tokens["refreshToken"])
    assert renewed.status == 200 and (await accounts.sign_in(eve.email)).status == 200
    assert len((await eve.call("GET", "/v1/me/sessions")).json["sessions"]) == 2


async def test_a_ban_stays_with_the_id_when_the_account_is_deleted(server, room):
    accounts = Accounts(server)
    eve = await accounts.sign_up()
    await ban(room, eve.user)
    answer = await CheckedAPI(room.server).request("DELETE", f"/v1/users/{eve.user}/account", token=room.backend)
    assert answer.status == 204, answer
    client = await room.socket()
    assert (await client.ask("connect", token=server.mint.token(eve.user, iat=int(time.time()) + 5)))["code"] == "banned"
    # The address is free for another user.
    await accounts.sign_up(eve.email)


# In a conversation


async def test_a_ban_in_a_conversation_refuses_writing_there_and_nothing_else(room):
    ana, bob, eve = [await room.come(name) for name in ("ana", "bob", "eve")]
    id = (await group(ana, bob, eve))["id"]
    other = (await talk(eve, bob))["id"]
    name = fresh()
    sent = await say(eve, id, "before", name)
    said = await say(ana, id, "hello")
    until, scope = soon(3_600), f"conversation:{id}"
    await ban(room, eve.user, until=until, scope=scope)
    await follow(eve, id)
    for type, members in (
        ("send", {"message": {"id": fresh(), "text": "no"}}), ("editMessage", {"message": name, "text": "no"}),
        ("typing", {"typing": True}), ("mark", {"read": said["seq"]}), ("mark", {"delivered": said["seq"]}),
        ("renameConversation", {"name": "no"}), ("changeMembers", {"add": [room.name("dee")]}),
    ):
        answer = await eve.refused("banned", type, conversation=id, **members)
        assert answer["reason"] == REASON and answer["until"] == until, answer
    # Earlier messages are answered again; reading, and other conversations, continue.
    assert await say(eve, id, "before", name) == sent
    assert [each["text"] for each in (await eve.did("getMessages", conversation=id))["messages"]] == ["before", "hello"]
    later = await say(bob, id, "later")
    assert (await hears(eve, id, 1))[-1]["message"] == later
    await say(eve, other, "fine")
    await eve.did("mark", conversation=other, read=1)
    # Several marks are written together: those of others count.
    bob_marks = bob.begin("mark", conversation=id, read=later["seq"])
    await eve.refused("banned", "mark", conversation=id, read=later["seq"])
    assert (await bob_marks)["type"] == "ok"
    # A backend cannot send for them either.
    answer = await CheckedAPI(room.server).request(
        "POST", f"/v1/conversations/{id}/messages", {"from": eve.user, "message": {"id": fresh(), "text": "no"}},
        token=room.backend)
    assert answer.status == 403 and answer.json["code"] == "banned", answer
    # Not by leaving and coming back.
    await eve.did("changeMembers", conversation=id, remove=[eve.user])
    await ana.did("changeMembers", conversation=id, add=[eve.user])
    await eve.refused("banned", "send", conversation=id, message={"id": fresh(), "text": "no"})
    # The ban of another scope has no effect on this one.
    await unban(room, eve.user)
    await eve.refused("banned", "typing", conversation=id, typing=True)
    await unban(room, eve.user, f"?scope=conversation%3A{id}")
    await say(eve, id, "back")
    await eve.did("mark", conversation=id, read=later["seq"])


async def test_a_ban_in_a_conversation_ends_by_time_and_is_no_secret_to_members(room):
    eve, bob, id = await pair(room)
    await listed(bob)
    until = soon(1.5)
    await ban(room, eve.user, until=until, scope=f"conversation:{id}")
    await eve.refused("banned", "send", conversation=id, message={"id": fresh(), "text": "no"})
    assert "banned" not in json.dumps([message for message in bob.log])
    await asyncio.sleep(until / 1000 - time.time() + 0.1)
    await say(eve, id, "yes")


async def test_only_an_existing_conversation_has_bans_and_at_most_a_hundred(room):
    ana, bob, id = await pair(room)
    answer = await CheckedAPI(room.server).request(
        "PUT", "/v1/users/eve/ban", {"reason": "x", "scope": f"conversation:{room.name('none')}"}, token=room.backend)
    refused(answer, 404, "not_found")
    for number in range(100):
        await ban(room, f"{room.name('eve')}-{number}", scope=f"conversation:{id}")
    one_more = ("PUT", f"/v1/users/{room.name('one-more')}/ban", {"reason": "x", "scope": f"conversation:{id}"})
    refused(await CheckedAPI(room.server).request(*one_more, token=room.backend), 422, "too_many", field="scope")
    # One of them again, and another in place of one.
    await ban(room, f"{room.name('eve')}-7", scope=f"conversation:{id}")
    await unban(room, f"{room.name('eve')}-8", f"?scope=conversation:{id}")
    assert (await CheckedAPI(room.server).request(*one_more, token=room.backend)).status == 200
    await say(ana, id, "others write on")


# The calls


async def test_the_list_has_every_ban_once_page_by_page(start):
    room = Room(start({"partitions": 40}))
    names = [f"user-{number}" for number in range(30)]
    for name in names:
        await ban(room, name)
    await ban(room, "user-3", reason="again")
    ana, bob, id = await pair(room)
    await ban(room, bob.user, scope=f"conversation:{id}")
    await unban(room, "user-4")
    wanted = {(name, "all") for name in names if name != "user-4"} | {(bob.user, f"conversation:{id}")}
    for limit in (1, 7, 30, 1000):
        found, query = [], f"?limit={limit}"
        while True:
            answer = await page(room, query)
            assert len(answer["bans"]) <= limit
            found += answer["bans"]
            if "next" not in answer:
                break
            assert len(answer["bans"]) == limit
            query = f"?limit={limit}&after={answer['next']}"
        assert len(found) == len(wanted) and {(held["user"], held["scope"]) for held in found} == wanted
    assert next(held for held in found if held["user"] == "user-3")["reason"] == "again"
    for query in ("?limit=0", "?limit=1001", "?limit=x", "?after=x", "?after=zz", "?after=39392061"):
        answer = await CheckedAPI(room.server).request("GET", "/v1/bans" + query, token=room.backend)
        assert answer.status == 422 and answer.json["field"] in query, answer


async def test_bans_are_for_backends(room):
    eve = await room.come("eve")
    for method, path, body in (
        ("PUT", f"/v1/users/{eve.user}/ban", {"reason": "x"}), ("PUT", f"/v1/users/{room.name('bob')}/ban", {"reason": "x"}),
        ("DELETE", f"/v1/users/{eve.user}/ban", None), ("GET", "/v1/bans", None),
    ):
        refused(await CheckedAPI(room.server).request(method, path, body, token=room.token("eve")), 403, "forbidden")
        assert (await CheckedAPI(room.server).request(method, path, body)).status == 401
    await eve.status("busy")


@pytest.mark.parametrize("body, code, field", [
    ({}, "bad_request", "reason"), ({"reason": 5}, "bad_request", "reason"), ({"reason": ""}, "validation_failed", "reason"),
    ({"reason": "x" * 201}, "validation_failed", "reason"), ({"reason": "a\nb"}, "validation_failed", "reason"),
    ({"reason": "x", "until": "soon"}, "bad_request", "until"), ({"reason": "x", "until": 1}, "validation_failed", "until"),
    ({"reason": "x", "scope": "some"}, "validation_failed", "scope"),
    ({"reason": "x", "scope": "conversation:"}, "validation_failed", "scope"),
])
async def test_a_malformed_ban_bans_no_user(room, body, code, field):
    eve = await room.come("eve")
    answer = await CheckedAPI(room.server).request("PUT", f"/v1/users/{eve.user}/ban", body, token=room.backend)
    refused(answer, 400 if code == "bad_request" else 422, code, field=field)
    await eve.status("busy")


async def test_the_longest_reason_arrives_whole_though_a_close_has_no_room_for_it(room):
    eve = await room.come("eve")
    reason = "ü" * 200
    await ban(room, eve.user, reason=reason)
    await expelled(eve, reason=reason)


async def test_webhooks_tell_of_bans(start, tmp_path):
    receiver = Receiver(tmp_path)
    try:
        room = Room(start({"webhooks": [receiver.endpoint("user.banned", "user.unbanned")], "partitions": 8}))
        ana, bob, id = await pair(room)
        until = soon(3_600)
        await ban(room, "eve", until=until)
        await unban(room, "eve")
        await unban(room, "eve")
        await ban(room, bob.user, scope=f"conversation:{id}")
        await eventually(lambda: len(receiver.calls) >= 3, "three events", within=30)
        data = {(call.type, call.data["user"]): call.data for call in receiver.calls}
        assert data["user.banned", "eve"] == {"user": "eve", "ban": {"scope": "all", "reason": REASON, "until": until}}
        assert data["user.unbanned", "eve"] == {"user": "eve", "ban": {"scope": "all"}}
        assert data["user.banned", bob.user]["ban"] == {"scope": f"conversation:{id}", "reason": REASON}
        assert len(receiver.calls) == 3 and not receiver.wrong
    finally:
        receiver.close()


# The console


async def test_an_operator_bans_a_person_and_ends_bans_on_the_page(start, chromium):
    room = Room(start(SETTINGS | {"console.enabled": True, "history.enabled": True}))
    eve, bob = await room.come("eve"), await room.come("bob")
    async with chromium:
        from test_30_console import console
        page = await console(chromium, room, f"#/person/{eve.user}")
        await title(page, eve.user)
        await press(page, "Ban everywhere")
        await shows(page, "Please enter a reason.")
        await fill(page, "banReason", "Advertising")
        await page.run("document.querySelector('[name=banLength]').value = ''")
        await press(page, "Ban everywhere")
        await eve.closed(4003)
        await shows(page, "Banned without an end.")
        await press(page, "Reports")
        await title(page, "Reports")
        rows = "[...document.querySelectorAll('.bans tbody tr')].map((each) => [...each.children].slice(0, 4).map((cell) => cell.textContent).join('|'))"
        await page.until(f"{rows}.join() === {f'{eve.user}|Everywhere|Advertising|no end'!r}")
        await shot(page, "console-bans")
        await press(page, f"End the ban of {eve.user}")
        await shows(page, "Nobody is banned.")
        await room.come("eve")
        # A ban that another operator has made is ended on the person's page.
        answer = await room.api.request("PUT", f"/v1/users/{bob.user}/ban", {"reason": "Spam"}, token=room.backend)
        assert answer.status == 200
        await page.run(f"location.hash = '#/person/{bob.user}'")
        await title(page, bob.user)
        await press(page, "End the ban")
        await shows(page, "There is no ban everywhere now.")
        assert (await room.api.request("GET", "/v1/bans", token=room.backend)).json["bans"] == []


async def test_an_operator_downloads_the_data_of_a_person(start, chromium, tmp_path):
    room = Room(start(SETTINGS | {"console.enabled": True, "history.enabled": True}))
    ana = await room.come("ana")
    async with chromium:
        from test_30_console import console
        page = await console(chromium, room, f"#/person/{ana.user}")
        await chromium.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), browserContextId=chromium.context)
        await title(page, ana.user)
        await shot(page, "console-person")
        await press(page, "Download their data")
        await shows(page, "The data is in the file export.tar.")
        await eventually(lambda: (tmp_path / "export.tar").is_file() and (tmp_path / "export.tar").stat().st_size, "the file is there")
