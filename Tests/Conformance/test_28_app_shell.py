"""The app's shell: it opens without a network, shows the last known state, can be installed, and is never older than
the server."""

import asyncio
import json
import os

from support import history
from support.api import API
from support.app import BUBBLES, EVERYTHING, accounts, app, direct, enter, friends, press, shows, sign_out, title, write  # noqa: F401 (a fixture)
from support.browser import TYPES, WEB
from support.line import Line

READY = "await navigator.serviceWorker.ready"
KEPT = "Promise.all((await caches.keys()).map(async (name) => (await (await caches.open(name)).keys()).length))"


async def kept(page):
    """A page whose app is cached for use without a network, with a name for each of its versions."""
    await page.run(READY)
    await page.until(f"(await {KEPT}).some((count) => count > 20)", "all files are kept")
    return await page.value("await caches.keys()")


async def test_it_opens_without_a_network_and_shows_what_was_known(chromium, accounts):
    (ana, bob, _), (_, client, third) = await friends(accounts, "Ana", "Bob Ray", "Cy")
    id, other = await direct(client, ana), await direct(third, ana)
    await third.did("send", conversation=other, message={"id": "c", "text": "Hello from Cy"})
    await client.did("send", conversation=id, message={"id": "a", "text": "Hello Ana"})
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        await page.send("Network.setBypassServiceWorker", bypass=False)
        await page.run(f"location.hash = '/talk/{id}'")
        await title(page, "Bob Ray")
        await page.until(f"{BUBBLES}.join() === 'Hello Ana'")
        await write(page, "Hello Bob")
        await page.until("document.querySelector('.mine [data-status=sent], .mine [data-status=delivered]') !== null")
        await kept(page)
        stored = "(await (await import('/presence.js')).internals.stored('presence app'))"
        await page.until(f"{stored}?.people.length >= 2")
        await page.run("globalThis.presence = await import('/presence.js');" + history.KEPT)
        await page.until(f"await kept().then((all) => all['talk {id}']?.messages.length === 2 && all['list {other}'])")
        # The server is gone, and the browser is opened again.
        line.cut()
        await page.reload()
        await title(page, "Bob Ray")
        await page.until(f"{BUBBLES}.join() === 'Hello Ana,Hello Bob'")
        await page.until("[...document.querySelectorAll('.talks .old strong')].map((each) => each.textContent).join() === 'Bob Ray,Cy'")
        await shows(page, "No connection.")
        await shows(page, "(as last known)")
        # The list has the newest message of a conversation that was never opened here.
        await page.run(f"location.hash = '/talk/{other}'")
        await page.until(f"{BUBBLES}.join() === 'Hello from Cy'")
        await page.run(f"location.hash = '/talk/{id}'")
        await page.until(f"{BUBBLES}.join() === 'Hello Ana,Hello Bob'")
        await write(page, "Later")
        await page.until(f"{BUBBLES}.join() === 'Hello Ana,Hello Bob,Later'")
        line.mend()
        await page.until("[...document.querySelectorAll('.mine .status')].at(-1)?.textContent.match(/Sent|Delivered/)")
        await page.until(f"{BUBBLES}.join() === 'Hello Ana,Hello Bob,Later'")
        # Signing out leaves nothing of the user.
        await sign_out(page)
        await title(page, "Sign in")
        await page.run("globalThis.presence = await import('/presence.js');" + history.KEPT)
        await page.until(f"{stored} === null && Object.keys(await kept()).join() === 'owner'")
        line.cut()
        await page.reload()
        await title(page, "Sign in")


async def test_a_screen_without_data_says_so(chromium, accounts):
    (ana, bob), (_, client) = await friends(accounts, "Ana", "Bob Ray")
    id = await direct(client, ana)
    async with Line(accounts.server) as line, chromium:
        page = await enter(chromium, line, ana)
        await press(page, "Chats")
        await page.until("document.querySelectorAll('.talks [data-conversation]').length === 1")
        line.cut()
        await shows(page, "No connection.")
        await page.run(f"location.hash = '/talk/{id}'")
        await shows(page, "What was said here is not known without a connection.")
        line.mend()
        await shows(page, "Nothing has been said yet.")


