import EventLoops
import Foundation

@testable import PresenceKit

extension MessageServer: Dialler {
    func dial(_ url: URL, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void) -> any Transport {
        Connection(self, report)
    }

    /// One connection, from the client's side.
    private final class Connection: Transport {
        private let server: MessageServer
        private let report: @Sendable (TransportEvent) -> Void
        private let isOver = Locked(false)
        private let number = Locked(0)

        init(_ server: MessageServer, _ report: @escaping @Sendable (TransportEvent) -> Void) {
            self.server = server
            self.report = report
            guard server.state.withLock({ $0.isThere }) else {
                end()
                return
            }
            let joined = server.join(
                Peer(say: { report(.received($0)) }, cut: { [weak self] in self?.end() }))
            number.withLock { $0 = joined }
            report(.opened)
        }

        func send(_ text: [UInt8]) { server.receive(text, from: number.withLock { $0 }) }
        func ping() { report(.alive) }
        func close() { end() }
        func abort() { end() }

        private func end() {
            let isFirst = isOver.withLock { isOver in
                defer { isOver = true }
                return !isOver
            }
            guard isFirst else { return }
            server.leave(number.withLock { $0 })
            report(.ended(.lost("cut")))
        }
    }
}
