"""Errors that end a run early."""


class Failure(Exception):
    """A run cannot continue, or its result is wrong; the text is for the person who started it."""


class Interrupted(BaseException):
    """Ctrl-C, or a signal that asks us to end: not to be caught by what catches errors."""

    def __init__(self, signal_number: int):
        super().__init__(signal_number)
        self.signal_number = signal_number
