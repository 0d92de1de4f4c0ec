import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import TestSupport
import Testing

/// The notifications library against a real server: a backend notifies, two devices of one user show the same.
@Suite(.timeLimit(.minutes(2))) struct NotificationTests {
    @Test func `a user's devices show the same notifications and counts, over breaks and restarts`() async throws {
        let server = try await Presenced()
        let backend = try await server.token("shop", role: "backend")
        func notify(_ id: String, _ more: String = "") async throws {
            let body = #"{"users":["ana"],"id":"\#(id)","kind":"order","title":"Order \#(id)"\#(more)}"#
            try await expect(server.http("POST", "/v1/notifications", token: backend, body: body).status, equals: 202)
        }
        let (phone, web) = (
            server.client("ana", device: Device(kind: .phone)), server.client("ana", device: Device(kind: .web))
        )
        let (own, other) = (PresenceNotifications(phone), PresenceNotifications(web))
        let (first, second) = (Sightings(own.inbox), Sightings(other.inbox))
        try await first.until("an empty list") { $0.notifications.isEmpty }
        try await second.until("an empty list") { $0.notifications.isEmpty }
        try await notify("1", #","body":"Soon","data":{"n":1}"#)
        try await notify("2")
        let two = try await first.until("two") { $0.notifications.count == 2 }
        expect(two.unseenCount == 2 && two.notifications[1].body == "Soon")
        expect(two.notifications[1].data, equals: .object(["n": .number(1)]))
        try await own.markSeen()
        try await own.markRead([two.notifications[0]])
        let seen = try await second.until("the other device's marks") { $0.unseenCount == 0 && $0.unreadCount == 1 }
        expect(seen.notifications.map(\.isRead), equals: [true, false])

        // One device is offline: it marks, and other changes continue.
        phone.networkChanged(isAvailable: false)
        try await own.archive([two.notifications[1]])
        try await notify("3")
        try await second.until("the third") { $0.notifications.count == 3 }
        server.kill()
        try await server.start()
        phone.networkChanged(isAvailable: true)
        for device in [first, second] {
            let all = try await device.until("what there is after all") { $0.notifications.map(\.id) == ["3", "2"] }
            expect(all.unseenCount == 1 && all.unreadCount == 1)
        }

        for number in 4...70 { try await notify("\(number)") }
        try await second.until("all") { $0.notifications.first?.id == "70" && $0.unseenCount == 68 }
        try await other.markSeen()
        try await first.until("seen on both") { $0.unseenCount == 0 }
        let client = server.client("ana", device: Device(kind: .desktop))
        let late = PresenceNotifications(client)
        let newest = Sightings(late.inbox)
        try await expect(newest.until("the newest page") { $0.hasEarlier }.notifications.count, equals: 50)
        try await expect(late.loadEarlier(), equals: false)
        try await newest.until("all of them") { $0.notifications.count == 69 && !$0.hasEarlier }
        try await expect(server.stop(), equals: 0)
    }
}
