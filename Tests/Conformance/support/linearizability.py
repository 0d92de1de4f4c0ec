"""Checks whether a history of concurrent calls is linearizable: whether some sequential order explains it.

The algorithm is that of Wing and Gong, with Lowe's memoization (as in Porcupine): a call may come next if no other call
that is still to be placed had ended before it began; placed calls and a state that have led to no order are not tried again.

A call with an unknown outcome (no answer, or one that says so) has no end. It may be placed at any later time, or
never. Of two such calls with the same effect the earlier one is always used first; one that would change nothing need
not be placed.
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from math import inf
from typing import Any


@dataclass(frozen=True)
class Call:
    """A user's action between two moments: `what` belongs to the model, `end` is infinite if the outcome is unknown."""

    begin: float
    end: float
    what: Any

    @property
    def is_known(self):
        return self.end != inf


class GaveUp(AssertionError):
    """The search grew beyond its bound, so nothing is known."""


def linearizable(calls, step, start, most=2_000_000):
    """Whether some order explains all calls.

    - `step(state, what)` returns the state after a call, or raises `Impossible` if the answer cannot be right.
    - `most` limits the number of states.
    """
    known = sorted((call for call in calls if call.is_known), key=lambda call: (call.begin, call.end))
    doubtful = {}
    for call in sorted((call for call in calls if not call.is_known), key=lambda call: call.begin):
        doubtful.setdefault(call.what, []).append(call.begin)
    kinds = list(doubtful)
    # The placed calls: all known calls before `low`, those of `bits` behind it, and a number of each uncertain kind.
    first = (0, 0, (0,) * len(kinds), start)
    seen, stack = {first}, [first]
    while stack:
        low, bits, used, state = stack.pop()
        if low == len(known):
            return True
        nexts, earliest = [], inf
        place, rest = low, bits
        while place < len(known) and known[place].begin <= earliest:
            if not rest & 1:
                nexts.append(place)
                earliest = min(earliest, known[place].end)
            place, rest = place + 1, rest >> 1
        found = []
        for number, kind in enumerate(kinds):
            begins = doubtful[kind]
            if used[number] < bisect_right(begins, earliest):
                try:
                    after = step(state, kind)
                except Impossible:
                    continue
                if after != state:
                    found.append((low, bits, used[:number] + (used[number] + 1,) + used[number + 1:], after))
        # The call that ended first is tried first, so it is pushed last.
        for place in sorted((each for each in nexts if known[each].begin <= earliest), key=lambda each: -known[each].end):
            try:
                after = step(state, known[place].what)
            except Impossible:
                continue
            placed, begin = bits | 1 << (place - low), low
            while placed & 1:
                placed, begin = placed >> 1, begin + 1
            found.append((begin, placed, used, after))
        for each in found:
            if each not in seen:
                seen.add(each)
                stack.append(each)
        if len(seen) > most:
            raise GaveUp(f"more than {most:,} states for {len(known)} calls, {Counter(map(len, doubtful.values()))} doubtful")
    return False


class Impossible(Exception):
    """In this state the call would have had another answer."""
