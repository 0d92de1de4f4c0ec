"""docs/reach-people.md: its code is run as it stands there, with the addresses and tokens of the test."""

import asyncio
import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.inboxes import inbox
from support.line import Line
from support.patience import PATIENCE, eventually
from support.ports import free_port
from support.receiver import Secret
from support.room import Room
from support.talks import say, talk
from support.web_push import Subscriber, WebPushService

PAGE = Path(__file__).resolve().parents[2] / "docs/reach-people.md"
LONG = 4 * PATIENCE
ADDRESS = "https://presence.example.org"
SETTINGS = {"partitions": 8, "linger": 1_000, "lease": 6_000}


def code(language, heading):
    """The blocks of a language under a heading."""
    section = re.search(rf"^#+ {heading}\n(.*?)(?=^#+ |\Z)", PAGE.read_text(), re.M | re.S)[1]
    blocks = re.findall(rf"^```{language}\n(.*?)^```", section, re.M | re.S)
    assert blocks, heading
    return blocks


@pytest.fixture
def service(tmp_path):
    service = WebPushService(tmp_path)
    yield service
    service.close()


async def shell(script, server, **environment):
    shutil.which("curl") or pytest.skip("not installed: curl")
    assert ADDRESS in script
    return await command(["sh", "-e", "-c", script.replace(ADDRESS, f"http://{server.host}:{server.port}")], **environment)


async def command(words, **environment):
    done = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, timeout=60, env=os.environ | environment)
    assert done.returncode == 0, done
    return done.stdout


async def due(receiver, count):
    await eventually(lambda: len(receiver.of("push.due")) >= count, f"{count} pushes", within=LONG)
    return [call.data for call in receiver.of("push.due")]


# Devices


async def test_android_apps_register_by_fcm_and_by_unifiedpush(start, receiver):
    room = Room(start(SETTINGS | {"webhooks": [receiver.endpoint("push.due")]}))
    ana, registrations = await room.come("ana"), code("sh", "Android")
    assert len(registrations) == 2
    for number, registration in enumerate(registrations):
        person = f"bob{number}"
        bob = await room.come(person)
        await shell(registration, room.server, USER_TOKEN=room.token(person))
        id = (await talk(ana, bob))["id"]
        await bob.close()
        await say(ana, id, "hello")
        told = (await due(receiver, number + 1))[number]
        assert told["devices"] == [json.loads(re.search(r"-d '(.*)'", registration)[1])]


