import Foundation
import PresenceKit
import PresenceMessages

/// Measures the latency of the client library, in one process with two clients of a server on this machine:
///
///     kit-latency URL ANA'S_TOKEN BOB'S_TOKEN [CALLS] [RUNS]
///
/// With `--write` it is the second process of ``Screen``.
///
/// Prints for each question the median and the 99th percentile of each run, then the median of the medians.
@main
struct KitLatency {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments[1] == "--write" {
            let url = URL(string: arguments[2])!
            return try await Writer.run(url: url, token: arguments[3], conversation: arguments[4])
        }
        let url = URL(string: arguments[1])!
        let calls = arguments.count > 4 ? Int(arguments[4])! : 500
        let runs = arguments.count > 5 ? Int(arguments[5])! : 5
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("kit-latency-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let ana = PresenceClient(url: url, token: arguments[2], storage: try .directory(directory))
        let bob = PresenceClient(url: url, token: arguments[3])
        try await bob.updateProfile(displayName: "Bob", offline: .fail)
        guard let user = await bob.me.user else { return }

        try await measure("person over the socket", calls, runs) { _ in _ = try await ana.person(user) }
        try await measure("100 people over the socket", calls / 10, runs) { run in
            _ = try await ana.people((0..<100).map { "somebody-\(run)-\($0)" })
        }
        let watching = Watching(ana, user)
        await watching.begun()
        try await measure("person who is observed", calls, runs) { _ in _ = try await ana.person(user) }
        try await measure("update to another client's loop", calls, runs) { number in
            let name = "Bob \(number)"
            async let seen: Void = watching.sees(name)
            try await bob.updateProfile(displayName: .set(name), offline: .fail)
            await seen
        }
        await watching.end()
        if let own = await ana.me.user {
            let writer = (url: arguments[1], token: arguments[3])
            try await Screen(ana, users: (own, user), writer: writer).measure(shown: [50, 3_000], calls / 5)
        }
        try await Launch.fill(PresenceMessenger(ana), PresenceMessenger(bob), with: user)
        await ana.disconnect()
        try await measure("person from the cache, offline", calls, runs) { _ in _ = try await ana.person(user) }
        try await measure("a change queued on disk, offline", calls / 5, runs) { number in
            try await ana.updateProfile(displayName: "Ana \(number)")
        }
        await bob.disconnect()
        await ana.close()
        try await Launch(directory: directory, token: arguments[2]).measure(runs)
    }

    private static func measure(
        _ name: String, _ calls: Int, _ runs: Int, _ call: @Sendable (Int) async throws -> Void
    ) async throws {
        var medians: [Double] = []
        var last: [Double] = []
        for run in 0..<runs {
            var times: [Double] = []
            for number in 0..<calls {
                let began = ContinuousClock.now
                try await call(run * calls + number)
                times.append((ContinuousClock.now - began) / .milliseconds(1))
            }
            times.sort()
            medians.append(times[times.count / 2])
            last.append(times[times.count * 99 / 100])
        }
        let each = zip(medians, last).map { "\(text($0))/\(text($1))" }.joined(separator: "  ")
        print("\(name): median \(text(medians.sorted()[runs / 2])) ms   p50/p99 of each run: \(each)")
    }

    private static func text(_ milliseconds: Double) -> String {
        String(Int(milliseconds)) + "." + String(String(Int(milliseconds * 1_000) % 1_000 + 1_000).dropFirst())
    }
}

/// A loop over one user's updates, as in an app.
private actor Watching {
    private var name: String?
    private var waiting: (name: String, continuation: CheckedContinuation<Void, Never>)?
    private var first: CheckedContinuation<Void, Never>?
    private var loop: Task<Void, Never>?

    init(_ client: PresenceClient, _ user: String) {
        Task {
            await self.start(client, user)
        }
    }

    private func start(_ client: PresenceClient, _ user: String) {
        loop = Task {
            for await profile in client.profile(of: user) where profile.freshness.isLive { self.see(profile) }
        }
    }

    private func see(_ profile: PersonProfile) {
        name = profile.displayName
        first?.resume()
        first = nil
        if let waiting, waiting.name == name {
            self.waiting = nil
            waiting.continuation.resume()
        }
    }

    func begun() async {
        if name == nil { await withCheckedContinuation { first = $0 } }
    }

    func sees(_ wanted: String) async {
        if name == wanted { return }
        await withCheckedContinuation { waiting = (wanted, $0) }
    }

    func end() { loop?.cancel() }
}
