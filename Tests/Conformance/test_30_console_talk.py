"""The console's conversations, live trace and playground, as an operator uses them."""

from support.app import fill, press, shot, shows, title
from support.patience import eventually
from support.ports import free_port
from support.api import API
from support.room import Room
from support.talks import group, say, talk

from test_30_console import SETTINGS, ask, console, never_told

TRACE = "/v1/console/trace"


class Follower:
    """Reads a trace like the page."""

    def __init__(self, room, **subject):
        self.room, self.subject, self.events, self.more = room, subject, [], {"after": 0}

    async def look(self):
        answer = await ask(self.room, "GET", TRACE, **self.subject, **self.more)
        assert answer.status == 200, answer
        told = answer.json
        self.more = {"trace": told["trace"], "after": told["last"]}
        self.events += told["events"]
        assert told["lost"] == 0
        return self.events

    async def sees(self, kind, about):
        async def seen():
            await self.look()
            return [each for each in self.events if each["kind"] == kind and about in each.get("about", "")]
        return (await eventually(seen, f"{kind}: {about} among {self.events}"))[0]


# Conversations


async def test_the_conversations_of_a_user_are_told_without_texts(room):
    ana, bob, cy = await room.come("ana"), await room.come("bob"), await room.come("cy")
    direct = await talk(ana, bob)
    team = await group(ana, bob, cy, name='The "team"')
    await say(ana, direct["id"], "a private word")
    last = await say(bob, team["id"], "another private word")
    await ana.did("conversationSettings", conversation=direct["id"], muted=True)
    answer = await ask(room, "GET", "/v1/console/conversations", user=ana.user)
    assert "private word" not in answer.body and "more" not in answer.json
    first, second = answer.json["conversations"]
    assert (first["id"], first["kind"], first["name"], first["last"], first["unread"]) == (team["id"], "group", 'The "team"', 1, 1)
    assert first["participants"] == sorted([ana.user, bob.user, cy.user]) and first["lastMessageAt"] == last["at"]
    assert (second["id"], second["kind"], second["unread"], second.get("muted")) == (direct["id"], "direct", 0, True)
    assert (await ask(room, "GET", "/v1/console/conversations", user="nobody")).json == {"conversations": []}
    for query, status in (({}, 400), ({"user": "a%20b"}, 422)):
        answer = await ask(room, "GET", "/v1/console/conversations", **query)
        assert (answer.status, answer.json["field"]) == (status, "user")


async def test_conversations_are_found_and_shown(chromium, room):
    ana, bob = await room.come("ana", "web"), await room.come("bob", "web")
    id = (await group(ana, bob, name="Planning"))["id"]
    for number in range(3):
        await say(ana, id, f"a private word {number}")
    await bob.did("mark", conversation=id, read=2)
    async with chromium:
        page = await console(chromium, room, "/conversations")
        await title(page, "Conversations")
        await fill(page, "user", "no id")
        await page.key("Enter")
        await shows(page, "Please enter an id.")
        await fill(page, "user", ana.user)
        await page.key("Enter")
        await shows(page, "1 conversation")
        await shot(page, "console-conversations")
        await press(page, "Planning")
        await title(page, "Planning")
        await page.until(f"[...document.querySelectorAll('[aria-label=Members] tr')].some((row) => row.innerText.startsWith({bob.user!r}) && row.innerText.includes('2'))")
        await shows(page, "16 characters")
        assert "private word" not in await page.value("document.body.innerText")
        await say(bob, id, "one more")
        await shows(page, "8 characters")
        await shot(page, "console-conversation")
        await press(page, "Follow its events")
        await title(page, "Live trace")
        await shows(page, "Events of the conversation")
        never_told(page, room.backend)


async def test_a_missing_conversation_is_reported(chromium, room):
    async with chromium:
        page = await console(chromium, room, "/conversation/nothing", expected=("Failed to load resource",))
        await shows(page, "There is no such conversation.")


# Live trace


