import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/conversations/{id}/attachments`.
extension Attachments {
    /// Before the body: whether it has one, what its name is, and whether its user is a member.
    func judge(_ head: UploadHead, _ answer: @escaping (HTTPResponse?) -> Void) {
        guard case .user(let user) = head.caller else {
            return answer(.refusal(403, .forbidden, "a backend uploads nothing"))
        }
        do throws(DecodingFailure) {
            _ = try AttachmentHead(head.request)
        } catch {
            return answer(.error(422, error.errorMessage))
        }
        guard head.request.head.contentLength ?? 0 > 0 else {
            return answer(.refusal(400, .badRequest, "a body is needed"))
        }
        let key = shard.partitions.keys(of: head.ids[0]).conversation(head.ids[0])
        shard.store.command(["HEXISTS", key, "m:" + user.string], lane: .commands) { result in
            guard case .success(let value) = result else {
                let message = "the store is out of reach: nothing was done"
                return answer(.error(503, .init(code: .unavailable, message: message, retryAfter: 1_000)))
            }
            answer(value.int == 1 ? nil : .forbidden)
        }
    }

    func upload(_ call: HTTPCall, _ file: UploadedFile) throws(DecodingFailure) {
        let head = try AttachmentHead(call.request)
        guard head.kind != .image else { return make(file, head, call) }
        call.work(.files) {
            Result { () throws(FileFailure) in try file.read(at: 0, count: AttachmentHead.longestBeginning) }
        } then: { [self] result in
            switch result {
            case .success(let beginning) where AttachmentHead.isPicture(beginning):
                var head = head
                head.becomePicture()
                make(file, head, call)
            case .success: keep([StoredPart(kind: .bytes, content: .upload(file))], head, call)
            case .failure(let failure):
                note(FileStoreFailure(failure), "attachment not kept")
                PhotoMaker.refuseForNow(call)
            }
        }
    }

    private func make(_ file: UploadedFile, _ head: AttachmentHead, _ call: HTTPCall) {
        PhotoMaker.make(file, for: call, counting: counts, refuse: Self.refuseImage) { [self] parts in
            keep(parts, head, call)
        }
    }

    private static func refuseImage(_ call: HTTPCall) {
        call.refuse(
            422,
            .init(
                code: .validationFailed,
                message: "This is no whole JPEG or PNG of at most 40 million pixels and 16 MiB.",
                reason: "attachment_not_an_image"))
    }

    /// Off the threads that decode, which a slow store would keep from it.
    private func keep(_ parts: [StoredPart], _ head: AttachmentHead, _ call: HTTPCall) {
        let (name, store) = (StoredName(near: call.ids[0], in: shard.partitions), store)
        call.work(store.pool) {
            Result { () throws(FileStoreFailure) in try store.keep(parts, as: name) }
        } then: { [self] result in
            switch result {
            case .success: attach(Attachment(name: name, head: head, parts: parts), call)
            case .failure(let failure):
                note(failure, "attachment not kept")
                PhotoMaker.refuseForNow(call)
            }
        }
    }

    /// An upload whose files are kept.
    private struct Attachment {
        let name: StoredName
        let head: AttachmentHead
        let parts: [StoredPart]

        /// Of what the message shows: the picture without its thumbnail.
        var size: Int { parts[0].size }
        /// Of all that is kept.
        var bytes: Int { parts.reduce(0) { $0 + $1.size } }

        /// As Redis has it.
        var fields: [String] {
            ["kind", head.kind.rawValue, "size", String(size)] + (head.type.map { ["type", $0] } ?? [])
                + (head.name.map { ["name", $0] } ?? [])
        }
    }

    /// Writes it down, if its user is a member still, by a token that is good still.
    private func attach(_ attachment: Attachment, _ call: HTTPCall) {
        guard let user = call.viewer, let writer = call.writer else { return call.respond(.forbidden) }
        let (id, keys) = (call.ids[0], shard.partitions.keys(of: call.ids[0]))
        call.ask { [self] done in
            shard.unlessRevoked(writer, done: done) { [self] in
                shard.store.run(
                    .attach,
                    keys: [
                        keys.shards, keys.conversation(id), keys.attachments(id), keys.attachmentsDue,
                        keys.attachment(attachment.name),
                    ],
                    arguments: [
                        keys.events, shard.link.incarnation, id.string, user.string, attachment.name.text,
                        String(shard.configuration[.attachmentUnused]),
                    ] + attachment.fields, lane: .commands, reply: done)
            }
        } answered: { [self] value in
            guard value.array?.first?.string == "OK" else {
                return removeFiles(attachment.name) { _ in call.respond(.forbidden) }
            }
            kept.value += 1
            bytes.value += attachment.bytes
            call.respond(.json(201, json(attachment)))
        }
    }

    private func json(_ attachment: Attachment) -> [UInt8] {
        let isImage = attachment.head.kind == .image
        var json = Array(#"{"attachment":{"id":"#.utf8)
        JSONWriter.string(attachment.name.text, to: &json)
        JSONWriter.member("kind", attachment.head.kind.rawValue, to: &json)
        JSONWriter.member("url", address(of: StoredFile(attachment.name, isImage ? .picture : .bytes)), to: &json)
        if isImage {
            JSONWriter.member("thumbnailURL", address(of: StoredFile(attachment.name, .thumbnail)), to: &json)
        }
        JSONWriter.member("sizeBytes", Int64(attachment.size), to: &json)
        if let name = attachment.head.name { JSONWriter.member("name", name, to: &json) }
        return json + Array("}}".utf8)
    }

    /// - Parameter done: Gets whether all that was under the name is gone.
    func removeFiles(_ name: StoredName, done: @escaping (Bool) -> Void) {
        let store = store
        do {
            try shard.jobs.run(in: store.pool) {
                Result { () throws(FileStoreFailure) in try store.remove(name) }
            } then: { [self] result in
                guard case .success(.success) = result else {
                    if case .success(.failure(let failure)) = result { note(failure, "attachment not removed") }
                    return done(false)
                }
                done(true)
            }
        } catch {
            done(false)
        }
    }
}

extension AttachmentHead {
    fileprivate init(_ request: HTTPRequest) throws(DecodingFailure) {
        try self.init(query: request.query, type: request.headers["content-type"])
    }
}

extension HTTPResponse {
    fileprivate static let forbidden = refusal(403, .forbidden, "only members of a conversation may do this")

    fileprivate static func refusal(_ status: Int, _ code: ErrorCode, _ message: String) -> HTTPResponse {
        .error(status, .init(code: code, message: message))
    }
}
