"""The invariants of every message of a server. Each function returns the violations."""

import json

STATUSES = {"online", "away", "busy", "offline"}
KINDS = {"phone", "tablet", "desktop", "web", "bot", "other"}
CODES = {
    "bad_request", "unknown_type", "unauthorized", "forbidden", "validation_failed", "conflict", "too_many",
    "rate_limited", "unavailable", "internal", "not_found", "too_large", "banned", "refused",
}


def is_time(value):
    """An integer of milliseconds since 1970, in this century."""
    return type(value) is int and 1_500_000_000_000 < value < 4_100_000_000_000


def is_count(value):
    return type(value) is int and value >= 0


def presence_faults(presence):
    status = presence.get("status")
    if status not in STATUSES:
        yield f"no such status: {status!r}"
    if not is_count(presence.get("version")):
        yield "presence.version is no integer"
    elif presence["version"] == 0:
        if presence != {"version": 0, "status": "offline"}:
            yield "a presence with version 0 says more than offline"
        return
    if not is_time(presence.get("since")):
        yield "since is no time"
    if status == "offline":
        if "text" in presence:
            yield "offline with a text"
        if "devices" in presence:
            yield "offline with devices"
        if "lastSeen" in presence and not is_time(presence["lastSeen"]):
            yield "lastSeen is no time"
    else:
        if "lastSeen" in presence:
            yield f"{status} with lastSeen"
        devices = presence.get("devices")
        if not isinstance(devices, list) or devices != sorted(set(devices)) or not set(devices) <= KINDS:
            yield f"devices are not sorted kinds without repetition: {devices!r}"
        if presence.get("text", "x") in ("", None):
            yield "an empty text"


def profile_faults(profile):
    if profile is None:
        return
    if not is_count(profile.get("version")) or profile["version"] == 0:
        yield "profile.version is no version"
    for name in ("createdAt", "updatedAt"):
        if not is_time(profile.get(name)):
            yield f"profile.{name} is no time"
    for name in ("displayName", "photoURL", "timezone", "locale"):
        if name in profile and not isinstance(profile[name], str):
            yield f"profile.{name} is no string"


def typing_faults(names):
    if not isinstance(names, list) or names != sorted(set(names)) or len(names) > 20:
        yield f"who types is not a sorted list of at most 20: {names!r}"


def faults(text, longest):
    """The faults of one message; `longest` is the server's maxServerMessageBytes."""
    if not isinstance(text, str):
        yield "a binary message"
        return
    if len(text.encode()) > longest:
        yield f"a message of {len(text.encode())} bytes, where {longest} is the limit"
    message = json.loads(text)
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        yield "not an object with a type"
        return
    kind = message["type"]
    if kind in ("presence", "profile", "typing") and not is_time(message.get("at")):
        yield "an event without `at`"
    if kind == "presence":
        yield from presence_faults(message["presence"])
    if kind == "profile":
        yield from profile_faults(message["profile"])
    if kind == "typing":
        yield from typing_faults(message["users"])
        if not is_count(message.get("version")):
            yield "a typing event without a version"
    if kind in ("subscribed", "users"):
        for person in message.get("users", ()):
            if "presence" in person:
                yield from presence_faults(person["presence"])
            if "profile" in person:
                yield from profile_faults(person["profile"])
        for conversation in message.get("conversations", ()):
            yield from typing_faults(conversation["typing"])
    if kind == "error":
        if message.get("code") not in CODES:
            yield f"no such code: {message.get('code')!r}"
        if not isinstance(message.get("message"), str):
            yield "an error without a message"
        if message.get("code") in ("unavailable", "rate_limited") and not is_count(message.get("retryAfter")):
            yield "an error without retryAfter"
        if message.get("code") == "validation_failed" and not isinstance(message.get("field"), str):
            yield "validation_failed without a field"
        if "until" in message and message.get("code") != "banned":
            yield "until without a ban"
        if message.get("code") == "banned" and not isinstance(message.get("reason"), str):
            yield "a ban without a reason"
        if "outcomeUnknown" in message and (
                message["outcomeUnknown"] is not True or message.get("code") not in ("unavailable", "internal")):
            yield "outcomeUnknown where nothing was under way"
    if kind == "ownStatus" and message["status"].get("status") not in ("auto", "busy", "invisible"):
        yield "ownStatus with no such status"
