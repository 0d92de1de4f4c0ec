"""The saving in Redis if scripts were Redis Functions: EVALSHA runs the shared functions' text in each call, which makes
some twenty closures, and sixty for a message; FCALL makes them when the library is loaded.

Servers call EVALSHA: Sources/PresenceCore/Store/README.md has the reasons. This library consists of the servers' own scripts,
word for word. Each script has all shared functions before it; servers leave out those that it does not use, and so already
have a part of the saving.
"""

import re

from checks.publishing import CORE, EVENTS, FLOOR, SHARDS, USERS, Client, Drain, command, processor_time
from stage.binaries import REPOSITORY
from stage.failure import Failure

NAME = "functions"
ABOUT = "Redis' processor time for a status, a session and a message, by EVALSHA and by FCALL"
TIME_LIMIT = 600
NEEDS_BINARIES = False
# Redis is measured.
REDIS_APART = True

AT_ONCE = 40
SCRIPTS = {
    "nothing": "return { 'OK' }\n",
    **{name: (CORE / f"Sessions/Scripts/{name}.lua").read_text() for name in ("status", "open", "end")},
    "send": (REPOSITORY / "Sources/PresenceServer/Features/Messages/Scripts/send.lua").read_text(),
}
WORK = {
    "nothing, without the shared functions": ["plain"],
    "nothing": ["nothing"],
    "a status": ["status"],
    "a session opened and ended": ["open", "end"],
    "a message to a conversation of 10": ["send"],
}


def add_flags(parser) -> None:
    parser.add_argument("--rounds", type=int, default=7, help="rounds, of which the least counts (%(default)s)")
    parser.add_argument("--calls", type=int, default=8_000, help="of each piece of work in a round (%(default)s)")


def run(stage, options) -> int:
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(options.rounds):
        # In turns, so that other work on the machine affects all alike.
        for work in WORK:
            for way in ("EVALSHA", "FCALL"):
                found.setdefault((work, way), []).append(measure(stage, work, way, options.calls))
    print(f"µs of Redis, {AT_ONCE} at once, one shard connected (least, median):")
    for (work, way), costs in found.items():
        print(f"  {work:40} {way:8} {min(costs):6.2f} {sorted(costs)[len(costs) // 2]:6.2f}", flush=True)
    return 0


def measure(stage, work: str, way: str, calls: int) -> float:
    """Microseconds of Redis for one piece of work."""
    stage.clear()
    redis = stage.redis()
    client, listener = Client(redis), Client(redis)
    client("SADD", SHARDS, "shard0")
    for user in USERS:
        client("HSET", "{p001}:sessions:" + user, "s1", "shard0 =device phone a 1")
        client("HSET", "{p001}:conversation:" + user, "kind", "group", "createdAt", 1, "owner", "m0", "first", 1, "last", 0,
               "changes", 0, "version", 1, "joins", 10, *(
                   word for member in range(10) for word in (f"m:m{member}", f"{member + 1} 0 0 0 0 0 0 0 e 0")))
    listener("SUBSCRIBE", EVENTS)
    if way == "FCALL":
        client("FUNCTION", "LOAD", library())
        names = {name: [name] for name in ["plain", *SCRIPTS]}
    else:
        texts = {name: libraries(text) + text for name, text in SCRIPTS.items()}
        names = {name: [client("SCRIPT", "LOAD", "#!lua\n" + text)] for name, text in texts.items()}
        names["plain"] = [client("SCRIPT", "LOAD", "#!lua\nreturn { 'OK' }\n")]

    def make(first: int, count: int) -> None:
        for begin in range(first, first + count, AT_ONCE):
            orders = [command(way, *names[name], *words(name, number))
                      for number in range(begin, begin + AT_ONCE) for name in WORK[work]]
            client.socket.sendall(b"".join(orders))
            for _ in orders:
                if client.reply()[0] != "OK":
                    raise Failure(f"{work} was refused")

    with Drain([listener]):
        make(0, 20 * AT_ONCE)
        began = processor_time(redis)
        make(20 * AT_ONCE, calls)
        return (processor_time(redis) - began) / calls


def words(name: str, number: int) -> list:
    """The number of keys, keys and arguments of a call, as a server makes them."""
    user = USERS[number % len(USERS)]
    record = ["{p001}:user:" + user, "{p001}:sessions:" + user]
    if name == "status":
        keys = [SHARDS, FLOOR, *record]
        arguments = [0, EVENTS, "shard0", user, ("busy", "auto")[number // len(USERS) % 2], f'"{number}"', ""]
    elif name == "open":
        keys = [SHARDS, FLOOR, *record, "{p001}:shard:shard0:users", "{p001}:grants:" + user]
        arguments = [0, EVENTS, "shard0", user, f"s{number}", "=other", "web", "a", 0, "", "", "", "", 100,
                     9_007_199_254_740_991, "", ""]
    elif name == "end":
        keys = [SHARDS, FLOOR, *record, "{p001}:shard:shard0:users"]
        arguments = [0, EVENTS, "shard0", user, f"s{number}", 0]
    elif name == "send":
        own = [f"{{p001}}:{kind}:{user}" for kind in ("conversation", "log", "changes", "prints")]
        keys = [SHARDS, FLOOR, *own, "{p001}:aging", f"{{p001}}:attachments:{user}", "{p001}:attachments-due"]
        arguments = [0, EVENTS, "shard0", user, f"m{number % 10}", f"id{number}", f'"{"x" * 60}"', "", "", 100, 0, 0,
                     262_144]
    else:
        keys, arguments = [SHARDS], [0]
    return [len(keys), *keys, *arguments]


def shared(text: str) -> list[str]:
    """The names of the files that a script begins with, beside lib.lua."""
    uses = re.match(r"-- uses: (.*)\n", text)
    return re.split(r"[, ]+", uses[1]) if uses else []


def libraries(text: str) -> str:
    files = {file.stem: file for file in REPOSITORY.glob("Sources/PresenceServer/Features/*/Scripts/*-lib.lua")}
    return (CORE / "Scripts/lib.lua").read_text() + "".join(files[name].read_text() for name in shared(text))


def library() -> str:
    """All of it as a library of functions: what lib.lua does in each call is done at the beginning of each function."""
    core = (CORE / "Scripts/lib.lua").read_text()
    tracing = core[core.index("-- Servers that log requests"):core.index("-- Who changes something by a token")]
    for text, instead in (
            (tracing, ""), ("local now = clock()", "local now"),
            ("local refused = refusal()\nif refused then return { refused } end", "")):
        if core.count(text) != 1:
            raise Failure(f"lib.lua has changed: {text!r}")
        core = core.replace(text, instead)
    text = "#!lua name=presence\nlocal KEYS, ARGV\n" + core
    text += "redis.register_function('plain', function() return { 'OK' } end)\n"
    loaded: list[str] = []
    for name, body in SCRIPTS.items():
        for each in shared(body):
            if each not in loaded:
                loaded.append(each)
                text += next(REPOSITORY.glob(f"Sources/PresenceServer/Features/*/Scripts/{each}.lua")).read_text()
        text += f"""
redis.register_function('{name}', function(keys, arguments)
    KEYS, ARGV, issuedAt = keys, arguments, nil
    now = clock()
    local refused = refusal()
    if refused then return {{ refused }} end
{body}
end)
"""
    return text
