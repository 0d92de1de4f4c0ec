"""People with accounts: each signs up, performs successive calls with the account, deletes it and makes another."""

import asyncio
import time
from collections import Counter
from math import inf

from support.exchange import exchange
from support.linearizability import Call
from support.name_history import CLAIM, FREE, RELEASE

PATIENCE = 2.5
"""Seconds after which they stop waiting for an answer."""
UNTOUCHED = (429, 503)
"""Statuses of answers after which nothing was changed, unless the answer has `outcomeUnknown`."""


class Account:
    """A requested account, and its known state: `asked`, then `there`, then `leaving` or `deleted`."""

    def __init__(self, email, *passwords):
        self.email, self.passwords = email, list(passwords)
        self.state = "asked"
        self.tokens = {}
        self.began = None
        """The time of the first sign-up request that may still be repeated."""
        self.picture, self.is_picture_sure = None, True
        """The name of the last acknowledged picture; and whether no other may have replaced it since."""


class Visitor:
    """One person. In a history of a name, each sign-up is one user: its address."""

    def __init__(self, number, servers, picture, wanted, history, ledger, random_numbers):
        self.number, self.servers, self.picture, self.wanted = number, servers, picture, wanted
        self.history, self.ledger, self.random = history, ledger, random_numbers
        self.accounts = []
        self.done = Counter()
        """How many calls were answered, by their statuses."""

    async def stay(self, ended):
        while not ended.is_set():
            account = self.accounts[-1] if self.accounts else None
            if account is None or account.state in ("leaving", "deleted"):
                await self.sign_up()
            elif account.state == "asked":
                await self.ask_again(account)
            else:
                await self.act(account)
            await asyncio.sleep(self.random.uniform(0.05, 0.35))

    async def act(self, account):
        kinds = {self.want: 30, self.give_up: 10, self.look: 18, self.read: 16, self.refresh: 8, self.change_picture: 7,
                 self.sign_in: 6, self.delete: 5}
        await self.random.choices(list(kinds), kinds.values())[0](account)

    async def call(self, account, method, path, body=None, server=None, expected=(200,)):
        """Its beginning and end, the status and the answer. The status is `None` if the outcome is unknown, 0 if there was
        no effect."""
        server, began = server or self.random.choice(self.servers), time.monotonic()
        status, answer = None, None
        try:
            status, answer = await asyncio.wait_for(
                exchange(server, method, path, body, None if method == "POST" else account.tokens.get("accessToken")), PATIENCE)
        except ConnectionRefusedError:
            return began, time.monotonic(), 0, None
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            pass
        if status and status not in (*expected, *UNTOUCHED):
            self.ledger.breach(f"{method} {path} of {account.email} was answered {status} {answer}")
        if status in UNTOUCHED:
            status = None if (answer or {}).get("outcomeUnknown") else 0
        self.done[f"{method} {path.rsplit('/', 1)[0] if 'usernames' in path else path} {status}"] += 1
        return began, time.monotonic(), status, answer

    # Coming.

    async def sign_up(self):
        number = len(self.accounts)
        password = f"a password of visitor {self.number} {number}"
        account = Account(f"v{self.number}-{number}@example.org", password)
        self.accounts.append(account)
        what = self.random.random()
        if what < 0.3:
            await self.sign_up_named(account, self.random.choice(self.wanted))
        elif what < 0.5:
            await self.sign_up_twice(account)
        else:
            account.began = time.monotonic()
            await self.ask_again(account)

    async def ask_again(self, account):
        """Requests repeated with the same `idempotency` make one account. Otherwise only a sign-in can show it."""
        if account.began is None:
            return await self.sign_in(account)
        _, end, status, answer = await self.call(
            account, "POST", "/v1/accounts", {"email": account.email, "password": account.passwords[0],
                                              "idempotency": account.email}, expected=(201,))
        if status == 201:
            self.has(account, account.began, end, answer, None)

    async def sign_up_named(self, account, name):
        body = {"email": account.email, "password": account.passwords[0], "username": name}
        began, end, status, answer = await self.call(account, "POST", "/v1/accounts", body, expected=(201, 409))
        calls = self.history.of_names[name]
        if status == 409:
            self.history.put(began, end, account.email, name, 409)
        elif status != 0:
            calls.append(Call(began, end if status else inf, (CLAIM, account.email)))
        if status is None or end - began > 0.5:
            # It may have been given back, and taken once more.
            calls += [Call(began, inf, (RELEASE, account.email)), Call(began, inf, (CLAIM, account.email))]
        if status is None:
            self.history.own(began, inf, account.email, ("write", name))
        if status == 201:
            self.has(account, began, end, answer, name)
        elif status in (0, 409):
            account.state = "deleted"

    async def sign_up_twice(self, account):
        """Two with the same address at once, at two servers: one has it."""
        account.passwords.append(account.passwords[0] + " too")
        tries = await asyncio.gather(*(
            self.call(account, "POST", "/v1/accounts", {"email": account.email, "password": password}, server, (201, 409))
            for password, server in zip(account.passwords, self.random.sample(self.servers, 2))))
        made = [password for password, (_, _, status, _) in zip(account.passwords, tries) if status == 201]
        unknown = [password for password, (_, _, status, _) in zip(account.passwords, tries) if status is None]
        if len(made) > 1 or (not made and not unknown and any(status == 409 for _, _, status, _ in tries)):
            self.ledger.breach(f"of two sign-ups with {account.email}, {len(made)} were acknowledged")
        account.passwords = made or unknown or account.passwords
        for began, end, status, answer in tries:
            if status == 201:
                self.has(account, began, end, answer, None)
        if not made and not unknown:
            account.state = "deleted"

    def has(self, account, began, end, answer, name):
        account.state, account.tokens = "there", answer
        self.history.own(began, end, account.email, ("write", name))

    async def sign_in(self, account):
        """Also finds out whether there is an account; if there is none yet, the visitor makes another."""
        is_there = account.state == "there"
        for password in account.passwords:
            _, _, status, answer = await self.call(
                account, "POST", "/v1/sessions", {"email": account.email, "password": password},
                expected=(200,) if is_there else (200, 401))
            if status == 200:
                if not is_there:
                    account.passwords = [password]
                account.state, account.tokens = "there", answer
                return
            if status != 401:
                return
        account.state = "leaving"

    async def refresh(self, account):
        """A lost answer does not sign the visitor out: the token before the newest is valid, too."""
        _, _, status, answer = await self.call(
            account, "POST", "/v1/sessions/refresh", {"refreshToken": account.tokens["refreshToken"]})
        if status == 200:
            account.tokens = answer

    # Being called.

    async def want(self, account):
        name = self.random.choice(self.wanted)
        began, end, status, _ = await self.call(
            account, "PUT", "/v1/me/username", {"username": name}, expected=(200, 409))
        if status != 0:
            self.history.put(began, end, account.email, name, status)

    async def give_up(self, account):
        began, end, status, _ = await self.call(account, "DELETE", "/v1/me/username", expected=(204,))
        if status != 0:
            self.history.delete(began, end, account.email, status)

    async def look(self, account):
        name = self.random.choice(self.wanted)
        began, end, status, answer = await self.call(account, "GET", f"/v1/usernames/{name}")
        if status == 200:
            state = FREE if answer["available"] else answer["reason"]
            self.history.state(began, end, account.email, name, state)

    async def read(self, account):
        """The account, if it was answered."""
        began, end, status, answer = await self.call(account, "GET", "/v1/me")
        if status != 200:
            return None
        name = answer["account"].get("username")
        if answer["profile"].get("username") != name or answer["account"]["email"] != account.email:
            self.ledger.breach(f"{account.email} is told {answer}")
        self.history.me(began, end, account.email, name)
        return answer

    # The rest.

    async def change_picture(self, account):
        is_gift = self.random.random() < 0.3
        _, _, status, answer = await self.call(
            account, *(("DELETE", "/v1/me/photo") if is_gift else ("PUT", "/v1/me/photo", self.picture)),
            expected=(204,) if is_gift else (200,))
        if status:
            account.picture = None if is_gift else answer["photoURL"].rsplit("/", 1)[1]
        elif status is None:
            account.is_picture_sure = False

    async def delete(self, account):
        began, end, status, _ = await self.call(
            account, "DELETE", "/v1/me", {"password": account.passwords[0]}, expected=(204,))
        if status == 0:
            return
        account.state = "deleted" if status else "leaving"
        # The name is free within a sweep.
        self.history.delete(began, end, account.email, None)
