"""The targets, each beside its measured figure. Every line is computed from the scenarios' JSON."""

from report.results import PRESENCE, Results
from report.verdicts import Verdict, case

PEOPLE = (1_000, 10_000)


def verdicts(results: dict[str, Results]) -> list[tuple[str, list[Verdict]]]:
    """By what they are about, in the order in which they matter."""
    return [
        ("1. Fan-out, one change at a time", fanout(results)),
        ("2. Fan-out under load", burst(results)),
        ("3. Memory", memory(results)),
        ("4. Connecting", connecting(results)),
        ("5. Idle", idle(results)),
        ("6. Changes", changes(results)),
        ("7. Storm", storm(results)),
        ("8. Slow readers", slow(results)),
        ("9. A million", million(results)),
        ("10. Accounts", accounts(results)),
        ("11. Messages", messages(results)),
        ("12. A long conversation", opening(results)),
        ("13. Very many conversations", conversations(results)),
        ("14. Messages over several servers", spread(results)),
        ("15. HTTP", http(results)),
        ("16. Logs", log(results)),
        ("17. Jobs off the loop", workers(results)),
        ("18. Pushes", pushes(results)),
        ("19. A hook before messages", hook(results)),
    ]


def fanout(results) -> list[Verdict]:
    lines = []
    for watchers in PEOPLE:
        found = case(results, "fanout", watchers=watchers)
        lines += [
            Verdict.of_ratio(f"{watchers:,} watchers: server CPU a delivery, at most 1.15 × the baseline", found,
                             "serverCPUMicrosecondsPerDelivery", 1.15, "µs"),
            Verdict.of_ratio(f"{watchers:,} watchers: change to receipt p50, at most 1.15 × the baseline", found,
                             "latency.p50", 1.15, "ms"),
            Verdict.of_ratio(f"{watchers:,} watchers: change to receipt p99, at most 1.2 × the baseline", found,
                             "latency.p99", 1.2, "ms"),
        ]
    return lines


def burst(results) -> list[Verdict]:
    lines = []
    for watchers in PEOPLE:
        found = case(results, "burst", watchers=watchers)
        lines += [
            Verdict.of_ratio(f"{watchers:,} watchers: server CPU a delivery, at most 0.12 × the baseline", found,
                             "serverCPUMicrosecondsPerDelivery", 0.12, "µs"),
            Verdict.of_value(f"{watchers:,} watchers: at least 2,000,000 deliveries a second", found,
                             "deliveriesPerSecond", "a second", at_least=2_000_000),
        ]
    return lines


def memory(results) -> list[Verdict]:
    found = case(results, "idle")
    lines = [
        Verdict.of_value("user space of a connection that watches 20 people, at most 4 KB", found,
                         "userKBPerConnection", "KB", at_most=4),
        Verdict.of_value("each further watched person, at most 24 bytes", found, "userBytesPerFurtherWatch", "bytes",
                         at_most=24),
        Verdict.told("kernel memory of a connection, both ends (no bound)", found,
                     "kernelSlabKBPerConnectionBothEnds", "KB"),
    ]
    return [line.at_full_size(found, connections=19_000) for line in lines]


def connecting(results) -> list[Verdict]:
    found = case(results, "connect")
    lines = [
        Verdict.of_value("server CPU a connection, at most 130 µs", found, "serverCPUMicrosecondsPerConnection", "µs",
                         at_most=130),
        Verdict.of_ratio("server CPU a connection, at most 2.5 × the baseline", found,
                         "serverCPUMicrosecondsPerConnection", 2.5, "µs"),
        Verdict.of_value("Redis CPU a connection, at most 65 µs", found, "redisCPUMicrosecondsPerConnection", "µs",
                         at_most=65),
        Verdict.of_value("flat: the last thousand cost at most 1.1 × the first", found, "lastStepToFirstStep", "×",
                         at_most=1.1),
    ]
    return [line.at_full_size(found, connections=19_000) for line in lines]


def idle(results) -> list[Verdict]:
    found = case(results, "idle")
    nobody = found.median(PRESENCE, "redisCommandsPerSecondWithNobody") if found else None
    lines = [
        Verdict.of_value("server CPU, heartbeats included, at most 1.3 % of a core", found, "serverCPUShare",
                         "% of a core", at_most=1.3, scale=100),
        # Two readings at different phases of leases and sweeps differ by up to two a second; one command of each connection
        # per heartbeat would be 950.
        Verdict.of_value(
            "Redis commands a second: those of the leases alone"
            + (f" ({nobody:.1f} with nobody there)" if nobody is not None else ""),
            found, "redisCommandsPerSecond", "a second", at_most=(nobody or 0) + 2),
    ]
    return [line.at_full_size(found, connections=19_000, seconds=20) for line in lines]


