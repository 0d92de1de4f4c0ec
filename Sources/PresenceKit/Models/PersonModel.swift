import Foundation
import Observation

/// One user, for a header or a profile page.
@MainActor @Observable
public final class PersonModel {
    /// The user's id.
    public let user: String
    /// `nil` until the user is known.
    public private(set) var person: Person?

    private let client: PresenceClient

    /// Creates a model; it is empty until ``run()``.
    public init(_ client: PresenceClient, user: String) {
        self.client = client
        self.user = user
    }

    /// The display name, or the id without one.
    public var name: String { person?.displayName ?? user }
    /// Whether the user is online; `false` while unknown.
    public var isOnline: Bool { person?.isOnline ?? false }
    /// Whether the value is current.
    public var isLive: Bool { person?.freshness.isLive ?? false }
    /// Why the value is not updated.
    public var problem: PresenceError? { person?.problem }

    /// The line beside the name: the status text, or the status; empty for an unknown user.
    public var subtitle: String {
        guard let presence = person?.presence, presence.isKnown else { return "" }
        switch presence.status {
        case .online: return presence.text ?? Sentence.online.text()
        case .away: return presence.text ?? Sentence.away.text()
        case .busy: return presence.text ?? Sentence.busy.text()
        case .offline: return Sentence.offline.text()
        }
    }

    /// Observes the user until its task is cancelled, or the signed-in user signs out.
    public func run() async {
        for await person in client.updates(of: user) { self.person = person }
    }
}
