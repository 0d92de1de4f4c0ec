import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `PUT` and `DELETE /v1/me/photo`.
extension Photos {
    /// How often a picture may have been replaced by another request meanwhile.
    private static let mostTries = 4

    func upload(_ call: HTTPCall, _ file: UploadedFile) {
        guard let user = call.ownUser() else { return }
        // Nothing is decoded for somebody without an account.
        withAccount(call, user) { [self] in
            PhotoMaker.make(file, for: call, counting: counts, refuse: refuseImage) { [self] parts in
                keep(parts, of: user, call)
            }
        }
    }

    /// Off the threads that decode, which a slow store would keep from it.
    private func keep(_ parts: [StoredPart], of user: UserID, _ call: HTTPCall) {
        let (name, store) = (StoredName(near: user, in: shard.partitions), store)
        call.work(store.pool) {
            Result { () throws(FileStoreFailure) in try store.keep(parts, as: name) }
        } then: { [self] result in
            switch result {
            case .success:
                made.value += 1
                put(name, of: user, call)
            case .failure(let failure):
                note(failure, "picture not kept")
                PhotoMaker.refuseForNow(call)
            }
        }
    }

    private func refuseImage(_ call: HTTPCall) {
        call.refuse(
            422, .validationFailed, reason: "photo_not_an_image",
            "This is no whole JPEG or PNG of at most 40 million pixels.", field: "photo")
    }

    func giveUp(_ call: HTTPCall) {
        guard let user = call.ownUser() else { return }
        withAccount(call, user) { [self] in put(nil, of: user, call) }
    }

    private func withAccount(_ call: HTTPCall, _ user: UserID, then: @escaping () -> Void) {
        let keys = shard.partitions.keys(of: user)
        call.ask(changes: false) {
            shard.store.command(["HEXISTS", keys.account(user), "email"], lane: .commands, reply: $0)
        } answered: { value in
            if value.int == 1 { then() } else { call.refuseNoAccount() }
        }
    }

    /// Gives a picture, or none, to a user, in the place of the former.
    private func put(_ name: StoredName?, of user: UserID, _ call: HTTPCall) {
        let keys = shard.partitions.keys(of: user)
        call.ask(changes: false) {
            shard.store.command(["HGET", keys.user(user), "photo"], lane: .commands, reply: $0)
        } answered: { [self] value in
            put(name, after: value.string.flatMap { StoredName($0) }, of: user, call, tries: 0)
        }
    }

    private func put(_ name: StoredName?, after former: StoredName?, of user: UserID, _ call: HTTPCall, tries: Int) {
        let keys = shard.partitions.keys(of: user)
        // Some name or other stands where there is none.
        let some = name ?? former
        let photoKey = { (name: StoredName?) in (name ?? some).map { keys.key(.photo, $0.id) } ?? keys.account(user) }
        let addresses = [StoredFile.Kind.picture, .thumbnail].map { kind in
            name.map { StatusArguments.encoded(PhotoAddress.stored(StoredFile($0, kind))) } ?? ""
        }
        call.ask {
            shard.store.run(
                .setPhoto,
                keys: [
                    keys.shards, keys.floor, keys.user(user), keys.account(user), photoKey(name), photoKey(former),
                ] + call.writer.keys,
                arguments: [
                    keys.events, shard.link.incarnation, user.string, name?.text ?? "", former?.text ?? "",
                ] + addresses, lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK":
                let response = response(name, words, user)
                // One that is replaced the sweep removes: others may not have heard of the new one.
                guard let former, name == nil else { return call.respond(response) }
                remove(former) { call.respond(response) }
            case "CHANGED" where tries < Self.mostTries && words.count > 1:
                put(name, after: words[1].string.flatMap { StoredName($0) }, of: user, call, tries: tries + 1)
            case "CHANGED": drop(name) { call.refuseUnavailable() }
            case "NONE": drop(name) { call.refuseNoAccount() }
            default: drop(name) { call.refuseDamaged(user) }
            }
        }
    }

    private func drop(_ name: StoredName?, then: @escaping () -> Void) {
        guard let name else { return then() }
        remove(name, done: then)
    }

    private func response(_ name: StoredName?, _ words: [RedisValue], _ user: UserID) -> HTTPResponse {
        guard let name else { return .done }
        guard words.count > 2, let version = words[1].int, let body = words[2].bytes,
            body.withUnsafeBytes({ RegisterFrame.isBody($0) })
        else {
            shard.noteDamage("profile", of: user)
            return .error(500, .damagedRecord())
        }
        var json = Array("{".utf8)
        for (member, kind) in [("photoURL", StoredFile.Kind.picture), ("thumbnailURL", .thumbnail)] {
            json += Array(#""\#(member)":"#.utf8)
            JSONWriter.string(address(of: StoredFile(name, kind)), to: &json)
            json.append(UInt8(ascii: ","))
        }
        json +=
            Array(#""profile":"#.utf8) + RegisterFrame.object(version: version, body: shard.bodyMark.filled(body)).bytes
        return .json(200, json + [UInt8(ascii: "}")])
    }
}
