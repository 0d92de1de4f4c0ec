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
        pools: [PhotoMaker.pool, S3Photos.pool], check: check)
    /// Bytes of an upload: 5 MiB.
    static let mostBytes = 5 * 1024 * 1024
    /// A name never means another picture.
    static let cacheControl = "public, max-age=31536000, immutable"
    /// Changes of one user, for each shard: 20 at once, then one in two minutes.
    private static let rate = RateLimit(every: 120_000, burst: 20)

    unowned let shard: ShardLogic
    let store: any PhotoStore
    private(set) var made: MetricCounter!
    private(set) var refused: MetricCounter!
    private(set) var killed: MetricCounter!
    private var failures: MetricCounter!
    private var sweep: PhotoSweep?
    private var isChecked = false

    init(_ shard: ShardLogic) {
        self.shard = shard
        store = shard.configuration.photoStore
    }

    func register(in registry: inout Registry) {
        guard let accounts = shard.feature(Accounts.self), accounts.isOn else { return }
        accounts.photos = self
        made = registry.counter("photos_total", help: "pictures that were uploaded and made into photos")
        refused = registry.counter("photos_refused_total", help: "uploads that were no picture")
        killed = registry.counter(
            "photos_killed_total",
            help: "uploads whose decoding was ended for what it did, or for taking too long")
        failures = registry.counter(
            "photo_store_failures_total", help: "pictures that could not be kept, read or removed where they are")
        sweep = PhotoSweep(self, in: &registry)
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
            checkOnce()
        }
        done(nil)
    }

    /// That pictures cannot be kept shows at the start, and not with the first upload. Nothing else waits for it.
    private func checkOnce() {
        guard shard.place.number == 0, !isChecked else { return }
        isChecked = true
        let store = store
        try? shard.jobs.run(in: store.pool) {
            Result { () throws(PhotoStoreFailure) in try store.check() }
        } then: { [self] result in
            if case .success(.failure(let failure)) = result { note(failure, "pictures cannot be kept") }
        }
    }

    func note(_ failure: PhotoStoreFailure, _ what: String) {
        failures.value += 1
        shard.log(what, ["reason": failure.description], level: .error)
    }

    /// What clients are told of a picture.
    func address(of name: PhotoName, isThumbnail: Bool) -> String {
        shard.configuration.photoBase + PhotoFile.path + PhotoFile(name, isThumbnail: isThumbnail).name
    }

    private func serve(_ call: HTTPCall) {
        guard let file = PhotoFile(call.texts[0]) else {
            return call.refuse(404, .notFound, "there is no such file")
        }
        var content = HTTPContent(type: "image/jpeg", cacheControl: Self.cacheControl, tag: file.photo.text)
        // It is a picture wherever it is shown, and any page may show it.
        content.headers = [
            ("Content-Security-Policy", "default-src 'none'; sandbox"),
            ("Cross-Origin-Resource-Policy", "cross-origin"),
        ]
        store.serve(file, as: content, on: call) { [unowned self] in note($0, "picture not served") }
    }

    /// The picture of an account that was deleted.
    func forget(_ name: PhotoName, of user: UserID, done: @escaping () -> Void) {
        shard.store.command(["UNLINK", shard.partitions.keys(of: user).key(.photo, name.id)], lane: .commands) { _ in }
        remove(name, done: done)
    }

    /// Removes files before the answer; if that fails, the sweep comes to them.
    func remove(_ name: PhotoName, done: @escaping () -> Void) {
        let store = store
        do {
            try shard.jobs.run(in: store.pool) {
                Result { () throws(PhotoStoreFailure) in try store.remove(name) }
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
        "set-photo", asset_set_photo(), library: asset_profile_lib(), isAcknowledged: true)
}

extension KeyFamily {
    /// Whose a picture is, by its name.
    static let photo = KeyFamily(name: "photo", isPassing: false, type: "string")
}
