"""People in many conversations send messages: how soon does every member have them, and what does it cost?"""

from report import pictures
from report.results import BASELINE, PRESENCE
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
    parser.add_argument("--like-apps", action="store_true",
                        help="members mark what they get as delivered, and watch their lists, as the libraries do")


def run(stage, options, results) -> None:
    case = results.case(
        f"{options.rate:,} messages a second to {options.conversations:,} conversations of {options.members}"
        + (", marked, with lists" if options.like_apps else ""),
        conversations=options.conversations, members=options.members, rate=options.rate, duration=options.duration,
        likeApps=options.like_apps)
    measuring.alternate(
        results, case, options.rounds, lambda: messages(stage, options),
        (lambda: bare(stage, options)) if options.baseline else None,
        {"messages a second": "sentPerSecond", "receipt p50 ms": "receiptMilliseconds.p50",
         "p99 ms": "receiptMilliseconds.p99", "server µs a message": "serverCPUMicrosecondsPerMessage",
         "a delivery": "serverCPUMicrosecondsPerDelivery", "Redis µs": "redisCPUMicrosecondsPerMessage",
         "Redis bytes a message": "redisBytesPerMessage"})


class Growth:
    """The growth of Redis' memory for each message, with all members connected and all conversations begun."""

    BEGUN = 5
    """Messages a conversation, of those that people send anywhere, until hardly any conversation has none."""

    def __init__(self, redis, conversations: int):
        self.redis, self.conversations = redis, conversations
        self.samples: list[tuple[int, int]] = []

    def sample(self) -> None:
        # The script that stores a message appends once.
        stored, found = self.redis.commands().get("append", 0), self.redis.info("memory")
        # Without the temporary memory of connections and log.
        held = int(found["used_memory"]) - int(found["mem_clients_normal"]) - int(found["mem_aof_buffer"])
        if stored >= self.BEGUN * self.conversations:
            self.samples.append((stored, held))

    @property
    def bytes_per_message(self) -> float | None:
        """Nothing if it was over too soon to be measured."""
        # After the last send, people may have begun to leave.
        last = [sample for sample in self.samples if sample[0] < self.samples[-1][0]]
        if len(last) < 2:
            return None
        (stored, held), (more, held_then) = last[0], last[-1]
        return (held_then - held) / (more - stored) if more > stored else None


def messages(stage, options) -> dict:
    growths = []

    def sampler(redis):
        growths.append(Growth(redis, options.conversations))
        return growths[-1].sample

    report = measuring.presence_round(
        stage, "messages", "--conversations", options.conversations, "--members", options.members, "--rate", options.rate,
        "--duration", options.duration, *(["--like-apps"] if options.like_apps else []), names_redis=True, sampler=sampler, every=0.25)
    if (each := growths[-1].bytes_per_message) is not None:
        report["redisBytesPerMessage"] = each
    return report


def bare(stage, options) -> dict:
    """As many sends a second of prepared bytes, each to as many receivers: the baseline sends to all its clients."""
    report = measuring.baseline_round(
        stage, "fanout", "--watchers", options.members, "--people", 8, "--rate", options.rate,
        "--changes", int(options.rate * options.duration), "--connect-rate", 0)
    report["receiptMilliseconds"] = report["latency"]
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
         ("Redis,\na message", case.values(PRESENCE, "redisCPUMicrosecondsPerMessage")),
         ("server,\na delivery", case.values(PRESENCE, "serverCPUMicrosecondsPerDelivery")),
         ("baseline,\na delivery", case.values(BASELINE, "serverCPUMicrosecondsPerDelivery"))], "CPU", "µs")
    return drawn
