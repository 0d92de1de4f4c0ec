import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `PUT` and `DELETE /v1/me/photo`.
extension Photos {
    /// How often the change is retried after another request replaced the picture meanwhile.
    private static let mostTries = 4

    func upload(_ call: HTTPCall, _ file: UploadedFile) async throws(Refusal) -> HTTPResponse {
        // Pictures are decoded only for users with an account.
        let user = try await ownAccount(call)
        let parts = try await PhotoMaker.make(
            file, for: call, counting: counts,
            refusal: Refusal(
                .validationFailed, "This is no whole JPEG or PNG of at most 40 million pixels.", field: "photo",
                reason: "photo_not_an_image"))
        let name = StoredName(near: user, in: shard.partitions)
        try await store.store(parts, as: name, for: call) { record($0, "picture not kept") }
        made.value += 1
        return try await put(name, of: user, call)
    }

    func removePhoto(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        try await put(nil, of: try await ownAccount(call), call)
    }

    private func ownAccount(_ call: HTTPCall) async throws(Refusal) -> UserID {
        let user = try call.owner()
        let key = shard.partitions.keys(of: user).account(user)
        guard try await shard.run("HEXISTS", key, "version").int == 1 else { throw .noAccount }
        return user
    }

    /// Replaces a user's picture, or removes it.
    private func put(_ name: StoredName?, of user: UserID, _ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let keys = shard.partitions.keys(of: user)
        var former = try await shard.run("HGET", keys.user(user), "photo").string.flatMap { StoredName($0) }
        for _ in 0...Self.mostTries {
            let reply = try await shard.run(setting(name, after: former, of: user, by: call.writer))
            switch reply.word {
            case "OK":
                // The sweep removes replaced pictures later, because other clients may still show them.
                if let former, name == nil { await remove(former) }
                return try response(name, reply, user)
            case "CHANGED": former = reply[0].string.flatMap { StoredName($0) }
            default:
                if let name { await remove(name) }
                throw .noAccount
            }
        }
        if let name { await remove(name) }
        throw .noStore
    }

    private func setting(
        _ name: StoredName?, after former: StoredName?, of user: UserID, by writer: Writer?
    ) -> ScriptCall {
        let keys = shard.partitions.keys(of: user)
        // Redis needs some key of the partition even if there is no picture.
        let key = { (name: StoredName?) in name.map { keys.key(.photo, $0.id) } ?? keys.account(user) }
        func address(_ kind: StoredFile.Kind) -> String? {
            name.map { JSONWriter.encoded(PhotoPath.stored(StoredFile($0, kind))) }
        }
        return ScriptCall(
            .setPhoto, in: keys,
            [
                "user": keys.user(user), "account": keys.account(user), "photo": key(name ?? former),
                "former": key(former ?? name),
            ],
            [
                "user": user, "name": name?.text, "formerName": former?.text, "photoURL": address(.picture),
                "thumbnailURL": address(.thumbnail),
            ], by: writer)
    }

    private func response(
        _ name: StoredName?, _ reply: ScriptReply, _ user: UserID
    ) throws(Refusal) -> HTTPResponse {
        guard let name else { return .done }
        guard let version = reply[0].int, let body = reply[1].bytes,
            body.withUnsafeBytes({ RegisterEncoder.isBody($0) })
        else {
            shard.recordDamage("profile", of: user)
            throw Refusal(.damagedRecord())
        }
        var json = Array("{".utf8)
        for (member, kind) in [("photoURL", StoredFile.Kind.picture), ("thumbnailURL", .thumbnail)] {
            json += Array(#""\#(member)":"#.utf8)
            JSONWriter.string(url(of: StoredFile(name, kind)), to: &json)
            json.append(UInt8(ascii: ","))
        }
        json +=
            Array(#""profile":"#.utf8)
            + RegisterEncoder.object(version: version, body: shard.bodyMark.filled(body)).bytes
        return .json(200, json + [UInt8(ascii: "}")])
    }
}
