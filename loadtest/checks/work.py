"""The pieces of work whose cost is counted, and how: as a difference of two runs.

A run with many changes and one with few connect the same clients. What the second costs more than the first is what its
further changes cost: starting, connecting, and whatever instruments a process do not show.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Work:
    """Changes made by `presence-load fanout`, and what one unit of them is."""

    name: str
    unit: str
    watchers: int
    people: int
    few: int
    many: int
    flags: list = field(default_factory=list)

    def arguments(self, changes: int) -> list:
        return ["--watchers", self.watchers, "--people", self.people, "--pending", self.people, "--changes", changes,
                "--warm-up", 2 * self.people, *self.flags]

    @property
    def units(self) -> int:
        """How many more of them the longer run has."""
        further = self.many - self.few
        return further * self.watchers if self.unit == "delivery" else further


# With a watcher only a message is what there is; with many of them it disappears beside the deliveries.
WORKS = [
    Work("one change at a time", "delivery", watchers=300, people=1, few=10, many=110),
    Work("32 changes pending", "delivery", watchers=100, people=32, few=64, many=1024),
    Work("a status text, one watcher", "message", watchers=1, people=1, few=100, many=1100),
    Work("a profile's name, one watcher", "message", watchers=1, people=1, few=100, many=1100,
         flags=["--change", "name"]),
]
