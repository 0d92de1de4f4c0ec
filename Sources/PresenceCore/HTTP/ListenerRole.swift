/// Which of the server's ports a request came through, as the tag of its listener.
package enum ListenerRole: UInt8 {
    /// The only one: it has everything.
    case only
    /// The public one, beside another for operators and backends.
    case front
    /// The one for operators and backends.
    case back

    /// Whether that is to be had there. What says that the server lives is to be had everywhere; of anything else the
    /// other port tells nothing, not even which methods a path takes.
    func leads(to route: Route) -> Bool {
        switch (self, route.audience) {
        case (.only, _), (_, .everyone), (_, .usersOrAnyone), (_, nil): true
        // Users may read users: clients do.
        case (.front, let audience): audience == .clients || audience == .users
        case (.back, let audience): audience != .clients
        }
    }
}
