"""A small HTTP/1.1 server that a server of ours calls, over TLS or without: it notes when each call came, and answers.

Prints its address, then `ABOUT NANOSECONDS` for each call: the monotonic time at which its first bytes were read.
"""

import argparse
import asyncio
import json
import re
import ssl
import sys
import time

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)
EVERY = 0.01
"""Seconds between two writes of what was noted."""


class Calls(asyncio.Protocol):
    """One connection."""

    def __init__(self, options, notes: list[bytes]):
        self._options, self._notes = options, notes
        reason = {200: "OK", 201: "Created", 204: "No Content"}.get(options.status, "Other")
        self._answer = (f"HTTP/1.1 {options.status} {reason}\r\ncontent-type: application/json\r\n"
                        f"content-length: {len(options.body)}\r\n\r\n{options.body}").encode()
        self._data, self._since = b"", 0

    def connection_made(self, transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._data:
            self._since = time.monotonic_ns()
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end]
            found = LENGTH.search(head)
            whole = end + 4 + (int(found[1]) if found else 0)
            if len(self._data) < whole:
                return
            self._note(head, self._data[end + 4:whole])
            self._data = self._data[whole:]
            self._since = time.monotonic_ns()
            if self._options.wait:
                asyncio.get_running_loop().call_later(self._options.wait / 1e3, self._transport.write, self._answer)
            else:
                self._transport.write(self._answer)

    def _note(self, head: bytes, body: bytes) -> None:
        if self._options.about == "path":
            self._notes.append(b"%s %d\n" % (head.split(b" ", 2)[1].rpartition(b"/")[2], self._since))
        elif self._options.about == "user":
            self._notes.append(b"%s %d\n" % (json.loads(body)["data"]["user"].encode(), self._since))


async def serve(options) -> None:
    notes: list[bytes] = []
    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate, options.key)
        context.set_alpn_protocols(["http/1.1"])
    server = await asyncio.get_running_loop().create_server(
        lambda: Calls(options, notes), "127.0.0.1", 0, ssl=context, backlog=512)
    port = server.sockets[0].getsockname()[1]
    print(f"{'https' if context else 'http'}://localhost:{port}", flush=True)
    while True:
        await asyncio.sleep(EVERY)
        if notes:
            text = b"".join(notes)
            notes.clear()
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("--about", choices=["path", "user"])
    parser.add_argument("--wait", type=float, default=0, help="ms until a call is answered")
    parser.add_argument("--status", type=int, default=201)
    parser.add_argument("--body", default="")
    asyncio.run(serve(parser.parse_args()))


main()
