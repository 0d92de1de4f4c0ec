"""Backends read, send and delete messages; no user is one."""

from support.openapi import OpenAPI
from support.talks import follow, hears, info, pair, say

SETTINGS = {"linger": 5_000, "lease": 6_000}
DOCUMENT = OpenAPI("openapi.yaml")


async def test_backends_read_send_and_delete(room):
    ana, bob, id = await pair(room)
    await follow(bob, id)

    async def call(method, path, body=None, token=room.backend):
        answer = await room.api.request(method, f"/v1/conversations/{path}", body, token=token)
        template = "/v1/conversations/{id}/messages" + ("/{message}" if path.count("/") > 1 else "")
        operation, = [each for each in DOCUMENT.operations if (each.method, each.path) == (method, template)]
        DOCUMENT.check(method, answer, operation.responses[answer.status], f"{method} {path}")
        return answer
    body = {"from": ana.user, "message": {"id": "b1", "text": "from behind"}}
    answer = await call("POST", f"{id}/messages", body)
    assert answer.status == 200 and answer.json["message"]["from"] == ana.user
    assert (await call("POST", f"{id}/messages", body)).json == answer.json
    assert (await hears(bob, id, 1))[0]["message"] == answer.json["message"]
    assert (await call("POST", f"{id}/messages", body | {"from": bob.user})).status == 409
    assert (await call("POST", f"{id}/messages", body | {"from": room.name("zed")})).status == 403
    assert (await call("POST", f"{id}/messages", {"from": ana.user})).status == 400
    assert (await call("POST", f"{id}/messages", {"from": ana.user, "message": {"id": "b2", "text": ""}})).status == 422
    for number in range(4):
        await say(bob, id, f"{number}")
    page = await call("GET", f"{id}/messages?before=4&limit=2")
    assert page.status == 200 and [message["seq"] for message in page.json["messages"]] == [2, 3]
    assert (page.json["first"], page.json["last"]) == (1, 5)
    assert (await call("GET", f"{id}/messages?limit=101")).status == 422
    assert (await call("GET", "nothing/messages")).status == 404
    gone = await call("DELETE", f"{id}/messages/b1")
    assert gone.status == 200 and gone.json["message"]["deletedAt"] and "deletedBy" not in gone.json["message"]
    assert (await call("DELETE", f"{id}/messages/b9")).status == 404
    assert (await call("GET", f"{id}/messages", token=room.token("ana"))).status == 403


async def test_no_id_of_a_user_is_a_backend(room):
    """Ids may be any printable characters: none of them stands for a backend."""
    ana, bob, id = await pair(room)
    sent = await say(ana, id, "between us")
    for name in ("-", "0", "*", "nil"):
        stranger = await room.socket()
        await stranger.connect(room.server.mint.token(name))
        await stranger.refused("forbidden", "getMessages", conversation=id)
        await stranger.refused("forbidden", "deleteMessage", conversation=id, message=sent["id"])
        await stranger.refused("forbidden", "editMessage", conversation=id, message=sent["id"], text="mine")
    assert (await info(bob, id))["lastMessage"] == sent
