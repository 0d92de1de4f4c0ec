"""Contact requests beside backends, blocked words, bans, exports, deleted accounts, breaks and the doctor."""

import asyncio
import subprocess

from support.accounts import ON, PASSWORD, Accounts, CheckedAPI, together
from support.contacts import SETTINGS, are_contacts, asked_by, askers, newest, people, post, quiet, values
from support.patience import eventually
from support.room import Room
from support.server import BINARY
from support.talks import info, talk


async def test_backends_ask_answer_and_read(server):
    room = Room(server)
    ana, bob = await people(room, "ana", "bob")
    api = CheckedAPI(server)
    path = f"/v1/users/{bob.user}/contactRequests"
    assert (await api.request("GET", path, token=room.backend)).json == {"requests": []}
    assert (await post(room, ana.user, bob.user, text="Hello")).status == 204
    await asked_by(bob, ana)
    assert (await api.request("GET", path, token=room.backend)).json == {"requests": newest(bob)}
    answer = await api.request("PUT", f"{path}/{ana.user}", {"accept": True}, token=room.backend)
    assert answer.status == 204, answer
    await are_contacts(ana, bob)
    answer = await api.request("PUT", f"{path}/nobody", {"accept": True}, token=room.backend)
    assert answer.status == 404, answer
    answer = await api.request("PUT", f"{path}/nobody", {}, token=room.backend)
    assert answer.status == 400 and answer.json["field"] == "accept", answer
    answer = await post(room, bob.user, bob.user)
    assert answer.status == 422 and answer.json["field"] == "user", answer
    assert (await api.request("GET", path, token=room.token("ana"))).status == 403


async def test_a_blocked_word_refuses_a_request(start, tmp_path):
    words = tmp_path / "words"
    words.write_text("casino\n")
    room = Room(start(SETTINGS | {"messages.blockedWords": str(words)}))
    ana, bob = await people(room, "ana", "bob")
    assert (await ana.refused("refused", "requestContact", user=bob.user, text="Visit my CASINO"))["reason"]
    await ana.did("requestContact", user=bob.user, text="Visit my house")
    await asked_by(bob, ana)


async def test_a_ban_withdraws_requests(server):
    room = Room(server)
    ana, bob = await people(room, "ana", "bob")
    await ana.did("requestContact", user=bob.user)
    await asked_by(bob, ana)
    answer = await CheckedAPI(server).request("PUT", f"/v1/users/{ana.user}/ban", {"reason": "Spam"}, token=room.backend)
    assert answer.status == 200
    await asked_by(bob)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=True)
    # Nor does a backend ask for them.
    cy, = await people(room, "cy")
    answer = await post(room, ana.user, cy.user)
    assert answer.status == 403 and answer.json["code"] == "banned" and answer.json["reason"] == "Spam", answer
    await quiet(cy)
    assert askers(cy) == []


async def test_an_export_does_not_show_what_a_deleted_user_saw(start):
    redis = start.redis()
    server = start(ON | SETTINGS, redis=redis)
    accounts, room = Accounts(server), Room(server)
    ana, bob, cy = await together(*[accounts.sign_up(displayName=name) for name in ("Ana", "Bob", "Cy")])
    clients = [await room.come(name, token=each.access) for name, each in (("ana", ana), ("bob", bob), ("cy", cy))]
    await clients[2].did("block", users=[ana.user])
    for other in (bob, cy):
        await clients[0].did("requestContact", user=other.user)
    await asked_by(clients[1], clients[0])
    export = await ana.call("GET", "/v1/me/export")
    assert f'"to":"{bob.user}"' in export.body and f'"to":"{cy.user}"' in export.body
    # Bob saw it, and Cy did not.
    assert '"contactRequest"' not in (await cy.call("GET", "/v1/me/export")).body
    for each in (bob, cy):
        assert (await each.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    await eventually(lambda: not any(key.endswith("asked:" + ana.user) and "out:" in value
                                     for key, value in values(redis).items()), "both are forgotten")
    assert '"contactRequest"' not in (await ana.call("GET", "/v1/me/export")).body


async def test_a_deleted_account_takes_requests_along(start):
    redis = start.redis()
    server = start(ON | SETTINGS, redis=redis)
    accounts, room = Accounts(server), Room(server)
    ana, bob, cy = await together(*[accounts.sign_up(displayName=name) for name in ("Ana", "Bob", "Cy")])
    clients = [await room.come(name, token=each.access) for name, each in (("ana", ana), ("bob", bob), ("cy", cy))]
    await clients[1].did("requestContact", user=ana.user, text="Something private")
    await clients[1].did("requestContact", user=cy.user)
    await clients[2].did("requestContact", user=bob.user)
    await are_contacts(clients[1], clients[2])
    await clients[0].did("requestContact", user=cy.user, text="Something else")
    await asked_by(clients[2], clients[0])
    export = await ana.call("GET", "/v1/me/export")
    assert f'"from":"{bob.user}"' in export.body and f'"to":"{cy.user}"' in export.body
    assert (await ana.call("DELETE", "/v1/me", {"password": PASSWORD})).status == 204
    await asked_by(clients[2])
    await clients[2].refused("not_found", "answerContact", user=ana.user, accept=True)
    left = values(redis)
    assert not [key for key in left if key.endswith(f"asked:{ana.user}")]
    assert not [key for key, value in left.items() if "Something" in value]
    # The answer to a later request is the same.
    await clients[2].did("requestContact", user=ana.user)


async def test_two_servers_agree_and_a_late_list_is_read_after_a_break(start):
    redis = start.redis()
    one = start(SETTINGS, redis=redis)
    two = start(SETTINGS, redis=redis, directory=one.directory)
    room = Room(one)
    ana, bob = await room.come("ana"), await room.come("bob", at=two)
    await bob.did("setVisibility", conversations={"from": "contacts"})
    await ana.did("requestContact", user=bob.user)
    await asked_by(bob, ana)
    id = (await talk(ana, bob))["id"]
    assert (await info(bob, id))["request"] is True
    redis.command("CLIENT", "KILL", "TYPE", "pubsub")
    await asyncio.gather(ana.hear("live"), bob.hear("live"))
    await ana.did("requestContact", user=room.name("cy"))
    await bob.did("answerContact", user=ana.user, accept=True)
    await asked_by(bob)
    await are_contacts(ana, bob)


async def test_the_doctor_knows_what_requests_leave(start):
    redis = start.redis()
    server = start(SETTINGS, redis=redis)
    room = Room(server)
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    await ana.did("requestContact", user=bob.user)
    await cy.did("requestContact", user=bob.user)
    await asked_by(bob, ana, cy)
    await bob.did("answerContact", user=ana.user, accept=True)
    await bob.did("setVisibility", conversations={"from": "contacts"})
    await talk(cy, bob)
    made = await asyncio.to_thread(
        subprocess.run, [BINARY, "doctor", "--json", "--redis", redis.url, "--config",
                         server.command[server.command.index("--config") + 1]], capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made
    for key, value in values(redis).items():
        assert int(redis.command("PTTL", key)) > 0, f"{key} has no end"
