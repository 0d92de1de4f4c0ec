import PresenceCore
import PresenceProtocol

/// Finds files that belong to nobody, such as those that a crash leaves, and removes them. It looks at one part of the names after
/// the other.
///
/// What Redis does not know is nobody's, so it touches no files that are marked as another installation's. Whether Redis still
/// has the key that the mark is made of is asked before anything is removed: a Redis that has lost its data knows nobody. In a
/// cluster that shows only the loss of the master that holds the key.
final class FileSweep {
    /// What is looked at.
    struct Subject {
        let store: any FileStore
        /// How long a look at all of them takes.
        let round: Milliseconds
        /// As what they are marked; `nil` while that is not known.
        let installation: () -> String?
        /// Asks whether Redis still has what the mark is made of.
        let isKnown: () async -> Bool
        /// Asks whether a name is somebody's: `nil` if that cannot be told now.
        let isOwned: (StoredName) async -> Bool?
        /// A file has been removed.
        let removed: () -> Void
        let failed: (FileStoreFailure, String) -> Void
    }

    /// By the first two digits of the names.
    private static let parts = 256
    /// In seconds. What was made longer ago than this, and belongs to nobody, is not about to.
    static let grace: Int64 = 600
    /// The file or key beside the files that says whose they are.
    static let markName = "installation"

    private unowned let shard: ShardLogic
    private let subject: Subject
    private var deadline: DeadlineKind!
    private var part = 0
    private let pause: Milliseconds
    private var isBusy = false
    private var isForeign = false
    /// The installation whose files these were found to be.
    private var ours: String?

    init(_ shard: ShardLogic, of subject: Subject, in registry: inout Registry) {
        self.shard = shard
        self.subject = subject
        pause = max(1, subject.round / Milliseconds(Self.parts))
        deadline = registry.deadline { [unowned self] _ in shard.tasks.run { [unowned self] in await look() } }
    }

    /// What the names in a part begin with.
    static func digits(of part: Int) -> String { (part < 16 ? "0" : "") + String(part, radix: 16) }

    /// The shard is live. One shard of a server is enough.
    func start() {
        guard shard.place.number == 0 else { return }
        shard.deadlines.setOnly(deadline, at: shard.clock.now + pause)
    }

    private func look() async {
        guard shard.link.isLive else { return }
        start()
        guard !isBusy, let installation = subject.installation() else { return }
        isBusy = true
        defer { isBusy = false }
        part = (part + 1) % Self.parts
        // Once a round is enough for what only an operator changes.
        if part == 0 { ours = nil }
        let (store, part, asks) = (subject.store, part, ours != installation)
        let result = await store.done(on: shard) { () throws(FileStoreFailure) -> [StoredName]? in
            if asks, try !store.isOurs(installation) { return nil }
            return try store.names(in: part)
        }
        if case .failure(let failure)? = result { note(failure) }
        guard case .success(let names?)? = result else { return }
        ours = installation
        await removeNobodys(among: names)
    }

    private func removeNobodys(among names: [StoredName]) async {
        var nobodys: [StoredName] = []
        await shard.tasks.each(names, window: 4) { [self] name in
            if await subject.isOwned(name) == false { nobodys.append(name) }
        }
        // Asked after the last answer: a Redis that has its key still had its data when it gave them.
        guard !nobodys.isEmpty, await subject.isKnown(), ours != nil, subject.installation() == ours else { return }
        await shard.tasks.each(nobodys, window: 4) { [self] name in
            let store = subject.store
            switch await store.done(on: shard, { () throws(FileStoreFailure) in try store.remove(name) }) {
            case .success?: subject.removed()
            case .failure(let failure)?: subject.failed(failure, "files not removed")
            case nil: break
            }
        }
    }

    /// Once is enough for what only somebody can change.
    private func note(_ failure: FileStoreFailure) {
        guard failure != .foreign || !isForeign else { return }
        isForeign = failure == .foreign
        subject.failed(failure, "files not looked at")
    }
}
