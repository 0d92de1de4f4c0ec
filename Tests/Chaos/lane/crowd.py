"""Clients of PresenceKit, all in one process of the tests' own (`Crowd`), driven and read line by line."""

import asyncio
import json
import os
import subprocess

from support import processes

from .voices import CrowdVoice

PROGRAM = os.environ.get("CROWD") or os.path.join(os.path.dirname(os.environ["PRESENCED"]), "chaos-crowd")


class Crowd:
    def __init__(self, ledger):
        self.ledger, self.members = ledger, {}

    async def start(self, log):
        with open(log, "ab") as complaints:
            self.process = await asyncio.create_subprocess_exec(
                PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, limit=2**20,
                start_new_session=True, preexec_fn=processes.end_with_parent)
        self.task = asyncio.create_task(self.listen())

    def tell(self, **order):
        self.process.stdin.write(json.dumps(order).encode() + b"\n")

    async def listen(self):
        async for line in self.process.stdout:
            report = json.loads(line)
            self.members[report["client"]].take(report)

    async def end(self):
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 5)
        except asyncio.TimeoutError:
            self.process.kill()
            await self.process.wait()
        self.task.cancel()


class Member:
    """One of these clients, with the interface of the other people."""

    kind = "PresenceKit"

    def __init__(self, user, line, mint, ledger, crowd, watches):
        self.user, self.line, self.ledger, self.crowd, self.watches = user, line, ledger, crowd, watches
        self.token = mint.token(user, expires=24 * 3600)
        self.wants_in = False
        self.state = "idle"
        self.view = {}
        self.answers = {}
        self.number = 0
        self.is_made = False
        self.voice = CrowdVoice(self)
        crowd.members[user] = self

    def take(self, report):
        if "log" in report:
            return self.voice.take(report)
        if state := report.get("state"):
            if state == "live" and self.wants_in:
                self.ledger.connected(self.user)
            elif state in ("reconnecting", "connecting") and self.state in ("live", "stale"):
                self.ledger.lost(self.user, report["at"])
            if state == "stale":
                self.ledger.heard_stale(self.user)
            truth = self.ledger.truth(self.user)
            if state in ("idle", "closed") and not self.wants_in and truth.manner == "said good-bye":
                # The client has reported it only now: until then the order was on its way.
                truth.left_at = report["at"]
            self.state = state
            self.says_nothing()
        elif "saved" in report:
            answer = self.answers.pop(report["number"], None)
            if answer and not answer.done():
                answer.set_result(report["saved"])
        else:
            user, status, version = report["user"], report["status"], report["version"]
            before = self.view.get(user)
            self.view[user] = (status, report.get("name"), version)
            if report["live"] and (before is None or before[0] != status):
                # After a reconnect the state may be new; only on a live connection is it a change.
                is_first = before is None or self.state != "live"
                self.ledger.shown(self.user, user, status, version, is_first)

    def come(self):
        self.ledger.arrives(self.user)
        self.wants_in = True
        if self.is_made:
            self.crowd.tell(come=self.user)
        else:
            self.is_made = True
            self.crowd.tell(
                make=self.user, user=self.user, url=self.line.url, token=self.token, watch=self.watches)

    def says_nothing(self):
        """Without a connection the client cannot say good-bye, and the session of the one before lingers."""
        truth = self.ledger.truth(self.user)
        if not self.wants_in and truth.manner == "said good-bye" and self.state in ("connecting", "reconnecting"):
            truth.manner = "line broke"

    async def leave(self, manner):
        self.wants_in = False
        self.ledger.leaves(self.user, manner)
        self.says_nothing()
        if manner != "said good-bye":
            self.line.let_nobody_back()
        if manner == "vanished":
            for way in self.line.ways:
                way.is_frozen = True
            # The client's side is over, but the servers do not notice.
        elif manner == "line broke":
            self.line.cut()
        self.crowd.tell(leave=self.user)

    def gone_with_server(self, at):
        self.wants_in = False
        self.ledger.leaves(self.user, "server killed", at)
        self.line.let_nobody_back()
        self.crowd.tell(leave=self.user)

    def hurry(self):
        """It notices silence by itself."""

    async def choose(self, status):
        truth = self.ledger.truth(self.user)
        truth.is_unsure = True
        if await self.ask(status=self.user, chosen=status):
            truth.chosen, truth.is_unsure = status, False

    async def ask(self, **order):
        """Whether it was done."""
        self.number += 1
        answer = self.answers[self.number] = asyncio.get_running_loop().create_future()
        self.crowd.tell(**order, number=self.number)
        try:
            return await asyncio.wait_for(answer, 10)
        except asyncio.TimeoutError:
            return False

    async def rename(self):
        truth = self.ledger.truth(self.user)
        name = f"{self.user} {self.number}"
        truth.maybe_names.add(name)
        saved = await self.ask(name=self.user, displayName=name)
        if saved:
            truth.name, truth.maybe_names = name, set()
        return {"type": "profileUpdated" if saved else "error", "code": "unavailable"}

    def shows(self, user):
        return self.view.get(user, ("offline", None, 0))

    @property
    def is_settled(self):
        return not self.wants_in or self.state == "live"

    @property
    def is_watching(self):
        return self.wants_in and self.state == "live"

    def close(self):
        self.wants_in = False
