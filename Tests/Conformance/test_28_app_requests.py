"""Contact requests in the app at /app, and conversations that strangers begin."""

import pytest

from support.accounts import Accounts
from support.app import (  # noqa: F401 (a fixture)
    BUBBLES, REFUSED, accounts, answer, checked, direct, enter, fill, friends, press, settings, shot, shows, title, write)
from support.line import Line
from support.patience import eventually
from support.talks import say
from test_28_app_settings import pick

DIALOG = "document.querySelector('dialog[open]')"
REQUESTS = "[...document.querySelectorAll('[data-request]')]"
ROWS = f"{REQUESTS}.map((each) => each.querySelector('strong').textContent)"
STRANGER = "document.querySelector('.stranger:not([hidden])')"
BADGE = "[...document.querySelectorAll('.rail a')].find((each) => each.textContent.startsWith('People')).querySelector('.badge:not([hidden])')?.textContent"


async def contacts(client):
    return (await client.did("getVisibility"))["contacts"]


async def test_a_request_is_sent_shown_and_accepted(chromium, accounts, browser):
    (ana, bob), (at_ana, at_bob) = await friends(accounts, "Ana Lovelace", "Bob Ray")
    async with Line(accounts.server) as line, chromium, browser.session() as other:
        page = await enter(chromium, line, ana, expected=REFUSED)
        theirs = await enter(other, line, bob, expected=REFUSED)
        await page.run(f"location.hash = '/person/{bob.user}'")
        await press(page, "Ask Bob Ray to be a contact")
        await page.until(f"{DIALOG}?.querySelector('h2').textContent === 'Ask Bob Ray to be a contact?'")
        await fill(page, "askText", "We met in Lyon")
        await page.key("Enter")
        await shows(page, "Your request is sent.")
        # It comes at once, with a number at the place of people.
        await theirs.until(f"{ROWS}.join() === 'Ana Lovelace'")
        assert await theirs.value(BADGE) == "1 asking"
        assert "We met in Lyon" in await theirs.value(f"{REQUESTS}[0].innerText")
        await shot(theirs, "contact-request")
        # Another tab of the browser has it too, also one that is opened later.
        second = await other.page(line.origin + "/app#/people", expected=REFUSED)
        await second.until(f"{ROWS}.join() === 'Ana Lovelace'")
        await press(theirs, "Accept Ana Lovelace")
        await shows(theirs, "Ana Lovelace is among your people now.")
        for each in (theirs, second):
            await each.until(f"!{REQUESTS}.length && !{BADGE}")
            await each.until(f"!!document.querySelector('.people [data-user=\"{ana.user}\"]')")
        await page.until("[...document.querySelectorAll('.person button')].some((each) => each.ariaLabel === 'Remove Bob Ray')")
        assert await contacts(at_ana) == [bob.user] and await contacts(at_bob) == [ana.user]


async def test_a_refused_request_goes_and_the_asker_learns_nothing(chromium, accounts):
    (ana, bob), (at_ana, at_bob) = await friends(accounts, "Ana Lovelace", "Bob Ray")
    await at_bob.did("requestContact", user=ana.user)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await page.until(f"{ROWS}.join() === 'Bob Ray'")
        await press(page, "Refuse Bob Ray")
        await shows(page, "Bob Ray is not told that you refused.")
        await page.until(f"!{REQUESTS}.length")
        assert await contacts(at_ana) == await contacts(at_bob) == []
        # The same again is swallowed, and looks the same to Bob.
        await at_bob.did("requestContact", user=ana.user)
        await page.reload()
        await shows(page, "Nobody yet.")
        assert not await page.value(f"{REQUESTS}.length")


async def test_a_request_that_another_device_answers_leaves_this_one(chromium, accounts):
    (ana, bob), (at_ana, at_bob) = await friends(accounts, "Ana Lovelace", "Bob Ray")
    await at_bob.did("requestContact", user=ana.user, text="Hello")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await page.until(f"{ROWS}.join() === 'Bob Ray'")
        # Over a lost connection, too.
        line.cut()
        await shows(page, "No connection.")
        await at_ana.did("answerContact", user=bob.user, accept=True)
        line.mend()
        await page.until(f"!{REQUESTS}.length && !!document.querySelector('.people [data-user=\"{bob.user}\"]')")


