import Foundation
import PresenceKit
import TerminalClients

/// The common part of all audiences: maintains the board, and detects failures.
struct Observer: Sendable {
    private(set) var board: Board
    /// The conversations for which an element was received.
    private(set) var heardConversations: Set<String> = []
    private let subject: Subject
    private(set) var serverTime = PresenceClient.ServerTime()

    init(_ subject: Subject) {
        self.subject = subject
        board = Board(users: subject.users, conversations: subject.conversations)
    }

    /// Handles an event.
    mutating func handle(_ news: News) -> Failure? {
        switch news {
        case .people(let roster):
            board.apply(roster.people, changed: roster.changed)
        case .typing(let typing):
            if let error = typing.refusal {
                let sentence =
                    error.code == .forbidden
                    ? "\(typing.conversation) is not a conversation that you take part in" : error.message
                return Failure(.refused, sentence)
            }
            heardConversations.insert(typing.conversation)
            board.apply(typing)
        case .connection(let state, let time):
            serverTime = time
            board.apply(state, at: time.now)
            return Failure(
                state, hasConnected: board.hasConnected, tokenIsRenewable: subject.token.isRenewable,
                address: subject.address.shortText)
        case .terminal, .tick: break
        }
        return nil
    }

    /// Whether the server has replied for all users and conversations.
    var isComplete: Bool { board.isComplete && heardConversations.isSuperset(of: subject.conversations) }
}
