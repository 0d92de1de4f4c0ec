import WebSockets

/// The port through which a request arrived, as the tag of its listener.
package enum ListenerRole: UInt8 {
    /// The only port: it serves everything, and the pages and calls of operators only to this machine.
    case only
    /// The public port, if operators and backends have another one.
    case front
    /// The port for operators and backends.
    case back

    /// Whether the port serves this route to this client. Both ports serve the health checks; for any other route of the
    /// other port the response is the same as for a path that does not exist, even if the method is wrong.
    func leads(to route: Route, from peer: PeerAddress) -> Bool {
        switch (self, route.audience) {
        case (.only, .admins), (.only, .adminCalls): peer.isLoopback
        case (.only, _), (_, .everyone), (_, .usersOrAnyone), (_, nil): true
        // Clients read users over HTTP too.
        case (.front, let audience): audience == .clients || audience == .users
        case (.back, let audience): audience != .clients
        }
    }
}
