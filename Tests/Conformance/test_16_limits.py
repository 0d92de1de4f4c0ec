"""Limits: a flooding client is limited, counted and disconnected, and others notice nothing."""

import asyncio
import json

import pytest

from support.patience import eventually
from support.raw import CONTINUATION, PING, PONG, TEXT, RawSocket, frame, text
from support.room import Room
from support.talks import group, listed, say

SETTINGS = {"request_burst": 50, "requests_per_second": 10, "rate_limited": 100, "user_request_burst": 80,
            "connections_per_user": 4, "linger": 500, "subscriptions": 20, "subscribe_batch": 20}


async def met(room, limit):
    return await room.api.metric("limit_met_total", limit=limit)


async def goes_on(*pair):
    """The first user immediately sees the second one's changes."""
    watcher, other = pair
    await other.status("busy")
    await watcher.sees(other, status="busy", within=5)
    await other.status("auto")
    await watcher.sees(other, status="online", within=5)


async def bystanders(room):
    watcher, other = await room.come("wanda"), await room.come("otto")
    await watcher.subscribe(other)
    return watcher, other


async def flood(client, count):
    """The answers to many requests at once."""
    return await asyncio.gather(*[client.ask("get", users=[]) for _ in range(count)])


async def test_a_connection_above_its_rate_gets_a_delay_and_nothing_is_changed(start):
    room = Room(start({"request_burst": 50, "requests_per_second": 1}, shards=1))
    pair = await bystanders(room)
    ana = await room.come("ana")
    answers = await flood(ana, 80)
    refused = [answer for answer in answers if answer["type"] == "error"]
    assert refused and {answer["code"] for answer in refused} == {"rate_limited"}
    assert all(0 < answer["retryAfter"] <= 1_000 for answer in refused)
    error = await ana.refused("rate_limited", "updateProfile", changes={"displayName": "Never"})
    assert await met(room, "requests") == len(refused) + 1
    assert await room.api.metric("errors_total", code="rate_limited") == len(refused) + 1
    await goes_on(*pair)
    await asyncio.sleep(error["retryAfter"] / 1000 + 0.05)
    assert (await ana.get(ana))[0]["profile"] is None


async def test_a_rate_limited_request_without_an_id_gets_an_error_too(room):
    ana = await room.come("ana")
    for _ in range(70):
        await ana.send({"type": "activity", "state": "active"})
    error = await ana.hear("error", code="rate_limited")
    assert "id" not in error and error["retryAfter"] > 0


async def test_a_client_that_continues_is_closed_with_1008_and_no_other(room):
    pair = await bystanders(room)
    ana, second = await room.come("ana"), await room.come("ana")
    for _ in range(400):
        await ana.send({"type": "get", "users": []})
    await ana.closed(1008)
    # The user's other connection continues, as soon as there is a token for it.
    await eventually(lambda: answered(second), "an answer")
    await goes_on(*pair)


async def answered(client):
    return (await client.ask("get", users=[]))["type"] == "users"


async def test_a_user_has_one_bucket_over_connections_and_http(start):
    room = Room(start({"user_request_burst": 40, "user_requests_per_second": 1}, shards=1))
    pair = await bystanders(room)
    one, two = await room.come("ana"), await room.come("ana")
    answers = await flood(one, 25) + await flood(two, 25)
    assert "rate_limited" in [answer.get("code") for answer in answers]
    answer = await room.api.request("GET", "/v1/users/bob", token=room.token("ana"))
    assert answer.status == 429 and int(answer.headers["Retry-After"]) > 0
    assert answer.json["code"] == "rate_limited" and answer.json["retryAfter"] > 0
    # Other users and backends have their own buckets.
    assert (await room.api.request("GET", "/v1/users/bob", token=room.token("bob"))).status == 200
    for _ in range(60):
        assert (await room.api.request("GET", "/v1/users/bob", token=room.backend)).status == 200
    assert await met(room, "user_requests") > 0 and await met(room, "requests") == 0
    await goes_on(*pair)


async def test_a_user_has_so_many_connections_over_all_servers(start):
    redis = start.redis()
    settings = {"connections_per_user": 3, "linger": 500}
    room = Room(start(settings, redis=redis))
    second = start(settings, redis=redis, directory=room.server.directory)
    pair = await bystanders(room)
    held = [await room.come("ana", at=at) for at in (room.server, second, second)]
    late = await room.socket()
    error = await late.refused("too_many", "connect", token=room.token("ana"))
    _, reason = await late.closed(1013)
    assert error["retryAfter"] > 0 and json.loads(reason)["reconnectAfter"] > 0
    assert await met(room, "connections_per_user") == 1
    await goes_on(*pair)
    await held[1].close()
    await eventually(lambda: let_in(room), "room for another")


