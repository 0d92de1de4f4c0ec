"""The message schemas of docs/asyncapi.yaml, and connections that record all their messages."""

from .client import Client
from .documents import Document
from .room import Room


class AsyncAPI(Document):
    """`client` and `server` have the messages of each by their types."""

    def __init__(self, name):
        super().__init__(name)
        messages = self.root["components"]["messages"]
        self.client = {node["name"]: node for name, node in messages.items() if name.startswith("Client")}
        self.server = {node["name"]: node for name, node in messages.items() if name.startswith("Server")}

    def message_faults(self, message, side):
        """The faults of a message by the document; `side` is `client` or `server`."""
        messages = getattr(self, side)
        if message.get("type") not in messages:
            return [f"no message of the {side} has the type {message.get('type')!r}"]
        return list(self.faults(message, messages[message["type"]]["payload"]))

    def message_types(self, references):
        return {self.resolve(each)["name"] for each in references}

    def replies_to(self, type):
        """The types that may answer a request."""
        for operation in self.root["operations"].values():
            if operation["action"] == "receive" and type in self.message_types(operation["messages"]):
                return self.message_types(operation["reply"]["messages"])
        raise AssertionError(f"no operation receives {type}")

    @property
    def unasked(self):
        """The types of unsolicited messages."""
        return {type for operation in self.root["operations"].values() if operation["action"] == "send"
                for type in self.message_types(operation["messages"])}


class Witness(Client):
    """A client that also records its sent messages."""

    def __init__(self):
        super().__init__()
        self.sent = []

    async def send(self, message):
        if isinstance(message, dict):
            self.sent.append(message)
        await super().send(message)

    def refusal_of(self, request):
        """The error that answered a request with an id."""
        return next((message for message in self.log
                     if message["type"] == "error" and "id" in request and message.get("id") == request["id"]), None)


class WitnessedRoom(Room):
    async def socket(self, at=None, **options):
        client = await Witness().open((at or self.server).url, **options)
        self.open.append(client)
        return client

    @property
    def received(self):
        return [message for client in self.open for message in client.log]

    @property
    def sent(self):
        """Every request, and the error that rejected it or None."""
        return [(message, client.refusal_of(message)) for client in self.open for message in client.sent]
