/// Observes the app's scenes and the device's network on behalf of a client, until it is stopped or released. Does
/// nothing on systems that report neither.
final class SystemFollower: Sendable {
    /// May be called again.
    let stop: @Sendable () -> Void

    /// - Parameters:
    ///   - post: called from any thread.
    ///   - isBusy: whether the client wants to finish something in the background.
    init(_ post: @escaping @Sendable (Input) -> Void, isBusy: @escaping @Sendable () async -> Bool) {
        let stops = [observeScenes(post, isBusy), observeNetwork(post)]
        stop = { for stop in stops { stop() } }
    }

    deinit { stop() }
}

/// The state of the network at one update, from which changes are derived for the client.
struct NetworkPath: Hashable, Sendable {
    var isSatisfied: Bool
    /// The usable interfaces by name, the preferred one first.
    var interfaces: [String]

    /// The input for the change from `former` to this. The first update is only reported if there is no network.
    func input(after former: NetworkPath?) -> Input? {
        guard let former else { return isSatisfied ? nil : .network(false) }
        if isSatisfied != former.isSatisfied { return .network(isSatisfied) }
        // A connection is made on the preferred interface, and is not affected by other interfaces that come and go.
        return isSatisfied && interfaces.first != former.interfaces.first ? .reconnect : nil
    }
}

#if !canImport(UIKit) && !canImport(AppKit)
    func observeScenes(
        _ post: @escaping @Sendable (Input) -> Void, _ isBusy: @escaping @Sendable () async -> Bool
    ) -> @Sendable () -> Void { {} }
#endif

#if !canImport(Network)
    func observeNetwork(_ post: @escaping @Sendable (Input) -> Void) -> @Sendable () -> Void { {} }
#endif
