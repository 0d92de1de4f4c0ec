"""The record of all actions and all shown states, and whether they agree."""

import time
from collections import defaultdict

from . import timing


class Truth:
    """One person: their intended state, and when they had a working connection."""

    def __init__(self, user):
        self.user = user
        self.is_here = False
        self.chosen = "auto"
        self.name = None
        """The last one that was acknowledged."""
        self.maybe_names = set()
        """Names sent since, whose answer was lost."""
        self.is_unsure = False
        """Whether their last choice was not answered, or rejected: it may or may not be in effect."""
        self.gaps = []
        """When no connection of theirs worked, as [began, ended or None, whether they meant it]."""
        self.left_at, self.manner, self.during_fault = None, None, False

    @property
    def statuses(self):
        """The states that may be shown for them."""
        if not self.is_here:
            return {"offline"}
        return {"online", "busy"} if self.is_unsure else {"busy" if self.chosen == "busy" else "online"}

    @property
    def names(self):
        return {self.name} | self.maybe_names

    def uncover(self, at, is_meant=False):
        if self.gaps and self.gaps[-1][1] is None:
            self.gaps[-1][2] |= is_meant
        else:
            self.gaps.append([at, None, is_meant])

    def cover(self, at):
        if not self.gaps:
            self.gaps.append([0, at, True])
        elif self.gaps[-1][1] is None:
            self.gaps[-1][1] = at

    def absence(self, at):
        """How long they had been without a connection at a moment: for ever if they meant it, not at all if they had one."""
        for began, ended, is_meant in reversed(self.gaps):
            # Their action may have reached Redis before it was recorded here.
            if began - 0.05 <= at and (ended is None or at <= ended + 0.2):
                return float("inf") if is_meant else at - began
        return 0.0

    def longest_absence(self, since):
        """The gaps that had not ended by a moment."""
        now = time.time()
        return max(((ended or now) - began for began, ended, _ in self.gaps if (ended or now) > since), default=0.0)

    def was_covered_since(self, moment):
        return bool(self.gaps) and self.gaps[-1][1] is not None and self.gaps[-1][1] < moment


class Ledger:
    def __init__(self):
        self.people = {}
        self.noted = []
        """Breaches as (when, what, whether a standstill of this machine excuses it)."""
        self.standstills = []
        """When a process of ours stood still that the tests had not stopped, with its consequences, as (from, to)."""
        self.measured = defaultdict(list)
        """Seconds by kind of measurement: one for each watcher and change."""
        self.unbounded = defaultdict(list)
        """The same while Redis was away, or during two faults, when no bound is promised."""
        self.is_redis_away = self.is_doubled = False
        self.round = "the beginning"
        self.came_back_in_time = 0
        self.stale_since = None
        self.refused_since = None
        """The same, or when Redis last began to reject: from then on no server could know the current state."""
        self.told_stale = set()
        self.sightings = 0

    def truth(self, user):
        return self.people.setdefault(user, Truth(user))

    def no_server_until(self, at):
        """People could not return before: their absence counts from then."""
        for truth in self.people.values():
            if truth.gaps and truth.gaps[-1][1] is None and not truth.gaps[-1][2]:
                truth.gaps[-1][0] = max(truth.gaps[-1][0], at)

    def breach(self, what, is_excusable=False):
        self.noted.append((time.time(), f"{self.round}, {time.time():.3f}: {what}", is_excusable))

    @property
    def breaches(self):
        return [what for when, what, is_excusable in self.noted
                if not (is_excusable and any(start <= when <= end for start, end in self.standstills))]

    def excuse(self, lag):
        """The machine was too busy: until everyone who was silent because of that has been handled, only the final state
        of the servers is checked."""
        now = time.time()
        self.standstills.append((now - lag, now + timing.BOUNDS["vanished"][0] + timing.LEASE + timing.SLACK))

    @property
    def is_excused(self):
        return bool(self.standstills) and time.time() < self.standstills[-1][1]

    @property
    def excused(self):
        """Seconds in all."""
        total, reached = 0, 0
        for start, end in self.standstills:
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        return total

    # Actions of people.

    def arrives(self, user):
        truth = self.truth(user)
        truth.is_here, truth.left_at = True, None

    def leaves(self, user, manner, at=None):
        truth = self.truth(user)
        truth.is_here, truth.left_at, truth.manner = False, at or time.time(), manner
        truth.during_fault = self.is_redis_away
        truth.uncover(truth.left_at, is_meant=True)

    def connected(self, user):
        truth, at = self.truth(user), time.time()
        if truth.gaps and truth.gaps[-1][1] is None and at - truth.gaps[-1][0] < timing.SAFE_ABSENCE:
            self.came_back_in_time += not truth.gaps[-1][2]
        truth.cover(at)

    def lost(self, user, at=None):
        self.truth(user).uncover(at or time.time())

    # Shown states.

    def shown(self, watcher, user, status, version, is_first):
        """A watcher was shown a presence; `is_first`: as the current state, not as a change."""
        self.sightings += 1
        truth = self.people.get(user)
        if truth is None or status != "offline" or version == 0 or self.is_excused:
            return
        if truth.is_here:
            # Versions follow Redis' clock, which is this machine's.
            said = version / 1000
            absence = truth.absence(said)
            if self.is_redis_away:
                # Servers report past events to Redis one after the other: first that a connection was lost for too long, then
                # that its person is back.
                absence = max(absence, truth.longest_absence(self.stale_since))
            if not is_first and absence < timing.SAFE_ABSENCE - 0.1:
                self.breach(
                    f"{watcher} was shown {user} offline, who had been away for {absence:.2f} s; "
                    f"gaps: {[(round(a, 2), b and round(b, 2), c) for a, b, c in truth.gaps[-3:]]}, said {said:.3f}", is_excusable=True)
        elif not is_first and self.truth(watcher).was_covered_since(truth.left_at):
            took = max(0.0, time.time() - truth.left_at)
            away = self.is_redis_away or truth.during_fault or self.is_doubled
            (self.unbounded if away else self.measured)[truth.manner].append((took, self.round))
            bound = timing.BOUNDS[truth.manner][0]
            if not away and took > bound + timing.SLACK:
                self.breach(f"{watcher} saw {user} ({truth.manner}) offline after {took:.2f} s, bound {bound:.2f} s",
                            is_excusable=True)

    def redis_went(self):
        self.is_redis_away = True
        self.stale_since, self.told_stale = time.time(), set()
        self.redis_refuses()

    def redis_refuses(self):
        """Redis rejects again, after it accepted writes for a moment. Watchers that were told stale before may still be
        stale."""
        self.refused_since = time.time()

    def redis_came(self):
        self.is_redis_away, self.stale_since, self.refused_since = False, None, None

    def heard_stale(self, watcher):
        if not self.refused_since or watcher in self.told_stale:
            return
        self.told_stale.add(watcher)
        if self.is_excused or not self.truth(watcher).was_covered_since(self.refused_since):
            return
        took = time.time() - self.refused_since
        (self.unbounded if self.is_doubled else self.measured)["told stale"].append((took, self.round))
        if not self.is_doubled and took > timing.BOUNDS["told stale"][0] + timing.SLACK:
            self.breach(f"{watcher} was told stale after {took:.2f} s", is_excusable=True)

    def knows_of_staleness(self, watcher):
        """Whether they were notified, or had no connection for a notice."""
        return watcher in self.told_stale or not self.truth(watcher).was_covered_since(self.refused_since)