async def test_it_can_be_installed(start):
    api = API(start(EVERYTHING))
    page = await api.request("GET", "/app")
    assert '<link rel="manifest" href="/app/manifest.webmanifest">' in page.body and "manifest-src 'self'" in page.headers["Content-Security-Policy"]
    answer = await api.request("GET", "/app/manifest.webmanifest")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/manifest+json"
    manifest = json.loads(answer.body)
    assert manifest["name"] and manifest["start_url"] == manifest["scope"] == "/app" and manifest["display"] == "standalone"
    assert any("any" in icon["purpose"] and icon["sizes"] == "512x512" for icon in manifest["icons"])
    for icon in manifest["icons"]:
        shown = await api.request("HEAD", icon["src"])
        assert shown.status == 200 and shown.headers["Content-Type"] == icon["type"], icon
    worker = await api.request("GET", "/app/worker.js")
    assert worker.headers["Service-Worker-Allowed"] == "/app"
    # The worker caches exactly the existing files.
    served = [name for name in os.listdir(os.path.join(WEB, "app")) if name.endswith((".js", ".css", ".svg")) and name != "worker.js"]
    for name in served:
        stem, _, kind = name.rpartition(".")
        assert f'"{stem}"' in worker.body if kind == "js" else f'"/app/{name}"' in worker.body, name


class Site:
    """A server with the app only, in several versions."""

    def __init__(self):
        self.version, self.asked = 1, []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def answer(self, reader, writer):
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")):
                path = head.split(b" ")[1].decode().split("?")[0]
                self.asked.append(path)
                writer.write(self.response(path, head))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def response(self, path, head):
        file = os.path.join(WEB, "app/index.html" if path == "/app" else path[1:])
        if not os.path.isfile(file):
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        tag = f'"{path}-{self.version}"'
        if tag.encode() in head:
            return f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\nCache-Control: no-cache\r\n\r\n".encode()
        with open(file, "rb") as content:
            body = content.read()
        if path == "/app/signing.js":
            body = body.replace(b'"Forgot your password?"', f'"Version {self.version}"'.encode())
        type = TYPES[os.path.splitext(file)[1]]
        return (f"HTTP/1.1 200 OK\r\nContent-Type: {type}\r\nETag: {tag}\r\nCache-Control: no-cache\r\nService-Worker-Allowed: /app\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body


async def test_a_new_version_of_the_server_is_taken_on_the_next_load(chromium):
    async with Site() as site, chromium:
        page = await chromium.page(expected=("Failed to load", "Failed to fetch", "ERR_"))
        # All files come from this server.
        await page.send("Network.setBypassServiceWorker", bypass=False)
        await page.send("Fetch.disable")
        await page.go(site.origin + "/app")
        await shows(page, "Version 1")
        # As after a sign-in.
        await page.run("(await import('/app/inside.js')).keepFiles()")
        first = await kept(page)
        await page.reload()
        await shows(page, "Version 1")
        # One request for each load, and the providers of the sign-in: all else is cached.
        site.asked.clear()
        await page.reload()
        await shows(page, "Version 1")
        assert [path for path in site.asked if path not in ("/app/worker.js", "/v1/server")] in (["/app"], ["/app", "/app/manifest.webmanifest"]), site.asked
        site.version = 2
        await page.reload()
        await shows(page, "Version 2")
        second = await kept(page)
        assert len(second) == 1 and second != first, (first, second)
        # An incomplete version is discarded.
        site.version = 3
        plain = site.response
        site.response = lambda path, head: b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n" if path == "/app/talk.js" else plain(path, head)
        await page.reload()
        await shows(page, "Version 2")
        site.response = plain
        await page.reload()
        await shows(page, "Version 3")
        # Without a network the last version is used.
        site.server.close()
        site.response = lambda path, head: b""
        await page.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        await page.reload()
        await shows(page, "Version 3")
