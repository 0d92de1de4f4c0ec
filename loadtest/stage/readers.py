"""Readers of a log on sockets of their own: what each has got, whether all of it came in order, and how late."""

import selectors
import socket
import struct
import time
from array import array

from stage.client import frame
from stage.failure import Failure


class Reader:
    """A watcher of a log of `presence-log`, from its next entry on."""

    def __init__(self, name: str, stream: socket.socket, log: str):
        self.name = name
        self.socket = stream
        self.is_reading = True
        self.last = 0
        self.failures: list[str] = []
        # The delay of each entry, in seconds, for entries that arrived as they were made.
        self.lateness = array("d")
        self._rest = b""
        self._begin = f'{{"type":"entry","log":"{log}","number":'.encode()

    def take(self, due: tuple[float, float] | None) -> None:
        """Reads what is there.

        - `due`: when entry 0 was, and seconds from one to the next; of what is to be timed.
        """
        try:
            data = self._rest + self.socket.recv(1 << 20)
        except BlockingIOError:
            return
        if len(data) == len(self._rest):
            raise Failure(f"the server closed the connection of the {self.name} reader at entry {self.last}")
        now = time.monotonic()
        place, end, last = 0, len(data), self.last
        while place + 2 <= end:
            length, begin = data[place + 1], place + 2
            if length >= 126:
                size = 2 if length == 126 else 8
                if begin + size > end:
                    break
                length, = struct.unpack_from("!H" if size == 2 else "!Q", data, begin)
                begin += size
            if begin + length > end:
                break
            place = begin + length
            if not data.startswith(self._begin, begin):
                self._other(data[begin - 2:place])
                continue
            number = int(data[begin + len(self._begin):data.index(b",", begin + len(self._begin))])
            if number != last + 1 and len(self.failures) < 5:
                self.failures.append(f"the {self.name} reader got entry {number} after {last}")
            last = number
            if due:
                self.lateness.append(now - due[0] - number * due[1])
        self.last = last
        self._rest = data[place:]

    def _other(self, frame: bytes) -> None:
        if len(self.failures) < 5 and b'"type":"ok"' not in frame:
            self.failures.append(f"the {self.name} reader got {frame[:100]!r}")

    def say(self, text: str) -> None:
        """A request without an answer; the socket has room for it."""
        self.socket.sendall(frame(text))


class Readers:
    """All of them on one thread."""

    def __init__(self, readers: list[Reader]):
        self.readers = readers
        self._selector = selectors.DefaultSelector()
        for reader in readers:
            self._selector.register(reader.socket, selectors.EVENT_READ, reader)

    def pause(self, reader: Reader) -> None:
        """It reads nothing until it is resumed."""
        reader.is_reading = False
        self._selector.unregister(reader.socket)

    def resume(self, reader: Reader) -> None:
        reader.is_reading = True
        self._selector.register(reader.socket, selectors.EVENT_READ, reader)

    def take(self, patience: float, timed: Reader, due: tuple[float, float] | None) -> None:
        for key, _ in self._selector.select(patience):
            key.data.take(due if key.data is timed else None)

    def close(self) -> None:
        self._selector.close()
        for reader in self.readers:
            reader.socket.close()