async def test_a_trace_tells_what_happens_in_order_and_without_texts(room):
    ana, bob = await room.come("ana", "web"), await room.come("bob")
    id = (await talk(ana, bob))["id"]
    user, conversation = Follower(room, user=ana.user), Follower(room, conversation=id)
    assert await user.look() == [] and await conversation.look() == []
    await ana.status("busy", text="a private word")
    await ana.update(displayName="A private name")
    await ana.types(id)
    message = await say(ana, id, "a private word")
    await bob.did("mark", conversation=id, read=message["seq"])
    await ana.did("editMessage", conversation=id, message=message["id"], text="private too")
    await user.sees("presence", "busy on web, with a text")
    await user.sees("profile", "displayName")
    await user.sees("typing", ana.user)
    sent = await user.sees("message", f"number 1 from {ana.user}, new")
    await user.sees("message", "edited")
    assert sent["subject"] == id and sent["version"] == 1
    body = {"users": [ana.user], "id": "n1", "kind": "order", "title": "A private title"}
    assert (await room.api.request("POST", "/v1/notifications", body, token=room.backend)).status == 202
    await user.sees("notifications", "1 unseen, 1 unread")
    for kind, about in (("typing", ana.user), ("message", "new"), ("conversation", f"{bob.user} has read 1"), ("message", "edited")):
        await conversation.sees(kind, about)
    assert [each["at"] for each in conversation.events] == sorted(each["at"] for each in conversation.events)
    assert "rivate" not in str(user.events + conversation.events)
    # Another user's actions are not among them.
    await bob.status("busy")
    await ana.status("auto")
    await user.sees("presence", "online on web")
    assert not [each for each in user.events if each["subject"] == bob.user]


async def test_a_trace_begins_again_for_numbers_of_another(room):
    ana = await room.come("ana")
    follower = Follower(room, user=ana.user)
    await follower.look()
    await ana.status("busy")
    await follower.sees("presence", "busy")
    answer = (await ask(room, "GET", TRACE, user=ana.user, trace="another", after=1_000)).json
    assert answer["events"] == follower.events and answer["lost"] == 0
    assert (await ask(room, "GET", TRACE, user=ana.user, **follower.more)).json["events"] == []


async def test_a_trace_of_nothing_and_one_too_many_are_refused(start):
    room = Room(start(SETTINGS))
    for query, status, field in (({}, 400, "user"), ({"user": "a%20b"}, 422, "user"), ({"conversation": ""}, 422, "conversation"),
                                 ({"user": "ana", "conversation": "c"}, 422, "user"),
                                 ({"user": "ana", "after": "x"}, 422, "after"), ({"user": "ana", "after": "-1"}, 422, "after")):
        answer = await ask(room, "GET", TRACE, **query)
        assert (answer.status, answer.json["field"]) == (status, field), query
    for number in range(16):
        assert (await ask(room, "GET", TRACE, user=f"u{number}")).status == 200
    answer = await ask(room, "GET", TRACE, user="u16")
    assert answer.status == 429 and answer.headers["Retry-After"] == "10"
    assert (await ask(room, "GET", TRACE, user="u3")).status == 200


async def test_events_are_shown_as_they_happen(chromium, room):
    ana = await room.come("ana", "web")
    async with chromium:
        page = await console(chromium, room, "/trace")
        await title(page, "Live trace")
        await fill(page, "id", ana.user)
        await page.key("Enter")
        await shows(page, "Waiting for the first event…")
        # The first call started the trace.
        await page.until("performance.getEntriesByType('resource').some(({ name }) => name.includes('/v1/console/trace'))")
        await ana.status("busy", text="a private word")
        await shows(page, "busy on web, with a text")
        await ana.update(displayName="Ana")
        await shows(page, "displayName")
        await shot(page, "console-trace")
        newest = await page.value("document.querySelector('tbody tr').innerText")
        assert "Profile" in newest and "private word" not in await page.value("document.body.innerText")
        await press(page, "Pause")
        await page.until("!!document.querySelector('[aria-pressed=true]')")
        await press(page, "Clear")
        await page.until("!document.querySelector('tbody tr')")
        await ana.status("auto")
        await press(page, "Pause")
        await shows(page, "online on web")
        never_told(page, room.backend)


# Playground


def phone(name):
    return f"document.querySelector('[aria-label=\"{name}’s phone\"]')"


async def write(page, name, text):
    await fill(page, f"text-playground-{name.lower()}", text)


async def airplane(page, name):
    await page.run(f"{phone(name)}.querySelector('[role=switch]').click()")


async def says(page, name, text):
    await page.until(f"{phone(name)}?.innerText.includes({text!r})", f"{name}'s phone says {text!r}")


