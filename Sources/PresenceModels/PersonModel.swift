import Foundation
import Observation
import PresenceKit

/// One person, as a header or a profile page shows them.
@MainActor @Observable
public final class PersonModel {
    /// Whom it shows.
    public let user: String
    /// `nil` until something is known.
    public private(set) var person: Person?

    private let service: any PeopleService

    /// Makes a model that shows nothing before ``run()``.
    public init(_ service: any PeopleService, user: String) {
        self.service = service
        self.user = user
    }

    /// The display name, or the id without one.
    public var name: String { person?.displayName ?? user }
    /// Whether they are here; `false` while nothing is known.
    public var isOnline: Bool { person?.isOnline ?? false }
    /// Whether what is shown is the truth of this moment.
    public var isLive: Bool { person?.freshness.isLive ?? false }
    /// Why nothing newer comes.
    public var problem: PresenceError? { person?.problem }

    /// What stands beside the name: the status text, or what they are doing; nothing for somebody unknown.
    public var subtitle: String {
        guard let presence = person?.presence, presence.isKnown else { return "" }
        switch presence.status {
        case .online: return presence.text ?? "Online"
        case .away: return presence.text ?? "Away"
        case .busy: return presence.text ?? "Busy"
        case .offline: return "Offline"
        }
    }

    /// Follows the person until its task is cancelled, or the user signs out.
    public func run() async {
        for await person in service.updates(of: user) { self.person = person }
    }
}
