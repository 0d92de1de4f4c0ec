import Foundation
import PresenceKit
import PresenceProtocol

// Connections in memory.
extension InMemoryServer: Dialler {
    package func dial(
        _ url: URL, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void
    ) -> any Transport {
        Connection(self, report)
    }

    /// One connection, from the client's side.
    private final class Connection: Transport {
        private let server: InMemoryServer
        private let report: @Sendable (TransportEvent) -> Void
        private let isOver = Guarded(false)
        private let number = Guarded(0)

        init(_ server: InMemoryServer, _ report: @escaping @Sendable (TransportEvent) -> Void) {
            self.server = server
            self.report = report
            guard server.state.withLock({ $0.isThere }) else {
                end(.lost("the test is offline"))
                return
            }
            let joined = server.join(
                Peer(say: { report(.received($0)) }, cut: { [weak self] in self?.end(.lost("cut")) }))
            number.withLock { $0 = joined }
            report(.opened)
        }

        func send(_ text: [UInt8]) { server.receive(text, from: number.withLock { $0 }) }
        func ping() { report(.alive) }
        func close() { end(.lost("closed"), lingers: false) }
        func abort() { end(.lost("aborted")) }

        private func end(_ reason: TransportEnd, lingers: Bool = true) {
            let isFirst = isOver.withLock { isOver in
                defer { isOver = true }
                return !isOver
            }
            guard isFirst else { return }
            server.leave(number.withLock { $0 }, lingers: lingers)
            report(.ended(reason))
        }
    }

    func join(_ peer: Peer) -> Int {
        state.withLock { state in
            state.lastPeer += 1
            state.peers[state.lastPeer] = peer
            return state.lastPeer
        }
    }

    func leave(_ peer: Int, lingers: Bool = true) { change { $0.leave(peer, lingers: lingers) } }

    func isThere(_ isThere: Bool) {
        change { $0.isThere = isThere }
        if !isThere { cutAll() }
    }

    /// Breaks all connections.
    func cutAll() {
        change { state in
            for number in state.peers.keys.sorted() { state.cut(number) }
        }
    }

    func refuse(_ type: String, _ error: Object) {
        state.withLock { $0.refusals[type, default: []].append(error) }
    }

    // MARK: Requests

    func receive(_ bytes: [UInt8], from number: Int) {
        change { state in
            guard state.peers[number] != nil, var asked = Self.object(bytes) else { return }
            asked["type"] = asked["type"] as? String ?? ""
            state.asked.append(asked)
            guard state.delay != nil || state.isHolding || state.waiting.contains(where: { $0.peer == number }) else {
                return state.process(asked, bytes, from: number)
            }
            let due = state.delay.map { clock.now.advanced(by: $0) }
            state.waiting.append(Waiting(peer: number, bytes: bytes, asked: asked, due: due))
        }
    }

    /// Processes the waiting requests that are due, in their order.
    func resume() {
        let held = change { state -> [CheckedContinuation<Void, Never>] in
            guard !state.isHolding else { return [] }
            let now = clock.now
            while let first = state.waiting.first, first.due.map({ $0 <= now }) ?? true {
                state.waiting.removeFirst()
                state.process(first.asked, first.bytes, from: first.peer)
            }
            defer { state.held = [:] }
            return Array(state.held.values)
        }
        for continuation in held { continuation.resume() }
    }

    /// Changes the state at the clock's time, and sends its clients what differs for them.
    @discardableResult
    func change<Value>(_ body: (inout State) throws -> Value) rethrows -> Value {
        defer { say() }
        return try state.withLock { state in
            state.time = Self.beginning + Timestamp(clock.now.offset / .milliseconds(1))
            state.now = max(state.now, state.time)
            state.expire()
            defer { state.flush() }
            return try body(&state)
        }
    }

    /// Sends what waits in the outbox, in its order, without the lock.
    private func say() {
        while true {
            let sayings = state.withLock { state -> [Saying]? in
                guard !state.isSaying, !state.outbox.isEmpty else { return nil }
                state.isSaying = true
                defer { state.outbox = [] }
                return state.outbox
            }
            guard let sayings else { return }
            for saying in sayings {
                if let bytes = saying.bytes { saying.peer.say(bytes) } else { saying.peer.cut() }
            }
            state.withLock { $0.isSaying = false }
        }
    }

    static let beginning: Timestamp = 1_763_712_000_000
}
