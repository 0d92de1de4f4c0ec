"""Common programs: proxies in front of a server, and HTTP clients."""

import asyncio
import gzip
import http.client
import json
import os
import signal
import socket
import subprocess

import pytest

from support.browser import BROWSERS, SHELL
from support.patience import PATIENCE, eventually
from support.ports import free_port
from support.processes import end_with_parent
from support.programs import needed
from support.room import Room

USERS = 40
"""Enough for an answer of more than 1 KiB, which is compressed."""


NGINX = """daemon off; master_process off; pid {directory}/nginx.pid; error_log stderr;
events {{ }}
http {{
    access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
    map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
    upstream presence {{ server 127.0.0.1:{target}; keepalive 8; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://presence;
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            proxy_set_header X-Forwarded-For $remote_addr;
        }}
    }}
}}
"""

CADDY = """{{
    admin off
    auto_https off
    storage file_system {directory}
}}
http://127.0.0.1:{port} {{
    reverse_proxy 127.0.0.1:{target}
}}
"""


class Front:
    """A proxy in front of a server. It has the address that its clients use."""

    def __init__(self, program, configuration, arguments, server, directory):
        self.host, self.port = "127.0.0.1", free_port()
        file = os.path.join(directory, "configuration")
        with open(file, "w") as text:
            text.write(configuration.format(port=self.port, target=server.port, directory=directory))
        self.log = open(os.path.join(directory, "log"), "wb")
        self.process = subprocess.Popen(
            [program, *(each.format(file=file, directory=directory) for each in arguments)], stdout=self.log,
            stderr=self.log, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent, env=os.environ | {"HOME": directory})
        self.mint = server.mint
        self.url = f"ws://{self.host}:{self.port}/v1/ws"

    def is_up(self):
        assert self.process.poll() is None, "the proxy has ended: see its log"
        with socket.socket() as plain:
            return plain.connect_ex((self.host, self.port)) == 0

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()




def begin(name, server, directory):
    """The proxy of a name, in front of the server; `None` without one."""
    if name == "nginx":
        return Front(needed("nginx"), NGINX, ["-p", "{directory}", "-c", "{file}"], server, directory)
    if name == "caddy":
        return Front(needed("caddy"), CADDY, ["run", "--adapter", "caddyfile", "--config", "{file}"], server, directory)
    return None


@pytest.fixture(params=["directly", "nginx", "caddy"])
def way(request, server, tmp_path):
    """A server and the address to use for it."""
    front = begin(request.param, server, str(tmp_path))
    yield server, front or server
    if front:
        front.close()


async def up(way):
    server, place = way
    if place is not server:
        await eventually(place.is_up, "the proxy listens")
    return server, place, Room(server)


def users(room):
    return [room.name(f"user{number}") for number in range(USERS)]


async def output(*command, data=None):
    """The output of a program, which must succeed."""
    done = await asyncio.to_thread(
        subprocess.run, command, input=data, capture_output=True, timeout=6 * PATIENCE,
        stdin=None if data is not None else subprocess.DEVNULL)
    assert done.returncode == 0, (done.returncode, done.stderr[-1000:])
    return done.stdout


async def test_http_client_keeps_its_connection_for_reads_and_writes(way):
    server, place, room = await up(way)

    def talk():
        connection = http.client.HTTPConnection(place.host, place.port, timeout=PATIENCE)
        for number in range(5):
            token = {"Authorization": f"Bearer {room.backend}"}
            connection.request("POST", "/v1/users/get", json.dumps({"users": users(room)}), token)
            answer = connection.getresponse()
            assert answer.status == 200 and len(json.loads(answer.read())["users"]) == USERS
            connection.request("PATCH", f"/v1/users/{room.name('ana')}/profile", json.dumps({"displayName": f"Ana {number}"}), token)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
            connection.request("HEAD", "/healthz")
            answer = connection.getresponse()
            assert answer.status == 200 and answer.read() == b""
        # A request that is rejected by its head, whose client sends all of it before it reads.
        connection.request("POST", "/v1/users/get", b"x" * 1_100_000, token)
        answer = connection.getresponse()
        assert answer.status == 413, answer.status
        connection.close()

    await asyncio.to_thread(talk)


async def test_curl_asks_before_it_sends_and_reads_gzip(way):
    curl = needed("curl")
    server, place, room = await up(way)
    address = f"http://{place.host}:{place.port}"
    token = ("-H", f"Authorization: Bearer {room.backend}")
    ask = (curl, "-sS", "--max-time", str(PATIENCE))
    body = json.dumps({"users": users(room)}).encode()
    plain = await output(*ask, *token, "--data-binary", "@-", f"{address}/v1/users/get", data=body)
    assert len(json.loads(plain)["users"]) == USERS
    packed = await output(
        *ask, *token, "-H", "Accept-Encoding: gzip", "-H", "Expect: 100-continue", "--data-binary", "@-",
        f"{address}/v1/users/get", data=body)
    assert packed[:2] == b"\x1f\x8b" and len(packed) < len(plain)
    assert json.loads(gzip.decompress(packed))["users"] == json.loads(plain)["users"]
    # A body that is too large is not sent: curl waits for the 100 and gets the answer.
    said = await output(
        *ask, *token, "-H", "Expect: 100-continue", "--data-binary", "@-", "-o", os.devnull, "-w",
        "%{http_code} %{size_upload}", f"{address}/v1/users/get", data=b"x" * 2_000_000)
    status, sent = said.split()
    assert status == b"413" and (place is not server or sent == b"0"), said
    # Two requests over one connection.
    twice = await output(*ask, "-w", "%{num_connects} ", f"{address}/healthz", f"{address}/healthz")
    assert twice.split()[-1] == b"0" or b"}0" in twice, twice


async def test_wget_reads_and_is_told_of_faults(way):
    wget = needed("wget")
    server, place, room = await up(way)
    address = f"http://{place.host}:{place.port}"
    assert json.loads(await output(wget, "-q", "-O", "-", f"{address}/healthz")) == {"status": "ok"}
    metrics = await output(wget, "-q", "-O", "-", "--header=Accept-Encoding: gzip", f"{address}/metrics")
    assert b"presence_live" in gzip.decompress(metrics)
    done = await asyncio.to_thread(
        subprocess.run, [wget, "-q", "-O", "-", "--content-on-error", f"{address}/v1/nothing"], capture_output=True,
        timeout=PATIENCE)
    assert done.returncode != 0 and json.loads(done.stdout)["code"] == "not_found"


async def test_a_websocket_goes_through(way):
    server, place, room = await up(way)
    ana = await room.come("ana")
    bob = await room.come("bob", at=place)
    await bob.subscribe(ana)
    await ana.status("busy", text="Through it")
    await bob.sees(ana, text="Through it")


async def test_a_browser_reads_over_http(way, tmp_path):
    chromium = needed(SHELL, *BROWSERS)
    server, place, room = await up(way)
    shown = await output(
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path}/browser", "--dump-dom", f"http://{place.host}:{place.port}/metrics")
    assert b"presence_live" in shown
