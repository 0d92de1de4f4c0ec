/// Which of the server's ports a request came through, as the tag of its listener.
enum Entrance: UInt8 {
    /// The only one: it has everything.
    case only
    /// The public one, beside another for operators and backends.
    case front
    /// The one for operators and backends.
    case back

    /// Whether that is to be had there. What says that the server lives is to be had everywhere.
    func leads(to route: Route) -> Bool {
        switch (self, route) {
        case (.only, _), (_, .health), (_, .readiness): true
        case (.front, .metrics): false
        // Users may read users: clients do.
        case (.front, .api(let call)): call.isForUsers
        case (.back, .webSocket): false
        default: true
        }
    }
}
