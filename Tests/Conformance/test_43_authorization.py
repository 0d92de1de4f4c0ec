"""What each caller may do: every request of the documents, as support/authorization.txt has it.

Each row of the table is one request about things of one user, the owner: their profile, their group, their message. Each
column is a caller. A caller who is let in by a row may change things, so callers come in the order of what they may do.
"""

import asyncio
import os

import pytest

from support.accounts import ON, PASSWORD, Accounts
from support.api import API, path
from support.asyncapi import AsyncAPI
from support.openapi import OpenAPI
from support.room import Room
from support.server import Server, run

SETTINGS = ON | {
    "requests_per_second": 0, "user_requests_per_second": 0, "accounts.guests.enabled": True, "accounts.perAddress": 100_000,
    "accounts.directory": True, "history.enabled": True, "console.enabled": True, "attachments.enabled": True,
    "linger": 1_000}
ORDER = ["none", "key", "banned", "blocked", "stranger", "guest", "removed", "contact", "self", "backend"]
"""From those who may do nothing to those who may do everything. A caller that is added to the table is added here, and
gets a token in `Scene.token`."""
PLACE = os.path.join(os.path.dirname(__file__), "support", "authorization.txt")
OPENAPI, ASYNCAPI = OpenAPI("openapi.yaml"), AsyncAPI("asyncapi.yaml")


def table():
    """The rows by the name of the request, each with the expected answer by caller."""
    rows, callers = {}, None
    with open(PLACE) as text:
        for line in text:
            words = line.split()
            if not words or line.startswith("#"):
                continue
            if words[0] == "request":
                callers = words[1:]
                assert set(callers) == set(ORDER), "a caller of the table has no token, or the other way round"
            else:
                assert words[0] not in rows, f"{words[0]} is there twice"
                assert len(words) == len(callers) + 1, f"{words[0]} has no answer for each caller"
                rows[words[0]] = dict(zip(callers, words[1:]))
    return rows


class Scene:
    """An owner with a profile, a group, a message, a contact; and the other callers, each of whom knows all ids."""

    def __init__(self, room, accounts, has_account):
        self.room, self.accounts, self.has_account = room, accounts, has_account
        self.tokens = {}

    async def backend(self, method, *parts, query="", **body):
        answer = await self.room.api.request(method, path(*parts) + query, body, token=self.room.backend)
        assert answer.status in (200, 204), f"{parts}: {answer}"
        return answer

    async def begin(self):
        names = {caller: self.room.name(caller) for caller in ORDER}
        for caller in ("banned", "blocked", "stranger", "removed", "contact", "self"):
            self.tokens[caller] = self.room.server.mint.token(names[caller])
        self.tokens |= {"none": None, "key": self.room.server.key, "backend": self.room.backend}
        guest = await self.accounts.post("/v1/accounts", guest=True)
        assert guest.status == 201, guest
        self.tokens["guest"], names["guest"], self.refresh = guest.json["accessToken"], guest.json["user"], guest.json["refreshToken"]
        if self.has_account:
            person = await self.accounts.sign_up(displayName="Owner", username="o" + self.room.suffix)
            self.tokens["self"], names["self"], self.person = person.access, person.user, person
        self.names, self.owner = names, names["self"]
        self.group, self.member = "g-" + self.room.suffix, self.room.name("member")
        await self.backend("PATCH", "users", self.owner, "profile", displayName="Owner")
        await self.backend("PATCH", "users", self.owner, "visibility", presence="contacts", findable="contacts")
        await self.backend("PATCH", "users", self.owner, "contacts", add=[names["contact"]])
        await self.backend("PATCH", "users", self.owner, "blocks", add=[names["blocked"]])
        for members in ([self.owner, self.member, names["removed"]], [self.owner, self.member]):
            await self.backend("PUT", "conversations", self.group, "participants", participants=members)
        sent = await self.room.api.request("POST", path("conversations", self.group, "messages"), {
            "from": self.owner, "message": {"id": "m1", "text": "Hello"}}, token=self.room.backend)
        assert sent.status in (200, 201), sent
        await self.backend("PUT", "users", names["banned"], "ban", reason="Spam")
        return self


