"""The clients' view of usernames, and whether it is linearizable.

There are two kinds of objects, each checked on its own:

- **a name** is a register: its owner, or none. A change of user U to name N claims N; the same call releases U's former
name. The protocol does not promise that both become visible at once: of two names queried together, the new one may be
taken already and the old one not yet free. So a change is one call on N and one on each other name, in the same
interval. As no call then concerns two objects, a history is linearizable if and only if that of each object is (Herlihy
and Wing's locality). Checking each name alone thus loses nothing, and the search stays small.
- **an account's name** is a register, too: the `username` of `GET /v1/me`. That an account has one name at most follows
from its being a register.

Their relation, that a name is taken exactly if some account has it, holds once no change is under way: see `at_rest`.
"""

from math import inf

from .linearizability import Call, Impossible, linearizable

CLAIM, REFUSED, RELEASE, FREE, TAKEN, YOURS = "claim", "refused", "release", "free", "taken", "yours"


def owner_after(owner, what):
    """The model of a name: its owner."""
    kind, user = what
    if kind == CLAIM and owner in (None, user):
        return user
    if kind == RELEASE:
        return None if owner == user else owner
    is_anothers = owner is not None and owner != user
    if (kind in (REFUSED, TAKEN) and is_anothers) or (kind == YOURS and owner == user) or (kind == FREE and owner is None):
        return owner
    raise Impossible


def own_after(own, what):
    """The model of an account's name."""
    kind, name = what
    if kind == "write":
        return name
    if own != name:
        raise Impossible
    return own


class History:
    """Collects calls as they end; all times must be of one clock."""

    def __init__(self, names):
        self.names = names
        self.of_names = {name: [] for name in names}
        self.of_users = {}

    def put(self, begin, end, user, name, status):
        """200, 409 (taken by another user), or `None`: the outcome is unknown, and it may still happen."""
        end = inf if status is None else end
        if status == 409:
            self.of_names[name].append(Call(begin, end, (REFUSED, user)))
            return
        self.of_names[name].append(Call(begin, end, (CLAIM, user)))
        for other in self.names:
            if other != name:
                self.of_names[other].append(Call(begin, end, (RELEASE, user)))
        self.own(begin, end, user, ("write", name))

    def delete(self, begin, end, user, status):
        end = inf if status is None else end
        for name in self.names:
            self.of_names[name].append(Call(begin, end, (RELEASE, user)))
        self.own(begin, end, user, ("write", None))

    def state(self, begin, end, user, name, reason):
        """The result that a user got about a name: free, taken or yours."""
        self.of_names[name].append(Call(begin, end, (reason, user)))

    def me(self, begin, end, user, name):
        self.own(begin, end, user, ("read", name))

    def own(self, begin, end, user, what):
        self.of_users.setdefault(user, []).append(Call(begin, end, what))

    def faults(self):
        """The names and users whose history is not linearizable."""
        return [name for name, calls in self.of_names.items() if not linearizable(calls, owner_after, None)] + [
            user for user, calls in self.of_users.items() if not linearizable(calls, own_after, None)]

    def calls(self):
        return sum(map(len, self.of_names.values())) + sum(map(len, self.of_users.values()))

    def doubtful(self):
        return sum(not call.is_known for calls in self.of_users.values() for call in calls)


def at_rest(own, free):
    """Whether, without pending calls, each name belongs to one account or is free: `own` has each account's name, `free`
    the free names."""
    held = [name for name in own.values() if name is not None]
    return len(held) == len(set(held)) and not set(held) & set(free)
