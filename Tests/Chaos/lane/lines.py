"""A person's own path to the servers: to any running one. It can go dead without notice to either side."""

import asyncio


class Way:
    """One connection through a line."""

    def __init__(self, server, reader, writer):
        self.server, self.reader, self.writer = server, reader, writer
        self.upstream = None
        self.is_frozen = False
        self.open_directions = 2

    async def carry(self, source, target):
        try:
            while data := await source.read(65536):
                if self.is_frozen:
                    return
                target.write(data)
                await target.drain()
            if not self.is_frozen:
                # The other direction may still have data.
                target.write_eof()
        except (ConnectionError, OSError):
            self.open_directions = 0
        # Half open: neither side is notified.
        self.open_directions -= 1
        if self.open_directions <= 0 and not self.is_frozen:
            self.close()

    def close(self):
        for writer in (self.writer, self.upstream):
            if writer and not writer.transport.is_closing():
                writer.transport.abort()


class Line:
    def __init__(self, servers, random_numbers):
        self.servers, self.random = servers, random_numbers
        self.ways = []
        self.is_frozen = False
        self.tasks = set()

    async def open(self):
        self.listener = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.listener.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}/v1/ws"

    @property
    def server(self):
        """The server of the newest connection, if it is still open."""
        return self.ways[-1].server if self.ways else None

    async def accept(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        self.ways = [way for way in self.ways if way.is_frozen or not way.writer.transport.is_closing()]
        way = Way(None, reader, writer)
        if self.is_frozen:
            way.is_frozen = True
            self.ways.append(way)
            return
        for server in self.random.sample(self.servers, len(self.servers)):
            if server.is_taken_off:
                continue
            try:
                upstream, way.upstream = await asyncio.open_connection("127.0.0.1", server.port)
            except OSError:
                continue
            way.server = server
            self.ways.append(way)
            for source, target in ((reader, way.upstream), (upstream, writer)):
                task = asyncio.create_task(way.carry(source, target))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
            return
        way.close()

    def freeze(self):
        """From now on nothing gets through, not even that a side has closed, and nothing new."""
        self.is_frozen = True
        for way in self.ways:
            way.is_frozen = True

    def thaw(self):
        """New connections work again; the dead ones stay dead."""
        self.is_frozen = False

    def let_nobody_back(self):
        """No data passes any more: the user is gone, whatever their client still tries."""
        self.is_frozen = True

    def cut(self):
        """Breaks the present connections, as a network does."""
        for way in self.ways:
            if not way.is_frozen:
                way.close()

    def close(self):
        self.listener.close()
        for way in self.ways:
            way.close()
        for task in list(self.tasks):
            task.cancel()
