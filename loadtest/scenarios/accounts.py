"""People sign up, sign in and ask for their account; then very many sign in at one moment, beside others who change."""

import json
import time

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from stage.http import Connection, request

NAME = "accounts"
ABOUT = "sign-ups, sign-ins, refreshes and reads of accounts; 1,000 sign-ins at one moment, and what others notice"
SMALL = {"rounds": 1, "people": 40, "sign_ins": 40, "calls": 400, "burst": 120}
TIME_LIMIT = 1_800

HANDSHAKES = 4_000
"""Places of the server for connections that are no WebSockets; a quarter of its open files is the most there can be."""

EACH = 3
"""Sign-ins of one person at a moment: more would be slowed as guesses."""

KINDS = {"sign-ups": "sign up", "sign-ins": "sign in", "refreshes": "refresh", "GET /v1/me": "own account",
         "name checks": "name check"}


def add_flags(parser) -> None:
    parser.add_argument("--people", type=int, default=400, help="how many sign up (%(default)s)")
    parser.add_argument("--sign-ins", type=int, default=400, help="how many sign-ins (%(default)s)")
    parser.add_argument("--calls", type=int, default=2_000, help="calls of each other kind (%(default)s)")
    parser.add_argument("--at-once", type=int, default=8, help="how many calls are under way at once (%(default)s)")
    parser.add_argument("--burst", type=int, default=1_000,
                        help="how many sign in at one moment, at most three for each of the people (%(default)s)")
    parser.add_argument("--leaving", type=int, default=60,
                        help="how many sign in at one moment and go before they are answered (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(
        f"{options.people:,} people, {options.at_once} calls at once", people=options.people, burst=options.burst)
    arguments = ["--people", options.people, "--sign-ins", options.sign_ins, "--calls", options.calls,
                 "--at-once", options.at_once, "--burst", options.burst]
    measuring.alternate(
        results, case, options.rounds, lambda: accounts(stage, options.burst, options.leaving, *arguments), None,
        {"sign-ins a second": "perSecond.sign-ins", "sign-up p50 ms": "latency.sign-ups.p50",
         "sign-in p50 ms": "latency.sign-ins.p50", "p99 ms": "latency.sign-ins.p99",
         "refresh p50 ms": "latency.refreshes.p50", "own account p50 ms": "latency.GET /v1/me.p50", "a second": "perSecond.GET /v1/me", "told to try later": "burst.told",
         "of those who left run": "left.run",
         "others' p99 ms": "bystanderDuringMilliseconds.p99"})


def accounts(stage, burst: int, leaving: int, *arguments) -> dict:
    def leave(server, report: dict) -> None:
        if leaving:
            report["left"] = left(server, leaving, report.setdefault("failures", []))
            report["limitsMet"] = server.limits_met()

    # All clients that sign in at one moment are connected then; by default, some of 1,000 would wait in the kernel.
    environment = {"PRESENCE_ACCOUNTS_ENABLED": "true", "PRESENCE_LIMITS_HANDSHAKES": str(HANDSHAKES)}
    if burst > HANDSHAKES:
        # The others wait in the kernel. By default, connected ones would be closed for them after 2 s.
        environment["PRESENCE_HANDSHAKE_TIMEOUT"] = "60s"
    report = measuring.presence_round(stage, "accounts", *arguments, after=leave, environment=environment)
    report["perSecond"] = {kind["name"]: kind["callsPerSecond"] for kind in report["measured"]}
    report["latency"] = {kind["name"]: kind["latencyMilliseconds"] for kind in report["measured"]}
    return report


def left(server, count: int, failures: list[str]) -> dict:
    """People who sign in at one moment and close their connections before they are answered: whose passwords are hashed?"""
    people = range((count + EACH - 1) // EACH)
    bodies = [json.dumps({"email": f"leaving-{number}@example.org", "password": "load test of accounts",
                          "device": {"kind": "phone", "name": "load"}}).encode() for number in people]
    for number, body in enumerate(bodies):
        with Connection(server, number) as connection:
            answer = connection.call(request("POST", "/v1/accounts", length=len(body)), body)
        if answer.status != 201:
            failures.append(f"a sign-up was answered {answer.status}")
    before = jobs(server)
    connections = [Connection(server, number) for number in range(count)]
    for number, connection in enumerate(connections):
        body = bodies[number % len(bodies)]
        connection.socket.sendall(request("POST", "/v1/sessions", length=len(body)) + body)
    # By now all but the first few wait for a thread.
    time.sleep(0.05)
    for connection in connections:
        connection.socket.close()
    time.sleep(1)
    deadline = time.monotonic() + 30
    while (now := jobs(server))["queued"] + now["running"] > 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    found = {name: now[name] - before[name] for name in ("run", "done", "refused", "cancelled")}
    if not found["run"] + found["cancelled"]:
        failures.append("nothing came of the sign-ins of people who left")
    return {"signIns": count} | found


def jobs(server) -> dict[str, float]:
    """The pool of passwords: `run` counts all jobs that were begun and ended, whichever user they were for."""
    metrics = server.metrics()
    names = {"queued": "workers_queued", "running": "workers_running", "done": "workers_done_total",
             "refused": "workers_refused_total", "cancelled": "workers_cancelled_total",
             "run": "workers_running_seconds_count"}
    return {short: metrics.get(f'{name}{{pool="passwords"}}', 0) for short, name in names.items()}


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    case = results.cases[0]

    def columns(axis, figures: dict[str, str], *more, **options) -> None:
        pictures.columns(
            axis, [(label, case.values(PRESENCE, figure)) for figure, label in figures.items()], *more, **options)

    columns(axes[0], {f"perSecond.{kind}": label.replace(" ", "\n") for kind, label in KINDS.items()},
            "Calls a second", "calls")
    columns(axes[1], {f"latency.{kind}.p99": label.replace(" ", "\n") for kind, label in KINDS.items()},
            "Each, p99", "ms")
    columns(axes[2], {"bystanderBeforeMilliseconds.p99": "before", "bystanderDuringMilliseconds.p99": "during"},
            "Others: change to receipt, p99", "ms", at_most=20)
    return drawn
