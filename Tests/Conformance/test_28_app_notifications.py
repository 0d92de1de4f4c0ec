"""Notification settings in the app at /app: kinds, messages, texts, quiet hours, and while the user is busy."""

import json

import pytest

from support.accounts import Accounts
from support.app import EVERYTHING, REFUSED, checked, enter, fill, press, settings, shot, shows, title
from support.line import Line
from test_28_app_settings import pick

READY = "!!document.querySelector('[name=quiet]')?.getClientRects().length"
KINDS = [{"kind": "order", "name": "Orders"}, {"kind": "news", "name": "News"}]
ZONE = "Intl.DateTimeFormat().resolvedOptions().timeZone"


@pytest.fixture
def accounts(start):
    return Accounts(start(EVERYTHING | {"notifications.kinds": KINDS}))


async def stored(person):
    answer = await person.call("GET", "/v1/me/notificationSettings")
    assert answer.status == 200, answer
    return answer.json


async def tick(page, name):
    await page.run(f"document.querySelector({f'[name={json.dumps(name)}]'!r}).click()")


async def saved(page):
    await shows(page, "Saved.")
    await page.run("document.querySelector('.note').remove(); document.activeElement.blur()")


async def opened(chromium, line, person, **size):
    page = await enter(chromium, line, person, expected=REFUSED, **size)
    await settings(page, "Notifications")
    await page.until(READY)
    return page


async def test_what_is_pushed_is_chosen_and_kept(chromium, accounts):
    person = await accounts.sign_up(displayName="Ana")
    async with Line(accounts.server) as line, chromium:
        page = await opened(chromium, line, person)
        for name, value in {"direct": "none", "groups": "none", "preview": "false", "whileBusy": "hold"}.items():
            await pick(page, name, value)
            await saved(page)
        assert await page.value("[...document.querySelectorAll('.kind legend')].map((each) => each.textContent).join()") == "Orders,News"
        await tick(page, "push order")
        await saved(page)
        # A kind without a place in the list is not pushed either.
        await tick(page, "inbox news")
        await saved(page)
        assert await page.value("document.querySelector('[name=\"push news\"]').disabled")
        kept = await stored(person)
        assert kept["messages"] == {"direct": "none", "groups": "none"} and kept["preview"] is False and kept["whileBusy"] == "hold"
        assert kept["kinds"] == {"order": {"inbox": True, "push": False}, "news": {"inbox": False, "push": True}}
        await shot(page, "notifications")
        # Another device changes it, and this one follows. It is the same after a reload.
        changed = await person.call("PUT", "/v1/me/notificationSettings", kept | {"messages": {"direct": "all", "groups": "none"}})
        assert changed.status == 200
        await page.until("document.querySelector('[name=direct]').value === 'all'")
        await page.reload()
        await title(page, "Notifications")
        await page.until("document.querySelector('[name=whileBusy]')?.value === 'hold' && !document.querySelector('[name=\"push order\"]').checked")


async def test_quiet_hours_are_set_with_the_time_zone_of_the_browser_and_ended(chromium, accounts):
    person = await accounts.sign_up(displayName="Ana")
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, person, expected=REFUSED)
        await page.send("Emulation.setTimezoneOverride", timezoneId="Europe/Lisbon")
        await settings(page, "Notifications")
        await page.until(READY)
        await tick(page, "quiet")
        assert await page.value("document.querySelector('[name=quietZone]').value") == "Europe/Lisbon"
        await page.run("document.querySelector('[name=quietFrom]').value = '23:15'; document.querySelector('[name=quietTo]').value = '06:30'")
        for day in (6, 7):
            await tick(page, f"day {day}")
        await tick(page, "urgent")
        await press(page, "Save")
        await shows(page, "Saved")
        wanted = {"timezone": "Europe/Lisbon", "from": "23:15", "to": "06:30", "days": [1, 2, 3, 4, 5], "allow": ["urgent"]}
        assert (await stored(person))["quiet"] == wanted
        await shot(page, "quiet-hours")
        # An unknown zone has an error at its field, and unsaved changes lead to a question.
        await fill(page, "quietZone", "Europe/Nowhere")
        await press(page, "Save")
        await shows(page, "This server does not know this time zone.")
        await press(page, "People")
        await page.until("document.querySelector('dialog[open] p')?.textContent.startsWith('You have unsaved changes.')")
        await page.run("[...document.querySelectorAll('dialog[open] button')].find((each) => each.textContent === 'Cancel').click()")
        # On a device elsewhere, its zone is proposed.
        await press(page, "Use Europe/Lisbon, the time zone of this device")
        assert await page.value("document.querySelector('[name=quietZone]').value") == "Europe/Lisbon"
        await tick(page, "quiet")
        await press(page, "Save")
        await shows(page, "Saved")
        assert "quiet" not in await stored(person)


async def test_without_days_and_times_nothing_is_saved(chromium, accounts):
    person = await accounts.sign_up(displayName="Ana")
    async with Line(accounts.server) as line, chromium:
        page = await opened(chromium, line, person)
        await tick(page, "quiet")
        await page.run("document.querySelector('[name=quietFrom]').value = ''")
        await press(page, "Save")
        await shows(page, "Please fill in this field.")
        await page.run("document.querySelector('[name=quietFrom]').value = '22:00'")
        for day in range(1, 8):
            await tick(page, f"day {day}")
        await press(page, "Save")
        await shows(page, "Please choose at least one night.")
        assert (await stored(person))["version"] == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_it_fits_a_phone_and_can_be_read_and_used_by_keyboard(chromium, accounts, dark):
    person = await accounts.sign_up(displayName="Ana")
    async with Line(accounts.server) as line, chromium:
        page = await opened(chromium, line, person, width=360, height=740, dark=dark)
        await page.run("document.querySelector('[name=quiet]').focus()")
        await page.key(" ")
        await page.until("document.querySelector('[name=quiet]').checked && document.querySelector('[name=quietFrom]').getClientRects().length")
        await checked(page, "notifications", dark)
        await page.run("document.querySelector('[name=urgent]').scrollIntoView({ block: 'center' })")
        await shot(page, f"quiet-360-{'dark' if dark else 'light'}")
