"""Very many idle conversations: their memory in Redis, and the cost of the list of one's own."""

import math
import threading
import time

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage.client import Client, Mint, percentiles
from stage.failure import Failure

NAME = "conversations"
ABOUT = "100,000 conversations of 10 people: Redis' memory for each, and the time and cost of a list of 50"
SMALL = {"rounds": 1, "conversations": 2_000, "lists": 100}
ROUNDS = 1
TIME_LIMIT = 1_800

MEMBERS, LISTED, EACH = 10, 50, 1_000
"""People of a conversation, conversations in the list of each who made none, and those that one person makes."""

AT_ONCE = 4
TEXT = ("message " * 8)[:60]
FREE = {
    "PRESENCE_LIMITS_REQUESTS_PER_SECOND": "0", "PRESENCE_LIMITS_USER_REQUESTS_PER_SECOND": "0",
    "PRESENCE_HEARTBEAT_INTERVAL": "1h"}
"""A few people make here what many would; and those who wait for their turn read nothing, so they answer no pings."""


def add_flags(parser) -> None:
    parser.add_argument("--conversations", type=int, default=100_000, help="conversations of 10 people (%(default)s)")
    parser.add_argument("--lists", type=int, default=1_000, help="how many lists are read (%(default)s)")


def run(stage, options, results) -> None:
    if options.conversations < 10 * LISTED or options.conversations % LISTED:
        raise Failure(f"--conversations is a multiple of {LISTED}, and at least {10 * LISTED}")
    case = results.case(f"{options.conversations:,} conversations", conversations=options.conversations, lists=options.lists)
    measuring.alternate(
        results, case, options.rounds, lambda: conversations(stage, options.conversations, options.lists), None,
        {"made a second": "madePerSecond", "Redis bytes each": "redisBytesPerConversation",
         "with a message": "redisBytesPerConversationWithMessage", "list p50 ms": "listMilliseconds.p50",
         "p99 ms": "listMilliseconds.p99", "server µs a list": "serverCPUMicrosecondsPerList",
         "Redis µs": "redisCPUMicrosecondsPerList"})


def conversations(stage, count: int, lists: int) -> dict:
    stage.clear()
    redis = stage.redis()
    server = stage.presence(redis, environment=FREE)
    mint = Mint(server)
    # Each of these people has fifty of the places in addition to the makers'.
    people = [f"p{number}" for number in range(count * (MEMBERS - 1) // LISTED)]
    # The memory of the makers' connections exists before and after.
    makers = [Client(server, mint, f"m{number}") for number in range((count + EACH - 1) // EACH)]
    before, began = memory(redis), time.monotonic()

    def make(number: int) -> None:
        own = range(number * EACH, min(count, (number + 1) * EACH))
        made = makers[number].ask_all([
            ("createConversation", {"participants": members(people, conversation), "name": f"Conversation {conversation}"})
            for conversation in own])
        ids.update(zip(own, (answer[0]["conversation"]["id"] for answer in made)))

    def write(number: int) -> None:
        makers[number].ask_all([
            ("send", {"conversation": ids[conversation], "message": {"id": "first", "text": TEXT}})
            for conversation in range(number * EACH, min(count, (number + 1) * EACH))])

    ids: dict[int, str] = {}
    side_by_side(make, len(makers))
    took, empty = time.monotonic() - began, memory(redis) - before
    side_by_side(write, len(makers))
    written = memory(redis) - before
    for maker in makers:
        maker.close()
    listed = read_lists(server, redis, mint, people, lists)
    return listed | {
        "conversations": count, "people": len(people), "madePerSecond": count / took,
        "redisBytesPerConversation": empty / count, "redisBytesPerConversationWithMessage": written / count,
        "settings": server.settings, "limitsMet": server.limits_met()}


def members(people: list[str], conversation: int) -> list[str]:
    """Nine who come in turn, so that each is in fifty; each time through all of them, other people meet."""
    first = conversation * (MEMBERS - 1)
    step = 1 + first // len(people)
    while math.gcd(step, len(people)) > 1:
        step += 1
    return [people[(first + place) * step % len(people)] for place in range(MEMBERS - 1)]


def read_lists(server, redis, mint, people: list[str], lists: int) -> dict:
    """Lists of different people, one after the other, each on a connection that is there already."""
    failures, taken = [], []
    clients = [Client(server, mint, people[number * len(people) // lists]) for number in range(lists)]
    # Waits until the after-effects of connecting are over.
    time.sleep(1)
    used = server.process.cpu_seconds(), redis.process.cpu_seconds()
    for client in clients:
        began = time.monotonic()
        parts = client.ask("subscribe", conversationList=True)
        taken.append(time.monotonic() - began)
        found = sum(len(part.get("conversationList", ())) for part in parts)
        if found != LISTED:
            failures.append(f"{client.user} has {found} conversations in the list")
    costs = [1e6 * (process.cpu_seconds() - before) / lists for process, before in
             zip((server.process, redis.process), used)]
    for client in clients:
        client.close()
    return {"listMilliseconds": percentiles(taken), "serverCPUMicrosecondsPerList": costs[0],
            "redisCPUMicrosecondsPerList": costs[1], "failures": failures[:20]}


def memory(redis) -> int:
    """Redis' memory, without the temporary memory of its connections."""
    found = redis.info("memory")
    return int(found["used_memory"]) - int(found["mem_clients_normal"]) - int(found["mem_aof_buffer"])


def side_by_side(work, count: int) -> None:
    """Does all of the work, a few at a time; the first failure is the caller's."""
    numbers, failures = iter(range(count)), []
    lock = threading.Lock()

    def go() -> None:
        while not failures:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                work(number)
            except Exception as failure:
                failures.append(failure)

    threads = [threading.Thread(target=go, daemon=True) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    case = results.cases[0]

    def columns(axis, figures: dict[str, str], *more) -> None:
        pictures.columns(axis, [(label, case.values(PRESENCE, figure)) for figure, label in figures.items()], *more)

    columns(axes[0], {"redisBytesPerConversation": "empty", "redisBytesPerConversationWithMessage": "with a message"},
            "Redis, a conversation of 10", "bytes")
    columns(axes[1], {"listMilliseconds.p50": "p50", "listMilliseconds.p99": "p99"}, "A list of 50", "ms")
    columns(axes[2], {"serverCPUMicrosecondsPerList": "server", "redisCPUMicrosecondsPerList": "Redis"},
            "CPU of a list of 50", "µs")
    return drawn