# Requests on a socket

SOCKET = {
    "subscribe": lambda s, me: {"users": [s.owner]},
    "subscribe:messages": lambda s, me: {"conversations": [{"id": s.group}]},
    "subscribe:typing": lambda s, me: {"conversations": [s.group]},
    "subscribe:list": lambda s, me: {"conversationList": True},
    "subscribe:notifications": lambda s, me: {"notifications": True},
    "unsubscribe": lambda s, me: {"users": [s.owner], "conversations": [s.group]},
    "get": lambda s, me: {"users": [s.owner]},
    "status": lambda s, me: {"status": "busy"},
    "activity": lambda s, me: {"state": "idle"},
    "updateProfile": lambda s, me: {"changes": {"displayName": "Name"}},
    "createConversation": lambda s, me: {"participants": [s.owner, s.member], "name": "Group"},
    "getConversation": lambda s, me: {"conversation": s.group},
    "conversationSettings": lambda s, me: {"conversation": s.group, "muted": True},
    "renameConversation": lambda s, me: {"conversation": s.group, "name": "Name"},
    "changeMembers": lambda s, me: {"conversation": s.group, "add": [s.room.name("new")]},
    "changeMembers:remove": lambda s, me: {"conversation": s.group, "remove": [s.member]},
    "send": lambda s, me: {"conversation": s.group, "message": {"id": me, "text": "Hi"}},
    "editMessage": lambda s, me: {"conversation": s.group, "message": "m1", "text": "Changed"},
    "deleteMessage": lambda s, me: {"conversation": s.group, "message": "m1"},
    "mark": lambda s, me: {"conversation": s.group, "read": 1},
    "getMessages": lambda s, me: {"conversation": s.group},
    "markNotifications": lambda s, me: {"seen": 0},
    "getNotifications": lambda s, me: {},
    "typing": lambda s, me: {"conversation": s.group, "typing": True},
    "setVisibility": lambda s, me: {"visibility": {"presence": "contacts"}},
    "getVisibility": lambda s, me: {},
    "addContacts": lambda s, me: {"users": [s.room.name("new")]},
    "removeContacts": lambda s, me: {"users": [s.room.name("new")]},
    "block": lambda s, me: {"users": [s.room.name("new")]},
    "unblock": lambda s, me: {"users": [s.room.name("new")]},
    "requestContact": lambda s, me: {"user": s.owner if me != s.owner else s.member},
    "answerContact": lambda s, me: {"user": s.member, "accept": True},
}
CONNECTING = {"connect", "refresh", "disconnect"}
"""Each caller of a row connects; the others need a row of their own kind below."""


async def on_socket(scene, caller, type, members):
    client = await scene.room.socket()
    if caller == "none":
        return await client.ask(type, **members)
    connected = await client.ask("connect", token=scene.tokens[caller])
    if connected["type"] == "error":
        return connected
    if type == "connect":
        return connected
    if type == "refresh":
        return await client.ask("refresh", token=scene.tokens[caller])
    if type == "disconnect":
        await client.send({"type": "disconnect"})
        await client.closed()
        return {"type": "closed"}
    return await client.ask(type, **members)


def word(answer):
    """The part of a socket's answer that the table has."""
    if answer["type"] == "error":
        return answer["code"]
    if answer.get("users"):
        return "seen" if answer["users"][0]["profile"] else "unknown"
    return "ok"


@pytest.fixture(scope="module")
def server():
    server = Server(SETTINGS)
    made = run("key", "create", "--name", "other", "--scopes", "exports:read", "--data-dir", server.directory)
    assert made.returncode == 0, made.stderr
    server.key = made.stdout.strip()
    yield server
    server.close()


