"""Contact requests."""

import asyncio

from support.contacts import SETTINGS, are_contacts, asked_by, askers, contacts, leaks, newest, people, quiet
from support.patience import eventually
from support.room import Room


async def test_an_accepted_request_makes_both_contacts_on_all_devices(server):
    room = Room(server)
    ana, bob, second = await room.come("ana"), await room.come("bob", "phone"), await room.come("bob", "web")
    await ana.did("updateProfile", changes={"displayName": 'An"a\\'})
    await ana.did("requestContact", user=bob.user, text="We met in “Lyon”")
    for device in (bob, second):
        await asked_by(device, ana)
        held = newest(device)[0]
        assert held["displayName"] == 'An"a\\' and held["text"] == "We met in “Lyon”"
        assert set(held) == {"user", "displayName", "text", "at"}
    assert await contacts(ana) == await contacts(bob) == []
    # A later device receives it too.
    await asked_by(await room.come("bob", "tablet"), ana)
    await second.did("answerContact", user=ana.user, accept=True)
    assert await contacts(bob) == [ana.user] and await contacts(ana) == [bob.user]
    for device in (bob, second):
        await asked_by(device)
    await eventually(lambda: [e for e in ana.log if e["type"] == "ownVisibility" and e["contacts"] == 1], "she is told")
    # The same answer again, and the opposite one.
    await bob.did("answerContact", user=ana.user, accept=True)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=False)
    assert await contacts(bob) == [ana.user]
    # Contacts need not ask.
    await ana.did("requestContact", user=bob.user)
    await bob.did("requestContact", user=ana.user)
    await quiet(bob)
    assert askers(bob) == askers(ana) == []


async def test_a_session_without_requests_hears_of_none(server):
    room = Room(server)
    ana, bob = await people(room, "ana", "bob")
    await ana.did("requestContact", user=bob.user)
    await asked_by(bob, ana)
    await bob.did("answerContact", user=ana.user, accept=False)
    await asked_by(bob)
    again = await room.come("bob", "web")
    await quiet(again)
    assert not [each for each in again.log + ana.log if each["type"] == "contactRequests"]


async def test_refused_and_ignored_look_the_same_and_a_repeat_is_swallowed(server):
    room = Room(server)
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    await ana.subscribe(bob, cy)
    await quiet(ana)
    start = len(ana.log)
    answers = [await ana.ask("requestContact", user=other.user, text="Hi") for other in (bob, cy)]
    await asked_by(bob, ana)
    await asked_by(cy, ana)
    await bob.did("answerContact", user=ana.user, accept=False)
    await asked_by(bob)
    for _ in range(3):
        answers += [await ana.ask("requestContact", user=other.user, text="Again") for other in (bob, cy)]
    await quiet(bob)
    assert {each["type"] for each in answers} == {"ok"}
    assert askers(bob) == [] and len(newest(cy)) == 1 and newest(cy)[0]["text"] == "Hi"
    assert not leaks(ana, start)
    # A refusal twice is one; it cannot be accepted any more, but the user may ask in turn.
    await bob.did("answerContact", user=ana.user, accept=False)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=True)
    await bob.did("requestContact", user=ana.user)
    await are_contacts(ana, bob)


async def test_crossing_requests_become_contacts(server):
    room = Room(server)
    for number in range(12):
        ana, bob = await people(room, f"ana{number}", f"bob{number}")
        asks = [(ana, bob), (bob, ana)]
        if number % 3:
            await asyncio.gather(*[one.did("requestContact", user=other.user) for one, other in asks])
        else:
            for one, other in asks:
                await one.did("requestContact", user=other.user)
        await are_contacts(ana, bob)
        for each in (ana, bob):
            await asked_by(each)
            assert len(await contacts(each)) == 1


async def test_the_asker_learns_neither_of_blocks_nor_of_hiding(server):
    room = Room(server)
    ana, bob, cy, dee, eve = await people(room, "ana", "bob", "cy", "dee", "eve")
    await bob.did("block", users=[ana.user])
    await cy.did("setVisibility", visibility={"findable": "nobody"})
    await dee.did("setVisibility", visibility={"findable": "contacts"})
    await eve.did("setVisibility", visibility={"findable": "contacts"})
    await eve.did("addContacts", users=[ana.user])
    start = len(ana.log)
    for other in (bob.user, cy.user, dee.user, eve.user, room.name("nobody")):
        assert set(await ana.did("requestContact", user=other)) == {"type", "id"}
    await asked_by(eve, ana)
    for other in (bob, cy, dee):
        await quiet(other)
        assert askers(other) == []
        await other.refused("not_found", "answerContact", user=ana.user, accept=True)
    assert not leaks(ana, start)
    # A user who hides may ask, and is then found by the answer.
    await cy.did("requestContact", user=ana.user)
    await are_contacts(ana, cy)
    # Unblocked is not asked: the request is over, and swallowed for now.
    await bob.did("unblock", users=[ana.user])
    await ana.did("requestContact", user=bob.user)
    await quiet(bob)
    assert askers(bob) == []


