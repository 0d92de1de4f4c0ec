"""The clients' view of one conversation's messages, and whether it is linearizable.

The conversation is one object: sends assign numbers, and a page shows all messages at one moment. Its model is the list
of its messages, each `(id, text, edits, is deleted)`; a call is `(kind, id, text, answer)`. An answer is the message at
that time, `(seq, text, edits, is deleted)`, or the code of an error; for a read it is the page. `None` is an unknown
outcome: the call may have happened at any time since, or may never happen. A repeated send is another call with the
same id, which changes nothing once the message exists.
"""

from math import inf

from .linearizability import Call, Impossible, linearizable

SEND, EDIT, DELETE, READ = "send", "edit", "delete", "read"
CONFLICT, MISSING = "conflict", "not_found"


def shown(place, message):
    """A message as an answer has it."""
    _, text, edits, is_deleted = message
    return place + 1, text, edits, is_deleted


def page(messages):
    """A read's view of all messages."""
    return tuple((message[0], *shown(place, message)) for place, message in enumerate(messages))


def messages_after(messages, what):
    """The model of a conversation."""
    kind, id, text, answer = what
    if kind == READ:
        if answer != page(messages):
            raise Impossible
        return messages
    place = next((place for place, message in enumerate(messages) if message[0] == id), None)
    if kind == SEND and place is None:
        place, messages = len(messages), (*messages, (id, text, 0, False))
    if place is None:
        said = MISSING
    else:
        _, before, edits, is_deleted = messages[place]
        said = None
        if kind == EDIT and is_deleted:
            said = CONFLICT
        elif kind == EDIT and text != before:
            messages = (*messages[:place], (id, text, edits + 1, False), *messages[place + 1:])
        elif kind == DELETE and not is_deleted:
            messages = (*messages[:place], (id, "", edits, True), *messages[place + 1:])
        said = said or shown(place, messages[place])
    if answer not in (None, said):
        raise Impossible
    return messages


class TalkHistory:
    """Collects the calls on one conversation as they end; all times must be of one clock."""

    def __init__(self):
        self.calls = []

    def add(self, begin, end, kind, id=None, text=None, answer=None):
        """`answer` is `None` if the outcome is unknown. A read without an answer proves nothing."""
        if answer is not None:
            self.calls.append(Call(begin, end, (kind, id, text, answer)))
        elif kind != READ:
            self.calls.append(Call(begin, inf, (kind, id, text, None)))

    @property
    def doubtful(self):
        return sum(not call.is_known for call in self.calls)

    def is_possible(self):
        return linearizable(self.calls, messages_after, ())