async def play(server, rows, one):
    """Compares all rows, some at a time; all differences are shown together."""
    expected, wrong, turns = table(), [], asyncio.Semaphore(12)
    lines = {}

    async def row(name, request):
        async with turns:
            room = Room(server)
            scene = await Scene(room, Accounts(server), name in WITH_ACCOUNT).begin()
            found = {}
            for caller in ORDER:
                found[caller] = await one(scene, caller, name, request)
            lines[name] = found
            for caller, answer in found.items():
                if expected.get(name, {}).get(caller) != answer:
                    wrong.append(f"{name} by {caller}: {answer}, not {expected.get(name, {}).get(caller)}")
    await asyncio.gather(*[row(name, request) for name, request in rows.items()])
    if os.environ.get("SHOW_TABLE"):
        with open(PLACE) as text:
            callers = next(line.split()[1:] for line in text if line.startswith("request "))
        for name in rows:
            print(f"{name:32}" + "".join(f"{lines[name][caller]:14}" for caller in callers).rstrip())
    assert not wrong, "\n".join(wrong)


async def test_each_request_on_a_socket_is_answered_as_the_table_says(server):
    async def one(scene, caller, name, members):
        type = name.split(":")[0]
        return word(await on_socket(scene, caller, type, members(scene, scene.names[caller]) if members else {}))
    await play(server, SOCKET | {name: None for name in CONNECTING}, one)


# Calls over HTTP

