"""The installed server, run as its unit says, and clients of it."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import threading
import urllib.request

import websockets

from chroot import run

PATIENCE = 60
"""Seconds that anything may take."""


def unit(path):
    """The settings of a unit's service; of one that is there several times, all."""
    settings = {}
    for line in path.read_text().splitlines():
        if match := re.match(r"(\w+)=(.*)", line):
            settings[match[1]] = f"{settings[match[1]]}\n{match[2]}" if match[1] in settings else match[2]
    return settings


class Running:
    """The server as its service starts it: command, user, and a socket for what it tells the service manager."""

    def __init__(self, root, wrapper=(), arguments=(), command=None, environment=None, calls=None):
        self.root = root
        service = unit(root / "lib/systemd/system/presenced.service")
        self.user = service["User"]
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        # An abstract name, which no folder hides.
        name = f"presence-package-{os.getpid()}-{id(self)}"
        self.manager.bind("\0" + name)
        self.manager.settimeout(PATIENCE)
        self.told = []
        environment = {"NOTIFY_SOCKET": "@" + name, "WATCHDOG_USEC": "30000000", **(environment or {})}
        started = [*wrapper, *root.command(
            *(command or service["ExecStart"].split()), *arguments, user=self.user, environment=environment, calls=calls)]
        self.log = open(root / "tmp/server.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(started, stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL, text=True)
        patience = threading.Timer(PATIENCE, self.process.kill)
        patience.start()
        line = self.process.stdout.readline()
        patience.cancel()
        self.log.seek(0)
        if not line.startswith("listening on ws://"):
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{line!r} instead of an address: {self.log.read()[-2000:]}")
        self.url = line.split()[-1]
        self.hear()

    def hear(self):
        self.told.append(self.manager.recv(4096).decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A wrapper passes no signal on: the server is the process that has the unit's first word as its name.
        os.kill(self.pid(), signal.SIGTERM)
        status = self.process.wait(timeout=PATIENCE)
        self.manager.setblocking(False)
        try:
            while True:
                self.hear()
        except BlockingIOError:
            pass
        self.manager.close()
        self.log.seek(0)
        said = self.log.read()
        self.log.close()
        assert status == 0, (status, said[-2000:])

    def pid(self):
        """The server itself: this process, or one below it."""
        waiting = [self.process.pid]
        while waiting:
            process = waiting.pop()
            with open(f"/proc/{process}/comm", encoding="utf-8") as file:
                if file.read().strip() == "presenced":
                    return process
            with open(f"/proc/{process}/task/{process}/children", encoding="utf-8") as file:
                waiting += map(int, file.read().split())
        raise AssertionError("the server is gone")

    def token(self, user, *arguments):
        return self.root.run("presenced", "token", user, "--data-dir", "/var/lib/presence", *arguments, user=self.user).strip()

    def converse(self, token):
        """One client is the package's own, the other a WebSocket by hand: the first sees what the second does."""
        watch = subprocess.Popen(
            self.root.command("presence-watch", "--json", "--url", self.url, "bob", user=self.user,
                              environment={"PRESENCE_TOKEN": token}),
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        try:
            asyncio.run(asyncio.wait_for(self.be_seen(watch), PATIENCE))
        finally:
            watch.kill()
            watch.wait()
        # The conversation itself wants a terminal.
        listed = self.root.run("presence-chat", "--list", "--url", self.url, "--storage", "/var/lib/presence/chat", user=self.user,
                               environment={"PRESENCE_TOKEN": token})
        assert listed == "", listed

    async def be_seen(self, watch):
        async with websockets.connect(self.url, subprotocols=["presence.v1"]) as bob:
            for message in ({"type": "connect", "id": 1, "token": self.token("bob")},
                            {"type": "updateProfile", "id": 2, "changes": {"displayName": "Bob of the package"}},
                            {"type": "status", "id": 3, "status": "busy", "text": "Being installed"}):
                await bob.send(json.dumps(message))
            seen = []
            while not (seen and "Being installed" in seen[-1] and "Bob of the package" in seen[-1]):
                line = await asyncio.to_thread(watch.stdout.readline)
                assert line, f"presence-watch ended; it said {seen}"
                seen.append(line)

    def ask(self, path, method="GET", body=None, **headers):
        request = urllib.request.Request(self.url.replace("ws://", "http://").removesuffix("/v1/ws") + path,
                                         method=method, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read()

    def expect_profile(self, user):
        answer = self.ask(f"/v1/users/{user}", Authorization=f"Bearer {self.token('shop', '--role', 'backend')}")
        assert b"Bob of the package" in answer, answer


def members(group):
    """The system calls of a group, by systemd; of a call itself, that one."""
    if not group.startswith("@"):
        return {group}
    found = set()
    for line in run("systemd-analyze", "syscall-filter", group).splitlines():
        word = line.strip()
        if line.startswith(" ") and word and not word.startswith("#"):
            found |= members(word)
    return found


MAY_FAIL = {"setpriority"}
"""Calls that the filter refuses and that are not needed. (Threads that should give way to the loops do not.)"""


def allowed(service):
    """The system calls that a unit's SystemCallFilter allows."""
    found = set()
    for line in service["SystemCallFilter"].splitlines():
        for word in line.removeprefix("~").split():
            found = found - members(word) if line.startswith("~") else found | members(word)
    assert "write" in found and "mount" not in found
    return found


def use(server):
    """Something of each kind that a server does."""
    server.converse(server.token("ana"))
    email = f"cy{os.urandom(4).hex()}@example.org"
    account = json.loads(server.ask(
        "/v1/accounts", "POST", json.dumps({"email": email, "password": "correct horse battery"}).encode(),
        **{"Content-Type": "application/json"}))
    changed = json.loads(server.ask(
        "/v1/me/photo", "PUT", picture(), Authorization=f"Bearer {account['accessToken']}", **{"Content-Type": "image/png"}))
    assert changed["photoURL"], changed
    server.ask("/metrics")
    os.kill(server.pid(), signal.SIGHUP)
    while not any(told.startswith("RELOADING=1") for told in server.told):
        server.hear()


def watched_calls(root, strace, service, scratch):
    """Each system call of the server, its Redis and the process that decodes pictures is one that the unit allows."""
    trace = scratch / "trace"
    with Running(root, (strace, "-f", "-qq", "-o", str(trace)), ("--accounts", "--app")) as server:
        use(server)
    # From the moment on when the server is what runs, which is when the filter holds.
    lines, begun, found = trace.read_text(errors="replace").splitlines(), False, set()
    for line in lines:
        begun = begun or bool(re.search(r'execve\("[^"]*/presenced"', line))
        if begun and (match := re.match(r"\d+ +(\w+)\(", line)):
            found.add(match[1])
    assert len(found) > 40 and "execve" in found, sorted(found)
    refused = found - allowed(service)
    assert refused <= MAY_FAIL, f"the unit's SystemCallFilter refuses {sorted(refused - MAY_FAIL)}"


def picture():
    """A PNG of one grey pixel."""
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b""))
