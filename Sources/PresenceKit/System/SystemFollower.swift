/// Follows the app's scenes and the device's network for a client, as long as it lives. Where the system tells of neither
/// it does nothing.
final class SystemFollower: Sendable {
    private let stop: @Sendable () -> Void

    /// - Parameter post: told what happens, from any thread.
    init(_ post: @escaping @Sendable (Input) -> Void) {
        let stops = [followScenes(post), followNetwork(post)]
        stop = { for stop in stops { stop() } }
    }

    deinit { stop() }
}

/// Whether the network is there and which it is, from one update to the next: what a client has to be told.
struct NetworkPath: Hashable, Sendable {
    var isSatisfied: Bool
    /// The interfaces in use, by name.
    var interfaces: [String]

    /// The input that the change from `former` to this is; the first update tells only if there is no network.
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
