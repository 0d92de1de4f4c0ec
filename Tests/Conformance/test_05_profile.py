"""Profile."""

import asyncio

import pytest

from support.client import ABSENT
from support.codes import code_for
from support.patience import A_MOMENT, now

SETTINGS = {"linger": 1_000}


async def test_a_change_is_answered_with_the_whole_profile_and_announced(room):
    ana = await room.come("ana")
    bob = await room.come("bob")
    await ana.subscribe(bob)
    before = now()
    profile = await bob.update(displayName="Bob Ray", photoURL="https://example.org/bob.png")
    event = await ana.hear("profile", user=bob.user)
    assert event["profile"] == profile
    assert set(event) == {"type", "user", "profile", "at"}
    assert profile.items() >= {"displayName": "Bob Ray", "photoURL": "https://example.org/bob.png"}.items()
    for when in ("createdAt", "updatedAt"):
        assert before - 1_000 < profile[when] < now() + 1_000


async def test_an_absent_change_leaves_and_null_removes(room):
    bob = await room.come("bob")
    first = await bob.update(displayName="Bob", photoURL="https://e.org/b", timezone="Europe/Berlin", locale="de-DE")
    second = await bob.update(displayName="Rob")
    assert {name: second[name] for name in ("photoURL", "timezone", "locale")} == {
        name: first[name] for name in ("photoURL", "timezone", "locale")}
    assert second["displayName"] == "Rob" and second["version"] > first["version"]
    assert second["createdAt"] == first["createdAt"] and second["updatedAt"] >= first["updatedAt"]
    third = await bob.update(photoURL=None, timezone=None, locale=None)
    assert set(third) == {"version", "displayName", "createdAt", "updatedAt"}
    assert (await bob.get(bob))[0]["profile"] == third


async def test_a_display_name_cannot_be_removed_once_set(room):
    bob = await room.come("bob")
    await bob.update(displayName="Bob")
    for nothing in (None, "", "   ", "\u3000"):
        error = await bob.refused("validation_failed", "updateProfile", changes={"displayName": nothing})
        assert error["field"].endswith("displayName")
    assert (await bob.get(bob))[0]["profile"]["displayName"] == "Bob"


async def test_a_profile_outlives_every_session(room):
    bob = await room.come("bob")
    profile = await bob.update(displayName="Bob", locale="en")
    await bob.close()
    ana = await room.come("ana")
    assert (await ana.subscribe(bob))[0]["profile"] == profile


