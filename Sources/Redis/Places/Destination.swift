/// The target of a dialler: always the same server, or the one that a source names at each attempt.
enum Destination {
    case fixed(RedisEndpoint)
    case sought(any EndpointSource)
}

/// Knows the current server.
protocol EndpointSource: AnyObject {
    /// Its name in messages while no server is known; without a password.
    var name: String { get }
    /// The reason why no server is known, if there is one.
    var trouble: String? { get }
    /// Calls `found` with the current server, immediately or later; not at all while there is none. A seeker's new
    /// question replaces its old one.
    func find(for seeker: AnyObject, _ found: @escaping (RedisEndpoint) -> Void)
}
