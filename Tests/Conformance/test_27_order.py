"""Requests of one connection take effect in the order in which they were sent, whatever each of them has to query
first.

Each pair is sent many times, in one write and a moment apart, with the other users on the same server and on another
one.
"""

import asyncio
import itertools
import os
import random
import signal

import pytest

from support.patience import PATIENCE, eventually
from support.raw import text
from support.room import Room
from support.server import Server
from support.redis import Redis
from support.talks import follow, fresh, group, heard, info, marks, say, talk

SETTINGS = {"requests_per_second": 0, "user_requests_per_second": 0, "linger": 1_000}
TRIES = 20
GAP = 0.0002
PEOPLE = ("ana", "bob", "mal")


@pytest.fixture(scope="module")
def servers():
    redis = Redis()
    here = Server(SETTINGS, redis=redis, shards=2)
    there = Server(SETTINGS, redis=redis, directory=here.directory, shards=2)
    yield here, there
    for each in (there, here, redis):
        each.close()


async def pipelined(client, *requests, gap=0.0):
    """The answers to pipelined requests, sent in one write or a moment apart."""
    answers, frames = [], []
    for type, members in requests:
        number = next(client.ids)
        answers.append(asyncio.get_running_loop().create_future())
        client.waiting[number] = ([], answers[-1])
        frames.append(text({"type": type, "id": number} | members))
    write = client.socket.transport.write
    if gap:
        for each in frames:
            write(each)
            await asyncio.sleep(gap)
    else:
        write(b"".join(frames))
    return await asyncio.wait_for(asyncio.gather(*answers), PATIENCE)


class Scene:
    """Ana, who pipelines requests, with Bob and Mal; a new group of all three and a new direct conversation of Ana and
    Bob."""

    numbers = itertools.count(1)

    def __init__(self, room, here, there, gap):
        self.room, self.here, self.there, self.gap = room, here, there, gap
        self.number = next(self.numbers)

    async def begin(self):
        self.ana = await self.room.come(f"ana{self.number}", at=self.here)
        self.bob, self.mal = [await self.room.come(f"{name}{self.number}", at=self.there) for name in ("bob", "mal")]
        return self

    async def group(self, *others):
        return (await group(self.ana, *(others or (self.bob, self.mal))))["id"]

    async def direct(self):
        return (await talk(self.ana, self.bob))["id"]

    async def say(self, *requests):
        return await pipelined(self.ana, *requests, gap=self.gap)


def send(id, message="m", body="hello"):
    return "send", {"conversation": id, "message": {"id": message, "text": body}}


async def removed_then_told(scene):
    id = await scene.group()
    await say(scene.ana, id, "before")
    await follow(scene.mal, id)
    await follow(scene.bob, id)
    await scene.say(("changeMembers", {"conversation": id, "remove": [scene.mal.user]}), send(id, body="the secret"))
    await eventually(lambda: heard(scene.bob, id), "Bob has the message", every=0.005)
    # Time for further events.
    await scene.mal.did("get", users=[])
    return not heard(scene.mal, id)


async def told_then_removed(scene):
    id = await scene.group()
    await follow(scene.mal, id)
    await scene.say(send(id), ("changeMembers", {"conversation": id, "remove": [scene.mal.user]}))
    await eventually(lambda: heard(scene.mal, id), "Mal has the message", every=0.005)
    return True


async def added_then_removed(scene):
    id = await scene.group(scene.bob)
    await scene.say(("changeMembers", {"conversation": id, "add": [scene.mal.user]}),
                    ("changeMembers", {"conversation": id, "remove": [scene.mal.user]}))
    return scene.mal.user not in (await info(scene.ana, id))["participants"]


async def added_then_welcomed(scene):
    id = await scene.group(scene.bob)
    await scene.say(("changeMembers", {"conversation": id, "add": [scene.mal.user]}), send(id, body="welcome"))
    return (await info(scene.mal, id))["unread"] == 1


