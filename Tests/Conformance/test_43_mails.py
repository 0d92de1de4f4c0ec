"""Mails in the languages of users, from templates; and the mail about a new device."""

import email
import email.policy
import os
import re
import signal

import pytest

from support.accounts import ON, PASSWORD, Accounts
from support.documents import DOCS
from support.patience import eventually
from support.server import run

SHIPPED = os.path.join(DOCS, "..", "config", "mail")
NEW_DEVICE = "A new device signed in to your account"


def read(mail):
    return email.message_from_bytes(mail.encode(), policy=email.policy.default)


def content(part):
    return part.get_content().replace("\r\n", "\n")


async def mail_with(accounts, address, subject):
    def found():
        return [each for each in map(read, accounts.mails(address)) if each["Subject"] == subject]

    return (await eventually(found, f"the mail {subject}"))[-1]


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, newline="")
    return str(folder)


# Languages


async def test_mails_are_in_the_language_of_the_account(start):
    accounts = Accounts(start(ON | {"mail.templates": SHIPPED}))
    ana = await accounts.sign_up(preferredLanguage="de-AT")
    assert (await ana.me())["account"]["preferredLanguage"] == "de-AT"
    mail = await mail_with(accounts, ana.email, "Bitte bestätige deine E-Mail-Adresse")
    token = re.search(r"/verify#token=([A-Za-z0-9_-]+)", content(mail)).group(1)
    assert (await accounts.post("/v1/emails/verify", token=token)).status == 204
    # Those whose account is found by the address, too.
    await accounts.post("/v1/signin/mail", email=ana.email)
    assert re.search(r"\n {4}\d{6}\n", content((await mail_with(accounts, ana.email, "Dein Code zum Anmelden"))))
    # The language at the time of the mail counts.
    assert (await ana.call("PATCH", "/v1/me", {"changes": {"preferredLanguage": "fr"}})).status == 200
    await accounts.post("/v1/passwords/forgot", email=ana.email)
    await mail_with(accounts, ana.email, "Reset your password")
    bob = await accounts.sign_up()
    await mail_with(accounts, bob.email, "Confirm your email address")


@pytest.mark.parametrize("language", ["", "d", "de_AT", 5, "x" * 200])
async def test_a_sign_up_refuses_what_is_no_language(start, language):
    accounts = Accounts(start(ON))
    answer = await accounts.post("/v1/accounts", email=accounts.address(), password=PASSWORD, preferredLanguage=language)
    assert answer.status in (400, 422) and answer.json["field"] == "preferredLanguage", answer


async def test_a_guest_has_a_language(start):
    accounts = Accounts(start(ON | {"accounts.guests.enabled": True, "mail.templates": SHIPPED}))
    guest = await accounts.post("/v1/accounts", guest=True, preferredLanguage="de")
    assert guest.status == 201 and guest.json["account"]["preferredLanguage"] == "de"


# Values


async def test_names_of_users_are_values_in_both_forms_and_in_the_subject(start, tmp_path):
    folder = write(tmp_path / "mails", {
        "verify-email.en.txt": "Hello {{displayName}}, ö\r\n\r\nFor {{displayName}} at {{email}}:\r\n{{link}}\r\n",
        "verify-email.en.html": "<p title='{{displayName}}'>Für {{displayName}}</p>\n<a href=\"{{link}}\">x</a>\n"})
    accounts = Accounts(start(ON | {"mail.templates": folder}))
    name = "<b x=\"1\" y='2'>& {{link}}"
    ana = await accounts.sign_up(displayName=name)
    mail = await mail_with(accounts, ana.email, f"Hello {name}, ö")
    assert mail.get_content_type() == "multipart/alternative" and "Bcc" not in mail
    plain, html = list(mail.iter_parts())
    assert plain.get_content_type() == "text/plain" and html.get_content_type() == "text/html"
    assert content(plain).startswith(f"For {name} at {ana.email}:\n")
    text = content(html)
    safe = "&lt;b x=&quot;1&quot; y=&#39;2&#39;&gt;&amp; {{link}}"
    assert f"<p title='{safe}'>Für {safe}</p>" in text and "<b" not in text
    links = [re.search(r"/verify#token=([A-Za-z0-9_-]+)", content(part)).group(1) for part in (plain, html)]
    assert links[0] == links[1]
    assert (await accounts.post("/v1/emails/verify", token=links[1])).status == 204
    # `presenced mail` reads it back.
    listed = run("mail", "--data-dir", accounts.server.directory)
    assert f"Hello {name}, ö" in listed.stdout and "/verify#token=" in listed.stdout


# Bad templates


@pytest.mark.parametrize("name, text, reason", [
    ("verify-email.de.txt", "Hallo\n\n{{link}} {{token}}", "unknown placeholder {{token}}"),
    ("verify-email.de.txt", "\n\n{{link}}", "no subject"), ("verify.de.txt", "Hallo\n\n{{link}}", "is not a template"),
    ("verify-email.de.html", "{{link}}", "has no verify-email.de.txt"),
])
def test_a_bad_template_stops_the_start(tmp_path, name, text, reason):
    folder = write(tmp_path / "mails", {name: text})
    config = tmp_path / "presenced.yaml"
    config.write_text(f"accounts:\n  enabled: true\nmail:\n  templates: {folder}\n")
    ran = run("serve", "--config", str(config), "--data-dir", str(tmp_path / "data"), "--port", "0")
    assert ran.returncode == 78 and "mail.templates" in ran.stderr and name in ran.stderr and reason in ran.stderr, ran


