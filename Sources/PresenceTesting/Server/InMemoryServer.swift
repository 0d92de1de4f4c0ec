import Foundation
import PresenceKit
import PresenceMessages

/// A presence server in the memory of a test. The app's own clients talk to it without a network, and get the replies and
/// events of a real server.
///
/// ```swift
/// let server = InMemoryServer()
/// let ana = server.client(as: "ana")
/// server.set(.online("bob", name: "Bob"))
/// let bob = try await ana.person("bob")
/// ```
///
/// It has users with presence, linger, profiles and visibility, typing, conversations, messages, marks and
/// notifications. Two clients of one server see each other. It has no limits of rates and sizes, and keeps everything.
public final class InMemoryServer: Sendable {
    /// The server's time, which begins at ``Foundation/Date/inTests``. Lingering, typing, expiring statuses and
    /// ``delay`` follow it.
    public let clock: TestClock
    let state: Guarded<State>

    /// Creates a server without users.
    public init(clock: TestClock = TestClock()) {
        self.clock = clock
        state = Guarded(State())
        clock.onAdvance { [weak self] in self?.resume() }
    }

    // MARK: Clients

    /// Creates a client of a user, with a token as an app's backend makes it. It reconnects within milliseconds.
    ///
    /// - Parameter storage: the device's storage: two clients with the same one are two launches of an app.
    public func client(as user: String, storage: Storage = .memory()) -> PresenceClient {
        let token = Self.token(["sub": user])
        return client(token: { token }, storage: storage)
    }

    func client(
        token: @escaping PresenceClient.TokenProvider, storage: Storage,
        listeners: [String: PresenceClient.EventListener] = [:]
    ) -> PresenceClient {
        var configuration = PresenceClient.Configuration()
        configuration.reconnectBase = .milliseconds(2)
        configuration.reconnectCap = .milliseconds(5)
        configuration.followsSystem = false
        return PresenceClient(
            url: URL(string: "wss://presence.example.org/v1/ws")!, token: token, configuration: configuration,
            storage: storage, listeners: listeners, dialler: self, http: self)
    }

    /// A token that names its user, and is not signed.
    static func token(_ claims: Object) -> String {
        let payload = Data(bytes(claims)).base64EncodedString().replacing("=", with: "")
        return "h.\(payload.replacing("+", with: "-").replacing("/", with: "_")).s"
    }

    // MARK: For assertions

    /// The requests of a type that the server has received, in order: their members, such as `text`. An HTTP request has
    /// the type `POST /v1/sessions`.
    public func requests(_ type: String) -> [[String: any Sendable]] {
        state.withLock { $0.asked.filter { $0["type"] as? String == type } }
    }

    /// Waits until the server has received so many requests of a type, or its task is cancelled. They may be waiting.
    public func received(_ type: String, count: Int = 1) async {
        while requests(type).count < count, !Task.isCancelled { await Task.yield() }
    }

    // MARK: Faults

    /// Breaks all connections. Until ``goOnline()``, no client reaches the server.
    public func goOffline() { isThere(false) }

    /// Lets the clients connect again, which they do by themselves.
    public func goOnline() { isThere(true) }

    /// Refuses the next request of a type with an error.
    ///
    /// - Parameter type: as in ``requests(_:)``.
    public func fail(_ type: String, with error: PresenceError = PresenceError(.forbidden, "refused by the test")) {
        var members: Object = ["code": error.code.rawValue, "message": error.message]
        members["field"] = error.field
        members["reason"] = error.reason?.rawValue
        members["retryAfter"] = error.retryAfter.map { Int($0 / .milliseconds(1)) }
        if error.outcomeUnknown { members["outcomeUnknown"] = true }
        refuse(type, members)
    }

    /// Lets all requests wait until ``release()``.
    public func hold() { change { $0.isHolding = true } }

    /// Processes the waiting requests, in their order.
    public func release() {
        change { $0.isHolding = false }
        resume()
    }

    /// How long each request waits before it is processed, by ``clock``; `nil` for no time.
    public var delay: Duration? {
        get { state.withLock { $0.delay } }
        set { change { $0.delay = newValue } }
    }

    /// Whether the server's data is stale: clients are connected, and their values are marked.
    public var isStale: Bool {
        get { state.withLock { $0.isStale } }
        set { change { $0.isStale = newValue } }
    }
}

extension Date {
    /// 21 November 2025, 08:00 UTC, an arbitrary time.
    public static let inTests = Date(timeIntervalSince1970: 1_763_712_000)
}
