"""The people of a round: those who are away, each with a device, and those who write to them."""

import asyncio
import base64
import os
from dataclasses import dataclass

from scenarios.pushes.sockets import Calls, UserSocket

WORKERS = 48
"""People who come at a time."""
MAKING = 10
"""Conversations of one writer that are made at a time."""
# A point of P-256 (its base point): the services of these tests decrypt nothing.
POINT = bytes.fromhex("046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
                      "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def address(number: int) -> str:
    """Each person has one of their own."""
    return f"127.{1 + number // 64_000}.{number % 64_000 // 250}.{1 + number % 250}"


@dataclass
class Message:
    """A writer's message to the conversation with one person, who is away."""
    writer: UserSocket
    person: str
    conversation: str


async def leave_devices(server, mint, people: list[str], url: str) -> None:
    """All people come, register a device, and go: from then on none has a session."""
    numbers = iter(range(len(people)))

    async def work(worker: int) -> None:
        calls = await Calls.connect(server, f"127.0.0.{10 + worker}")
        for number in numbers:
            person = people[number]
            client = await UserSocket.connect(server, mint, person, address(number))
            keys = {"p256dh": base64url(POINT), "auth": base64url(os.urandom(16))}
            await calls.put("/v1/me/devices/current", mint.token(person), {
                "platform": "web", "subscription": {"endpoint": f"{url}/push/{person}", "keys": keys}})
            await client.close()
        calls.close()

    await gather(work(worker) for worker in range(WORKERS))


async def begin_conversations(server, mint, writers: list[str], people: list[str]) -> list[Message]:
    """The writers come, with names, and each begins a conversation with their share of the people. In the people's order."""
    made: dict[int, Message] = {}

    async def work(place: int) -> None:
        writer = await UserSocket.connect(server, mint, writers[place], address(len(people) + place))
        await writer.ask("updateProfile", changes={"displayName": f"Writer {place}"})
        numbers = iter(range(place, len(people), len(writers)))

        async def make() -> None:
            for number in numbers:
                answer = await writer.ask("createConversation", participants=[people[number]])
                made[number] = Message(writer, people[number], answer["conversation"]["id"])

        await gather(make() for _ in range(MAKING))

    for begin in range(0, len(writers), WORKERS):
        await gather(work(place) for place in range(begin, min(begin + WORKERS, len(writers))))
    return [made[number] for number in range(len(people))]


async def gather(tasks) -> None:
    """All of them; the first failure ends the others."""
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(task)
