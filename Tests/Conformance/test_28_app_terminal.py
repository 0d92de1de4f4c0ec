"""Two browsers and a PresenceKit terminal in one conversation, while the server is killed and restarted."""

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest

from support.accounts import Accounts
from support.app import BUBBLES, EVERYTHING, STATUS, enter, stored, title, write
from support.line import Line
from support.patience import PATIENCE, eventually
from support.room import Room
from support.server import BINARY

CHAT = os.path.join(os.path.dirname(BINARY), "presence-chat")


class Terminal:
    """presence-chat on a terminal of its own, and its whole output."""

    def __init__(self, url, token, storage, *arguments):
        self.end, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            [CHAT, *arguments, "--url", url, "--storage", storage], stdin=inside, stdout=inside, stderr=inside,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), env=os.environ | {"PRESENCE_TOKEN": token, "TERM": "xterm-256color"})
        os.close(inside)
        os.set_blocking(self.end, False)
        self.shown = b""
        asyncio.get_running_loop().add_reader(self.end, self.read)

    def read(self):
        try:
            self.shown += os.read(self.end, 65_536)
        except OSError:
            asyncio.get_running_loop().remove_reader(self.end)

    async def shows(self, text):
        try:
            await eventually(lambda: text.encode() in self.shown, f"{text!r} on the terminal", within=2 * PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.shown[-2_000:]}") from None

    def write(self, text):
        os.write(self.end, text.encode() + b"\r")

    def close(self):
        asyncio.get_running_loop().remove_reader(self.end)
        self.process.kill()
        self.process.wait()
        os.close(self.end)


@pytest.mark.skipif(not os.path.exists(CHAT), reason="presence-chat is not built")
async def test_browsers_and_a_terminal_talk_over_a_kill(chromium, browser, start, tmp_path):
    accounts = Accounts(start(EVERYTHING))
    room = Room(accounts.server)
    people = [await accounts.sign_up(displayName=name) for name in ("Ana", "Bob", "Cy")]
    ana = await (await room.socket()).connect(people[0].access)
    made = await ana.did("createConversation", participants=[person.user for person in people[1:]], name="Trip")
    id = made["conversation"]["id"]
    await ana.close()
    async with Line(accounts.server) as line, chromium, browser.session() as other:
        pages = [await enter(chromium, line, people[0]), await enter(other, line, people[1])]
        for page in pages:
            await page.run(f"location.hash = '/talk/{id}'")
            await title(page, "Trip")
        url = f"ws://127.0.0.1:{line.port}/v1/ws"
        terminal = Terminal(url, people[2].access, str(tmp_path), "--conversation", id)
        try:
            await terminal.shows("Trip")
            await write(pages[0], "one of ana")
            await terminal.shows("one of ana")
            terminal.write("two of cy")
            for page in pages:
                await page.until(f"{BUBBLES}.length === 2 && {BUBBLES}[1] === 'two of cy'")
            accounts.server.kill()
            line.cut()
            # All write without a server: nothing is lost, and nothing arrives twice.
            await write(pages[0], "three of ana")
            await write(pages[1], "four of bob")
            terminal.write("five of cy")
            await terminal.shows("five of cy")
            accounts.server.start()
            line.mend()
            for page in pages:
                await page.until(f"{BUBBLES}.length === 5 && {STATUS}?.match(/Sent|Delivered|Read/)")
            for text in ("three of ana", "four of bob"):
                await terminal.shows(text)
            texts = [message["text"] for message in await stored(accounts, id)]
            assert texts[:2] == ["one of ana", "two of cy"]
            assert sorted(texts[2:]) == ["five of cy", "four of bob", "three of ana"]
            for page in pages:
                assert await page.value(BUBBLES) == texts
        finally:
            terminal.close()