@pytest.mark.parametrize("how", ["accept", "write"])
async def test_a_strangers_conversation_is_a_request_until_it_is_answered(chromium, accounts, how):
    (ana, eve), (at_ana, at_eve) = await friends(accounts, "Ana", "Eve Snow")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await settings(page, "Privacy")
        await page.until("document.querySelector('[name=from]')?.value === 'everyone' && !document.querySelector('[name=from]').closest('[hidden]')")
        await pick(page, "from", "contacts")
        await shows(page, "Saved.")
        id = await direct(at_eve, ana)
        await say(at_eve, id, "Do you know me?")
        await press(page, "Chats")
        await page.until("document.querySelector('.tag:not([hidden])')?.textContent === 'Request'")
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until(f"!!{STRANGER} && {BUBBLES}.join() === 'Do you know me?'")
        await shot(page, "stranger")
        info = (await at_eve.did("getConversation", conversation=id))["conversation"]
        assert [each.get("read", 0) for each in info["members"] if each["user"] == ana.user] == [0], "a look is not told"
        if how == "accept":
            await press(page, "Accept Eve Snow")
        else:
            await write(page, "I do")
        await page.until(f"!{STRANGER} && !document.querySelector('.tag:not([hidden])')")
        await eventually(lambda: read_by(at_eve, id, ana), "Eve sees that it is read")


async def read_by(client, id, person):
    info = (await client.did("getConversation", conversation=id))["conversation"]
    return any(each["user"] == person.user and each.get("read", 0) >= 1 for each in info["members"])


async def test_a_stranger_is_refused_blocked_and_reported(chromium, accounts):
    (ana, eve, sly), (at_ana, at_eve, at_sly) = await friends(accounts, "Ana", "Eve Snow", "Sly Fox")
    await at_ana.did("setVisibility", conversations={"from": "contacts"})
    talks = [await direct(each, ana) for each in (at_eve, at_sly)]
    for client, id in zip((at_eve, at_sly), talks):
        await say(client, id, "Hello")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED)
        await page.run(f"location.hash = '/talk/{talks[0]}'")
        await press(page, "Refuse Eve Snow")
        await shows(page, "The conversation is in the archive.")
        await shows(page, "Archived (1)")
        await page.run(f"location.hash = '/talk/{talks[1]}'")
        await page.until(f"!!{STRANGER}")
        await press(page, "Report Sly Fox")
        await page.until(f"{DIALOG}?.querySelector('h2').textContent === 'Report Sly Fox'")
        await page.run(f"{DIALOG}.querySelector('[type=submit]').click()")
        await shows(page, "Reported.")
        await press(page, "Block Sly Fox")
        await answer(page, "Block Sly Fox?", "Block")
        await title(page, "Chats")
        assert (await at_ana.did("getVisibility"))["blocks"] == [sly.user]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_requests_fit_a_phone_and_can_be_read(chromium, accounts, dark):
    (ana, eve), (at_ana, at_eve) = await friends(accounts, "Ana", "Eve Wolfeschlegelsteinhausenbergerdorff")
    await at_ana.did("setVisibility", conversations={"from": "contacts"})
    await at_eve.did("requestContact", user=ana.user, text="We have met at the conference in Lyon, in the year before the last one, near the coffee.")
    id = await direct(at_eve, ana)
    await say(at_eve, id, "Hello")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana, expected=REFUSED, width=360, height=740, dark=dark)
        await page.until(f"{REQUESTS}.length === 1")
        await checked(page, "requests", dark)
        await press(page, "Chats")
        await page.until("!!document.querySelector('.tag:not([hidden])')")
        await checked(page, "chats-request", dark)
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until(f"!!{STRANGER}")
        await checked(page, "stranger", dark)