async def test_two_phones_talk_and_one_is_cut_off(chromium, start):
    room = Room(start(SETTINGS))
    async with chromium:
        page = await console(chromium, room, "/playground")
        await title(page, "Playground")
        for name in ("Ana", "Ben"):
            await says(page, name, "Live")
        await says(page, "Ana", "Online · on phone")
        await write(page, "Ana", "Hello B")
        await says(page, "Ben", "Ana is typing…")
        await page.key("Enter")
        await says(page, "Ben", "Hello B")
        await says(page, "Ana", "Read")
        await page.run(f"const field = {phone('Ben')}.querySelector('select'); field.value = 'busy'; field.dispatchEvent(new Event('change'))")
        await says(page, "Ana", "Busy")
        await shot(page, "console-playground")
        await airplane(page, "Ben")
        await says(page, "Ben", "No connection")
        assert await page.value(f"{phone('Ben')}.querySelector('[role=switch]').getAttribute('aria-checked')") == "true"
        await says(page, "Ana", "Offline")
        await write(page, "Ben", "From the plane")
        await page.key("Enter")
        await says(page, "Ben", "Waits for a connection")
        await write(page, "Ana", "To the plane")
        await page.key("Enter")
        await says(page, "Ana", "Sent")
        await shot(page, "console-playground-airplane")
        assert "To the plane" not in await page.value(f"{phone('Ben')}.innerText")
        assert "From the plane" not in await page.value(f"{phone('Ana')}.innerText")
        await airplane(page, "Ben")
        await says(page, "Ana", "From the plane")
        await says(page, "Ben", "To the plane")
        await page.until(f"!/Waits|Sending/.test({phone('Ben')}.innerText)")
        await says(page, "Ana", "Busy")
        never_told(page, room.backend)
        # Both leave with the page.
        await page.run("location.hash = '/doctor'")
        await title(page, "Doctor")

        async def gone():
            told = await room.api.request("GET", "/v1/users/playground-ana", token=room.backend)
            return told.json["presence"]["status"] == "offline"
        await eventually(gone, "Ana is offline")
        assert await page.value("WebSocket.name") == "WebSocket"


async def test_a_phone_that_was_cut_off_lingers_first(chromium, start):
    """The switch loses the connection without a close."""
    room = Room(start(SETTINGS | {"linger": 60_000, "lease": 70_000}))
    async with chromium:
        page = await console(chromium, room, "/playground")
        await says(page, "Ana", "Online · on phone")
        await airplane(page, "Ben")
        await says(page, "Ben", "No connection")
        metric = lambda: room.api.metric("presence_sessions_lingering")
        await eventually(metric, "one lingers")
        assert await page.value(f"{phone('Ana')}.innerText.includes('Online · on phone')")


async def test_a_phone_that_has_no_network_when_it_is_switched_on_begins_when_it_has(chromium, start):
    room = Room(start(SETTINGS))
    async with chromium:
        page = await console(chromium, room, "/doctor", expected=("closed before the connection is established",))
        # Waits for answers and sockets take a hundredth of the time.
        await page.run("""
            globalThis.plain = setTimeout;
            globalThis.setTimeout = (act, ms, ...rest) => plain(act, ms === 10_000 ? 100 : ms, ...rest);
            globalThis.tries = 0;
            globalThis.isCut = true;
            const send = WebSocket.prototype.send;
            WebSocket.prototype.send = function (text) {
                if (JSON.parse(text).type === "createConversation") {
                    tries++;
                    if (isCut) return;
                }
                send.call(this, text);
            };
            location.hash = "/playground";""")
        await page.until("tries > 4", "it goes on asking")
        for name in ("Ana", "Ben"):
            assert await page.value(f"{phone(name)}.querySelector('[role=alert]').textContent") == ""
        # From now on the storage has its time, too.
        await page.run("isCut = false; globalThis.setTimeout = plain")
        await write(page, "Ana", "Here I am")
        # Sent as soon as there is a conversation.
        await page.until(f"({phone('Ana')}.querySelector('form').requestSubmit(), !{phone('Ana')}.querySelector('input').value)")
        await says(page, "Ben", "Here I am")


async def test_its_tokens_are_for_its_two_users(start):
    room = Room(start(SETTINGS))
    told = (await ask(room, "POST", "/v1/console/playground")).json
    assert [each["user"] for each in told["phones"]] == ["playground-ana", "playground-ben"]
    for each in told["phones"]:
        client = await room.come("any", token=each["token"])
        assert client.user == each["user"]
    assert (await ask(room, "POST", "/v1/console/playground", token=told["phones"][0]["token"])).status == 403


async def test_where_clients_have_another_port_there_is_no_playground(start):
    port = free_port()
    room = Room(start(SETTINGS | {"api.port": port}))

    class Back:
        host = room.server.host
    Back.port = port
    room.api = API(Back)
    answer = await ask(room, "POST", "/v1/console/playground")
    assert (answer.status, answer.json["code"]) == (404, "not_found")
