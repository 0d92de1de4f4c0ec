"""The cost of a change in Redis, by the numbers of connected and of watching shards; and the cost of following a subject.

The scripts are the server's. The shards are connections that subscribe like shards. Four ways to publish are compared:

- one channel to which every shard subscribes, as servers do without `redis.interests`;
- a channel for each subject, to which only the shards that watch it subscribe, as servers do with it;
- the same channels, with one pattern to which all shards subscribe;
- a set in Redis of the shards that watch, each with a channel of its own.

Sources/PresenceCore/FanOut/README.md explains it.
"""

import selectors
import socket
import threading
import time

from stage.binaries import REPOSITORY
from stage.failure import Failure

NAME = "publishing"
ABOUT = "Redis' processor time for a change, by shards that are connected and that watch, and for following a subject"
TIME_LIMIT = 1_200
NEEDS_BINARIES = False

CORE = REPOSITORY / "Sources/PresenceCore"
SHARDS, FLOOR, EVENTS = "{p001}:shards", "{p001}:floor", "{p001}:events"
USERS = [f"user{number}" for number in range(100)]
PUBLISHED = "for _, event in ipairs(user.events) do publish(user.channel, unpack(event)) end"
# From the colon at the end, the scripts know that this is the prefix of the subjects' channels.
BELOW = EVENTS + ":"
WAYS = {
    "all": PUBLISHED,
    "subject": PUBLISHED,
    "pattern": PUBLISHED,
    "set": """if #user.events > 0 then
        local key = '{p001}:watching:' .. user.id
        local watching = redis.call('SMEMBERS', key)
        for _, event in ipairs(user.events) do
            for _, shard in ipairs(watching) do
                local told = redis.call('PUBLISH', '{p001}:to:' .. shard, table.concat(event, ' '))
                if told == 0 then redis.call('SREM', key, shard) end
            end
        end
    end""",
    "nobody": "",
}


def add_flags(parser) -> None:
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the least counts (%(default)s)")
    parser.add_argument("--changes", type=int, default=2_000, help="changes in a round (%(default)s)")
    parser.add_argument("--shards", type=int, nargs="*", default=[1, 2, 8, 32], help="how many are connected")


def run(stage, options) -> int:
    cases = [(way, shards, watching) for shards in options.shards for way in WAYS
             for watching in ([shards] if way in ("all", "pattern", "nobody") else sorted({0, 1, min(4, shards)}))]
    for at_once, name in ((1, "one after the other"), (50, "50 at once")):
        least: dict[tuple, float] = {}
        for _ in range(options.rounds):
            # In turns, so that other work on the machine affects all alike.
            for case in cases:
                cost = change(stage, *case, at_once, options.changes)
                least[case] = min(cost, least.get(case, cost))
        print(f"µs of Redis a change, {name}:")
        for (way, shards, watching), cost in least.items():
            print(f"  {shards:3} shards, {watching:2} told, {way:8} {cost:6.1f}", flush=True)
    following(stage, options)
    return 0


class Client:
    """A connection to Redis that is a little quicker than a library's."""

    def __init__(self, redis):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(redis.socket))
        self.replies = self.socket.makefile("rb")

    def __call__(self, *words):
        self.socket.sendall(command(*words))
        return self.reply()

    def reply(self):
        head = self.replies.readline()
        kind, rest = head[:1], head[1:-2]
        if kind == b"-":
            raise Failure(rest.decode())
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"$":
            return self.replies.read(int(rest) + 2)[:-2].decode(errors="replace") if int(rest) >= 0 else None
        return rest.decode()


def command(*words) -> bytes:
    encoded = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)


def script(way: str) -> str:
    library = (CORE / "Scripts/lib.lua").read_text()
    if library.count(PUBLISHED) != 1:
        raise Failure("lib.lua publishes in another way than this check knows")
    return "#!lua\n" + library.replace(PUBLISHED, WAYS[way]) + (CORE / "Sessions/Scripts/status.lua").read_text()


