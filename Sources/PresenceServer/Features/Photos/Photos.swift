import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Pictures of users with accounts: uploaded, made small and harmless, and served to all clients that know the name.
///
/// It guarantees that
/// - this server made every picture that it serves: at most 2,048 pixels a side and 500 KB, with none of the original's
///   metadata. The original is not stored;
/// - a decoder that a picture has taken over can do nothing with it (`CPhotos`);
/// - a name never refers to another picture, so it may be cached forever. A picture that its user removes is deleted at once;
///   the sweep deletes replaced pictures and leftovers of crashes.
final class Photos: Feature {
    static let plan = FeaturePlan(
        name: "photos", isOptional: false, scripts: [.setPhoto], keys: [.photo], settings: settings,
        pools: [PhotoMaker.pool, S3Files.pool], check: check, warnings: warnings)
    /// Bytes of an upload: 5 MiB.
    static let mostBytes = 5 * 1024 * 1024
    /// Also for shared caches, because pictures are public.
    static let cacheControl = "public, max-age=31536000, immutable"
    /// Changes of one user on each shard: 20 at once, then one in two minutes.
    private static let rate = RateLimit(every: 120_000, burst: 20)

    unowned let shard: ShardLogic
    let store: any FileStore
    private(set) var made: MetricCounter!
    private(set) var counts: PhotoMaker.Counts!
    /// Shared with other features that decode pictures.
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
        made = registry.counter("photos_total", help: "uploaded pictures made into photos")
        counts = PhotoMaker.Counts(
            refused: registry.counter("photos_refused_total", help: "uploads that are not pictures"),
            killed: registry.counter(
                "photos_killed_total",
                help: "uploads whose decoding was killed for a forbidden call or for exceeding its time"))
        failures = registry.counter(
            "photo_store_failures_total", help: "pictures that could not be stored, read or removed")
        sweep = FileSweep(shard, of: swept(in: &registry), in: &registry)
        registry.upload(
            "PUT", "/v1/me/photo",
            limits: RouteLimits(bodyBytes: Self.mostBytes, rate: Self.rate, tooLarge: "photo_too_large"),
            answer: { [unowned self] (call, file) async throws(Refusal) in try await upload(call, file) })
        registry.route(
            "DELETE", "/v1/me/photo", for: .users, limits: RouteLimits(rate: Self.rate),
            answer: { [unowned self] (call) async throws(Refusal) in try await removePhoto(call) })
        registry.route("GET", "/v1/photos/{text}", for: .everyone) { [unowned self] call in serve(call) }
        registry.route("HEAD", "/v1/photos/{text}", for: .everyone) { [unowned self] call in serve(call) }
    }

    func becameLive() {
        guard let sweep else { return }
        sweep.start()
        check.once(store, on: shard) { [unowned self] in record($0, "pictures cannot be kept") }
    }

    func record(_ failure: FileStoreFailure, _ what: String) {
        failures.value += 1
        shard.logSparsely(what, ["reason": failure.description], level: .error)
    }

    /// The URL of a picture that clients receive.
    func url(of file: StoredFile) -> String { shard.configuration.photoBase + PhotoPath.path + file.text }

    private func serve(_ call: HTTPCall) {
        guard let file = StoredFile(call.texts[0]), file.kind != .bytes else {
            return call.refuse(404, .notFound, "there is no such file")
        }
        var content = HTTPContent(type: "image/jpeg", cacheControl: Self.cacheControl, tag: file.name.text)
        // The headers keep the response a picture that any page may show.
        content.headers = [
            ("Content-Security-Policy", "default-src 'none'; sandbox"),
            ("Cross-Origin-Resource-Policy", "cross-origin"),
        ]
        let key = shard.partitions.keys(of: file.name.id).key(.photo, file.name.id)
        store.serve(file, known: key, as: content, on: call, shard: shard) { [unowned self] in
            record($0, "picture not served")
        }
    }

    /// The user's record decides whether a picture is still in use.
    private func swept(in registry: inout Registry) -> FileSweep.Subject {
        let removed = registry.counter("photos_swept_total", help: "unreferenced pictures removed by the sweep")
        return FileSweep.Subject(
            store: store, round: shard.configuration[Photos.sweepTime],
            installation: { [unowned shard] in shard.feature(Accounts.self)?.logins?.installation },
            isKnown: { [unowned shard] in
                guard let key = shard.feature(Accounts.self)?.loginKey else { return false }
                return await key.isKnown()
            }, isOwned: { [unowned self] in try? await isOwned($0) }, removed: { removed.value += 1 },
            failed: { [unowned self] in record($0, $1) })
    }

    private func isOwned(_ name: StoredName) async throws(RedisFailure) -> Bool {
        let keys = shard.partitions.keys(of: name.id)
        let key = keys.key(.photo, name.id)
        guard let user = try await shard.command(["GET", key]).string.flatMap({ UserID($0) }) else { return false }
        if try await shard.command(["HGET", keys.user(user), "photo"]).string == name.text { return true }
        // The key of a replaced picture expires after a minute; until then the picture stays.
        guard try await shard.command(["PTTL", key]).int ?? 0 < 0 else { return true }
        // A name is never used again, so its key can be deleted.
        shard.store.command(["UNLINK", key], lane: .commands) { _ in }
        return false
    }

    /// Removes the picture of a deleted account.
    func forget(_ name: StoredName, of user: UserID) async {
        shard.store.command(["UNLINK", shard.partitions.keys(of: user).key(.photo, name.id)], lane: .commands) { _ in }
        await remove(name)
    }

    /// Removes the files of a picture; if that fails, the sweep removes them.
    func remove(_ name: StoredName) async {
        let store = store
        let result = await store.done(on: shard) { () throws(FileStoreFailure) in try store.remove(name) }
        if case .failure(let failure)? = result { record(failure, "picture not removed") }
    }
}

extension Script {
    static let setPhoto = Script(
        "set-photo", asset_set_photo(), library: profileLibrary, isAcknowledged: true)
}

extension KeyFamily {
    /// The user of a picture, by its name.
    static let photo = KeyFamily(name: "photo", isPassing: false, type: "string")
}

/// The URLs of pictures, and their form in profiles.
enum PhotoPath {
    /// The path under which they are served.
    static let path = "/v1/photos/"
    /// The beginning of an address in a stored profile; servers replace it for clients. Clients cannot send such an address.
    static let mark = "photo:"

    /// The form in profiles.
    static func stored(_ file: StoredFile) -> String { mark + file.text }
}
