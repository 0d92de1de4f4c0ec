"""People in many conversations send messages: how soon does every member have them, and what does it cost?"""

from report import pictures
from report.results import PRESENCE
from scenarios import measuring

NAME = "messages"
ABOUT = "500 conversations of 10 people, 5,000 messages a second: how soon each member has them, and what they cost"
SMALL = {"rounds": 1, "duration": 5, "conversations": 50, "rate": 500}
TIME_LIMIT = 1_200


def add_flags(parser) -> None:
    parser.add_argument("--conversations", type=int, default=500, help="conversations (%(default)s)")
    parser.add_argument("--members", type=int, default=10, help="people in each, all different (%(default)s)")
    parser.add_argument("--rate", type=int, default=5_000, help="messages sent a second (%(default)s)")
    parser.add_argument("--duration", type=float, default=20, help="seconds (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(
        f"{options.rate:,} messages a second to {options.conversations:,} conversations of {options.members}",
        conversations=options.conversations, members=options.members, rate=options.rate, duration=options.duration)
    arguments = ["--conversations", options.conversations, "--members", options.members, "--rate", options.rate,
                 "--duration", options.duration]
    measuring.alternate(
        results, case, options.rounds, lambda: messages(stage, *arguments), None,
        {"messages a second": "sentPerSecond", "receipt p50 ms": "receiptMilliseconds.p50",
         "p99 ms": "receiptMilliseconds.p99", "server µs a message": "serverCPUMicrosecondsPerMessage",
         "Redis µs": "redisCPUMicrosecondsPerMessage", "Redis bytes a message": "redisBytesPerMessage"})


def messages(stage, *arguments) -> dict:
    report = measuring.presence_round(stage, "messages", *arguments, names_redis=True)
    # With the people, their sessions and the conversations: a message itself takes less.
    report["redisBytesPerMessage"] = report["usage"]["redis"]["memoryBytes"] / max(report["sent"], 1)
    return report


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    case = results.cases[0]
    for axis, percentile in zip(axes, ("p50", "p99")):
        pictures.columns(
            axis,
            [(label, case.values(PRESENCE, f"{figure}.{percentile}")) for figure, label in
             {"answerMilliseconds": "acknowledged", "receiptMilliseconds": "each receipt"}.items()],
            f"From its due time, {percentile}", "ms")
    pictures.columns(
        axes[2],
        [("server,\na message", case.values(PRESENCE, "serverCPUMicrosecondsPerMessage")),
         ("Redis,\na message", case.values(PRESENCE, "redisCPUMicrosecondsPerMessage"))], "CPU", "µs")
    return drawn
