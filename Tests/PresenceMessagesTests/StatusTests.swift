import Foundation
import PresenceKit
import Testing

@testable import PresenceMessages

struct StatusTests {
    @Test func `a status is stored by its name`() throws {
        let names = ["sending", "sent", "delivered", "read", "failed"]
        #expect(MessageStatus.allCases.map(\.rawValue) == names)
        let data = try JSONEncoder().encode(MessageStatus.allCases)
        #expect(try JSONDecoder().decode([String].self, from: data) == names)
        #expect(try JSONDecoder().decode([MessageStatus].self, from: data) == MessageStatus.allCases)
    }

    @Test func `a status only goes forward`() {
        let order: [MessageStatus] = [.sending, .sent, .delivered, .read]
        for (place, status) in order.enumerated() {
            for (other, newer) in order.enumerated() { #expect(status.canTransition(to: newer) == (other > place)) }
        }
        #expect(order.map(\.sortOrder) == [0, 1, 2, 3] && MessageStatus.failed.sortOrder == 0)
        #expect(MessageStatus.sending.canTransition(to: .failed) && MessageStatus.failed.canTransition(to: .sending))
        #expect(MessageStatus.failed.canTransition(to: .sent) && !MessageStatus.sent.canTransition(to: .failed))
    }
}
