"""FCM and APNs for tests: over TLS with their own certificate authority; OpenSSL verifies each token."""

import functools
import http.server
import json
import os
import re
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

import h2.config
import h2.connection
import h2.events

from .certificates import Authority
from .tokens import decode

TEAM, KEY, TOPIC, PROJECT = "TEAM123456", "KEY1234567", "org.example.app", "example-1234"


@functools.cache
def pair(kind, option):
    """A private key and its public half, as PEM: the same ones for all tests of a process, because making them takes long."""
    key = subprocess.run(["openssl", "genpkey", "-algorithm", kind, "-pkeyopt", option], check=True, capture_output=True).stdout
    return key, subprocess.run(["openssl", "pkey", "-pubout"], input=key, check=True, capture_output=True).stdout


class Keys:
    """The keys that an operator has of both services, as files."""

    def __init__(self, directory, token_uri="https://oauth2.googleapis.com/token"):
        self.directory = str(directory)
        self.apns, self.account = self.make("apns", "EC", "ec_paramgen_curve:prime256v1"), self.path("account.json")
        self.fcm = self.make("fcm", "RSA", "rsa_keygen_bits:2048")
        with open(self.fcm) as key:
            self.write_account({
                "type": "service_account", "project_id": PROJECT, "private_key_id": "abc", "private_key": key.read(),
                "client_email": "push@example-1234.iam.gserviceaccount.com", "token_uri": token_uri})

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self, name, kind, option):
        files = self.path(f"{name}.p8"), self.path(f"{name}.pem")
        for file, content in zip(files, pair(kind, option)):
            with open(file, "wb") as written:
                written.write(content)
            os.chmod(file, 0o600)
        return files[0]

    def write_account(self, account):
        with open(self.account, "w") as file:
            json.dump(account, file)
        os.chmod(self.account, 0o600)

    def claims(self, token, name, alg):
        """The header and claims of a token, whose signature is verified."""
        header, claims, signature = token.split(".")
        assert json.loads(decode(header))["alg"] == alg
        raw = decode(signature)
        if alg == "ES256":
            raw = der(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        place = self.path(f"signature-{threading.get_ident()}")
        with open(place, "wb") as file:
            file.write(raw)
        done = subprocess.run(
            ["openssl", "dgst", "-sha256", "-verify", self.path(f"{name}.pem"), "-signature", place],
            input=f"{header}.{claims}".encode(), capture_output=True)
        assert done.returncode == 0, "signed with another key"
        return json.loads(decode(header)), json.loads(decode(claims))

    @property
    def everything(self):
        """Settings of a server with both services, which it cannot reach."""
        return {
            "push.fcm.serviceAccountFile": self.account, "push.apns.keyFile": self.apns, "push.apns.keyID": KEY,
            "push.apns.teamID": TEAM, "push.apns.topic": TOPIC}


def der(*numbers):
    """Two numbers in OpenSSL's form of an elliptic curve signature."""
    body = b""
    for number in numbers:
        octets = number.to_bytes(number.bit_length() // 8 + 1)
        body += b"\x02" + bytes([len(octets)]) + octets
    return b"\x30" + bytes([len(body)]) + body


class Push:
    def __init__(self, path, headers, body):
        self.path, self.json, self.at = path, json.loads(body), time.time()
        self.headers = {name.lower(): value for name, value in headers.items()}

    @property
    def token(self):
        """The device's token."""
        return self.json["message"]["token"] if "message" in self.json else self.path.rpartition("/")[2]

    @property
    def text(self):
        return (self.json.get("message", {}).get("notification") or self.json["aps"]["alert"])["body"]


class Services:
    """Both at one address. `fcm` and `apns` are called with each push and return a status and a JSON body; the faults of
    calls are in `wrong`."""

    def __init__(self, directory):
        authority = Authority(directory)
        certificate, key = authority.issue("services")
        self.authority = authority.file
        self.wrong, self.grants, self.pushes, self.connections = [], [], [], 0
        self.fcm = self.apns = lambda push: (200, {})
        self.grant = lambda number: (200, {"access_token": f"access-{number}", "expires_in": 3599, "token_type": "Bearer"})
        self.listening = []
        self.fcm_port, self.apns_port = self.serve_fcm(certificate, key), self.serve_apns(certificate, key)
        self.fcm_url, self.apns_url = f"https://localhost:{self.fcm_port}", f"https://localhost:{self.apns_port}"
        self.keys = Keys(directory, self.fcm_url + "/token")

    def settings(self, **others):
        return self.keys.everything | {
            "push.fcm.url": self.fcm_url, "push.apns.url": self.apns_url, "push.caFile": self.authority,
            "partitions": 8, "linger": 1_000, "lease": 6_000} | others

    def of(self, platform):
        return [push for push in self.pushes if ("message" in push.json) == (platform == "fcm")]

    def expect(self, is_true, what):
        if not is_true:
            self.wrong.append(what)

    # FCM: HTTP/1.1

    def serve_fcm(self, certificate, key):
        services = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # A body is sent right after its head, and not when the head is acknowledged, 40 ms later.
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    status, answer = services.answer_fcm(self.path, self.headers, body)
                except Exception as fault:
                    services.wrong.append(repr(fault))
                    status, answer = 500, {}
                headers = answer.pop("headers", {})
                text = json.dumps(answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, request, address):
                pass

        server = Quiet(("127.0.0.1", 0), Handler, bind_and_activate=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

        def close():
            # Without `shutdown`, its thread would accept on the closed socket in an endless loop.
            server.shutdown()
            server.server_close()

        self.listening.append(close)
        return server.server_address[1]

    def answer_fcm(self, path, headers, body):
        if path == "/token":
            form = dict(urllib.parse.parse_qsl(body.decode()))
            self.expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer", form)
            _, claims = self.keys.claims(form["assertion"], "fcm", "RS256")
            self.expect(claims["iss"].startswith("push@") and claims["aud"] == self.fcm_url + "/token", claims)
            self.expect(claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging", claims)
            self.expect(abs(claims["iat"] - time.time()) < 120 and claims["exp"] - claims["iat"] == 3600, claims)
            self.grants.append(claims)
            return self.grant(len(self.grants))
        self.expect(path == f"/v1/projects/{PROJECT}/messages:send", path)
        self.expect(re.fullmatch(r"Bearer access-\d+", headers["Authorization"]), headers["Authorization"])
        push = Push(path, headers, body)
        self.expect(len(body) <= 4_096 + 500, f"{len(body)} bytes")
        self.pushes.append(push)
        return self.fcm(push)

    # APNs: HTTP/2

    def serve_apns(self, certificate, key):
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2"])

        def speak(connection):
            try:
                with context.wrap_socket(connection, server_side=True) as connection:
                    self.expect(connection.selected_alpn_protocol() == "h2", "not HTTP/2")
                    self.connections += 1
                    self.speak_h2(connection)
            except (OSError, ValueError):
                pass

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=speak, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

        def close():
            # `shutdown` ends the thread's `accept`; `close` alone leaves it there.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

        self.listening.append(close)
        return listener.getsockname()[1]

    def speak_h2(self, connection):
        talk = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        talk.initiate_connection()
        connection.sendall(talk.data_to_send())
        requests = {}
        while data := connection.recv(65536):
            for event in talk.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    requests[event.stream_id] = (dict(event.headers), bytearray())
                elif isinstance(event, h2.events.DataReceived):
                    requests[event.stream_id][1].extend(event.data)
                    talk.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    headers, body = requests.pop(event.stream_id)
                    try:
                        status, answer = self.answer_apns(headers, bytes(body))
                    except Exception as fault:
                        self.wrong.append(repr(fault))
                        status, answer = 500, {}
                    talk.send_headers(event.stream_id, [(":status", str(status)), *answer.pop("headers", {}).items()])
                    talk.send_data(event.stream_id, json.dumps(answer).encode() if answer else b"", end_stream=True)
            connection.sendall(talk.data_to_send())

    def answer_apns(self, headers, body):
        scheme, _, token = headers["authorization"].partition(" ")
        header, claims = self.keys.claims(token, "apns", "ES256")
        self.expect(scheme == "bearer" and header["kid"] == KEY and claims["iss"] == TEAM, (header, claims))
        self.expect(abs(claims["iat"] - time.time()) < 120, claims)
        self.expect(headers[":method"] == "POST" and re.fullmatch(r"/3/device/[0-9a-f]+", headers[":path"]), headers[":path"])
        self.expect(headers["apns-topic"] == TOPIC and headers["apns-push-type"] == "alert", headers)
        self.expect(len(headers["apns-collapse-id"]) <= 64 and len(body) <= 4_096, headers)
        push = Push(headers[":path"], headers, body)
        self.pushes.append(push)
        return self.apns(push)

    def close(self):
        for end in self.listening:
            end()
        assert not self.wrong, self.wrong[:5]
