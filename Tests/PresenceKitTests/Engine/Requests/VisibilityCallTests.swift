import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Reading and changing the user's visibility.
@Suite struct VisibilityCallTests {
    private var bench = Bench()

    @Test mutating func `a change is sent, and done when the server acknowledges it`() {
        bench.connect()
        for body in [
            ClientMessage.Body.setVisibility(.init(presence: .contacts)), .addContacts(["bob"]),
            .removeContacts(["bob"]),
            .block(["eve"]), .unblock(["eve"]),
        ] {
            let call = bench.call(.changeVisibility(body))
            expect(bench.bodies, equals: [body])
            expect(bench.answer(to: call) == nil)
            bench.receive(.ok(id: bench.lastID))
            guard case .success(.done) = bench.answer(to: call) else { Issue.record("not done"); return }
        }
    }

    @Test mutating func `a rejected change has the reason, and a lost one an unknown outcome`() {
        bench.connect()
        let refused = bench.call(.changeVisibility(.block(["eve"])))
        bench.receive(.refusal(bench.lastID, .tooMany))
        expect(bench.error(of: refused)?.code, equals: .tooMany)
        let lost = bench.call(.changeVisibility(.block(["eve"])))
        bench.end(.lost(""))
        expect(bench.error(of: lost)?.code, equals: .connectionLost)
        expect(bench.error(of: lost)?.outcomeUnknown, equals: true)
        let away = bench.call(.changeVisibility(.block(["eve"])))
        expect(bench.error(of: away)?.code, equals: .notConnected)
    }

    @Test mutating func `the lists are assembled from their parts`() {
        bench.connect()
        let call = bench.call(.readVisibility)
        expect(bench.bodies, equals: [.getVisibility])
        let id = bench.lastID
        let visibility = Visibility(presence: .contacts, lastSeen: .nobody, receipts: .nobody, findable: .contacts)
        bench.receive(.visibility(id: id, .init(visibility: visibility, contacts: ["a", "b"]), more: true))
        expect(bench.answer(to: call) == nil)
        bench.receive(.visibility(id: id, .init(visibility: visibility, contacts: ["c"], blocks: ["d"]), more: false))
        guard case .success(.visibility(let mine)) = bench.answer(to: call) else { Issue.record("none"); return }
        expect(
            mine,
            equals: Me.Visibility(
                presence: .contacts, lastSeen: .nobody, receipts: .nobody, findable: .contacts,
                contacts: ["a", "b", "c"], blocked: ["d"]))
    }

    @Test mutating func `a reply is lost with its connection`() {
        bench.connect()
        let call = bench.call(.readVisibility)
        bench.receive(.visibility(id: bench.lastID, .init(contacts: ["a"]), more: true))
        bench.end(.lost(""))
        expect(bench.error(of: call)?.code, equals: .connectionLost)
    }
}
