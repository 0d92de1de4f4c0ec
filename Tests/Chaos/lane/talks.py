"""Conversations of some of the people: sent messages, acknowledged ones, and everyone's copy of them."""

import asyncio
from collections import Counter

from .voices import unread_by


class Talk:
    """One conversation, as the driver knows it."""

    def __init__(self, number, members, ledger):
        self.number, self.members, self.ledger = number, members, ledger
        self.id = None
        self.said = {}
        """Every message that was ever sent, by its id."""
        self.acknowledged = {}
        """The place of each answered message, by its id."""
        self.places = {}
        self.least_read, self.most_read = {}, {}
        """Each member's acknowledged mark, and the highest that was requested."""
        self.done = Counter()
        """How many requests were acknowledged, by their types."""

    def acknowledge(self, message, seq):
        if self.acknowledged.setdefault(message, seq) != seq:
            self.ledger.breach(f"{message} was acknowledged as {self.acknowledged[message]} and as {seq}")
        if self.places.setdefault(seq, message) != message:
            self.ledger.breach(f"{message} and {self.places[seq]} were both acknowledged as {seq}")

    def check(self, log):
        """All of its messages: nothing lost, doubled or invented, no gap, and each as its sender left it."""
        where = f"conversation {self.number}"
        if [message["seq"] for message in log] != list(range(1, len(log) + 1)):
            self.ledger.breach(f"{where}: numbers with gaps: {[message['seq'] for message in log]}")
        if len({message["id"] for message in log}) != len(log):
            self.ledger.breach(f"{where}: a message is there twice")
        for message in log:
            said = self.said.get(message["id"])
            if said is None or not said.fits(message):
                self.ledger.breach(f"{where}: it has {message}, and {said and vars(said)} was said")
        stored = {message["id"]: message["seq"] for message in log}
        for message, seq in self.acknowledged.items():
            if stored.get(message) != seq:
                self.ledger.breach(f"{where}: {message} was acknowledged as {seq} and is {stored.get(message)}")

    def check_list(self, user, entry, log):
        """A member's list entry, compared with its messages and all marks."""
        where = f"conversation {self.number} in the list of {user}"
        newest = {message["from"]: message["seq"] for message in log}
        if (entry["last"], entry.get("lastMessage")) != (len(log), log[-1] if log else None):
            self.ledger.breach(f"{where}: {entry['last']}, {entry.get('lastMessage')}, and stored is {log[-1:]}")
        if entry["unread"] != (unread := unread_by(entry, newest, log, user)):
            self.ledger.breach(f"{where}: {entry['unread']} are unread, counted are {unread}")
        if sorted(member["user"] for member in entry["members"]) != sorted(self.members):
            self.ledger.breach(f"{where}: {entry['members']}, and its members are {self.members}")
        for member in entry["members"]:
            least, most = self.least_read.get(member["user"], 0), self.most_read.get(member["user"], 0)
            if not least <= member["read"] <= most or not member["read"] <= member["delivered"] <= len(log):
                self.ledger.breach(f"{where}: {member}, acknowledged as read were {least}, asked for {most}")


class Talks:
    """All of them. Each has members of both kinds."""

    MOST, PYTHON, KIT = 12, 4, 2
    LATEST = 50
    """A client of PresenceKit has at least the newest page."""

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
        """Some people send a message, edit one or mark messages as read, with or without a connection."""
        async def speak(person, talk):
            await asyncio.sleep(self.random.uniform(0, 1.2))
            for _ in range(self.random.randint(1, 3)):
                if person.wants_in:
                    await person.voice.say(talk)
            for _ in range(self.random.randint(0, 2)):
                if person.wants_in and person.kind == "Python":
                    person.voice.change(talk, self.random)

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
            wrong += self.differences(talk, [person for person in here if person.kind == "Python"])
        return wrong

    @staticmethod
    def differences(talk, here):
        """Members have the same texts and marks, and each a list that matches them."""
        wrong, first = [], None
        for person in here:
            own, held = person.voice.disagreements(talk)
            wrong += own
            first = first or held
            if not held or not first:
                continue
            (marks, messages), (others, theirs) = held, first
            if marks != others:
                wrong.append(f"{person.user} has the marks {marks} in conversation {talk.number}, and others {others}")
            # A member that received the newest page again has no more than that.
            for one, other in zip(reversed(messages), reversed(theirs)):
                if one != other:
                    wrong.append(f"{person.user} has {one} in conversation {talk.number}, and others {other}")
        return wrong

    async def check(self):
        """The stored messages, read page by page, and everyone's list."""
        logs = {}
        for talk in self.all:
            log = await self.read(talk)
            if log is None:
                self.ledger.breach(f"nobody can read conversation {talk.number}")
            else:
                talk.check(log)
                logs[talk.id] = talk, log
        for person in self.people.values():
            if person.kind == "Python" and person.is_watching and person.voice.logs:
                self.check_list(person, await self.list(person), logs)

    def check_list(self, person, listed, logs):
        if listed is None:
            return self.ledger.breach(f"{person.user} cannot read the list")
        times = [(entry.get("lastMessage") or {}).get("at", entry["createdAt"]) for entry in listed]
        if times != sorted(times, reverse=True):
            self.ledger.breach(f"the list of {person.user} is not newest first: {times}")
        if sorted(entry["id"] for entry in listed) != sorted(person.voice.logs):
            self.ledger.breach(f"the list of {person.user} has not what they are in")
        for entry in listed:
            if entry["id"] in logs:
                talk, log = logs[entry["id"]]
                talk.check_list(person.user, entry, log)

    async def list(self, person):
        """A person's whole list, as it is stored; None if their connection does not stay open."""
        for _ in range(10):
            if person.is_watching:
                reply = await person.window.ask("subscribe", conversationList=True)
                if reply["type"] == "subscribed":
                    return reply["conversationList"]
            await asyncio.sleep(0.5)
        return None

    async def read(self, talk):
        for _ in range(10):
            for user in talk.members:
                person = self.people[user]
                if person.kind != "Python" or not person.is_watching:
                    continue
                log, reply = [], {"messages": [], "first": 0}
                while not log or log[0]["seq"] > 1:
                    before = {"before": log[0]["seq"]} if log else {}
                    reply = await person.window.ask("getMessages", conversation=talk.id, limit=100, **before)
                    if not reply.get("messages"):
                        break
                    log = reply["messages"] + log
                if reply["type"] == "messages":
                    return log
            await asyncio.sleep(0.5)
        return None

    @property
    def counts(self):
        done = sum((talk.done for talk in self.all), Counter())
        return (len(self.all), sum(len(talk.said) for talk in self.all),
                sum(len(talk.acknowledged) for talk in self.all),
                done["editMessage"], done["deleteMessage"], done["mark"])
