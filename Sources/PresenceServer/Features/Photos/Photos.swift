import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Pictures of people with accounts: uploaded, made harmless and small, and served to everybody who knows their name.
///
/// It guarantees that
/// - what is served was made by this server: at most 2,048 pixels a side and 500 KB, with nothing of what was hidden in the
///   original. The original is kept nowhere;
/// - a decoder that is taken over by a picture can do nothing with it (`CPhotos`);
/// - a name never means another picture, so it is cached for ever. A picture that is taken back is removed at once; one that
///   is replaced, or that a crash left, by the sweep.
final class Photos: Feature {
    static let plan = FeaturePlan(
        name: "photos", isOptional: false, scripts: [.setPhoto], keys: [.photo], settings: FeatureSetting.photos,
        pools: [PhotoMaker.pool, S3Files.pool], check: check, warnings: warnings)
    /// Bytes of an upload: 5 MiB.
    static let mostBytes = 5 * 1024 * 1024
    /// For shared caches too: a picture is shown to everybody.
    static let cacheControl = "public, max-age=31536000, immutable"
    /// Changes of one user, for each shard: 20 at once, then one in two minutes.
    private static let rate = RateLimit(every: 120_000, burst: 20)

    unowned let shard: ShardLogic
    let store: any FileStore
    private(set) var made: MetricCounter!
    private(set) var counts: PhotoMaker.Counts!
    /// For what else is a picture, too.
    let turns: DecodingTurns
    private var failures: MetricCounter!
    private var sweep: FileSweep?
    private let check = FileStoreCheck()

    init(_ shard: ShardLogic) {
        self.shard = shard
        store = shard.configuration.photoStore
        turns = DecodingTurns()
    }

    func register(in registry: inout Registry) {
        guard let accounts = shard.feature(Accounts.self), accounts.isOn else { return }
        accounts.photos = self
        made = registry.counter("photos_total", help: "pictures that were uploaded and made into photos")
        counts = PhotoMaker.Counts(
            refused: registry.counter("photos_refused_total", help: "uploads that were no picture"),
            killed: registry.counter(
                "photos_killed_total",
                help: "uploads whose decoding was ended for what it did, or for taking too long"))
        failures = registry.counter(
            "photo_store_failures_total", help: "pictures that could not be kept, read or removed where they are")
        sweep = FileSweep(shard, of: swept(in: &registry), in: &registry)
        registry.upload(
            "PUT", "/v1/me/photo",
            limits: RouteLimits(bodyBytes: Self.mostBytes, rate: Self.rate, tooLarge: "photo_too_large")
        ) { [unowned self] call, file in upload(call, file) }
        registry.route("DELETE", "/v1/me/photo", for: .users, limits: RouteLimits(rate: Self.rate)) {
            [unowned self] call in giveUp(call)
        }
        registry.route("GET", "/v1/photos/{text}", for: .everyone) { [unowned self] call in serve(call) }
        registry.route("HEAD", "/v1/photos/{text}", for: .everyone) { [unowned self] call in serve(call) }
    }

    func resynchronise(_ step: ResynchronisationStep, done: @escaping (RedisFailure?) -> Void) {
        if step == .live, let sweep {
            sweep.start()
            check.once(store, on: shard) { [unowned self] in note($0, "pictures cannot be kept") }
        }
        done(nil)
    }

    func note(_ failure: FileStoreFailure, _ what: String) {
        failures.value += 1
        shard.logSparsely(what, ["reason": failure.description], level: .error)
    }

    /// What clients are told of a picture.
    func address(of file: StoredFile) -> String { shard.configuration.photoBase + PhotoAddress.path + file.text }

    private func serve(_ call: HTTPCall) {
        guard let file = StoredFile(call.texts[0]), file.kind != .bytes else {
            return call.refuse(404, .notFound, "there is no such file")
        }
        var content = HTTPContent(type: "image/jpeg", cacheControl: Self.cacheControl, tag: file.name.text)
        // It is a picture wherever it is shown, and any page may show it.
        content.headers = [
            ("Content-Security-Policy", "default-src 'none'; sandbox"),
            ("Cross-Origin-Resource-Policy", "cross-origin"),
        ]
        let key = shard.partitions.keys(of: file.name.id).key(.photo, file.name.id)
        store.serve(file, known: key, as: content, on: call, shard: shard) { [unowned self] in
            note($0, "picture not served")
        }
    }

    /// The user's record says whether a picture is theirs still.
    private func swept(in registry: inout Registry) -> FileSweep.Subject {
        let removed = registry.counter("photos_swept_total", help: "files of pictures that belonged to nobody")
        return FileSweep.Subject(
            store: store, round: shard.configuration[.photoSweep],
            installation: { [unowned shard] in shard.feature(Accounts.self)?.addresses?.installation },
            isKnown: { [unowned shard] in shard.feature(Accounts.self)?.addressKey.isKnown($0) },
            isOwned: { [unowned self] in isOwned($0, $1) }, removed: { removed.value += 1 },
            failed: { [unowned self] in note($0, $1) })
    }

    private func isOwned(_ name: StoredName, _ found: @escaping (Bool?) -> Void) {
        let keys = shard.partitions.keys(of: name.id)
        let key = keys.key(.photo, name.id)
        shard.store.command(["GET", key], lane: .commands) { [self] result in
            guard case .success(let value) = result else { return found(nil) }
            guard let user = value.string.flatMap({ UserID($0) }) else { return found(false) }
            shard.store.command(["HGET", keys.user(user), "photo"], lane: .commands) { [self] result in
                guard case .success(let value) = result else { return found(nil) }
                guard value.string != name.text else { return found(true) }
                isKept(key, found)
            }
        }
    }

    /// One that was replaced less than a minute ago has a key that expires.
    private func isKept(_ key: String, _ found: @escaping (Bool?) -> Void) {
        shard.store.command(["PTTL", key], lane: .commands) { [self] result in
            guard case .success(let value) = result, let left = value.int else { return found(nil) }
            guard left < 0 else { return found(true) }
            // A name that was given up is never given again.
            shard.store.command(["UNLINK", key], lane: .commands) { _ in }
            found(false)
        }
    }

    /// The picture of an account that was deleted.
    func forget(_ name: StoredName, of user: UserID, done: @escaping () -> Void) {
        shard.store.command(["UNLINK", shard.partitions.keys(of: user).key(.photo, name.id)], lane: .commands) { _ in }
        remove(name, done: done)
    }

    /// Removes files before the answer; if that fails, the sweep comes to them.
    func remove(_ name: StoredName, done: @escaping () -> Void) {
        let store = store
        do {
            try shard.jobs.run(in: store.pool) {
                Result { () throws(FileStoreFailure) in try store.remove(name) }
            } then: { [self] result in
                if case .success(.failure(let failure)) = result { note(failure, "picture not removed") }
                done()
            }
        } catch {
            done()
        }
    }
}

extension Script {
    static let setPhoto = Script(
        "set-photo", asset_set_photo(), library: profileLibrary, isAcknowledged: true)
}

extension KeyFamily {
    /// Whose a picture is, by its name.
    static let photo = KeyFamily(name: "photo", isPassing: false, type: "string")
}

/// How addresses of pictures are told and kept.
enum PhotoAddress {
    /// Where they are served.
    static let path = "/v1/photos/"
    /// What an address begins with as profiles hold it: the rest is put before it when it is told. Clients cannot give such a one.
    static let mark = "photo:"

    /// As profiles hold it.
    static func stored(_ file: StoredFile) -> String { mark + file.text }
}
