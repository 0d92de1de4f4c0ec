"""Damaged records in Redis, in forms that no server writes: they are never shown, every request is answered, and the
doctor repairs them."""

import asyncio
import json
import os
import stat
import subprocess
import tempfile
import time

from support.accounts import ON, Accounts
from support.inboxes import hears, inbox, notify, titles
from support.patience import PATIENCE, eventually
from support.processes import end_with_parent
from support.receiver import Receiver
from support.room import Room
from support.server import BINARY, run
from support.talks import group, listed, say, sees, talk

LONG = 4 * PATIENCE
QUICK = {"linger": 500, "lease": 1000, "renewal": 100, "sweep": 50, "partitions": 4}


def key_of(redis, kind, user):
    return next(key for key in redis.command("KEYS", f"*:{kind}:{user}").splitlines() if key)


def doctor(server, redis, *arguments):
    made = run("doctor", "--redis", redis.url, "--config", server.command[server.command.index("--config") + 1],
               "--json", *arguments)
    assert made.returncode in (0, 1), made.stderr
    return json.loads(made.stdout)


def kinds(findings):
    return sorted(finding["kind"] for finding in findings)


async def test_an_unreadable_visibility_is_an_error_and_grants_no_access(start):
    redis = start.redis()
    server = start(QUICK, redis=redis)
    room = Room(server)
    ana = await room.come("ana")
    await ana.did("setVisibility", visibility={"lastSeen": "contacts"})
    await ana.did("updateProfile", changes={"displayName": "Ana"})
    record = key_of(redis, "user", ana.user)
    for damage in ("x", "1 e e", "1 e q 0 0", "-1 e e 0 0", "y e e 0 0"):
        redis.command("HSET", record, "visibility", damage)
        # Rejected with an error; the next request is answered as usual.
        await ana.refused("internal", "getVisibility")
        assert (await ana.get(ana))[0]["user"] == ana.user
        await ana.refused("internal", "setVisibility", visibility={"presence": "everyone"})
        answer = await room.api.request("GET", f"/v1/users/{ana.user}/visibility", token=room.backend)
        assert answer.status == 500 and answer.json["code"] == "internal"
        assert redis.command("HGET", record, "visibility") == damage
        # New watchers see nothing, whatever the user allowed; a backend sees the user.
        bob = await room.come("bob")
        shown = (await bob.get(ana))[0]
        assert shown["presence"] == {"version": 0, "status": "offline"} and shown["profile"] is None
        answer = await room.api.request("GET", f"/v1/users/{ana.user}", token=room.backend)
        assert answer.json["presence"]["status"] == "online"
        await bob.close()
    assert "damaged record" in server.logged() and ana.user not in server.whole_log()
    assert await room.api.metric("damaged_records_total") > 0
    cy = await room.come("cy")
    await cy.subscribe(ana)
    # The doctor finds, repairs and reports it: the readable part stays, and the rest gives no access.
    assert kinds(doctor(server, redis)["findings"]) == ["malformedVisibility"]
    mended = doctor(server, redis, "--repair")
    assert mended["healthy"] and kinds(mended["repaired"]) == ["malformedVisibility"]
    assert (await ana.ask("getVisibility"))["visibility"] == {"presence": "everyone", "lastSeen": "everyone"}
    await cy.sees(ana, status="online")
    await ana.did("setVisibility", visibility={"presence": "nobody"})
    await cy.sees(ana, status="offline")


async def test_a_register_that_is_no_json_is_shown_to_nobody(start):
    redis = start.redis()
    room = Room(start(QUICK, redis=redis))
    ana = await room.come("ana")
    await ana.did("updateProfile", changes={"displayName": "Ana"})
    record = key_of(redis, "user", ana.user)
    whole = redis.command("HGET", record, "profile")
    for damage in ("x", '"a":1', '"a":1},"b":{', whole[:-1] + ",}", "", '}{"a":1}'):
        redis.command("HSET", record, "profile", damage)
        redis.command("HSET", record, "presence", damage)
        # The client parses every message as JSON, and fails the test for an invalid one.
        bob = await room.come("bob")
        await bob.subscribe("nobody", ana)
        shown = (await bob.get(ana))[0]
        assert shown["presence"] == {"version": 0, "status": "offline"} and shown["profile"] is None, damage
        answer = await room.api.request("GET", f"/v1/users/{ana.user}", token=room.backend)
        assert answer.status == 200 and answer.json["profile"] is None
        await bob.close()


