// Never run on a device: only compiled against Apple's frameworks.
#if canImport(Network)
    import Dispatch
    import Network

    /// Posts when the network disappears, returns or changes.
    func observeNetwork(_ post: @escaping @Sendable (Input) -> Void) -> @Sendable () -> Void {
        let monitor = NWPathMonitor()
        let former = LastPath()
        monitor.pathUpdateHandler = { path in
            let now = NetworkPath(
                isSatisfied: path.status == .satisfied, interfaces: path.availableInterfaces.map(\.name))
            if let input = former.next(now) { post(input) }
        }
        monitor.start(queue: DispatchQueue(label: "presence.network"))
        return { monitor.cancel() }
    }

    // @unchecked: confined to the monitor's queue, which calls the handler for one update after the other.
    private final class LastPath: @unchecked Sendable {
        private var path: NetworkPath?

        func next(_ newer: NetworkPath) -> Input? {
            defer { path = newer }
            return newer.input(after: path)
        }
    }
#endif
