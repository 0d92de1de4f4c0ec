import Observation

/// The typing users of a conversation, and the typing of the signed-in user.
@MainActor @Observable
public final class TypingModel {
    /// The id of the conversation.
    public let conversation: String
    /// The other users who are typing, by id.
    public private(set) var users: [String] = []
    /// The number of users typing beyond those in ``users``.
    public private(set) var othersCount = 0
    /// Why typing is not shown: the user is not in this conversation.
    public private(set) var problem: PresenceError?

    private let client: PresenceClient
    private let clock: any Clock<Duration>
    private let pause: Duration
    private let name: (String) -> String
    // Not shown by views, and read in `deinit`.
    @ObservationIgnored private var isTyping = false
    @ObservationIgnored private var stopping: Task<Void, Never>?

    /// - Parameters:
    ///   - pause: the time without a key press after which typing ends.
    ///   - name: returns the displayed name of a user.
    public init(
        _ client: PresenceClient, conversation: String, pause: Duration = .seconds(5),
        clock: any Clock<Duration> = ContinuousClock(), name: @escaping (String) -> String = { $0 }
    ) {
        (self.client, self.conversation, self.pause) = (client, conversation, pause)
        (self.clock, self.name) = (clock, name)
    }

    // Ends typing when the model is released without ``stop()``.
    deinit {
        stopping?.cancel()
        if isTyping { client.stopTyping(in: conversation) }
    }

    /// A line for users; empty while no user is typing.
    public var text: String {
        let names = users.map(name)
        let others = othersCount + max(0, names.count - 2)
        switch (names.count, others) {
        case (0, 0): return ""
        case (0, let count): return count == 1 ? Sentence.someoneTyping.text() : Sentence.peopleTyping.text(count)
        case (1, 0): return Sentence.oneTyping.text(names[0])
        case (2, 0): return Sentence.twoTyping.text(names[0], names[1])
        case (1, let others): return Sentence.oneAndMoreTyping.text(names[0], others)
        case (_, let others): return Sentence.twoAndMoreTyping.text(names[0], names[1], others)
        }
    }

    /// Observes the other users until its task is cancelled, or the user signs out.
    public func run() async {
        for await typing in client.typing(in: conversation) {
            users = typing.users
            othersCount = typing.othersCount
            problem = typing.problem
        }
    }

    /// Call this when the text field changes.
    public func textChanged(_ text: String) {
        guard !text.isEmpty else { return stop() }
        isTyping = true
        client.startTyping(in: conversation)
        stopping?.cancel()
        stopping = Task { [weak self, clock, pause] in
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            self?.stop()
        }
    }

    /// Call this when the text was sent, or the screen disappears.
    public func stop() {
        stopping?.cancel()
        stopping = nil
        guard isTyping else { return }
        isTyping = false
        client.stopTyping(in: conversation)
    }
}
