"""The cost of each request at its limits for Redis: the longest texts, the fullest lists, the largest group; and the price
for its user.

Redis records how long it was busy with each command (SLOWLOG), and runs nothing else in that time. So other clients may have
to wait for the longest of a request's commands, and the sum of all is the request's cost. Its user pays tokens by its ids and
its length (docs/protocol.md, rate limits); the last column is the time of Redis per token.

Exit status 1 if a command takes longer than the bound in bounds.toml.
"""

import http.client
import itertools
import json
import statistics
import time
import tomllib

from checks.publishing import Client as RedisClient
from scenarios.conversations import FREE
from stage.binaries import REPOSITORY
from stage.client import Client, Mint
from stage.failure import Failure

NAME = "costs"
ABOUT = "how long Redis is busy with each request at its bounds, and who pays: the table of docs/performance.md"
TIME_LIMIT = 600
REDIS_APART = True

BOUNDS = REPOSITORY / "loadtest/bounds.toml"
ROUNDS = 12
GROUP, LISTS, LONG = 1_000, 10_000, 128
FAMILY = "\U0001F468‍\U0001F469‍\U0001F467"
TEXT = FAMILY * 1_130
"""20 KB, and fewer characters than a message may have."""


def add_flags(parser) -> None:
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each request, of which the median counts (%(default)s)")


def run(stage, options) -> int:
    bound = tomllib.loads(BOUNDS.read_text())["costs"]["milliseconds"]
    rows, slow = measure(stage, options.rounds, bound)
    print("| request at its bounds | longest command, ms | all commands, ms | tokens | ms a token |")
    print("|---|---|---|---|---|")
    for name, (longest, all_of_them, tokens) in rows.items():
        print(f"| {name} | {longest:.2f} | {all_of_them:.2f} | {tokens} | {all_of_them / max(1, tokens):.3f} |", flush=True)
    for name in slow:
        print(f"OVER: {name} keeps Redis busy for longer than {bound} ms at a time")
    return 1 if slow else 0


def over(stage, bound: float) -> list[str]:
    """The requests that keep Redis busy for longer than the bound, of few rounds; those are asked about once more."""
    found = measure(stage, 3, bound)[1]
    return found and measure(stage, ROUNDS, bound)[1]


def measure(stage, rounds: int, bound: float) -> tuple[dict, list[str]]:
    """By request: the longest of its commands and the sum of all, in ms, and what it costs; and those over the bound. Medians, since
    now and then a machine keeps Redis waiting."""
    stage.clear()
    redis = stage.redis()
    settings = FREE | {"PRESENCE_LIMITS_PARTICIPANTS": str(GROUP), "PRESENCE_CONVERSATIONS_MARK_DELAY": "0ms"}
    # The second server has only the parts of Ana's lists that it reads.
    server, other = [stage.presence(redis, environment=settings) for _ in range(2)]
    look = RedisClient(redis)
    look("CONFIG", "SET", "slowlog-max-len", 100_000)
    scene = Scene(server, other, Mint(server))
    rows, slow = {}, []
    for name, tokens, begin in scene.requests():
        commands, sums = {}, []
        for _ in range(rounds):
            ask = begin()
            settled(look)
            look("CONFIG", "SET", "slowlog-log-slower-than", 0)
            look("SLOWLOG", "RESET")
            ask()
            settled(look)
            # (EVAL is a server's first call of a script, which also compiles it.)
            ignored = ("SLOWLOG", "CONFIG", "INFO", "EVAL")
            entries = [entry for entry in look("SLOWLOG", "GET", -1) if entry[3][0] not in ignored]
            look("CONFIG", "SET", "slowlog-log-slower-than", -1)
            for entry in entries:
                # The script's digest.
                which = entry[3][1] if entry[3][0] == "EVALSHA" else entry[3][0]
                commands.setdefault(which, []).append(int(entry[2]) / 1_000)
            sums.append(sum(int(entry[2]) for entry in entries) / 1_000)
        rows[name] = max(map(statistics.median, commands.values()), default=0), statistics.median(sums), tokens
        if rows[name][0] > bound:
            slow.append(name)
    return rows, slow


