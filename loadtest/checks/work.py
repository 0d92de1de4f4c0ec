"""The pieces of work whose cost is counted, and how: as a difference of two runs.

A run with many changes and one with few connect the same clients. What the second costs more than the first is what its
further changes cost: starting, connecting, and whatever instruments a process do not show. What connecting costs is the
difference of a run with many clients and one with few.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Changes:
    """Changes made by `presence-load fanout`, and what one unit of them is."""

    name: str
    unit: str
    watchers: int
    # The default limits bound the changes of one person: several people change in turn.
    people: int
    few: int
    many: int
    pending: int = 1
    flags: list = field(default_factory=list)
    scenario = "fanout"

    def arguments(self, changes: int) -> list:
        return ["--watchers", self.watchers, "--people", self.people, "--pending", self.pending, "--changes", changes,
                "--warm-up", 2 * self.people, *self.flags]

    @property
    def units(self) -> int:
        """How many more of them the longer run has."""
        further = self.many - self.few
        return further * self.watchers if self.unit == "delivery" else further


@dataclass(frozen=True)
class Connections:
    """Clients that connect, authenticate and subscribe to 20 of a pool of people (`presence-load connect`), and go."""

    name: str
    few: int
    many: int
    unit = "connection"
    scenario = "connect"

    def arguments(self, connections: int) -> list:
        # Few at once: under valgrind, more would exceed the handshake's timeout.
        return ["--connections", connections, "--pool", 40, "--at-once", 16]

    @property
    def units(self) -> int:
        return self.many - self.few


Work = Changes | Connections

# With one watcher the message dominates; with many watchers the deliveries do.
WORKS: list[Work] = [
    Connections("a client connects, subscribes to 20 people, and goes", few=100, many=600),
    Changes("one change at a time", "delivery", watchers=300, people=4, few=10, many=110),
    Changes("32 changes pending", "delivery", watchers=100, people=32, pending=32, few=64, many=1024),
    Changes("a status text, one watcher", "message", watchers=1, people=4, few=100, many=1100),
    Changes("a profile's name, one watcher", "message", watchers=1, people=4, few=100, many=1100,
            flags=["--change", "name"]),
]
