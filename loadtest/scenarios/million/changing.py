"""Changes of some of the crowd: each must reach all of its watchers, on whichever server they are."""

import random
import time

PATIENCE = 10.0
"""Seconds that a change may take to its last watcher."""


class Changing:
    def __init__(self, crowd, options):
        self._crowd = crowd
        self._options = options
        self._random = random.Random(1)
        self._latencies: list[float] = []
        self._acknowledgements: list[float] = []
        self._expected = 0
        self._missing: set[tuple[int, int]] = set()

    def run(self) -> dict:
        one_by_one = [self._change_one() for _ in range(self._options.changes if self._crowd.open else 0)]
        latencies, acknowledgements = self._latencies, self._acknowledgements
        failures = []
        if lost := one_by_one.count(False):
            failures.append(f"{lost} changes did not reach all their watchers within {PATIENCE:.0f} s")
        if not self._crowd.open:
            failures.append("nobody is connected")
        paced = self._change_by_clock() if self._crowd.open else {}
        return {
            "count": len(one_by_one),
            "expected": self._expected,
            "received": len(latencies),
            "receivedShare": len(latencies) / self._expected if self._expected else 0,
            "latencies": latencies,
            "latency": summary(latencies),
            "acknowledgement": summary(acknowledgements),
            "byTheClock": paced,
            "failures": failures,
        }

    def _change_one(self) -> bool:
        """Makes a change and waits until all its watchers who are here have it."""
        client, user = self._anyone()
        client.say(f"change {user}")
        deadline = time.monotonic() + PATIENCE
        watchers: set[int] | None = None
        seen: set[int] = set()
        while watchers is None or watchers - seen:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for _, line in self._crowd.listen(left):
                if line["user"] != user:
                    continue
                match line["event"]:
                    case "changed":
                        watchers = {watcher for watcher in line["watchers"] if self._is_here(watcher)}
                        self._expected += len(watchers)
                    case "received":
                        seen.add(line["watcher"])
                        self._latencies.append(line["latencyMilliseconds"])
                    case "acknowledged":
                        self._acknowledgements.append(line["latencyMilliseconds"])
        return True

    def _change_by_clock(self) -> dict:
        """Changes at a fixed rate, to measure the cost of one for Redis and the servers, all of which receive it."""
        rate, seconds = self._options.change_rate, self._options.change_seconds
        latencies: list[float] = []
        idle = self._crowd.watch_idle(seconds=5)
        before = self._crowd.sample()
        calls = self._crowd.redis.commands()
        began, made = time.monotonic(), 0
        while (now := time.monotonic() - began) < seconds:
            while made < min(now, seconds) * rate:
                client, user = self._anyone()
                client.say(f"change {user}")
                made += 1
            self._collect(min(1 / rate, seconds - now), latencies)
        deadline = time.monotonic() + 1
        while (left := deadline - time.monotonic()) > 0:
            self._collect(left, latencies)
        used = self._crowd.used(before, self._crowd.sample())
        further = {name: count - calls.get(name, 0) for name, count in self._crowd.redis.commands().items()}
        return {
            "rate": rate,
            "made": made,
            "received": len(latencies),
            "latency": summary(latencies),
            "publishesPerChange": further.get("publish", 0) / made,
            # In addition to the cost of the same time without changes.
            "microsecondsPerChange": {
                kind: (cores - idle["cores"].get(kind, 0)) * used["seconds"] * 1e6 / made
                for kind, cores in used["cores"].items()},
            "used": used,
            "idle": idle,
        }

    def _collect(self, seconds: float, latencies: list[float]) -> None:
        for _, line in self._crowd.listen(max(0.001, seconds)):
            if line["event"] == "received":
                latencies.append(line["latencyMilliseconds"])

    def _anyone(self):
        client = self._random.choice([client for client in self._crowd.clients if client.is_filled])
        return client, client.first + self._random.randrange(client.count)

    def _is_here(self, user: int) -> bool:
        return any(client.first <= user < client.first + client.count and client.is_filled
                   for client in self._crowd.clients)


def summary(latencies: list[float]) -> dict[str, float]:
    """In milliseconds."""
    if not latencies:
        return {}
    ordered = sorted(latencies)

    def percentile(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return {"count": len(ordered), "p50": percentile(0.5), "p90": percentile(0.9), "p99": percentile(0.99),
            "max": ordered[-1]}
