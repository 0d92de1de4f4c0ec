"""Safety in the app at /app: the directory, reports, refused texts, bans, the download of one's own data, and deletion with
messages."""

import io
import json
import tarfile

import pytest

from support.accounts import PASSWORD, Accounts
from support.app import (  # noqa: F401 (a fixture)
    BUBBLES, EVERYTHING, REFUSED, accounts, act, answer, checked, details, direct, enter, fill, friends, press, settings, shot, shows,
    title, write)
from support.browser import NETWORK
from support.line import Line
from support.patience import eventually
from support.room import Room
from support.talks import say

FOUND = "[...document.querySelectorAll('.found li')]"
NAMES = f"{FOUND}.map((each) => each.querySelector('strong').textContent)"
DIALOG = "document.querySelector('dialog[open]')"


async def reports(accounts, state="open"):
    found = await accounts.api.request("GET", f"/v1/reports?state={state}&limit=100", token=Room(accounts.server).backend)
    return found.json["reports"]


@pytest.fixture
def directory(start):
    return Accounts(start(EVERYTHING | {"accounts.directory": True}))


# Finding people


async def test_people_are_found_while_a_name_is_typed(chromium, directory):
    (ana, bob, bea, _), (_, at_bob, *_) = await friends(directory, "Ana Lovelace", "Bob Ray", "Bobbie Bea", "Cy")
    async with Line(directory.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await shows(page, "Find people by name or username")
        await fill(page, "wanted", "bo")
        await page.until(f"{NAMES}.sort().join() === 'Bob Ray,Bobbie Bea'")
        assert await page.value("document.querySelector('people-list .said[role=status]').textContent") == "2 people found"
        await shot(page, "people-directory")
        await fill(page, "wanted", "bobbie")
        await page.until(f"{NAMES}.join() === 'Bobbie Bea'")
        # The Enter key searches without the pause.
        await fill(page, "wanted", "Bob R")
        await page.key("Enter")
        await page.until("document.activeElement.ariaLabel === 'Add Bob Ray to people'")
        await page.key("Enter")
        await page.until(f"!!document.querySelector('.people [data-user=\"{bob.user}\"]') && !{FOUND}.length")
        await fill(page, "wanted", "bob r")
        await page.until(f"{FOUND}[0]?.innerText.includes('already added')")
        assert await page.value(f"{FOUND}[0].querySelector('button').hidden")
        await fill(page, "wanted", "Zoe Nobody")
        await page.key("Enter")
        await shows(page, "Nobody is found as Zoe Nobody.")
        # The own name is no result, and neither is a user who hides from look-ups.
        await fill(page, "wanted", "Ana L")
        await page.key("Enter")
        await shows(page, "Nobody is found as Ana L.")
        await at_bob.did("setVisibility", visibility={"findable": "nobody"})
        await fill(page, "wanted", "bob")
        await page.until(f"{NAMES}.join() === 'Bobbie Bea'")


# Reports


async def test_a_message_is_reported_and_its_sender_blocked(chromium, accounts):
    (ana, eve), (at_ana, at_eve) = await friends(accounts, "Ana", "Eve Snow")
    id = await direct(at_eve, ana)
    await say(at_eve, id, "Buy this")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until(f"{BUBBLES}.join() === 'Buy this'")
        await shows(page, "Eve Snow:")
        await act(page, "Report", "Buy this")
        await page.until(f"{DIALOG}?.querySelector('h2').textContent === 'Report this message of Eve Snow'")
        assert await page.value("document.activeElement.name") == "reason"
        await shot(page, "report")
        # It is nothing until it is sent.
        await press(page, "Cancel")
        await page.until(f"!{DIALOG}")
        assert await reports(accounts) == []
        await act(page, "Report", "Buy this")
        await page.until("document.activeElement.name === 'reason'")
        await page.run(f"{DIALOG}.querySelector('[name=reason]').value = 'insults'")
        await fill(page, "reportText", "For the third time")
        await page.run(f"{DIALOG}.querySelector('[name=block]').click(); {DIALOG}.querySelector('[type=submit]').click()")
        await shows(page, "Reported, and Eve Snow is blocked.")
        await page.until(f"!{DIALOG}")
        [report] = await reports(accounts)
        assert (report["by"], report["user"], report["conversation"], report["reason"], report["text"]) == (ana.user, eve.user, id, "insults", "For the third time")
        assert report["message"]["text"] == "Buy this"
        assert (await at_ana.did("getVisibility"))["blocks"] == [eve.user]
        # One's own messages are not reported.
        await at_ana.did("unblock", users=[eve.user])
        await write(page, "Stop")
        row = "[...document.querySelectorAll('li[data-message]')].at(-1)"
        await page.until(f"{row}.querySelector('.text').textContent === 'Stop'")
        await page.run(f"{row}.focus()")
        await page.key("Enter")
        await page.until("!!document.querySelector('[role=menu]:popover-open')")
        assert "Report" not in await page.value("document.querySelector('[role=menu]:popover-open').innerText")


async def test_a_person_and_a_group_are_reported(chromium, accounts):
    (ana, eve, bob), (_, at_eve, _) = await friends(accounts, "Ana", "Eve Snow", "Bob")
    group = (await at_eve.did("createConversation", participants=[ana.user, bob.user], name="Offers"))["conversation"]["id"]
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await page.run(f"location.hash = '/person/{eve.user}'")
        await press(page, "Report Eve Snow")
        await page.until(f"{DIALOG}?.querySelector('h2').textContent === 'Report Eve Snow'")
        await page.run(f"{DIALOG}.querySelector('[type=submit]').click()")
        await shows(page, "Reported. The operators of this server look at it.")
        await page.run(f"location.hash = '/talk/{group}'")
        await title(page, "Offers")
        await details(page)
        await press(page, "Report the group")
        await page.until(f"{DIALOG}?.querySelector('h2').textContent === 'Report this group'")
        assert not await page.value(f"!!{DIALOG}.querySelector('[name=block]')")
        await page.run(f"{DIALOG}.querySelector('[type=submit]').click()")
        await page.until(f"!{DIALOG}")
        found = await reports(accounts)
        assert {(each.get("user"), each.get("conversation")) for each in found} == {(eve.user, None), (None, group)}


# Refusals of the operator


async def test_a_refused_text_is_shown_at_the_message_with_its_reason(chromium, start, tmp_path):
    words = tmp_path / "words"
    words.write_text("casino\n")
    accounts = Accounts(start(EVERYTHING | {"messages.blockedWords": str(words)}))
    (ana, bob), (_, at_bob) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(at_bob, ana)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await write(page, "Hello", "Come to the casino", "Bye")
        refused = "[...document.querySelectorAll('.mine.failed')]"
        await page.until(f"{refused}.length === 1 && {refused}[0].querySelector('.status').innerText.includes('Not sent: This text has a word that is not allowed here')")
        assert await page.value(f"{refused}[0].querySelector('.text').textContent") == "Come to the casino"
        await shot(page, "message-refused")
        # The others are sent, and an edit of one is refused as well.
        await eventually(lambda: texts(accounts, id, ["Hello", "Bye"]), "both are stored")
        await act(page, "Edit", "Hello")
        await page.run("const input = document.querySelector('.editing textarea'); input.value = 'Hello casino'; input.dispatchEvent(new Event('input', { bubbles: true }))")
        await press(page, "Save")
        await page.until(f"{refused}.some((each) => /Not changed: ./.test(each.querySelector('.status').innerText))")


async def texts(accounts, id, wanted):
    answer = await accounts.api.request("GET", f"/v1/conversations/{id}/messages", token=Room(accounts.server).backend)
    return [each["text"] for each in answer.json["messages"]] == wanted


async def test_a_banned_user_is_told_why_and_until_when(chromium, accounts):
    person = await accounts.sign_up(displayName="Eve")
    backend = Room(accounts.server).backend
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, person, expected=REFUSED)
        until = 4_102_444_800_000
        banned = await accounts.api.request("PUT", f"/v1/users/{person.user}/ban", {"reason": "Advertising", "until": until}, token=backend)
        assert banned.status == 200
        shown = await page.value(f"new Date({until}).toLocaleString()")
        await page.until(f"document.querySelector('.banner').innerText.startsWith('You are banned until {shown}: Advertising')")
        await shot(page, "banned")
        # The page does not connect by itself, and does when the user presses the button after the end.
        ended = await accounts.api.request("DELETE", f"/v1/users/{person.user}/ban", token=backend)
        assert ended.status == 204
        await press(page, "Connect")
        await page.until("document.querySelector('.banner').textContent === ''")


