"""TLS sessions that clients resume on any shard."""

import asyncio
import signal
import socket
import ssl
import subprocess

import pytest

from support.certificates import Authority
from support.patience import PATIENCE
from support.raw import RawSocket


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def tls(files):
    return {"tls.certificateFile": files[0], "tls.keyFile": files[1]}


def request_over(server, context, session=None):
    """Makes one request: returns whether the session was resumed, and the session for the next time."""
    with socket.create_connection((server.host, server.port), timeout=PATIENCE) as plain:
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as stream:
            stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            # The ticket of TLS 1.3 arrives with the answer.
            assert stream.recv(65536).startswith(b"HTTP/1.1 200 ")
            return stream.session_reused, stream.session


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
async def test_a_client_resumes_its_session_on_every_shard(start, authority, version):
    server = start(tls(authority.issue()), shards=2)
    context = authority.trust(version)

    def resumes():
        reused, session = request_over(server, context)
        assert not reused and session.has_ticket
        # Some of 24 connections reach the other shard, except once in 8,388,608 times.
        for _ in range(24):
            assert request_over(server, context, session)[0]
        # A WebSocket resumes it too.
        with socket.create_connection((server.host, server.port), timeout=PATIENCE) as plain:
            with context.wrap_socket(plain, server_hostname="localhost", session=session) as stream:
                stream.sendall(RawSocket(server).upgrade())
                assert stream.recv(65536).startswith(b"HTTP/1.1 101 ") and stream.session_reused
        return session

    session = await asyncio.to_thread(resumes)
    # With a new certificate no session is resumed, so that every client sees it.
    authority.issue()
    server.send_signal(signal.SIGHUP)
    await server.wait_for_log("days=", times=2)
    assert not (await asyncio.to_thread(request_over, server, context, session))[0]


async def test_openssl_resumes_a_session_from_a_file(start, authority, tmp_path):
    server = start(tls(authority.issue()), shards=2)
    kept = str(tmp_path / "session.pem")

    def ask(option):
        command = ["openssl", "s_client", "-connect", f"{server.host}:{server.port}", "-servername", "localhost",
                   "-ign_eof", option, kept]
        said = subprocess.run(
            command, input=b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", capture_output=True,
            timeout=PATIENCE).stdout
        assert b"HTTP/1.1 200 OK" in said, said
        return b"Reused, TLSv1.3" in said

    assert not await asyncio.to_thread(ask, "-sess_out")
    assert await asyncio.to_thread(ask, "-sess_in")
