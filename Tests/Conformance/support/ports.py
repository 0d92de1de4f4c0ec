"""Ports for servers of the tests. Each process has blocks of its own, claimed by an abstract Unix socket, which ends with the
process: two processes never find the same port. Tests/Support/FreePort.swift claims in the same way."""

import random
import socket
import threading

RANGE = range(12_000, 32_736)
"""Below the ports for outgoing connections (`ip_local_port_range`): none of them can take a port after it is found and
before a server listens on it."""

PER_BLOCK = 64


class Ports:
    def __init__(self):
        self.lock = threading.Lock()
        self.claims = []
        self.ports = []
        self.position = 0

    def find(self):
        with self.lock:
            for _ in RANGE:
                if self.position == len(self.ports):
                    first = self.claim()
                    if first is None:
                        self.position = 0
                    else:
                        self.ports += range(first, first + PER_BLOCK)
                assert self.ports, "other processes have all ports"
                port = self.ports[self.position]
                self.position += 1
                if is_free(port):
                    return port
        raise AssertionError("no port is free")

    def claim(self):
        """The first port of a block that no process had."""
        firsts = list(RANGE[::PER_BLOCK])
        random.shuffle(firsts)
        for first in firsts:
            claim = socket.socket(socket.AF_UNIX)
            try:
                claim.bind(f"\0presence-ports-{first}")
            except OSError:
                claim.close()
            else:
                self.claims.append(claim)
                return first
        return None


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


own = Ports()


def free_port():
    """A port on which no process listens, and which this process did not find before, unless no block is left."""
    return own.find()
