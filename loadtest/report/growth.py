"""The needs of a large installation, on paper: measured costs, an assumed use, and the arithmetic.

Every cost is a line of docs/performance.md or docs/scaling.md. After a change of them, `loadtest/run growth` prints the
tables of docs/scaling.md again.
"""

import math
from dataclasses import dataclass

MICROSECOND, DAY = 1e-6, 86_400
MILLION, GB = 1e6, 1e9


@dataclass(frozen=True)
class Costs:
    """Microseconds and bytes, as measured."""

    connect_server: float = 65
    connect_redis: float = 39
    change_server: float = 21
    change_redis: float = 30
    # A message to a conversation of 10: the mean of two rounds at 5,000 a second, deliveries included.
    message_server: float = 117.5
    message_redis: float = 109.5
    # An event in a shard, watched there or not, and its transfer from Redis to each: under load, and idle.
    event_shard: float = 3.5
    told_redis: tuple[float, float] = (0.25, 2)
    # The events that a script publishes: a change its register; a message itself and the record of its conversation.
    change_events: int = 1
    message_events: int = 2
    # With `redis.interests` the record is still sent to every shard.
    message_events_to_all: int = 1
    # The cost of a cluster's bus for each event: at the publishing node for each other one, and at each of these.
    bus_sending: float = 1.0
    bus_receiving: float = 2.3
    heartbeat: float = 18
    heartbeat_interval: float = 20
    # Each watcher of a change, between batches and single writes.
    watcher: tuple[float, float] = (0.4, 6)
    sign_in: float = 18_000

    connection_server_bytes: float = 1_900
    connection_kernel_bytes: float = 5_000
    connection_redis_bytes: float = 500
    # With user, profile, username, a signed-in device, and a session.
    account_bytes: float = 898
    conversation_bytes: float = 1_136
    message_bytes: float = 145


@dataclass(frozen=True)
class Use:
    """Assumptions about users: per connected user and second, and about the data stored for each."""

    changes: float = 60 / 28_800
    connects: float = 15 / 28_800
    messages: float = 40 / 28_800
    watchers_online: float = 10
    # Shards where a change is watched, if it is sent only to them.
    watching_shards: float = 10
    accounts: float = 3
    sign_ins_per_account: float = 1 / (30 * DAY)
    conversations: float = 5
    messages_kept: float = 1_000

    shard_connections: float = 50_000
    redis_share: float = 0.5
    """The share of its core for which a Redis may be busy."""
    redis_bytes: float = 64 * GB
    """The most memory of one Redis."""


COSTS, USE = Costs(), Use()

SOURCES = {
    "connect_server": ("65 µs server", 1),
    "connect_redis": ("39 µs Redis", 1),
    "change_server": ("21 µs server", 1),
    "change_redis": ("30 µs Redis", 1),
    "message_server": ("115 and 120 µs server", 1),
    "message_redis": ("108 and 111 µs Redis", 1),
    "message_bytes": ("145 bytes of Redis", 1),
    "sign_in": ("the hash takes 18 ms", 1_000),
    "connection_server_bytes": ("1.9 KB in the server", 1_000),
    "conversation_bytes": ("1,136 bytes of Redis each", 1),
    "account_bytes": ("898 MB", 1),
}
"""The sentences in docs/performance.md: the mean of the numbers, times the factor, is the cost. A test compares them."""


@dataclass(frozen=True)
class Growth:
    people: float
    interests: bool = False
    costs: Costs = COSTS
    use: Use = USE

    @property
    def shards(self) -> float:
        return max(1, self.people / self.use.shard_connections)

    @property
    def events(self) -> float:
        """Events a second that every shard receives."""
        changes = 0 if self.interests else self.use.changes * self.costs.change_events
        messages = self.costs.message_events_to_all if self.interests else self.costs.message_events
        return self.people * (changes + self.use.messages * messages)

    @property
    def hearing(self) -> float:
        """The share of a shard's core for events that all shards receive."""
        return self.events * self.costs.event_shard * MICROSECOND

    @property
    def working(self) -> tuple[float, float]:
        """The share of a shard's core for its own users: heartbeats, connects, changes, messages and deliveries."""
        use, costs = self.use, self.costs
        each = [costs.heartbeat / costs.heartbeat_interval + use.connects * costs.connect_server
                + use.changes * (costs.change_server + use.watchers_online * watcher) + use.messages * costs.message_server
                for watcher in costs.watcher]
        return tuple(self.people / self.shards * cost * MICROSECOND for cost in each)

    def redis_cores(self, told: float) -> dict[str, float]:
        """The cores of Redis by purpose; `told`: microseconds for each shard that receives an event."""
        use, costs = self.use, self.costs
        changed = min(use.watching_shards, self.shards) if self.interests else self.shards
        # The cost of a change was measured with one shard, which received it.
        shards = changed - 1
        message = costs.message_redis + told * sum(
            (self.shards if event < costs.message_events_to_all or not self.interests else changed) - 1
            for event in range(costs.message_events))
        return {
            # Most of them are back within linger without notice. The others count as changes too.
            "connects": self.people * use.connects * costs.connect_redis * MICROSECOND,
            "changes": self.people * use.changes * (costs.change_redis + told * shards) * MICROSECOND,
            "messages": self.people * use.messages * message * MICROSECOND,
        }

    @property
    def redis_memory(self) -> dict[str, float]:
        use, costs = self.use, self.costs
        return {
            "connections": self.people * costs.connection_redis_bytes,
            "accounts": self.people * use.accounts * costs.account_bytes,
            "conversations": self.people * use.conversations * costs.conversation_bytes,
            "messages": self.people * use.messages_kept * costs.message_bytes,
        }

    @property
    def published(self) -> float:
        """Events a second, of all partitions."""
        return self.people * (self.use.changes * self.costs.change_events + self.use.messages * self.costs.message_events)

    @property
    def bus(self) -> float:
        """The share of each master's core for events from the cluster's bus."""
        return self.published * self.costs.bus_receiving * MICROSECOND

    def masters(self, told: float) -> float | None:
        """The number of masters with enough cores; None if no number has, because each further one costs as much as it
        adds."""
        cores, share = sum(self.redis_cores(told).values()), self.use.redis_share
        if cores <= share:
            return 1
        sending = self.published * self.costs.bus_sending * MICROSECOND
        # count * (share - bus) = cores + sending * (count - 1)
        left = share - self.bus - sending
        return (cores - sending) / left if left > 0 else None

    @property
    def masters_by_memory(self) -> float:
        return sum(self.redis_memory.values()) / self.use.redis_bytes

    @property
    def server_memory(self) -> float:
        return self.people * (self.costs.connection_server_bytes + self.costs.connection_kernel_bytes)

    @property
    def hash_cores(self) -> float:
        use = self.use
        return self.people * use.accounts * use.sign_ins_per_account * self.costs.sign_in * MICROSECOND


