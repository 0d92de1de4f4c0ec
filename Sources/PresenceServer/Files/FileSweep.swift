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
        let isKnown: (@escaping (Bool) -> Void) -> Void
        /// Asks whether a name is somebody's: `nil` if that cannot be told now.
        let isOwned: (StoredName, @escaping (Bool?) -> Void) -> Void
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
        deadline = registry.deadline { [unowned self] _ in look() }
    }

    /// What the names in a part begin with.
    static func digits(of part: Int) -> String { (part < 16 ? "0" : "") + String(part, radix: 16) }

    /// The shard is live. One shard of a server is enough.
    func start() {
        guard shard.place.number == 0 else { return }
        shard.deadlines.setOnly(deadline, at: shard.clock.now + pause)
    }

    private func look() {
        guard shard.link.isLive else { return }
        start()
        guard !isBusy, let installation = subject.installation() else { return }
        isBusy = true
        part = (part + 1) % Self.parts
        // Once a round is enough for what only an operator changes.
        if part == 0 { ours = nil }
        let (store, part, asks) = (subject.store, part, ours != installation)
        do {
            try shard.jobs.run(in: store.pool) {
                Result { () throws(FileStoreFailure) -> [StoredName]? in
                    if asks, try !store.isOurs(installation) { return nil }
                    return try store.names(in: part)
                }
            } then: { [self] result in
                guard case .success(.success(let names?)) = result else {
                    if case .success(.failure(let failure)) = result { note(failure) }
                    return isBusy = false
                }
                ours = installation
                findNobodys(among: names)
            }
        } catch {
            isBusy = false
        }
    }

    private func findNobodys(among names: [StoredName]) {
        var nobodys: [StoredName] = []
        BoundedConcurrency(names, window: 4) { [self] name, next in
            subject.isOwned(name) { isOwned in
                if isOwned == false { nobodys.append(name) }
                next()
            }
        } done: { [self] in
            guard !nobodys.isEmpty else { return isBusy = false }
            // Asked after the last answer: a Redis that has its key still had its data when it gave them.
            subject.isKnown { [self] isKnown in
                guard isKnown, ours != nil, subject.installation() == ours else { return isBusy = false }
                BoundedConcurrency(nobodys, window: 4) { [self] name, next in
                    remove(name, next)
                } done: { [self] in
                    isBusy = false
                }
            }
        }
    }

    /// Once is enough for what only somebody can change.
    private func note(_ failure: FileStoreFailure) {
        guard failure != .foreign || !isForeign else { return }
        isForeign = failure == .foreign
        subject.failed(failure, "files not looked at")
    }

    private func remove(_ name: StoredName, _ next: @escaping () -> Void) {
        let store = subject.store
        do {
            try shard.jobs.run(in: store.pool) {
                Result { () throws(FileStoreFailure) in try store.remove(name) }
            } then: { [self] result in
                switch result {
                case .success(.success): subject.removed()
                case .success(.failure(let failure)): subject.failed(failure, "files not removed")
                case .failure: break
                }
                next()
            }
        } catch {
            next()
        }
    }
}
