"""A connection between a browser and a server that a test can cut and restore. Its address stays when the server restarts."""

from .proxy import Proxy


class Line(Proxy):
    def __init__(self, server):
        super().__init__(server)
        self.is_cut, self.writers, self.accepted = False, set(), 0

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    async def accept(self, reader, writer):
        self.accepted += 1
        if self.is_cut:
            return writer.transport.abort()
        self.writers.add(writer)
        try:
            await super().accept(reader, writer)
        except OSError:
            writer.transport.abort()

    def cut(self):
        """From now on the server is unreachable."""
        self.is_cut = True
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    def mend(self):
        self.is_cut = False
