"""What ends a run early."""


class Failure(Exception):
    """A run cannot go on, or did not hold; its text is for whoever started it."""


class Interrupted(BaseException):
    """Ctrl-C, or a signal that asks us to end: not to be caught by what catches errors."""

    def __init__(self, signal_number: int):
        super().__init__(signal_number)
        self.signal_number = signal_number
