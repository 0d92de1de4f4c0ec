import Expectations
import Foundation
import PresenceKit
import Testing

@testable import PresenceMessages

struct StatusTests {
    @Test func `a status is stored by its name`() throws {
        let names = ["sending", "sent", "delivered", "read", "failed"]
        expect(MessageStatus.allCases.map(\.rawValue), equals: names)
        let data = try JSONEncoder().encode(MessageStatus.allCases)
        try expect(JSONDecoder().decode([String].self, from: data), equals: names)
        try expect(JSONDecoder().decode([MessageStatus].self, from: data), equals: MessageStatus.allCases)
    }

    @Test func `a status only goes forward`() {
        let order: [MessageStatus] = [.sending, .sent, .delivered, .read]
        for (place, status) in order.enumerated() {
            for (other, newer) in order.enumerated() { expect(status.canTransition(to: newer), equals: other > place) }
        }
        expect(order.map(\.sortOrder) == [0, 1, 2, 3] && MessageStatus.failed.sortOrder == 0)
        expect(MessageStatus.sending.canTransition(to: .failed) && MessageStatus.failed.canTransition(to: .sending))
        expect(MessageStatus.failed.canTransition(to: .sent) && !MessageStatus.sent.canTransition(to: .failed))
    }
}
