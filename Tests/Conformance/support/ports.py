"""Ports for servers of the tests."""

import random
import socket

RANGE = range(12_000, 32_768)
"""Below those from which the system takes the near ends of connections (`ip_local_port_range`): none of them can take a port
between its being found and a server's listening on it."""


def free_port():
    """A port on which nobody listens."""
    while True:
        port = random.choice(RANGE)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
