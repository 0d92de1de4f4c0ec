"""Signed-in devices: refresh tokens, signing out, and the remaining rights of an ended session."""

import asyncio
import signal
import time

import pytest

from support.accounts import ON, PASSWORD, Accounts, refused
from support.patience import eventually
from support.room import Room

SETTINGS = ON


@pytest.fixture
def accounts(server):
    return Accounts(server)


async def refused_within_a_second(person, room):
    """The access token is invalid, over HTTP and at `connect`."""
    begun = time.monotonic()

    async def over():
        return (await person.call("GET", "/v1/me")).status == 401

    await eventually(over, "the token is refused", within=10)
    assert time.monotonic() - begun < 1.5
    client = await room.socket()
    assert (await client.ask("connect", token=person.access))["code"] == "unauthorized"


async def test_a_refresh_makes_new_tokens(accounts, room):
    ana = await accounts.sign_up()
    answer = await accounts.refresh(ana.tokens["refreshToken"])
    assert answer.status == 200 and set(answer.json) == set(ana.tokens)
    assert answer.json["user"] == ana.user and answer.json["account"] == ana.tokens["account"]
    assert answer.json["refreshToken"] != ana.tokens["refreshToken"]
    assert (await room.come("ana", token=answer.json["accessToken"])).user == ana.user


async def test_the_previous_refresh_token_gets_the_newest_again(accounts):
    ana = await accounts.sign_up()
    first = ana.tokens["refreshToken"]
    second = (await accounts.refresh(first)).json["refreshToken"]
    assert (await accounts.refresh(first)).json["refreshToken"] == second
    third = (await accounts.refresh(second)).json["refreshToken"]
    # It was the newest a moment ago.
    assert (await accounts.refresh(first)).json["refreshToken"] == third
    answers = await asyncio.gather(*(accounts.refresh(third) for _ in range(10)))
    assert all(answer.status == 200 for answer in answers)


async def test_an_older_refresh_token_ends_the_session(accounts, room):
    """The store's own record is made older, so that the test need not wait."""
    ana = await accounts.sign_up()
    first = ana.tokens["refreshToken"]
    second = (await accounts.refresh(first)).json["refreshToken"]
    third = (await accounts.refresh(second)).json
    client = await room.come("ana", token=third["accessToken"])
    ana.tokens = third
    age(accounts.server, ana.user)
    refused(await accounts.refresh(first), 401, "unauthorized", "token_reused")
    await client.closed(4001)
    await refused_within_a_second(ana, room)
    refused(await accounts.refresh(third["refreshToken"]), 401, "unauthorized", "token_expired")


def age(server, user):
    """Makes the last refreshes look older than 10 s."""
    import re
    import socket

    connection = socket.socket(socket.AF_UNIX)
    connection.connect(server.directory + "/redis.sock")
    stream = connection.makefile("rwb")

    def command(*words):
        words = [word if isinstance(word, bytes) else word.encode() for word in words]
        stream.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        stream.flush()
        return reply()

    def reply():
        line = stream.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [reply() for _ in range(int(rest))]
        return rest

    cursor, key = b"0", None
    while key is None:
        cursor, keys = command("SCAN", cursor, "MATCH", f"*:grants:{user}", "COUNT", "1000")
        key = keys[0] if keys else None
    fields = command("HGETALL", key)
    for name, value in zip(fields[::2], fields[1::2]):
        words = value[16:].split(b" ", 5)
        words[3] = re.sub(rb"\d+", lambda time: b"%d" % (int(time.group()) - 11_000), words[3])
        command("HSET", key, name, value[:16] + b" ".join(words))
    connection.close()


async def test_a_malformed_refresh_token_is_rejected(accounts):
    ana = await accounts.sign_up()
    good = ana.tokens["refreshToken"]
    bad = ["", "x", "A" * 600, good[:-1] + ("A" if good[-1] != "A" else "Q"), good + "A", "AX" + good[2:], ana.access]
    for token in bad:
        refused(await accounts.refresh(token), 401, "unauthorized", "token_expired")
    assert (await accounts.refresh(good)).status == 200
    refused(await accounts.post("/v1/sessions/refresh"), 400, "bad_request")


