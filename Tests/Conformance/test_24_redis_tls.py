"""Redis over TLS: everything works as over a plain connection, and faults are reported."""

import asyncio
import os
import signal
import subprocess
import tempfile

import pytest

from support import processes
from support.certificates import Authority
from support.deployments import Deployment
from support.patience import PATIENCE, eventually
from support.ports import free_port
from support.room import Room
from support.server import BINARY, run

SETTINGS = {"linger": 10_000, "lease": 10_000}
PASSWORD = "hunter2-of-redis"


class SecureRedis(Deployment):
    """A Redis that accepts TLS only, and requires a certificate and a password."""

    def __init__(self, authority, name="server"):
        super().__init__()
        certificate, key = authority.issue(name)
        self.secure_port = free_port()
        # The plain port is for the test's own commands.
        self.server = self.node(
            "server",
            ["save \"\"", "appendonly yes", f"tls-port {self.secure_port}", f"tls-cert-file {certificate}",
             f"tls-key-file {key}", f"tls-ca-cert-file {authority.file}", "tls-auth-clients yes"], password=PASSWORD)
        self.url = f"rediss://:{PASSWORD}@localhost:{self.secure_port}"

    def secure_clients(self):
        port = f"laddr=127.0.0.1:{self.secure_port} "
        return [line for line in self.server.command("CLIENT", "LIST").split("\n") if port in line and "presence" in line]


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def redis(authority):
    redis = SecureRedis(authority)
    yield redis
    redis.close()


def secure(authority, **more):
    certificate, key = authority.issue("client")
    return SETTINGS | {"redis.tls.caFile": authority.file, "redis.tls.certificateFile": certificate,
                       "redis.tls.keyFile": key} | more


async def test_servers_meet_in_a_redis_over_tls_and_find_it_again(start, redis, authority):
    settings = secure(authority)
    one = start(settings, redis=redis, shards=1)
    two = start(settings, redis=redis, directory=one.directory, shards=1)
    room = Room(one)
    ana, bob = await room.come("ana"), await room.come("bob", at=two)
    await ana.subscribe(bob)
    await bob.status("busy", text="Over TLS")
    await ana.sees(bob, status="busy", text="Over TLS")
    await bob.update(displayName="Bob")
    assert len(redis.secure_clients()) == 6
    redis.server.kill()
    await asyncio.gather(ana.hear("stale"), bob.hear("stale"))
    redis.server.start()
    await asyncio.gather(ana.hear("live", within=2 * PATIENCE), bob.hear("live", within=2 * PATIENCE))
    await bob.insists("status", status="busy", text="Again")
    await ana.sees(bob, text="Again")
    assert (await ana.get(bob))[0]["profile"]["displayName"] == "Bob"
    assert len(redis.secure_clients()) == 6
    file = next(word for word in one.command if word.endswith(".yaml"))
    looked = run("doctor", "--config", file, "--redis", redis.url)
    assert looked.returncode == 0, looked.stdout + looked.stderr
    for text in (one.whole_log(), two.whole_log(), looked.stdout, looked.stderr):
        assert PASSWORD not in text


def unready(tmp_path, *arguments):
    """The log of a server that cannot reach its Redis, until it is stopped."""
    directory = tempfile.mkdtemp(dir=tmp_path)
    log = os.path.join(directory, "log")
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [BINARY, "serve", "--port", "0", "--shards", "1", "--data-dir", directory, *arguments], stdout=file,
            stderr=file, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=processes.end_with_parent)

    def said():
        with open(log) as file:
            return file.read()

    return process, said


@pytest.mark.parametrize("wrong, reason", [
    ("authority", "the server's certificate is not trusted"),
    ("name", "the server's certificate is for another name"),
    ("no certificate", "the server requires a client certificate"),
    ("plain port", "the server may not use TLS on this port"),
    ("plain address", "if the port is for TLS, its address begins with rediss"),
])
async def test_tls_errors_are_logged_with_their_reason(redis, authority, tmp_path, wrong, reason):
    settings, url = secure(authority), redis.url
    if wrong == "authority":
        (tmp_path / "other").mkdir()
        settings["redis.tls.caFile"] = Authority(tmp_path / "other").file
    if wrong == "name":
        settings["redis.tls.serverName"] = "redis.example.org"
    if wrong == "no certificate":
        settings = {"redis.tls.caFile": authority.file}
    if wrong == "plain port":
        url = f"rediss://:{PASSWORD}@localhost:{redis.server.port}"
    if wrong == "plain address":
        settings, url = {}, f"redis://:{PASSWORD}@localhost:{redis.secure_port}"
    names = {"redis.tls.caFile": "PRESENCE_REDIS_TLS_CA_FILE",
             "redis.tls.certificateFile": "PRESENCE_REDIS_TLS_CERTIFICATE_FILE",
             "redis.tls.keyFile": "PRESENCE_REDIS_TLS_KEY_FILE", "redis.tls.serverName": "PRESENCE_REDIS_TLS_SERVER_NAME"}
    variables = {names[name]: str(value) for name, value in settings.items() if name in names}
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        process, said = unready(tmp_path, "--redis", url)
        looked = run("doctor", "--redis", url) if wrong != "plain address" else None
    finally:
        os.environ.clear()
        os.environ.update(before)
    try:
        await eventually(lambda: reason in said(), f"{reason} in the log")
        assert PASSWORD not in said() and "listening" not in said()
        if looked:
            assert looked.returncode == 2 and reason in looked.stderr and PASSWORD not in looked.stderr, looked
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


async def test_files_that_cannot_be_used_are_named_at_the_start(authority, tmp_path):
    certificate, key = authority.issue("client")
    for settings, word in [
        ({"caFile": "/nonexistent.pem"}, "/nonexistent.pem: No such file"),
        ({"caFile": authority.file, "certificateFile": certificate, "keyFile": "/nonexistent.key"}, "/nonexistent.key"),
        ({"caFile": authority.file, "certificateFile": certificate}, "redis.tls.keyFile"),
        ({"caFile": authority.file, "certificateFile": key, "keyFile": key}, key),
    ]:
        file = tmp_path / "presenced.yaml"
        file.write_text(
            f"redis:\n  url: rediss://:{PASSWORD}@localhost\n  tls:\n"
            + "".join(f"    {name}: {value}\n" for name, value in settings.items()))
        for command in (["serve", "--port", "0", "--data-dir", str(tmp_path / "data")], ["doctor"]):
            ended = await asyncio.to_thread(run, *command, "--config", str(file))
            assert ended.returncode not in (0, 1) and word in ended.stderr, (settings, ended)
            assert PASSWORD not in ended.stderr
    file.write_text(f"redis:\n  url: redis://localhost\n  tls:\n    caFile: {authority.file}\n")
    ended = await asyncio.to_thread(run, "serve", "--port", "0", "--config", str(file))
    assert "redis.tls.caFile" in ended.stderr and "rediss" in ended.stderr, ended