def test_a_template_that_is_not_utf8_stops_the_start(tmp_path):
    folder = write(tmp_path / "mails", {})
    (tmp_path / "mails" / "new-device.de.txt").write_bytes(b"Neues Ger\xe4t\n\nx\n")
    config = tmp_path / "presenced.yaml"
    config.write_text(f"accounts:\n  enabled: true\nmail:\n  templates: {folder}\n")
    ran = run("serve", "--config", str(config), "--data-dir", str(tmp_path / "data"), "--port", "0")
    assert ran.returncode == 78 and "new-device.de.txt is not UTF-8" in ran.stderr, ran


async def test_templates_are_read_again_and_bad_ones_change_nothing(start, tmp_path):
    folder = write(tmp_path / "mails", {"reset-password.en.txt": "First\n\n{{link}}\n"})
    server = start(ON | {"mail.templates": folder, "auth.keyCheck": "0s"})
    accounts = Accounts(server)
    ana = await accounts.sign_up()
    await accounts.post("/v1/passwords/forgot", email=ana.email)
    await mail_with(accounts, ana.email, "First")
    write(tmp_path / "mails", {"reset-password.en.txt": "Second\n\n{{lnk}}\n"})
    for _ in range(2):
        server.process.send_signal(signal.SIGHUP)
        await eventually(lambda: "templates of mails not read anew" in server.whole_log(), "the log")
    assert "unknown placeholder {{lnk}}" in server.whole_log()
    assert server.whole_log().count("templates of mails not read anew") == 1
    write(tmp_path / "mails", {"reset-password.en.txt": "Third\n\n{{link}}\n"})
    server.process.send_signal(signal.SIGHUP)
    await eventually(lambda: "templates of mails read anew" in server.whole_log(), "the log")
    await accounts.post("/v1/passwords/forgot", email=ana.email)
    await mail_with(accounts, ana.email, "Third")
    assert ana.email not in server.whole_log()


# New devices


async def verified(accounts, **more):
    person = await accounts.sign_up(**more)
    token = await accounts.mail(person.email, 1, "verify")
    assert (await accounts.post("/v1/emails/verify", token=token)).status == 204
    return person


def device_mails(accounts, person):
    return [mail for mail in map(read, accounts.mails(person.email)) if mail["Subject"] == NEW_DEVICE]


async def new_code(accounts, person):
    before = len(accounts.code_mails(person.email))
    await accounts.post("/v1/signin/mail", email=person.email)
    await eventually(lambda: len(accounts.code_mails(person.email)) > before, "a code")
    return re.search(r"\r\n {4}(\d{6})\r\n", accounts.code_mails(person.email)[-1]).group(1)


async def settled(accounts, person):
    """Mails of a partition keep their order, so earlier ones are there with this one."""
    await new_code(accounts, person)
    return len(device_mails(accounts, person))


async def test_a_sign_in_from_a_new_device_is_mailed_once(start):
    accounts = Accounts(start(ON))
    phone, laptop = {"id": "phone-1", "kind": "phone", "name": "Ana's phone"}, {"id": "laptop-1", "kind": "desktop", "name": "<Laptop>\u00e4"}
    ana = await verified(accounts, device=phone)
    assert (await accounts.sign_in(ana.email, device=phone)).status == 200
    assert await settled(accounts, ana) == 0
    for _ in range(3):
        assert (await accounts.sign_in(ana.email, device=laptop)).status == 200
    mail, = await eventually(lambda: device_mails(accounts, ana), "the mail")
    assert re.search(r"\n {4}<Laptop>ä, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n", content(mail)), content(mail)
    # By code, too; and with another name it is the same device.
    code = await new_code(accounts, ana)
    assert (await accounts.post("/v1/sessions", email=ana.email, mailCode=code, device=laptop | {"name": "x"})).status == 200
    assert await settled(accounts, ana) == 1
    code = await new_code(accounts, ana)
    assert (await accounts.post("/v1/sessions", email=ana.email, mailCode=code, device={"kind": "tablet"})).status == 200
    await eventually(lambda: len(device_mails(accounts, ana)) == 2, "the mail")
    # A wrong password is no sign-in.
    assert (await accounts.sign_in(ana.email, "wrong password", device={"kind": "bot"})).status == 401
    assert await settled(accounts, ana) == 2


async def test_these_mails_are_bounded(start):
    accounts = Accounts(start(ON))
    ana = await verified(accounts)
    for number in range(8):
        assert (await accounts.sign_in(ana.email, device={"id": f"d{number}"})).status == 200
    assert await settled(accounts, ana) == 3


@pytest.mark.parametrize("make, most", [(verified, 3), (Accounts.sign_up, 0)])
async def test_mails_about_the_password_are_bounded_and_need_a_verified_address(start, make, most):
    """An address that is not verified may be a stranger's."""
    accounts = Accounts(start(ON))
    ana = await make(accounts)
    for _ in range(5):
        changed = await ana.call("POST", "/v1/me/password", {"password": PASSWORD, "newPassword": PASSWORD})
        assert changed.status == 204, changed
    await new_code(accounts, ana)
    subjects = [mail["Subject"] for mail in map(read, accounts.mails(ana.email))]
    assert subjects.count("Your password was changed") == most, subjects


async def test_an_address_that_is_not_verified_gets_none(start):
    accounts = Accounts(start(ON))
    ana = await accounts.sign_up()
    assert (await accounts.sign_in(ana.email, device={"id": "other"})).status == 200
    assert await settled(accounts, ana) == 0
