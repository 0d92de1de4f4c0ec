"""The proxies of config/proxies in front of a server, with TLS, as users configure them."""

import asyncio
import os
import re
import signal
import ssl
import subprocess
from pathlib import Path

from . import programs
from .certificates import Authority
from .patience import eventually
from .ports import free_port
from .processes import end_with_parent

CONFIGURATIONS = Path(__file__).resolve().parents[3] / "config" / "proxies"

NGINX = """daemon off; master_process off; pid {directory}/nginx.pid; error_log stderr;
events {{ }}
http {{
    access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
    include {file};
}}
"""
CADDY = """{{
    admin off
    auto_https disable_redirects
    default_bind 127.0.0.1
    storage file_system {directory}
}}
"""


def changed(text, *changes):
    """The text with a test's replacements, each of which must match."""
    for old, new in changes:
        assert len(re.findall(old, text)) >= 1, f"{old!r} is not in the configuration"
        text = re.sub(old, new, text)
    return text


class Front:
    """A proxy. It has the address that its clients use; `idle` is its time limit of silence, in seconds."""

    def __init__(self, name, server, directory, idle=75):
        self.server, self.mint = server, server.mint
        self.directory = Path(directory)
        self.host, self.port = "localhost", free_port()
        self.url = f"wss://localhost:{self.port}/v1/ws"
        authority = Authority(directory)
        certificate, key = authority.issue()
        self.trust = ssl.create_default_context(cafile=authority.file)
        program = programs.needed(name)
        text = (CONFIGURATIONS / {"nginx": "nginx.conf", "caddy": "Caddyfile", "haproxy": "haproxy.cfg"}[name]).read_text()
        text = changed(text, (r"127\.0\.0\.1:4040", f"127.0.0.1:{server.port}"))
        arguments = getattr(self, name)(text, certificate, key, idle)
        self.log = open(self.directory / "proxy.log", "wb")
        self.process = subprocess.Popen(
            [program, *arguments], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent,
            env=os.environ | programs.environment(program) | {"HOME": str(directory)})

    def write(self, name, text):
        file = self.directory / name
        file.write_text(text)
        return str(file)

    def nginx(self, text, certificate, key, idle):
        text = changed(
            text, (r"listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;"), (r"presence\.example\.org;", "localhost;"),
            (r"/\S+/fullchain\.pem", certificate), (r"/\S+/privkey\.pem", key), (r"75s", f"{idle}s"))
        file = self.write("presence.conf", text)
        main = self.write("nginx.conf", NGINX.format(directory=self.directory, file=file))
        return ["-p", str(self.directory), "-c", main]

    def caddy(self, text, certificate, key, idle):
        text = changed(text, (r"(?m)^presence\.example\.org \{", f"https://localhost:{self.port} {{\n\ttls {certificate} {key}"))
        file = self.write("Caddyfile", CADDY.format(directory=self.directory) + text)
        return ["run", "--adapter", "caddyfile", "--config", file]

    def haproxy(self, text, certificate, key, idle):
        both = self.write("both.pem", Path(certificate).read_text() + Path(key).read_text())
        text = changed(
            text, (r"bind :443 ssl crt \S+", f"bind 127.0.0.1:{self.port} ssl crt {both}"), (r"75s", f"{idle}s"))
        return ["-db", "-f", self.write("haproxy.cfg", text)]

    async def is_up(self):
        """Whether it accepts connections, and has found the server."""
        assert self.process.poll() is None, f"the proxy has ended: {(self.directory / 'proxy.log').read_text()[-2000:]}"
        try:
            return (await self.get("/healthz"))[0] == 200
        except OSError:
            return False

    async def up(self):
        await eventually(self.is_up, "the proxy serves")
        return self

    async def get(self, path):
        return await self.request("GET", path)

    async def request(self, method, path, body=b"", **headers):
        """The status and the body of an answer. A proxy that refuses a body may reset the connection before its answer is
        read: then the request is repeated."""
        for left in (2, 1, 0):
            try:
                return await self.exchange(method, path, body, headers)
            except ConnectionResetError:
                if not left:
                    raise

    async def exchange(self, method, path, body, headers):
        """The status and the body of an answer, read while the body is still being sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.trust, server_hostname="localhost")
        try:
            fields = {"Host": f"localhost:{self.port}", "Connection": "close", "Content-Length": len(body), **headers}
            head = f"{method} {path} HTTP/1.1\r\n" + "".join(
                f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items()) + "\r\n"
            writer.write(head.encode() + body)
            status = int((await reader.readline()).split()[1])
            while (await reader.readline()).strip():
                pass
            return status, await reader.read()
        finally:
            writer.transport.abort()

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
