"""Calls over HTTP: what one costs, and what long bodies, bodies too large and slow bodies cost."""

import json
import os
import threading
import time

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage import kernel
from stage.client import Client, Mint, percentiles
from stage.failure import Failure
from stage.http import Connection, request
from stage.neighbours import Neighbours, caution

NAME = "http"
ABOUT = "10,000 calls on one connection, and on one each; 20 long bodies at a time, too large ones, 1,000 slow ones"
SMALL = {"rounds": 1, "calls": 1_000, "slow": 200, "seconds": 4}
TIME_LIMIT = 1_200

PEOPLE = 20
"""People who call in turn: as many calls of one person would exceed their rate limit."""
MIB = 1024 * 1024
SIZES = {"5 MiB": 5 * MIB, "10 MiB": 10 * MIB}
"""The bodies; the second is as large as an attachment may be by default."""
TOO_LARGE = 10 * MIB + 1
SETTINGS = {
    "PRESENCE_ATTACHMENTS_ENABLED": "true",
    # A place for each slow body and for all others. By default, the oldest would be closed for new ones.
    "PRESENCE_LIMITS_HANDSHAKES": "4000",
    # By default, a call whose body is not complete within 10 s is aborted: too soon for a measurement.
    "PRESENCE_HANDSHAKE_TIMEOUT": "120s",
}
PROBES_EVERY = 0.02
"""Seconds between another person's calls, beside the slow bodies."""


