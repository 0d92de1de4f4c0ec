/// What is to be read anew, one after the other, so that what was read last is what is used in the end.
///
/// Nobody waits for it: a file that hangs holds up later reloads and nothing else.
actor Reloads {
    enum Kind: CaseIterable {
        case certificate
        /// The keys of tokens, in any case or only if their files look different.
        case keys, changedKeys
    }

    private let reload: @Sendable (Kind) async -> Void
    private var wanted: Set<Kind> = []
    private var isRunning = false

    init(_ reload: @escaping @Sendable (Kind) async -> Void) { self.reload = reload }

    /// Returns at once. What is wanted again before it was begun is done once.
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
