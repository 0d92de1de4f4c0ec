import Foundation
import Observation
import PresenceKit
import PresenceMessages

/// The conversations of the own user as a list.
///
/// ```swift
/// List(model.conversations) { Text(model.title(of: $0)).badge($0.unreadCount) }
///     .task { await model.run() }
/// ```
@MainActor @Observable
public final class ConversationListModel {
    /// The own user.
    public let user: String
    /// Those that are not archived, newest first.
    public private(set) var conversations: [ChatConversation] = []
    /// Those that are.
    public private(set) var archived: [ChatConversation] = []
    /// Whether the list is known: an empty one before that is one that is still to come.
    public private(set) var isLoaded = false
    /// Whether something that was asked for is under way.
    public private(set) var isBusy = false
    /// Why the last thing that was asked for was not done, for people.
    public private(set) var errorMessage: String?

    private let repository: any ConversationRepository
    private let name: (String) -> String
    private let now: () -> Date

    /// - Parameters:
    ///   - user: the own user.
    ///   - now: the time, which tells whether a conversation is still muted.
    ///   - name: what somebody is called.
    public init(
        user: String, conversations: any ConversationRepository, now: @escaping () -> Date = { Date() },
        name: @escaping (String) -> String = { $0 }
    ) {
        self.user = user
        repository = conversations
        self.now = now
        self.name = name
    }

    // MARK: What is shown

    /// Unread messages of all that are neither muted nor archived: the number for a badge.
    public var unreadCount: Int {
        let date = now()
        return conversations.filter { !$0.isMuted(at: date) }.reduce(0) { $0 + $1.unreadCount }
    }

    /// Whether a conversation is muted now.
    public func isMuted(_ conversation: ChatConversation) -> Bool { conversation.isMuted(at: now()) }

    /// What a conversation is called.
    public func title(of conversation: ChatConversation) -> String {
        let names = conversation.participants.map { ($0, name($0)) }
        return conversation.displayName(for: user, names: Dictionary(names) { $1 })
    }

    /// Its newest message as a line; empty if there is none.
    public func preview(of conversation: ChatConversation) -> String {
        guard let message = conversation.lastMessage else { return "" }
        if message.isDeleted { return "Message deleted" }
        let text = message.text.isEmpty ? Self.text(of: message.attachments) : message.text
        if message.senderId == user { return "You: \(text)" }
        return conversation.isGroup ? "\(name(message.senderId)): \(text)" : text
    }

    private static func text(of attachments: [MessageAttachment]) -> String {
        guard attachments.count == 1 else { return "\(attachments.count) attachments" }
        switch attachments[0].type {
        case .image: return "Photo"
        case .video: return "Video"
        case .file: return "File"
        }
    }

    /// Follows the list until its task is cancelled.
    public func run() async {
        for await list in repository.conversationList {
            conversations = list.filter { !$0.isArchived }
            archived = list.filter(\.isArchived)
            isLoaded = true
        }
    }

    // MARK: What the user does

    /// The conversation with one other, made if there is none; `nil` if that failed.
    public func open(with other: String) async -> ChatConversation? {
        await attempt { try await self.repository.directConversation(with: other, metadata: nil) }
    }

    /// Makes a group; `nil` if that failed.
    public func createGroup(with others: [String], name: String? = nil) async -> ChatConversation? {
        await attempt {
            try await self.repository.createGroup(
                with: others, name: name, metadata: nil, key: UUID().uuidString)
        }
    }

    /// Notes that all of a conversation that is known here was read.
    public func markRead(_ conversation: ChatConversation) async {
        await repository.markRead(in: conversation.id, upTo: nil)
    }

    /// Mutes a conversation, for a time or until that is taken back.
    public func mute(_ conversation: ChatConversation, for duration: Duration? = nil) async {
        await attempt { try await self.repository.mute(conversation.id, for: duration) }
    }

    /// Takes ``mute(_:for:)`` back. A failure is told in ``errorMessage``, as by all of these.
    public func unmute(_ conversation: ChatConversation) async {
        await attempt { try await self.repository.unmute(conversation.id) }
    }

    /// Puts a conversation away, or takes that back.
    public func archive(_ conversation: ChatConversation, _ isArchived: Bool = true) async {
        await attempt { try await self.repository.archive(conversation.id, isArchived) }
    }

    /// Names a group anew; it needs a connection.
    public func rename(_ conversation: ChatConversation, to name: String) async {
        await attempt { try await self.repository.rename(conversation.id, to: name) }
    }

    /// Leaves a group; it needs a connection.
    public func leave(_ conversation: ChatConversation) async {
        await attempt { try await self.repository.leave(conversation.id) }
    }

    @discardableResult
    private func attempt<Value>(_ body: () async throws -> Value) async -> Value? {
        errorMessage = nil
        isBusy = true
        defer { isBusy = false }
        do {
            return try await body()
        } catch is CancellationError {
        } catch {
            errorMessage = error.localizedDescription
        }
        return nil
    }
}
