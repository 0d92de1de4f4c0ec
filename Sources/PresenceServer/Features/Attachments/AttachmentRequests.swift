import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/conversations/{id}/attachments`.
extension Attachments {
    /// Checks before the body is read that there is one, that its name is valid, and that the user is a member.
    func judge(_ head: UploadHead) async throws(Refusal) {
        guard case .user(let user) = head.caller else { throw Refusal(.forbidden, "a backend uploads nothing") }
        _ = try AttachmentHead(head.request)
        guard head.request.head.contentLength ?? 0 > 0 else { throw Refusal(.badRequest, "a body is needed") }
        let key = shard.partitions.keys(of: head.ids[0]).conversation(head.ids[0])
        let isMember = try await shard.run("HEXISTS", key, "m:" + user.string).int == 1
        if !isMember { throw MessageRefusal.forbidden.refusal }
    }

    func upload(_ call: HTTPCall, _ file: UploadedFile) async throws(Refusal) -> HTTPResponse {
        var head = try AttachmentHead(call.request)
        if head.kind != .image, try await isPicture(file, call) { head.becomePicture() }
        var parts = [StoredPart(kind: .bytes, content: .upload(file))]
        if head.kind == .image {
            parts = try await PhotoMaker.make(file, for: call, counting: counts, refusal: Self.notAnImage)
        }
        let attachment = Attachment(name: StoredName(near: call.ids[0], in: shard.partitions), head: head, parts: parts)
        try await store.store(parts, as: attachment.name, for: call) { record($0, "attachment not kept") }
        return try await attach(attachment, call)
    }

    private func isPicture(_ file: UploadedFile, _ call: HTTPCall) async throws(Refusal) -> Bool {
        let beginning = try await call.work(.files) {
            Result { () throws(FileFailure) in try file.read(at: 0, count: PictureFormat.longestBeginning) }
        }
        switch beginning {
        case .success(let bytes): return PictureFormat.begins(bytes)
        case .failure(let failure):
            record(FileStoreFailure(failure), "attachment not kept")
            throw .noPlace
        }
    }

    private static let notAnImage = Refusal(
        .validationFailed, "This is no whole JPEG or PNG of at most 40 million pixels and 16 MiB.",
        reason: "attachment_not_an_image")

    /// An upload whose files are stored.
    private struct Attachment {
        let name: StoredName
        let head: AttachmentHead
        let parts: [StoredPart]

        /// The size that the message shows: that of the picture, without its thumbnail.
        var size: Int { parts[0].size }
        /// The size of all stored files.
        var bytes: Int { parts.reduce(0) { $0 + $1.size } }

        /// The fields stored in Redis.
        var fields: [String] {
            ["kind", head.kind.rawValue, "size", String(size)] + (head.type.map { ["type", $0] } ?? [])
                + (head.name.map { ["name", $0] } ?? [])
        }
    }

    /// Records the upload, if its user is still a member and the token is still valid.
    private func attach(_ attachment: Attachment, _ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        guard let user = call.viewer, let writer = call.writer else { throw MessageRefusal.forbidden.refusal }
        let (id, keys) = (call.ids[0], shard.partitions.keys(of: call.ids[0]))
        try await shard.check(writer)
        let reply = try await shard.run(
            ScriptCall(
                .attach, in: keys,
                [
                    "conversation": keys.conversation(id), "attachments": keys.attachments(id),
                    "attachmentsDue": keys.attachmentsDue, "attachment": keys.attachment(attachment.name),
                ],
                [
                    "conversation": id, "user": user, "name": attachment.name.text,
                    "unusedFor": shard.configuration[Attachments.unusedFor],
                ], each: attachment.fields))
        guard reply.word == "OK" else {
            _ = await removeFiles(attachment.name)
            throw MessageRefusal.forbidden.refusal
        }
        kept.value += 1
        bytes.value += attachment.bytes
        return .json(201, json(attachment))
    }

    private func json(_ attachment: Attachment) -> [UInt8] {
        let isImage = attachment.head.kind == .image
        var json = Array(#"{"attachment":{"id":"#.utf8)
        JSONWriter.string(attachment.name.text, to: &json)
        JSONWriter.member("kind", attachment.head.kind.rawValue, to: &json)
        JSONWriter.member("url", url(of: StoredFile(attachment.name, isImage ? .picture : .bytes)), to: &json)
        if isImage {
            JSONWriter.member("thumbnailURL", url(of: StoredFile(attachment.name, .thumbnail)), to: &json)
        }
        JSONWriter.member("sizeBytes", Int64(attachment.size), to: &json)
        if let name = attachment.head.name { JSONWriter.member("name", name, to: &json) }
        return json + Array("}}".utf8)
    }

    /// - Returns: Whether all files of the name have been removed.
    func removeFiles(_ name: StoredName) async -> Bool {
        let store = store
        switch await store.done(on: shard, { () throws(FileStoreFailure) in try store.remove(name) }) {
        case .success?: return true
        case .failure(let failure)?:
            record(failure, "attachment not removed")
            return false
        case nil: return false
        }
    }
}

extension AttachmentHead {
    fileprivate init(_ request: HTTPRequest) throws(Refusal) {
        do throws(DecodingFailure) {
            try self.init(query: request.query, type: request.headers["content-type"])
        } catch {
            throw Refusal(error)
        }
    }
}
