"""A connection between client and server that can go dead without notice to either side."""

import asyncio


class Proxy:
    """Accepts the connections meant for a server."""

    def __init__(self, server):
        self.server, self.mint = server, server.mint
        self.open = asyncio.Event()
        self.open.set()
        self.tasks, self.ends = set(), []

    async def __aenter__(self):
        self.listener = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.host, self.port = self.listener.sockets[0].getsockname()[:2]
        self.url = f"ws://{self.host}:{self.port}/v1/ws"
        return self

    async def __aexit__(self, *_):
        self.listener.close()
        for task in self.tasks:
            task.cancel()
        # Otherwise a stopping server would wait for its clients' close frames.
        for end in self.ends:
            end.transport.abort()

    async def accept(self, reader, writer):
        far_reader, far_writer = await asyncio.open_connection(self.server.host, self.server.port)
        self.ends += [writer, far_writer]
        for source, target in ((reader, far_writer), (far_reader, writer)):
            self.tasks.add(asyncio.create_task(self.carry(source, target)))

    async def carry(self, source, target):
        try:
            while data := await source.read(65536):
                await self.open.wait()
                target.write(data)
            await self.open.wait()
            target.close()
        except ConnectionError:
            target.close()

    def freeze(self):
        """From now on no data passes, not even the notice that a side has closed."""
        self.open.clear()
