"""A mail server that rejects like real ones: by a rule for each command."""

import socket
import threading


class Relay:
    """`rule(verb, line)` answers a command, or returns None to accept; `.` is the end of a mail. 421 ends the
    connection, as with real servers. It runs in its own threads."""

    def __init__(self, rule=lambda verb, line: None):
        self.rule, self.lines, self.mails = rule, [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"smtp://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rwb") as stream:
            try:
                self.talk(stream)
            except OSError:
                pass

    def talk(self, stream):
        def say(text):
            stream.write(text.encode() + b"\r\n")
            stream.flush()
            return not text.startswith("421")

        if not say(self.rule("CONNECT", "") or "220 relay ESMTP"):
            return
        recipient = ""
        while line := stream.readline().decode().strip():
            verb = line.split()[0].upper()
            self.lines.append(line)
            answer = self.rule(verb, line)
            if verb == "RCPT":
                recipient = line.partition("<")[2].partition(">")[0]
            if not answer and verb == "DATA":
                say("354 go on")
                text = b""
                while (part := stream.readline()) not in (b".\r\n", b""):
                    text += part
                answer = self.rule(".", recipient)
                if not answer:
                    self.mails.append((recipient, text.decode()))
            if not say(answer or "250 fine"):
                return

    @property
    def recipients(self):
        return [recipient for recipient, _ in self.mails]