async def test_the_own_sessions_are_listed(accounts):
    ana = await accounts.sign_up(device={"kind": "phone", "name": "Ana's \"phone\" ☎"})
    web = await accounts.signed_in(ana.email, device={"kind": "web"})
    sessions = (await web.call("GET", "/v1/me/sessions")).json["sessions"]
    assert [set(session) for session in sessions] == 2 * [{"id", "kind", "name", "createdAt", "lastUsedAt", "current"}]
    by_kind = {session["kind"]: session for session in sessions}
    assert by_kind["phone"]["name"] == "Ana's \"phone\" ☎" and by_kind["web"]["name"] == ""
    assert by_kind["web"]["current"] is True and by_kind["phone"]["current"] is False


async def test_signing_out_ends_sockets_and_tokens(accounts, room):
    ana = await accounts.sign_up()
    other = await accounts.signed_in(ana.email)
    client, kept = await room.come("ana", token=ana.access), await room.come("ana", token=other.access)
    assert (await ana.call("DELETE", "/v1/sessions/current")).status == 204
    await client.closed(4001)
    await refused_within_a_second(ana, room)
    refused(await accounts.refresh(ana.tokens["refreshToken"]), 401, "unauthorized", "token_expired")
    await kept.get(ana.user)
    assert (await accounts.refresh(other.tokens["refreshToken"])).status == 200


async def test_a_user_who_signs_out_is_offline_at_once(accounts, room):
    ana = await accounts.sign_up()
    await room.come("ana", token=ana.access)
    bob = await room.come("bob")
    await bob.subscribe(ana.user)
    await bob.sees(ana.user, status="online")
    assert (await ana.call("DELETE", "/v1/sessions/current")).status == 204
    # Long before a silently lost device would be shown offline.
    await bob.sees(ana.user, within=5, status="offline")


async def test_another_session_is_ended_by_its_id_and_all_of_them_at_once(accounts, room):
    ana = await accounts.sign_up()
    phone = await accounts.signed_in(ana.email)
    web = await accounts.signed_in(ana.email)
    sessions = (await phone.call("GET", "/v1/me/sessions")).json["sessions"]
    current = next(session["id"] for session in sessions if session["current"])
    client = await room.come("ana", token=phone.access)
    bob = await accounts.sign_up()
    refused(await bob.call("DELETE", f"/v1/sessions/{current}"), 404, "not_found")
    refused(await ana.call("DELETE", "/v1/sessions/none"), 404, "not_found")
    assert (await web.call("DELETE", f"/v1/sessions/{current}")).status == 204
    await client.closed(4001)
    await refused_within_a_second(phone, room)
    clients = [await room.come("ana", token=each.access) for each in (ana, web)]
    assert (await ana.call("DELETE", "/v1/sessions/all")).status == 204
    for each in clients:
        await each.closed(4001)
    for each in (ana, web):
        await refused_within_a_second(each, room)


async def test_an_ended_session_is_ended_on_every_server(start):
    redis = start.redis()
    first = start(ON, redis=redis, shards=2)
    second = start(ON, redis=redis, directory=first.directory, shards=2)
    accounts, room = Accounts(first), Room(first)
    ana = await accounts.sign_up()
    clients = [await room.come("ana", at=server, token=ana.access) for server in 4 * [first, second]]
    assert (await ana.call("DELETE", "/v1/sessions/all")).status == 204
    for client in clients:
        await client.closed(4001)
    await refused_within_a_second(ana, room)
    elsewhere = Accounts(second)
    assert (await elsewhere.api.request("GET", "/v1/me", token=ana.access)).status == 401


UNDER_WAY = {
    "updateProfile": {"changes": {"displayName": "Back again"}},
    "status": {"status": "busy", "text": "Back again"},
    "setVisibility": {"visibility": {"lastSeen": "nobody"}},
    "addContacts": {"users": ["bob"]},
    "createConversation": {"participants": ["bob"], "name": "Trip"},
}


