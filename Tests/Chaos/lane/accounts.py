"""Accounts, usernames and pictures under all faults: acknowledged changes, and the state in the end."""

import asyncio
import json
import os
import random
import time
from collections import Counter

from support.linearizability import GaveUp
from support.name_history import FREE, History, at_rest
from support.pictures import bare_png

from .visitors import Visitor

VISITORS = 6
WANTED = ["soup", "pie", "rice", "fig"]
PICTURE = bare_png(8, 8, 8, 2, bytes(8 * 25))
LATEST = 45
"""Seconds within which servers finish intents of others: they check every 10 s, less often while Redis rejects writes."""

STORED = """
local found = { accounts = {}, names = {}, emails = {}, pictures = {}, unfinished = {} }
local function rest(key, kind) return string.match(key, ':' .. kind .. ':(.+)$') end
for _, key in ipairs(redis.call('KEYS', '*')) do
    local user, picture = rest(key, 'user'), rest(key, 'photo')
    if user then
        local fields = { 'email', 'emailClaim', 'held', 'claim', 'photo', 'profile' }
        local held = redis.call('HMGET', key, unpack(fields))
        local account = { password = redis.call('HEXISTS', key, 'password') == 1 }
        for i, field in ipairs(fields) do account[field] = held[i] or nil end
        if account.email or account.held or account.password then found.accounts[user] = account end
    elseif picture then
        found.pictures[picture] = redis.call('PTTL', key)
    elseif rest(key, 'name') or rest(key, 'email') then
        local kind, claims = rest(key, 'name') and 'names' or 'emails', redis.call('HGETALL', key)
        for i = 1, #claims, 2 do found[kind][claims[i]] = claims[i + 1] end
    elseif string.match(key, ':unfinished$') then
        for _, intent in ipairs(redis.call('SMEMBERS', key)) do table.insert(found.unfinished, intent) end
    end
end
return cjson.encode(found)
"""
"""All data of accounts in Redis, read at one moment."""


