"""Clients behind one address, and clients whose address a proxy cannot name."""

import asyncio
import random

import pytest

from support.accounts import ON, PASSWORD, Accounts
from support.room import Room

PROXY = {"trustedProxies": ["127.0.0.1"]}


def unreadable(seed):
    """An entry of proxies, clients and gateways that is not an IP address: fixed ones first, then random ones."""
    known = ["unknown", "unix:", "_hidden", "fe80::1%eth0", "", "-", "for=203.0.113.9", "203.0.113.9.", "203.0.113.999", "[::1",
             "203.0.113.9:99999", "::ffff:1.2.3.4.5", "localhost", '"203.0.113.9"', "203.0.113.9, ", "::", "0x7f.1"]
    if seed < len(known):
        return known[seed]
    drawn = random.Random(seed)
    text = "".join(drawn.choice("0123456789abcdef:.[]%/_-xyz") for _ in range(drawn.randint(1, 40)))
    return drawn.choice(["", "198.51.100.1, "]) + "z" + text


@pytest.mark.parametrize("seeds", [range(0, 17), range(100, 112)])
async def test_clients_whom_a_proxy_cannot_name_count_as_one_address(start, seeds):
    room = Room(start(PROXY | ON | {"connections_per_address": 3, "accounts.perAddress": 5}, shards=1))
    entries = [unreadable(seed) for seed in seeds]
    accounts = Accounts(room.server)

    async def status(entry):
        guess = {"email": accounts.address("nobody"), "password": "wrong password"}
        return (await room.api.request("POST", "/v1/sessions", guess, headers={"X-Forwarded-For": entry})).status
    statuses = [await status(entry) for entry in entries]
    assert statuses == [401] * 10 + [429] * (len(entries) - 10), list(zip(entries, statuses))
    assert await status("203.0.113.9") == 401

    sockets = [await room.socket(extra_headers={"X-Forwarded-For": entry}) for entry in entries]
    for socket, entry in list(zip(sockets, entries))[3:]:
        await socket.closed(1013)
    for socket in sockets[:3]:
        await socket.connect(room.token("ana"))
    named = await room.socket(extra_headers={"X-Forwarded-For": "203.0.113.9"})
    await named.connect(room.token("bob"))


async def test_a_school_signs_up_and_in_behind_one_address(start):
    server = start(PROXY | ON, shards=1)
    accounts = Accounts(server)
    school = {"X-Forwarded-For": "203.0.113.50"}
    people = [accounts.address(f"pupil{number}") for number in range(60)]

    async def call(path, **body):
        for _ in range(20):
            answer = await accounts.api.request("POST", path, body, headers=school)
            # Too many hashes at once, a temporary error that does not depend on the address.
            if answer.status != 503:
                return answer.status
            await asyncio.sleep(answer.json["retryAfter"] / 1_000)

    async def all_of(path, **body):
        several = asyncio.Semaphore(16)

        async def one(email):
            async with several:
                return await call(path, email=email, **body)
        return await asyncio.gather(*[one(email) for email in people])
    assert await all_of("/v1/accounts", password=PASSWORD) == [201] * 60
    assert await all_of("/v1/sessions", password=PASSWORD) == [200] * 60
    # Again, as after a lesson: right passwords are not counted.
    assert await all_of("/v1/sessions", password=PASSWORD) == [200] * 60


async def test_excessive_requests_of_an_address_are_never_dropped_silently(start):
    server = start(PROXY | ON | {"accounts.perAddress": 5}, shards=1)
    accounts, room = Accounts(server), Room(server)
    school = {"X-Forwarded-For": "203.0.113.50"}

    async def ask(path, **body):
        return await accounts.api.request("POST", path, body, headers=school)
    people = [accounts.address() for _ in range(3)]
    for email in people:
        assert (await ask("/v1/accounts", email=email, password=PASSWORD)).status == 201
    # With and without such an account.
    for email in (people[0], "nobody@example.org"):
        assert (await ask("/v1/passwords/forgot", email=email)).status == 202
    for path, body in (("/v1/passwords/forgot", {"email": people[1]}), ("/v1/passwords/forgot", {"email": "nobody@example.org"}),
                       ("/v1/passwords/forgot", {"email": "none"}),
                       ("/v1/accounts", {"email": accounts.address(), "password": PASSWORD})):
        answer = await ask(path, **body)
        assert answer.status == 429 and answer.json["code"] == "rate_limited" and 0 < answer.json["retryAfter"] <= 60_000
        assert int(answer.headers["Retry-After"]) > 0
    assert await room.api.metric("limit_met_total", limit="sign_ups") == 4
    for _ in range(10):
        assert (await ask("/v1/sessions", email=accounts.address("nobody"), password="wrong password")).status == 401
    assert (await ask("/v1/sessions", email=people[0], password=PASSWORD)).status == 429
    assert await room.api.metric("limit_met_total", limit="guesses") == 1
    assert "limit of an address met" in server.whole_log() and "limit=sign_ups" in server.whole_log()
    # Another address has its own limit.
    await accounts.sign_up()
