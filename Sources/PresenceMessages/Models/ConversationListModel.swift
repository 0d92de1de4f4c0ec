import Foundation
import Observation
import PresenceKit

/// The signed-in user's conversations as a list.
///
/// ```swift
/// List(model.conversations) { Text(model.title(of: $0)).badge($0.unreadCount) }
///     .task { await model.run() }
/// ```
@MainActor @Observable
public final class ConversationListModel {
    /// The signed-in user.
    public let user: String
    /// The conversations that are not archived, newest first.
    public private(set) var conversations: [ChatConversation] = []
    /// The archived conversations.
    public private(set) var archived: [ChatConversation] = []
    /// Whether the list is known. An empty list before that is not yet loaded.
    public private(set) var isLoaded = false
    /// Whether an operation is in progress.
    public private(set) var isBusy = false
    /// Why the last operation failed, as a text for users.
    public private(set) var errorMessage: String?

    private let repository: any MessageRepository
    private let name: (String) -> String
    private let now: () -> Date

    /// - Parameters:
    ///   - user: the signed-in user.
    ///   - now: the current time, by which mutes end.
    ///   - name: returns the displayed name of a user.
    public init(
        user: String, messages: any MessageRepository, now: @escaping () -> Date = { Date() },
        name: @escaping (String) -> String = { $0 }
    ) {
        self.user = user
        repository = messages
        self.now = now
        self.name = name
    }

    // MARK: Values

    /// The number of unread messages for a badge; excludes muted and archived conversations, and requests.
    public var unreadCount: Int {
        let date = now()
        return conversations.filter { !$0.isMuted(at: date) && !$0.isRequest }.reduce(0) { $0 + $1.unreadCount }
    }

    /// Whether a conversation is muted now.
    public func isMuted(_ conversation: ChatConversation) -> Bool { conversation.isMuted(at: now()) }

    /// The title of a conversation.
    public func title(of conversation: ChatConversation) -> String {
        let names = conversation.participants.map { ($0, name($0)) }
        return conversation.displayName(for: user, names: Dictionary(names) { $1 })
    }

    /// The newest message as a line; empty if there is none.
    public func preview(of conversation: ChatConversation) -> String {
        guard let message = conversation.lastMessage else { return "" }
        if message.isDeleted { return Sentence.messageDeleted.text() }
        let text = message.text.isEmpty ? Self.text(of: message.attachments) : message.text
        if message.senderId == user { return Sentence.ownMessage.text(text) }
        return conversation.isGroup ? "\(name(message.senderId)): \(text)" : text
    }

    private static func text(of attachments: [MessageAttachment]) -> String {
        guard attachments.count == 1 else { return Sentence.attachments.text(attachments.count) }
        switch attachments[0].type {
        case .image: return Sentence.photo.text()
        case .video: return Sentence.video.text()
        case .file: return Sentence.file.text()
        }
    }

    /// Observes the list until its task is cancelled.
    public func run() async {
        for await list in repository.conversationList {
            conversations = list.filter { !$0.isArchived }
            archived = list.filter(\.isArchived)
            isLoaded = true
        }
    }

    // MARK: Actions

    /// Returns the direct conversation with another user, and creates it if needed; `nil` if that failed.
    public func open(with other: String) async -> ChatConversation? {
        await attempt { try await self.repository.directConversation(with: other, metadata: nil) }
    }

    /// Creates a group; `nil` if that failed.
    public func createGroup(with others: [String], name: String? = nil) async -> ChatConversation? {
        await attempt {
            try await self.repository.createGroup(
                with: others, name: name, metadata: nil, key: UUID().uuidString)
        }
    }

    /// Marks all known messages of a conversation as read.
    public func markRead(_ conversation: ChatConversation) async {
        await repository.markRead(in: conversation.id, upTo: nil)
    }

    /// Mutes a conversation for a time, or until it is unmuted.
    public func mute(_ conversation: ChatConversation, for duration: Duration? = nil) async {
        await attempt { try await self.repository.mute(conversation.id, for: duration) }
    }

    /// Unmutes a conversation. As for all actions, a failure is reported in ``errorMessage``.
    public func unmute(_ conversation: ChatConversation) async {
        await attempt { try await self.repository.unmute(conversation.id) }
    }

    /// Archives or unarchives a conversation.
    public func archive(_ conversation: ChatConversation, _ isArchived: Bool = true) async {
        await attempt { try await self.repository.archive(conversation.id, isArchived) }
    }

    /// Renames a group; it needs a connection.
    public func rename(_ conversation: ChatConversation, to name: String) async {
        await attempt { try await self.repository.rename(conversation.id, to: name) }
    }

    /// Leaves a group; it needs a connection.
    public func leave(_ conversation: ChatConversation) async {
        await attempt { try await self.repository.leave(conversation.id) }
    }

    @discardableResult
    private func attempt<Value>(_ body: @MainActor () async throws -> Value) async -> Value? {
        errorMessage = nil
        isBusy = true
        defer { isBusy = false }
        var value: Value?
        if let fault = await failure(of: { value = try await body() }) { errorMessage = fault }
        return value
    }
}
