"""The writers write by the clock: when was each message acknowledged, and when was its push on the service's socket?"""

import asyncio
import time

from scenarios.pushes.people import Message
from stage.outside import Outside

TEXT = ("message " * 8)[:60]
PATIENCE = 30
"""Seconds without any push, after which the others do not come any more."""
FIRST = 1_000_000
"""The id of the first message's request: those before were asked while the people came."""


class Writing:
    """All messages, each once. `sent` and `pushed` have the monotonic times, by the message's number."""

    def __init__(self, messages: list[Message], rate: float, service: Outside):
        self._messages, self._rate, self._service = messages, rate, service
        self._numbers = {message.person: number for number, message in enumerate(messages)}
        self.due: list[float] = []
        self.sent: dict[int, float] = {}
        self.pushed: dict[int, float] = {}
        self.lateness = 0.0
        self.failures: list[str] = []

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._wakes = asyncio.Event()
        loop.add_reader(self._service.descriptor, self._wakes.set)
        try:
            writing = asyncio.create_task(self._write())
            await self._watch()
            await writing
        finally:
            loop.remove_reader(self._service.descriptor)

    async def _write(self) -> None:
        began = time.monotonic() + 0.1
        for number, message in enumerate(self._messages):
            due = began + number / self._rate
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            self.due.append(due)
            self.lateness = max(self.lateness, time.monotonic() - due)
            answer = message.writer.begin(
                FIRST + number, f'{{"type":"send","id":{FIRST + number},"conversation":"{message.conversation}",'
                f'"message":{{"id":"m{number}","text":"{TEXT}"}}}}')
            answer.add_done_callback(lambda answer, number=number: self._answered(number, answer))

    def _answered(self, number: int, answer: asyncio.Future) -> None:
        if (failure := answer.exception()) is not None:
            return self._blame(str(failure))
        type, text, at = answer.result()
        if type != "sent":
            return self._blame(f"message {number} was answered {text!r}")
        self.sent[number] = at

    async def _watch(self) -> None:
        """Until every message is acknowledged and pushed, or nothing more comes."""
        last = time.monotonic()
        while len(self.pushed) < len(self._messages) or len(self.sent) < len(self._messages):
            self._wakes.clear()
            try:
                async with asyncio.timeout(1):
                    await self._wakes.wait()
            except TimeoutError:
                pass
            for person, at in self._service.arrived():
                last = time.monotonic()
                number = self._numbers.get(person)
                if number is None or number in self.pushed:
                    self._blame(f"{person} was pushed to once more, or is nobody")
                else:
                    self.pushed[number] = at
            if time.monotonic() - last > PATIENCE or len(self.failures) > 20:
                return self._blame(f"of {len(self._messages):,} messages {len(self.sent):,} were acknowledged and "
                                   f"{len(self.pushed):,} pushed")

    def _blame(self, what: str) -> None:
        if len(self.failures) < 25:
            self.failures.append(what)
