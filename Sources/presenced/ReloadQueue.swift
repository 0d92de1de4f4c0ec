/// Runs reloads one after the other, so that the data read last is the data used in the end.
///
/// No caller waits for it: a file that blocks delays only later reloads.
actor ReloadQueue {
    enum Kind: CaseIterable {
        case certificate
        /// The keys of tokens: always, or only if their files have changed.
        case keys, changedKeys
        /// Those of features.
        case files
    }

    private let reload: @Sendable (Kind) async -> Void
    private var wanted: Set<Kind> = []
    private var isRunning = false

    init(_ reload: @escaping @Sendable (Kind) async -> Void) { self.reload = reload }

    /// Returns at once. A reload that is requested again before it has begun runs only once.
    func want(_ kinds: Kind...) {
        wanted.formUnion(kinds)
        guard !isRunning else { return }
        isRunning = true
        Task { await run() }
    }

    private func run() async {
        while let kind = Kind.allCases.first(where: wanted.contains) {
            wanted.remove(kind)
            await reload(kind)
        }
        isRunning = false
    }
}
