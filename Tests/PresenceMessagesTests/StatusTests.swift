import PresenceKit
import Testing

@testable import PresenceMessages

struct StatusTests {
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