async def test_damage_processed_by_a_script_reaches_no_client(start):
    redis = start.redis()
    room = Room(start(QUICK, redis=redis))
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.status("busy", text="well")
    await ana.did("updateProfile", changes={"displayName": "Ana"})
    await bob.subscribe(ana)
    record = key_of(redis, "user", ana.user)
    redis.command("HSET", record, "text", 'un"well', "profile", '"displayName":"A"na","createdAt":1,"updatedAt":1}')
    await ana.did("activity", state="idle")
    await ana.status("auto")
    # The readable part of her profile is written again.
    changed = await ana.did("updateProfile", changes={"locale": "pt"})
    assert changed["profile"]["locale"] == "pt" and changed["profile"]["displayName"] in (None, "A", "Ana")
    # Later events reach Bob again; every message on the way was JSON.
    await ana.status("busy", text="well again")
    await bob.sees(ana, status="busy", text="well again")
    await ana.did("updateProfile", changes={"displayName": "Ana again"})
    # Answered on her shard, which is not Bob's: his event follows a moment later.
    await bob.sees_profile(ana, displayName="Ana again")
    assert (await bob.get(ana))[0]["profile"]["displayName"] == "Ana again"


async def test_the_doctor_goes_on_after_keys_of_another_type(start):
    redis = start.redis()
    server = start(QUICK, redis=redis)
    room = Room(server)
    ana, bob, cy = await room.come("ana"), await room.come("bob"), await room.come("cy")
    await bob.subscribe(ana, cy)
    await ana.close(1000)
    await bob.sees(ana, status="offline")
    prefix = key_of(redis, "user", ana.user).rpartition("user:")[0]
    redis.command("SET", prefix + "sessions:" + ana.user, "x")
    redis.command("HSET", key_of(redis, "sessions", cy.user), "s2", "no session")
    redis.command("RPUSH", prefix + "contacts:" + ana.user, "x")
    found = doctor(server, redis)
    assert kinds(found["findings"]) == ["malformedSession", "unusableKey", "wrongType"]
    after = doctor(server, redis, "--repair")
    # Everything except user data.
    assert kinds(after["repaired"]) == ["malformedSession", "unusableKey"] and kinds(after["findings"]) == ["wrongType"]
    ana = await room.come("ana")
    await bob.sees(ana, status="online")


async def test_a_session_that_its_living_server_does_not_hold_is_found_and_ended(start):
    redis = start.redis()
    server = start(QUICK, redis=redis, shards=2)
    room = Room(server)
    ana, bob = await room.come("ana"), await room.come("bob")
    watcher = await room.come("wanda")
    await watcher.subscribe(bob, room.name("zoe"))
    # Real sessions are never reported.
    assert doctor(server, redis)["healthy"]
    session = redis.command("HGETALL", key_of(redis, "sessions", bob.user)).splitlines()[1]
    incarnation = session.split(" ")[0]
    # Zoe's first session is real, so that she has a record. A forged one is added, and the real one ends.
    zoe = await room.come("zoe")
    user = room.name("zoe")
    await watcher.sees(user, status="online")
    sessions = key_of(redis, "sessions", user)
    redis.command("HSET", sessions, "ghost", f"{incarnation} - phone a {int(time.time() * 1000) - 5000}")
    redis.command("SADD", sessions.rpartition("sessions:")[0] + f"shard:{incarnation}:users", user)
    await zoe.close(1000)
    found = doctor(server, redis)
    assert kinds(found["findings"]) == ["ghostSession"] and found["findings"][0]["subjects"] == [f"{sessions} ghost"]
    assert (await watcher.get(user))[0]["presence"]["status"] != "offline"
    repaired = doctor(server, redis, "--repair")
    assert repaired["healthy"] and kinds(repaired["repaired"]) == ["ghostSession"]
    await watcher.sees(user, status="offline")
    assert (await watcher.get(bob))[0]["presence"]["status"] == "online"
    assert doctor(server, redis)["healthy"] and await ana.get() == []


async def test_a_server_that_was_killed_does_not_count_as_deaf(start):
    redis = start.redis()
    slow = QUICK | {"renewal": 400, "sweep": 50}
    server = start(slow, redis=redis, shards=1)
    server.kill()
    server.start()
    assert "unheardPartition" not in kinds(doctor(server, redis)["findings"])


async def test_a_secret_that_others_can_read_is_warned_of(start):
    server = start({})
    secret = os.path.join(server.directory, "secret")
    assert stat.S_IMODE(os.stat(secret).st_mode) == 0o600 and "read the secret" not in server.logged()
    os.chmod(secret, 0o644)
    made = run("token", "ana", "--data-dir", server.directory)
    assert made.returncode == 0 and len(made.stdout.splitlines()) == 1
    assert "other users can read the secret" in made.stderr and secret in made.stderr
    assert "other users can read the secret" in run("doctor", "--data-dir", server.directory).stderr
    server.stop()
    server.start()
    assert "other users can read the secret" in server.logged()


