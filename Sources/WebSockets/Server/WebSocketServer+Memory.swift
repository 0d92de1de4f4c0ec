import CLibWebSockets
import EventLoops

/// Returns memory after a crowd of handshakes.
///
/// TLS sessions are tens of kilobytes each, in many pieces, with longer-lived memory between them, so the allocator
/// keeps the memory of ended sessions. The server makes it return that memory once most of a crowd has left.
extension WebSocketServer {
    /// A smaller crowd leaves too little memory for the effort.
    private static let crowd = 256
    /// In ms. Connections that end within this time return their memory together with the crowd's.
    private static let memoryDelay: Int64 = 1_000

    /// Records a new connection.
    func countArrival() { mostHandshakes = max(mostHandshakes, table.unsettledCount) }

    /// Records an ended connection.
    func countDeparture() {
        guard mostHandshakes >= Self.crowd, table.unsettledCount * 4 <= mostHandshakes else { return }
        mostHandshakes = table.unsettledCount
        memoryTimer?.set(after: Self.memoryDelay)
    }

    /// Not on the loop: it walks through all free memory (some ms for 100 MB), one arena of the allocator at a time.
    func returnMemory() {
        Task.detached(priority: .background) { clws_return_memory() }
    }
}
