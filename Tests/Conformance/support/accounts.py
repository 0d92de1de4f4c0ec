"""Users with accounts: sign-up, sign-in, and the mails in the outbox."""

import asyncio
import glob
import os
import re
import secrets
from urllib.parse import parse_qs

from .api import API
from .openapi import OpenAPI
from .patience import eventually

PASSWORD = "correct horse battery"
ON = {"accounts.enabled": True}


DOCUMENT = OpenAPI("openapi.yaml")


class CheckedAPI(API):
    """Every answer of an operation of accounts, bans and reports is checked against docs/openapi.yaml."""

    async def request(self, method, path, body=None, token=None, headers=None):
        answer = await super().request(method, path, body, token, headers)
        places = [each for each in DOCUMENT.operations if each.method == method and each.fits(path)]
        # The operation with the more specific path.
        operation = min(places, key=lambda each: each.path.count("{"), default=None)
        if operation and {"accounts", "safety"} & set(operation.node["tags"]):
            what = f"{method} {path}"
            assert answer.status in operation.responses, f"{what}: {answer.status} is not documented: {answer}"
            DOCUMENT.check(method, answer, operation.responses[answer.status], what)
        return answer


class Person:
    """A signed-up user; `tokens` is the latest answer."""

    def __init__(self, accounts, email, tokens):
        self.accounts, self.email, self.tokens = accounts, email, tokens

    @property
    def user(self):
        return self.tokens["user"]

    @property
    def access(self):
        return self.tokens["accessToken"]

    async def call(self, method, path, body=None):
        return await self.accounts.api.request(method, path, body, token=self.access)

    async def me(self):
        answer = await self.call("GET", "/v1/me")
        assert answer.status == 200, answer
        return answer.json


class Accounts:
    def __init__(self, server):
        self.server, self.api = server, CheckedAPI(server)
        self.seen = {}

    def address(self, name="ana"):
        return f"{name}-{secrets.token_hex(4)}@example.org"

    async def post(self, path, **body):
        return await self.api.request("POST", path, body)

    async def sign_up(self, email=None, password=PASSWORD, **more):
        email = email or self.address()
        answer = await self.post("/v1/accounts", email=email, password=password, **more)
        assert answer.status == 201, answer
        return Person(self, email, answer.json)

    async def sign_in(self, email, password=PASSWORD, **more):
        return await self.post("/v1/sessions", email=email, password=password, **more)

    async def signed_in(self, email, password=PASSWORD, **more):
        answer = await self.sign_in(email, password, **more)
        assert answer.status == 200, answer
        return Person(self, email, answer.json)

    async def guess_until_slowed(self, guess):
        """Tries a wrong password until an attempt is slowed. Returns the number of attempts before it, and the answer.
        (On a busy machine a first delay may end before the next attempt; it doubles.)"""
        for tries in range(12):
            answer = await guess()
            if answer.status == 429:
                return tries, answer
            refused(answer, 401, "unauthorized", "invalid_credentials")
        raise AssertionError(f"{tries} guesses, and none was slowed")

    async def refresh(self, token):
        return await self.post("/v1/sessions/refresh", refreshToken=token)

    def mails(self, email, server=None):
        """The mails to an address, the oldest first."""
        found = []
        for file in sorted(glob.glob(os.path.join((server or self.server).directory, "outbox", "*.eml"))):
            with open(file, newline="") as text:
                mail = text.read()
            if f"\r\nTo: {email.lower()}\r\n" in mail:
                found.append(mail)
        return found

    async def mail(self, email, number, page):
        """The token in the mail of this number (from 1) with a link to a page. Mails are numbered in the order in which
        they are first seen: the names of their files begin with the time of the shard that made them, and shards'
        clocks differ by milliseconds."""
        seen = self.seen.setdefault((email.lower(), page), [])

        def there():
            seen.extend(mail for mail in self.mails(email) if f"/{page}#token=" in mail and mail not in seen)
            return seen[number - 1] if len(seen) >= number else None

        mail = await eventually(there, f"mail {number} to {email} about {page}")
        return re.search(r"#token=([A-Za-z0-9_-]+)", mail).group(1)

    async def code(self, email, number=1):
        """Asks for a code to sign in; returns the digits and the link's token of the mail of this number (from 1)."""
        answer = await self.post("/v1/signin/mail", email=email)
        assert answer.status == 202 and answer.json == {}, answer
        seen = self.seen.setdefault((email.lower(), "code"), [])

        def there():
            seen.extend(mail for mail in self.code_mails(email) if mail not in seen)
            return seen[number - 1] if len(seen) >= number else None

        mail = await eventually(there, f"code {number} to {email}")
        link = parse_qs(re.search(r"/signin#(\S+)", mail).group(1), strict_parsing=True)
        assert link["email"] == [email.lower()], link
        return re.search(r"\r\n {4}(\d{6})\r\n", mail).group(1), link["token"][0]

    def code_mails(self, email):
        return [mail for mail in self.mails(email) if "Subject: Your code to sign in\r\n" in mail]


def refused(answer, status, code, reason=None, field=None):
    assert answer.status == status and answer.json["type"] == "error" and answer.json["code"] == code, answer
    assert answer.json.get("reason") == reason, answer
    if field:
        assert answer.json["field"] == field, answer
    return answer.json


async def together(*calls):
    return await asyncio.gather(*calls)