HTTP = {
    "health": ("GET", "/healthz"),
    "healthHead": ("HEAD", "/healthz"),
    "readiness": ("GET", "/readyz"),
    "readinessHead": ("HEAD", "/readyz"),
    "metrics": ("GET", "/metrics"),
    "metricsHead": ("HEAD", "/metrics"),
    "describeServer": ("GET", "/v1/server"),
    "socket": ("GET", "/v1/ws"),
    "socketHead": ("HEAD", "/v1/ws"),
    "getUser": ("GET", "/v1/users/{owner}"),
    "getUsers": ("POST", "/v1/users/get", {"users": ["{owner}"]}),
    "updateProfile": ("PATCH", "/v1/users/{owner}/profile", {"displayName": "New"}),
    "getVisibility": ("GET", "/v1/users/{owner}/visibility"),
    "setVisibility": ("PATCH", "/v1/users/{owner}/visibility", {"presence": "contacts"}),
    "listContactRequests": ("GET", "/v1/users/{owner}/contactRequests"),
    "requestContact": ("POST", "/v1/users/{owner}/contactRequests", {"user": "{member}"}),
    "answerContact": ("PUT", "/v1/users/{owner}/contactRequests/{member}", {"accept": True}),
    "changeContacts": ("PATCH", "/v1/users/{owner}/contacts", {"add": ["{member}"]}),
    "changeBlocks": ("PATCH", "/v1/users/{owner}/blocks", {"add": ["{new}"]}),
    "disconnect": ("POST", "/v1/users/{owner}/disconnect"),
    "ban": ("PUT", "/v1/users/{new}/ban", {"reason": "Spam"}),
    "unban": ("DELETE", "/v1/users/{new}/ban"),
    "listBans": ("GET", "/v1/bans"),
    "report": ("POST", "/v1/reports", {"conversation": "{group}", "message": "m1", "reason": "Spam"}),
    "report:user": ("POST", "/v1/reports", {"user": "{member}", "reason": "Spam"}),
    "listReports": ("GET", "/v1/reports"),
    "decideReport": ("POST", "/v1/reports/r1", {"action": "accept"}),
    "exportMe": ("GET", "/v1/me/export"),
    "exportUser": ("GET", "/v1/users/{owner}/export"),
    "revokeTokens": ("POST", "/v1/users/{new}/revokeTokens"),
    "getHistory": ("GET", "/v1/users/{owner}/history"),
    "deleteHistory": ("DELETE", "/v1/users/{owner}/history"),
    "getSessionsHere": ("GET", "/v1/users/{owner}/sessions"),
    "getServers": ("GET", "/v1/console/servers"),
    "getPeopleHere": ("GET", "/v1/console/people"),
    "searchUsers": ("GET", "/v1/console/search?text=o"),
    "getTotals": ("GET", "/v1/console/totals"),
    "getView": ("GET", "/v1/console/view?viewer={owner}&user={member}"),
    "getExamination": ("GET", "/v1/console/doctor"),
    "examine": ("POST", "/v1/console/doctor"),
    "getOutbox": ("GET", "/v1/console/outbox"),
    "getConversationsOf": ("GET", "/v1/console/conversations?user={owner}"),
    "getWebhooks": ("GET", "/v1/console/webhooks"),
    "retryWebhook": ("POST", "/v1/console/webhooks/0/retry"),
    "getKeys": ("GET", "/v1/console/keys"),
    "makeKey": ("POST", "/v1/console/keys", {"name": "{name}", "scopes": ["users:read"]}),
    "rotateKey": ("POST", "/v1/console/keys/none/rotate"),
    "revokeKey": ("DELETE", "/v1/console/keys/none"),
    "getTrace": ("GET", "/v1/console/trace?user={owner}"),
    "makePlayground": ("POST", "/v1/console/playground"),
    "setParticipants": ("PUT", "/v1/conversations/{group}/participants", {"participants": ["{owner}", "{member}"]}),
    "removeParticipants": ("DELETE", "/v1/conversations/{group}/participants"),
    "getConversation": ("GET", "/v1/conversations/{group}"),
    "getMessages": ("GET", "/v1/conversations/{group}/messages"),
    "sendMessage": ("POST", "/v1/conversations/{group}/messages", {"from": "{owner}", "message": {"id": "m2", "text": "Hi"}}),
    "deleteMessage": ("DELETE", "/v1/conversations/{group}/messages/m1"),
    "notify": ("POST", "/v1/notifications", {"users": ["{owner}"], "id": "n1", "kind": "order", "title": "Hello"}),
    "uploadAttachment": ("POST", "/v1/conversations/{group}/attachments", b"bytes"),
    "getAttachment": ("GET", "/v1/attachments/0123456789abcdef0123456789abcdef.bin"),
    "headAttachment": ("HEAD", "/v1/attachments/0123456789abcdef0123456789abcdef.bin"),
    "getPhoto": ("GET", "/v1/photos/0123456789abcdef0123456789abcdef.jpg"),
    "headPhoto": ("HEAD", "/v1/photos/0123456789abcdef0123456789abcdef.jpg"),
    "signUp": ("POST", "/v1/accounts", {"guest": True}),
    "signIn": ("POST", "/v1/sessions", {"email": "{email}", "password": PASSWORD}),
    "refreshSession": ("POST", "/v1/sessions/refresh", {"refreshToken": "{refresh}"}),
    "beginSignIn": ("GET", "/v1/signin/none?return=/app"),
    "finishSignIn": ("GET", "/v1/signin/none/callback?state=s&code=c"),
    "finishSignInByForm": ("POST", "/v1/signin/none/callback", b"state=s&code=c"),
    "receiveNotice": ("POST", "/v1/signin/none/notifications", {"payload": "none"}),
    "mailCode": ("POST", "/v1/signin/mail", {"email": "none@example.org"}),
    "verifyEmail": ("POST", "/v1/emails/verify", {"token": "none"}),
    "forgotPassword": ("POST", "/v1/passwords/forgot", {"email": "none@example.org"}),
    "resetPassword": ("POST", "/v1/passwords/reset", {"token": "none", "password": PASSWORD + " x"}),
    "checkUsername": ("GET", "/v1/usernames/{name}"),
    "findUser": ("GET", "/v1/usernames/{name}/user"),
    "findPeople": ("GET", "/v1/people?starts={name}"),
    "getMe": ("GET", "/v1/me"),
    "changeMe": ("PATCH", "/v1/me", {"changes": {"displayName": "New"}}),
    "listSessions": ("GET", "/v1/me/sessions"),
    "signOut": ("DELETE", "/v1/sessions/none"),
    "changePassword": ("POST", "/v1/me/password", {"password": "wrong password", "newPassword": PASSWORD + " x"}),
    "changeEmail": ("POST", "/v1/me/email", {"email": "new@example.org", "password": "wrong password"}),
    "upgradeMe": ("POST", "/v1/me/upgrade", {"email": "{name}.{caller}@example.net", "password": PASSWORD}),
    "linkIdentity": ("POST", "/v1/me/identities", {"provider": "none", "idToken": "none"}),
    "unlinkIdentity": ("DELETE", "/v1/me/identities/none"),
    "changeUsername": ("PUT", "/v1/me/username", {"username": "{name}.{caller}"}),
    "removeUsername": ("DELETE", "/v1/me/username"),
    "registerDevice": ("PUT", "/v1/me/devices/current", {"platform": "fcm", "pushToken": "token"}),
    "removeDevice": ("DELETE", "/v1/me/devices/current"),
    "getNotificationSettings": ("GET", "/v1/me/notificationSettings"),
    "setNotificationSettings": ("PUT", "/v1/me/notificationSettings", {"preview": False}),
    "uploadPhoto": ("PUT", "/v1/me/photo", b"no picture"),
    "removePhoto": ("DELETE", "/v1/me/photo"),
    "deleteMe": ("DELETE", "/v1/me", {"password": "wrong password"}),
    "getAccount": ("GET", "/v1/users/{owner}/account"),
    "disableAccount": ("POST", "/v1/users/{owner}/account/disable"),
    "enableAccount": ("POST", "/v1/users/{owner}/account/enable"),
    "deleteAccount": ("DELETE", "/v1/users/{owner}/account"),
}
WITH_ACCOUNT = {"http:" + name for name, (_, place, *_) in HTTP.items()
                if place.startswith(("/v1/me", "/v1/usernames", "/v1/people", "/v1/sessions")) or "/account" in place}
