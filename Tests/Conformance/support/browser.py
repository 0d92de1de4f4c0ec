"""Chromium, driven over its DevTools protocol with the WebSocket library that the other tests use."""

import asyncio
import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile

import pytest
import websockets

from .patience import PATIENCE, eventually
from .processes import end_with_parent, sweep

WEB = os.path.join(os.path.dirname(__file__), "..", "..", "..", "web")
FROM_SOURCES = bool(os.environ.get("WEB_FROM_SOURCES"))
"""Whether pages get the files of web/ instead of the embedded ones, to try a change without a build."""

FROM_DISK = ["LocalNetworkAccessChecks"] if FROM_SOURCES else []
"""Files from disk have no address that could count as local."""

TYPES = {".js": "text/javascript; charset=utf-8", ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".ts": "text/plain; charset=utf-8", ".png": "image/png", ".md": "text/markdown; charset=utf-8",
         ".webmanifest": "application/manifest+json"}
SHARED = {
    "console": "console/index.html", "console/parts.js": "app/parts.js", "console/app.css": "app/app.css",
    "console/icon.svg": "app/icon.svg", "console/operations.md": "../docs/operations.md",
    **{f"console/{name}.js": f"{name}.js" for name in ("presence", "presence-messages", "presence-log", "presence-history", "presence-outbox")}}
"""Files of the console with paths of their own."""


SHELL = "chromium-headless-shell"
"""It draws only the page, without a window, for half the processor time."""

NETWORK = ("WebSocket connection to", "Failed to load resource", "ERR_CONNECTION", "ERR_INTERNET")
"""Chromium's messages about an unreachable server."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
"""Browsers with windows, in which one page can be behind another: the shell never hides a page."""


def program(has_windows):
    programs = BROWSERS if has_windows else (SHELL, *BROWSERS)
    found = next(filter(None, map(shutil.which, programs)), None)
    return found or pytest.skip(f"not installed: {programs[0]}")


class Browser:
    """A running Chromium. Tests connect to it with `session()`, each with storage and tabs of its own."""

    def __init__(self, has_windows=False):
        self.directory = tempfile.mkdtemp(prefix="presence-browser-")
        self.process = subprocess.Popen(
            [program(has_windows), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
             # No process for a next page in advance, and none that only draws: a tenth of the processor time.
             "--disable-features=" + ",".join(["SpareRendererForSitePerProcess", *FROM_DISK]), "--in-process-gpu",
             "--remote-debugging-port=0", f"--user-data-dir={self.directory}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=end_with_parent)

    def session(self):
        return Session(self)

    async def address(self):
        file = os.path.join(self.directory, "DevToolsActivePort")

        def read():
            assert self.process.poll() is None, "Chromium has ended"
            try:
                with open(file) as text:
                    lines = text.read().split("\n")
            except FileNotFoundError:
                return None
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}" if len(lines) > 1 else None

        return await eventually(read, "Chromium listens", within=3 * PATIENCE)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        sweep(self.directory)


class Session:
    """One test's connection to a browser. At its end, unexpected errors on pages fail the test."""

    def __init__(self, browser):
        self.browser, self.pages, self.answers, self.numbers = browser, {}, {}, itertools.count(1)

    async def __aenter__(self):
        self.socket = await websockets.connect(await self.browser.address(), max_size=None, compression=None)
        self.listening = asyncio.create_task(self.listen())
        self.context = (await self.send("Target.createBrowserContext"))["browserContextId"]
        return self

    async def __aexit__(self, kind, *_):
        faults = [fault for page in self.pages.values() for fault in page.faults]
        try:
            await self.send("Target.disposeBrowserContext", browserContextId=self.context)
        finally:
            self.listening.cancel()
            await self.socket.close()
        if kind is None:
            assert not faults, "the console has errors:\n" + "\n".join(faults)
        elif faults:
            print("the console has errors:\n" + "\n".join(faults))

    async def listen(self):
        async for text in self.socket:
            message = json.loads(text)
            if "id" in message:
                self.answers.pop(message["id"]).set_result(message)
            elif page := self.pages.get(message.get("sessionId")):
                page.hear(message["method"], message["params"])

    async def send(self, method, session=None, **parameters):
        number = next(self.numbers)
        self.answers[number] = answer = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        await self.socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        said = await asyncio.wait_for(answer, 3 * PATIENCE)
        if "error" in said:
            raise RuntimeError(f"{method}: {said['error']}")
        return said["result"]

    async def page(self, url="about:blank", expected=(), **size):
        """A new tab. `expected` are texts; console errors that contain one of them are ignored."""
        target = (await self.send("Target.createTarget", url="about:blank", browserContextId=self.context))["targetId"]
        name = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = self.pages[name] = Page(self, name, target, expected)
        for domain in ("Page", "Runtime", "Log", "Network"):
            await page.send(f"{domain}.enable")
        if FROM_SOURCES:
            # A service worker would answer with the server's files.
            await page.send("Network.setBypassServiceWorker", bypass=True)
            await page.send("Fetch.enable", patterns=[{"urlPattern": pattern, "requestStage": "Response"} for pattern in (
                "*/presence*.js", "*/presence*.d.ts", "*/app/*", "*/app", "*/verify", "*/reset", "*/console", "*/console/*")])
        if size:
            await page.resize(**size)
        if url != "about:blank":
            await page.go(url)
        return page


