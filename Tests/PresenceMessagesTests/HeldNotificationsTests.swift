import Foundation
import Testing

@testable import PresenceMessages

/// What is held of the notifications, whatever the order in which answers and events are taken in.
@Suite struct HeldNotificationsTests {
    @Test func `an event that overtakes the answer of its subscription is not lost`() throws {
        func notified(_ json: String) throws -> Wire.Notified {
            try JSONDecoder().decode(Wire.Notified.self, from: Data(json.utf8))
        }
        let item = { (seq: Int) in #"{"seq":\#(seq),"id":"n\#(seq)","kind":"k","title":"\#(seq)","at":1}"# }
        var held = HeldNotifications()
        held.begin()
        held.heard(
            try notified(
                #"{"notification":\#(item(3)),"version":6,"unseen":3,"unread":3,"seen":0,"first":1,"replaces":[1]}"#))
        let isAll = held.answered([
            try notified(#"{"items":[\#(item(2)),\#(item(1))],"version":5,"unseen":2,"unread":2,"seen":0,"first":1}"#)
        ])
        #expect(isAll && held.inbox(over: []).notifications.map(\.title) == ["3", "2"])
        #expect(held.inbox(over: []).unseenCount == 3)
        let isTaken = held.take(page: try notified(#"{"items":[],"version":5,"unseen":0,"unread":0}"#))
        #expect(!isTaken, "an old page")
        held.heard(
            try notified(#"{"version":7,"unseen":0,"unread":1,"seen":3,"first":2,"read":[3],"kept":[3]}"#))
        #expect(held.inbox(over: []).notifications.map(\.isRead) == [true])
    }
}
