"""An OpenID provider: its configuration, its keys, and tokens of every kind, also wrong ones."""

import base64
import hashlib
import hmac
import http.server
import json
import secrets
import threading
import time
from urllib.parse import parse_qsl, urlencode, urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value):
    return encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Key:
    """A key of a provider; `alg` is RS256 or ES256."""

    def __init__(self, alg="RS256", kid=None):
        self.alg, self.kid = alg, kid or secrets.token_hex(4)
        if alg == "RS256":
            self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        else:
            self.private = ec.generate_private_key(ec.SECP256R1())

    @property
    def jwk(self):
        numbers = self.private.public_key().public_numbers()
        if self.alg == "RS256":
            more = {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
        else:
            more = {"kty": "EC", "crv": "P-256", "x": encode(numbers.x.to_bytes(32, "big")),
                    "y": encode(numbers.y.to_bytes(32, "big"))}
        return {"kid": self.kid, "use": "sig", "alg": self.alg} | more

    @property
    def public_pem(self):
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def sign(self, text):
        if self.alg == "RS256":
            return self.private.sign(text, padding.PKCS1v15(), hashes.SHA256())
        r, s = decode_dss_signature(self.private.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


SPARE = []
"""Keys of providers that have ended, for the next ones: making one takes long."""


class Provider:
    """A provider on a port of its own. `delay` is how long it waits before each answer, in seconds; `broken` is a status that it
    answers instead. `asked` counts the requests for each path. `person` consents at once in a browser: `authorize`'s arguments."""

    CLIENT, SECRET = "app-1", "secret-of-app-1"

    def __init__(self, issuer_path="", cache=None):
        self.keys, self.asked, self.delay, self.broken, self.cache = [SPARE.pop() if SPARE else Key()], {}, 0, None, cache
        self.first = self.keys[0]
        self.configuration, self.granted, self.person = {}, {}, None
        self.is_secret = lambda secret: secret == self.SECRET
        self.gate = threading.Event()
        self.gate.set()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                provider.answer(self, self.path)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                provider.answer(self, self.path, body)

            def log_message(self, *arguments):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, request, address):
                pass

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.issuer = self.base + issuer_path
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()
        if self.first not in SPARE:
            SPARE.append(self.first)

    def settings(self, name="test", kind="oidc", **more):
        return {"name": name, "kind": kind, "clientIds": [self.CLIENT, "app-2"], "issuer": self.issuer} | more

    def answer(self, request, path, body=None):
        self.asked[path] = self.asked.get(path, 0) + 1
        self.gate.wait(30)
        time.sleep(self.delay)
        if self.broken:
            return self.send(request, {"error": "server_error"}, self.broken)
        if path.endswith("/.well-known/openid-configuration"):
            return self.send(request, {
                "issuer": self.issuer, "jwks_uri": f"{self.base}/keys", "token_endpoint": f"{self.base}/token",
                "authorization_endpoint": f"{self.base}/authorize"} | self.configuration)
        if path.startswith("/authorize?") and self.person:
            fields = self.authorize(self.base + path, **self.person)
            target = dict(parse_qsl(urlsplit(path).query))["redirect_uri"] + "?" + urlencode(fields)
            return self.send(request, b"", 302, Location=target)
        if path == "/token":
            return self.trade(request, dict(parse_qsl(body.decode(), strict_parsing=True)))
        if path == "/keys":
            return self.send(request, {"keys": [key.jwk for key in self.keys]})
        return self.send(request, {"error": "not_found"}, 404)

    def authorize(self, url, subject, email=None, **claims):
        """The user consents on the provider's page: returns the fields of the answer to the callback."""
        fields = dict(parse_qsl(urlsplit(url).query, strict_parsing=True))
        assert url.startswith(f"{self.base}/authorize?") and fields["response_type"] == "code", url
        assert fields["code_challenge_method"] == "S256" and fields["client_id"] == self.CLIENT, fields
        code = secrets.token_hex(8)
        self.granted[code] = fields, self.token(subject, email, nonce=fields["nonce"], **claims)
        return {"code": code, "state": fields["state"]}

    def trade(self, request, form):
        """Each code works once, with its own verifier, address and the app's secret."""
        fields, token = self.granted.pop(form["code"], (None, None))
        if not fields or form["redirect_uri"] != fields["redirect_uri"] or form["client_id"] != self.CLIENT:
            return self.send(request, {"error": "invalid_grant"}, 400)
        digest = encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if digest != fields["code_challenge"] or not self.is_secret(form["client_secret"]):
            return self.send(request, {"error": "invalid_grant"}, 400)
        return self.send(request, {"access_token": "x", "token_type": "Bearer", "id_token": token})

    def send(self, request, value, status=200, **headers):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.send_header(name, value)
        if self.cache:
            request.send_header("Cache-Control", self.cache)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    @property
    def key_requests(self):
        return self.asked.get("/keys", 0)

    def claims(self, subject, email=None, verified=True, **more):
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": subject, "aud": self.CLIENT, "iat": now, "exp": now + 600}
        if email:
            claims |= {"email": email, "email_verified": verified}
        return {name: value for name, value in (claims | more).items() if value is not None}

    def token(self, subject=None, email=None, verified=True, key=None, header=None, **more):
        """A claim of `None` is left out."""
        key = key or self.keys[0]
        header = {"alg": key.alg, "kid": key.kid, "typ": "JWT"} | (header or {})
        return sign(header, self.claims(subject or secrets.token_hex(8), email, verified, **more), key.sign)


def sign(header, claims, signer):
    text = ".".join(encode(json.dumps(part).encode()) for part in (header, claims))
    return text + "." + encode(signer(text.encode()))


def forged(provider, subject, alg):
    """A token without a signature, or with an HMAC by the public key as the secret."""
    key = provider.keys[0]
    header = {"alg": alg, "kid": key.kid, "typ": "JWT"}

    def signer(text):
        return hmac.new(key.public_pem, text, hashlib.sha256).digest() if alg.startswith("HS") else b""

    return sign(header, provider.claims(subject), signer)
