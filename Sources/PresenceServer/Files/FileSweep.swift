import PresenceCore
import PresenceProtocol

/// Finds and removes unreferenced files, for example those left by a crash. It checks one part of the names at a time.
///
/// A file is unreferenced if Redis does not know it, so files that are marked as another installation's are not touched. Before
/// the sweep removes files, it checks that Redis still has the key from which the mark is made, because a Redis that lost its
/// data knows no files. In a cluster, this check detects only a loss of the master with that key.
final class FileSweep {
    /// The files to be swept.
    struct Subject {
        let store: any FileStore
        /// The time in which all parts are checked once.
        let round: Milliseconds
        /// The mark of these files; `nil` while it is unknown.
        let installation: () -> String?
        /// Checks whether Redis still has the key from which the mark is made.
        let isKnown: () async -> Bool
        /// Whether a file is referenced; `nil` if that is unknown now.
        let isOwned: (StoredName) async -> Bool?
        /// Called for each removed file.
        let removed: () -> Void
        let failed: (FileStoreFailure, String) -> Void
    }

    /// By the first two digits of the names.
    private static let parts = 256
    /// In seconds. Files younger than this may belong to a request that is not complete yet, so they are kept.
    static let grace: Int64 = 600
    /// The name of the file or key with the mark.
    static let markName = "installation"

    private unowned let shard: ShardLogic
    private let subject: Subject
    private var deadline: DeadlineKind!
    private var part = 0
    private let pause: Milliseconds
    private var isBusy = false
    private var isForeign = false
    /// The installation to which the files were found to belong.
    private var ours: String?

    init(_ shard: ShardLogic, of subject: Subject, in registry: inout Registry) {
        self.shard = shard
        self.subject = subject
        pause = max(1, subject.round / Milliseconds(Self.parts))
        deadline = registry.deadline { [unowned self] _ in shard.tasks.run { [unowned self] in await sweepNext() } }
    }

    /// The first digits of the names in a part.
    static func digits(of part: Int) -> String { (part < 16 ? "0" : "") + String(part, radix: 16) }

    /// Starts the sweep when the shard becomes live; one shard of a server is enough.
    func start() {
        guard shard.place.number == 0 else { return }
        shard.deadlines.setOnly(deadline, at: shard.clock.now + pause)
    }

    private func sweepNext() async {
        guard shard.link.isLive else { return }
        start()
        guard !isBusy, let installation = subject.installation() else { return }
        isBusy = true
        defer { isBusy = false }
        part = (part + 1) % Self.parts
        // Only an operator can change the mark, so one check per round is enough.
        if part == 0 { ours = nil }
        let (store, part, asks) = (subject.store, part, ours != installation)
        let result = await store.done(on: shard) { () throws(FileStoreFailure) -> [StoredName]? in
            if asks, try !store.isOurs(installation) { return nil }
            return try store.names(in: part)
        }
        if case .failure(let failure)? = result { record(failure) }
        guard case .success(let names?)? = result else { return }
        ours = installation
        await removeNobodys(among: names)
    }

    private func removeNobodys(among names: [StoredName]) async {
        var nobodys: [StoredName] = []
        await shard.tasks.each(names, window: 4) { [self] name in
            if await subject.isOwned(name) == false { nobodys.append(name) }
        }
        // Checked after Redis' last reply: a Redis that has its key now also had its data when it replied.
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

    /// Foreign files are reported once, since only an operator can change the mark.
    private func record(_ failure: FileStoreFailure) {
        guard failure != .foreign || !isForeign else { return }
        isForeign = failure == .foreign
        subject.failed(failure, "files not looked at")
    }
}
