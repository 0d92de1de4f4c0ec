import PresenceCore
import PresenceProtocol

/// Shows one user as another sees them: the same response as for a read with that user's own token.
extension Console {
    func view(_ call: HTTPCall) throws(DecodingFailure) {
        let (user, viewer) = (try Self.id("user", in: call), try Self.id("viewer", in: call))
        let people = [user, viewer].map { shard.watchers.hold(person: $0) }
        shard.loader.load(people) { [self] outcome in
            defer { people.forEach(shard.watchers.release) }
            guard outcome == .loaded, let shown = shard.feature(Watching.self)?.shown(people[0], to: viewer) else {
                return call.refuse(
                    503, .init(code: .unavailable, message: "the store is out of reach", retryAfter: 1_000))
            }
            call.respond(.json(200, shown.json))
        }
    }
}