@pytest.mark.parametrize("ending", ["deleted", "revoked", "signed out"])
async def test_requests_under_way_when_a_session_ends_are_not_carried_out(start, ending):
    """On a server that was suspended, and resumes after the end."""
    redis = start.redis()
    first = start(ON, redis=redis, shards=1)
    second = start(ON, redis=redis, directory=first.directory, shards=1)
    accounts, room = Accounts(first), Room(first)
    bob = await room.come("bob")
    for type, members in UNDER_WAY.items():
        ana = await accounts.sign_up(displayName="Ana")
        client = await room.come("ana", at=second, token=ana.access)
        await bob.subscribe(ana.user)
        before = (await accounts.api.request("GET", f"/v1/users/{ana.user}/visibility", token=room.backend)).json
        second.stand_still()
        try:
            members = members | ({"participants": [bob.user]} if type == "createConversation" else {})
            asked = client.begin(type, **members)
            if ending == "deleted":
                answer = await ana.call("DELETE", "/v1/me", {"password": PASSWORD})
            elif ending == "revoked":
                answer = await accounts.api.request("POST", f"/v1/users/{ana.user}/revokeTokens", token=room.backend)
            else:
                answer = await ana.call("DELETE", "/v1/sessions/all")
            assert answer.status in (200, 204), answer
        finally:
            second.send_signal(signal.SIGCONT)
        assert (await asked)["type"] == "(closed)", type
        await client.closed(4001)
        known = (await accounts.api.request("GET", f"/v1/users/{ana.user}", token=room.backend)).json
        if ending == "deleted":
            assert known["profile"] is None, type
        else:
            assert known["profile"]["displayName"] == "Ana", type
        assert known["presence"].get("text") is None and known["presence"]["status"] != "busy", type
        after = (await accounts.api.request("GET", f"/v1/users/{ana.user}/visibility", token=room.backend)).json
        assert after == before, type
    assert (await bob.did("subscribe", conversationList=True))["conversationList"] == []


async def test_a_socket_cannot_refresh_with_the_token_of_an_ended_session(accounts, room):
    ana = await accounts.sign_up()
    phone = await accounts.signed_in(ana.email)
    client = await room.come("ana", token=ana.access)
    assert (await phone.call("DELETE", "/v1/sessions/current")).status == 204
    await client.refused("unauthorized", "refresh", token=phone.access)
    # The present token stays valid, and another valid one replaces it.
    await client.did("status", status="busy")
    await client.did("refresh", token=(await accounts.signed_in(ana.email)).access)
    assert (await ana.call("DELETE", "/v1/sessions/current")).status == 204
    await client.did("status", status="auto")


async def test_a_backend_that_revokes_tokens_signs_out(accounts, room):
    ana = await accounts.sign_up()
    client = await room.come("ana", token=ana.access)
    answer = await accounts.api.request("POST", f"/v1/users/{ana.user}/revokeTokens", token=room.backend)
    assert answer.status == 200
    await client.closed(4001)
    refused(await accounts.refresh(ana.tokens["refreshToken"]), 401, "unauthorized", "token_expired")


async def test_sessions_outlive_the_server(start):
    server = start(ON)
    accounts = Accounts(server)
    ana = await accounts.sign_up()
    server.stop()
    server.start()
    assert (await ana.call("GET", "/v1/me")).status == 200
    assert (await accounts.refresh(ana.tokens["refreshToken"])).status == 200


async def test_calls_under_way_are_answered_when_the_server_is_stopped(start):
    server = start(ON)
    accounts = Accounts(server)
    body = '{"email":"%s","password":"correct horse battery"}'
    calls = []
    for number in range(8):
        reader, writer = await asyncio.open_connection(server.host, server.port)
        text = body % accounts.address(str(number))
        writer.write(f"POST /v1/accounts HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(text)}\r\n\r\n{text}".encode())
        calls.append((reader, writer))
    assert b" 201 " in await asyncio.wait_for(calls[0][0].readline(), 30)
    stopping = asyncio.create_task(asyncio.to_thread(server.stop))
    for reader, writer in calls[1:]:
        assert b" 201 " in await asyncio.wait_for(reader.readline(), 30)
    for _, writer in calls:
        writer.close()
    await stopping


async def test_of_too_many_devices_the_one_unused_for_longest_is_signed_out(start):
    accounts = Accounts(start(ON | {"accounts.devices": 5}))
    ana = await accounts.sign_up(idempotency="x")
    for _ in range(5):
        # The quick way to sign in another device, without a delay between attempts.
        await accounts.sign_up(ana.email, idempotency="x")
    refused(await accounts.refresh(ana.tokens["refreshToken"]), 401, "unauthorized", "token_expired")
