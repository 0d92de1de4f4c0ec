"""One command to a Redis, without a process: `redis-cli` takes as long to start as a whole test."""

import socket


def ask(port, words, password=None, within=20, database=None):
    """The answer in the form of `redis-cli`: plain lines, the text of an error, and nothing if no server listens."""
    try:
        stream = socket.create_connection(("127.0.0.1", port), timeout=within)
    except ConnectionError:
        return ""
    with stream, stream.makefile("rb") as answers:
        try:
            if password:
                stream.sendall(encoded(["AUTH", password]))
                read(answers)
            if database:
                stream.sendall(encoded(["SELECT", database]))
                read(answers)
            stream.sendall(encoded(words))
            return "\n".join(read(answers)).replace("\r\n", "\n").strip()
        except (ConnectionError, EOFError):
            return ""


def encoded(words):
    parts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def read(answers):
    """The lines of one answer."""
    line = answers.readline()
    if not line.endswith(b"\r\n"):
        raise EOFError
    kind, rest = line[:1], line[1:-2].decode(errors="replace")
    if kind == b"$":
        return [answers.read(int(rest) + 2)[:-2].decode(errors="replace")] if rest != "-1" else [""]
    if kind == b"*":
        return [line for _ in range(int(rest)) for line in read(answers)]
    return [rest]