async def let_in(room):
    client = await room.socket()
    return (await client.ask("connect", token=room.token("ana")))["type"] == "connected"


async def test_an_address_has_so_many_connections(start):
    room = Room(start({"connections_per_address": 5, "limit_loopback": True}, shards=2))
    pair = await bystanders(room)
    clients = [await room.socket() for _ in range(3)]
    for _ in range(3):
        _, reason = await (await room.socket()).closed(1013)
        assert json.loads(reason)["reconnectAfter"] > 0
    assert await met(room, "connections_per_address") == 3
    assert room.server.logged().count("an address has too many connections") <= 2
    await goes_on(*pair)
    # Another address of this machine is separate; and a place that was freed is available again.
    await (await room.socket(local_addr=("127.0.0.2", 0))).connect(room.token("bob"))
    await clients[0].close()
    await eventually(lambda: stays(room), "a place")


async def stays(room):
    client = await room.socket()
    return (await client.ask("connect", token=room.token("cy")))["type"] == "connected"


async def test_this_machines_own_addresses_are_free_by_default(start):
    room = Room(start({"connections_per_address": 2}))
    for number in range(5):
        await room.come(f"p{number}")


async def test_one_subscription_too_many_is_counted(room):
    ana = await room.come("ana")
    await ana.subscribe(*[f"p{number}" for number in range(20)])
    before = await met(room, "subscriptions")
    await ana.refused("too_many", "subscribe", users=["one-more"])
    assert await met(room, "subscriptions") == before + 1


async def test_full_outboxes_close_the_connections_that_read_nothing_and_have_most(start):
    room = Room(start({"outbox_bytes": 2_000_000, "requests_per_second": 0, "user_requests_per_second": 0}, shards=2))
    pair = await bystanders(room)
    names = [f"somebody-with-a-long-name-{'x' * 80}-{number}" for number in range(1_000)]
    slow = [await room.raw(f"slow{number}", receive_buffer=4096) for number in range(8)]
    for each in slow:
        each.stop_reading()
    ask = {"type": "get", "users": names}
    # The kernel's buffer for a connection, some hundred KB, does not count here.
    little, much = slow[:2], slow[2:]
    for each in little:
        await ask_often(each, ask, 1)
    for each in much:
        await ask_often(each, ask, 12)
    await eventually(lambda: some_closed(room), "some too slow ones closed", every=0.05)
    await goes_on(*pair)
    assert await eventually(lambda: bounded(room), "less than the limit waits")
    closed = await room.api.metric("closes_total", code="4005")
    assert 0 < closed <= len(much)
    assert await room.api.metric("limit_met_total", limit="outbox_bytes") == closed
    for each in little:
        each.go_on_reading()
        assert len((await each.read_message())["users"]) == len(names), "nobody has to go who holds little"


async def ask_often(raw, message, count):
    for _ in range(count):
        raw.writer.write(text(message))
    await asyncio.sleep(0)


async def some_closed(room):
    return await met(room, "outbox_bytes") > 0


async def bounded(room):
    """The sum, and a check that every connection that was closed for it has ended."""
    waiting = await room.api.metric("outbox_bytes")
    closed = await room.api.metric("closes_total", code="4005")
    return waiting <= 2_000_000 and closed == await met(room, "outbox_bytes")


async def test_entries_pending_in_the_background_count_and_are_bounded(start):
    room = Room(start(
        {"outbox_bytes": 400_000, "requests_per_second": 0, "user_requests_per_second": 0}, shards=1))
    pair = await bystanders(room)
    ana = await room.come("ana")
    people = [await room.come(f"bob{number}") for number in range(8)]
    groups = [(await group(ana, *people, name=f"Group {number}"))["id"] for number in range(30)]
    for each in people:
        await each.did("subscribe", conversationList=True)
        await each.did("activity", state="background")
    await listed(ana)
    before = await room.api.metric("outbox_bytes")
    held = []
    for id in groups:
        await say(ana, id, "x" * 4_000)
        held.append(await room.api.metric("outbox_bytes"))
    # 4 KB for each of eight and each of 30 groups would be 960,000. (A metric may be read before the excessive event has
    # caused others to be closed.)
    assert before < 50_000 < max(held) <= 400_000 + 8 * 6_000
    assert await room.api.metric("closes_total", code="4005") == 0
    await goes_on(*pair)
    for each in people:
        await each.did("activity", state="active")
        missing = set(groups)
        while missing:
            missing.discard((await each.hear("conversation"))["conversation"]["id"])
    await eventually(lambda: nothing_waits(room), "nothing waits for anybody")


