"""People in many conversations type and think: how soon does every participant see it?"""

from report import pictures
from report.results import PRESENCE
from scenarios import measuring

NAME = "typing"
ABOUT = "2,000 conversations of 8 people who type: how soon the others see it, and what it costs"
SMALL = {"rounds": 1, "duration": 20, "conversations": 1_000}
TIME_LIMIT = 1_200


def add_flags(parser) -> None:
    # 16,000 connections: below a server's limit of open files.
    parser.add_argument("--conversations", type=int, default=2_000, help="conversations (%(default)s)")
    parser.add_argument("--participants", type=int, default=8, help="people in each, all different (%(default)s)")
    parser.add_argument("--duration", type=float, default=60, help="seconds (%(default)s)")


def run(stage, options, results) -> None:
    case = results.case(
        f"{options.conversations:,} conversations of {options.participants}", conversations=options.conversations,
        participants=options.participants, duration=options.duration)
    arguments = ["--conversations", options.conversations, "--participants", options.participants,
                 "--duration", options.duration, "--connect-rate", 0]
    measuring.alternate(
        results, case, options.rounds, lambda: measuring.presence_round(stage, "typing", *arguments), None,
        {"events a second": "eventsPerSecond", "µs an event": "serverCPUMicrosecondsPerEvent",
         "p50 ms": "startMilliseconds.p50", "p99 ms": "startMilliseconds.p99"})


def draw(results):
    drawn, axes = pictures.figure(results, columns=3)
    case = results.cases[0]
    for axis, percentile in zip(axes, ("p50", "p99")):
        pictures.columns(
            axis,
            [(label, case.values(PRESENCE, f"{figure}.{percentile}")) for figure, label in
             {"startMilliseconds": "seen typing", "stopMilliseconds": "seen to stop"}.items()],
            f"From its due time to each participant, {percentile}", "ms")
    pictures.columns(axes[2], [("an event received", case.values(PRESENCE, "serverCPUMicrosecondsPerEvent"))],
                     "Server CPU", "µs")
    return drawn
