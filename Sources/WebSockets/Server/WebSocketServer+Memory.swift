import CLibWebSockets
import EventLoops

/// Memory after a crowd of handshakes.
///
/// Sessions of TLS are tens of kilobytes each, in many pieces, between which longer-lived ones come to lie; so the
/// allocator keeps what they had. It is told to give it back once most of a crowd has gone.
extension WebSocketServer {
    /// Fewer leave nothing worth the work.
    private static let crowd = 256
    /// In ms; until then more may end, and what they have is given back with the rest.
    private static let memoryDelay: Int64 = 1_000

    /// A connection has come.
    func noteArrival() { mostHandshakes = max(mostHandshakes, table.unsettledCount) }

    /// A connection has gone.
    func noteDeparture() {
        guard mostHandshakes >= Self.crowd, table.unsettledCount * 4 <= mostHandshakes else { return }
        mostHandshakes = table.unsettledCount
        memoryTimer?.set(after: Self.memoryDelay)
    }

    /// Not on the loop: it walks through all that is free (some ms for 100 MB), one arena of the allocator at a time.
    func returnMemory() {
        Task.detached(priority: .background) { clws_return_memory() }
    }
}
