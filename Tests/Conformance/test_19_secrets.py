"""A user's private data reaches no other user: not by an error, the log, or a metric."""

import asyncio
import json
import os
import time
from unittest import mock

from support.patience import PATIENCE
from support.raw import BINARY, frame, text
from support.room import Room

MARK = "s3cr3t"
"""Part of everything that is Ana's."""


async def refused_tokens(room, tokens):
    for token in tokens:
        client = await room.socket(extra_headers={"Authorization": f"Bearer {token}"})
        await client.ask("connect")
        client = await room.socket()
        await client.ask("connect", token=token)
        for place in ("/v1/users/bob", f"/v1/users/bob?token={token}", f"/v1/{token}"):
            await room.api.request("GET", place, token=token)
        await room.api.request("POST", f"/v1/users/{MARK}/disconnect", token=token)


async def refused_requests(ana):
    """Errors of every code that one request can have, each with something of Ana's in it."""
    requests = [
        {"type": "get"}, {"type": "get", "users": [7, MARK]}, {"type": MARK}, {"type": "get", "users": [f"{MARK} x"]},
        {"type": "refresh", "token": f"{MARK}.{MARK}.{MARK}"}, {"type": "connect", "token": MARK},
        {"type": "subscribe", "conversations": [f"{MARK}-talk"]},
        {"type": "typing", "conversation": MARK, "typing": True},
        {"type": "updateProfile", "changes": {"displayName": MARK * 30}},
        {"type": "updateProfile", "changes": {"photoURL": f"ftp://{MARK}"}},
        {"type": "updateProfile", "changes": {"timezone": f"Mars/{MARK}"}},
        {"type": "status", "status": MARK}, {"type": "status", "status": "busy", "text": MARK + "\u202e"},
        {"type": "get", "users": [f"{MARK}{number}" for number in range(1_001)]},
        {"type": "createConversation", "participants": [f"{MARK}{number}" for number in range(20)]},
        {"type": "activity", "state": MARK},
    ]
    for request in requests:
        error = await ana.ask(**request)
        assert error["type"] == "error", error


async def test_a_users_private_data_reaches_no_other_user(start):
    redis = start.redis()
    times = {"PRESENCE_COMMAND_TIMEOUT": "500ms", "PRESENCE_STALE_AFTER": "500ms", "PRESENCE_LEASE_RENEWAL": "200ms",
             "PRESENCE_LIMITS_BAD_REQUESTS": "8", "PRESENCE_LIMITS_REQUEST_BURST": "60",
             "PRESENCE_LIMITS_REQUESTS_PER_SECOND": "20"}
    with mock.patch.dict(os.environ, times):
        server = start({"linger": 300}, redis=redis, arguments=["--log-level", "trace"])
    room = Room(server)
    bob = await room.come("bob")
    user, mail = f"{MARK}-ana", f"{MARK}@example.org"
    tokens = [server.mint.token(user), server.mint.token(mail), server.mint.token(user, email=mail, name=MARK)]

    # Valid tokens, and each with another fault.
    wrong = [server.mint.token(user, expires=-1), server.mint.token(mail, secret=b"y" * 32), MARK,
             f"{MARK}.{MARK}.{MARK}", server.mint.unsigned(user), server.mint.token(user, header={"kid": MARK}),
             server.mint.token(user, nbf=int(time.time()) + 99), server.mint.token(user, header={"alg": MARK})]
    await refused_tokens(room, wrong)
    clients = []
    for number, token in enumerate(tokens):
        device = {"id": f"{MARK}-{number}", "kind": "phone", "name": MARK}
        client = await room.socket()
        clients.append(await client.connect(token, device=device, status={"status": "busy", "text": MARK}))
    ana = clients[0]
    answers = await asyncio.gather(*[ana.ask("get", users=[MARK]) for _ in range(100)])
    assert "rate_limited" in [answer.get("code") for answer in answers]
    await asyncio.sleep(1)
    await ana.did("createConversation", participants=[mail])
    await refused_requests(clients[1])
    await ana.update(displayName=MARK, photoURL=f"https://example.org/{MARK}")
    assert server.process.poll() is None

    # Malformed frames, and an unknown path.
    raw = await room.raw()
    await raw.write(text({"type": "connect", "token": tokens[0]}) + frame(BINARY, MARK.encode()))
    await raw.closed()
    raw = await room.raw()
    await raw.write(text({"type": "connect", "token": tokens[0]}) + text(b"\xff" + MARK.encode()))
    await raw.closed()
    await clients[2].close(4321)

    # First her data in Redis is damaged, then Redis is gone: internal errors of the server.
    broken = redis.command("KEYS", f"*:user:{user}").splitlines()
    for key in broken:
        redis.command("SET", key, MARK)
    await ana.refused("internal", "updateProfile", changes={"displayName": MARK + "2"})
    await room.api.request("PATCH", f"/v1/users/{user}/profile", {"displayName": MARK}, token=room.backend)
    await room.api.request("POST", f"/v1/users/{user}/revokeTokens", token=room.backend)
    redis.command("DEL", *broken)
    redis.stop()
    await bob.hear("stale")
    await ana.refused("unavailable", "updateProfile", changes={"displayName": MARK + "3"})
    redis.go_on()
    await bob.hear("live", within=2 * PATIENCE)

    page = (await room.api.request("GET", "/metrics")).body
    log = server.whole_log()
    assert "internal error" in log, "the faults were none"
    secrets = [MARK, server.mint.secret.decode(), *[part for token in tokens + wrong for part in token.split(".")
                                                   if len(part) > 15]]
    for secret in secrets:
        assert secret not in log, [line for line in log.splitlines() if secret in line][:3]
        assert secret not in page, secret
        assert secret not in json.dumps(bob.log), secret
    assert room.name("bob") not in page and 'code="other"' in page


async def test_an_error_goes_to_the_one_connection_that_asked(room):
    one, two, bob = await room.come("ana"), await room.come("ana"), await room.come("bob")
    await one.subscribe(bob)
    await bob.subscribe(one)
    await one.refused("bad_request", "get")
    await one.refused("forbidden", "subscribe", conversations=["not-mine"])
    assert await two.get() == await bob.get() == []
    for other in (two, bob):
        assert not other.events("error")
