import Observation

/// Many users as a list, with rows that a view can show directly.
///
/// ```swift
/// List(model.people) { PersonRow($0) }
///     .task { await model.run() }
/// ```
@MainActor @Observable
public final class RosterModel {
    /// The order of the rows.
    public enum Order: Hashable, Sendable {
        /// The order of the given ids.
        case given
        /// Online users first, then by name.
        case presence
    }

    /// The users with known values, in order.
    public private(set) var people: [Person] = []
    /// The users whose values differ from the previous ones; excludes users removed from ``users``.
    public private(set) var changed: Set<String> = []
    /// Whether the server has replied for all users.
    public private(set) var isComplete = false
    /// Whether the values are current, and if not, since when they may be outdated.
    public private(set) var freshness = Freshness.unknown
    /// Why the values are not updated; `nil` if they are.
    public private(set) var problem: PresenceError?
    /// The ids of the shown users. A change takes effect at once; users in both lists stay on the screen.
    public var users: [String] {
        get { wanted }
        set { if newValue != wanted { want(newValue) } }
    }

    private let client: PresenceClient
    private let order: Order
    private var wanted: [String]
    /// The loop of ``run()``; restarted when `users` changes.
    private var following: Task<Void, Never>?

    /// Creates a model; it is empty until ``run()``.
    public init(_ client: PresenceClient, users: [String], order: Order = .presence) {
        self.client = client
        wanted = users
        self.order = order
    }

    /// The users who are online.
    public var online: [Person] { people.filter(\.isOnline) }

    /// Observes the users until its task is cancelled, or the signed-in user signs out. Call it from one task at a
    /// time.
    public func run() async {
        while !Task.isCancelled {
            let users = wanted
            let loop = Task { await observe(users) }
            following = loop
            _ = await loop.resultForCaller
            // A loop that was not cancelled has ended for good.
            if !loop.isCancelled { return }
        }
    }

    private func observe(_ users: [String]) async {
        var isFirst = true
        for await roster in client.roster(of: users) where !Task.isCancelled {
            show(roster, isFirst: isFirst)
            isFirst = false
        }
    }

    private func show(_ roster: Roster, isFirst: Bool) {
        // The first roster names all users, including those already shown.
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

    /// The users whose values differ, including new ones.
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
