"""The messages to a service manager (systemd, `Type=notify`): a socket in its place receives each step of a server."""

import asyncio
import signal
import socket

import pytest

from support.patience import PATIENCE


@pytest.fixture
def manager(tmp_path, monkeypatch):
    """The socket that servers get in their environment."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(path)
        heard.settimeout(PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        yield heard


async def hear(manager, *, but=()):
    """The next message, except these."""
    while True:
        message = (await asyncio.to_thread(manager.recv, 4096)).decode()
        if message not in but:
            return message


async def test_the_manager_is_notified_when_a_server_serves_reloads_and_stops(manager, start):
    server = start()
    assert await hear(manager) == f"READY=1\nSTATUS=listening on {server.url}"
    server.send_signal(signal.SIGHUP)
    kind, moment = (await hear(manager)).split("\n")
    assert kind == "RELOADING=1" and int(moment.removeprefix("MONOTONIC_USEC=")) > 0
    assert await hear(manager) == "READY=1"
    assert await asyncio.to_thread(server.stop) == 0
    assert await hear(manager) == "STOPPING=1\nSTATUS=stopping"


async def test_the_manager_gets_watchdog_messages_while_the_loops_run(manager, start, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    server = start(shards=2)
    assert (await hear(manager)).startswith("READY=1")
    for _ in range(3):
        assert await hear(manager) == "WATCHDOG=1"
    # A suspended process sends nothing; earlier messages may still be there.
    server.send_signal(signal.SIGSTOP)
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            manager.recv(4096)
    server.send_signal(signal.SIGCONT)
    manager.settimeout(PATIENCE)
    assert await hear(manager) == "WATCHDOG=1"
    assert await asyncio.to_thread(server.stop) == 0
    assert (await hear(manager, but=["WATCHDOG=1"])).startswith("STOPPING=1")


async def test_an_invalid_socket_is_an_error_that_names_it(start, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", "not-a-path")
    with pytest.raises(AssertionError, match='NOTIFY_SOCKET is "not-a-path"'):
        start()