async def test_versions_of_the_two_registers_are_their_own(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.subscribe(bob)
    before = ana.presence[bob.user]
    await bob.update(displayName="Bob")
    await ana.sees_profile(bob, displayName="Bob")
    await asyncio.sleep(A_MOMENT)
    assert ana.presence[bob.user] == before and ana.events("presence") == []


FAMILY = "👨‍👩‍👧"  # one as people count, 18 bytes

GOOD = [
    ("displayName", "x"), ("displayName", "x" * 50), ("displayName", "ä" * 50), ("displayName", "🇩🇪" * 50),
    ("displayName", "e\u0301" * 50), ("displayName", FAMILY * 50), ("displayName", "名前"), ("displayName", "O'Neil, Jr."),
    # Joiners within words of Persian and Hindi, letters with marks, an emoji alone and a combined one.
    ("displayName", "می\u200cخواهم"), ("displayName", "क्\u200dष"), ("displayName", "ก็"), ("displayName", "👩\u200d🚀"),
    ("displayName", "❤\ufe0f"), ("displayName", "1\ufe0f\u20e3"), ("displayName", "."), ("displayName", "a\ue000"), ("displayName", "\U0001f3f4\U000e0067\U000e007f"),
    ("photoURL", "https://example.org"), ("photoURL", "https://example.org:8443/a?b=c#d"),
    ("photoURL", "https://e.org/" + "x" * (2_048 - 14)), ("photoURL", "http://localhost/a.png"),
    ("photoURL", "http://localhost:8080/a"), ("photoURL", "http://127.0.0.1:80/a"), ("photoURL", "http://[::1]/a"),
    ("timezone", "Europe/Berlin"), ("timezone", "UTC"), ("timezone", "America/Argentina/Buenos_Aires"), ("timezone", "Etc/GMT+5"),
    ("locale", "en"), ("locale", "de-CH"), ("locale", "zh-Hant-TW"), ("locale", "es-419"), ("locale", "sl-rozaj-biske"),
]

BAD = [
    ("displayName", "x" * 51), ("displayName", "ä" * 51), ("displayName", "🇩🇪" * 51), ("displayName", FAMILY * 51),
    ("displayName", "x" + "\u0301" * 520), ("displayName", "a\nb"), ("displayName", "a\u202eb"), ("displayName", 7),
    ("displayName", ["Bob"]), ("displayName", True),
    # Invisible names: fillers, joiners, blank symbols, variation selectors, tags, marks without a letter.
    *[("displayName", name) for name in (
        "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u3164", "\u115f\u1160", "\uffa0", "\u00ad", "\u034f", "\u2800",
        "\u180e", "\ufe0f", "\U000e0041", "\U000e0100", "\u0301", "\u0301" * 50, "\u20dd", "\u0903", "\U0001d159",
        "\u200b \u2800\u200d")],
    # Not characters: private use, and unassigned.
    *[("displayName", name) for name in ("\ue000", "\U000f0000", "\U0010fffd", "\u0378", "\ue000\u0378 \u0301")],
    # Deprecated format characters and noncharacters, also within a name.
    *[("displayName", f"a{character}b") for character in "\u206a\u206f\ufdd0\ufffe\uffff\U0001fffe\U0010ffff"],
    ("photoURL", ""), ("photoURL", "http://example.org/a.png"), ("photoURL", "/a.png"), ("photoURL", "example.org/a.png"),
    ("photoURL", "ftp://example.org/a"), ("photoURL", "javascript:alert(1)"), ("photoURL", "https://"),
    ("photoURL", "https:///a"), ("photoURL", "https://e.org/" + "x" * (2_049 - 14)), ("photoURL", "https://a b/"),
    ("photoURL", "http://localhost.example.org/"), ("photoURL", "http://127.0.0.1.example.org/"),
    ("photoURL", "http://localhost@example.org/"), ("photoURL", "data:image/png;base64,AAAA"), ("photoURL", 7),
    ("photoURL", {}), ("photoURL", "https://example.org/\n"),
    ("timezone", ""), ("timezone", "../../etc/passwd"), ("timezone", "Europe/Berlin "), ("timezone", 1),
    ("timezone", "/Europe/Berlin"), ("timezone", "Europe/Berlin/"), ("timezone", "Europe//Berlin"),
    # Files beside the zones.
    ("timezone", "posix/Europe/Berlin"), ("timezone", "right/UTC"), ("timezone", "leapseconds"), ("timezone", "zone.tab"),
    ("locale", ""), ("locale", "e"), ("locale", "not a locale"), ("locale", "de--DE"), ("locale", "-de"),
    ("locale", "de-"), ("locale", "de-DE-toolongsubtag"), ("locale", "ä"), ("locale", 7),
]


def brief(change):
    return f"{change[0]}={ascii(change[1])[:30]}({len(str(change[1]))})"


@pytest.mark.parametrize("change", GOOD, ids=brief)
async def test_a_good_value_is_taken(room, change):
    member, value = change
    bob = await room.come("bob")
    assert (await bob.update(**{member: value}))[member] == value
    assert (await bob.get(bob))[0]["profile"][member] == value


@pytest.mark.parametrize("change", BAD, ids=brief)
async def test_one_bad_value_refuses_the_whole_change(room, change):
    member, value = change
    bob = await room.come("bob")
    before = await bob.update(displayName="Bob", photoURL="https://e.org/b", timezone="UTC", locale="en")
    others = {"displayName": "Rob", "photoURL": "https://e.org/r", "timezone": "Europe/Rome", "locale": "it"}
    error = await bob.refused(code_for(value, str), "updateProfile", changes=others | {member: value})
    assert error["field"] == member
    assert (await bob.get(bob))[0]["profile"] == before


@pytest.mark.parametrize("name", ["Mars/Base", "Berlin", "Europe"])
async def test_a_timezone_that_only_looks_like_one_is_refused_or_taken_as_it_is(room, name):
    """The protocol requires an IANA name, but databases differ in age."""
    bob = await room.come("bob")
    reply = await bob.ask("updateProfile", changes={"timezone": name})
    assert reply.get("field") == "timezone" or reply["profile"]["timezone"] == name


async def test_a_display_name_is_trimmed_before_it_is_counted(room):
    bob = await room.come("bob")
    assert (await bob.update(displayName="  Bob Ray \u3000 "))["displayName"] == "Bob Ray"
    assert (await bob.update(displayName="   " + "x" * 50 + "   "))["displayName"] == "x" * 50


async def test_characters_that_json_escapes_come_back_as_they_were(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.subscribe(bob)
    name = 'Bob "the \\ slash/" <b>&amp; 😀'
    await bob.update(displayName=name)
    await ana.sees_profile(bob, displayName=name)


@pytest.mark.parametrize("changes", ["x", 7, None, [], [{"displayName": "x"}]], ids=str)
async def test_changes_of_another_kind_are_a_bad_request(room, changes):
    bob = await room.come("bob")
    await bob.refused("bad_request", "updateProfile", changes=changes)
    await bob.refused("bad_request", "updateProfile")
    assert (await bob.get(bob))[0]["profile"] is None


async def test_the_times_are_the_servers_alone(room):
    bob = await room.come("bob")
    await bob.update(displayName="Bob")
    await bob.ask("updateProfile", changes={"createdAt": 1_600_000_000_000, "updatedAt": 1_600_000_000_000, "version": 3})
    profile = (await bob.get(bob))[0]["profile"]
    assert min(profile["createdAt"], profile["updatedAt"], profile["version"]) > 1_700_000_000_000


async def test_only_the_user_can_change_their_own_profile(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    before = await bob.update(displayName="Bob")
    await ana.ask("updateProfile", user=bob.user, users=[bob.user], changes={"displayName": "Mallory"})
    assert (await ana.get(bob))[0]["profile"] == before


async def test_all_sessions_of_a_user_change_one_profile(room):
    phone, web = await room.come("bob", "phone"), await room.come("bob", "web")
    await phone.update(displayName="Bob", locale="en")
    profile = await web.update(displayName="Rob")
    assert profile["locale"] == "en"


async def test_a_new_users_profile_can_arrive_later(room):
    ana = await room.come("ana")
    person, = await ana.subscribe(room.name("bob"))
    assert person["profile"] is None
    bob = await room.come("bob")
    await bob.update(timezone="Europe/Rome")
    await ana.sees_profile(bob, timezone="Europe/Rome", displayName=ABSENT)


async def test_many_changes_at_once_end_at_the_last(room):
    ana, bob = await room.come("ana"), await room.come("bob")
    await ana.subscribe(bob)
    replies = await asyncio.gather(*[bob.begin("updateProfile", changes={"displayName": f"Bob {n}"}) for n in range(40)])
    versions = [reply["profile"]["version"] for reply in replies]
    assert versions == sorted(set(versions))
    await ana.sees_profile(bob, displayName="Bob 39")
