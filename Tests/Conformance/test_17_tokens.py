"""Tokens: invalid ones, keys that change without a restart, and revoked tokens."""

import asyncio
import json
import os
import signal
import subprocess
import time

import pytest

from support.patience import PATIENCE, eventually
from support.raw import RawSocket, text
from support.room import Room
from support.tokens import FOR_EVER, encode, sign


class Key:
    """An ES256 key of an application, made and used by OpenSSL."""

    def __init__(self, directory, kid):
        self.kid, self.file = kid, os.path.join(directory, f"{kid}.private.pem")
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.file)

    @property
    def public(self):
        return openssl("ec", "-in", self.file, "-pubout")

    @property
    def jwk(self):
        """The last 64 bytes of the key's DER are the two coordinates."""
        point = openssl("ec", "-in", self.file, "-pubout", "-outform", "DER")[-64:]
        return {"kty": "EC", "crv": "P-256", "kid": self.kid, "alg": "ES256", "use": "sig",
                "x": encode(point[:32]), "y": encode(point[32:])}

    def token(self, user, expires=3600, header=None, **claims):
        header = {"alg": "ES256", "typ": "JWT", "kid": self.kid} | (header or {})
        now = int(time.time())
        claims = {name: value for name, value in
                  ({"sub": user, "iat": now, "exp": now + expires} | claims).items() if value is not None}
        signed = encode(json.dumps(header).encode()) + "." + encode(json.dumps(claims).encode())
        der = openssl("dgst", "-sha256", "-sign", self.file, input=signed.encode())
        return signed + "." + encode(raw_signature(der))


def openssl(*arguments, input=None):
    return subprocess.run(["openssl", *arguments], input=input, capture_output=True, check=True, timeout=30).stdout


def raw_signature(der):
    """SEQUENCE { INTEGER r, INTEGER s } as the 64 bytes that JWS requires."""
    numbers, place = [], 2
    for _ in range(2):
        length = der[place + 1]
        numbers.append(int.from_bytes(der[place + 2:place + 2 + length], "big"))
        place += 2 + length
    return b"".join(number.to_bytes(32, "big") for number in numbers)


async def is_let_in(room, token):
    client = await room.socket()
    answer = await client.ask("connect", token=token)
    if answer["type"] == "connected":
        await client.close()
        return True
    assert answer["code"] == "unauthorized", answer
    await client.closed(4001)
    return False