@pytest.mark.parametrize("kind", ["fragments", "pings", "pongs"])
async def test_frames_without_a_message_meet_a_limit(room, kind):
    pair, before = await bystanders(room), await met(room, "requests")
    raw = await room.raw("ana")
    one = {"fragments": frame(CONTINUATION, final=False), "pings": frame(PING), "pongs": frame(PONG, b"x")}[kind]
    if kind == "fragments":
        await raw.write(frame(TEXT, b" ", final=False))
    # A hundred frames cost a request: those of a burst and a second are free.
    await raw.write(one * 100 * 40)
    await goes_on(*pair)
    assert await met(room, "requests") == before

    async def flood():
        while True:
            await raw.write(one * 4_000)
    task = asyncio.ensure_future(flood())
    assert await raw.closed() == 1008
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await goes_on(*pair)


async def test_a_long_message_may_come_in_many_fragments(room):
    raw = await room.raw("ana")
    message = b'{"type":"get","id":9,"users":[]' + b" " * 60_000 + b"}"
    pieces = [message[place:place + 64] for place in range(0, len(message), 64)]
    await raw.write(frame(TEXT, pieces[0], final=False))
    await raw.write(b"".join(frame(CONTINUATION, piece, final=False) for piece in pieces[1:-1]))
    await raw.write(frame(CONTINUATION, pieces[-1]))
    assert (await raw.read_message())["type"] == "users"


