import Foundation
import PresenceKit

/// A change in the client's storage until the server has it.
struct Kept<Body: Keepable>: Sendable {
    let id: String
    let owner: String
    let body: Body
    /// Whether it is stored. Before that it is not sent, and replaces no other.
    var isStored = false

    init(owner: String, _ body: Body) { (id, self.owner, self.body) = (UUID().uuidString, owner, body) }

    /// `nil` for a write of another kind, or one that this version of the library cannot read.
    init?(_ write: QueuedWrite) {
        guard write.kind == Body.kind, let owner = write.owner,
            let body = try? JSONDecoder().decode(Body.self, from: write.body)
        else { return nil }
        (id, self.owner, self.body, isStored) = (write.id, owner, body, true)
    }

    var write: QueuedWrite {
        // Cannot fail: texts, numbers and flags.
        QueuedWrite(
            id: id, owner: owner, lane: body.lane, kind: Body.kind, body: try! JSONEncoder().encode(body),
            queuedAt: Date(), mayGetLost: Body.mayGetLost)
    }
}

/// The content of a kept change.
protocol Keepable: Codable, Sendable {
    static var kind: String { get }
    /// Whether it may get lost in a power cut.
    static var mayGetLost: Bool? { get }
    var lane: String { get }
}

extension Keepable {
    static var mayGetLost: Bool? { nil }
    var lane: String { "notifications" }
}
