"""Conversations of some of the people: what was said, what was acknowledged, and what everybody holds of it."""

import asyncio


class Talk:
    """One conversation, as the driver knows it."""

    def __init__(self, number, members, ledger):
        self.number, self.members, self.ledger = number, members, ledger
        self.id = None
        self.said = {}
        """The text of everything that anybody ever said, by the message's id."""
        self.acknowledged = {}
        """The place of what was answered, by the message's id."""
        self.places = {}

    def acknowledge(self, message, seq):
        if self.acknowledged.setdefault(message, seq) != seq:
            self.ledger.breach(f"{message} was acknowledged as {self.acknowledged[message]} and as {seq}")
        if self.places.setdefault(seq, message) != message:
            self.ledger.breach(f"{message} and {self.places[seq]} were both acknowledged as {seq}")

    def check(self, log):
        """The whole of it, as (seq, id, text): nothing lost, doubled or made up, and no gap."""
        where = f"conversation {self.number}"
        if [seq for seq, _, _ in log] != list(range(1, len(log) + 1)):
            self.ledger.breach(f"{where}: numbers with gaps: {[seq for seq, _, _ in log]}")
        if len({message for _, message, _ in log}) != len(log):
            self.ledger.breach(f"{where}: a message is there twice")
        for seq, message, text in log:
            if self.said.get(message) != text:
                self.ledger.breach(f"{where}: {message} is {text!r}, and {self.said.get(message)!r} was said")
        stored = {message: seq for seq, message, _ in log}
        for message, seq in self.acknowledged.items():
            if stored.get(message) != seq:
                self.ledger.breach(f"{where}: {message} was acknowledged as {seq} and is {stored.get(message)}")


class Log:
    """What one client holds of a conversation, by the rules of the protocol's page."""

    def __init__(self):
        self.messages, self.last, self.version = {}, 0, None

    def cursor(self, conversation):
        if self.version is None:
            return {"id": conversation, "after": 0}
        return {"id": conversation, "after": self.last, "messagesVersion": self.version}

    def answered(self, entry):
        if entry.get("reset"):
            self.messages, self.last = {}, min((each["seq"] for each in entry["messages"]), default=1) - 1
        for message in entry["messages"]:
            self.hold(message)
        self.version = entry["messagesVersion"]

    def hold(self, message):
        """Whether it came in its turn."""
        held = self.messages.get(message["seq"])
        if held is None or message["version"] > held["version"]:
            self.messages[message["seq"]] = message
        is_next = message["seq"] <= self.last + 1
        self.last = max(self.last, message["seq"])
        return is_next

    @property
    def tail(self):
        return [(seq, self.messages[seq]["id"]) for seq in sorted(self.messages)]


class Voice:
    """What a client of the driver's own says and hears."""

    def __init__(self, person):
        self.person, self.logs, self.talks = person, {}, {}
        self.unsaid = []
        """What is not acknowledged, oldest first: said again, as the same message, until it is."""
        self.is_speaking = False
        self.number = 0

    def join(self, talk):
        self.talks[talk.id], self.logs[talk.id] = talk, Log()

    @property
    def subscription(self):
        """What a subscription says of them; nothing if there are none."""
        cursors = [log.cursor(conversation) for conversation, log in self.logs.items()]
        return {"conversations": cursors} if cursors else {}

    def hear(self, message):
        kind = message["type"]
        if kind == "subscribed":
            for entry in message.get("conversations", ()):
                if entry["conversation"] in self.logs and "messages" in entry:
                    self.logs[entry["conversation"]].answered(entry)
        elif kind == "message" and message["conversation"] in self.logs:
            log, seq = self.logs[message["conversation"]], message["message"]["seq"]
            if not log.hold(message["message"]):
                self.person.ledger.breach(f"{self.person.user} was told of message {seq} without those before it")
            log.version = max(log.version or 0, message["conversationVersion"])
        elif kind == "messagesReset":
            self.person.ledger.breach(f"{self.person.user} was told that messages are lost")

    async def say(self, talk):
        self.number += 1
        message, text = f"{self.person.user}-{self.number}", f"{self.person.user} says {self.number} in {talk.number}"
        talk.said[message] = text
        self.unsaid.append((talk, message, text))
        self.begin()

    def begin(self):
        """Nobody waits for it: a Redis that is full may be so until everybody has said what they want to say."""
        if self.unsaid and self.person.is_watching and not self.is_speaking:
            self.is_speaking = True
            self.speaking = asyncio.create_task(self.speak())

    async def speak(self):
        try:
            while self.unsaid and self.person.is_watching:
                talk, message, text = self.unsaid[0]
                reply = await asyncio.wait_for(
                    self.person.window.ask(
                        "send", conversation=talk.id, message={"id": message, "text": text}), 5)
                if reply["type"] == "sent":
                    talk.acknowledge(message, reply["message"]["seq"])
                    self.unsaid.pop(0)
                elif reply["type"] == "(closed)":
                    return
                elif reply.get("code") in ("unavailable", "rate_limited"):
                    await asyncio.sleep(min(reply.get("retryAfter", 300), 300) / 1000)
                else:
                    self.person.ledger.breach(f"{message} was answered {reply}")
                    self.unsaid.pop(0)
        except Exception:
            # The connection broke, or the answer did not come: it is said again on the next one, or the next time.
            pass
        finally:
            self.is_speaking = False

    def has_said_all(self):
        """Whatever is left is said again."""
        self.begin()
        return not self.unsaid

    def tail(self, conversation):
        return self.logs[conversation].tail


