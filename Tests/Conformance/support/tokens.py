"""JSON Web Tokens made by hand, so that wrong ones can be made as well."""

import base64
import hmac
import json
import os
import time

FOR_EVER = object()
"""As `expires`: a token with no `exp` at all."""


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def sign(header, claims, secret, digest="sha256"):
    """The token of a header and claims (bytes or anything JSON)."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims)]
    text = ".".join(encode(part) for part in parts)
    return text + "." + encode(hmac.new(secret, text.encode(), digest).digest())


def readings(content):
    """The keys that the content of a secret file may stand for."""
    stripped = content.strip()
    yield stripped
    yield content
    for reading in (bytes.fromhex, lambda text: decode(text.rstrip("="))):
        try:
            yield reading(stripped.decode())
        except ValueError:
            pass


class Mint:
    """Makes tokens as the server's own command does: like a sample from it, with the secret of its data directory."""

    def __init__(self, sample, data_directory):
        header, claims, _ = sample.split(".")
        self.header = json.loads(decode(header))
        self.claims = json.loads(decode(claims))
        self.secret, self.secret_path = self.find_secret(sample, data_directory)

    @staticmethod
    def find_secret(sample, data_directory):
        text, _, signature = sample.rpartition(".")
        for place, _, names in os.walk(data_directory):
            for name in names:
                path = os.path.join(place, name)
                if not os.path.isfile(path) or os.path.getsize(path) > 4096:
                    continue
                with open(path, "rb") as file:
                    content = file.read()
                for key in readings(content):
                    if encode(hmac.new(key, text.encode(), "sha256").digest()) == signature:
                        return key, path
        raise AssertionError("no file of the data directory holds the secret that the token was signed with")

    def token(self, user, expires=3600, header=None, secret=None, **claims):
        """A token of `user` that runs out in `expires` seconds; `header`, `secret` and claims replace what is right."""
        claims = {"sub": user, "iat": int(time.time())} | claims
        if expires is not FOR_EVER:
            claims["exp"] = int(time.time()) + expires
        claims = {name: value for name, value in claims.items() if value is not None}
        return sign(self.header | (header or {}), claims, self.secret if secret is None else secret)

    def unsigned(self, user):
        """A token that says of itself that it needs no signature."""
        header = encode(json.dumps({"alg": "none", "typ": "JWT"}).encode())
        claims = encode(json.dumps({"sub": user, "exp": int(time.time()) + 3600}).encode())
        return f"{header}.{claims}."
