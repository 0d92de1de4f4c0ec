import Foundation
import PresenceAccounts
import PresenceAccountsTesting
import PresenceHTTP
import PresenceKit
import TestSupport

/// An account of a model server, without a network, in invented time.
struct Bench {
    let server = ModelServer()
    let transport = FakeHTTPTransport()
    let store: FakeTokenStore
    let time = Time()

    /// Time that passes when the test says so.
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

    /// - Parameter kept: what an earlier launch left.
    init(kept: StoredSession? = nil) {
        store = FakeTokenStore(kept)
        reach()
    }

    /// The network is there.
    func reach() { transport.answer { [server] in server.handle($0) } }

    /// The server is not reached.
    func goOffline() { transport.answer { _ in throw HTTPFailure("offline", wasSent: false) } }

    /// The device starts the app.
    func launch() -> PresenceAccount {
        PresenceAccount(
            url: URL(string: "https://presence.example.org")!, store: store,
            device: Device(kind: .phone, name: "Ana's phone"), configuration: .init(), transport: transport,
            uptime: { [time] in time.uptime }, sleep: { [naps] in try await naps.sleep($0) })
    }

    /// Pauses that end when the test says so.
    let naps = Naps()

    actor Naps {
        private(set) var wanted: [Duration] = []
        private var sleepers: [CheckedContinuation<Void, Never>] = []

        func sleep(_ duration: Duration) async throws {
            wanted.append(duration)
            await withCheckedContinuation { sleepers.append($0) }
        }

        /// Waits until somebody sleeps, and ends that.
        func wake() async {
            while sleepers.isEmpty { await Task.yield() }
            for sleeper in sleepers { sleeper.resume() }
            sleepers = []
        }
    }

    /// Somebody is signed in, and the server has confirmed it.
    static func signedIn() async throws -> (bench: Bench, account: PresenceAccount) {
        let bench = Bench(kept: kept)
        let account = bench.launch()
        await account.reaches { $0 == .signedIn(ana, .live) }
        return (bench, account)
    }
}

extension AuthRepository {
    /// Waits for a state; gives back those on the way.
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

/// What a fake's answer waits for, and the test opens.
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

    /// Waits until somebody stands before it.
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
