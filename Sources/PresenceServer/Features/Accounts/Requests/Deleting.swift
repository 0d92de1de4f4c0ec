import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `DELETE /v1/me`, and what backends do with accounts.
extension Accounts {
    func deleteOwn(_ call: HTTPCall) throws(DecodingFailure) {
        let password = try RequestObject(json: call.body).text("password")
        confirm(call, password) { [self] account in
            remove(call, account.user, held: account.held) { call.respond(.done) }
        }
    }

    func delete(_ call: HTTPCall) {
        remove(call, call.ids[0], held: nil) { call.respond(.done) }
    }

    /// Removes an account and all that belongs to it: one script, and the address too, unless it lies in another partition
    /// since it was changed. Then it is given up by the intent of such changes; until then nobody holds it, which is found out
    /// when somebody asks for it.
    ///
    /// - Parameter held: The hash that the password was compared with; `nil`: nobody was asked for it.
    func remove(_ call: HTTPCall, _ user: UserID, held: PasswordHash?, then: @escaping () -> Void) {
        guard let places else { return call.refuseUnavailable() }
        let keys = shard.partitions.keys(of: user)
        call.ask(changes: false) {
            shard.store.command(["HGET", keys.account(user), "email"], lane: .commands, reply: $0)
        } answered: { [self] value in
            guard let email = value.string.flatMap({ EmailAddress($0) }) else { return call.refuseNoAccount() }
            let isHere = places.partition(of: email.text) == shard.partitions.index(of: user)
            call.ask {
                shard.store.run(
                    .deleteAccount, keys: keys.ofDeletion(user, isHere ? email : .nobody) + call.writer.keys,
                    arguments: keys.argumentsOfDeletion(user, by: shard.link.incarnation, held: held),
                    lane: .commands, reply: $0)
            } answered: { [self] value in
                let words = value.array ?? []
                switch words.first?.string {
                case "OK":
                    if words.count > 1, words[1].string == "1" { emailChange.finish(user) }
                    let photo = words.count > 2 ? words[2].string.flatMap { StoredName($0) } : nil
                    shard.feature(Conversations.self)?.departing.begin(user)
                    release(of: user, photo: photo, call, then: then)
                case "NONE": call.refuseNoAccount()
                case "CHANGED": call.refuseCredentials()
                default: call.refuseDamaged(user)
                }
            }
        }
    }

    /// What lies outside of the user's partition, or of the store. What of it does not happen now, sweeps do.
    private func release(of user: UserID, photo: StoredName?, _ call: HTTPCall, then: @escaping () -> Void) {
        func releaseName() {
            guard let usernames else { return then() }
            usernames.release(of: user, done: then)
        }
        guard let photo, let photos else { return releaseName() }
        photos.forget(photo, of: user, done: releaseName)
    }

    // MARK: Backends

    func show(_ call: HTTPCall) {
        withAccount(call, call.ids[0]) { words in
            guard let account = words[1].bytes else { return call.refuseDamaged(call.ids[0]) }
            call.respond(.json(200, Array(#"{"account":"#.utf8) + account + [UInt8(ascii: "}")]))
        }
    }

    func setDisabled(_ isDisabled: Bool, _ call: HTTPCall) {
        let user = call.ids[0]
        let keys = shard.partitions.keys(of: user)
        call.ask {
            shard.store.run(
                .disableAccount, keys: [keys.shards, keys.user(user), keys.account(user), keys.grants(user)],
                arguments: [keys.events, shard.link.incarnation, user.string, isDisabled ? "1" : ""],
                lane: .commands, reply: $0)
        } answered: { value in
            switch value.array?.first?.string {
            case "OK": call.respond(.done)
            case "NONE": call.refuseNoAccount()
            default: call.refuseDamaged(user)
            }
        }
    }
}

// What the script that deletes an account is given: by servers, and by the console.
extension PartitionKeys {
    /// - Parameter email: The account's address, if it lies in this partition.
    func ofDeletion(_ user: UserID, _ email: EmailAddress) -> [String] {
        [
            shards, self.user(user), sessions(user), account(user), grants(user), contacts(user), blocks(user),
            creations(user), emails(with: email), unfinished, username(user), floor, inbox(user), history(user),
            notifications(user), notificationMarks(user),
            devices(user), pushed(user), mail, mailing,
        ]
    }

    func argumentsOfDeletion(_ user: UserID, by incarnation: String, held: PasswordHash?) -> [String] {
        [
            events, incarnation, user.string, held?.bytes.hexadecimal ?? "", Usernames.names.intent(of: user),
            "\(Departing.name) \(user.string)", EmailChange.member(of: user),
        ]
    }
}
