import Foundation
import PresenceAccounts
import PresenceKit

// @unchecked: `state` is only touched with the lock.
/// Answers requests as set by the test, without a network.
package final class FakeHTTPTransport: HTTPTransport, @unchecked Sendable {
    /// Returns the response to a request, or throws an error of a transport.
    package typealias Answer = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private struct State {
        var requests: [HTTPRequest] = []
        var answer: Answer
    }

    private let lock = NSLock()
    private var state: State

    /// - Parameter answer: called for each request, from any task.
    package init(_ answer: @escaping Answer = { _ in throw HTTPFailure("no answer is scripted", wasSent: false) }) {
        state = State(answer: answer)
    }

    /// All requests, in order.
    package var requests: [HTTPRequest] { lock.withLock { state.requests } }

    /// Sets the closure that answers from now on.
    package func respond(_ answer: @escaping Answer) { lock.withLock { state.answer = answer } }

    /// Records the request, reports all bytes as sent, and returns the scripted response.
    package func send(
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
    package static func json(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["content-type": "application/json"], body: Data(text.utf8))
    }

    /// An error response in the protocol's form.
    package static func error(
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
package final class FakeTokenStore: TokenStore, @unchecked Sendable {
    private struct State {
        var session: StoredSession?
        var failure: (any Error)?
        var saved: [StoredSession] = []
        var farewells: [String] = []
    }

    private let lock = NSLock()
    private var state = State()

    /// Creates a store with this session; empty by default.
    package init(_ session: StoredSession? = nil) { state.session = session }

    /// While it is not `nil`, every call fails with it.
    package var failure: (any Error)? {
        get { lock.withLock { state.failure } }
        set { lock.withLock { state.failure = newValue } }
    }

    /// The stored session.
    package var session: StoredSession? { lock.withLock { state.session } }
    /// All sessions that were stored, in order.
    package var saved: [StoredSession] { lock.withLock { state.saved } }

    package func load() throws -> StoredSession? { try change { $0.session } }

    package func save(_ session: StoredSession) throws {
        try change {
            $0.session = session
            $0.saved.append(session)
        }
    }

    package func clear() throws { try change { $0.session = nil } }
    package func loadFarewells() throws -> [String] { try change { $0.farewells } }
    package func saveFarewells(_ tokens: [String]) throws { try change { $0.farewells = tokens } }

    private func change<Value>(_ body: (inout State) -> Value) throws -> Value {
        try lock.withLock {
            if let failure = state.failure { throw failure }
            return body(&state)
        }
    }
}