async def sent_then_deleted(scene):
    id = await scene.direct()
    answers = await scene.say(send(id), ("deleteMessage", {"conversation": id, "message": "m"}))
    page = (await scene.bob.did("getMessages", conversation=id))["messages"]
    return answers[1]["type"] == "messageUpdated" and page[0]["text"] == ""


async def sent_then_edited(scene):
    id = await scene.direct()
    edits = [("editMessage", {"conversation": id, "message": "m", "text": each}) for each in ("one", "two")]
    await scene.say(send(id), *edits)
    return (await scene.bob.did("getMessages", conversation=id))["messages"][0]["text"] == "two"


async def hidden_then_read(scene):
    id = await scene.direct()
    await say(scene.bob, id)
    answers = await scene.say(("setVisibility", {"visibility": {"receipts": "nobody"}}),
                              ("mark", {"conversation": id, "read": 1}), ("getConversation", {"conversation": id}))
    assert answers[2]["conversation"]["unread"] == 0, answers
    await scene.ana.did("setVisibility", visibility={"receipts": "everyone"})
    return marks(await info(scene.bob, id), scene.ana).get("read", 0) == 0


async def read_then_hidden(scene):
    id = await scene.direct()
    await say(scene.bob, id)
    await scene.say(("mark", {"conversation": id, "read": 1}), ("setVisibility", {"visibility": {"receipts": "nobody"}}))
    await scene.ana.did("setVisibility", visibility={"receipts": "everyone"})
    return marks(await info(scene.bob, id), scene.ana).get("read", 0) == 1


async def sent_then_blocked(scene):
    id = await scene.direct()
    answers = await scene.say(send(id), ("block", {"users": [scene.bob.user]}))
    return [answer["type"] for answer in answers] == ["sent", "ok"]


async def blocked_then_sent(scene):
    id = await scene.direct()
    answers = await scene.say(("block", {"users": [scene.bob.user]}), send(id))
    return answers[1].get("code") == "forbidden"


async def blocked_then_looked(scene):
    """The user whom she blocks is watched: the answer comes from memory. Whom she blocks does not show her a last seen."""
    await scene.ana.subscribe(scene.bob)
    await scene.bob.close()
    await scene.ana.sees(scene.bob, status="offline")
    kinds = ["block", "get", "unblock", "get"] * 4
    answers = await scene.say(*[(kind, {"users": [scene.bob.user]}) for kind in kinds])
    looks = [answer["users"][0]["presence"] for kind, answer in zip(kinds, answers) if kind == "get"]
    return ["lastSeen" in look for look in looks] == [False, True] * 4


async def unblocked_then_sent(scene):
    id = await scene.direct()
    await scene.ana.did("block", users=[scene.bob.user])
    answers = await scene.say(("unblock", {"users": [scene.bob.user]}), send(id))
    return answers[1]["type"] == "sent"


async def sent_then_looked(scene):
    id = await scene.direct()
    answers = await scene.say(send(id), ("getMessages", {"conversation": id}), ("getConversation", {"conversation": id}),
                              ("subscribe", {"conversations": [{"id": id}], "conversationList": True}))
    page, one, all = answers[1]["messages"], answers[2]["conversation"], answers[3]
    return len(page) == 1 and one["last"] == 1 and len(all["conversations"][0]["messages"]) == 1 \
        and all["conversationList"][0]["last"] == 1


async def looked_then_sent(scene):
    id = await scene.direct()
    answers = await scene.say(("getMessages", {"conversation": id}), ("getConversation", {"conversation": id}), send(id))
    return answers[0]["messages"] == [] and answers[1]["conversation"]["last"] == 0


async def removed_then_looked(scene):
    id = await scene.group()
    answers = await scene.say(("changeMembers", {"conversation": id, "remove": [scene.mal.user]}),
                              ("getConversation", {"conversation": id}))
    return scene.mal.user not in answers[1]["conversation"]["participants"]


