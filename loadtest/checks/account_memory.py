"""What accounts take in Redis: one is made by a server, and its records are written again for very many others.

So the shapes are those that the server's scripts write, whatever they are. The account has a username, a verified address, a
profile, and one device that is signed in.
"""

import json
import re
import secrets
import socket
import time
import urllib.request
from collections import Counter

from stage.failure import Failure

NAME = "account-memory"
ABOUT = "Redis' memory for accounts with username, profile and one device"
TIME_LIMIT = 1_800
PINNED = False

BOUND = 2_300
"""Bytes for each, of Redis' `used_memory` with its own settings. So much is not wanted, but more would be a mistake."""

PARTITIONS = 128
BATCH = 500
EMAIL, USERNAME, PASSWORD = "maria.gonzales@example.org", "maria.gonzales", "correct horse battery"


def add_flags(parser) -> None:
    parser.add_argument("--accounts", type=int, default=100_000, help="how many are written (%(default)s)")
    parser.add_argument("--listpack-value", type=int, default=64, metavar="BYTES",
                        help="Redis' hash-max-listpack-value (%(default)s)")


def run(stage, options) -> int:
    redis = stage.redis()
    server = stage.presence(redis, environment={"PRESENCE_ACCOUNTS_ENABLED": "true"})
    user = sign_up(server)
    server.process.end()
    with Connection(redis.socket) as connection:
        connection.ask([["CONFIG", "SET", "appendonly", "no"],
                        ["CONFIG", "SET", "hash-max-listpack-value", str(options.listpack_value)]])
        template = records(connection, user)
        before, began = memory(redis), time.monotonic()
        last = write(connection, template, user, options.accounts)
        grown = memory(redis) - before
        families = Counter()
        # Of the last one written: what a hash once was, it stays.
        for key, _ in template:
            families[family(key)] += connection.ask([["MEMORY", "USAGE", last[key]]])[0]
    each = grown / options.accounts
    print(f"{options.accounts:,} accounts in {time.monotonic() - began:.0f} s: {grown / 1e6:.1f} MB, {each:.0f} bytes each")
    print("of one, in bytes: " + ", ".join(f"{name} {count}" for name, count in families.most_common()))
    print(f"a million: {each:.0f} MB, at most {BOUND}")
    return 0 if each <= BOUND else 1


def memory(redis) -> int:
    return int(redis.info("memory")["used_memory"])


def family(key: bytes) -> str:
    return key.split(b":")[1].decode()


# ---- One account, by a server ----


def sign_up(server) -> bytes:
    """Makes it, and verifies its address by the mail in the outbox."""
    address = server.url.replace("ws://", "http://").removesuffix("/v1/ws")

    def post(path, body, token=None, method="POST"):
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        request = urllib.request.Request(address + path, json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or b"null")

    made = post("/v1/accounts", {
        "email": EMAIL, "password": PASSWORD, "displayName": "Maria Gonzales", "username": USERNAME,
        "device": {"kind": "phone", "name": "Maria's phone"}})
    post("/v1/me", {"changes": {"timezone": "Europe/Madrid", "locale": "es-ES", "setupCompleted": True}},
         made["accessToken"], "PATCH")
    deadline = time.monotonic() + 20
    while True:
        mails = [path.read_text() for path in (server.data / "outbox").glob("*.eml")]
        tokens = [found[1] for mail in mails if (found := re.search(r"#token=([\w-]+)", mail))]
        if tokens:
            break
        if time.monotonic() > deadline:
            raise Failure("there is no mail in the outbox")
        time.sleep(0.05)
    post("/v1/emails/verify", {"token": tokens[0]})
    return made["user"].encode()


def records(connection, user) -> list:
    """Its keys, each with the command that writes it."""
    found = []
    for key in sorted(connection.ask([["KEYS", "*"]])[0]):
        if not key.endswith((b":" + user, b":" + EMAIL.encode(), b":" + USERNAME.encode())):
            continue
        kind, left = connection.ask([["TYPE", key], ["PTTL", key]])
        # What counts guesses, or waits to be reaped, is not there for long.
        if left > 0:
            continue
        if kind == "hash":
            found.append((key, [b"HSET", key, *connection.ask([["HGETALL", key]])[0]]))
        elif kind == "string":
            found.append((key, [b"SET", key, connection.ask([["GET", key]])[0]]))
        else:
            raise Failure(f"no account has a {kind} under {key!r}")
    families = {family(key) for key, _ in found}
    if not {"account", "email", "grants", "name", "user", "username"} <= families:
        raise Failure(f"an account has only {sorted(families)}")
    return found


# ---- Many more ----


def write(connection, template, user, count) -> dict:
    """The same records under other names of the same length, over all partitions. Returns the keys of the last one."""
    last = {}
    for first in range(0, count, BATCH):
        commands = []
        for number in range(first, min(count, first + BATCH)):
            digits = f"{number:014d}".encode()
            names = [(EMAIL.encode(), digits + EMAIL[14:].encode()), (USERNAME.encode(), digits),
                     (user, user[:2] + secrets.token_hex(len(user))[:len(user) - 2].encode())]
            place = b"{p%03d}" % (number % PARTITIONS)
            for key, words in template:
                made = []
                for word in words:
                    for old, new in names:
                        word = word.replace(old, new)
                    made.append(word)
                made[1] = re.sub(rb"\{p\d+\}", place, made[1])
                commands.append(made)
                last[key] = made[1]
        connection.ask(commands)
    return last


class Connection:
    """Redis' protocol, many commands at a time."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(120)
        self.socket.connect(str(path))
        self.replies = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.replies.close()
        self.socket.close()

    def ask(self, commands) -> list:
        request = bytearray()
        for command in commands:
            request += b"*%d\r\n" % len(command)
            for word in command:
                word = word.encode() if isinstance(word, str) else word
                request += b"$%d\r\n%s\r\n" % (len(word), word)
        self.socket.sendall(request)
        return [self.reply() for _ in commands]

    def reply(self):
        head = self.replies.readline().rstrip()
        kind, rest = head[:1], head[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self.replies.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        raise Failure(f"Redis answered {head!r}")