"""The owner of these has an account."""


def filled(value, scene, caller):
    """A path or body with the ids of the scene."""
    ids = {"owner": scene.owner, "member": scene.member, "group": scene.group, "new": scene.room.name("new"),
           "name": "o" + scene.room.suffix, "refresh": scene.refresh, "caller": caller,
           "email": scene.person.email if scene.has_account else ""}
    if isinstance(value, str):
        for name, id in ids.items():
            value = value.replace("{" + name + "}", id)
        return value
    if isinstance(value, dict):
        return {key: filled(each, scene, caller) for key, each in value.items()}
    return [filled(each, scene, caller) for each in value] if isinstance(value, list) else value


def status(name, answer):
    if name in ("getUser", "getUsers") and answer.status == 200:
        user = answer.json["users"][0] if name == "getUsers" else answer.json
        return "200:seen" if user["profile"] else "200:unknown"
    if name == "findPeople" and answer.status == 200:
        return "200:seen" if answer.json["people"] else "200:unknown"
    return str(answer.status)


async def test_each_call_over_http_is_answered_as_the_table_says(server):
    async def one(scene, caller, name, request):
        method, place, *body = request
        answer = await scene.room.api.request(
            method, filled(place, scene, caller), filled(body[0], scene, caller) if body else None, token=scene.tokens[caller])
        return status(name.removeprefix("http:"), answer)
    await play(server, {"http:" + name: request for name, request in HTTP.items()}, one)


def test_the_table_has_every_request_of_the_documents():
    rows = table()
    named = {name.split(":")[0] for name in rows if not name.startswith("http:")}
    assert named == set(ASYNCAPI.client), named ^ set(ASYNCAPI.client)
    calls = {name.split(":")[1] for name in rows if name.startswith("http:")}
    documented = {operation.name for operation in OPENAPI.operations}
    assert calls == documented, calls ^ documented
    for name, (method, place, *_) in HTTP.items():
        operation = next(each for each in OPENAPI.operations if each.name == name.split(":")[0])
        assert operation.method == method and operation.fits(place.split("?")[0]), name
    assert set(rows) == set(SOCKET) | CONNECTING | {"http:" + name for name in HTTP}


def test_calls_of_backends_are_refused_to_all_users():
    """As far as the documents know: whatever a row says, no user may do what needs a backend."""
    rows = table()
    for operation in OPENAPI.operations:
        if operation.needs_backend:
            for caller, answer in rows[f"http:{operation.name}"].items():
                # The key has the scope of this one call.
                key = "200" if operation.name == "exportUser" else "403"
                wanted = {"none": "401", "key": key, "backend": answer}.get(caller, "403")
                assert answer == wanted, f"{operation.name} by {caller}"
