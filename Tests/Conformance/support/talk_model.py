"""A small model server of one conversation, to show which bugs the history checker finds.

A correct server carries out each call at one moment between its beginning and its answer. A server with a bug carries
out some call in two steps, between which other calls may run, or forgets something that it has checked.
"""

import random

from .talk_history import DELETE, EDIT, READ, SEND, TalkHistory, messages_after, page, shown

RIGHT, AGAIN, NUMBER, OVER, HALVES = (
    "right", "a repeated send is another message", "a number is given before the message is stored",
    "an edit writes what it has read before", "a page is read in two steps")


class ModelTalk:
    def __init__(self, mistake):
        self.mistake, self.messages = mistake, ()

    def do(self, what):
        """Yields between its steps; returns the answer."""
        kind, id, text, _ = what
        yield
        place = next((place for place, message in enumerate(self.messages) if message[0] == id), None)
        if self.mistake == AGAIN and kind == SEND and place is not None:
            self.messages = (*self.messages, (id, text, 0, False))
            return shown(len(self.messages) - 1, self.messages[-1])
        if self.mistake == NUMBER and kind == SEND and place is None:
            number = len(self.messages)
            yield
            self.messages = (*self.messages, (id, text, 0, False))
            return shown(number, self.messages[-1])
        if self.mistake == OVER and kind == EDIT and place is not None and not self.messages[place][3]:
            edited = (id, text, self.messages[place][2] + 1, False)
            yield
            self.messages = (*self.messages[:place], edited, *self.messages[place + 1:])
            return shown(place, edited)
        if kind == READ:
            half = page(self.messages)
            if self.mistake == HALVES:
                yield
                return half[:len(half) // 2] + page(self.messages)[len(half) // 2:]
            return half
        return self.answer(what)

    def answer(self, what):
        """The model's answer: the one that is not rejected."""
        kind, id, text, _ = what
        self.messages = messages_after(self.messages, (kind, id, text, None))
        place = next((place for place, message in enumerate(self.messages) if message[0] == id), None)
        if place is None:
            return "not_found"
        return "conflict" if kind == EDIT and self.messages[place][3] else shown(place, self.messages[place])


def play(seed, mistake, users=4, calls=60):
    """Returns a history of that server: clients make one call at a time, in an order drawn from the seed. Two belong to
    one user, who edits their own messages; all may delete. Some do not wait for an answer and repeat a send."""
    draw, talk, time = random.Random(seed), ModelTalk(mistake), 0
    history, under_way, own, again, left = TalkHistory(), {}, {}, {}, calls
    while left or under_way:
        time += 1
        user = draw.randrange(users)
        if user in under_way:
            begin, what, steps, is_awaited = under_way[user]
            try:
                next(steps)
            except StopIteration as end:
                del under_way[user]
                history.add(begin, time, *what[:3], answer=end.value if is_awaited else None)
                if what[0] == SEND and not is_awaited:
                    again[user] = what
        elif left:
            left -= 1
            what = again.pop(user, None) or wish(draw, user, own, time)
            under_way[user] = (time, what, talk.do(what), draw.random() < 0.9)
    return history


def wish(draw, user, own, time):
    kind, ids = draw.choice([SEND, SEND, EDIT, EDIT, DELETE, READ, READ]), own.setdefault(user // 2, [])
    if kind == READ:
        return READ, None, None, None
    if kind == SEND or not ids:
        ids.append(f"m{time}")
        return SEND, ids[-1], f"text {time}", None
    if kind == DELETE:
        return DELETE, draw.choice([id for each in own.values() for id in each][-4:]), None, None
    return EDIT, draw.choice(ids[-3:]), f"text {time}", None
