import Expectations
import Foundation
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// Drawn histories of promises, broken connections and restarts: in the end the server has what was promised.
@Suite(.timeLimit(.minutes(1))) struct OutboxHistoryTests {
    /// The promises to the app.
    private struct Promised {
        var texts: [String] = []
        var read = 0
        var notices: Set<Int> = []
        var settings: NotificationSettings?
        var isMuted = false
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `the server gets what was promised`(seed: UInt64) async throws {
        var random = KillTests.Seeded(state: seed)
        let server = InMemoryServer.withTwentyOfEach()
        let writes = StoredWrites()
        try await writes.setOwner("ana")
        var promised = Promised()
        for _ in 0..<3 {
            let device = HistoryDevice(server, writes)
            for _ in 0..<12 { try await step(&promised, device, server, &random) }
            await device.client.close()
        }
        server.isThere(true)
        let device = HistoryDevice(server, writes)
        while await !writes.load().writes.isEmpty, !Task.isCancelled { await Task.yield() }

        let talk = server.state.withLock { $0.talks["c1"]! }
        expect(server.texts(in: "c1").filter { $0.hasPrefix("own") }, equals: promised.texts)
        expect(talk.reads["ana"] ?? 0 == promised.read)
        expect(talk.settings["ana"]?["muted"] != nil, equals: promised.isMuted)
        expect(server.state.withLock { $0.notices["ana"]!.read }, equals: promised.notices)
        let stored = server.notificationSettings(of: "ana")["preview"] as? Bool ?? true
        expect(stored == promised.settings?.showsPreview ?? true)
        await device.client.close()
    }

    private func step(
        _ promised: inout Promised, _ device: HistoryDevice, _ server: InMemoryServer, _ random: inout KillTests.Seeded
    ) async throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: server.isThere(false)
        case 1:
            server.isThere(true)
            device.client.networkChanged(isAvailable: true)
        case 2:
            let request = HistoryDevice.requests.randomElement(using: &random)!
            server.cut(request, Bool.random(using: &random) ? .before : .after)
        case 3, 4:
            promised.texts.append("own \(promised.texts.count)")
            try await device.messages.send(promised.texts.last!, in: "c1")
        case 5:
            let read = Int.random(in: 1...20, using: &random)
            await device.messages.markRead(in: "c1", upTo: Int64(read))
            promised.read = max(promised.read, read)
        case 6, 7:
            let number = Int.random(in: 1...20, using: &random)
            let notification = UserNotification(id: "n\(number)", sequence: Int64(number), kind: "test", title: "")
            try await device.notifications.markRead([notification])
            promised.notices.insert(number)
        case 8:
            let settings = NotificationSettings(showsPreview: Bool.random(using: &random))
            promised.settings = settings
            try await device.notifications.setSettings(settings)
        default:
            promised.isMuted.toggle()
            if promised.isMuted { try await device.messages.mute("c1") } else { try await device.messages.unmute("c1") }
        }
    }
}
