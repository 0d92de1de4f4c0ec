"""Messages to people who are away: how soon after its acknowledgement is each on the push service's socket, and its cost."""

import asyncio
import base64
import os
import time

from report import pictures
from report.results import PRESENCE
from scenarios import measuring
from scenarios.pushes.people import begin_conversations, leave_devices
from scenarios.pushes.writing import Writing
from stage.client import Mint, percentiles
from stage.neighbours import Neighbours, caution
from stage.outside import Certificate, Outside
from stage.usage import Usage

NAME = "pushes"
ABOUT = "1,000 messages a second to people who are away: how soon each is at the push service, and what a push costs"
SMALL = {"rounds": 1, "rate": 200, "duration": 5}
ROUNDS = 3
TIME_LIMIT = 1_800

FULL = 0.9
"""The share of a core from which on a process is called full."""


def add_flags(parser) -> None:
    parser.add_argument("--rate", type=int, default=1_000, help="messages a second (%(default)s)")
    parser.add_argument("--duration", type=float, default=10, help="seconds (%(default)s)")
    parser.add_argument("--writers", type=int, default=100, help="people who write (%(default)s)")
    parser.add_argument("--sender", choices=["web", "own"], default="web",
                        help="who sends the pushes: the server, by Web Push over TLS, or a sender of the operator's own, "
                        "by the webhook push.due (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(
        f"{options.rate:,} messages a second, by {'Web Push' if options.sender == 'web' else 'push.due'}", rate=options.rate,
        duration=options.duration, writers=options.writers, sender=options.sender)
    measuring.alternate(
        results, case, options.rounds, lambda: pushes(stage, options), None,
        {"pushes a second": "pushesPerSecond", "sent to socket p50 ms": "pushMilliseconds.p50",
         "p99 ms": "pushMilliseconds.p99", "server µs a message with its push": "serverCPUMicrosecondsPerPush",
         "Redis µs": "redisCPUMicrosecondsPerPush", "server": "serverCPUShare", "Redis": "redisCPUShare",
         "service": "serviceCPUShare"})


def pushes(stage, options) -> dict:
    stage.clear()
    service, settings = {"web": web, "own": own}[options.sender](stage)
    redis = stage.redis()
    server = stage.presence(redis, environment=settings)
    mint, name = Mint(server), os.urandom(4).hex()
    people = [f"away-{name}-{number:06}" for number in range(int(options.rate * options.duration))]
    writers = [f"writer-{name}-{number:03}" for number in range(min(options.writers, len(people)))]

    async def measure() -> dict:
        await leave_devices(server, mint, people, service.url if options.sender == "web" else "https://localhost")
        writing = Writing(await begin_conversations(server, mint, writers, people), options.rate, service)
        # Work that the coming and going left for later is over.
        await asyncio.sleep(2)
        used = {name: process.cpu_seconds() for name, process in processes.items()}
        usage, neighbours, began = Usage(server, redis), Neighbours(stage.cpu_seconds), time.monotonic()
        await writing.run()
        seconds = time.monotonic() - began
        used = {name: process.cpu_seconds() - used[name] for name, process in processes.items()}
        return report(writing, used, seconds) | {"usage": usage.report(), "machine": neighbours.report()}

    processes = {"server": server.process, "redis": redis.process, "service": service.process}
    found = asyncio.run(measure())
    stage.check()
    found["settings"], found["limitsMet"] = server.settings, server.limits_met()
    found["bottlenecks"] = caution(found["machine"]) + [
        f"{name} used {found[f'{name}CPUShare']:.0%} of a core" for name in processes
        if found[f"{name}CPUShare"] > FULL]
    if found["limitsMet"]:
        found["failures"].append(f"limits of the server were met: {found['limitsMet']}")
    return found


def web(stage) -> tuple[Outside, dict[str, str]]:
    certificate = Certificate(stage.directory)
    service = Outside(stage, "push-service", certificate=certificate, about="path")
    return service, {
        "PRESENCE_PUSH_WEB_SUBJECT": "mailto:operator@example.org", "PRESENCE_PUSH_WEB_HOSTS": "localhost",
        "PRESENCE_PUSH_WEB_PRIVATE_ADDRESSES": "true", "PRESENCE_PUSH_CA_FILE": str(certificate.file)}


def own(stage) -> tuple[Outside, dict[str, str]]:
    secret = stage.directory / "webhook.secret"
    secret.write_text("whsec_" + base64.b64encode(os.urandom(32)).decode())
    secret.chmod(0o600)
    service = Outside(stage, "push-sender", about="user", status=204)
    return service, {"PRESENCE_WEBHOOKS": f"{service.url}/push {secret} push.due"}


def report(writing: Writing, used: dict[str, float], seconds: float) -> dict:
    both = sorted(writing.sent.keys() & writing.pushed.keys())
    if not both:
        return {"failures": writing.failures or ["nothing was pushed"]} | {f"{name}CPUShare": 0.0 for name in used}
    pushed = [writing.pushed[number] - writing.sent[number] for number in both]
    stretch = max(writing.pushed.values()) - writing.due[0]
    return {
        "pushes": len(both), "seconds": seconds, "pushesPerSecond": len(both) / stretch,
        "answerMilliseconds": percentiles([writing.sent[number] - writing.due[number] for number in both]),
        "pushMilliseconds": percentiles(pushed), "latenessMilliseconds": 1e3 * writing.lateness,
        **{f"{name}CPUShare": value / seconds for name, value in used.items()},
        **{f"{name}CPUMicrosecondsPerPush": 1e6 * value / len(both) for name, value in used.items()},
        "failures": writing.failures}


def draw(results):
    drawn, axes = pictures.figure(results, columns=2)
    case = results.cases[0]
    pictures.columns(
        axes[0], [(label, case.values(PRESENCE, f"pushMilliseconds.{label}")) for label in ("p50", "p99", "longest")],
        "From `sent` to the push service's socket", "ms", at_most=2_000)
    pictures.columns(
        axes[1], [(label, case.values(PRESENCE, f"{name}CPUMicrosecondsPerPush")) for name, label in
                  {"server": "server", "redis": "Redis"}.items()], "CPU of a message with its push", "µs")
    return drawn
