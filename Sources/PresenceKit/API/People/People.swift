/// The answer to a question about many people: those found, in the order asked, and who is missing.
public struct People: RandomAccessCollection, Codable, Hashable, Sendable {
    private var found: [Person]
    /// The ids without a person, in the order asked: users who do not exist, users who may not be seen (the two look
    /// alike), and ``unanswered`` ones.
    public var missing: [String]
    /// Those of ``missing`` for which no answer could be had: there is no connection, and nothing is held of them.
    public var unanswered: [String]
    /// Why the server was not asked, or could not answer: ``People`` then has what is held, marked stale.
    public var problem: PresenceError?

    /// Makes an answer, as a fake or a preview needs it.
    public init(
        _ found: [Person], missing: [String] = [], unanswered: [String] = [], problem: PresenceError? = nil
    ) {
        self.found = found
        self.missing = missing
        self.unanswered = unanswered
        self.problem = problem
    }

    /// Whether the server, or what is live here, answered for everybody.
    public var isComplete: Bool { problem == nil }

    public var startIndex: Int { found.startIndex }
    public var endIndex: Int { found.endIndex }
    public subscript(position: Int) -> Person { found[position] }

    /// One of those found.
    public subscript(user: String) -> Person? { found.first { $0.user == user } }
}
