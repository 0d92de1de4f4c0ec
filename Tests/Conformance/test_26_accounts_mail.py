"""Mails handed to a mail server: once it takes them, and not lost while it does not."""

import asyncio
import re
from types import SimpleNamespace

from aiosmtpd.controller import Controller

from support.accounts import ON, Accounts
from support.api import API
from support.patience import PATIENCE, eventually
from support.ports import free_port


class Box:
    """What a mail server has taken."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):
        self.mails.append((envelope.mail_from, envelope.rcpt_tos, envelope.content.decode()))
        return "250 taken"


def mail_server(box, port):
    """A mail server that is told its name: it would ask the network for it, once a connection, for up to 20 seconds."""
    return Controller(box, hostname="127.0.0.1", port=port, server_hostname="localhost")


async def test_mails_wait_until_the_mail_server_takes_them(start):
    port, box = free_port(), Box()
    server = start(ON | {"mail.url": f"smtp://127.0.0.1:{port}", "mail.from": "Ann <ann@example.org>"}, shards=1)
    accounts = Accounts(server)
    ana = await accounts.sign_up()

    async def failed():
        return await API(server).metric("presence_mails_failed_total") >= 1

    await eventually(failed, "a try that failed")
    controller = mail_server(box, port)
    await asyncio.to_thread(controller.start)
    try:
        await eventually(lambda: box.mails, "the mail", within=3 * PATIENCE)
    finally:
        await asyncio.to_thread(controller.stop)
    sender, recipients, text = box.mails[0]
    assert sender == "ann@example.org" and recipients == [ana.email]
    assert "Subject: Confirm your email address\r\n" in text
    token = re.search(r"/verify#token=([A-Za-z0-9_-]+)", text).group(1)
    assert (await accounts.post("/v1/emails/verify", token=token)).status == 204
    assert not accounts.mails(ana.email), "nothing is written beside it"
    assert ana.email not in server.whole_log()


async def test_a_server_sends_what_another_has_left_behind(start):
    redis = start.redis()
    port, box = free_port(), Box()
    first = start(ON | {"mail.url": f"smtp://127.0.0.1:{port}", "partitions": 8}, redis=redis, shards=1)
    accounts = Accounts(first)
    ana = await accounts.sign_up()

    async def failed():
        return await API(first).metric("presence_mails_failed_total") >= 1

    # Until then it is the first's to send.
    await eventually(failed, "a try that failed")
    first.kill()
    controller = mail_server(box, port)
    await asyncio.to_thread(controller.start)
    try:
        start(ON | {"mail.url": f"smtp://127.0.0.1:{port}", "partitions": 8}, redis=redis, shards=1)
        await eventually(lambda: box.mails, "the mail", within=3 * PATIENCE)
    finally:
        await asyncio.to_thread(controller.stop)
    assert box.mails[0][1] == [ana.email]


class ChoosyBox(Box):
    """Knows nobody whose address begins so."""

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"


async def test_a_mail_that_is_refused_for_good_is_given_up_and_holds_up_no_other(start):
    port, box = free_port(), ChoosyBox()
    controller = mail_server(box, port)
    await asyncio.to_thread(controller.start)
    try:
        server = start(ON | {"mail.url": f"smtp://127.0.0.1:{port}", "partitions": 1})
        accounts = Accounts(server)
        nobodies = [await accounts.sign_up(accounts.address("nobody")) for _ in range(12)]
        ana = await accounts.sign_up()
        await eventually(lambda: box.mails, "the mail")
        await eventually(lambda: server.whole_log().count("mail given up") == 12, "the others are given up")
    finally:
        await asyncio.to_thread(controller.stop)
    assert [recipients for _, recipients, _ in box.mails] == [[ana.email]]
    assert not [person for person in nobodies if person.email in server.whole_log()]


async def test_mails_are_numbered_as_they_are_first_seen(tmp_path):
    """What the other tests rely on: two numbers never give one mail."""
    accounts = Accounts(SimpleNamespace(directory=str(tmp_path)))
    (tmp_path / "outbox").mkdir()
    for number, name in enumerate(["7-late", "5-early", "6-between"], 1):
        text = f"From: a@b.org\r\nTo: ana@example.org\r\n\r\nhttps://a/verify#token={name}\r\n"
        (tmp_path / "outbox" / f"{name}.eml").write_bytes(text.encode())
        assert await accounts.mail("ana@example.org", number, "verify") == name
    assert [await accounts.mail("Ana@example.org", number, "verify") for number in (1, 2, 3)] == ["7-late", "5-early", "6-between"]
