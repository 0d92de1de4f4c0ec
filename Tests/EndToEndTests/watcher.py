"""A watcher in a few lines, on nothing but a WebSocket: prints what it holds, as one line of JSON, after each message.

    watcher.py URL TOKEN CONVERSATION USER...       (CONVERSATION may be "")
"""

import asyncio
import json
import sys

try:
    import websockets
except ImportError:
    print("python3-websockets is missing")
    sys.exit(77)


async def main(url, token, conversation, *users):
    held = {"people": {}, "typing": [], "events": 0, "live": False}
    versions = {}

    def newer(subject, version):
        """An event replaces the present state if its version is larger, or is 0."""
        if version != 0 and version <= versions.get(subject, 0):
            return False
        versions[subject] = version
        return True

    async with websockets.connect(url, subprotocols=["presence.v1"]) as socket:
        connect = {"type": "connect", "id": 1, "token": token, "device": {"kind": "other"}}
        subscribe = {"type": "subscribe", "id": 2, "users": users}
        if conversation:
            subscribe["conversations"] = [conversation]
        await socket.send(json.dumps(connect))
        await socket.send(json.dumps(subscribe))
        async for text in socket:
            message = json.loads(text)
            kind = message["type"]
            if kind == "connected":
                held["live"] = True
            elif kind in ("stale", "live"):
                held["live"] = kind == "live"
            elif kind == "subscribed":
                for person in message.get("users", []):
                    user = person["user"]
                    held["people"].setdefault(user, {}).update(person)
                    for register in ("presence", "profile"):
                        if register in person:
                            versions[register, user] = (person[register] or {"version": 0})["version"]
                for answer in message.get("conversations", []):
                    versions["typing"] = answer["version"]
                    held["typing"] = answer["typing"]
            elif kind in ("presence", "profile"):
                held["events"] += 1
                register, user = message[kind], message["user"]
                if newer((kind, user), register["version"] if register else 0):
                    held["people"][user][kind] = register
            elif kind == "typing":
                held["events"] += 1
                if newer("typing", message["version"]):
                    held["typing"] = message["users"]
            elif kind == "error":
                sys.exit(text)
            print(json.dumps(held), flush=True)


try:
    asyncio.run(main(*sys.argv[1:]))
except websockets.ConnectionClosed:
    pass