async def test_an_open_data_directory_causes_a_warning_and_its_log_stays_private(start):
    # Not in $TMPDIR, which others may not be able to enter.
    directory = tempfile.mkdtemp(prefix="presence-conformance-", dir="/tmp")
    before = os.umask(0o022)
    try:
        os.chmod(directory, 0o755)
        server = start(ON, directory=directory)
        await Accounts(server).sign_up()
        assert "other users can enter the data directory" in server.logged()
        assert "other users can enter the data directory" in run("doctor", "--data-dir", directory).stderr
        for place, folders, files in os.walk(os.path.join(directory, "appendonlydir")):
            for name in folders + files:
                mode = stat.S_IMODE(os.lstat(os.path.join(place, name)).st_mode)
                assert mode & 0o077 == 0, f"{place}/{name}: {mode:o}"
        server.stop()
        os.chmod(directory, 0o700)
        server.start()
        assert server.whole_log().count("enter the data directory") == 1
        server.stop()
    finally:
        os.umask(before)


async def test_the_doctor_warns_of_what_a_start_warns_of(start, tmp_path):
    file = tmp_path / "presenced.yaml"
    keys = tmp_path / "keys.json"
    keys.write_text('{"keys":[]}')
    file.write_text(f"""accounts:
  enabled: true
mail:
  url: smtp://user:hunter2@127.0.0.1:1
auth:
  jwksFile: {keys}
trustedProxies: [127.0.0.1]
""")
    os.chmod(file, 0o644)
    environment = os.environ | {"PRESENCE_SERVICE_HOST": "10.0.0.7", "PRESENCE_PORT_4040_TCP": "tcp://10.0.0.7:4040"}
    data = str(tmp_path / "data")
    server = subprocess.Popen([BINARY, "serve", "--port", "0", "--shards", "1", "--data-dir", data, "--config", str(file)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=end_with_parent)
    try:
        assert "listening on" in await asyncio.to_thread(server.stdout.readline)
        doctor = await asyncio.to_thread(
            subprocess.run, [BINARY, "doctor", "--data-dir", data, "--config", str(file)], capture_output=True, text=True,
            env=environment, timeout=60)
    finally:
        server.terminate()
        _, log = await asyncio.to_thread(server.communicate, None, 30)
    for warning in ("the configuration, which has passwords", "accounts.linkBase is empty", "mail.from is an address at localhost",
                    "auth.jwksFile without auth.issuer and auth.audience", "photos.publicURL is empty",
                    "variables of a Kubernetes Service are passed over"):
        assert log.count(warning) == 1 and doctor.stderr.count(warning) == 1, warning
    assert doctor.returncode == 0 and "all is well" in doctor.stdout
    assert "hunter2" not in log + doctor.stderr


# A user's damaged records, of several features: they do not affect other users


async def break_all(redis, *clients):
    """Breaks every connection to Redis. The server recovers: clients receive `stale`, then `live`."""
    heard = [len([event for event in client.log if event["type"] == "live"]) for client in clients]
    redis.command("CLIENT", "KILL", "TYPE", "normal")
    redis.command("CLIENT", "KILL", "TYPE", "pubsub")
    for client, count in zip(clients, heard):
        await eventually(
            lambda: len([event for event in client.log if event["type"] == "live"]) > count, "live", within=LONG)


def damage(redis, key):
    redis.command("DEL", key)
    redis.command("RPUSH", key, "x")


async def test_unreadable_inboxes_and_notifications_keep_no_others_stale(start):
    redis = start.redis()
    room = Room(start(QUICK, redis=redis, shards=1))
    ana, bob, cy, dan = [await room.come(name) for name in ("ana", "bob", "cy", "dan")]
    id = (await talk(ana, bob))["id"]
    for client in (ana, bob):
        await listed(client)
    for client in (bob, cy, dan):
        await inbox(client)
    for client in (ana, cy):
        await notify(room, client.user, title="before")
    await bob.subscribe(ana, cy)
    damage(redis, key_of(redis, "inbox", ana.user))
    damage(redis, key_of(redis, "notifications", cy.user))
    redis.command("HSET", key_of(redis, "notifications", ana.user), "index", "xyz")
    await break_all(redis, bob, cy, dan)
    # A client that read the damaged record reconnects, and is rejected until it is repaired.
    await ana.closed(4005)
    ana = await room.come("ana")
    await ana.refused("internal", "subscribe", conversationList=True)
    await ana.refused("unavailable", "subscribe", notifications=True)
    # The others continue.
    await ana.status("busy")
    await bob.sees(ana, status="busy")
    sent = await say(ana, id, "still here")
    await sees(bob, id, last=sent["seq"])
    await notify(room, bob.user, title="after")
    await hears(bob, 1)
    assert titles(bob) == ["after"] and await room.api.metric("damaged_records_total") > 0
    redis.command("DEL", key_of(redis, "inbox", ana.user))
    redis.command("DEL", key_of(redis, "notifications", ana.user))
    await listed(ana)
    assert (await inbox(ana))["items"] == []


async def test_one_users_damage_delays_no_others_webhooks_and_pushes(start, tmp_path):
    redis = start.redis()
    first, second = Receiver(tmp_path), Receiver(tmp_path)
    try:
        server = start(
            QUICK | {"webhooks": [first.endpoint("push.due", "message.created"), second.endpoint("message.created")]},
            redis=redis, shards=1)
        room = Room(server)
        ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
        one, other = (await talk(ana, bob))["id"], (await talk(ana, cy))["id"]
        await bob.close()
        await cy.close()
        await say(ana, one, "before")
        await eventually(lambda: first.of("push.due") and second.of("message.created"), "both endpoints have theirs", within=LONG)
        damage(redis, key_of(redis, "pushed", bob.user))
        wanted, = [key for key in redis.command("KEYS", "*:webhook:*").splitlines()
                   if key and redis.command("HGET", key, "url").strip() == second.url]
        damage(redis, wanted)
        for number in range(3):
            await say(ana, one, f"lost {number}")
            await say(ana, other, f"told {number}")
        await eventually(
            lambda: {call.data["user"] for call in first.of("push.due")} >= {cy.user}, "a push for cy", within=LONG)
        await eventually(lambda: len(first.of("message.created")) == 7, "the first endpoint has all", within=LONG)
        assert len(second.of("message.created")) == 1
        streams = [key for key in redis.command("KEYS", "*}:offers").splitlines() if key]
        await eventually(
            lambda: all(int(redis.command("XLEN", key)) == 0 for key in streams), "nothing waits", within=LONG)
        assert await room.api.metric("presence_webhooks_dropped_total") >= 6
        # After the repair, it gets later events.
        redis.command("DEL", wanted)
        redis.command("DEL", key_of(redis, "pushed", bob.user))
        await say(ana, one, "after")
        await eventually(lambda: len(second.of("message.created")) == 2, "the second endpoint has it", within=LONG)
        await eventually(
            lambda: [call.data["text"] for call in first.of("push.due")][-1] == "after", "a push for bob", within=LONG)
    finally:
        first.close()
        second.close()


async def test_a_damaged_inbox_does_not_stop_a_groups_events_for_others(start):
    redis = start.redis()
    room = Room(start(QUICK, redis=redis, shards=1))
    ana, bob, cy, dan = [await room.come(name) for name in ("ana", "bob", "cy", "dan")]
    id = (await group(ana, bob))["id"]
    await eventually(lambda: redis.command("KEYS", f"*:inbox:{bob.user}").strip(), "bob has it", within=LONG)
    for client in (cy, dan):
        await listed(client)
    damage(redis, key_of(redis, "inbox", bob.user))
    # The notice cannot be stored in Bob's inbox; it is in Cy's, and so is that of each later change.
    await ana.did("changeMembers", conversation=id, remove=[bob.user], add=[cy.user])
    await sees(cy, id, participants=[ana.user, cy.user])
    await ana.did("changeMembers", conversation=id, add=[dan.user])
    await sees(dan, id, participants=[ana.user, cy.user, dan.user])
    for client in (cy, dan):
        assert [talk["id"] for talk in await listed(client)] == [id]
    assert await room.api.metric("damaged_records_total") > 0
    # A user with a damaged inbox can be added to another conversation, without effect on others.
    other = (await group(ana, bob, cy))["id"]
    await sees(cy, other, participants=[ana.user, bob.user, cy.user])
    # Once his inbox is repaired, the rest is done.
    redis.command("DEL", key_of(redis, "inbox", bob.user))
    await eventually(lambda: not redis.command("KEYS", "*}:unfinished").strip(), "all is finished", within=LONG + 15)
    assert [talk["id"] for talk in await listed(bob)] == [other]


async def test_a_push_record_damaged_while_a_push_waits_is_left_alone(start, tmp_path):
    redis, receiver = start.redis(), Receiver(tmp_path)
    try:
        server = start(QUICK | {"webhooks": [receiver.endpoint("push.due")]}, redis=redis, shards=1)
        room = Room(server)
        ana, bob, cy = [await room.come(name) for name in ("ana", "bob", "cy")]
        one, other = (await talk(ana, bob))["id"], (await talk(ana, cy))["id"]
        # Bob is online, so the push is decided in ten seconds.
        await say(ana, one, "seen by nobody")
        pushed = key_of(redis, "sessions", bob.user).replace(":sessions:", ":pushed:")
        queue = pushed.replace(f":pushed:{bob.user}", ":push")
        await eventually(lambda: redis.command("ZRANGE", queue, "0", "-1").strip(), "it is noted", within=LONG)
        # A byte that is not text.
        redis.command("EVAL", "return redis.call('HSET', KEYS[1], ARGV[1], '\\255')", 1, pushed, one)
        await eventually(lambda: "damaged record" in server.whole_log(), "it is noticed", within=LONG)
        assert await room.api.metric("presence_pushes_due_total") == 0
        # The others are notified, and the push was decided once.
        await cy.close()
        await say(ana, other, "told")
        await eventually(lambda: receiver.of("push.due"), "a push for cy", within=LONG)
        assert [call.data["user"] for call in receiver.of("push.due")] == [cy.user]
        assert await room.api.metric("presence_pushes_due_total") == 1
        assert await room.api.metric("damaged_records_total") == 1
        assert not redis.command("ZRANGE", queue, "0", "-1").strip()
    finally:
        receiver.close()


async def test_conversations_that_are_damaged_are_answered_internal_and_named_by_doctor(start):
    redis = start.redis()
    server = start(QUICK, redis=redis)
    room = Room(server)
    ana, bob = await room.come("ana"), await room.come("bob")

    async def fresh():
        id = (await group(ana, bob))["id"]
        for _ in range(5):
            await say(ana, id)
        return id, {kind: key_of(redis, kind, id) for kind in ("conversation", "log", "prints", "changes")}
    made = {name: await fresh() for name in ("member", "short", "none", "prints", "changes", "last", "inbox", "gone")}
    assert doctor(server, redis)["findings"] == []
    redis.command("HSET", made["member"][1]["conversation"], f"m:{bob.user}", "x")
    redis.command("LTRIM", made["short"][1]["log"], "0", "1")
    redis.command("DEL", made["none"][1]["log"])
    redis.command("DEL", made["prints"][1]["prints"])
    redis.command("DEL", made["changes"][1]["changes"])
    redis.command("HSET", made["last"][1]["conversation"], "last", "x")
    redis.command("HDEL", key_of(redis, "inbox", bob.user), made["inbox"][0])
    for key in made["gone"][1].values():
        redis.command("DEL", key)
    for name in ("short", "none", "last"):
        id = made[name][0]
        await bob.refused("internal", "getMessages", conversation=id)
        await bob.refused("internal", "subscribe", conversations=[{"id": id}])
        await bob.refused("internal", "subscribe", conversations=[{"id": id, "after": 1, "messagesVersion": 1}])
        await bob.refused("internal", "send", conversation=id, message={"id": "new", "text": "x"})
    await ana.refused("internal", "send", conversation=made["member"][0], message={"id": "new", "text": "x"})
    assert "damaged record" in server.logged()
    subjects = {(finding["kind"], subject) for finding in doctor(server, redis)["findings"] for subject in finding["subjects"]}
    keys = {name: keys["conversation"] for name, (_, keys) in made.items()}
    inboxes = [(person, key_of(redis, "inbox", person.user)) for person in (ana, bob)]
    assert subjects == {
        ("malformedConversation", keys["member"]), ("malformedConversation", keys["last"]), ("lostMessages", keys["short"]),
        ("lostMessages", keys["none"]), ("brokenIndex", keys["prints"]), ("brokenIndex", keys["changes"]),
        ("unlistedConversation", f"{inboxes[1][1]} {made['inbox'][0]}"),
    } | {("lostConversation", f"{key} {made['gone'][0]}") for _, key in inboxes}
    report = doctor(server, redis, "--repair")
    assert kinds(report["findings"]) == ["lostMessages", "malformedConversation"]
    # Repaired entries are found again, in their places.
    for name in ("prints", "changes"):
        page = (await bob.did("getMessages", conversation=made[name][0]))["messages"]
        again = await ana.did("send", conversation=made[name][0], message={"id": page[2]["id"], "text": page[2]["text"]})
        assert again["message"]["seq"] == 3
        assert (await say(ana, made[name][0]))["seq"] == 6
    cy = await room.come("bob", "phone")
    names = {each["id"] for each in await listed(cy)}
    assert made["inbox"][0] in names and made["gone"][0] not in names
