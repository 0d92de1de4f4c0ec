import EventLoops
import Foundation
import TestSupport

@testable import OutgoingHTTP

/// The servers of `servers.py`, and their received requests.
final class Servers: Sendable {
    private let process: ChildProcess
    private let lines: Lines
    private let ports: [String: Int]

    /// Lines in order; waiting tasks are resumed.
    private final class Lines: Sendable {
        /// After the last line: tasks that wait for other lines are resumed with a failure.
        static let end = "ended"

        struct State {
            var all: [String] = []
            var waiting: [(isThere: @Sendable ([String]) -> Bool, done: CheckedContinuation<Void, Never>)] = []
        }
        let state = Locked(State())

        func add(_ line: String) {
            let told: [CheckedContinuation<Void, Never>] = state.withLock { state in
                state.all.append(line)
                let told = state.waiting.filter { $0.isThere(state.all) }.map(\.done)
                state.waiting.removeAll { $0.isThere(state.all) }
                return told
            }
            told.forEach { $0.resume() }
        }

        func wait(_ isWanted: @escaping @Sendable ([String]) -> Bool) async {
            let isThere = { @Sendable (lines: [String]) in isWanted(lines) || lines.last == Self.end }
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                let isNow: Bool = state.withLock { state in
                    if isThere(state.all) { return true }
                    state.waiting.append((isThere, done))
                    return false
                }
                if isNow { done.resume() }
            }
        }
    }

    /// The directory of all servers of the process.
    private let place: TemporaryDirectory

    init() async throws {
        place = try await Self.certificates.value
        let lines = Lines()
        self.lines = lines
        process = try ChildProcess(["/usr/bin/python3", Self.script, place.path]) { lines.add($0 ?? Lines.end) }
        await lines.wait { !$0.isEmpty }
        ports = try JSONDecoder().decode([String: Int].self, from: Data(lines.state.withLock { $0.all[0] }.utf8))
    }

    private static let certificates = Task {
        let place = try TemporaryDirectory()
        let process = try ChildProcess(["/usr/bin/python3", script, place.path, "certificates"])
        guard await process.status() == 0 else { throw CocoaError(.executableLoad) }
        return place
    }

    private static let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/servers.py"

    func port(_ name: String) -> Int { ports[name]! }
    func file(_ name: String) -> String { place.file(name) }
    func url(_ path: String, _ server: String = "http", host: String = "127.0.0.1") -> String {
        "\(["http", "dead", "marks"].contains(server) ? "http" : "https")://\(host):\(port(server))\(path)"
    }

    /// A call that is over within this many seconds, with the authority of the servers.
    func request(
        _ path: String, _ server: String = "http", host: String = "127.0.0.1", method: String = "GET",
        body: [UInt8]? = nil, within seconds: Double = 15
    ) -> OutgoingRequest {
        var request = OutgoingRequest(method, url(path, server, host: host), body: body)
        request.limits.total = seconds
        request.tls.authorities = file("authority.pem")
        return request
    }

    /// How often a line has occurred so far.
    func count(_ line: String) async throws -> Int { try await happened.count { $0 == line } }
    var connections: Int { get async throws { try await count("connected") } }

    /// All events before this call. The servers' lines may still be on their way: a mark follows them.
    private var happened: [String] {
        get async throws {
            let path = "/mark/\(UInt64.random(in: .min ... .max))"
            _ = try await OutgoingClient().send(request(path, "marks"))
            await heard("arrived GET \(path)")
            return lines.state.withLock { $0.all }
        }
    }

    /// Waits until a line has occurred this often.
    func heard(_ line: String, _ count: Int = 1) async {
        await lines.wait { $0.count { $0 == line } >= count }
    }

    struct Mail: Decodable {
        let from: String
        let to: [String]
        let tls: Bool
        let user: String
        let name: String
        let text: String
    }

    var mails: [Mail] {
        get async throws {
            try await happened.filter { $0.hasPrefix("mail ") }.map {
                try JSONDecoder().decode(Mail.self, from: Data($0.dropFirst(5).utf8))
            }
        }
    }
}

extension OutgoingClient {
    /// The result of a call.
    func result(_ request: OutgoingRequest) async -> Result<OutgoingResponse, OutgoingFailure> {
        do throws(OutgoingFailure) { return .success(try await send(request)) } catch { return .failure(error) }
    }

    /// Makes a call in a task of its own, and returns when the client has its request.
    func begin(_ request: OutgoingRequest) async -> Task<Result<OutgoingResponse, OutgoingFailure>, Never> {
        let before = numbers.all
        let task = Task { await result(request) }
        while numbers.all == before { await Task.yield() }
        return task
    }

    func failure(_ request: OutgoingRequest) async -> OutgoingFailure? {
        if case .failure(let failure) = await result(request) { failure } else { nil }
    }
}

extension OutgoingNumbers {
    /// The number of requests that the client was given.
    fileprivate var all: Int { queued + running + answered + refused + cancelled + failed.values.reduce(0, +) }
}
