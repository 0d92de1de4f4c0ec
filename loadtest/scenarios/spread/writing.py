"""The writers write at a fixed rate, messages or statuses: what did the servers use, and did all members get all?"""

import re
import time
from collections import deque

from stage.client import percentiles

MESSAGE, REGISTER = "message", "register"
BEGINNINGS = {b'{"type":"message",': MESSAGE, b'{"type":"presence"': REGISTER}
ANSWERS = (b'{"type":"sent",', b'{"type":"ok",')
NUMBER = re.compile(rb'"text":"(\d+) ')
CHARACTERS = 60
PATIENCE = 20.0
"""Seconds for what is left when the last was sent."""


def request(kind: str, number: int, conversation: str) -> bytes:
    text = (f"{number:07} " + "message " * 8)[:CHARACTERS]
    if kind == REGISTER:
        return f'{{"type":"status","id":{number + 1_000},"status":"auto","text":"{text}"}}'.encode()
    return (f'{{"type":"send","id":{number + 1_000},"conversation":"{conversation}",'
            f'"message":{{"id":"m{number}","text":"{text}"}}}}').encode()


class Writing:
    """One stretch. Numbers continue over the stretches, so each writer's only grow.

    A writer waits until all members have the last message or status: a server may leave out a status that a newer one has
    replaced, but no message.
    """

    def __init__(self, crowd, kind: str, first: int):
        self.crowd, self.kind, self.first = crowd, kind, first
        self.latencies: list[float] = []
        self.lateness = 0.0
        self.answered = self.received = self.bytes = 0
        self.failures: list[str] = []
        self._idle = deque(crowd.conversations)

    def run(self, rate: float, seconds: float) -> None:
        self._rate, self._began = rate, time.monotonic()
        count, made = int(rate * seconds), 0
        deadline = self._began + seconds + PATIENCE
        while self.answered < count or self.received < count * self.crowd.size:
            now = time.monotonic()
            while made < count and self._idle and self._due(made) <= now:
                self.lateness = max(self.lateness, now - self._due(made))
                conversation = self._idle.popleft()
                conversation.missing = self.crowd.size
                conversation.writer.send(request(self.kind, self.first + made, conversation.id))
                made += 1
            if now > deadline or len(self.failures) > 20:
                self._blame(f"of {count * self.crowd.size} receipts {self.received} came, and {self.answered} answers")
                break
            for member, frame in self.crowd.listen(self._due(made) - now if made < count and self._idle else 0.1):
                self._take(member, frame)
        self.made, self.seconds = made, time.monotonic() - self._began

    def _due(self, number: int) -> float:
        return self._began + number / self._rate

    def _take(self, member, frame: bytes) -> None:
        kind = BEGINNINGS.get(frame[:18])
        if kind is None:
            if frame.startswith(ANSWERS):
                self.answered += 1
            elif frame.startswith(b'{"type":"error"'):
                self._blame(f"{member.user} was answered {frame.decode()}")
            return
        found = NUMBER.search(frame)
        number = int(found[1]) if found else -1
        if kind != self.kind or number <= member.newest.get(kind, -1):
            return self._blame(f"{member.user} got {frame.decode()} after {member.newest}")
        member.newest[kind] = number
        member.conversation.missing -= 1
        if member.conversation.missing == 0:
            self._idle.append(member.conversation)
        self.received += 1
        self.bytes += len(frame)
        self.latencies.append(time.monotonic() - self._due(number - self.first))

    def _blame(self, what: str) -> None:
        self.failures.append(f"{self.kind}: {what}")

    def report(self) -> dict:
        return {
            "made": self.made, "received": self.received, "seconds": self.seconds,
            "eventBytes": self.bytes / max(1, self.received), "sentLateMilliseconds": self.lateness * 1e3,
            "receiptMilliseconds": percentiles(self.latencies) if self.latencies else {},
        }