async def test_a_user_who_is_banned_in_a_conversation_sees_it_at_the_message(chromium, accounts):
    (ana, bob), (_, at_bob) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(at_bob, ana)
    backend = Room(accounts.server).backend
    assert (await accounts.api.request("PUT", f"/v1/users/{ana.user}/ban", {"reason": "Insults", "scope": f"conversation:{id}"}, token=backend)).status == 200
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await write(page, "Hello")
        await page.until("document.querySelector('.mine.failed .status')?.innerText.includes('Not sent: You are banned: Insults')")


# One's own data


async def test_the_own_data_is_downloaded_as_a_file(chromium, accounts, tmp_path):
    (ana, bob), (at_ana, at_bob) = await friends(accounts, "Ana", "Bob Ray")
    await say(at_ana, await direct(at_bob, ana), "Hello Bob")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=NETWORK)
        await chromium.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), browserContextId=chromium.context)
        await settings(page, "Account")
        await press(page, "Download my data")
        await shows(page, "Your data is in the file presence-data.tar.")
        file = tmp_path / "presence-data.tar"
        await eventually(lambda: file.is_file() and file.stat().st_size, "the file is there")
        with tarfile.open(fileobj=io.BytesIO(file.read_bytes())) as tar:
            lines = [json.loads(each) for each in tar.extractfile("export.jsonl").read().splitlines()]
        assert {"type": "user", "user": ana.user} in lines and "Hello Bob" in json.dumps(lines)
        await shot(page, "own-data")
        line.cut()
        await press(page, "Download my data")
        await shows(page, "Network error.")
        line.mend()