async def test_the_page_registers_a_browser_and_the_worker_shows_what_it_gets(chromium, start, service, tmp_path):
    node = shutil.which("node") or pytest.skip("not installed: node")
    room, browser = Room(start(service.settings())), Subscriber(service)
    page_code, worker = code("js", "Web")
    ana, bob = await room.come("ana"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    await bob.close()
    async with Line(room.server) as line, chromium:
        page = await chromium.page(line.origin + "/healthz", expected=(
            "Failed to load resource", "WebSocket is closed before the connection is established"))
        # The page around the sample, and the browser's part that speaks to its own service.
        await page.run(f"""
            globalThis.token = {room.token("bob")!r};
            globalThis.button = document.body.appendChild(document.createElement("button"));
            globalThis.workers = [];
            let subscribed = null, state = "default";
            const pushManager = {{ getSubscription: async () => subscribed, subscribe: async ({{ applicationServerKey, userVisibleOnly }}) => {{
                if (!userVisibleOnly) throw new Error("browsers want pushes that are seen");
                const raw = Uint8Array.from(atob(applicationServerKey.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
                return subscribed = {{ options: {{ applicationServerKey: raw.buffer }}, toJSON: () => ({json.dumps(browser.subscription)}) }};
            }} }};
            navigator.serviceWorker.register = async (path) => workers.push(path);
            navigator.serviceWorker.getRegistration = async () => workers.length ? {{ active: {{}}, pushManager }} : undefined;
            Object.defineProperty(Notification, "permission", {{ get: () => state }});
            Notification.requestPermission = async () => state = "granted";""")
        script = re.sub(r'^import \{ (\w+) \} from "(.*?)";', r'const { \1 } = await import("\2");', page_code, flags=re.M)
        script = re.sub(r'^import "(.*?)";', r'await import("\1");', script, flags=re.M).replace(ADDRESS, line.origin)
        assert script.count("await import(") == 2
        # `button.onclick` is a press; its outcome is awaited here.
        await page.run(script + "\nglobalThis.client = client; await button.onclick();")
        assert await page.value("workers") == ["/worker.js"]
        await page.run("client.close()")
    await say(ana, id, "see you")
    push, = await pushed(service, 1)
    await room.api.request("POST", "/v1/notifications", {
        "users": [bob.user], "id": "n1", "kind": "order", "title": "Shipped"}, token=room.backend)
    note = (await pushed(service, 2))[1]
    (tmp_path / "worker.mjs").write_text(f"""
        const on = {{}}, shown = [], opened = [];
        globalThis.addEventListener = (type, act) => {{ on[type] = act; }};
        globalThis.registration = {{ showNotification: async (title, options) => {{ shown.push({{ title, ...options }}); }} }};
        globalThis.clients = {{ openWindow: async (url) => {{ opened.push(url); }} }};
        {worker}
        const waits = [];
        const event = (more) => ({{ waitUntil: (promise) => waits.push(promise), ...more }});
        for (const push of {json.dumps([push.json, note.json])}) on.push(event({{ data: {{ json: () => push }} }}));
        for (const each of shown) on.notificationclick(event({{ notification: {{ ...each, close() {{ each.closed = true; }} }} }}));
        await Promise.all(waits);
        console.log(JSON.stringify({{ shown, opened }}));""")
    ran = json.loads(await command([node, str(tmp_path / "worker.mjs")]))
    assert [(each["title"], each["body"], each["tag"], each["closed"]) for each in ran["shown"]] == [
        (push.json["title"] or "News for you", "see you", id, True), ("Shipped", "", note.json["notification"]["tag"], True)]
    assert ran["opened"] == [f"/chat/{id}", "/chat/"]


async def pushed(service, count):
    await eventually(lambda: len(service.pushes) >= count, f"{count} pushes", within=LONG)
    return service.pushes


# Backends


async def test_backends_notify_with_curl_and_with_python(start, receiver):
    room = Room(start(SETTINGS | {"webhooks": [receiver.endpoint("push.due")]}))
    tokens = {"BACKEND_TOKEN": room.backend, "PRESENCE": f"http://{room.server.host}:{room.server.port}"}
    bob = room.name("bob")
    curl, = code("sh", "Notify from a backend")
    curl = curl.replace('"bob"', f'"{bob}"')
    python, = code("python", "Notify from a backend")
    python = python.replace('["bob"]', f"[{bob!r}]")
    assert bob in curl and bob in python
    for _ in range(2):
        assert json.loads(await shell(curl, room.server, **tokens)) == {"accepted": 1}
        before = time.time() * 1_000
        assert await command([sys.executable, "-c", python], **tokens) == "1\n"
    # Before bob is there, which makes pushes pointless.
    told = {each["notification"]["id"]: each for each in await due(receiver, 2)}
    client = await room.come("bob")
    listed = {item["id"]: item for item in (await inbox(client))["items"]}
    assert listed.keys() == {"alarm-3", "order-77"}, "the same id is one notification"
    assert (listed["alarm-3"]["push"], listed["alarm-3"]["urgency"]) == ("always", "high")
    assert before - 60_000 < listed["order-77"]["expires"] - 3_600_000 <= time.time() * 1_000
    assert (told["alarm-3"]["title"], told["order-77"]["text"]) == ("Smoke in the kitchen", "It is on its way")
    assert len(receiver.of("push.due")) == 2


# A sender of one's own


async def test_the_sender_sends_what_the_server_has_signed_and_nothing_else(start, tmp_path):
    secret, port = Secret(tmp_path), free_port()
    program, = code("python", "A sender of your own")
    environment = os.environ | {"SECRET_FILE": secret.file, "PORT": str(port)}
    with open(tmp_path / "sent", "w") as sent:
        sender = subprocess.Popen([sys.executable, "-c", program], stdout=sent, stderr=subprocess.DEVNULL, env=environment)
    try:
        endpoint = {"url": f"http://127.0.0.1:{port}/push", "secretFile": secret.file, "events": ["push.due"]}
        room = Room(start(SETTINGS | {"webhooks": [endpoint]}))
        ana, bob = await room.come("ana"), await room.come("bob")
        await ana.did("updateProfile", changes={"displayName": "Ana"})
        await shell(code("sh", "Android")[0], room.server, USER_TOKEN=room.token("bob"))
        id = (await talk(ana, bob))["id"]
        await bob.close()
        await say(ana, id, "hello")

        def lines():
            return (tmp_path / "sent").read_text().splitlines()

        await eventually(lambda: lines() == ["fcm: Ana: hello"], "what it sends", within=LONG)
        body = json.dumps({"type": "push.due", "data": {"devices": [{"platform": "fcm"}], "title": "Eve", "text": "hi"}}).encode()

        def call(key=secret.key, at=None, name="m1", content=body):
            at = str(int(time.time()) if at is None else at)
            code = hmac.new(key, f"{name}.{at}.".encode() + content, hashlib.sha256).digest()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("POST", "/push", body, {
                "webhook-id": name, "webhook-timestamp": at,
                "webhook-signature": "v1," + base64.b64encode(secrets.token_bytes(32)).decode() + " v1," + base64.b64encode(code).decode()})
            return connection.getresponse().status

        for forged in ({"key": secrets.token_bytes(32)}, {"at": int(time.time()) - 400}, {"content": body + b" "}):
            assert await asyncio.to_thread(lambda: call(**forged)) == 401, forged
        assert lines() == ["fcm: Ana: hello"]
        # The same event, once more: it was sent already.
        for _ in range(2):
            assert await asyncio.to_thread(call) == 204
        assert lines() == ["fcm: Ana: hello", "fcm: Eve: hi"]
    finally:
        sender.kill()
        sender.wait()


def test_the_users_settings_are_an_object_as_shown():
    section = re.search(r"^## What users choose\n(.*)", PAGE.read_text(), re.M | re.S)[1]
    shown = json.loads(re.search(r"PUT /v1/me/notificationSettings\n(.*?)\n\n", section, re.S)[1])
    assert set(shown) == {"kinds", "messages", "preview", "quiet", "whileBusy"}
