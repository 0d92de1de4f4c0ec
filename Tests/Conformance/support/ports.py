"""Ports for servers of the tests."""

import random
import socket

RANGE = range(12_000, 32_768)
"""Below the ports for outgoing connections (`ip_local_port_range`): none of them can take a port after it is found and
before a server listens on it."""


def free_port():
    """A port on which no process listens."""
    while True:
        port = random.choice(RANGE)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