def changes(results) -> list[Verdict]:
    found = case(results, "changes")
    return [
        Verdict.of_value("through one Redis with a core of its own and one shard, with watchers, at least 20,000 a second",
                         found, "changesPerSecond", "a second", at_least=20_000),
        # With two cores, the server and the clients are full before that: 28,000 a second are 36 µs each.
        Verdict.of_value("a Redis that has nothing to wait for, by what it uses for a change, at least 28,000 a second",
                         found, "changesPerSecondOfAFullRedis", "a second", at_least=28_000),
        Verdict.told("changes in a turn (no bound)", found, "changesInATurn", "changes"),
        Verdict.told("of them, of one partition (no bound)", found, "ofOnePartition", "changes"),
        *(Verdict.told(f"{name}, meanwhile (no bound)", found, f"utilisation.{figure}", "of a core")
          for figure, name in {"server": "the server", "redis": "Redis", "clients": "the clients"}.items()),
    ]


def storm(results) -> list[Verdict]:
    found = case(results, "storm")
    lines = [
        Verdict.of_value("all are back and right within 5 s", found, "restartToAllRightSeconds", "s", at_most=5),
        Verdict.of_value("bystanders' change to receipt p99 meanwhile, at most 50 ms", found,
                         "bystanderDuringMilliseconds.p99", "ms", at_most=50),
        Verdict.of_value("writes for each going and coming before each who watches, a fraction of 1", found,
                         "writesPerGoingAndComing", "writes", at_most=0.999),
        Verdict.told("of what was due at all: events in a write (no bound)", found, "eventsPerSocketWrite", "events"),
    ]
    return [line.at_full_size(found, clients=19_000) for line in lines]


def accounts(results) -> list[Verdict]:
    found = case(results, "accounts")
    lines = [
        Verdict.of_value("sign-up p50, at most 30 ms", found, "latency.sign-ups.p50", "ms", at_most=30),
        Verdict.of_value("sign-in p50, at most 30 ms", found, "latency.sign-ins.p50", "ms", at_most=30),
        Verdict.of_value("refresh p50, at most 2 ms", found, "latency.refreshes.p50", "ms", at_most=2),
        Verdict.of_value("own account p50, at most 5 ms", found, "latency.GET /v1/me.p50", "ms", at_most=5),
        Verdict.of_value("others' change to receipt during the sign-ins p99, at most 20 ms", found,
                         "bystanderDuringMilliseconds.p99", "ms", at_most=20),
        Verdict.told("sign-ins told to try later (no bound)", found, "burst.told", "sign-ins"),
        Verdict.told("sign-ins of people who had gone before they were answered (no bound)", found, "left.signIns",
                     "sign-ins"),
        Verdict.told("of these, passwords that were hashed all the same (no bound)", found, "left.run", "passwords"),
    ]
    return [line.at_full_size(found, people=400, burst=1_000) for line in lines]


def messages(results) -> list[Verdict]:
    found = case(results, "messages")
    lines = [
        Verdict.of_value("send to each member's receipt p50, at most 1.5 ms", found, "receiptMilliseconds.p50", "ms",
                         at_most=1.5),
        Verdict.of_value("send to each member's receipt p99, at most 20 ms", found, "receiptMilliseconds.p99", "ms",
                         at_most=20),
        Verdict.of_value("Redis a message of 60 characters, at most 200 bytes", found, "redisBytesPerMessage", "bytes",
                         at_most=200),
        Verdict.told("server CPU a message (no bound)", found, "serverCPUMicrosecondsPerMessage", "µs"),
        Verdict.told("server CPU a delivery, beside one send() to as many (no bound)", found,
                     "serverCPUMicrosecondsPerDelivery", "µs"),
        Verdict.told("Redis CPU a message (no bound)", found, "redisCPUMicrosecondsPerMessage", "µs"),
    ]
    return [line.at_full_size(found, conversations=500, members=10, rate=5_000) for line in lines]