def change(stage, way: str, shards: int, watching: int, at_once: int, changes: int) -> float:
    """Microseconds of Redis for a change of status."""
    stage.clear()
    redis = stage.redis()
    client = Client(redis)
    client("SADD", SHARDS, "shard0")
    for user in USERS:
        client("HSET", "{p001}:sessions:" + user, "s1", "shard0 =device phone a 1")
        if way == "set" and watching:
            client("SADD", "{p001}:watching:" + user, *(f"shard{number}" for number in range(watching)))
    listeners = [Client(redis) for _ in range(shards)]
    for number, listener in enumerate(listeners):
        own = "{p001}:to:" + f"shard{number}"
        below = [BELOW + user for user in USERS] if way == "subject" and number < watching else []
        channels = [own] if way == "set" else [EVENTS, BELOW] + below
        listener.socket.sendall(command("SUBSCRIBE", *channels))
        for _ in channels:
            listener.reply()
        if way == "pattern":
            listener("PSUBSCRIBE", "{p*}:events:*")
    digest = client("SCRIPT", "LOAD", script(way))
    channel = BELOW if way in ("subject", "pattern") else EVENTS

    def make(count: int, first: int) -> None:
        for number in range(first, first + count, at_once):
            client.socket.sendall(b"".join(
                command("EVALSHA", digest, 4, SHARDS, FLOOR, "{p001}:user:" + user, "{p001}:sessions:" + user, 0, channel,
                        "shard0", user, ("busy", "auto")[each // len(USERS) % 2], "", "", "")
                for each in range(number, number + at_once) for user in [USERS[each % len(USERS)]]))
            for _ in range(at_once):
                if client.reply()[0] != "OK":
                    raise Failure("a change was refused")

    with Drain(listeners):
        make(500, 0)
        began = processor_time(redis)
        make(changes, 500)
        return (processor_time(redis) - began) / changes


class Drain:
    """Reads what comes and forgets it, on a thread."""

    def __init__(self, clients):
        self._clients = clients
        self._ended, self._end = socket.socketpair()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *exception):
        self._end.close()
        self._thread.join()
        self._ended.close()

    def _run(self):
        with selectors.DefaultSelector() as selector:
            for client in self._clients:
                selector.register(client.socket, selectors.EVENT_READ)
            selector.register(self._ended, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj == self._ended:
                        return
                    key.fileobj.recv(1 << 18)


def processor_time(redis) -> float:
    """Microseconds of its main thread: what its others do is writing to the disk."""
    with open(f"/proc/{redis.process.pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1_000


def following(stage, options) -> None:
    """The cost of following subjects, 20 in a command, and of leaving them."""
    stage.clear()
    redis = stage.redis()
    count, together = 100_000, 20
    channels = [f"{{p{number % 128:03}}}:events:user{number}" for number in range(count)]
    clients = [Client(redis) for _ in range(2)]

    def each(client, word: str) -> float:
        began = processor_time(redis)
        for first in range(0, count, together):
            client.socket.sendall(command(word, *channels[first:first + together]))
            for _ in range(together):
                client.reply()
        return (processor_time(redis) - began) / count

    admin = Client(redis)
    memory = redis.usage()["memoryBytes"]
    for name, client in (("first", clients[0]), ("second", clients[1])):
        cost = each(client, "SUBSCRIBE")
        now = redis.usage()["memoryBytes"]
        print(f"following, by the {name} shard: {cost:.1f} µs and {(now - memory) / count:.0f} bytes a subject", flush=True)
        memory = now
    print(f"leaving: {each(clients[1], 'UNSUBSCRIBE'):.1f} µs a subject")
    print(f"reading two registers: {reading(redis, admin, together):.1f} µs a subject")
    began = processor_time(redis)
    clients[0].socket.shutdown(socket.SHUT_RDWR)
    deadline = time.monotonic() + 20
    while admin("PUBSUB", "NUMPAT") is None or admin("PUBSUB", "NUMSUB", channels[0])[1] != "0":
        if time.monotonic() > deadline:
            raise Failure("a connection that is gone is still subscribed")
    print(f"a shard dies that followed {count:,}: {(processor_time(redis) - began) / 1_000:.0f} ms")


def reading(redis, admin, together: int) -> float:
    """The read that follows on it, for comparison."""
    for user in USERS:
        admin("HSET", "{p001}:user:" + user, "presenceVersion", "1700000000000", "presence", "x" * 60, "profileVersion",
              "1700000000000", "profile", "x" * 100)
    began, count = processor_time(redis), 20_000
    for first in range(0, count, together):
        admin.socket.sendall(b"".join(
            command("HMGET", "{p001}:user:" + USERS[number % 100], "presenceVersion", "presence", "profileVersion",
                    "profile", "visibility") for number in range(first, first + together)))
        for _ in range(together):
            admin.reply()
    return (processor_time(redis) - began) / count
