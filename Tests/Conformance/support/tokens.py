"""JSON Web Tokens made by hand, so that invalid ones can be made as well."""

import base64
import copy
import hmac
import json
import os
import time

FOR_EVER = object()
"""As `expires`: a token without `exp`."""


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def sign(header, claims, secret, digest="sha256"):
    """The token of a header and claims (bytes or anything JSON)."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims)]
    text = ".".join(encode(part) for part in parts)
    return text + "." + encode(hmac.new(secret, text.encode(), digest).digest())


READINGS = (
    bytes.strip,
    bytes,
    lambda content: bytes.fromhex(content.decode()),
    lambda content: decode(content.decode().strip().rstrip("=")),
)
"""The possible ways to read a key from a secret file."""


class Mint:
    """Makes tokens like the server's own command, from a sample of it and the secret in its data directory."""

    first = None
    """The first one of this process: the secret has the same place in all data directories."""

    def __init__(self, sample, data_directory):
        header, claims, _ = sample.split(".")
        self.header = json.loads(decode(header))
        self.claims = json.loads(decode(claims))
        self.secret, place, self.read = self.find_secret(sample, data_directory)
        self.secret_path = os.path.join(data_directory, place)
        self.place = place

    @classmethod
    def of(cls, data_directory, sample):
        """The minter of a data directory. `sample()` runs a process to make a token, which the others do not need."""
        if not cls.first:
            cls.first = cls(sample(), data_directory)
            return cls.first
        path = os.path.join(data_directory, cls.first.place)
        if not os.path.isfile(path):
            return cls(sample(), data_directory)
        mint = copy.copy(cls.first)
        mint.secret_path = path
        with open(path, "rb") as file:
            mint.secret = mint.read(file.read())
        return mint

    @staticmethod
    def find_secret(sample, data_directory):
        """Returns the key, the name of its file in the directory, and how the file is read."""
        text, _, signature = sample.rpartition(".")
        for folder, _, names in os.walk(data_directory):
            for name in names:
                path = os.path.join(folder, name)
                if not os.path.isfile(path) or os.path.getsize(path) > 4096:
                    continue
                with open(path, "rb") as file:
                    content = file.read()
                for read in READINGS:
                    try:
                        key = read(content)
                    except ValueError:
                        continue
                    if encode(hmac.new(key, text.encode(), "sha256").digest()) == signature:
                        return key, os.path.relpath(path, data_directory), read
        raise AssertionError("no file of the data directory holds the secret that the token was signed with")

    def token(self, user, expires=3600, header=None, secret=None, **claims):
        """A token of `user` that expires in `expires` seconds; `header`, `secret` and claims replace the valid ones."""
        claims = {"sub": user, "iat": int(time.time())} | claims
        if expires is not FOR_EVER:
            claims["exp"] = int(time.time()) + expires
        claims = {name: value for name, value in claims.items() if value is not None}
        return sign(self.header | (header or {}), claims, self.secret if secret is None else secret)

    def unsigned(self, user):
        """A token that claims to need no signature."""
        header = encode(json.dumps({"alg": "none", "typ": "JWT"}).encode())
        claims = encode(json.dumps({"sub": user, "exp": int(time.time()) + 3600}).encode())
        return f"{header}.{claims}."
