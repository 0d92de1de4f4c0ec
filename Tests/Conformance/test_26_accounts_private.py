"""Private data of an account reaches only its owner: strangers try every path of the documents."""

import json

from support import pictures
from support.accounts import DOCUMENT, ON, PASSWORD, Accounts, refused
from support.raw import BINARY, frame
from support.room import Room

MARK = "m4rk"
"""Part of everything of Ana's that is private."""

LANGUAGE = f"de-x-{MARK}"
MEMBERS = ['"email":', "emailVerified", "setupCompleted", "preferredLanguage", "refreshToken", "accessToken", '"sessions"']
"""Private members of the account."""


async def live(accounts, room, email):
    """Ana does all that an account can do, while others watch."""
    ana = await accounts.sign_up(email, displayName="Ana", device={"kind": "phone", "name": f"{MARK} phone"})
    client = await room.come("ana", token=ana.access, device={"id": f"{MARK}-device", "kind": "phone", "name": MARK})
    await client.hear("ownAccount", account=lambda account: account["email"] == email)
    yield ana
    assert (await accounts.post("/v1/emails/verify", token=await accounts.mail(email, 1, "verify"))).status == 204
    await ana.call("PATCH", "/v1/me", {"changes": {"displayName": "Ana B.", "preferredLanguage": LANGUAGE,
                                                   "setupCompleted": True}})
    await client.hear("ownAccount", account=lambda account: account.get("preferredLanguage") == LANGUAGE)
    assert (await accounts.signed_in(email, device={"kind": "web", "name": f"{MARK} web"})).user == ana.user
    assert (await ana.call("PUT", "/v1/me/username", {"username": f"ana.{room.suffix.lower()[-6:].strip('-_.')}"})).status == 200
    photo = await ana.call("PUT", "/v1/me/photo", pictures.jpeg(pictures.scene(), secret=MARK))
    assert photo.status == 200
    another = f"{MARK}.new.{email}"
    assert (await ana.call("POST", "/v1/me/email", {"password": PASSWORD, "email": another})).status == 202
    assert (await accounts.post("/v1/emails/verify", token=await accounts.mail(another, 1, "verify"))).status == 204
    await client.hear("ownAccount", account=lambda account: account["email"] == another)
    yield ana


def calls(ana, username, photo, email):
    """Every call of docs/openapi.yaml about her that a stranger can make; with wrong values for everything that only she
    knows."""
    bodies = {
        "/v1/users/get": {"users": [ana.user]},
        "/v1/accounts": {"email": email, "password": "another password", "username": username},
        "/v1/sessions": {"email": username, "password": "wrong password"},
        "/v1/sessions/refresh": {"refreshToken": "AX" + ana.tokens["refreshToken"][2:]},
        "/v1/me": {"changes": {"displayName": "Stranger"}},
        "/v1/me/password": {"password": "wrong password", "newPassword": "another password"},
        "/v1/me/email": {"password": "wrong password", "email": email},
        "/v1/me/username": {"username": username},
        "/v1/emails/verify": {"token": "none"},
        "/v1/passwords/forgot": {"email": email},
        "/v1/passwords/reset": {"token": "none", "password": "another password"},
        "/v1/users/{id}/profile": {"displayName": "Stranger"},
    }
    for operation in DOCUMENT.operations:
        if operation.path == "/v1/ws":
            continue
        for name in ([photo, username] if "photos" in operation.path else [username, ana.user]):
            path = operation.path.replace("{id}", ana.user).replace("{name}", name)
            body = bodies.get(operation.path, {}) if operation.method.upper() in ("POST", "PUT", "PATCH", "DELETE") else None
            # test_26_photos.py checks the content of pictures.
            yield "HEAD" if "photos" in path else operation.method.upper(), path, body
            if "{" not in operation.path:
                break
    for path in (f"/v1/users/{ana.user}/sessions", f"/v1/users/{ana.user}/devices", f"/v1/accounts/{ana.user}", "/v1/accounts",
                 f"/v1/usernames/{username}/account", f"/v1/photos/../{ana.user}", f"/v1/me/sessions/{ana.user}"):
        yield "GET", path, None


