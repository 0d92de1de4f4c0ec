import Foundation
import PresenceAccounts
import PresenceKit
import PresenceTesting
import TestSupport

/// An account on a model server, without a network, with time that the test advances.
struct Bench {
    let server = ModelServer()
    let transport = FakeHTTPTransport()
    let store: FakeTokenStore
    let time = Time()

    /// Time that the test advances.
    // @unchecked: `now` is only touched with the lock.
    final class Time: @unchecked Sendable {
        private let lock = NSLock()
        private var now = Duration.zero
        var uptime: Duration { lock.withLock { now } }
        func pass(_ time: Duration) { lock.withLock { now += time } }
    }

    static let ana = Account(
        id: "u-1", email: "ana@example.org", createdAt: Date(timeIntervalSince1970: 1_763_712_000))
    static let kept = StoredSession(
        refreshToken: "r-1-0", account: ana, savedAt: Date(timeIntervalSince1970: 1_700_000_000))

    /// - Parameter kept: the session stored by an earlier launch.
    init(kept: StoredSession? = nil) {
        store = FakeTokenStore(kept)
        reach()
    }

    /// Connects the network.
    func reach() { transport.respond { [server] in server.handle($0) } }

    /// Disconnects the network.
    func goOffline() { transport.respond { _ in throw HTTPFailure("offline", wasSent: false) } }

    /// Launches the app.
    func launch(logger: PresenceLogger? = nil) -> PresenceAccount {
        PresenceAccount(
            url: URL(string: "https://presence.example.org")!, store: store,
            device: Device(kind: .phone, name: "Ana's phone"), configuration: .init(), transport: transport,
            logger: logger, uptime: { [time] in time.uptime }, sleep: { [naps] in try await naps.sleep($0) })
    }

    /// Pauses that the test ends.
    let naps = Naps()

    actor Naps {
        private(set) var wanted: [Duration] = []
        private var sleepers: [CheckedContinuation<Void, Never>] = []

        func sleep(_ duration: Duration) async throws {
            wanted.append(duration)
            await withCheckedContinuation { sleepers.append($0) }
        }

        /// Waits for a pause, and ends it.
        func wake() async {
            while sleepers.isEmpty { await Task.yield() }
            for sleeper in sleepers { sleeper.resume() }
            sleepers = []
        }
    }

    /// A signed-in account that the server has confirmed.
    static func signedIn() async throws -> (bench: Bench, account: PresenceAccount) {
        let bench = Bench(kept: kept)
        let account = bench.launch()
        await account.reaches { $0 == .signedIn(ana, .live) }
        return (bench, account)
    }
}

extension AccountRepository {
    /// Waits for a state; returns the states before it.
    @discardableResult
    func reaches(_ isWanted: (AuthState) -> Bool) async -> [AuthState] {
        var seen: [AuthState] = []
        for await state in states {
            seen.append(state)
            if isWanted(state) { break }
        }
        return seen
    }
}

/// A gate that a fake's response waits for, and that the test opens.
actor Gate {
    private var isOpen = false
    private var arrived = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watching: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        arrived += 1
        for watcher in watching { watcher.resume() }
        watching = []
        guard !isOpen else { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    /// Waits until a call has reached the gate.
    func arrival() async {
        guard arrived == 0 else { return }
        await withCheckedContinuation { watching.append($0) }
    }

    func open() {
        isOpen = true
        for each in waiting { each.resume() }
        waiting = []
    }
}
