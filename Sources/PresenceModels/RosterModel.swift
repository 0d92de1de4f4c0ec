import Observation
import PresenceKit

/// Many people as a list: rows that a view shows as they are.
///
/// ```swift
/// List(model.people) { PersonRow($0) }
///     .task { await model.run() }
/// ```
@MainActor @Observable
public final class RosterModel {
    /// How the rows are sorted.
    public enum Order: Hashable, Sendable {
        /// As the ids were given.
        case given
        /// Those who are here first, then by name.
        case presence
    }

    /// Everybody with something to show, in order.
    public private(set) var people: [Person] = []
    /// Who differs from what was shown before; those who are no longer in ``users`` are not named.
    public private(set) var changed: Set<String> = []
    /// Whether everybody has been answered for.
    public private(set) var isComplete = false
    /// Whether what is shown is the truth of this moment, and if not, since when it may not be.
    public private(set) var freshness = Freshness.unknown
    /// Why nothing newer comes, for people; `nil` while something may.
    public private(set) var problem: PresenceError?
    /// Whom it shows. A change takes effect at once; those who stay remain on the screen.
    public var users: [String] {
        get { wanted }
        set { if newValue != wanted { want(newValue) } }
    }

    private let service: any PeopleService
    private let order: Order
    private var wanted: [String]
    /// The loop of ``run()``; it is begun anew when `users` changed.
    private var following: Task<Void, Never>?

    /// Makes a model that shows nobody before ``run()``.
    public init(_ service: any PeopleService, users: [String], order: Order = .presence) {
        self.service = service
        wanted = users
        self.order = order
    }

    /// Those who are here.
    public var online: [Person] { people.filter(\.isOnline) }

    /// Follows the people until its task is cancelled, or the user signs out. One task at a time.
    public func run() async {
        while !Task.isCancelled {
            let users = wanted
            let loop = Task { await follow(users) }
            following = loop
            await withTaskCancellationHandler {
                await loop.value
            } onCancel: {
                loop.cancel()
            }
            // A loop that nobody cancelled has ended for good.
            if !loop.isCancelled { return }
        }
    }

    private func follow(_ users: [String]) async {
        var isFirst = true
        for await roster in service.roster(of: users) where !Task.isCancelled {
            show(roster, isFirst: isFirst)
            isFirst = false
        }
    }

    private func show(_ roster: Roster, isFirst: Bool) {
        // A roster that begins names everybody, also those who are shown already.
        changed = isFirst ? Self.changes(from: people, to: roster.people) : roster.changed
        switch order {
        case .given: people = roster.people
        case .presence: people = roster.people.sorted(by: Self.precedes)
        }
        isComplete = roster.isComplete
        freshness = roster.freshness
        problem = people.lazy.compactMap(\.problem).first { ![.invalidID, .forbidden, .tooMany].contains($0.code) }
    }

    private func want(_ users: [String]) {
        wanted = users
        let stay = Set(users)
        people.removeAll { !stay.contains($0.user) }
        following?.cancel()
    }

    /// Those who look different, those who were not there before included.
    private static func changes(from former: [Person], to newer: [Person]) -> Set<String> {
        let shown = Dictionary(former.map { ($0.user, $0) }) { $1 }
        return Set(newer.lazy.filter { shown[$0.user] != $0 }.map(\.user))
    }

    private static func precedes(_ a: Person, _ b: Person) -> Bool {
        if a.isOnline != b.isOnline { return a.isOnline }
        let (first, second) = ((a.displayName ?? a.user).lowercased(), (b.displayName ?? b.user).lowercased())
        return (first, a.user) < (second, b.user)
    }
}
