#!/usr/bin/python3
"""Servers that answer as they should and as they should not: servers.py DIRECTORY.
`servers.py DIRECTORY certificates` makes their certificates there, and has to come first.

Prints a line with their ports as JSON, then a line for each thing that comes: `arrived METHOD PATH`, `left PATH`, `mail …`.
It runs until it is killed.
"""

import itertools
import json
import socket
import ssl
import subprocess
import sys
import threading
import time

import h2.config
import h2.connection
import h2.events
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

DIRECTORY = sys.argv[1]
CERTIFICATES = """
set -e; exec 2>/dev/null; cd "$0"
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out $1.key; }
for name in authority other; do
    key $name; openssl req -x509 -key $name.key -days 2 -subj /CN=$name -out $name.pem
done
issue() {
    key $1; openssl req -new -key $1.key -subj /CN=$1 -addext "subjectAltName=$2" -out $1.csr
    openssl x509 -req -in $1.csr -CA authority.pem -CAkey authority.key -CAcreateserial -copy_extensions copy -days 2 -out $1.pem
}
issue server DNS:localhost,IP:127.0.0.1
issue named DNS:other.test
"""
printing = threading.Lock()
held = threading.Condition()
holding = {"now": 0, "most": 0, "released": False}


def tell(*words):
    with printing:
        print(*words, flush=True)


def context(name, protocols=("http/1.1",)):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(f"{DIRECTORY}/{name}.pem", f"{DIRECTORY}/{name}.key")
    made.set_alpn_protocols(list(protocols))
    return made


def listen(handle, tls=None, quiet=False):
    """A server whose connections each have a thread; its port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)

    def serve(connection):
        try:
            if tls:
                connection = tls.wrap_socket(connection, server_side=True)
            with connection:
                handle(connection)
        except (OSError, ValueError):
            pass

    def accept():
        while True:
            connection, _ = listener.accept()
            if not quiet:
                tell("connected")
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


# ---- HTTP/1.1 ----

def speak_http(connection):
    stream = connection.makefile("rb")
    for number in itertools.count():
        line = stream.readline().decode()
        if not line:
            return tell("closed")
        method, path, _ = line.split(" ")
        headers = []
        while (line := stream.readline().decode().rstrip("\r\n")):
            headers.append(line)
        length = next((int(each.split(":")[1]) for each in headers if each.lower().startswith("content-length:")), 0)
        body = stream.read(length)
        tell("arrived", method, path)
        if path == "/once" and number:
            return tell("left", path)
        try:
            goes_on = answer(connection, method, path, headers, body)
        except OSError:
            goes_on = False
        if not goes_on:
            return tell("left", path)


def answer(connection, method, path, headers, body):
    """Whether the connection is kept."""
    def say(text):
        connection.sendall(text.encode() if isinstance(text, str) else text)

    if path.split("?")[0] == "/echo":
        text = json.dumps({"method": method, "headers": headers, "body": body.hex()}).encode()
        say(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Twice: one\r\nX-Twice:  two \r\n"
            f"Content-Length: {len(text)}\r\n\r\n")
        if method != "HEAD":
            say(text)
        return True
    if path.startswith("/bytes/"):
        count = int(path.split("/")[2])
        say(f"HTTP/1.1 200 OK\r\nContent-Length: {count}\r\n\r\n" + "x" * count)
        return True
    if path.startswith("/mark/"):
        say("HTTP/1.1 204 Marked\r\nContent-Length: 0\r\n\r\n")
        return True
    if path == "/late":
        say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        time.sleep(0.05)
        say("HTTP/1.1 408 Request Timeout\r\n")
        tell("late")
        return True
    if path == "/once":
        say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        return True
    if path.startswith("/status/"):
        say(f"HTTP/1.1 {path.split('/')[2]} Whatever\r\nContent-Length: 0\r\n\r\n")
        return True
    if path == "/redirect":
        say("HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 0\r\n\r\n")
        return True
    if path == "/hold":
        with held:
            holding["now"] += 1
            holding["most"] = max(holding["most"], holding["now"])
            held.wait_for(lambda: holding["released"])
            holding["now"] -= 1
        say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        return True
    if path == "/release":
        with held:
            holding["released"] = True
            held.notify_all()
            text = str(holding["most"])
        say(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}")
        return True
    if path == "/slow":
        say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            say("x")
            time.sleep(1)
    elif path == "/never":
        connection.recv(1)
    elif path == "/begun":
        say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
        connection.recv(1)
    elif path == "/midway":
        say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789")
    elif path == "/more":
        say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n0123456789")
    elif path == "/garbage":
        say(b"\x00\xff\x00\xff this is no answer\r\n\r\n")
    elif path == "/chunks":
        say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nhello\r\n")
    elif path == "/endless":
        say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            say("1000\r\n" + "x" * 4096 + "\r\n")
    elif path == "/headers":
        say("HTTP/1.1 200 OK\r\n")
        while True:
            say("X-More: " + "x" * 1000 + "\r\n")
    return False


# ---- HTTP/2 ----

def speak_h2(connection):
    talk = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    talk.initiate_connection()
    connection.sendall(talk.data_to_send())
    paths = {}
    while data := connection.recv(65536):
        for event in talk.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                paths[event.stream_id] = dict(event.headers)[b":path"].decode()
                tell("arrived", "h2", paths[event.stream_id])
            elif isinstance(event, h2.events.DataReceived):
                talk.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                if paths[event.stream_id] == "/reset":
                    talk.reset_stream(event.stream_id, 2)
                    continue
                talk.send_headers(event.stream_id, [(":status", "200"), ("x-protocol", "h2")])
                talk.send_data(event.stream_id, b"over h2", end_stream=True)
        connection.sendall(talk.data_to_send())


# ---- SMTP ----

class Inbox:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        tell("mail", json.dumps({
            "from": envelope.mail_from, "to": envelope.rcpt_tos, "tls": session.ssl is not None,
            "user": str(session.auth_data or ""), "name": session.host_name, "text": envelope.original_content.decode()}))
        return "250 taken"


def authenticate(server, session, envelope, mechanism, data):
    good = (data.login, data.password) == (b"app", b"letmein")
    return AuthResult(success=good, handled=False, auth_data=data.login.decode() if good else None)


def mail(**options):
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    class OnSocket(Controller):
        """On a socket that is there: a port that was free a moment ago may be another's."""
        def _create_server(self):
            return self.loop.create_server(self._factory_invoker, sock=listener, ssl=self.ssl_context)

    OnSocket(Inbox(), hostname="127.0.0.1", port=port, ready_timeout=120, **options).start()
    return port


