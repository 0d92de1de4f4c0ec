"""Mails handed to a mail server: once it takes them, and not lost while it does not."""

import asyncio
import random
import re
import socket
from types import SimpleNamespace

import pytest
from aiosmtpd.controller import Controller

from support.accounts import ON, PASSWORD, Accounts
from support.api import API
from support.patience import PATIENCE, eventually
from support.ports import free_port
from support.relay import Relay


class Box:
    """The mails that a mail server has accepted."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):
        self.mails.append((envelope.mail_from, envelope.rcpt_tos, envelope.content.decode()))
        return "250 taken"


def mail_server(box, port):
    """A mail server with a given name: it would look up its name in the network, once a connection, for up to 20 seconds."""
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
    """Rejects recipients whose address begins like this."""

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
    """The assumption of the other tests: two numbers never give one mail."""
    accounts = Accounts(SimpleNamespace(directory=str(tmp_path)))
    (tmp_path / "outbox").mkdir()
    for number, name in enumerate(["7-late", "5-early", "6-between"], 1):
        text = f"From: a@b.org\r\nTo: ana@example.org\r\n\r\nhttps://a/verify#token={name}\r\n"
        (tmp_path / "outbox" / f"{name}.eml").write_bytes(text.encode())
        assert await accounts.mail("ana@example.org", number, "verify") == name
    assert [await accounts.mail("Ana@example.org", number, "verify") for number in (1, 2, 3)] == ["7-late", "5-early", "6-between"]


@pytest.mark.parametrize("settings, name", [
    ({"accounts.linkBase": "https://chat.example.com/app", "mail.from": "ann@example.org"}, "chat.example.com"),
    ({"mail.from": "Ann <ann@example.org>"}, "example.org"),
    ({"accounts.linkBase": "http://192.0.2.7:8080", "mail.from": "ann@example.org"}, "example.org"),
    ({"accounts.linkBase": "http://localhost:4040", "mail.from": "ann@localhost"}, socket.gethostname().lower()),
])
async def test_the_mail_server_is_greeted_by_a_full_name(start, settings, name):
    """Many relays refuse a client that calls itself localhost, with 421 or, to each recipient, with 504."""
    with Relay() as relay:
        accounts = Accounts(start(ON | settings | {"mail.url": relay.url}, shards=1))
        ana = await accounts.sign_up()
        await eventually(lambda: relay.recipients == [ana.email], "the mail")
    assert relay.lines[0] == f"EHLO {name}"


async def test_what_a_mail_server_says_is_logged_without_its_addresses(start):
    """Random sentences of relays: lines, control characters, addresses with and without brackets."""
    drawn = random.Random(6)
    person = "somebody-9134"

    def sentence():
        parts = [f"<{person}@example.org>: Recipient address rejected", f"5.1.1 {person}@Example.ORG unknown",
                 f"user {person} has moved to <other@elsewhere.example>", "see https://relay.example/help\x07\x1b[31m",
                 "Helo command rejected: need fully-qualified hostname", "ü" * 30, "try later " * 40]
        return " ".join(drawn.sample(parts, 3))

    said = [sentence() for _ in range(8)]
    rest = list(said)

    def rule(verb, line):
        if verb == "RCPT" and rest:
            one = rest.pop()
            return f"550-{one[:60]}\r\n550 {one[60:]}"

    with Relay(rule) as relay:
        server = start(ON | {"mail.url": relay.url, "mail.from": "ann@example.org"}, shards=1)
        accounts = Accounts(server)
        for number in range(len(said)):
            await accounts.sign_up(f"{person}+{number}@example.org" if number else f"{person}@example.org")
        await eventually(lambda: server.whole_log().count("mail given up") == len(said), "all are given up")
    lines = [line for line in server.whole_log().splitlines() if "mail given up" in line]
    assert all("550 " in line and len(line) < 400 and line.isprintable() and line.isascii() for line in
               (line.replace("…", "") for line in lines)), lines
    assert not [line for line in lines if "@" in line], lines
    assert any("Helo command rejected: need fully-qualified hostname" in line for line in lines)


@pytest.mark.parametrize("code", ["421", "450", "451", "452", "454", "521", "550"])
@pytest.mark.parametrize("stage", ["RCPT", "DATA", "."])
async def test_a_recipient_whose_mail_is_refused_delays_nobody_elses(start, stage, code):
    current = []

    def rule(verb, line):
        if verb == "RCPT":
            current[:] = [line]
        if verb == stage and "poison" in current[0]:
            return f"{code} 4.3.2 not now"

    with Relay(rule) as relay:
        server = start(ON | {"mail.url": relay.url, "mail.from": "ann@example.org", "partitions": 1}, shards=1)
        accounts = Accounts(server)
        await accounts.sign_up(accounts.address("poison"))
        await eventually(lambda: "the mail server did not take it: " + code in server.whole_log(), "the refusal")
        people = [await accounts.sign_up() for _ in range(3)]
        # Shorter than the pause after a mail server that takes none (5 s).
        await eventually(lambda: sorted(relay.recipients) == sorted(person.email for person in people),
                         "all others' mails", within=4)


@pytest.mark.parametrize("stage, refusal", [
    ("CONNECT", "421 too busy"), ("CONNECT", "554 no service"), ("EHLO", "421 not you"), ("MAIL", "553 not your sender"),
    ("MAIL", "530 authentication required"), ("RCPT", "530 5.7.0 authentication required"),
])
async def test_a_mail_server_that_takes_nobodys_mail_gets_it_later(start, stage, refusal):
    """No mail is dropped because its sender was rejected: the operator or the relay will fix that."""
    closed = []

    def rule(verb, line):
        return refusal if verb == stage and not closed else None

    with Relay(rule) as relay:
        server = start(ON | {"mail.url": relay.url, "mail.from": "ann@example.org"}, shards=1)
        accounts = Accounts(server)
        ana = await accounts.sign_up()
        await eventually(lambda: "mail not sent" in server.whole_log(), "the refusal")
        assert refusal in server.whole_log()
        closed.append(True)
        await eventually(lambda: relay.recipients == [ana.email], "the mail", within=3 * PATIENCE)


async def test_mails_of_a_deleted_account_are_not_sent(start):
    with Relay(lambda verb, line: "451 not now" if verb == "RCPT" and not is_open else None) as relay:
        is_open = []
        redis = start.redis()
        server = start(ON | {"mail.url": relay.url, "mail.from": "ann@example.org", "partitions": 1}, redis=redis, shards=1)
        accounts = Accounts(server)
        ana, bob = await accounts.sign_up(), await accounts.sign_up(accounts.address("bob"))
        new = accounts.address("new")
        assert (await ana.call("POST", "/v1/me/email", {"password": PASSWORD, "email": new})).status == 202
        await eventually(lambda: server.whole_log().count("mail not sent") >= 3, "each was tried")
        assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
        is_open.append(True)
        await eventually(lambda: bob.email in relay.recipients, "the other's mail", within=3 * PATIENCE)
        left = redis.command("ZRANGE", "presence:{p000}:mailing", "0", "-1") + redis.command("LRANGE", "presence:{p000}:mail", "0", "-1")
    for address in (ana.email, new):
        assert address not in relay.recipients and address not in left
