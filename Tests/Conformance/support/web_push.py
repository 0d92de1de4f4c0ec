"""A push service for browsers, and the browsers that subscribe to it: written after RFC 8030, 8188, 8291 and 8292 with Python's
cryptography, which has its own reading of each."""

import base64
import http.server
import json
import os
import re
import secrets
import ssl
import threading
import time

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .certificates import Authority
from .receiver import complete

SUBJECT = "mailto:operator@example.org"


def base64url(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def unbase64url(text):
    assert re.fullmatch(r"[A-Za-z0-9_-]*", text), text
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point(key):
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


class Subscriber:
    """A browser: its keys, and its endpoint at a service. Those of UnifiedPush may have a query."""

    def __init__(self, service, name=None, host="localhost", query=""):
        self.name = name or secrets.token_hex(6)
        self.endpoint = f"https://{host}:{service.port}/push/{self.name}{query}"
        self.key, self.auth = ec.generate_private_key(ec.SECP256R1()), secrets.token_bytes(16)
        service.subscribers[self.name] = self

    @property
    def subscription(self):
        """As `PushSubscription.toJSON()` of browsers has it."""
        return {"endpoint": self.endpoint, "expirationTime": None,
                "keys": {"p256dh": base64url(point(self.key.public_key())), "auth": base64url(self.auth)}}

    @property
    def device(self):
        return {"platform": "web", "subscription": self.subscription}

    def decrypt(self, body):
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        assert length == 65 and size >= 18
        sender, record = body[21:86], body[86:]
        # One record.
        assert 17 <= len(record) <= size
        shared = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))

        def derive(length, salt, secret, info):
            return HKDF(SHA256(), length, salt, info).derive(secret)

        keying = derive(32, self.auth, shared, b"WebPush: info\0" + point(self.key.public_key()) + sender)
        key, nonce = derive(16, salt, keying, b"Content-Encoding: aes128gcm\0"), derive(12, salt, keying, b"Content-Encoding: nonce\0")
        content = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
        assert content[-1:] == b"\2", "the last record's delimiter"
        return content[:-1]


class WebPush:
    """A push as it arrived."""

    def __init__(self, service, path, headers, body):
        self.path, self.body, self.at = path, body, time.time()
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.name = path.rpartition("/")[2].partition("?")[0]
        self.plain = service.subscribers[self.name].decrypt(body)
        self.json = json.loads(self.plain)

    @property
    def vapid(self):
        """The token and the public key."""
        return re.fullmatch(r"vapid t=([\w.-]+), k=([\w-]+)", self.headers["authorization"]).groups()

    @property
    def claims(self):
        """The claims of the token, whose signature is verified."""
        token, key = self.vapid
        header, claims, signature = token.split(".")
        assert json.loads(unbase64url(header)) == {"alg": "ES256", "typ": "JWT"}
        raw = unbase64url(signature)
        assert len(raw) == 64
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unbase64url(key))
        der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        try:
            public.verify(der, f"{header}.{claims}".encode(), ec.ECDSA(SHA256()))
        except InvalidSignature:
            raise AssertionError("signed with another key") from None
        return json.loads(unbase64url(claims))


class WebPushService:
    """`answer` is called with each push and returns a status, or a status and headers, or these and a body; the status `None` ends
    the connection without an answer. It may block. Faults of calls are in `wrong`."""

    def __init__(self, directory):
        authority = Authority(directory)
        certificate, key = authority.issue("web-push", names="DNS:localhost,DNS:push.localhost,DNS:ana.push.localhost,IP:127.0.0.1")
        self.authority = authority.file
        self.subscribers, self.pushes, self.wrong = {}, [], []
        self.answer = lambda push: 201
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    answer = service.receive(self.path, self.headers, body)
                except Exception as fault:
                    service.wrong.append(repr(fault))
                    answer = 500
                status, headers, content = complete(answer)
                if status is None:
                    self.close_connection = True
                    return self.connection.close()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, request, address):
                pass

        self.server = Quiet(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def settings(self, **others):
        return {"push.web.subject": SUBJECT, "push.web.hosts": ["localhost", "*.localhost"], "push.web.privateAddresses": True,
                "push.caFile": self.authority, "partitions": 8, "linger": 1_000, "lease": 6_000} | others

    def receive(self, path, headers, body):
        push = WebPush(self, path, headers, body)
        origin = self.subscribers[push.name].endpoint.partition("/push/")[0]
        claims = push.claims
        self.expect(claims["aud"] == origin and claims["sub"] == SUBJECT, claims)
        self.expect(0 < claims["exp"] - time.time() <= 86_400, claims)
        self.expect(push.headers["content-encoding"] == "aes128gcm", push.headers)
        self.expect(len(body) <= 4_096 and len(push.plain) <= 3_072, f"{len(push.plain)} bytes")
        self.expect(int(push.headers["ttl"]) > 0 and push.headers["urgency"] in ("very-low", "low", "normal", "high"), push.headers)
        self.expect(re.fullmatch(r"[A-Za-z0-9_-]{1,32}", push.headers["topic"]), push.headers)
        self.pushes.append(push)
        return self.answer(push)

    def to(self, subscriber):
        return [push for push in self.pushes if push.name == subscriber.name]

    def expect(self, is_true, what):
        if not is_true:
            self.wrong.append(what)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        assert not self.wrong, self.wrong[:5]


def vapid_key(server):
    """The public key in a server's data directory, as base64url."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    file = os.path.join(server.directory, "vapid.pem")
    assert os.stat(file).st_mode & 0o777 == 0o600
    with open(file, "rb") as pem:
        return base64url(point(load_pem_private_key(pem.read(), None).public_key()))