async def left_then_sent(scene):
    id = await scene.group()
    answers = await scene.say(("changeMembers", {"conversation": id, "remove": [scene.ana.user]}), send(id))
    return answers[1].get("code") == "forbidden"


async def renamed_twice(scene):
    id = await scene.group()
    await scene.say(*[("renameConversation", {"conversation": id, "name": each}) for each in ("one", "two")])
    return (await info(scene.bob, id))["name"] == "two"


async def muted_then_not(scene):
    id = await scene.direct()
    answers = await scene.say(*[("conversationSettings", {"conversation": id, "muted": each}) for each in (True, False)],
                              ("getConversation", {"conversation": id}))
    return not answers[2]["conversation"].get("muted")


async def created_then_blocked(scene):
    answers = await scene.say(("createConversation", {"participants": [scene.bob.user]}),
                              ("block", {"users": [scene.bob.user]}),
                              ("createConversation", {"participants": [scene.bob.user, scene.mal.user], "name": "G"}))
    return answers[0]["type"] == "conversationCreated" and answers[2].get("code") == "forbidden"


async def typed_then_stopped(scene):
    id = await scene.direct()
    await scene.bob.watch_typing(id)
    await scene.say(("typing", {"conversation": id, "typing": True}), ("typing", {"conversation": id, "typing": False}),
                    send(id))
    await scene.bob.did("getMessages", conversation=id)
    return (await scene.bob.did("subscribe", conversations=[id]))["conversations"][0]["typing"] == []


async def named_then_looked(scene):
    await scene.ana.subscribe(scene.ana)
    answers = await scene.say(("updateProfile", {"changes": {"displayName": "New"}}), ("get", {"users": [scene.ana.user]}),
                              ("subscribe", {"users": [scene.ana.user]}))
    return all(answer["users"][0]["profile"].get("displayName") == "New" for answer in answers[1:])


async def hidden_and_shown(scene):
    requests = [("setVisibility", {"visibility": {"presence": each}}) for each in ("nobody", "contacts", "everyone")]
    answers = await scene.say(*requests, ("addContacts", {"users": [scene.bob.user]}),
                              ("removeContacts", {"users": [scene.bob.user]}), ("getVisibility", {}))
    return answers[-1]["visibility"]["presence"] == "everyone" and answers[-1]["contacts"] == []


async def many_sent(scene):
    id = await scene.direct()
    answers = await scene.say(*[send(id, message=f"m{number}") for number in range(12)])
    return [answer["message"]["seq"] for answer in answers] == list(range(1, 13))


async def blocked_then_asked(scene):
    answers = await scene.say(("block", {"users": [scene.bob.user]}), ("requestContact", {"user": scene.bob.user}),
                              ("unblock", {"users": [scene.bob.user]}), ("requestContact", {"user": scene.mal.user}))
    await scene.mal.hear("contactRequests")
    return [answer.get("code") for answer in answers] == [None, "forbidden", None, None]


async def asked_then_blocked(scene):
    answers = await scene.say(("requestContact", {"user": scene.bob.user}), ("block", {"users": [scene.bob.user]}))
    assert [answer["type"] for answer in answers] == ["ok", "ok"]

    async def is_over():
        return (await scene.bob.ask("answerContact", user=scene.ana.user, accept=True)).get("code") == "not_found"
    return await eventually(is_over, "the request is over", every=0.005)


async def accepted_then_removed(scene):
    for other in (scene.bob, scene.mal):
        await other.did("requestContact", user=scene.ana.user)
    answers = await scene.say(("answerContact", {"user": scene.bob.user, "accept": True}),
                              ("removeContacts", {"users": [scene.bob.user]}),
                              ("answerContact", {"user": scene.mal.user, "accept": True}), ("getVisibility", {}))
    return answers[3]["contacts"] == [scene.mal.user]


