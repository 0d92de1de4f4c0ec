"""Errors: every code of the table, and the form of an error."""

from support.room import Room

SETTINGS = {"subscribe_batch": 10, "subscriptions": 20}


def same(error, code, number):
    assert error["type"] == "error" and error["code"] == code and error["id"] == number
    assert isinstance(error["message"], str) and error["message"]


async def test_an_error_has_code_message_and_the_id_of_its_request(room):
    ana = await room.come("ana")
    await ana.send({"type": "subscribe", "id": 4711, "users": [f"p{number}" for number in range(11)]})
    same(await ana.hear("error"), "too_many", 4711)


async def test_without_an_id_an_error_still_comes(room):
    ana = await room.come("ana")
    await ana.send({"type": "subscribe", "users": [f"p{number}" for number in range(11)]})
    error = await ana.hear("error")
    assert error["code"] == "too_many" and "id" not in error


async def test_an_integer_beyond_64_bits_is_out_of_bounds(room):
    ana = await room.come("ana")
    chat = (await ana.did("createConversation", participants=["bob"]))["conversation"]["id"]
    for type, members, field in [
        ("getMessages", {}, "before"), ("getMessages", {}, "limit"), ("mark", {}, "read"), ("mark", {}, "delivered"),
        ("send", {"message": {"id": "m", "text": "a"}}, "after"), ("conversationSettings", {"muted": True}, "muteFor"),
        ("markNotifications", {}, "seen"), ("getNotifications", {}, "before"),
    ]:
        for beyond in (2 ** 63, 2 ** 64, -2 ** 63 - 1, 10 ** 40):
            error = await ana.refused("validation_failed", type, conversation=chat, **members | {field: beyond})
            assert error["field"] == field, error
    assert (await ana.did("getMessages", conversation=chat))["messages"] == []


async def test_bad_request(room):
    ana = await room.come("ana")
    for request in ({"type": "get"}, {"type": "get", "users": "bob"}, {"type": "status"}, {"type": "activity"}):
        await ana.send(request | {"id": 60})
        same(await ana.hear("error"), "bad_request", 60)


async def test_unknown_type(room):
    await (await room.come("ana")).refused("unknown_type", "frobnicate")


async def test_unauthorized(room):
    await (await room.socket()).refused("unauthorized", "get", users=[])
    client = await room.socket()
    await client.refused("unauthorized", "connect", token="x")
    await client.closed(4001)


async def test_forbidden(room):
    await (await room.come("ana")).refused("forbidden", "typing", conversation="not-there", typing=True)


async def test_validation_failed_names_the_field(room):
    ana = await room.come("ana")
    error = await ana.refused("validation_failed", "updateProfile", changes={"locale": "not a locale"})
    assert error["field"].endswith("locale")


async def test_too_many(room):
    await (await room.come("ana")).refused("too_many", "get", users=[f"p{number}" for number in range(11)])


async def test_unavailable_and_internal_are_the_stores_and_the_servers_fault(start):
    redis = start.redis()
    room = Room(start({}, redis=redis))
    ana, bob = await room.come("ana"), await room.come("bob")
    # After damage that no server caused, it answers and continues.
    for key in redis.command("KEYS", f"*:user:{bob.user}").splitlines():
        redis.command("SET", f"{key.split(':')[0]}:user:{bob.user}", "not what it was", "KEEPTTL")
    await bob.refused("internal", "updateProfile", changes={"displayName": "Bob"})
    assert await ana.get(room.name("somebody"))
    redis.kill()
    await ana.hear("stale")
    assert (await ana.refused("unavailable", "updateProfile", changes={"displayName": "Ana"}))["retryAfter"] > 0


async def test_nine_bad_requests_are_borne_and_the_tenth_closes_with_1008(room):
    ana = await room.come("ana")
    for _ in range(9):
        await ana.send("nonsense")
        await ana.hear("error", code="bad_request")
    assert await ana.get() == []
    await ana.send("nonsense")
    await ana.closed(1008)
    assert len(ana.events("error")) == 10


async def test_only_bad_requests_count(room):
    ana = await room.come("ana")
    for _ in range(12):
        await ana.refused("unknown_type", "frobnicate")
        await ana.refused("validation_failed", "updateProfile", changes={"displayName": "x" * 51})
        await ana.refused("too_many", "get", users=[f"p{number}" for number in range(11)])
        await ana.refused("forbidden", "subscribe", conversations=["not-there"])
    for _ in range(9):
        await ana.refused("bad_request", "get")
    assert await ana.get() == []


async def test_bad_requests_of_one_connection_are_not_anothers(room):
    one, two = await room.come("ana"), await room.come("ana")
    for _ in range(9):
        await one.refused("bad_request", "get")
        await two.refused("bad_request", "get")
    assert await one.get() == await two.get() == []


async def test_bad_requests_before_connect_count_or_are_unauthorized_and_do_no_harm(room):
    client = await room.socket()
    for _ in range(9):
        await client.send("nonsense")
        assert (await client.hear("error"))["code"] == "bad_request"
    await client.connect(room.token("ana"))
