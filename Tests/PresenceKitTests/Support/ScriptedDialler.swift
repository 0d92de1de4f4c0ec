import EventLoops
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// A dialler for connections whose other side the test plays.
final class ScriptedDialler: Dialler {
    private let dialled: AsyncStream<ScriptedConnection>
    private let dial: AsyncStream<ScriptedConnection>.Continuation

    init() { (dialled, dial) = AsyncStream.makeStream() }

    func dial(
        _ url: URL, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void
    ) -> any Transport {
        let connection = ScriptedConnection(url: url, subprotocol: subprotocol, report: report)
        dial.yield(connection)
        return connection
    }

    /// The next connection that is dialled. One caller at a time.
    func next() async -> ScriptedConnection {
        for await connection in dialled { return connection }
        preconditionFailure("the dialler is over")
    }
}

/// One connection, seen from the server's side.
final class ScriptedConnection: Transport {
    enum Act: Hashable, Sendable {
        case message(ClientMessage)
        case ping
        case close
        case abort
    }

    let url: URL
    let subprotocol: String
    private let report: @Sendable (TransportEvent) -> Void
    private let acts: AsyncStream<Act>
    private let act: AsyncStream<Act>.Continuation
    private let isOver = Locked(false)

    init(url: URL, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void) {
        self.url = url
        self.subprotocol = subprotocol
        self.report = report
        (acts, act) = AsyncStream.makeStream()
    }

    // MARK: Transport

    func send(_ text: [UInt8]) {
        // A message that cannot be decoded is missing for the test that waits for it.
        if let message = try? ClientMessage.decode(text) { act.yield(.message(message)) }
    }

    func ping() { act.yield(.ping) }

    func close() {
        act.yield(.close)
        end(.lost("closed"))
    }

    func abort() {
        act.yield(.abort)
        end(.lost("aborted"))
    }

    // MARK: The script

    /// The client's next act. One caller at a time. A test that is cancelled, at its time limit for instance, fails here alone.
    func next() async -> Act {
        for await act in acts { return act }
        Issue.record("the client did nothing more")
        return .abort
    }

    /// The client's next act, which must be a message.
    func message() async -> ClientMessage? {
        if case .message(let message) = await next() { message } else { nil }
    }

    func accept() { report(.opened) }
    func deliver(_ message: ServerMessage) { report(.received(message.encoded())) }
    func live() { report(.alive) }

    func end(_ end: TransportEnd) {
        let isFirst = isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
        if isFirst { report(.ended(end)) }
    }

    func end(code: UInt16, reason: String = "") {
        end(.closed(code: code, reason: Array(reason.utf8)))
    }

    /// Receives the `connect`, replies to it, and returns it.
    @discardableResult
    func welcome(user: UserID = "ana") async -> ClientMessage.Connect? {
        accept()
        guard let message = await message(), case .connect(let connect) = message.body else { return nil }
        deliver(
            .connected(
                id: message.id,
                .init(
                    user: user, session: "s", serverTime: 1_763_712_000_000, status: OwnStatus(),
                    heartbeatInterval: 20_000, heartbeatTimeout: 10_000, linger: 10_000, limits: ConnectionLimits())))
        return connect
    }

    /// Receives a `subscribe`, replies to it, and returns its users.
    @discardableResult
    func subscribe(_ snapshots: UserSnapshot...) async -> [UserID] {
        guard let message = await message(), case .subscribe(let subscribe) = message.body else { return [] }
        deliver(.subscribed(id: message.id, users: snapshots, conversations: [], more: false))
        return subscribe.users
    }
}

extension PresenceClient {
    /// A client with a scripted dialler.
    static func scripted(
        _ dialler: ScriptedDialler, _ time: TestTime = TestTime(), storage: Storage = .memory(),
        configuration: Configuration = Configuration(), tokenIsFixed: Bool = false,
        token: @escaping TokenProvider = { "t" }
    ) -> PresenceClient {
        PresenceClient(
            url: URL(string: "ws://example.org/v1/ws")!, token: token, tokenIsFixed: tokenIsFixed, device: Device(),
            configuration: configuration, storage: storage, dialler: dialler, time: time, random: { 0.5 })
    }
}