class Failed(Exception):
    """The error that JavaScript threw, as JSON."""


class Page:
    def __init__(self, session, name, target, expected):
        self.session, self.name, self.target, self.expected = session, name, target, expected
        self.faults, self.sent, self.received, self.sockets, self.requests, self.loads = [], [], [], [], [], 0
        self.dialogs, self.workers = [], []

    async def send(self, method, **parameters):
        return await self.session.send(method, self.name, **parameters)

    def hear(self, method, event):
        if method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.note(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.note(" ".join(str(each.get("value", each.get("description"))) for each in event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.note(f"{event['entry']['text']} {event['entry'].get('url', '')}")
        elif method == "Network.webSocketCreated":
            self.sockets.append(event["url"])
        elif method == "Network.webSocketFrameSent":
            self.keep(self.sent, event)
        elif method == "Network.webSocketFrameReceived":
            self.keep(self.received, event)
        elif method == "Network.requestWillBeSent":
            self.requests.append((event["request"]["method"], event["request"]["url"]))
        elif method == "Page.loadEventFired":
            self.loads += 1
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(event["message"])
        elif method == "ServiceWorker.workerRegistrationUpdated":
            self.workers += event["registrations"]
        elif method == "Fetch.requestPaused":
            asyncio.ensure_future(self.fulfil(event))

    def keep(self, frames, event):
        if event["response"]["opcode"] == 1:
            frames.append(json.loads(event["response"]["payloadData"]))

    def note(self, fault):
        if not any(text in fault for text in self.expected):
            self.faults.append(fault)

    async def fulfil(self, event):
        path = event["request"]["url"].split("//", 1)[1].partition("/")[2].split("?")[0].split("#")[0]
        if path in ("", "app", "app/", "verify", "reset"):
            path = "app/index.html"
        path = SHARED.get(path, path)
        file = os.path.join(WEB, path)
        # A file that the server does not have yet is a 404 there.
        if not os.path.isfile(file) or event.get("responseStatusCode") not in (200, 404):
            return await self.send("Fetch.continueRequest", requestId=event["requestId"])
        with open(file, "rb") as content:
            body = base64.b64encode(content.read()).decode()
        # Everything else is the server's own response.
        headers = [each for each in event["responseHeaders"]
                   if each["name"].lower() not in ("content-encoding", "content-length", "content-type", "etag")]
        headers.append({"name": "Content-Type", "value": TYPES[os.path.splitext(file)[1]]})
        await self.send("Fetch.fulfillRequest", requestId=event["requestId"], responseCode=200, responseHeaders=headers,
                        body=body)

    async def go(self, url):
        loads = self.loads
        said = await self.send("Page.navigate", url=url)
        assert "errorText" not in said, said
        if "loaderId" in said:
            await eventually(lambda: self.loads > loads, f"{url} is loaded")

    async def reload(self):
        loads = self.loads
        await self.send("Page.reload")
        await eventually(lambda: self.loads > loads, "the page is loaded again")

    async def run(self, code, within=3 * PATIENCE):
        """The result of a body of an async function."""
        wrapped = "(async () => {" + code + """
        })().then((value) => ({ value }), (error) => ({ failed: error instanceof Error
            ? { ...error, message: error.message, name: error.name, stack: error.stack } : String(error) }))"""
        said = await asyncio.wait_for(
            self.send("Runtime.evaluate", expression=wrapped, awaitPromise=True, returnByValue=True, userGesture=True),
            within)
        assert "exceptionDetails" not in said, said
        outcome = said["result"]["value"]
        if "failed" in outcome:
            raise Failed(outcome["failed"])
        return outcome.get("value")

    async def value(self, expression):
        return await self.run(f"return {expression}")

    async def until(self, expression, what=None):
        """Waits until an expression is true, and returns it."""
        try:
            return await eventually(lambda: self.value(expression), what or expression)
        except AssertionError as late:
            shown = await self.value("[location.href, document.body?.innerText]")
            raise AssertionError(f"{late}; the page shows {shown}") from None

    async def resize(self, width=1000, height=800, dark=False):
        await self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def screenshot(self, file):
        shot = await self.send("Page.captureScreenshot", format="png")
        with open(file, "wb") as picture:
            picture.write(base64.b64decode(shot["data"]))

    async def offline(self, is_offline=True):
        """Sets whether the page's network is offline."""
        await self.send("Network.emulateNetworkConditions", offline=is_offline, latency=0, downloadThroughput=-1,
                        uploadThroughput=-1)

    async def show(self):
        await self.send("Page.bringToFront")

    async def close(self):
        await self.session.send("Target.closeTarget", targetId=self.target)

    async def key(self, key, code=None, text=None, modifiers=0):
        common = {"key": key, "code": code or key, "modifiers": modifiers}
        numbers = {"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        if key in numbers:
            common |= {"windowsVirtualKeyCode": numbers[key]}
        text = text or {"Enter": "\r", " ": " "}.get(key)
        await self.send("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        await self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    async def type(self, text):
        """Types into the focused element, like a user."""
        await self.send("Input.insertText", text=text)