def settled(look) -> None:
    """Waits until Redis is idle for a moment, except for the servers' own regular commands."""
    def commands() -> int:
        line = next(line for line in look("INFO", "stats").splitlines() if line.startswith("total_commands_processed"))
        return int(line.split(":")[1])
    before = commands()
    while True:
        time.sleep(0.02)
        now = commands()
        if now - before <= 3:
            return
        before = now


def long_id(name: str) -> str:
    return name.ljust(LONG, "x")


class Scene:
    """People, a full group, and lists as long as they may be."""

    def __init__(self, server, other, mint):
        self.server, self.other, self.mint = server, other, mint
        self.backend = mint.token("backend", role="backend")
        self.numbers = itertools.count()
        self.watched: list[str] = []
        self.ana = Client(server, mint, long_id("ana"))
        self.bob, self.cy = Client(server, mint, "bob"), Client(other, mint, "cy")
        self.members = [self.ana.user] + [long_id(f"member-{number}") for number in range(GROUP - 1)]
        self.pair = self.made(["bob"])
        self.short = self.made(["bob", "cy"], name="Trip")
        self.group = self.made(self.members[1:2], name="Crowd")
        self.member = Client(server, mint, self.members[1])
        for first in range(2, GROUP, 100):
            self.ana.ask("changeMembers", conversation=self.group, add=self.members[first:first + 100])
        for type in ("addContacts", "block"):
            for first in range(0, LISTS, 1_000):
                self.ana.ask(type, users=[long_id(f"{type}-{number}") for number in range(first, first + 1_000)])
        self.ana.ask("setVisibility", visibility={"presence": "contacts"})
        for number in range(10):
            for type, members in (self.message(self.pair, TEXT, 10), self.message(self.short, "hello")):
                self.ana.ask(type, **members)
        self.edited = self.message(self.pair, "first")[1]
        self.ana.ask("send", **self.edited)

    def made(self, others, **members) -> str:
        return self.ana.ask("createConversation", participants=others, **members)[0]["conversation"]["id"]

    def message(self, conversation, text, attachments=0):
        address = "https://example.org/" + "p" * 2_000
        message = {"id": f"m{next(self.numbers)}".ljust(64, "m"), "text": text}
        if attachments:
            message["attachments"] = [
                {"id": f"a{number}", "kind": "image", "url": address, "thumbnailURL": address, "sizeBytes": 1}
                for number in range(attachments)]
        return "send", {"conversation": conversation, "message": message}

    def requests(self):
        """Name, tokens, and what returns the next such request, prepared."""
        ana, bob = self.ana, self.bob

        def asks(client, make):
            def begin():
                type, members = make()
                return lambda: client.ask(type, **members)
            return begin

        yield "`status`, text of 140 characters", 1, asks(ana, lambda: (
            "status", {"status": "busy", "text": str(next(self.numbers)) + FAMILY * 50}))
        yield "`updateProfile`, all members", 1, asks(ana, lambda: ("updateProfile", {"changes": {
            "displayName": f"Ana {next(self.numbers)} " + FAMILY * 40, "photoURL": "https://example.org/" + "p" * 2_000}}))
        yield "`send`, 5 characters, group of 3", 1, asks(ana, lambda: self.message(self.short, "hello"))
        yield "`send`, 20 KB of text", 6, asks(ana, lambda: self.message(self.short, TEXT))
        yield "`send`, 20 KB and 10 attachments, direct", 16, asks(ana, lambda: self.message(self.pair, TEXT, 10))
        yield f"`send`, 5 characters, group of {GROUP:,}", 1 + (GROUP - 1) // 10, asks(ana, lambda: self.message(self.group, "hello"))
        yield "`editMessage`, 20 KB, 10 earlier texts", 6, asks(ana, lambda: ("editMessage", {
            "conversation": self.pair, "message": self.edited["message"]["id"], "text": f"{next(self.numbers)}{TEXT}"}))
        yield f"`mark`, group of {GROUP:,}", 1 + (GROUP - 1) // 50, asks(self.member, lambda: ("mark", {
            "conversation": self.group, "read": self.last_of_group()}))
        yield "`getMessages`, 100 long ones", 1 + 11 + 10 * 61_500 // 4_096, asks(bob, lambda: ("getMessages", {"conversation": self.pair, "limit": 100}))
        yield f"`getConversation`, group of {GROUP:,}", 1, asks(ana, lambda: ("getConversation", {"conversation": self.group}))
        yield "`createConversation`, 100 participants", 11, asks(ana, lambda: ("createConversation", {
            "participants": self.members[1:101], "name": f"G{next(self.numbers)}"}))
        yield f"`changeMembers`, one leaves and comes, group of {GROUP:,}", 2 + 2 * ((GROUP - 1) // 10), self.leave_and_come
        yield "`block`, 1,000 ids of 128 bytes, full list", 101, self.block_again
        yield "`get` of 10 people", 2, asks(bob, lambda: ("get", {"users": [f"person-{number}" for number in range(10)]}))
        yield "`get` of one with full lists", 1, self.look_anew
        yield "`subscribe` to one with full lists", 157, self.watch_anew
        yield "`getVisibility`, full lists", 1 + 2 * LISTS * (LONG + 3) // 4_096, asks(ana, lambda: ("getVisibility", {}))
        yield "`subscribe` to 1,000 people", 101, self.subscribe
        yield "`connect` and `disconnect`, full lists", 158, self.come_and_go
        # Last: from now on each message of the group reads its bans.
        for number in range(100):
            self.call("PUT", f"/v1/users/{self.members[-1 - number]}/ban", self.ban(self.group))
        yield f"a ban in a group of {GROUP:,} with 100 bans", 0, lambda: lambda: self.call(
            "PUT", f"/v1/users/{self.members[-1]}/ban", self.ban(self.group))
        yield f"`send`, 5 characters, group of {GROUP:,} with 100 bans", 1 + (GROUP - 1) // 10, asks(
            ana, lambda: self.message(self.group, "hello"))
        yield "a ban of a user, and its end", 0, lambda: self.ban_and_unban
        yield "a page of 1,000 bans", 0, lambda: lambda: self.call("GET", "/v1/bans?limit=1000")
        yield "a report of a message of 20 KB", 1, self.report

    def call(self, method: str, path: str, body: dict | None = None, token: str | None = None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        headers = {"Authorization": f"Bearer {token or self.backend}"}
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise Failure(f"{method} {path} was answered {answer.status} {text!r}")

    def ban(self, conversation: str | None = None) -> dict:
        scope = {"scope": f"conversation:{conversation}"} if conversation else {}
        return {"reason": "r" * 200} | scope

    def ban_and_unban(self) -> None:
        self.call("PUT", f"/v1/users/{long_id('eve')}/ban", self.ban())
        self.call("DELETE", f"/v1/users/{long_id('eve')}/ban")

    def report(self):
        type, members = self.message(self.group, TEXT)
        self.ana.ask(type, **members)
        body = {"conversation": self.group, "message": members["message"]["id"], "reason": "spam"}
        # Another member each time: one may report ten things at once.
        token = self.mint.token(self.members[1 + next(self.numbers) % 500])
        return lambda: self.call("POST", "/v1/reports", body, token)

    def last_of_group(self) -> int:
        """The number of a message that the marking member has not marked."""
        type, members = self.message(self.group, "hello")
        return self.ana.ask(type, **members)[0]["message"]["seq"]

    def leave_and_come(self):
        def ask():
            for change in ("remove", "add"):
                self.ana.ask("changeMembers", conversation=self.group, **{change: [self.members[-1]]})
        return ask

    def block_again(self):
        users = [long_id(f"block-{number}") for number in range(1_000)]
        self.ana.ask("unblock", users=users)
        return lambda: self.ana.ask("block", users=users)

    def look_anew(self):
        # After a change of long lists, their cached copies must be read again.
        users = [long_id(f"block-{number}") for number in range(11)]
        self.cy.ask("unsubscribe", users=[self.ana.user])
        self.ana.ask("unblock", users=users)
        self.ana.ask("block", users=users)
        return lambda: self.cy.ask("get", users=[self.ana.user])

    def watch_anew(self):
        self.look_anew()
        return lambda: self.cy.ask("subscribe", users=[self.ana.user])

    def subscribe(self):
        # A connection watches at most 10,000.
        self.bob.ask("unsubscribe", users=self.watched or ["nobody"])
        self.watched = people = [f"person-{next(self.numbers)}" for _ in range(1_000)]
        return lambda: self.bob.ask("subscribe", users=people)

    def come_and_go(self):
        self.look_anew()
        return lambda: Client(self.other, self.mint, self.ana.user).close()