async def read_then_accepted(scene):
    """A stranger sees what was read before the answer only after it."""
    await scene.ana.did("setVisibility", conversations={"from": "contacts"})
    id = (await talk(scene.bob, scene.ana))["id"]
    await say(scene.bob, id)
    answers = await scene.say(("mark", {"conversation": id, "read": 1}), ("getConversation", {"conversation": id}),
                              ("answerContact", {"user": scene.bob.user, "accept": True}),
                              ("getConversation", {"conversation": id}))
    return answers[1]["conversation"]["request"] and "request" not in answers[3]["conversation"] \
        and marks(await info(scene.bob, id), scene.ana)["read"] == 1


async def refused_then_written(scene):
    await scene.ana.did("setVisibility", conversations={"from": "contacts"})
    id = (await talk(scene.bob, scene.ana))["id"]
    answers = await scene.say(("answerContact", {"user": scene.bob.user, "accept": False}),
                              ("getConversation", {"conversation": id}), send(id), ("getConversation", {"conversation": id}))
    return answers[1]["conversation"]["archived"] and "request" not in answers[3]["conversation"]


SCENES = [removed_then_told, told_then_removed, added_then_removed, added_then_welcomed, sent_then_deleted, sent_then_edited,
          hidden_then_read, read_then_hidden, sent_then_blocked, blocked_then_sent, blocked_then_looked,
          unblocked_then_sent, sent_then_looked,
          looked_then_sent, removed_then_looked, left_then_sent, renamed_twice, muted_then_not, created_then_blocked,
          typed_then_stopped, named_then_looked, hidden_and_shown, many_sent,
          blocked_then_asked, asked_then_blocked, accepted_then_removed, read_then_accepted, refused_then_written]


@pytest.mark.parametrize("place", ["one server", "two servers"])
@pytest.mark.parametrize("play", SCENES, ids=lambda play: play.__name__)
async def test_each_request_takes_effect_before_the_next(servers, play, place):
    here, there = servers
    room = Room(here)

    async def one(number):
        scene = Scene(room, here, here if place == "one server" else there, GAP if number % 2 else 0.0)
        return await play(await scene.begin())

    outcomes = await asyncio.gather(*[one(number) for number in range(TRIES)])
    assert all(outcomes), f"{outcomes.count(False)} of {TRIES} were out of order"


async def test_a_drawn_mixture_of_requests_is_carried_out_in_order(servers):
    """Random requests about one group, sent at once: the final state is that of the last request of each kind."""
    here, there = servers
    room, seed = Room(here), int(os.environ.get("SEED", random.randrange(1_000_000)))

    async def one(number):
        draw = random.Random(seed + number)
        scene = await Scene(room, here, there, draw.choice([0.0, GAP])).begin()
        id = await scene.group()
        members, name, sent, requests, expected = {scene.bob.user, scene.mal.user}, None, [], [], []
        for step in range(14):
            what = draw.choice(["add", "remove", "send", "rename", "look", "delete"])
            if what in ("add", "remove"):
                requests.append(("changeMembers", {"conversation": id, what: [scene.mal.user]}))
                (members.add if what == "add" else members.discard)(scene.mal.user)
            elif what == "send":
                sent.append([f"m{step}", "hello"])
                requests.append(send(id, message=f"m{step}"))
            elif what == "rename":
                name = f"name {step}"
                requests.append(("renameConversation", {"conversation": id, "name": name}))
            elif what == "look":
                expected.append((len(requests), set(members), len(sent), name))
                requests.append(("getConversation", {"conversation": id}))
            elif sent:
                chosen = draw.choice(sent)
                chosen[1] = ""
                requests.append(("deleteMessage", {"conversation": id, "message": chosen[0]}))
        answers = await scene.say(*requests)
        faults = [answer for answer in answers if answer["type"] == "error"]
        assert not faults, f"SEED={seed + number}: {faults}"
        for place, there_were, last, called in expected:
            seen = answers[place]["conversation"]
            fits = set(seen["participants"]) == there_were | {scene.ana.user} and seen["last"] == last
            assert fits and (called is None or seen["name"] == called), f"SEED={seed + number}: {requests} {answers}"
        page = (await scene.ana.did("getMessages", conversation=id))["messages"]
        assert [[each["id"], each["text"]] for each in page] == sent, f"SEED={seed + number}: {requests}"

    await asyncio.gather(*[one(number) for number in range(TRIES)])