def spread(results) -> list[Verdict]:
    found = case(results, "spread")
    lines = [
        Verdict.of_value("a message to 10 people on 8 servers, CPU of those that only push it, at most 1.2 × that of a status",
                         found, "messageToRegister.pushingCPUMicroseconds", "×", at_most=1.2),
        Verdict.told("the same, µs of these servers (no bound)", found, "message.pushingCPUMicroseconds", "µs"),
        Verdict.told("all servers, who stores it included, × that of a status (no bound)", found,
                     "messageToRegister.serverCPUMicroseconds", "×"),
        Verdict.told("Redis in PUBLISH, a message (no bound)", found, "message.redisPublishMicroseconds", "µs"),
        Verdict.told("Redis in PUBLISH, a status (no bound)", found, "register.redisPublishMicroseconds", "µs"),
    ]
    return [line.at_full_size(found, servers=8, conversations=100, rate=500) for line in lines]


def opening(results) -> list[Verdict]:
    found = case(results, "opening")
    lines = [
        Verdict.of_value("10,000 messages, opened at the end p50, at most 5 ms", found, "openMilliseconds.p50", "ms",
                         at_most=5),
        Verdict.told("opened p99 (no bound)", found, "openMilliseconds.p99", "ms"),
        Verdict.told("a page in the middle p50 (no bound)", found, "pageMilliseconds.p50", "ms"),
    ]
    return [line.at_full_size(found, messages=10_000, opens=100) for line in lines]


def conversations(results) -> list[Verdict]:
    found = case(results, "conversations")
    lines = [
        Verdict.told("Redis a conversation of 10, empty (no bound)", found, "redisBytesPerConversation", "bytes"),
        Verdict.told("Redis a conversation of 10 with a message (no bound)", found,
                     "redisBytesPerConversationWithMessage", "bytes"),
        Verdict.told("a list of 50 p50 (no bound)", found, "listMilliseconds.p50", "ms"),
        Verdict.told("a list of 50 p99 (no bound)", found, "listMilliseconds.p99", "ms"),
        Verdict.told("server CPU a list of 50 (no bound)", found, "serverCPUMicrosecondsPerList", "µs"),
        Verdict.told("Redis CPU a list of 50 (no bound)", found, "redisCPUMicrosecondsPerList", "µs"),
    ]
    return [line.at_full_size(found, conversations=100_000) for line in lines]


def http(results) -> list[Verdict]:
    found = case(results, "http")
    lines = [
        *(Verdict.told(f"server CPU a call, {call}, on {kind} (no bound)", found, f"{way}.{name}.serverCPUMicroseconds", "µs")
          for name, call in {"user": "a person's presence", "health": "health"}.items()
          for way, kind in {"kept": "one connection", "fresh": "one each"}.items()),
        *(Verdict.of_value(f"server memory for each of 20 {way}s of {size} at a time, at most 256 KB", found,
                           f"{way}.{size}.userKBEach", "KB", at_most=256)
          for size in ("5 MiB", "10 MiB") for way in ("upload", "download")),
        Verdict.of_value("bytes of a body too large that are sent before it is refused, none", found,
                         "tooLarge.bodyBytesSent", "bytes", at_most=0),
        Verdict.of_value("1,000 bodies at 1 byte a second, of a core at most 1 % more", found,
                         "slowBodies.corePercentMore", "%", at_most=1),
        Verdict.told("a call of somebody else meanwhile p99 (no bound)", found,
                     "slowBodies.during.othersMilliseconds.p99", "ms"),
    ]
    return [line.at_full_size(found, calls=10_000, slow=1_000) for line in lines]


def log(results) -> list[Verdict]:
    found, delivery = case(results, "log"), case(results, "log", watchers=1_000)
    readers = [
        Verdict.of_value("entries a second, of 10,000 that are due at least 9,900, all to three readers, once and in order",
                         found, "entriesPerSecond", "a second", at_least=9_900),
        Verdict.told("an entry to the quick reader p50 (no bound)", found, "quickMilliseconds.p50", "ms"),
        Verdict.told("an entry to the quick reader p99 (no bound)", found, "quickMilliseconds.p99", "ms"),
        Verdict.told("what the slow reader missed (no bound)", found, "slow.missedKB", "KB"),
        Verdict.of_value("server memory more while it did not read, at most 1,024 KB", found, "slow.userKB", "KB",
                         at_most=1_024),
        Verdict.told("in the queues of its socket, both ends (no bound)", found, "slow.socketKB", "KB"),
    ]
    return [line.at_full_size(found, rate=10_000, seconds=60, stopped=20) for line in readers] + [
        Verdict.of_value("server CPU of an entry's delivery, of a register's at most 1.2", delivery, "entryToRegister", "×",
                         at_most=1.2),
        Verdict.told("an entry's delivery, beside a send() (no bound)", delivery,
                     "entry.serverCPUMicrosecondsPerDelivery", "µs"),
        Verdict.told("a register's delivery, beside a send() (no bound)", delivery,
                     "register.serverCPUMicrosecondsPerDelivery", "µs"),
    ]


