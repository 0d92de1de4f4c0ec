import Foundation
import PresenceCore
import PresenceProtocol

/// What one user is shown of another: the same answer as a read with that user's own token.
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

    private static func id(_ name: String, in call: HTTPCall) throws(DecodingFailure) -> UserID {
        let pair = call.request.query.split(separator: "&").first { $0.hasPrefix(name + "=") }
        guard let pair else { throw .missing(name) }
        guard let text = String(pair.dropFirst(name.utf8.count + 1)).removingPercentEncoding, let id = UserID(text)
        else { throw .invalid(name, "must be 1 to 128 bytes of printable ASCII without space") }
        return id
    }
}
