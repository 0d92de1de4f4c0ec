import Foundation
import PresenceAccounts
import PresenceKit

// @unchecked: `state` is only touched with the lock.
/// Answers requests as set by the test, without a network.
public final class FakeHTTPTransport: HTTPTransport, @unchecked Sendable {
    /// Returns the response to a request, or throws an error of a transport.
    public typealias Answer = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private struct State {
        var requests: [HTTPRequest] = []
        var answer: Answer
    }

    private let lock = NSLock()
    private var state: State

    /// - Parameter answer: called for each request, from any task.
    public init(_ answer: @escaping Answer = { _ in throw HTTPFailure("no answer is scripted", wasSent: false) }) {
        state = State(answer: answer)
    }

    /// All requests, in order.
    public var requests: [HTTPRequest] { lock.withLock { state.requests } }

    /// Sets the closure that answers from now on.
    public func answer(_ answer: @escaping Answer) { lock.withLock { state.answer = answer } }

    /// Records the request, reports all bytes as sent, and returns the scripted response.
    public func send(
        _ request: HTTPRequest, progress: (@Sendable (_ sentBytes: Int) -> Void)?
    ) async throws -> HTTPResponse {
        let answer = lock.withLock {
            state.requests.append(request)
            return state.answer
        }
        if let body = request.body { progress?(body.count) }
        if let file = request.bodyFile { progress?((try? Data(contentsOf: file))?.count ?? 0) }
        return try await answer(request)
    }
}

extension HTTPResponse {
    /// A JSON response.
    public static func json(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["content-type": "application/json"], body: Data(text.utf8))
    }

    /// An error response in the protocol's form.
    public static func error(
        _ status: Int, _ code: String, reason: String? = nil, message: String = "", retryAfter: Int? = nil
    ) -> HTTPResponse {
        var text = #"{"type":"error","code":"\#(code)","message":"\#(message)""#
        if let reason { text += #","reason":"\#(reason)""# }
        if let retryAfter { text += #","retryAfter":\#(retryAfter)"# }
        return .json(text + "}", status: status)
    }
}

// @unchecked: `state` is only touched with the lock.
/// Keeps a session in memory, and fails when the test has set a failure.
public final class FakeTokenStore: TokenStore, @unchecked Sendable {
    private struct State {
        var session: StoredSession?
        var failure: (any Error)?
        var saved: [StoredSession] = []
        var farewells: [String] = []
    }

    private let lock = NSLock()
    private var state = State()

    /// Creates a store with this session; empty by default.
    public init(_ session: StoredSession? = nil) { state.session = session }

    /// While it is not `nil`, every call fails with it.
    public var failure: (any Error)? {
        get { lock.withLock { state.failure } }
        set { lock.withLock { state.failure = newValue } }
    }

    /// The stored session.
    public var session: StoredSession? { lock.withLock { state.session } }
    /// All sessions that were stored, in order.
    public var saved: [StoredSession] { lock.withLock { state.saved } }

    public func load() throws -> StoredSession? { try change { $0.session } }

    public func save(_ session: StoredSession) throws {
        try change {
            $0.session = session
            $0.saved.append(session)
        }
    }

    public func clear() throws { try change { $0.session = nil } }
    public func loadFarewells() throws -> [String] { try change { $0.farewells } }
    public func saveFarewells(_ tokens: [String]) throws { try change { $0.farewells = tokens } }

    private func change<Value>(_ body: (inout State) -> Value) throws -> Value {
        try lock.withLock {
            if let failure = state.failure { throw failure }
            return body(&state)
        }
    }
}