def workers(results) -> list[Verdict]:
    found = case(results, "workers")
    lines = [
        Verdict.of_value("jobs that wait for a thread, at most the 64 of the pool", found, "jobs.mostQueued", "jobs", at_most=64),
        Verdict.of_value("others' change to receipt p99 meanwhile, at most 20 ms", found, "during.latency.p99", "ms", at_most=20),
        Verdict.told("the same before (no bound)", found, "before.latency.p99", "ms"),
        Verdict.told("jobs that were refused, with a time to retry (no bound)", found, "jobs.toldWhenToRetry", "jobs"),
    ]
    return [line.at_full_size(found, jobs=10_000) for line in lines]


def pushes(results) -> list[Verdict]:
    found = case(results, "pushes")
    lines = [
        Verdict.of_value("from `sent` to the push service's socket p50, at most 500 ms", found, "pushMilliseconds.p50", "ms",
                         at_most=500),
        Verdict.of_value("p99, at most 2,000 ms", found, "pushMilliseconds.p99", "ms", at_most=2_000),
        Verdict.told("server CPU of a message with its push (no bound)", found, "serverCPUMicrosecondsPerPush", "µs"),
        Verdict.told("Redis CPU (no bound)", found, "redisCPUMicrosecondsPerPush", "µs"),
    ]
    return [line.at_full_size(found, rate=1_000) for line in lines]


def hook(results) -> list[Verdict]:
    found = case(results, "hook")
    lines = [
        Verdict.of_value("server CPU of a message, more than without, at most 30 µs", found, "more.serverCPUMicroseconds",
                         "µs", at_most=30),
        Verdict.told("Redis CPU, more than without (no bound)", found, "more.redisCPUMicroseconds", "µs"),
        Verdict.of_value("others' change to receipt p99 while messages are refused, at most 20 ms", found,
                         "during.latency.p99", "ms", at_most=20),
        Verdict.told("the same before (no bound)", found, "before.latency.p99", "ms"),
    ]
    return [line.at_full_size(found, rate=1_000, flood=10_000) for line in lines]


def slow(results) -> list[Verdict]:
    found = case(results, "slow")
    lines = [
        Verdict.of_value("the others' change to receipt p99, of that with all reading at most 1.1", found,
                         "latencyRatio.p99", "×", at_most=1.1),
        Verdict.of_value("the server's CPU a delivery, of that with all reading at most 1.1", found, "costRatio", "×",
                         at_most=1.1),
        Verdict.of_value("kernel memory a slow reader, at most 200 KB", found, "kernelKBPerSlowReader", "KB",
                         at_most=200),
        Verdict.of_value("user memory a slow reader, at most 4 KB", found, "userKBPerSlowReader", "KB", at_most=4),
    ]
    return [line.at_full_size(found, watchers=10_000, slow=1_000, seconds=60) for line in lines]


def million(results) -> list[Verdict]:
    found = case(results, "million")
    lines = [
        Verdict.of_value("1,000,000 connected, authenticated and watching", found, "open", "people",
                         at_least=1_000_000),
        Verdict.of_value("the share of its watchers that a change reached, all of them", found,
                         "changes.receivedShare", "of 1", at_least=1),
        Verdict.of_value("change to receipt p99, at most 30 ms", found, "changes.latency.p99", "ms", at_most=30),
        Verdict.of_value("memory for the connections, both ends and Redis, at most 12 GB", found, "memoryUsedBytes", "GB",
                         at_most=12, scale=1e-9),
        Verdict.of_value("Redis CPU a connect, leases included, at most 80 µs", found,
                         "perConnection.redisCPUMicroseconds", "µs", at_most=80),
        Verdict.told("user space of the servers, a connection (no bound)", found, "perConnection.serverUserBytes",
                     "bytes"),
    ]
    return [line.at_full_size(found, connections=1_000_000) for line in lines]
