import Foundation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `GET /v1/me/export` and `GET /v1/users/{id}/export`: a user's data as a tar, with JSON lines and files.
///
/// The archive is written to a file first, page by page, so an export takes little memory, and a slow client holds up nothing.
final class PersonalData: Feature {
    static let plan = FeaturePlan(name: "export")

    /// Exports of one user, for each shard: three at once, then one an hour.
    private static let rate = RateLimit(every: 3_600_000, burst: 3)
    /// Exports that a shard makes at a time.
    private static let most = 2
    private static let piece = 64 * 1_024

    private unowned let shard: ShardLogic
    private var underWay = 0

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.route("GET", "/v1/me/export", for: .users, limits: RouteLimits(rate: Self.rate)) {
            [unowned self] call in
            guard let user = call.viewer else {
                return call.refuse(403, .forbidden, "a backend has no data of its own")
            }
            export(user, to: call)
        }
        registry.route("GET", "/v1/users/{id}/export", scope: .exportsRead) { [unowned self] call in
            export(call.ids[0], to: call)
        }
    }

    private func export(_ user: UserID, to call: HTTPCall) {
        guard underWay < Self.most else {
            return call.respond(
                Refusal(.unavailable, "other exports are being made", retryAfter: 5_000).response)
        }
        underWay += 1
        shard.tasks.run { [self] in
            defer { underWay -= 1 }
            do throws(Refusal) {
                let file = try await file(of: user)
                call.serve(
                    length: file.size, fetching: Self.piece,
                    as: HTTPContent(
                        type: "application/x-tar", cacheControl: "no-store",
                        disposition: "attachment; filename=\"export.tar\""), from: .files
                ) { part in
                    Result { () throws(FileStoreFailure) in try file.read(part) }
                } failed: { [self] in
                    record($0)
                }
            } catch {
                call.respond(error.response)
            }
        }
    }

    private func record(_ failure: FileStoreFailure) {
        shard.logSparsely("export not made", ["reason": failure.description], level: .error)
    }

    private func work<Value: Sendable>(
        in pool: WorkerPlan = .files, _ job: @escaping @Sendable () throws(FileStoreFailure) -> Value
    ) async throws(Refusal) -> Value {
        switch try await shard.work(pool, { Result(catching: job) }) {
        case .success(let value): return value
        case .failure(let failure):
            record(failure)
            throw .noPlace
        }
    }

    // MARK: The archive

    private func file(of user: UserID) async throws(Refusal) -> ExportFile {
        let (directory, seconds) = (shard.configuration.dataPath, shard.clock.redisNow / 1_000)
        let file = try await work { () throws(FileStoreFailure) in
            let file = try ExportFile(in: directory)
            try file.begin("export.jsonl")
            return file
        }
        let lines = ExportLines { [self] (bytes) async throws(Refusal) in
            try await work { () throws(FileStoreFailure) in try file.append(bytes) }
        }
        try await writePerson(user, to: lines)
        let attachments = try await writeConversations(of: user, to: lines)
        try await lines.flush()
        try await work { () throws(FileStoreFailure) in try file.end(at: seconds) }
        let photo = try await shard.run("HGET", shard.partitions.keys(of: user).user(user), "photo").string
        if let photos = shard.feature(Photos.self), let name = photo.flatMap({ StoredName($0) }) {
            try await add(StoredFile(name, .picture), as: "photo.jpg", from: photos.store, to: file, at: seconds)
        }
        if let store = shard.feature(Attachments.self)?.store {
            for attachment in attachments.sorted(by: { $0.text < $1.text }) {
                try await add(
                    attachment, as: "attachments/" + attachment.text, from: store, to: file, at: seconds)
            }
        }
        try await work { () throws(FileStoreFailure) in try file.finish() }
        return file
    }

    /// A file that is no longer there is omitted.
    private func add(
        _ stored: StoredFile, as name: String, from store: any FileStore, to file: ExportFile, at seconds: Int64
    ) async throws(Refusal) {
        let bytes = try await work(in: store.pool) { () throws(FileStoreFailure) in try store.read(stored) }
        guard let bytes else { return }
        try await work { () throws(FileStoreFailure) in
            try file.begin(name)
            try file.append(bytes)
            try file.end(at: seconds)
        }
    }

    // MARK: The lines

    private func writePerson(_ user: UserID, to lines: ExportLines) async throws(Refusal) {
        try await lines.add("user", JSONWriter.encodedBytes(user.string))
        if let accounts = shard.feature(Accounts.self), accounts.isOn {
            let reply = try await shard.run(.account(of: user, in: shard.partitions), changes: false)
            if reply.word == "OK", let account = reply[0].bytes { try await lines.add("account", account) }
            let identities = LinkedIdentity.all(in: reply[4].string ?? "").map(\.json).joined(separator: ",")
            if !identities.isEmpty { try await lines.add("identities", Array("[\(identities)]".utf8)) }
            try await lines.add("sessions", try await accounts.devices(of: user, current: nil))
        }
        let found: FoundPerson
        do throws(RedisFailure) {
            found = try await shard.policies.find(user, for: nil, with: "profileVersion")
        } catch {
            throw Refusal(error, changes: false)
        }
        try await lines.add("profile", found.profile)
        if let visibility = shard.feature(VisibilityRequests.self) {
            let lists = try await visibility.lists(of: user)
            var json: [UInt8] = []
            lists.visibility.encode(into: &json)
            try await lines.add("visibility", json)
            if let from = lists.visibility.conversationsFrom {
                try await lines.add("conversationsFrom", JSONWriter.encodedBytes(from.rawValue))
            }
            for (name, ids) in [("contacts", lists.contacts), ("blocks", lists.blocks)] {
                json = []
                JSONWriter.identifiers(ids, to: &json)
                try await lines.add(name, json)
            }
        }
        if let requests = shard.feature(ContactRequests.self) {
            for line in try await requests.exported(of: user) { try await lines.add("contactRequest", line) }
        }
        if let settings = shard.feature(NotificationSettingsRequests.self) {
            let found = try await settings.settings(of: user)
            if found.areSet { try await lines.add("notificationSettings", found.json) }
        }
        try await writePast(of: user, to: lines)
    }

    private func writePast(of user: UserID, to lines: ExportLines) async throws(Refusal) {
        let keys = shard.partitions.keys(of: user)
        if shard.feature(History.self) != nil, shard.configuration[History.enabled] {
            let reply = try await shard.run(
                ScriptCall(.history, in: keys, ["user": keys.user(user), "history": keys.history(user)]),
                changes: false)
            for interval in PastRead(reply)?.intervals ?? [] {
                var json: [UInt8] = []
                interval.write(to: &json)
                try await lines.add("status", json)
            }
        }
        if let inboxes = shard.feature(Notifications.self)?.inboxes {
            let most = Int64(shard.configuration[Notifications.keep])
            let reading = NotificationReading(try await shard.run(inboxes.reading(of: user, count: most)))
            for item in reading?.items ?? [] where !item.json.isEmpty {
                try await lines.add("notification", item.object)
            }
        }
    }

    /// Writes the user's conversations and own messages, also in conversations that they have left.
    ///
    /// - Returns: the files that the messages mention.
    private func writeConversations(of user: UserID, to lines: ExportLines) async throws(Refusal) -> Set<StoredFile> {
        guard let conversations = shard.feature(Conversations.self), let messages = shard.feature(Messages.self) else {
            return []
        }
        let inbox: ConversationReading.Inbox
        do throws(RedisFailure) {
            inbox = try await conversations.reading.inbox(of: user)
        } catch {
            throw Refusal(error, changes: false)
        }
        var files: Set<StoredFile> = []
        for id in inbox.conversations + inbox.left.keys.sorted(by: { $0.string < $1.string }) {
            do throws(Refusal) {
                if let record = try await conversations.reading.read(id), record.member(user) != nil {
                    let json = record.json(for: user, at: shard.clock.redisNow, withMessage: false)
                    try await lines.add("conversation", json)
                }
                try await write(id, of: user, messages, to: lines, &files)
            } catch {
                switch error.message.code {
                case .notFound: break
                // `presenced doctor` reports it. The rest can be exported.
                case .internal: try await lines.add("unreadable", JSONWriter.encodedBytes(id.string))
                default: throw error
                }
            }
        }
        return files
    }

    /// Writes the user's messages of one conversation, the newest first.
    private func write(
        _ id: ConversationID, of user: UserID, _ messages: Messages, to lines: ExportLines,
        _ files: inout Set<StoredFile>
    ) async throws(Refusal) {
        var before: Int64 = 0
        while true {
            let request = MessageRequest.Page(conversation: id, before: before, limit: MessageRequest.mostInPage)
            let page = try await messages.read(request, for: nil)
            for message in page.messages.reversed() where message.from == user.string {
                var json = Array(#"{"conversation":"#.utf8)
                JSONWriter.string(id.string, to: &json)
                JSONWriter.key("message", to: &json)
                message.write(to: &json)
                try await lines.add("message", json + [UInt8(ascii: "}")])
                files.formUnion(Self.files(in: message.attachments))
            }
            guard let oldest = page.messages.first, oldest.seq > page.first else { return }
            before = oldest.seq
        }
    }

    /// The files of this server that the attachments of a message mention.
    static func files(in attachments: ArraySlice<UInt8>) -> [StoredFile] {
        String(decoding: attachments, as: UTF8.self).split(separator: "\"").compactMap { text in
            text.range(of: Attachments.path).flatMap { StoredFile(String(text[$0.upperBound...])) }
        }
    }
}

/// Lines of JSON, which are passed on in pieces.
final class ExportLines {
    private var buffer: [UInt8] = []
    private let write: ([UInt8]) async throws(Refusal) -> Void

    private static let piece = 64 * 1_024

    init(_ write: @escaping ([UInt8]) async throws(Refusal) -> Void) { self.write = write }

    /// Adds `{"type":NAME,NAME:JSON}`.
    func add(_ name: String, _ json: [UInt8]) async throws(Refusal) {
        buffer += Array("{\"type\":\"\(name)\",\"\(name)\":".utf8) + json + Array("}\n".utf8)
        if buffer.count >= Self.piece { try await flush() }
    }

    func flush() async throws(Refusal) {
        let bytes = buffer
        buffer = []
        if !bytes.isEmpty { try await write(bytes) }
    }
}

extension JSONWriter {
    fileprivate static func encodedBytes(_ text: String) -> [UInt8] {
        var json: [UInt8] = []
        string(text, to: &json)
        return json
    }
}
