import Expectations
import Testing
import WebSockets

/// Writes numbered messages as long as the connection accepts them, and continues when it can.
final class Flood {
    private let total: Int
    private var next = 0

    init(total: Int) { self.total = total }

    func run(_ server: WebSocketServer, _ socket: SocketID) {
        while next < total {
            let text = "\(next) " + String(repeating: "x", count: next % 2000)
            switch WebSocketFrame.text(Array(text.utf8)).withUnsafeBytes({ server.write($0, to: socket) }) {
            case .written: next += 1
            case .congested:
                next += 1
                // It must not accept anything now.
                expect(WebSocketFrame.ping.withUnsafeBytes { server.write($0, to: socket) }, equals: .refused)
                server.ping(socket)
                return
            case .refused:
                Issue.record("refused without having been congested")
                return
            }
        }
    }
}