def replace(path, text):
    """Replaces a file atomically, as careful programs do."""
    with open(path + ".new", "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.rename(path + ".new", path)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """A server that knows one key from a file and one from a key set, and whose tokens have an issuer and an
    audience."""
    from support.server import Server
    directory = str(tmp_path_factory.mktemp("keys"))
    pem, jwk = Key(directory, "by-pem"), Key(directory, "by-jwk")
    replace(os.path.join(directory, "by-pem.pem"), pem.public)
    replace(os.path.join(directory, "jwks.json"), json.dumps({"keys": [jwk.jwk]}))
    server = Server({"keys": [f"by-pem:ES256:{directory}/by-pem.pem"], "jwks_file": f"{directory}/jwks.json",
                     "issuer": "https://app.example", "audience": "presence"})
    server.pem_key, server.jwk_key, server.key_directory = pem, jwk, directory
    yield server
    server.close()


RIGHT = {"iss": "https://app.example", "aud": "presence"}


async def test_keys_of_both_kinds_admit_the_users_they_signed_for(keyed):
    room = Room(keyed)
    for key in (keyed.pem_key, keyed.jwk_key):
        assert await is_let_in(room, key.token("ana", **RIGHT))
        assert await is_let_in(room, key.token("ana", iss="https://app.example", aud=["other", "presence"]))
    assert await is_let_in(room, room.token("ana"))


async def test_a_key_set_as_providers_publish_it_admits_users(start, tmp_path):
    """Keys without `alg`, beside keys of which the server understands nothing (RFC 7517, section 5)."""
    key = Key(str(tmp_path), "now")
    published = {name: value for name, value in key.jwk.items() if name != "alg"} | {"x5t": "abc"}
    others = [
        {"kty": "RSA", "use": "enc", "alg": "RSA-OAEP", "kid": "enc", "n": "AQAB", "e": "AQAB"},
        {"kty": "AKP", "alg": "ML-DSA-44", "use": "sig", "kid": "later", "pub": "AAAA"},
        {"kty": "OKP", "crv": "X448", "kid": "curve", "x": "AAAA"},
    ]
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": others + [published]}))
    server = start({"jwks_file": str(file), "issuer": "https://app.example", "audience": "presence"})
    room = Room(server)
    assert await is_let_in(room, key.token("ana", **RIGHT))
    assert not await is_let_in(room, key.token("ana", header={"alg": "HS256"}, **RIGHT))
    for other in others:
        await server.wait_for_log(other["kid"])


async def test_invalid_tokens_are_rejected(keyed, tmp_path):
    room, mint, now = Room(keyed), keyed.mint, int(time.time())
    key, stranger = keyed.pem_key, Key(str(tmp_path), "by-pem")
    good = key.token("ana", **RIGHT)
    header, claims, signature = good.split(".")
    claimed = {"sub": "ana", "iat": now, "exp": now + 3600} | RIGHT
    wrong = {
        "no algorithm": mint.unsigned("ana"),
        "no algorithm, in capitals": encode(b'{"alg":"NONE"}') + f".{claims}.",
        "no signature": f"{header}.{claims}.",
        "the public key as a secret": sign({"alg": "HS256", "kid": "by-pem"}, claimed, key.public),
        "the public key as a secret, without its last line break":
            sign({"alg": "HS256", "kid": "by-pem"}, claimed, key.public.strip()),
        "the own secret under another key's name": mint.token("ana", header={"kid": "by-pem"}, **RIGHT),
        "another algorithm named": key.token("ana", header={"alg": "ES384"}, **RIGHT),
        "another key of the same name": stranger.token("ana", **RIGHT),
        "the other key's name": key.token("ana", header={"kid": "by-jwk"}, **RIGHT),
        "a key that is not known": key.token("ana", header={"kid": "nobody"}, **RIGHT),
        "no key named": key.token("ana", header={"kid": None}, **RIGHT),
        "another secret": mint.token("ana", secret=b"x" * 32),
        "a key that it brings along": key.token("ana", header={"kid": "evil", "jwk": stranger.jwk}, **RIGHT),
        "changed claims": f"{header}.{encode(json.dumps(claimed | {'sub': 'bob'}).encode())}.{signature}",
        "no exp": mint.token("ana", expires=FOR_EVER),
        "no exp, of a key": key.token("ana", exp=None, **RIGHT),
        "expired": key.token("ana", expires=-1, **RIGHT),
        "not yet": key.token("ana", nbf=now + 60, **RIGHT),
        "issued ahead": key.token("ana", iat=now + 60, **RIGHT),
        "no issuer": key.token("ana", aud="presence"),
        "another issuer": key.token("ana", iss="https://app.example/", aud="presence"),
        "no audience": key.token("ana", iss="https://app.example"),
        "another audience": key.token("ana", iss="https://app.example", aud=["presence2"]),
        "an own token for another audience": mint.token("ana", aud="other"),
        "nobody": key.token("", **RIGHT),
    }
    for what, token in wrong.items():
        assert not await is_let_in(room, token), what
        assert (await room.api.request("GET", "/v1/users/bob", token=token)).status == 401, what
    assert await is_let_in(room, good)


# Signatures that are verified off the loop


async def test_requests_after_connect_are_answered_after_it(keyed):
    room, tokens = Room(keyed), [keyed.pem_key.token(f"user-{number}", **RIGHT) for number in range(20)]
    for token in tokens:
        # All in one packet, before the server can have sent anything.
        raw = await RawSocket(keyed).dial()
        await raw.write(raw.upgrade())
        await raw.reader.readuntil(b"\r\n\r\n")
        messages = [{"type": "connect", "id": 1, "token": token}, {"type": "getVisibility", "id": 2},
                    {"type": "refresh", "id": 3, "token": token}, {"type": "getVisibility", "id": 4},
                    {"type": "refresh", "id": 5, "token": tokens[0][:-4] + "AAAA"}, {"type": "getVisibility", "id": 6}]
        await raw.write(b"".join(text(json.dumps(message)) for message in messages))
        said = []
        while len(said) < 6:
            message = await raw.read_message()
            if "id" in message:
                said.append((message["id"], message["type"]))
        assert said == [(1, "connected"), (2, "visibility"), (3, "refreshed"), (4, "visibility"), (5, "error"),
                        (6, "visibility")]
        raw.abort()
    assert await room.api.metric("workers_done_total", pool="signatures") >= 60


async def test_connections_that_are_gone_before_their_token_is_verified_leave_nothing(keyed):
    room, token = Room(keyed), keyed.pem_key.token("fleeting", **RIGHT)
    for _ in range(50):
        raw = await RawSocket(keyed).dial()
        await raw.write(raw.upgrade() + text(json.dumps({"type": "connect", "id": 1, "token": token})))
        raw.abort()

    async def is_idle():
        return await room.api.metric("workers_queued") == 0 and await room.api.metric("inbox_bytes") == 0
    await eventually(is_idle, "nothing waits")
    assert await is_let_in(room, token)


async def test_the_body_of_a_call_is_not_waited_for_if_its_signature_is_wrong(keyed):
    room = Room(keyed)
    good = keyed.pem_key.token("app", role="backend", **RIGHT)
    answer = await room.api.request("POST", "/v1/users/get", {"users": ["ana"]}, token=good)
    assert answer.status == 200, answer
    header, claims, signature = good.split(".")
    for token, status in ((good, 200), (f"{header}.{claims}.{signature[:-8]}AAAAAAAA", 401)):
        raw = await RawSocket(keyed).dial()
        body = json.dumps({"users": ["ana"]}).encode()
        await raw.write((f"POST /v1/users/get HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n").encode() + body[:5])
        if status == 200:
            await raw.write(body[5:])
        line = await asyncio.wait_for(raw.reader.readline(), PATIENCE)
        assert line.split()[1] == str(status).encode(), line
        raw.abort()


# Keys that change


@pytest.mark.parametrize("by_signal", [True, False], ids=["at SIGHUP", "by itself"])
async def test_keys_come_and_go_without_a_restart(start, tmp_path, by_signal):
    directory = str(tmp_path)
    old, new = Key(directory, "old"), Key(directory, "new")
    file = os.path.join(directory, "jwks.json")
    replace(file, json.dumps({"keys": [old.jwk]}))
    server = start({"jwks_file": file, "key_check": 0 if by_signal else 100}, shards=2)
    room = Room(server)
    connected = await (await room.socket()).connect(old.token("ana"))
    assert not await is_let_in(room, new.token("ana"))

    async def write(text, said, times):
        replace(file, text)
        if by_signal:
            server.send_signal(signal.SIGHUP)
        await eventually(lambda: server.logged().count(said) >= times, said)

    await write(json.dumps({"keys": [old.jwk, new.jwk]}), "keys read anew", 1)
    for key in (old, new, old, new):
        assert await is_let_in(room, key.token("ana"))
    # An invalid key set changes nothing, and is logged.
    for times, text in enumerate(('{"keys":[', json.dumps({"keys": [new.jwk | {"alg": "ES512"}]})), 1):
        await write(text, "keys not read anew", times)
        assert file in server.logged()
        for key in (old, new):
            assert await is_let_in(room, key.token("ana"))
    # A key without an algorithm gets that of its kind, and an unsupported one is skipped and logged.
    without = {name: value for name, value in new.jwk.items() if name != "alg"}
    await write(json.dumps({"keys": [without, {"kty": "AKP", "kid": "future", "alg": "ML-DSA-44", "pub": "AQ"}]}), "keys read anew", 2)
    assert "a key is passed over" in server.logged() and "future" in server.logged()
    for _ in range(4):
        assert not await is_let_in(room, old.token("ana"))
        assert await is_let_in(room, new.token("ana"))
    # A client with a token of the old key stays connected, and continues with a token of the new one.
    assert await connected.get() == []
    await connected.refused("unauthorized", "refresh", token=old.token("ana"))
    assert (await connected.did("refresh", token=new.token("ana")))["type"] == "refreshed"
    assert "PRIVATE" not in server.logged() and new.jwk["x"] not in server.logged()


async def test_a_key_file_that_is_gone_changes_nothing(start, tmp_path):
    key = Key(str(tmp_path), "one")
    file = os.path.join(tmp_path, "one.pem")
    replace(file, key.public)
    server = start({"keys": [f"one:ES256:{file}"], "key_check": 100})
    room = Room(server)
    os.remove(file)
    await eventually(lambda: "keys not read anew" in server.logged(), "told")
    assert await is_let_in(room, key.token("ana"))
    replace(file, key.public)
    await eventually(lambda: "keys read anew" in server.logged(), "told")
    assert await is_let_in(room, key.token("ana"))
    # Logged once, not at every check.
    assert server.logged().count("keys not read anew") == 1


async def test_hanging_up_ends_no_server(start):
    server = start({})
    room = Room(server)
    ana = await room.come("ana")
    server.send_signal(signal.SIGHUP)
    assert await ana.get() == [] and server.process.poll() is None
    assert await is_let_in(room, room.token("bob"))


# Expired and revoked tokens


async def test_a_connection_ends_with_its_token(room):
    ana = await room.come("ana", token=room.token("ana", expires=2))
    bob = await room.come("bob")
    await ana.closed(4002)
    assert await bob.get() == []
    assert not await is_let_in(room, room.token("ana", expires=0))


async def revoke(room, person, at=None):
    api = room.api if at is None else Room(at).api
    answer = await api.request("POST", f"/v1/users/{room.name(person)}/revokeTokens", token=room.backend)
    assert answer.status == 200, answer
    return answer.json


def new_token(room, person, not_before):
    """A current token, with the ms that whole seconds lack."""
    return room.token(person, iat=max(time.time(), not_before / 1000))


async def test_revoked_tokens_are_rejected_on_every_server_and_their_sessions_end(start):
    redis = start.redis()
    one = start({}, redis=redis)
    two = start({}, redis=redis, directory=one.directory)
    room = Room(one)
    token = room.token("ana", iat=int(time.time()) - 10)
    clients = [await room.come("ana", at=at, token=token) for at in (one, two, two)]
    bob = await room.come("bob")
    await bob.subscribe(room.name("ana"))
    answer = await revoke(room, "ana")
    assert answer["disconnected"] == 3 and abs(answer["notBefore"] - time.time() * 1000) < 60_000
    for client in clients:
        await client.closed(4001)
    for at in (one, two):
        other = Room(at)
        assert not await is_let_in(other, token)
        assert not await is_let_in(other, room.token("ana", iat=None))
        assert (await other.api.request("GET", "/v1/users/bob", token=token)).status == 401
    # A new token is valid, and Bob noticed nothing.
    back = await room.come("ana", at=two, token=new_token(room, "ana", answer["notBefore"]))
    await back.refused("unauthorized", "refresh", token=token)
    assert (await bob.truth(room.name("ana")))["status"] == "online"
    assert [event["presence"]["status"] for event in bob.events("presence", room.name("ana"))] == []
    assert await is_let_in(room, room.token("cy"))


async def test_revocations_survive_a_restart_of_everything(start):
    # One shard, so its state is the server's: while a shard is stale it admits clients and verifies them later.
    server = start({}, shards=1)
    room = Room(server)
    token = room.token("ana")
    answer = await revoke(room, "ana")
    server.kill()
    server.start()
    again = Room(server)
    assert not await is_let_in(again, token)
    assert await is_let_in(again, new_token(room, "ana", answer["notBefore"]))
    bob = await again.come("bob")
    os.kill(server.redis_child, signal.SIGKILL)
    await bob.hear("stale")
    await bob.hear("live", within=2 * PATIENCE)
    assert not await is_let_in(again, token)


async def test_a_new_token_is_good_at_once_and_an_old_one_never(room):
    for _ in range(10):
        old = [room.token("ana", iat=time.time()), room.token("ana", iat=int(time.time())),
               room.server.cli_token(room.name("ana"))]
        answer = await revoke(room, "ana")
        not_before, seconds = answer["notBefore"], answer["notBeforeSeconds"]
        assert seconds == -(-not_before // 1000)
        for token in old + [room.token("ana", iat=(not_before - 1) / 1000), room.token("ana", iat=seconds - 1),
                            room.token("ana", iat=(not_before - 0.4) / 1000)]:
            assert not await is_let_in(room, token)
        # With the three digits of the answer, with the next whole second (which may be in the future), and in the form
        # of the server's own command.
        for token in (room.token("ana", iat=not_before / 1000), room.token("ana", iat=seconds),
                      room.server.cli_token(room.name("ana"))):
            assert await is_let_in(room, token)


async def test_how_far_ahead_a_token_may_be_can_be_set(start):
    room = Room(start({"auth.leeway": "60s"}))
    now = int(time.time())
    assert await is_let_in(room, room.token("ana", iat=now + 50, nbf=now + 50))
    assert not await is_let_in(room, room.token("ana", iat=now + 70))
    # Expired tokens get no grace.
    assert not await is_let_in(room, room.token("ana", expires=-1))


async def test_only_a_backend_revokes(room):
    ana = await room.come("ana")
    for token, status in ((room.token("ana"), 403), (None, 401), ("x", 401)):
        answer = await room.api.request("POST", f"/v1/users/{ana.user}/revokeTokens", token=token)
        assert answer.status == status
    assert await ana.get() == []


async def test_a_backends_own_token_is_not_a_users(room):
    """Revoking the tokens of a user with a backend's name does not affect the backend."""
    name = f"backend-{room.suffix}"
    assert (await room.api.request("POST", f"/v1/users/{name}/revokeTokens", token=room.backend)).status == 200
    assert (await room.api.request("GET", "/v1/users/bob", token=room.backend)).status == 200


@pytest.mark.parametrize("ended", [None, "revoked", "expired"])
async def test_a_read_whose_token_ends_during_its_body_is_refused(room, ended):
    seconds = 3
    token = room.token("ana", expires=seconds if ended == "expired" else 60)
    body = json.dumps({"users": [room.name("bob")]}).encode()
    reader, writer = await asyncio.open_connection(room.server.host, room.server.port)
    head = f"POST /v1/users/get HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body[:-1])
    if ended == "revoked":
        # A token of this very second would stay valid.
        await asyncio.sleep(1.1)
        await revoke(room, "ana")
    if ended == "expired":
        await asyncio.sleep(seconds + 0.1)
    writer.write(body[-1:])
    status = (await asyncio.wait_for(reader.readline(), PATIENCE)).split()[1]
    assert status == (b"401" if ended else b"200")
    writer.close()
