"""The messages that clients send in conversations, and their copies of them."""

import asyncio

from .orders import Delete, Edit, Mark, Said, Send


class Log:
    """One client's copy of a conversation, by the rules of the protocol."""

    def __init__(self):
        self.messages, self.last, self.version = {}, 0, None
        self.newest = {}
        """The number of each person's newest message."""

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
        """Whether it arrived in order."""
        held = self.messages.get(message["seq"])
        self.newest[message["from"]] = max(self.newest.get(message["from"], 0), message["seq"])
        if held is None or message["version"] > held["version"]:
            self.messages[message["seq"]] = message
        is_next = message["seq"] <= self.last + 1
        self.last = max(self.last, message["seq"])
        return is_next

    @property
    def tail(self):
        return [(seq, self.messages[seq]["id"]) for seq in sorted(self.messages)]


class Voice:
    """The sent and received messages of one of the driver's own clients."""

    def __init__(self, person):
        self.person, self.logs, self.talks = person, {}, {}
        self.listed = {}
        """The conversations of the list, each in its newest version."""
        self.unsaid = []
        """Orders that are not acknowledged, oldest first: each is given again until it is."""
        self.mine = {}
        """By conversation, the own messages that no deletion was ordered of."""
        self.is_speaking = False
        self.number = 0

    def join(self, talk):
        self.talks[talk.id], self.logs[talk.id] = talk, Log()

    @property
    def subscription(self):
        """Its part of a subscription; empty without conversations."""
        if not self.logs:
            return {}
        return {
            "conversations": [log.cursor(conversation) for conversation, log in self.logs.items()],
            "conversationList": True, "known": {id: each["version"] for id, each in self.listed.items()}}

    def hear(self, message):
        kind = message["type"]
        if kind == "subscribed":
            for entry in message.get("conversations", ()):
                if entry["conversation"] in self.logs and "messages" in entry:
                    self.logs[entry["conversation"]].answered(entry)
            for entry in message.get("conversationList", ()):
                self.list(entry)
        elif kind == "conversation":
            self.list(message["conversation"])
        elif kind == "message" and message["conversation"] in self.logs:
            log, seq = self.logs[message["conversation"]], message["message"]["seq"]
            if not log.hold(message["message"]):
                self.person.ledger.breach(f"{self.person.user} was told of message {seq} without those before it")
            log.version = max(log.version or 0, message["conversationVersion"])
        elif kind == "messagesReset":
            self.person.ledger.breach(f"{self.person.user} was told that messages are lost")

    def list(self, conversation):
        if conversation.get("removed"):
            self.person.ledger.breach(f"{self.person.user} was told to be in {conversation['id']} no more")
        elif conversation["version"] > self.listed.get(conversation["id"], {"version": 0})["version"]:
            self.listed[conversation["id"]] = conversation

    async def say(self, talk):
        self.number += 1
        message, text = f"{self.person.user}-{self.number}", f"{self.person.user} says {self.number} in {talk.number}"
        self.order(Send(talk, message, text))
        self.mine.setdefault(talk.id, []).append(message)

    def change(self, talk, random_numbers):
        """Edits or deletes an own message, or marks messages as read."""
        mine, what = self.mine.get(talk.id, ()), random_numbers.random()
        if what < 0.4 and mine:
            self.number += 1
            message = random_numbers.choice(mine)
            self.order(Edit(talk, message, f"{self.person.user} means {self.number} in {talk.number}"))
        elif what < 0.55 and mine:
            message = random_numbers.choice(mine)
            mine.remove(message)
            self.order(Delete(talk, message))
        elif last := self.logs[talk.id].last:
            self.order(Mark(talk, self.person.user, last))

    def order(self, order):
        self.unsaid.append(order)
        self.begin()

    def begin(self):
        """Does not wait: a Redis that is full may stay so until everyone has sent all their messages."""
        if self.unsaid and self.person.is_watching and not self.is_speaking:
            self.is_speaking = True
            self.speaking = asyncio.create_task(self.speak())

    async def speak(self):
        try:
            while self.unsaid and self.person.is_watching:
                order = self.unsaid[0]
                order.begin()
                reply = await asyncio.wait_for(
                    self.person.window.ask(order.type, conversation=order.talk.id, **order.members), 5)
                if reply["type"] == order.reply:
                    order.acknowledge(reply)
                    self.unsaid.pop(0)
                elif reply["type"] == "(closed)":
                    return
                elif reply.get("code") in ("unavailable", "rate_limited"):
                    if not reply.get("outcomeUnknown"):
                        order.refuse()
                    await asyncio.sleep(min(reply.get("retryAfter", 300), 300) / 1000)
                else:
                    self.person.ledger.breach(f"{order.type} {order.members} was answered {reply}")
                    self.unsaid.pop(0)
        except Exception:
            # The connection broke, or the answer did not arrive: it is sent again on the next one, or the next time.
            pass
        finally:
            self.is_speaking = False

    def has_said_all(self):
        """Repeats all unanswered requests."""
        self.begin()
        return not self.unsaid

    def tail(self, conversation):
        return self.logs[conversation].tail


    def disagreements(self, talk):
        """The parts of the list that do not match the messages; and the state that all members must share."""
        log, user = self.logs[talk.id], self.person.user
        held = self.listed.get(talk.id)
        if held is None:
            return [f"{user} has no conversation {talk.number} in the list"], None
        newest = log.messages.get(log.last, {})
        wrong = []
        if (held["last"], held.get("lastMessage")) != (log.last, newest or None):
            wrong.append(f"{user} lists {held.get('lastMessage')} in conversation {talk.number}, and holds {newest}")
        if held["unread"] != (unread := unread_by(held, log.newest, log.messages.values(), user)):
            wrong.append(f"{user} lists {held['unread']} unread in conversation {talk.number}, and holds {unread}")
        return wrong, (held["members"], [log.messages[seq] for seq in sorted(log.messages)])


def unread_by(conversation, newest, messages, user):
    """How many messages are unread, by the rule of the protocol's page: deleted ones do not count."""
    read = next(member["read"] for member in conversation["members"] if member["user"] == user)
    seen = max(read, newest.get(user, 0))
    return conversation["last"] - seen - sum("deletedAt" in message and message["seq"] > seen for message in messages)


class CrowdVoice:
    """The same for a client of PresenceKit: it stores its own messages, and repeats them itself."""

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
        talk.said[message] = Said(text)
        if await self.member.ask(say=self.member.user, conversation=talk.id, message=message, text=text):
            self.kept.add(message)

    def has_said_all(self):
        return self.kept <= self.there

    def tail(self, conversation):
        return self.logs[conversation]
