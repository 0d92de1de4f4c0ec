import Expectations
import Foundation
import Testing

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// A disk that fails at random, and always once the process is killed.
private actor RandomWrites: WriteQueue {
    private let writes = StoredWrites()
    private var random: KillTests.Seeded
    private var (isDead, isGood): (Bool, Bool)

    init(_ seed: UInt64, _ found: [QueuedWrite], isGood: Bool = false) async throws {
        random = KillTests.Seeded(state: seed)
        (isDead, self.isGood) = (false, isGood)
        try await writes.setOwner("ana")
        for write in found { try await writes.append(write) }
    }

    private func pass() async throws {
        for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
        if isDead || !isGood && Int.random(in: 0..<100, using: &random) < 15 {
            throw StorageError.failed("write", "the test's disk", ENOSPC)
        }
    }

    /// Nothing more is written. Returns what is on the disk.
    func kill() async -> [QueuedWrite] {
        isDead = true
        return await all
    }

    var all: [QueuedWrite] { get async { await writes.load().writes } }
    func load() async -> (owner: String?, writes: [QueuedWrite]) { await writes.load() }
    func setOwner(_ user: String) async throws {
        try await pass()
        try await writes.setOwner(user)
    }
    func append(_ write: QueuedWrite) async throws {
        try await pass()
        try await writes.append(write)
    }
    func remove(_ ids: [String]) async throws {
        try await pass()
        try await writes.remove(ids)
    }
    func removeAll() async throws { try await writes.removeAll() }
}

/// Drawn histories of promises over kills and faults of the disk: in the end the server has exactly what was promised.
@Suite(.timeLimit(.minutes(1))) struct DiskFaultHistoryTests {
    /// The promises to the app.
    private struct Promised {
        var count = 0
        var texts: [String] = []
        var notices: Set<Int> = []
        var showsPreview: Bool?
        var isMuted = false
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `the server gets what was promised`(seed: UInt64) async throws {
        var random = KillTests.Seeded(state: seed)
        let server = InMemoryServer.withTwentyOfEach()
        var promised = Promised()
        var found: [QueuedWrite] = []
        for life in 0..<4 {
            let writes = try await RandomWrites(seed &* 7 &+ UInt64(life), found)
            let device = HistoryDevice(server, writes)
            for _ in 0..<18 { try? await step(&promised, device, server, &random) }
            let isKilled = Bool.random(using: &random)
            if isKilled { found = await writes.kill() }
            await device.client.close()
            if !isKilled { found = await writes.all }
        }
        server.isThere(true)
        let writes = try await RandomWrites(seed, found, isGood: true)
        let device = HistoryDevice(server, writes)
        while await !writes.all.isEmpty, !Task.isCancelled { await Task.yield() }

        expect(server.texts(in: "c1").filter { $0.hasPrefix("own") }, equals: promised.texts)
        let (talk, read) = server.state.withLock { ($0.talks["c1"]!, $0.notices["ana"]!.read) }
        expect(talk.settings["ana"]?["muted"] != nil, equals: promised.isMuted)
        expect(Set(read), equals: promised.notices)
        let showsPreview = server.notificationSettings(of: "ana")["preview"] as? Bool ?? true
        expect(showsPreview == promised.showsPreview ?? true)
        await device.client.close()
    }

    /// Makes a promise, unless it throws.
    private func step(
        _ promised: inout Promised, _ device: HistoryDevice, _ server: InMemoryServer, _ random: inout KillTests.Seeded
    ) async throws {
        switch Int.random(in: 0..<9, using: &random) {
        case 0: server.isThere(false)
        case 1:
            server.isThere(true)
            device.client.networkChanged(isAvailable: true)
        case 2:
            let request = HistoryDevice.requests.randomElement(using: &random)!
            server.cut(request, Bool.random(using: &random) ? .before : .after)
        case 3, 4:
            promised.count += 1
            let text = "own \(promised.count)"
            try await device.messages.send(text, in: "c1")
            promised.texts.append(text)
        case 5: await device.messages.markRead(in: "c1", upTo: Int64.random(in: 1...20, using: &random))
        case 6:
            let number = Int.random(in: 1...20, using: &random)
            let notification = UserNotification(id: "n\(number)", sequence: Int64(number), kind: "t", title: "")
            try await device.notifications.markRead([notification])
            promised.notices.insert(number)
        case 7:
            let showsPreview = Bool.random(using: &random)
            try await device.notifications.setSettings(.init(showsPreview: showsPreview))
            promised.showsPreview = showsPreview
        default:
            let isMuted = Bool.random(using: &random)
            if isMuted { try await device.messages.mute("c1") } else { try await device.messages.unmute("c1") }
            promised.isMuted = isMuted
        }
    }
}