async def test_no_path_leads_a_stranger_to_what_is_private(start):
    server = start(ON | {"user_requests_per_second": 1000, "user_request_burst": 1000}, arguments=["--log-level", "trace"])
    accounts, room = Accounts(server), Room(server)
    email = f"{MARK}-{room.suffix.lower()}@example.org".replace("_", "-")
    life = live(accounts, room, email)
    ana = await anext(life)

    # Cy has a token of the app's own and no account, Bob has an account.
    bob_account = await accounts.sign_up()
    cy, bob = await room.come("cy"), await room.come("bob", token=bob_account.access)
    for client in (cy, bob):
        await client.subscribe(ana.user)
        conversation = (await client.did("createConversation", participants=[ana.user]))["conversation"]["id"]
        await client.watch_typing(conversation)
    await anext(life)
    me = await ana.me()
    account = json.dumps(me["account"])
    assert MARK in account and LANGUAGE in account and '"emailVerified": true' in account
    username, photo = me["account"]["username"], me["profile"]["photoURL"].rsplit("/", 1)[1]

    # Sockets: events, reads, repeated subscriptions with known versions, rejections.
    for client in (cy, bob):
        await client.sees_profile(ana.user, displayName="Ana B.", username=username)
        await client.get(ana.user)
        await client.ask("subscribe", users=[ana.user], known={ana.user: {"presence": 0, "profile": 0}})
        for request in ({"type": "ownAccount"}, {"type": "account", "user": ana.user}, {"type": "getVisibility", "user": ana.user},
                        {"type": "get", "users": [username]},
                        {"type": "subscribe", "users": [ana.user], "account": True},
                        {"type": "updateProfile", "changes": {"displayName": "", "email": "a@example.org"}}):
            await client.ask(**request)
        await client.did("block", users=[ana.user])
        await client.did("unblock", users=[ana.user])
    # Addresses and usernames do not lead to a user.
    dee = await room.come("dee")
    for nobody in await dee.get(email, username):
        assert nobody["profile"] is None and nobody["presence"] == {"version": 0, "status": "offline"}
    raw = await room.raw()
    await raw.write(frame(BINARY, ana.user.encode()))
    await raw.closed()

    seen = []
    for method, path, body in calls(ana, username, photo, email):
        for stranger, token in (("nobody", None), ("cy", room.token("cy")), ("bob", bob_account.access)):
            # Calls that would delete Bob's own account are left out.
            if stranger == "bob" and method == "DELETE" and path == "/v1/me":
                continue
            answer = await accounts.api.request(method, path, body, token=token)
            seen.append((stranger, f"{method} {path}", str(answer.headers) + answer.body))
    assert len(seen) > 100 and any("/v1/photos/" in what for _, what, _ in seen)
    for stranger, what, text in seen + [("cy", "socket", json.dumps(cy.log)), ("bob", "socket", json.dumps(bob.log))]:
        text = text.replace(" ", "")
        assert MARK not in text, (stranger, what, text)
        # An export is of the stranger's own data.
        if stranger != "bob" and what not in ("GET /metrics", "GET /v1/me/export"):
            assert not [each for each in MEMBERS if each in text], (stranger, what, text)
    log = server.whole_log()
    for secret in (email, LANGUAGE, PASSWORD, f"{MARK} phone", ana.access, ana.tokens["refreshToken"]):
        assert secret not in log, secret
    # Not everything was rejected: public data was returned.
    assert any(stranger == "cy" and '"displayName":"AnaB."' in text.replace(" ", "") for stranger, _, text in seen)
    # No attempt of a stranger has changed her data.
    after = await ana.me()
    assert after == me
    refused(await accounts.post("/v1/sessions/refresh", refreshToken="none"), 401, "unauthorized", "token_expired")