async def test_unread_long_answers_over_http_are_bounded_too(start):
    room = Room(start({"outbox_bytes": 2_000_000}, shards=2))
    pair = await bystanders(room)
    # 190 KB each, of which the kernel buffers 140 and the server counts all: five fit into half of the limit.
    names = [f"somebody-with-a-long-name-{'x' * 90}-{number}" for number in range(1_000)]
    body = json.dumps({"users": names}).encode()
    ask = (f"POST /v1/users/get HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {room.backend}\r\n"
           f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    slow = [await RawSocket(room.server).dial(receive_buffer=4096) for _ in range(8)]
    for each in slow:
        each.stop_reading()
        await each.write(ask)
    await eventually(lambda: met_in(room, "outbox_bytes", 3), "three are refused")

    async def get(users):
        return await room.api.request("POST", "/v1/users/get", {"users": users}, token=room.backend)

    answer = await get(names)
    assert answer.status == 503 and answer.json["code"] == "unavailable" and answer.json["retryAfter"] > 0
    assert 0 < await room.api.metric("outbox_bytes") <= 1_010_000
    assert (await get(names[:100])).status == 200
    await goes_on(*pair)
    for each in slow:
        each.abort()
    await eventually(lambda: nothing_waits(room), "nothing waits for anybody")
    assert (await get(names)).status == 200


async def nothing_waits(room):
    return await room.api.metric("outbox_bytes") == 0


async def test_bytes_pending_for_redis_are_bounded(start):
    redis = start.redis()
    room = Room(start({"redis_bytes": 200_000, "requests_per_second": 0, "user_requests_per_second": 0}, redis=redis, shards=1))
    # On separate connections, because the requests of one connection wait for each other.
    floods = [await room.come(f"flood-{number}") for number in range(20)]
    other, writer = await room.come("other"), await room.come("writer")
    await other.subscribe(writer)
    ids = [f"{'x' * 100}{number}" for number in range(500)]

    async def waiting():
        return await room.api.metric("redis_commands_pending_bytes")

    redis.stop()
    # 50 KB each: the fourth arrives while less than the limit is pending, and is the last that is accepted.
    requests = []
    for flood in floods:
        requests.append(flood.begin("block", users=ids))
    await eventually(lambda: met_in(room, "redis_bytes", 16), "16 are refused")
    assert 200_000 <= await waiting() < 260_000
    for type, members in [("status", {"status": "busy"}), ("updateProfile", {"changes": {"displayName": "W"}}),
                          ("activity", {"state": "idle"}), ("get", {"users": ["nobody-knows"]}), ("subscribe", {"users": ["nobody-knows"]})]:
        refusal = await writer.refused("unavailable", type, **members)
        assert refusal["retryAfter"] > 0, refusal
    # Data in memory is still served, and arriving and leaving users are stored in Redis.
    assert (await other.get(writer))[0]["presence"]["status"] == "online"
    newcomer = asyncio.create_task(room.come("newcomer"))
    assert sum(request.done() for request in requests) == 16
    redis.go_on()
    replies = await asyncio.gather(*requests)
    assert sorted(reply["type"] for reply in replies) == ["error"] * 16 + ["ok"] * 4
    assert {reply["code"] for reply in replies if reply["type"] == "error"} == {"unavailable"}
    await newcomer
    # Their actions are published as soon as there is room; they must repeat rejected changes.
    await other.sees(writer, status="away")
    await writer.send({"type": "activity", "state": "active"})
    await writer.insists("status", status="busy")
    await other.sees(writer, status="busy")
    await eventually(lambda: is_empty(waiting), "nothing waits")


async def met_in(room, limit, times):
    return await met(room, limit) >= times


async def is_empty(waiting):
    return await waiting() < 10_000


FEW = {"limits.failedTokensPerSecond": 1, "limits.failedTokenBurst": 12, "limit_loopback": True}


async def test_an_address_with_invalid_tokens_is_rejected_for_a_while(start):
    room = Room(start(FEW, shards=1))
    pair = await bystanders(room)
    wrong = room.token("ana", secret=b"x" * 32)
    statuses = [(await room.api.request("GET", "/v1/users/bob", token=wrong)).status for _ in range(20)]
    assert 401 in statuses and statuses[-1] == 429 and 10 <= statuses.count(401) <= 16, statuses
    answer = await room.api.request("GET", "/v1/users/bob", token=room.backend)
    # Without verification, valid and invalid tokens cannot be distinguished.
    assert answer.status == 429 and answer.json["code"] == "rate_limited" and int(answer.headers["Retry-After"]) > 0
    client = await room.socket()
    error = await client.refused("rate_limited", "connect", token=room.token("ana"))
    assert 0 < error["retryAfter"] <= 1_500
    await goes_on(*pair)
    # Another address is separate; and a client that waits as required is admitted, on the same connection.
    await (await room.socket(local_addr=("127.0.0.2", 0))).connect(room.token("cy"))
    await asyncio.sleep(error["retryAfter"] / 1000 + 0.1)
    assert (await client.ask("connect", token=room.token("ana")))["type"] == "connected"
    assert await met(room, "failed_tokens") >= 3 and await room.api.metric("tokens_refused_total") >= 10


async def test_failed_tokens_behind_a_proxy_are_its_clients(start):
    room = Room(start(FEW | {"trustedProxies": ["127.0.0.1"]}, shards=1))
    wrong = room.token("ana", secret=b"x" * 32)

    async def ask(address, token):
        return (await room.api.request(
            "GET", "/v1/users/bob", token=token, headers={"X-Forwarded-For": address})).status
    assert [await ask("203.0.113.9", wrong) for _ in range(20)][-1] == 429
    assert await ask("203.0.113.9", room.backend) == 429
    assert await ask("203.0.113.10", room.backend) == 200


async def test_this_machines_own_failures_are_free_by_default(start):
    room = Room(start({name: value for name, value in FEW.items() if name != "limit_loopback"}))
    wrong = room.token("ana", secret=b"x" * 32)
    for _ in range(20):
        assert (await room.api.request("GET", "/v1/users/bob", token=wrong)).status == 401


async def test_a_connection_that_refreshes_with_invalid_tokens_is_closed(room):
    pair = await bystanders(room)
    ana = await room.come("ana")
    for number in range(10):
        await ana.refused("unauthorized", "refresh", token=room.token("ana" if number % 2 else "bob", expires=-5))
    await ana.closed(4001)
    await goes_on(*pair)


# Ids


async def test_ids_cost_in_proportion_to_their_work(start):
    room = Room(start({"request_burst": 60, "requests_per_second": 1}, shards=1))
    ana = await room.come("ana")
    many = [f"p{number}" for number in range(500)]
    # One for connect, 51 for the first request.
    assert (await ana.ask("addContacts", users=many))["type"] == "ok"
    await ana.refused("rate_limited", "addContacts", users=[f"q{number}" for number in range(500)])
    bob = await room.come("bob")
    assert (await bob.ask("get", users=many))["type"] == "users"
    await bob.refused("rate_limited", "get", users=many)


async def test_users_beyond_the_subscription_limit_are_not_read(start):
    redis = start.redis()
    room = Room(start({"subscriptions": 20, "subscribe_batch": 20}, redis=redis))
    ana = await room.come("ana")
    await ana.subscribe(*[f"p{number}" for number in range(20)])

    def readings():
        line = redis.command("INFO", "commandstats").partition("cmdstat_hmget:calls=")[2]
        return int(line.partition(",")[0])
    before = readings()
    for number in range(10):
        await ana.refused("too_many", "subscribe", users=[f"q{number}-{each}" for each in range(20)])
    assert readings() == before
    # Repeated subscriptions to watched users do not count again; and an unsubscription makes room for the next.
    await ana.subscribe(*[f"p{number}" for number in range(20)])
    await ana.send({"type": "unsubscribe", "users": ["p0"]})
    await ana.subscribe("another")
