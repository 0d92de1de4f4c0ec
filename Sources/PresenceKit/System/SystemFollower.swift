/// Observes the app's scenes and the device's network on behalf of a client, for the lifetime of this object. Does
/// nothing on systems that report neither.
final class SystemFollower: Sendable {
    private let stop: @Sendable () -> Void

    /// - Parameter post: called from any thread.
    init(_ post: @escaping @Sendable (Input) -> Void) {
        let stops = [followScenes(post), followNetwork(post)]
        stop = { for stop in stops { stop() } }
    }

    deinit { stop() }
}

/// The state of the network at one update, from which changes are derived for the client.
struct NetworkPath: Hashable, Sendable {
    var isSatisfied: Bool
    /// The interfaces in use, by name.
    var interfaces: [String]

    /// The input for the change from `former` to this. The first update is only reported if there is no network.
    func input(after former: NetworkPath?) -> Input? {
        guard let former else { return isSatisfied ? nil : .network(false) }
        if isSatisfied != former.isSatisfied { return .network(isSatisfied) }
        return isSatisfied && interfaces != former.interfaces ? .reconnect : nil
    }
}

#if !canImport(UIKit) && !canImport(AppKit)
    func followScenes(_ post: @escaping @Sendable (Input) -> Void) -> @Sendable () -> Void { {} }
#endif

#if !canImport(Network)
    func followNetwork(_ post: @escaping @Sendable (Input) -> Void) -> @Sendable () -> Void { {} }
#endif
