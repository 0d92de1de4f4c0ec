"""How a client asks for something that only the stage may do, such as restarting a server, with a shell command."""

import shlex
import socket
import sys
from pathlib import Path
from typing import Callable

# Connects, waits for the answer, and ends with status 0 only if it is "done".
CALL = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
    "sys.exit(s.makefile().read() != 'done')"
)


class Control:
    """Whoever runs ``command`` makes ``action`` be done, by the thread that waits for the client."""

    def __init__(self, path: Path, action: Callable[[], None]):
        self._action = action
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.command = shlex.join([sys.executable, "-c", CALL, str(path)])

    def serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection:
            self._action()
            connection.sendall(b"done")