def number(value: float) -> str:
    if value >= 1_000:
        return f"{float(f'{value:.3g}'):,.0f}"
    if value >= 10 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.2g}" if value >= 0.01 else "< 0.01"


def span(low: float, high: float) -> str:
    return number(low) if number(low) == number(high) else f"{number(low)} to {number(high)}"


def percent(value: float) -> str:
    return f"{value * 100:,.0f} %"


def percents(low: float, high: float) -> str:
    return percent(low) if percent(low) == percent(high) else f"{percent(low)} to {percent(high)}"


def size(value: float) -> str:
    return f"{number(value / 1e12)} TB" if value >= 1e12 else f"{number(value / GB)} GB"


PEOPLE = (1 * MILLION, 3 * MILLION, 10 * MILLION, 30 * MILLION, 100 * MILLION)


def needs(people=PEOPLE) -> list[str]:
    """The table of what is needed, in Markdown."""
    plain = [Growth(count) for count in people]
    interested = [Growth(count, interests=True) for count in people]
    least, most = COSTS.told_redis

    def redis(growths, name):
        return [span(each.redis_cores(least)[name], each.redis_cores(most)[name]) for each in growths]

    def cores(growths):
        return [span(*(sum(each.redis_cores(told).values()) for told in (least, most))) for each in growths]

    def masters(each):
        found = [each.masters(told) for told in (least, most)]
        return span(*map(math.ceil, found)) if all(found) else "none suffice"

    rows = [
        ("changes a second", [number(count * USE.changes) for count in people]),
        ("messages a second", [number(count * USE.messages) for count in people]),
        (f"shards, {number(USE.shard_connections)} connections each", [number(each.shards) for each in plain]),
        ("… of its core, for its own people", [percents(*each.working) for each in plain]),
        ("… of its core, for events that every shard gets", [percent(each.hearing) for each in plain]),
        ("… the same with `redis.interests`", [percent(each.hearing) for each in interested]),
        ("Redis' cores for connects", redis(plain, "connects")),
        ("… for changes", redis(plain, "changes")),
        ("… for messages", redis(plain, "messages")),
        ("… for all of it", cores(plain)),
        ("… the same with `redis.interests`", cores(interested)),
        ("of each master's core, for the cluster's bus", [percent(each.bus) for each in plain]),
        (f"masters, each {percent(USE.redis_share)} busy", [masters(each) for each in plain]),
        ("memory of the servers, kernel included", [size(each.server_memory) for each in plain]),
    ]
    rows += [(f"Redis' memory for {name}", [size(each.redis_memory[name]) for each in plain])
             for name in ("connections", "accounts", "conversations", "messages")]
    rows += [
        (f"masters of {size(USE.redis_bytes)}", [number(math.ceil(each.masters_by_memory)) for each in plain]),
        ("cores that hash passwords", [number(each.hash_cores) for each in plain])]
    return table(["connected at once", *(f"{number(count / MILLION)} million" for count in people)], rows)


def limits(shards=(1, 4, 16, 52, 200)) -> list[str]:
    """The limit of one Redis, with this many shards: its core full, and every event published when idle."""
    told = COSTS.told_redis[1]
    rows = [(str(count), [
        number(1e6 / (COSTS.change_redis + told * count)),
        number(1e6 / (COSTS.message_redis + COSTS.message_events * told * count)),
        number(1e6 / (COSTS.connect_redis + told * count))]) for count in shards]
    return table(["shards", "changes a second", "or messages", "or connects"], rows)


def table(head: list[str], rows: list[tuple[str, list[str]]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
            *("| " + " | ".join([name, *cells]) + " |" for name, cells in rows)]
