"""The saving in Redis if a shard sent several changes of one partition in one call, instead of one after the other.

Servers do not: few changes of a turn belong to the same partition (`ofOnePartition` in `loadtest/run changes`).
"""

from checks.publishing import CORE, EVENTS, FLOOR, SHARDS, USERS, Client, Drain, command, processor_time
from stage.failure import Failure

NAME = "batches"
ABOUT = "Redis' processor time for a change, by how many changes of one partition are in a call"
TIME_LIMIT = 600
NEEDS_BINARIES = False
# Redis is measured.
REDIS_APART = True

AT_ONCE = 48
"""Changes under way: a multiple of each of the sizes."""

MANY = """
if fenced(KEYS[1], ARGV[3]) then return { 'FENCED' } end
local function change(userKey, sessionsKey, id, chosen, text)
    local user = read(id, userKey, sessionsKey, KEYS[2], ARGV[2], nil, '')
    lapse(user)
    choose(user, chosen, text, '')
    finish(user, now, true)
    return ownStatus(user)
end
local replies = {}
for place = 1, (#KEYS - 2) / 2 do
    replies[place] = change(KEYS[1 + 2 * place], KEYS[2 + 2 * place], unpack(ARGV, 1 + 3 * place, 3 + 3 * place))
end
return replies
"""


def add_flags(parser) -> None:
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the least counts (%(default)s)")
    parser.add_argument("--changes", type=int, default=19_200, help="changes in a round (%(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 4, 16], help="changes in a call (%(default)s)")


def run(stage, options) -> int:
    if any(AT_ONCE % size for size in options.sizes):
        raise Failure(f"--sizes divide {AT_ONCE}")
    found: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        # In turns, so that other work on the machine affects all alike.
        for size in (None, *options.sizes):
            name = "the server's script" if size is None else f"{size} in a call"
            found.setdefault(name, []).append(measure(stage, size, options.changes))
    print(f"µs of Redis a change, {AT_ONCE} at once, one shard connected:")
    for name, costs in found.items():
        print(f"  {name:20} {min(costs):5.1f}", flush=True)
    return 0


def measure(stage, size: int | None, changes: int) -> float:
    """Microseconds of Redis for a change of status and text."""
    stage.clear()
    redis = stage.redis()
    client, listener = Client(redis), Client(redis)
    client("SADD", SHARDS, "shard0")
    for user in USERS:
        client("HSET", "{p001}:sessions:" + user, "s1", "shard0 =device phone a 1")
    listener("SUBSCRIBE", EVENTS)
    library = "#!lua\n" + (CORE / "Scripts/lib.lua").read_text()
    digest = client("SCRIPT", "LOAD", library + (
        (CORE / "Sessions/Scripts/status.lua").read_text() if size is None else MANY))

    def call(first: int) -> bytes:
        keys, arguments = [], []
        for number in range(first, first + (size or 1)):
            user = USERS[number % len(USERS)]
            keys += ["{p001}:user:" + user, "{p001}:sessions:" + user]
            arguments += [user, ("busy", "auto")[number // len(USERS) % 2], f'"{number}"']
        more = ["", ""] if size is None else []
        return command("EVALSHA", digest, 2 + len(keys), SHARDS, FLOOR, *keys, 0, EVENTS, "shard0", *arguments, *more)

    def make(first: int, count: int) -> None:
        for begin in range(first, first + count, AT_ONCE):
            calls = [call(number) for number in range(begin, begin + AT_ONCE, size or 1)]
            client.socket.sendall(b"".join(calls))
            for _ in calls:
                reply = client.reply()
                if (reply if size is None else reply[0])[0] != "OK":
                    raise Failure("a change was refused")

    with Drain([listener]):
        make(0, 20 * AT_ONCE)
        began = processor_time(redis)
        make(20 * AT_ONCE, changes // AT_ONCE * AT_ONCE)
        return (processor_time(redis) - began) / (changes // AT_ONCE * AT_ONCE)
