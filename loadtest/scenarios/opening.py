"""A conversation with very many messages is opened at its end: how soon is it there, and what does that cost?"""

import time

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage.client import Client, Mint, percentiles

NAME = "opening"
ABOUT = "a conversation with 10,000 messages, opened at its end 100 times"
SMALL = {"rounds": 1}
TIME_LIMIT = 600

TEXT = ("message " * 8)[:60]
FREE = {"PRESENCE_LIMITS_REQUESTS_PER_SECOND": "0", "PRESENCE_LIMITS_USER_REQUESTS_PER_SECOND": "0"}
"""One person writes faster here than clients are allowed to."""


def add_flags(parser) -> None:
    parser.add_argument("--messages", type=int, default=10_000, help="messages of the conversation (%(default)s)")
    parser.add_argument("--opens", type=int, default=100, help="how often it is opened (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(f"{options.messages:,} messages", messages=options.messages, opens=options.opens)
    measuring.alternate(
        results, case, options.rounds, lambda: opening(stage, options.messages, options.opens), None,
        {"opened p50 ms": "openMilliseconds.p50", "p99 ms": "openMilliseconds.p99",
         "page in the middle p50 ms": "pageMilliseconds.p50", "server µs an opening": "serverCPUMicrosecondsPerOpen",
         "Redis µs": "redisCPUMicrosecondsPerOpen"})


def opening(stage, messages: int, opens: int) -> dict:
    stage.clear()
    redis = stage.redis()
    server = stage.presence(redis, environment=FREE)
    mint = Mint(server)
    failures = []
    with Client(server, mint, "ana") as ana:
        made, = ana.ask("createConversation", participants=["bob"])
        conversation = made["conversation"]["id"]
        ana.ask_all([("send", {"conversation": conversation, "message": {"id": f"m{number}", "text": TEXT}})
                     for number in range(messages)])
    used = server.process.cpu_seconds(), redis.process.cpu_seconds()
    opened, paged = [], []
    for _ in range(opens):
        # Each like an app that has just started: without data, on a new connection.
        with Client(server, mint, "bob") as bob:
            began = time.monotonic()
            parts = bob.ask("subscribe", conversations=[{"id": conversation}])
            opened.append(time.monotonic() - began)
            found = [message["seq"] for part in parts for entry in part["conversations"] for message in entry["messages"]]
            if found != list(range(max(1, messages - 49), messages + 1)):
                failures.append(f"the end of the conversation was {found[:3]} to {found[-3:]}")
    costs = [1e6 * (process.cpu_seconds() - before) / opens for process, before in
             zip((server.process, redis.process), used)]
    with Client(server, mint, "bob") as bob:
        for _ in range(opens):
            began = time.monotonic()
            bob.ask("getMessages", conversation=conversation, before=messages // 2 + 1)
            paged.append(time.monotonic() - began)
    return {
        "messages": messages, "openMilliseconds": percentiles(opened), "pageMilliseconds": percentiles(paged),
        # Including the connection on which it is opened.
        "serverCPUMicrosecondsPerOpen": costs[0], "redisCPUMicrosecondsPerOpen": costs[1],
        "settings": server.settings, "limitsMet": server.limits_met(), "failures": failures}


def draw(results):
    drawn, axes = pictures.figure(results, columns=2)
    case = results.cases[0]
    pictures.columns(
        axes[0],
        [(label, case.values(PRESENCE, figure)) for figure, label in
         {"openMilliseconds.p50": "opened,\np50", "openMilliseconds.p99": "p99", "pageMilliseconds.p50": "a page in\nthe middle, p50"}.items()],
        "From the request to the last message", "ms", at_most=5)
    pictures.columns(
        axes[1],
        [(label, case.values(PRESENCE, figure)) for figure, label in
         {"serverCPUMicrosecondsPerOpen": "server", "redisCPUMicrosecondsPerOpen": "Redis"}.items()],
        "CPU of a connection and an opening", "µs")
    return drawn