async def test_a_block_ends_requests_in_both_directions(server):
    room = Room(server)
    ana, bob, cy = await people(room, "ana", "bob", "cy")
    await ana.did("requestContact", user=bob.user)
    await bob.did("requestContact", user=cy.user)
    await asked_by(bob, ana)
    await asked_by(cy, bob)
    await bob.did("block", users=[ana.user, cy.user])
    await asked_by(bob)
    await asked_by(cy)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=True)
    await cy.refused("not_found", "answerContact", user=bob.user, accept=True)
    await bob.refused("forbidden", "requestContact", user=ana.user)
    await bob.did("unblock", users=[ana.user, cy.user])
    await quiet(bob)
    assert askers(bob) == askers(cy) == []
    # Withdrawn and made again, it is not shown twice, however soon.
    await bob.did("requestContact", user=cy.user)
    for _ in range(3):
        await asyncio.gather(bob.did("block", users=[cy.user]), bob.did("unblock", users=[cy.user]),
                             bob.did("requestContact", user=cy.user))
    await quiet(cy)
    assert askers(cy) == []
    # The user who was asked may ask in turn.
    await cy.did("requestContact", user=bob.user)
    await are_contacts(bob, cy)


async def test_bad_requests_have_clear_errors(server):
    room = Room(server)
    ana, bob = await people(room, "ana", "bob")
    for code, field, members in (
            ("bad_request", "user", {}), ("bad_request", "user", {"user": 7}), ("validation_failed", "user", {"user": "a b"}),
            ("validation_failed", "user", {"user": ana.user}), ("bad_request", "text", {"user": bob.user, "text": 7}),
            ("validation_failed", "text", {"user": bob.user, "text": ""}),
            ("validation_failed", "text", {"user": bob.user, "text": "x" * 141}),
            ("validation_failed", "text", {"user": bob.user, "text": "a\nb"})):
        assert (await ana.refused(code, "requestContact", **members))["field"] == field
    for code, field, members in (
            ("bad_request", "user", {"accept": True}), ("bad_request", "accept", {"user": bob.user}),
            ("bad_request", "accept", {"user": bob.user, "accept": "yes"})):
        client = await room.come("cy")
        assert (await client.refused(code, "answerContact", **members))["field"] == field
    await bob.refused("not_found", "answerContact", user=ana.user, accept=True)
    await bob.refused("not_found", "answerContact", user=ana.user, accept=False)
    client = await room.come("cy")
    for code, members in (("bad_request", {}), ("bad_request", {"conversations": "contacts"}),
                          ("bad_request", {"conversations": {"from": 1}}),
                          ("validation_failed", {"conversations": {"from": "nobody"}})):
        await client.refused(code, "setVisibility", **members)
    await ana.did("requestContact", user=bob.user, text="x" * 140)
    await asked_by(bob, ana)


async def test_an_acceptance_that_meets_a_block_makes_both_contacts_or_neither(server):
    room = Room(server)
    for number in range(12):
        ana, bob = await people(room, f"ana{number}", f"bob{number}")
        await ana.did("requestContact", user=bob.user)
        await asked_by(bob, ana)
        phone = await room.come(f"bob{number}", "phone")
        await asyncio.gather(bob.begin("answerContact", user=ana.user, accept=True),
                             phone.did("block", users=[ana.user]))
        lists = await contacts(ana), await contacts(bob)
        assert lists in (([bob.user], [ana.user]), ([], [])), lists


async def test_a_flood_of_two_devices_and_a_pipeline_changes_nothing_twice(server):
    room = Room(server)
    ana, tablet, bob = await room.come("ana", "phone"), await room.come("ana", "tablet"), await room.come("bob")
    await ana.did("requestContact", user=bob.user)
    floods = [device.begin("requestContact", user=bob.user, text=str(number)) for number in range(9) for device in (ana, tablet)]
    answers = await asyncio.gather(*floods)
    assert {each["type"] for each in answers} == {"ok"}
    await asked_by(bob, ana)
    assert "text" not in newest(bob)[0]
    # Both answers at once, many times: one of them counts, and no contact is one-sided.
    for number in range(10):
        cy, dee, second = await room.come(f"cy{number}"), await room.come(f"dee{number}", "phone"), await room.come(f"dee{number}", "web")
        await cy.did("requestContact", user=dee.user)
        await asked_by(dee, cy)
        await asyncio.gather(*[device.begin("answerContact", user=cy.user, accept=accept)
                               for device, accept in ((dee, True), (second, False), (dee, True), (second, False))])
        await asked_by(dee)
        lists = await contacts(cy), await contacts(dee)
        assert lists in (([dee.user], [cy.user]), ([], [])), lists
