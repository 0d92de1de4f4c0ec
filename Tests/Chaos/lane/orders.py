"""A person's requests about messages: repeated until they are answered, with a record of those never answered.

A request whose answer was lost may have taken effect, or may still take effect later, after newer ones.
"""


class Said:
    """One message, and its possible final states."""

    def __init__(self, text):
        self.text = text
        """The last text that was acknowledged, or the first."""
        self.maybe = set()
        """Texts of edits whose answer was lost: each may be the last."""
        self.is_deleted = self.may_be_deleted = False

    def fits(self, message):
        if "deletedAt" in message:
            return self.may_be_deleted and message["text"] == ""
        return not self.is_deleted and message["text"] in {self.text} | self.maybe


class Order:
    """One request of a person; `open` counts the attempts without an answer."""

    type = reply = None

    def __init__(self, talk, **members):
        self.talk, self.members, self.open = talk, members, 0

    def begin(self):
        self.open += 1

    def refuse(self):
        """This try has changed nothing."""
        self.open -= 1

    def acknowledge(self, reply):
        self.open -= 1
        self.talk.done[self.type] += 1


class Send(Order):
    type, reply = "send", "sent"

    def __init__(self, talk, message, text):
        super().__init__(talk, message={"id": message, "text": text})
        self.message = message
        talk.said[message] = Said(text)

    def acknowledge(self, reply):
        super().acknowledge(reply)
        self.talk.acknowledge(self.message, reply["message"]["seq"])


class Edit(Order):
    type, reply = "editMessage", "messageUpdated"

    def __init__(self, talk, message, text):
        super().__init__(talk, message=message, text=text)
        self.said, self.text = talk.said[message], text

    def begin(self):
        super().begin()
        self.said.maybe.add(self.text)

    def settle(self):
        if self.open == 0:
            self.said.maybe.discard(self.text)

    def refuse(self):
        super().refuse()
        self.settle()

    def acknowledge(self, reply):
        super().acknowledge(reply)
        self.said.text = self.text
        self.settle()
        if reply["message"]["text"] != self.text:
            self.talk.ledger.breach(f"an edit to {self.text!r} was answered {reply['message']}")


class Delete(Order):
    type, reply = "deleteMessage", "messageUpdated"

    def __init__(self, talk, message):
        super().__init__(talk, message=message)
        self.said = talk.said[message]

    def begin(self):
        super().begin()
        self.said.may_be_deleted = True

    def refuse(self):
        super().refuse()
        self.said.may_be_deleted = self.open > 0

    def acknowledge(self, reply):
        super().acknowledge(reply)
        self.said.is_deleted = True
        if "deletedAt" not in reply["message"]:
            self.talk.ledger.breach(f"a deletion was answered {reply['message']}")


class Mark(Order):
    type, reply = "mark", "ok"

    def __init__(self, talk, user, read):
        super().__init__(talk, read=read)
        self.user, self.read = user, read

    def begin(self):
        super().begin()
        self.talk.most_read[self.user] = max(self.talk.most_read.get(self.user, 0), self.read)

    def acknowledge(self, reply):
        super().acknowledge(reply)
        self.talk.least_read[self.user] = max(self.talk.least_read.get(self.user, 0), self.read)
