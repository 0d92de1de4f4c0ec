import PresenceCore
import PresenceProtocol
import WebSockets

/// Reads users, also over HTTP.
extension Watching {
    struct ReadPerson {
        let user: UserID
        let presence: [UInt8]
        let profile: [UInt8]
    }

    /// Both registers of some users as a viewer may see them, as objects, without a subscription. A `nil` viewer is a
    /// backend, which sees everything.
    private func read(_ users: [UserID], for viewer: UserID?) async throws(Refusal) -> [ReadPerson] {
        let people = users.map { shard.watchers.hold(person: $0) }
        // The viewer's own policy counts too.
        let all = people + (viewer.map { [shard.watchers.hold(person: $0)] } ?? [])
        defer { all.forEach(shard.watchers.release) }
        let outcome = await shard.tasks.wait { shard.loader.load(all, viewer: viewer, done: $0) }
        guard outcome == .loaded else { throw .notHeld }
        return people.map { shown($0, to: viewer) }
    }

    /// The parts of a user that a viewer may see.
    func shown(_ person: Topic, to viewer: UserID?) -> ReadPerson {
        let view = shard.policies.view(of: person.subject, for: viewer)
        let hidesPresence = view == .nothing || (view == .withoutLastSeen && person.first.isOffline)
        return ReadPerson(
            user: person.subject,
            presence: hidesPresence ? ServerMessageWriter.unknownPresence : person.presenceObject,
            profile: view == .nothing ? ServerMessageWriter.noProfile : person.profileObject)
    }

    // MARK: HTTP

    func registerRoutes(in registry: inout Registry) {
        registry.route(
            "GET", "/v1/users/{id}", for: .users, scope: .usersRead,
            answer: { [unowned self] call in .json(200, try await read(call.ids, for: call.viewer)[0].json) })
        registry.route(
            "POST", "/v1/users/get", for: .users, scope: .usersRead,
            answer: { [unowned self] call in
                let users = try RequestBody.users(call.body, limit: shard.configuration.limits.subscribeBatch)
                // One token was taken for the request; the user's next request pays for the ids of this one.
                let more = RequestPrice.ids(users.count) - 1
                if let viewer = call.viewer { shard.userRates.consume(more, by: viewer, at: shard.clock.now) }
                let people = try await read(users, for: call.viewer).map(\.json).joined(separator: [0x2C])
                return .json(200, Array(#"{"users":["#.utf8) + people + Array("]}".utf8))
            })
    }
}

extension Refusal {
    static let notHeld = Refusal(
        .unavailable, "the store is out of reach, and not all of these are held here", retryAfter: 1_000)
}

extension Watching.ReadPerson {
    var json: [UInt8] {
        var json = Array(#"{"user":"#.utf8)
        JSONWriter.string(user.string, to: &json)
        return json + Array(#","presence":"#.utf8) + presence + Array(#","profile":"#.utf8) + profile + [0x7D]
    }
}

extension Topic {
    /// From this number of watchers on, the encoded registers are kept, which doubles their memory.
    private static let many = 8

    /// Adds some of a user's registers; their bytes are copied once.
    func add(to answer: inout SnapshotReply, presence: Bool, profile: Bool) {
        guard presence || profile else { return }
        if presence, profile, watchers.count >= Self.many {
            if snapshot.isEmpty { snapshot = encoded() }
            return answer.add(user: snapshot)
        }
        first.withObject(otherwise: ServerMessageWriter.unknownPresence) { first in
            second.withObject(otherwise: ServerMessageWriter.noProfile) { second in
                answer.add(user: subject, presence: presence ? first : nil, profile: profile ? second : nil)
            }
        }
    }

    private func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(first.object.count + second.object.count + subject.string.utf8.count + 96)
        first.withObject(otherwise: ServerMessageWriter.unknownPresence) { first in
            second.withObject(otherwise: ServerMessageWriter.noProfile) { second in
                UserSnapshot.encode(user: subject, presence: first, profile: second, into: &bytes)
            }
        }
        return bytes
    }

    var presenceObject: [UInt8] {
        first.version == 0 ? ServerMessageWriter.unknownPresence : Array(first.bytes[first.object])
    }

    var profileObject: [UInt8] {
        second.version == 0 ? ServerMessageWriter.noProfile : Array(second.bytes[second.object])
    }
}

extension Register {
    /// Lends the object that clients receive.
    fileprivate func withObject(otherwise unknown: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) {
        // Unsafe: lent for the call.
        if version == 0 { return unknown.withUnsafeBytes(body) }
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[object])) }
    }
}