async def test_many_marks_and_questions_of_one_connection_are_carried_out_side_by_side(servers):
    """Marks are collected for a moment; those of one connection for many conversations do not add up their moments."""
    here, _ = servers
    room = Room(here)
    scene = await Scene(room, here, here, 0.0).begin()
    ids = [await scene.group() for _ in range(10)]
    for id in ids:
        await say(scene.bob, id)
    before = asyncio.get_running_loop().time()
    answers = await scene.say(*[("mark", {"conversation": id, "read": 1}) for id in ids],
                              *[("getConversation", {"conversation": id}) for id in ids])
    assert [answer["type"] for answer in answers] == ["ok"] * 10 + ["conversationInfo"] * 10
    assert all(answer["conversation"]["unread"] == 0 for answer in answers[10:])
    # One after the other would take at least a second.
    assert asyncio.get_running_loop().time() - before < 0.9


class Late:
    """Ana's device sends a request to a suspended server; her connection is cut, and she sends the opposite elsewhere."""

    def __init__(self, room, device):
        self.room, self.device = room, device

    async def play(self, old, new, stop=True):
        room, here, there = self.room, self.room.server, self.room.other
        ana = await room.come("ana", self.device)
        here.stand_still()
        try:
            for type, members in old:
                await ana.send({"type": type} | members)
            ana.abort()
            again = await room.come("ana", self.device, at=there)
            for type, members in new:
                await again.did(type, **members)
            # The loop is later than it ever is while it runs.
            await asyncio.sleep(1.2)
        finally:
            here.send_signal(signal.SIGCONT)
        # When the first server answers later input, it has handled the rest of the old connection.
        await room.come("zoe")
        return again


@pytest.fixture
def late(start):
    redis = start.redis()
    settings = SETTINGS | {"lease": 20_000}
    room = Room(start(settings, redis=redis))
    room.other = start(settings, redis=redis, directory=room.server.directory)
    return room


@pytest.mark.parametrize("device", ["phone", None], ids=["the same device", "a device without an id"])
async def test_a_dead_connection_undoes_nothing_that_was_acknowledged_since(late, device):
    eve = await late.come("eve", at=late.other)
    cy = await late.come("cy", at=late.other)
    creator = await late.come("ana", "web", at=late.other)
    id = (await group(creator, eve, cy))["id"]
    await say(creator, id, "first", message="m")
    again = await Late(late, device).play(
        old=[("setVisibility", {"visibility": {"presence": "everyone"}}), ("unblock", {"users": [eve.user]}),
             ("status", {"status": "busy", "text": "old"}), ("updateProfile", {"changes": {"displayName": "Old"}}),
             ("renameConversation", {"conversation": id, "name": "Old"}),
             ("editMessage", {"conversation": id, "message": "m", "text": "Old"})],
        new=[("setVisibility", {"visibility": {"presence": "nobody"}}), ("block", {"users": [cy.user, eve.user]}),
             ("status", {"status": "invisible"}), ("updateProfile", {"changes": {"displayName": "New"}}),
             ("renameConversation", {"conversation": id, "name": "New"}),
             ("editMessage", {"conversation": id, "message": "m", "text": "New"})])
    visibility = await again.did("getVisibility")
    assert visibility["visibility"]["presence"] == "nobody"
    assert sorted(visibility["blocks"]) == sorted([cy.user, eve.user])
    await again.subscribe(again)
    assert again.profile[again.user]["displayName"] == "New"
    assert (await info(again, id))["name"] == "New"
    assert (await again.did("getMessages", conversation=id))["messages"][0]["text"] == "New"
    assert (await late.come("ana", "tablet")).connected["status"]["status"] == "invisible"