class CrowdVoice:
    """The same for a client of PresenceKit: it keeps what it says itself, and says it again."""

    def __init__(self, member):
        self.member, self.logs, self.talks = member, {}, {}
        self.number, self.kept, self.there = 0, set(), set()

    def join(self, talk):
        self.talks[talk.id], self.logs[talk.id] = talk, []
        self.member.crowd.tell(follow=self.member.user, conversation=talk.id)

    def take(self, report):
        talk = self.talks[report["conversation"]]
        if report.get("failed"):
            self.member.ledger.breach(f"{report['failed']} failed")
        log = [(int(seq), message) for seq, message in (each.split(" ", 1) for each in report["log"])]
        self.logs[talk.id] = log
        for seq, message in log:
            if message in self.kept:
                self.there.add(message)
                talk.acknowledge(message, seq)

    async def say(self, talk):
        self.number += 1
        message, text = f"{self.member.user}-{self.number}", f"{self.member.user} says {self.number} in {talk.number}"
        talk.said[message] = text
        if await self.member.ask(say=self.member.user, conversation=talk.id, message=message, text=text):
            self.kept.add(message)

    def has_said_all(self):
        return self.kept <= self.there

    def tail(self, conversation):
        return self.logs[conversation]


class Talks:
    """All of them. Each has members of both kinds."""

    MOST, PYTHON, KIT = 12, 4, 2
    LATEST = 50
    """A client of PresenceKit holds at least the newest page."""

    def __init__(self, people, ledger, random_numbers):
        self.people, self.ledger, self.random = people, ledger, random_numbers
        self.all = []

    async def make(self):
        ours = [person for person in self.people.values() if person.kind == "Python"]
        kit = [person for person in self.people.values() if person.kind != "Python"]
        for number in range(min(self.MOST, len(ours) // self.PYTHON)):
            members = self.random.sample(ours, self.PYTHON) + self.random.sample(kit, min(self.KIT, len(kit)))
            talk = Talk(number, [member.user for member in members], self.ledger)
            made = await members[0].window.insists(
                "createConversation", participants=talk.members, name=f"Talk {number}", key=f"talk-{number}")
            talk.id = made["conversation"]["id"]
            self.all.append(talk)
            for member in members:
                member.voice.join(talk)
        for person in ours:
            if person.voice.logs and person.is_watching:
                await person.window.insists("subscribe", **person.voice.subscription)

    async def life(self):
        """Some say something, with or without a connection."""
        async def speak(person, talk):
            await asyncio.sleep(self.random.uniform(0, 1.2))
            for _ in range(self.random.randint(1, 3)):
                if person.wants_in:
                    await person.voice.say(talk)

        speakers = []
        for talk in self.all:
            for user in self.random.sample(talk.members, min(3, len(talk.members))):
                speakers.append(speak(self.people[user], talk))
        await asyncio.gather(*speakers)

    def disagreements(self):
        wrong = []
        for talk in self.all:
            here = [self.people[user] for user in talk.members if self.people[user].is_watching]
            for person in here:
                if not person.voice.has_said_all():
                    wrong.append(f"{person.user} waits for an answer in conversation {talk.number}")
            tails = {person.user: person.voice.tail(talk.id)[-self.LATEST:] for person in here}
            longest = max(tails.values(), key=lambda tail: tail[-1][0] if tail else 0, default=[])
            for user, tail in tails.items():
                if tail != longest[-len(tail):] or (longest and not tail):
                    wrong.append(f"{user} has {tail[-3:]} in conversation {talk.number}, and others {longest[-3:]}")
        return wrong

    async def check(self):
        """What is stored, read page by page."""
        for talk in self.all:
            log = await self.read(talk)
            if log is None:
                self.ledger.breach(f"nobody can read conversation {talk.number}")
            else:
                talk.check(log)

    async def read(self, talk):
        for _ in range(10):
            for user in talk.members:
                person = self.people[user]
                if person.kind != "Python" or not person.is_watching:
                    continue
                log, reply = [], {"messages": [], "first": 0}
                while not log or log[0][0] > 1:
                    before = {"before": log[0][0]} if log else {}
                    reply = await person.window.ask("getMessages", conversation=talk.id, limit=100, **before)
                    if not reply.get("messages"):
                        break
                    log = [(each["seq"], each["id"], each["text"]) for each in reply["messages"]] + log
                if reply["type"] == "messages":
                    return log
            await asyncio.sleep(0.5)
        return None

    @property
    def counts(self):
        return (len(self.all), sum(len(talk.said) for talk in self.all),
                sum(len(talk.acknowledged) for talk in self.all))
