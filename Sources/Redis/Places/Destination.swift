/// Where a dialler goes: always to the same server, or at each attempt to the one that it is told.
enum Destination {
    case fixed(RedisEndpoint)
    case sought(any EndpointSource)
}

/// Knows which server it is at the moment.
protocol EndpointSource: AnyObject {
    /// What to call it while nothing is found; shows no password.
    var name: String { get }
    /// Why nothing is found, if that is known.
    var trouble: String? { get }
    /// Calls `found` with the server to go to, at once or later; not at all while there is none. A seeker's new
    /// question replaces its old one.
    func find(for seeker: AnyObject, _ found: @escaping (RedisEndpoint) -> Void)
}
