import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Files that members of a conversation upload for their messages: pictures are made by ``Photos``, everything else is stored
/// unchanged.
///
/// It guarantees that
/// - only members upload, and uploads over a limit are refused before their body;
/// - browsers run nothing made by strangers: files other than the server's own pictures are offered for saving, and sandboxed;
/// - a name never refers to another file;
/// - an upload stays as long as a message of its uploader refers to it, and before the first such message for
///   `attachments.unusedFor`. The scripts that store and remove messages count this, so no crash breaks it. The files are
///   removed afterwards, at the latest by the next server that can remove them (`AttachmentRemoval`). If a crash leaves files
///   whose upload was not recorded, the sweep finds them.
///
/// Its pools belong to the plan of `Photos`, which all servers have.
final class Attachments: Feature {
    static let plan = FeaturePlan(
        name: "attachments", scripts: Script.attachments, keys: [.attachments, .attachmentsDue, .attachment],
        settings: settings, check: check)
    /// The path under which they are served, by which the scripts recognise a message's attachments.
    static let path = "/v1/attachments/"
    /// Not for shared caches: once a message drops a file, no copy should remain.
    static let cacheControl = "private, max-age=31536000, immutable"

    unowned let shard: ShardLogic
    let store: any FileStore
    private(set) var counts: PhotoMaker.Counts!
    private(set) var kept: MetricCounter!
    private(set) var bytes: MetricCounter!
    private var failures: MetricCounter!
    private var removal: AttachmentRemoval!
    private var sweep: FileSweep?
    private let check = FileStoreCheck()

    init(_ shard: ShardLogic) {
        self.shard = shard
        store = shard.configuration.attachmentStore
    }

    func register(in registry: inout Registry) {
        guard shard.configuration[Attachments.enabled] else { return }
        registerMetrics(in: &registry)
        removal = AttachmentRemoval(self, in: &registry)
        sweep = FileSweep(shard, of: swept(in: &registry), in: &registry)
        shard.feature(Messages.self)?.onDeletion.append { [unowned self] in removal.scanPartition(of: $0) }
        let (most, rate) = (shard.configuration[Self.maxBytes], shard.configuration[Self.perUserPerHour])
        registry.upload(
            "POST", "/v1/conversations/{id}/attachments",
            limits: RouteLimits(
                bodyBytes: most, rate: RateLimit(every: max(1, 3_600_000 / Int64(rate)), burst: rate),
                tooLarge: "attachment_too_large"),
            judge: { [unowned self] (head) async throws(Refusal) in try await judge(head) },
            answer: { [unowned self] (call, file) async throws(Refusal) in try await upload(call, file) })
        registry.route("GET", "/v1/attachments/{text}", for: .everyone) { [unowned self] call in serve(call) }
        registry.route("HEAD", "/v1/attachments/{text}", for: .everyone) { [unowned self] call in serve(call) }
    }

    private func registerMetrics(in registry: inout Registry) {
        kept = registry.counter("attachments_total", help: "files uploaded to conversations and stored")
        bytes = registry.counter("attachment_bytes_total", help: "bytes of the files uploaded and stored")
        counts = PhotoMaker.Counts(
            refused: registry.counter("attachments_refused_total", help: "uploads sent as pictures that are not"),
            killed: registry.counter(
                "attachments_killed_total",
                help: "uploads whose decoding was killed for a forbidden call or for exceeding its time"))
        failures = registry.counter(
            "attachment_store_failures_total",
            help: "attachments that could not be stored, read or removed")
    }

    func becameLive() {
        guard let sweep else { return }
        sweep.start()
        removal.start()
        check.once(store, on: shard) { [unowned self] in record($0, "attachments cannot be kept") }
    }

    func record(_ failure: FileStoreFailure, _ what: String) {
        failures.value += 1
        shard.logSparsely(what, ["reason": failure.description], level: .error)
    }

    /// The address of a file that clients receive.
    func url(of file: StoredFile) -> String { shard.configuration.photoBase + Self.path + file.text }

    // MARK: Unreferenced files

    private func swept(in registry: inout Registry) -> FileSweep.Subject {
        let removed = registry.counter("attachments_swept_total", help: "unreferenced attachments removed by the sweep")
        return FileSweep.Subject(
            store: store, round: shard.configuration[Attachments.sweepTime],
            installation: { [unowned shard] in shard.feature(Conversations.self)?.installation },
            isKnown: { [unowned shard] in
                guard let key = shard.feature(Conversations.self)?.pairKey else { return false }
                return await key.isKnown()
            }, isOwned: { [unowned self] in try? await isOwned($0) }, removed: { removed.value += 1 },
            failed: { [unowned self] in record($0, $1) })
    }

    /// A recorded upload is left to `AttachmentRemoval`.
    private func isOwned(_ name: StoredName) async throws(RedisFailure) -> Bool {
        let key = shard.partitions.keys(of: name.id).attachment(name)
        return try await shard.command(["EXISTS", key]).int == 1
    }

    // MARK: Serving

    private func serve(_ call: HTTPCall) {
        guard let file = StoredFile(call.texts[0]) else { return call.refuse(404, .notFound, "there is no such file") }
        var content = HTTPContent(type: "image/jpeg", cacheControl: Self.cacheControl, tag: file.name.text)
        // Any page may show a picture and play a video; the sandbox lets none run the file.
        content.headers = [
            ("Content-Security-Policy", "sandbox; default-src 'none'"),
            ("Cross-Origin-Resource-Policy", "cross-origin"),
        ]
        let failed: (FileStoreFailure) -> Void = { [unowned self] in record($0, "attachment not served") }
        let key = shard.partitions.keys(of: file.name.id).attachment(file.name)
        guard file.kind == .bytes else {
            return store.serve(file, known: key, as: content, on: call, shard: shard, failed: failed)
        }
        shard.tasks.run { [self] in
            do throws(Refusal) {
                let words = try await shard.run("HMGET", key, "size", "type", "name").array ?? []
                guard words.count == 3, let size = words[0].int else {
                    throw Refusal(.notFound, "there is no such file")
                }
                content.type = words[1].string ?? StoredFile.Kind.bytes.type
                content.disposition = AttachmentDisposition.text(words[2].string)
                store.serve(file, of: Int(size), as: content, on: call, failed: failed)
            } catch {
                call.respond(error.response)
            }
        }
    }
}