class Accounts:
    def __init__(self, stage, ledger, random_numbers):
        self.stage, self.ledger = stage, ledger
        self.history = History(WANTED)
        self.visitors = [
            Visitor(number, stage.servers, PICTURE, WANTED, self.history, ledger, random.Random(random_numbers.random()))
            for number in range(VISITORS)]
        self.gave_up = None
        self.running, self.swept, self.settled, self.checked = [], 0, 0, 0

    def begin(self):
        self.ended = asyncio.Event()
        self.running = [asyncio.create_task(visitor.stay(self.ended)) for visitor in self.visitors]

    async def rest(self):
        """Visitors begin no new calls, and every call is answered or abandoned."""
        self.ended.set()
        await asyncio.gather(*self.running)

    def close(self):
        for task in self.running:
            task.cancel()

    # In the end.

    async def check(self):
        began = time.monotonic()
        stored = await self.stored()
        while stored["unfinished"] and time.monotonic() - began < LATEST:
            await asyncio.sleep(0.2)
            stored = await self.stored()
        self.settled = time.monotonic() - began
        if stored["unfinished"]:
            self.ledger.breach(f"unfinished after {LATEST} s: {stored['unfinished']}")
        self.check_stored(stored)
        await asyncio.gather(self.check_pictures(), *(self.check_accounts(visitor) for visitor in self.visitors))
        await self.check_names()
        await self.check_history()
        self.checked = time.monotonic() - began

    async def check_history(self):
        try:
            faults = await asyncio.to_thread(self.history.faults)
        except GaveUp as reason:
            # A run of many minutes may be too long for the search.
            self.gave_up = str(reason)
            return
        for fault in faults:
            calls = self.history.of_names.get(fault) or self.history.of_users[fault]
            told = "\n    ".join(map(repr, sorted(calls, key=lambda call: call.begin)))
            self.ledger.breach(f"no order explains what was told of {fault}:\n    {told}")

    async def stored(self):
        return json.loads(await self.stage.redis.ask("EVAL", STORED, "0"))

    def check_stored(self, stored):
        """Every claim is in its owner's record and the reverse, and no account is incomplete."""
        names = {account["held"]: f"{user} {account['claim']}" for user, account in stored["accounts"].items()
                 if "held" in account}
        emails = {account["email"]: f"{user} {account.get('emailClaim', 0)}"
                  for user, account in stored["accounts"].items() if "email" in account}
        for what, claimed, held in (("names", stored["names"], names), ("emails", stored["emails"], emails)):
            if dict(claimed) != held:
                self.ledger.breach(f"the claims of {what} are {claimed}, and their owners' records say {held}")
        for user, account in stored["accounts"].items():
            if not {"email", "password", "profile"} <= {field for field, value in account.items() if value}:
                self.ledger.breach(f"half an account: {user} {account}")

    async def check_accounts(self, visitor):
        """Acknowledged accounts exist, deleted ones do not, and none is incomplete."""
        for account in visitor.accounts:
            was = account.state
            for password in account.passwords:
                _, _, status, answer = await self.insist(visitor, account, "POST", "/v1/sessions", {
                    "email": account.email, "password": password}, (200, 401))
                if status == 200:
                    break
            if status == 200:
                account.state, account.tokens = "there", answer
            else:
                account.state = "deleted"
            if (was, account.state) in (("there", "deleted"), ("deleted", "there")):
                self.ledger.breach(f"{account.email} was {was}, and is {account.state}")
            if account.state == "there":
                await self.check_account(visitor, account, was == "there")
            else:
                await self.insist(visitor, account, "POST", "/v1/accounts", {
                    "email": account.email, "password": account.passwords[0], "idempotency": "again"}, (201,))

    async def check_account(self, visitor, account, is_sure):
        answer = await self.read(visitor, account)
        if answer is None:
            return self.ledger.breach(f"{account.email} cannot read their account")
        picture = answer["profile"].get("photoURL")
        picture = picture and picture.rsplit("/", 1)[1]
        if is_sure and account.is_picture_sure and picture != account.picture:
            self.ledger.breach(f"{account.email} has the picture {picture}, acknowledged was {account.picture}")
        if picture:
            await self.insist(visitor, account, "GET", f"/v1/photos/{picture}", None, (200,))

    async def read(self, visitor, account):
        for _ in range(20):
            if answer := await visitor.read(account):
                return answer
            await asyncio.sleep(0.3)
        return None

    async def insist(self, visitor, account, method, path, body, expected):
        for _ in range(20):
            answer = await visitor.call(account, method, path, body, expected=expected)
            if answer[2]:
                return answer
            await asyncio.sleep(0.3)
        self.ledger.breach(f"{method} {path} of {account.email} is never answered")
        return answer

    async def check_names(self):
        """Each name belongs to one account or is free: all are checked."""
        there = [(visitor, account) for visitor in self.visitors for account in visitor.accounts if account.state == "there"]
        if not there:
            # A breach ended the run before any sign-up.
            return
        own, free = {}, []
        for visitor, account in there:
            answer = await self.read(visitor, account)
            own[account.email] = answer and answer["account"].get("username")
        for name in WANTED:
            visitor, account = there[0]
            began, end, status, answer = await self.insist(visitor, account, "GET", f"/v1/usernames/{name}", None, (200,))
            state = FREE if answer["available"] else answer["reason"]
            self.history.state(began, end, account.email, name, state)
            if state == FREE:
                free.append(name)
        if not at_rest(own, free) or len(free) + sum(map(bool, own.values())) != len(WANTED):
            self.ledger.breach(f"names at rest: {own}, free are {free}")

    async def check_pictures(self):
        """After a sweep there is no file without an owner, except one that was replaced less than a minute ago."""
        folder = os.path.join(self.stage.directory, "photos")
        files = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names if name.endswith(".jpg")]
        # A sweep leaves files of less than ten minutes: an upload may be in progress.
        for file in files:
            os.utime(file, (time.time() - 3_600,) * 2)
        began = time.monotonic()
        while True:
            stored = await self.stored()
            owned = {account["photo"] for account in stored["accounts"].values() if "photo" in account}
            kept = {name for name, left in stored["pictures"].items() if left > 0}
            there = {os.path.basename(file) for file in files if os.path.exists(file)}
            nobodys = [name for name in there if name.removesuffix(".jpg").removesuffix("-small") not in owned | kept]
            if not nobodys or time.monotonic() - began > LATEST:
                break
            await asyncio.sleep(0.2)
        self.swept = len(files) - len(there)
        missing = [name for name in owned if not {f"{name}.jpg", f"{name}-small.jpg"} <= there]
        if nobodys or missing:
            self.ledger.breach(f"pictures that belong to nobody: {nobodys}; that are not there: {missing}")

    @property
    def counts(self):
        """Acknowledged accounts, claims and releases of names, and pictures."""
        done = sum((visitor.done for visitor in self.visitors), Counter())
        return (sum(len(visitor.accounts) for visitor in self.visitors), done["DELETE /v1/me 204"],
                done["POST /v1/sessions 200"], done["POST /v1/sessions/refresh 200"],
                done["PUT /v1/me/username 200"] + done["DELETE /v1/me/username 204"], done["PUT /v1/me/username 409"],
                done["PUT /v1/me/photo 200"], self.history.doubtful())
