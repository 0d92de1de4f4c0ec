import PresenceCore
import PresenceProtocol

/// Finds the files of pictures that belong to nobody, since they were replaced or a crash left them, and removes them.
/// It looks at one folder after the other, so that all of them take `photos.sweep`.
///
/// What Redis does not know is nobody's, so it touches no pictures that are marked as another installation's.
final class PhotoSweep {
    /// By the first two digits of the names.
    private static let parts = 256
    /// In seconds. What was made longer ago than this, and belongs to nobody, is not about to.
    static let grace: Int64 = 600
    /// The file or key beside the pictures that says whose they are.
    static let markName = "installation"

    private unowned let photos: Photos
    private let removed: MetricCounter
    private var deadline: DeadlineKind!
    private var part = 0
    private let pause: Milliseconds
    private var isBusy = false
    private var isForeign = false
    private var isOurs = false

    private var shard: ShardLogic { photos.shard }

    init(_ photos: Photos, in registry: inout Registry) {
        self.photos = photos
        pause = max(1, photos.shard.configuration[.photoSweep] / Milliseconds(Self.parts))
        removed = registry.counter("photos_swept_total", help: "files of pictures that belonged to nobody")
        deadline = registry.deadline { [unowned self] _ in look() }
    }

    /// What the names in a part begin with.
    static func digits(of part: Int) -> String { (part < 16 ? "0" : "") + String(part, radix: 16) }

    /// The shard is live. One shard of a server is enough.
    func start() {
        guard shard.place.number == 0 else { return }
        shard.deadlines.set(deadline, .none, at: shard.clock.now + pause)
    }

    private func look() {
        guard shard.link.isLive else { return }
        start()
        guard !isBusy, let installation = shard.feature(Accounts.self)?.places?.installation else { return }
        isBusy = true
        part = (part + 1) % Self.parts
        // Once a round is enough for what only an operator changes.
        if part == 0 { isOurs = false }
        let (store, part, asks) = (photos.store, part, !isOurs)
        do {
            try shard.jobs.run(in: store.pool) {
                Result { () throws(PhotoStoreFailure) -> [PhotoName]? in
                    if asks, try !store.isOurs(installation) { return nil }
                    return try store.names(in: part)
                }
            } then: { [self] result in
                guard case .success(.success(let names?)) = result else {
                    if case .success(.failure(let failure)) = result { note(failure) }
                    return isBusy = false
                }
                isOurs = true
                BoundedConcurrency(names, window: 4) { [self] name, next in
                    check(name, next)
                } done: { [self] in
                    isBusy = false
                }
            }
        } catch {
            isBusy = false
        }
    }

    /// Once is enough for what only somebody can change.
    private func note(_ failure: PhotoStoreFailure) {
        guard failure != .foreign || !isForeign else { return }
        isForeign = failure == .foreign
        photos.note(failure, "pictures not looked at")
    }

    /// Its user's record says whether it is theirs still.
    private func check(_ name: PhotoName, _ next: @escaping () -> Void) {
        let keys = shard.partitions.keys(of: name.id)
        let key = keys.key(.photo, name.id)
        shard.store.command(["GET", key], lane: .commands) { [self] result in
            guard case .success(let value) = result else { return next() }
            guard let user = value.string.flatMap({ UserID($0) }) else { return remove(name, next) }
            shard.store.command(["HGET", keys.user(user), "photo"], lane: .commands) { [self] result in
                guard case .success(let value) = result, value.string != name.text else { return next() }
                removeUnlessKept(name, key, next)
            }
        }
    }

    /// One that was replaced less than a minute ago has a key that expires.
    private func removeUnlessKept(_ name: PhotoName, _ key: String, _ next: @escaping () -> Void) {
        shard.store.command(["PTTL", key], lane: .commands) { [self] result in
            guard case .success(let value) = result, let left = value.int, left < 0 else { return next() }
            // A name that was given up is never given again.
            shard.store.command(["UNLINK", key], lane: .commands) { _ in }
            remove(name, next)
        }
    }

    private func remove(_ name: PhotoName, _ next: @escaping () -> Void) {
        let store = photos.store
        do {
            try shard.jobs.run(in: store.pool) {
                Result { () throws(PhotoStoreFailure) in try store.remove(name) }
            } then: { [self] result in
                switch result {
                case .success(.success): removed.value += 1
                case .success(.failure(let failure)): photos.note(failure, "picture not removed")
                case .failure: break
                }
                next()
            }
        } catch {
            next()
        }
    }
}
