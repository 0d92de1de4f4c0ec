"""The environment of one test: users of its own on a shared server, and everything closed at its end."""

import secrets

from .api import API
from .client import Client
from .raw import RawSocket

DEVICES = {"phone": "phone", "tablet": "tablet", "desktop": "desktop", "web": "web", "bot": "bot", "other": "other"}


ROOMS = []
"""The rooms of the running test, so that their connections are closed at its end."""


class Room:
    def __init__(self, server, tls=None):
        """`tls`: the context for sockets by hand."""
        ROOMS.append(self)
        self.server, self.tls = server, tls
        self.suffix = secrets.token_hex(3)
        self.api = API(server)
        self.backend = server.mint.token(f"backend-{self.suffix}", role="backend")
        self.open = []

    def name(self, person):
        """The user id that stands for a name in this test alone."""
        return f"{person}-{self.suffix}"

    def token(self, person, at=None, **options):
        return (at or self.server).mint.token(self.name(person), **options)

    async def socket(self, at=None, **options):
        """A client that has not sent `connect` yet."""
        client = Client()
        await client.open((at or self.server).url, **options)
        self.open.append(client)
        return client

    async def come(self, person, device=None, at=None, **members):
        """A connected client of a person; `device` is a kind, which is the device's id as well, or a whole object."""
        client = await self.socket(at=at)
        if isinstance(device, str):
            device = {"id": f"{person}-{device}", "kind": DEVICES[device]}
        if device:
            members["device"] = device
        return await client.connect(members.pop("token", None) or self.token(person, at=at), **members)

    async def raw(self, person=None, at=None, receive_buffer=None, **members):
        """A socket by hand, connected as a person if one is given."""
        raw = await RawSocket(at or self.server, self.tls).open(receive_buffer)
        self.open.append(raw)
        if person:
            await raw.connect(self.token(person, at=at), **members)
        return raw

    async def dial(self, at=None):
        """A TCP connection on which nothing was sent."""
        raw = await RawSocket(at or self.server).dial()
        self.open.append(raw)
        return raw

    def leave(self):
        for connection in self.open:
            connection.abort()