async def test_an_account_is_deleted_with_all_that_was_written(chromium, accounts):
    (ana, bob), (at_ana, at_bob) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(at_bob, ana)
    await say(at_ana, id, "Hello Bob")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await settings(page, "Account")
        await page.run(f"""
            document.querySelector("[name=messages]").value = "delete";
            [...document.querySelectorAll("[name=password]")].at(-1).value = {PASSWORD!r};""")
        await press(page, "Delete my account")
        await answer(page, "Delete your account for good, with all that you wrote?", "Delete")
        await title(page, "Sign in")
        await eventually(lambda: texts(accounts, id, [""]), "the message is emptied")


# How it looks


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_dialogs_and_pages_of_safety_fit_a_phone_and_can_be_read(chromium, directory, dark):
    (ana, eve), (_, at_eve) = await friends(directory, "Ana", "Eve Wolfeschlegelsteinhausenbergerdorff")
    async with Line(directory.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED, width=360, height=740, dark=dark)
        await fill(page, "wanted", "eve")
        await page.until(f"{FOUND}.length === 1")
        await checked(page, "found", dark)
        await page.run(f"location.hash = '/person/{eve.user}'")
        await press(page, "Report Eve Wolfeschlegelsteinhausenbergerdorff")
        await page.until(f"!!{DIALOG}")
        await checked(page, "report", dark)
        # By keyboard alone: Escape closes it, and the focus returns.
        await page.run("document.activeElement.blur()")
        await page.key("Escape")
        await page.until(f"!{DIALOG}")
        await settings(page, "Account")
        await checked(page, "account", dark)
