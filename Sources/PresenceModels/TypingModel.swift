import Observation
import PresenceKit

/// Who types in a conversation, and that the own user does.
@MainActor @Observable
public final class TypingModel {
    /// Whose typists it shows.
    public let conversation: String
    /// The others who type, by id.
    public private(set) var users: [String] = []
    /// How many more type than are named.
    public private(set) var othersCount = 0
    /// Why it is not shown: the user is not in this conversation.
    public private(set) var problem: PresenceError?

    private let service: any TypingService
    private let clock: any Clock<Duration>
    private let pause: Duration
    private let name: (String) -> String
    // Not shown, and read when the model goes.
    @ObservationIgnored private var isTyping = false
    @ObservationIgnored private var stopping: Task<Void, Never>?

    /// - Parameters:
    ///   - pause: after so long without a key press the user does not type any more.
    ///   - name: what somebody is called.
    public init(
        _ service: any TypingService, conversation: String, pause: Duration = .seconds(5),
        clock: any Clock<Duration> = ContinuousClock(), name: @escaping (String) -> String = { $0 }
    ) {
        self.service = service
        self.conversation = conversation
        self.pause = pause
        self.clock = clock
        self.name = name
    }

    // A screen that goes without a word leaves nobody typing.
    deinit {
        stopping?.cancel()
        if isTyping { service.stopTyping(in: conversation) }
    }

    /// A line for people; empty while nobody types.
    public var text: String {
        let names = users.map(name)
        let others = othersCount + max(0, names.count - 2)
        switch (names.count, others) {
        case (0, 0): return ""
        case (0, let count): return count == 1 ? "Somebody is typing…" : "\(count) people are typing…"
        case (1, 0): return "\(names[0]) is typing…"
        case (2, 0): return "\(names[0]) and \(names[1]) are typing…"
        case (1, let others): return "\(names[0]) and \(others) more are typing…"
        case (_, let others): return "\(names[0]), \(names[1]) and \(others) more are typing…"
        }
    }

    /// Follows the others until its task is cancelled, or the user signs out.
    public func run() async {
        for await typing in service.typing(in: conversation) {
            users = typing.users
            othersCount = typing.othersCount
            problem = typing.problem
        }
    }

    /// The text field changed.
    public func textChanged(_ text: String) {
        guard !text.isEmpty else { return stop() }
        isTyping = true
        service.startTyping(in: conversation)
        stopping?.cancel()
        stopping = Task { [weak self, clock, pause] in
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            self?.stop()
        }
    }

    /// The text was sent, or the screen is left.
    public func stop() {
        stopping?.cancel()
        stopping = nil
        guard isTyping else { return }
        isTyping = false
        service.stopTyping(in: conversation)
    }
}
