"""Servers that ours calls, each a process of its own so that its cost is counted apart: a push service, a sender, a hook."""

import os
import re
import subprocess
from pathlib import Path

from stage.processes import Process

PROGRAM = Path(__file__).with_name("outside_program.py")


class Certificate:
    """A certificate of `localhost` and its key, which is also the authority that a server of ours trusts."""

    def __init__(self, directory: Path):
        self.file, self.key = directory / "localhost.pem", directory / "localhost.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(self.key), "-out", str(self.file)],
            check=True, capture_output=True)


class Outside:
    """One of them, on a free port. `arrived` has a pair for each call so far: what it was about, and the monotonic time in
    seconds when its first bytes were read from the socket.

    - `about`: `path` is the end of its path, `user` the member of its body; without either nothing is noted.
    - `wait`: ms until it is answered.
    """

    LINE = re.compile(rb"(\S+) (\d+)\n")

    def __init__(
        self, stage, name: str, *, certificate: Certificate | None = None, about: str | None = None, wait: float = 0,
        status: int = 201, body: str = "",
    ):
        command = ["/usr/bin/python3", "-I", str(PROGRAM), "--wait", str(wait), "--status", str(status), "--body", body]
        command += ["--certificate", str(certificate.file), "--key", str(certificate.key)] if certificate else []
        command += ["--about", about] if about else []
        self.process: Process = stage.processes.start(name, command, core=stage.cores.client)
        self.url = self.process.read_line(patience=20)
        self.descriptor = self.process.popen.stdout.fileno()
        os.set_blocking(self.descriptor, False)
        self._rest = b""

    def arrived(self) -> list[tuple[str, float]]:
        """The calls that came since the last time this was asked."""
        try:
            while data := os.read(self.descriptor, 1 << 16):
                self._rest += data
        except BlockingIOError:
            pass
        end = self._rest.rfind(b"\n") + 1
        whole, self._rest = self._rest[:end], self._rest[end:]
        return [(about.decode(), int(at) / 1e9) for about, at in self.LINE.findall(whole)]