def speak_mutely(connection):
    """A mail server that accepts a mail and then stops answering."""
    stream = connection.makefile("rb")

    def say(line):
        connection.sendall(line.encode() + b"\r\n")

    say("220 here")
    while line := stream.readline().decode().strip():
        if line == "DATA":
            say("354 go on")
            while stream.readline() != b".\r\n":
                pass
            say("250 taken")
            rest = stream.read()
            return tell("left", "mail", "with" if rest else "without", "a word")
        say("250 fine")


def speak_patiently(connection):
    """A mail server that answers the end of a mail when it is told to, and a recipient that it does not want with a refusal,
    and nothing any more."""
    stream = connection.makefile("rb")

    def say(line):
        connection.sendall(line.encode() + b"\r\n")

    say("220 here")
    while line := stream.readline().decode().strip():
        if line.startswith("RCPT TO:<nobody@"):
            say("550 no such user")
            tell("refused", "mail")
            stream.read()
            return tell("left", "refused", "mail")
        if line == "DATA":
            say("354 go on")
            while stream.readline() != b".\r\n":
                pass
            tell("holding", "mail")
            with held:
                held.wait_for(lambda: holding["released"])
            say("250 taken")
        else:
            say("250 fine")


def main():
    if sys.argv[2:] == ["certificates"]:
        return subprocess.run(["sh", "-c", CERTIFICATES, DIRECTORY], check=True)
    secured = {"tls_context": context("server"), "require_starttls": True, "authenticator": authenticate,
               "auth_required": True}
    dead = socket.socket()
    dead.bind(("127.0.0.1", 0))
    tell(json.dumps({
        "http": listen(speak_http), "https": listen(speak_http, context("server")),
        "named": listen(speak_http, context("named")), "h2": listen(speak_h2, context("server", ["h2"])),
        "smtp": mail(), "starttls": mail(**secured),
        "smtps": mail(ssl_context=context("server"), authenticator=authenticate, auth_require_tls=False),
        "mute": listen(speak_mutely), "patient": listen(speak_patiently), "marks": listen(speak_http, quiet=True), "dead": dead.getsockname()[1],
    }))
    threading.Event().wait()


main()
