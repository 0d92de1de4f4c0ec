"""A small model server of usernames, to show which bugs the history checker finds.

Claims and records change in steps, between which other calls may run, as over two partitions. Each change is executed
by the server that received it and, somewhat later, again by another server that considers it abandoned.
"""

import random

from .name_history import FREE, TAKEN, YOURS, History

WHOLE, OWNER, NOTHING = "owner and number", "owner", "nothing"
"""The comparison before a claim is dropped."""


class ModelServer:
    def __init__(self, compares):
        self.compares = compares
        self.claims, self.records, self.numbers = {}, {}, {}
        self.late = []

    def drop(self, name, user, number):
        claim = self.claims.get(name)
        if claim and (self.compares == NOTHING or claim == (user, number)
                      or (self.compares == OWNER and claim[0] == user)):
            del self.claims[name]

    def change(self, user, name):
        """Yields between its steps; returns whether the name was acquired."""
        number = self.numbers[user] = self.numbers.get(user, 0) + 1
        if self.records.get(user, (None, 0))[0] == name:
            return True
        if name is not None:
            if name in self.claims and self.claims[name][0] != user:
                return False
            self.claims[name] = (user, number)
            yield
        former, its_number = self.records.get(user, (None, 0))
        self.records[user] = (name, number)
        yield
        if former is not None:
            self.drop(former, user, its_number)
            self.late.append((former, user, its_number))
            yield
        return True

    def state(self, user, name):
        holder = self.claims.get(name, (None, 0))[0]
        return FREE if holder is None else YOURS if holder == user else TAKEN


def play(seed, compares, users=4, names=2, calls=60):
    """Returns a history of that server: users make one call at a time, in an order drawn from the seed; some do not
    wait for answers."""
    draw, server, time = random.Random(seed), ModelServer(compares), 0
    names = [f"name{number}" for number in range(names)]
    history, under_way, left = History(names), {}, calls
    people = [f"user{number}" for number in range(users)]
    while left or under_way:
        time += 1
        user = draw.choice(people)
        if server.late and draw.random() < 0.1:
            server.drop(*server.late.pop(draw.randrange(len(server.late))))
        elif user in under_way:
            begin, name, steps, is_awaited = under_way[user]
            try:
                next(steps)
            except StopIteration as end:
                del under_way[user]
                status = (200 if end.value else 409) if is_awaited else None
                if name is None:
                    history.delete(begin, time, user, status)
                else:
                    history.put(begin, time, user, name, status)
        elif left:
            left -= 1
            if draw.random() < 0.4:
                name = draw.choice(names)
                history.state(time, time + 0.5, user, name, server.state(user, name))
            elif draw.random() < 0.2:
                history.me(time, time + 0.5, user, server.records.get(user, (None, 0))[0])
            else:
                name = draw.choice(names + [None])
                under_way[user] = (time, name, server.change(user, name), draw.random() < 0.9)
    return history