def add_flags(parser) -> None:
    parser.add_argument("--calls", type=int, default=10_000, help="calls of each kind (%(default)s)")
    parser.add_argument("--slow", type=int, default=1_000, help="bodies that come at 1 byte a second (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="for which these are measured (%(default)s)")


def run(stage, options, results) -> None:
    if not (0 < options.calls <= 20_000 and 0 < options.slow <= 3_000 and 1 <= options.seconds <= 60):
        raise Failure("--calls is at most 20000, --slow 3000, and --seconds from 1 to 60: more would meet limits")
    case = results.case(f"{options.calls:,} calls, {options.slow:,} slow bodies", calls=options.calls, slow=options.slow)
    measuring.alternate(
        results, case, options.rounds, lambda: measured(stage, options), None,
        {"kept, server µs a call": "kept.user.serverCPUMicroseconds", "p50 ms": "kept.user.milliseconds.p50",
         "on one each µs": "fresh.user.serverCPUMicroseconds", "an upload's KB": "upload.10 MiB.userKBEach",
         "a download's KB": "download.10 MiB.userKBEach", "slow bodies, % of a core": "slowBodies.corePercentMore"})


def measured(stage, options) -> dict:
    stage.clear()
    redis = stage.redis()
    server = stage.presence(redis, environment=SETTINGS)
    neighbours = Neighbours(stage.cpu_seconds)
    mint = Mint(server)
    tokens = [mint.token(f"p{number}") for number in range(PEOPLE)]
    failures: list[str] = []
    report = {kind: calls(server, redis, tokens, options.calls, kind == "kept", failures) for kind in ("kept", "fresh")}
    talks = conversations(server, mint)
    report |= bodies(server, talks, tokens, failures)
    report["tooLarge"] = too_large(server, talks, tokens, failures)
    report["slowBodies"] = slow_bodies(server, tokens, options.slow, options.seconds, failures)
    stage.check()
    report["settings"] = server.settings
    report["limitsMet"] = server.limits_met()
    if report["limitsMet"]:
        failures.append(f"limits of the server were met: {report['limitsMet']}")
    report["machine"] = neighbours.report()
    report["bottlenecks"] = caution(report["machine"])
    return report | {"failures": failures[:20]}


# ---- Calls ----

def calls(server, redis, tokens: list[str], count: int, keeps: bool, failures: list[str]) -> dict:
    """One after the other, on one connection or on one each: of a person's presence, and of the server's health."""
    heads = {
        "user": [request("GET", f"/v1/users/p{number}", token=token, keeps=keeps) for number, token in enumerate(tokens)],
        # Without token and without Redis: HTTP alone.
        "health": [request("GET", "/healthz", keeps=keeps)],
    }
    return {name: timed(server, redis, each, count, keeps, failures) for name, each in heads.items()}


def timed(server, redis, heads: list[bytes], count: int, keeps: bool, failures: list[str]) -> dict:
    taken, wrong = [], 0
    used = server.process.cpu_seconds(), redis.process.cpu_seconds()
    kept = Connection(server) if keeps else None
    for number in range(count):
        began = time.monotonic()
        connection = kept or Connection(server, number)
        answer = connection.call(heads[number % len(heads)])
        taken.append(time.monotonic() - began)
        wrong += answer.status != 200
        if not kept:
            connection.socket.close()
    if kept:
        kept.socket.close()
    if wrong:
        failures.append(f"{wrong} of {count} calls were not answered 200")
    server_cost, redis_cost = (1e6 * (process.cpu_seconds() - before) / count
                               for process, before in zip((server.process, redis.process), used))
    return {"calls": count, "milliseconds": percentiles(taken), "serverCPUMicroseconds": server_cost,
            "redisCPUMicroseconds": redis_cost}


# ---- Long bodies ----

def bodies(server, talks: list[str], tokens: list[str], failures: list[str]) -> dict:
    """Each person uploads one at the same time; then each gets one."""
    report: dict[str, dict] = {"upload": {}, "download": {}}
    # Warms up: the effects of the first ones (threads, pages of the allocator) exist before.
    upload_all(server, talks, tokens, os.urandom(64 * 1024), failures)
    for name, size in SIZES.items():
        data = os.urandom(size)
        places: list[str] = []
        report["upload"][name] = watched(
            server, size, lambda: places.extend(upload_all(server, talks, tokens, data, failures)))
        report["download"][name] = watched(server, size, lambda: download_all(server, places, data, failures))
    return report


def conversations(server, mint) -> list[str]:
    """Conversations of two people each; by person."""
    talks = []
    for number in range(0, PEOPLE, 2):
        with Client(server, mint, f"p{number}") as client:
            made, = client.ask("createConversation", participants=[f"p{number + 1}"])
            talks += [made["conversation"]["id"]] * 2
    return talks


def upload_all(server, talks: list[str], tokens: list[str], data: bytes, failures: list[str]) -> list[str]:
    """The paths of what was uploaded."""
    places: list[str] = []

    def upload(number: int) -> None:
        path = f"/v1/conversations/{talks[number]}/attachments"
        head = request("POST", path, token=tokens[number], length=len(data), type="application/octet-stream")
        with Connection(server, number) as connection:
            answer = connection.call(head, data)
        if answer.status != 201:
            failures.append(f"an upload was answered {answer.status} {answer.body[:200]!r}")
            return
        url = json.loads(answer.body)["attachment"]["url"]
        places.append("/" + url.split("/", 3)[3])

    side_by_side(upload, len(tokens), failures)
    return places


def download_all(server, places: list[str], data: bytes, failures: list[str]) -> None:
    def download(number: int) -> None:
        with Connection(server, number) as connection:
            answer = connection.call(request("GET", places[number]))
        if answer.status != 200 or answer.body != data:
            failures.append(f"a download was answered {answer.status} with {len(answer.body)} bytes, or others")

    side_by_side(download, len(places), failures)


def side_by_side(work, count: int, failures: list[str]) -> None:
    def guarded(number: int) -> None:
        try:
            work(number)
        except (OSError, Failure) as failure:
            failures.append(str(failure))

    threads = [threading.Thread(target=guarded, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def watched(server, size: int, work) -> dict:
    """The cost of some work, and the largest growth of the server's memory during it."""
    before = most = kernel.user_memory(server.pid)
    used, began = server.process.cpu_seconds(), time.monotonic()
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    samples = 0
    while worker.is_alive():
        most = max(most, kernel.user_memory(server.pid))
        samples += 1
        worker.join(0.005)
    seconds = time.monotonic() - began
    return {
        "bodies": PEOPLE, "bodyBytes": size, "seconds": seconds, "samples": samples,
        "userBytesBefore": before, "userBytesMost": most, "userKBEach": (most - before) / 1024 / PEOPLE,
        "MiBPerSecond": PEOPLE * size / MIB / seconds,
        "serverCPUMillisecondsEach": 1e3 * (server.process.cpu_seconds() - used) / PEOPLE}


# ---- Bodies too large ----

def too_large(server, talks: list[str], tokens: list[str], failures: list[str]) -> dict:
    """Announced, and nothing of them sent: the answer does not wait for them."""
    taken = []
    for number, token in enumerate(tokens):
        for path, length in ((f"/v1/conversations/{talks[number]}/attachments", TOO_LARGE), ("/v1/users/get", MIB + 1)):
            with Connection(server, number) as connection:
                began = time.monotonic()
                answer = connection.call(request("POST", path, token=token, length=length))
                taken.append(time.monotonic() - began)
            if answer.status != 413:
                failures.append(f"{length} bytes to {path} were announced and answered {answer.status}")
    return {"calls": len(taken), "bodyBytesSent": 0, "milliseconds": percentiles(taken)}


# ---- Slow bodies ----

def slow_bodies(server, tokens: list[str], count: int, seconds: float, failures: list[str]) -> dict:
    """The server's share of a core and another person's call, first with idle connections and then with their bodies."""
    heads = [request("POST", "/v1/users/get", token=token, length=1_000) for token in tokens]
    connections = [Connection(server, number) for number in range(count)]
    for connection in connections:
        connection.call(request("GET", "/healthz"))
    time.sleep(1)
    idle = beside(server, tokens, seconds, lambda share: None)
    for number, connection in enumerate(connections):
        connection.socket.sendall(heads[number % len(heads)] + b"{")
    time.sleep(1)
    sent = [0]

    def drip(share: float) -> None:
        """The bytes that are due by then: each body has one a second, spread over the second."""
        due = int(share * seconds * count)
        for number in range(sent[0], due):
            connections[number % count].socket.sendall(b" ")
        sent[0] = due

    during = beside(server, tokens, seconds, drip)
    for connection in connections:
        connection.socket.setblocking(False)
        try:
            failures.append(f"a slow body was answered {connection.socket.recv(100)!r}")
        except BlockingIOError:
            pass
        connection.socket.close()
    return {"bodies": count, "bytesSent": sent[0], "idle": idle, "during": during,
            "corePercentMore": during["corePercent"] - idle["corePercent"],
            "microsecondsPerByte": 1e4 * seconds * (during["corePercent"] - idle["corePercent"]) / max(1, sent[0])}


def beside(server, tokens: list[str], seconds: float, work) -> dict:
    """Another person's calls by the clock, and the server's share of a core; `work` gets the elapsed share of the time."""
    head = request("GET", "/v1/users/p0", token=tokens[1])
    taken = []
    with Connection(server, 1) as connection:
        connection.call(head)
        used, began = server.process.cpu_seconds(), time.monotonic()
        number = 0
        while (passed := time.monotonic() - began) < seconds:
            work(passed / seconds)
            due = began + number * PROBES_EVERY
            if (wait := due - time.monotonic()) > 0:
                time.sleep(min(wait, 0.005))
                continue
            connection.call(head)
            taken.append(time.monotonic() - due)
            number += 1
        work(1)
        share = (server.process.cpu_seconds() - used) / (time.monotonic() - began)
    return {"corePercent": 100 * share, "othersMilliseconds": percentiles(taken)}


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    case = results.cases[0]

    def columns(axis, figures: dict[str, str], *more, **options) -> None:
        pictures.columns(
            axis, [(label, case.values(PRESENCE, figure)) for figure, label in figures.items()], *more, **options)

    columns(axes[0], {f"{kind}.{call}.serverCPUMicroseconds": f"{label},\n{kinds}"
                      for kind, kinds in (("kept", "kept"), ("fresh", "new"))
                      for call, label in (("user", "a person"), ("health", "health"))},
            "Server CPU of a call", "µs")
    columns(axes[1], {f"{way}.{size}.userKBEach": f"{way},\n{size}" for way in ("upload", "download") for size in SIZES},
            "Server memory of each of 20 bodies", "KB", at_most=256)
    columns(axes[2], {"slowBodies.idle.corePercent": "idle", "slowBodies.during.corePercent": "slow bodies"},
            "Server, with 50 calls a second of others", "% of a core")
    return drawn
