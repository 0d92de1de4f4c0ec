import Expectations
import Foundation
import Testing

@testable import PresenceMessages

/// The known notifications, in whatever order replies and events are handled.
@Suite struct HeldNotificationsTests {
    private func notified(_ json: String) throws -> Wire.Notified {
        try JSONDecoder().decode(Wire.Notified.self, from: Data(json.utf8))
    }

    private func item(_ seq: Int) -> String {
        #"{"seq":\#(seq),"id":"n\#(seq)","kind":"k","title":"\#(seq)","at":1}"#
    }

    @Test func `an event that overtakes the reply to its subscription is not lost`() throws {
        var held = HeldNotifications()
        held.begin()
        held.heard(
            try notified(
                #"{"notification":\#(item(3)),"version":6,"unseen":3,"unread":3,"seen":0,"first":1,"replaces":[1]}"#))
        let isAll = held.answered([
            try notified(#"{"items":[\#(item(2)),\#(item(1))],"version":5,"unseen":2,"unread":2,"seen":0,"first":1}"#)
        ])
        expect(isAll && held.inbox(over: []).notifications.map(\.title) == ["3", "2"])
        expect(held.inbox(over: []).unseenCount, equals: 3)
        let isTaken = held.apply(page: try notified(#"{"items":[],"version":5,"unseen":0,"unread":0}"#))
        expect(!isTaken, "an old page")
        held.heard(
            try notified(#"{"version":7,"unseen":0,"unread":1,"seen":3,"first":2,"read":[3],"kept":[3]}"#))
        expect(held.inbox(over: []).notifications.map(\.isRead), equals: [true])
    }

    @Test func `several events of one version that overtake the reply are all applied`() throws {
        var held = HeldNotifications()
        held.begin()
        for seq in 3...5 {
            held.heard(
                try notified(
                    #"{"notification":\#(item(seq)),"version":6,"unseen":5,"unread":5,"seen":0,"first":1}"#))
        }
        _ = held.answered([
            try notified(#"{"items":[\#(item(2)),\#(item(1))],"version":5,"unseen":2,"unread":2,"seen":0,"first":1}"#)
        ])
        expect(held.inbox(over: []).notifications.map(\.title), equals: ["5", "4", "3", "2", "1"])
        expect(held.inbox(over: []).unseenCount, equals: 5)
    }

    @Test func `an older reply to the subscription does not undo accepted marks`() throws {
        var held = HeldNotifications()
        let answer = try notified(
            #"{"items":[\#(item(2)),\#(item(1))],"version":5,"unseen":2,"unread":2,"seen":0,"first":1}"#)
        _ = held.answered([answer])
        held.begin()
        held.marked(
            Ask.NotificationMarks(seen: 2, read: [2], archived: [1]),
            try notified(#"{"version":6,"unseen":0,"unread":0,"seen":2,"first":2}"#))
        for _ in 0..<2 {
            let inbox = held.inbox(over: [])
            expect(inbox.notifications.map(\.title) == ["2"] && inbox.notifications.allSatisfy(\.isRead))
            expect(inbox.unseenCount == 0 && inbox.unreadCount == 0 && inbox.notifications.allSatisfy(\.isSeen))
            _ = held.answered([answer])
        }
    }
}
