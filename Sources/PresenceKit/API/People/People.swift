/// The result of reading many users: those found, in the requested order, and the ids of the others.
public struct People: RandomAccessCollection, Codable, Hashable, Sendable {
    private var found: [Person]
    /// The ids without a result, in the requested order: users who do not exist, users who may not be seen (the two
    /// look alike), and ``unanswered`` ones.
    public var missing: [String]
    /// The ids in ``missing`` that could not be read: there is no connection, and no cached value.
    public var unanswered: [String]
    /// Why the server was not asked, or could not reply. The result then has cached values, marked stale.
    public var problem: PresenceError?

    /// Creates a result, for fakes and previews.
    public init(
        _ found: [Person], missing: [String] = [], unanswered: [String] = [], problem: PresenceError? = nil
    ) {
        (self.found, self.missing, self.unanswered, self.problem) = (found, missing, unanswered, problem)
    }

    /// Whether all ids were answered by the server or from live values.
    public var isComplete: Bool { problem == nil }

    public var startIndex: Int { found.startIndex }
    public var endIndex: Int { found.endIndex }
    public subscript(position: Int) -> Person { found[position] }

    /// The user with this id, if found.
    public subscript(user: String) -> Person? { found.first { $0.user == user } }
}
