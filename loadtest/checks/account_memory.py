"""The memory of accounts in Redis: a server creates one, and its records are written again for very many others.

So the records have the form that the server's scripts write. The account has a username, a verified address, a profile, and
with `--device` one signed-in device; with `--session` its user was connected once.
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
ABOUT = "Redis' memory for accounts with username and profile"
TIME_LIMIT = 1_800
PINNED = False

BOUND = 700
"""Bytes for each of a million, of Redis' `used_memory` as servers set up their own. Of fewer each takes more: the hashes with
claims are as many."""

BUCKETS = 1_024
"""Claims are fields of so many hashes in each partition (`PartitionKeys.bucket`)."""

PARTITIONS = 128
BATCH = 500
EMAIL, USERNAME, PASSWORD = "maria.gonzales@example.org", "maria.gonzales", "correct horse battery"


def add_flags(parser) -> None:
    parser.add_argument("--accounts", type=int, default=1_000_000, help="how many are written (%(default)s)")
    parser.add_argument("--device", action="store_true", help="each is signed in on a device")
    parser.add_argument("--session", action="store_true", help="each has been connected once")
    parser.add_argument("--listpack-value", type=int, default=512, metavar="BYTES",
                        help="Redis' hash-max-listpack-value (%(default)s)")


def run(stage, options) -> int:
    redis = stage.redis()
    server = stage.presence(redis, environment={"PRESENCE_ACCOUNTS_ENABLED": "true"})
    user = sign_up(server)
    server.process.end()
    with Connection(redis.socket) as connection:
        connection.ask([["CONFIG", "SET", "appendonly", "no"],
                        ["CONFIG", "SET", "hash-max-listpack-value", str(options.listpack_value)]])
        template = records(connection, user, options)
        before, began = memory(redis), time.monotonic()
        write(connection, template, user, options.accounts)
        grown = memory(redis) - before
        families = measure(connection)
    each = grown / options.accounts
    print(f"{options.accounts:,} accounts in {time.monotonic() - began:.0f} s: {grown / 1e6:.1f} MB, {each:.0f} bytes each")
    print("of one, in bytes: " + ", ".join(f"{name} {count:.0f}" for name, count in families.items()))
    if options.device or options.session or options.listpack_value != 512 or options.accounts < 1_000_000:
        print(f"a million: {each:.0f} MB")
        return 0
    print(f"a million: {each:.0f} MB, at most {BOUND}")
    return 0 if each <= BOUND else 1


def measure(connection) -> dict:
    """The memory of each kind of key for one account, by a sample of keys of partition 7."""
    taken, users = Counter(), 0
    for key in connection.ask([["KEYS", "{p007}:*"]])[0]:
        name = family(key)
        users += name == "user"
        taken[name] += connection.ask([["MEMORY", "USAGE", key]])[0]
    return {name: count / users for name, count in taken.most_common() if count > users}


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


def records(connection, user, options) -> list:
    """The commands that write its keys and fields: of its own hashes whole, of the claims its own."""
    found, families = [], set()
    for key in sorted(connection.ask([["KEYS", "*"]])[0]):
        kind, left = connection.ask([["TYPE", key], ["PTTL", key]])
        # Counters of guesses expire soon; other keys belong to the server.
        if left > 0 or kind != "hash" or not key.startswith(b"{p"):
            continue
        words = connection.ask([["HGETALL", key]])[0]
        if family(key) == "grants" and not options.device:
            continue
        if key.endswith(b":" + user):
            found.append([b"HSET", key, *words])
        elif words[0] in (EMAIL.encode(), USERNAME.encode()):
            found.append([b"HSET", key, *words])
        else:
            raise Failure(f"no account has {key!r}")
        families.add(family(key))
    if not {"email", "name", "user"} <= families:
        raise Failure(f"an account has only {sorted(families)}")
    if options.session:
        found.append([b"HSET", next(words[1] for words in found if family(words[1]) == "user"), *SESSION])
    return found


SESSION = [word.encode() for word in (
    "lastSeen", "1763712000000", "status", "offline", "since", "1763712000000", "shown",
    "offline", "presenceVersion", "1763712000000", "presence",
    '"status":"offline","since":1763712000000,"lastSeen":1763712000000}')]
"""The fields of a user whose session is over (`announce` in lib.lua)."""


# ---- Many more ----


def write(connection, template, user, count) -> None:
    """The same records under other names of the same length, over all partitions."""
    for first in range(0, count, BATCH):
        commands = []
        for number in range(first, min(count, first + BATCH)):
            digits = f"{number:014d}".encode()
            names = [(EMAIL.encode(), digits + EMAIL[14:].encode()), (USERNAME.encode(), digits),
                     (user, user[:2] + secrets.token_hex(len(user))[:len(user) - 2].encode())]
            place = b"{p%03d}" % (number % PARTITIONS)
            for words in template:
                made = []
                for word in words:
                    for old, new in names:
                        word = word.replace(old, new)
                    made.append(word)
                made[1] = re.sub(rb"\{p\d+\}", place, made[1])
                if family(made[1]) in ("email", "name"):
                    made[1] = re.sub(rb"\d+$", b"%d" % secrets.randbelow(BUCKETS), made[1])
                commands.append(made)
        connection.ask(commands)


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
