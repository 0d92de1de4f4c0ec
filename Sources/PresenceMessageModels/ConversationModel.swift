import Foundation
import Observation
import PresenceKit
import PresenceMessages
import PresenceModels

/// One conversation on a screen: its messages, who types, and the text that the user writes.
///
/// ```swift
/// List(model.messages) { MessageRow($0, status: model.statusText(of: $0)) }
///     .task { await model.run() }
/// ```
@MainActor @Observable
public final class ConversationModel {
    /// Which conversation it shows.
    public let id: String
    /// The own user.
    public let user: String
    /// Oldest first; those on their way stand at the end.
    public private(set) var messages: [Message] = []
    /// `nil` until it is known, and after the user has left it.
    public private(set) var conversation: ChatConversation?
    /// Who else types.
    public let typing: TypingModel
    /// The files that the next message is to have attached.
    public let attachments: AttachmentsModel
    /// Whether ``loadEarlier(limit:)`` may add messages.
    public private(set) var hasEarlier = false
    /// Whether an earlier page is under way.
    public private(set) var isLoadingEarlier = false
    /// The message whose text is being changed.
    public private(set) var editing: Message?
    /// Changes of this conversation that waited for a connection, and that the server then refused: each until
    /// ``retry(_:)-(MessageChange)`` or ``discard(_:)-(MessageChange)``.
    public private(set) var refusedChanges: [MessageChange] = []
    /// Why the last thing that was asked for was not done, for people.
    public private(set) var errorMessage: String?

    /// The text field: of a new message, or of the one that is ``editing``. Others see that the user types.
    public var text: String {
        get { field }
        set {
            guard newValue != field else { return }
            field = newValue
            errorMessage = nil
            if editing == nil { typing.textChanged(newValue) }
        }
    }

    /// Whether the next message is marked as urgent; `false` again when it is sent. What is being ``editing`` stays as it is.
    public var isPriority = false
    /// Why it is, in the user's words; cut to length while it is typed. It is sent with ``isPriority`` only.
    public var priorityReason: String {
        get { reason }
        set { reason = String(newValue.prefix(MessageRule.maximumReasonCharacters)) }
    }

    /// Whether the user looks at it: what is shown then counts as read.
    public var isVisible = false {
        didSet { if isVisible, !oldValue { Task { await markRead() } } }
    }

    private let repository: any MessageRepository
    private let conversations: any ConversationRepository
    private let name: (String) -> String
    private var field = ""
    private var reason = ""
    /// What stood in the field before ``beginEditing(_:)``.
    private var draft = ""
    /// Up to which message the server was told that it is read.
    private var marked: Int64 = 0

    /// - Parameters:
    ///   - user: the own user.
    ///   - pause: after so long without a key press the user does not type any more.
    ///   - name: what somebody is called.
    public init(
        conversation: String, user: String, messages: any MessageRepository, conversations: any ConversationRepository,
        typing: any TypingService, pause: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock(),
        name: @escaping (String) -> String = { $0 }
    ) {
        id = conversation
        self.user = user
        repository = messages
        self.conversations = conversations
        attachments = AttachmentsModel(messages, conversation: conversation)
        self.name = name
        self.typing = TypingModel(typing, conversation: conversation, pause: pause, clock: clock, name: name)
    }

    // MARK: What is shown

    /// What the conversation is called; empty until it is known.
    public var title: String {
        guard let conversation else { return "" }
        let names = conversation.participants.map { ($0, name($0)) }
        return conversation.displayName(for: user, names: Dictionary(names) { $1 })
    }

    /// Whether the user wrote a message.
    public func isOwn(_ message: Message) -> Bool { message.senderId == user }

    /// What the sender is called.
    public func sender(of message: Message) -> String { name(message.senderId) }

    /// What stands beside an own message; `nil` beside others' and deleted ones.
    public func statusText(of message: Message) -> String? {
        guard isOwn(message), !message.isDeleted else { return nil }
        switch message.status {
        case .sending: return "Sending…"
        case .sent: return "Sent"
        case .delivered where message.readCount > 0: return "Read by \(message.readCount)"
        case .delivered: return "Delivered"
        case .read: return "Read"
        case .failed: return "Not sent: \(message.failure?.localizedDescription ?? "refused")"
        }
    }

    /// What is wrong with the text, while it is written; `nil` for an empty field.
    public var textError: String? {
        guard !trimmed.isEmpty else { return nil }
        do {
            try MessageRule.check(text: trimmed)
            return nil
        } catch {
            return error.message
        }
    }

    /// Whether ``send()`` has something to do: a text that keeps the rule and differs from what is being changed; or files,
    /// all uploaded, with a text or without.
    public var canSend: Bool {
        guard textError == nil else { return false }
        if let editing { return !trimmed.isEmpty && trimmed != editing.text }
        return attachments.isReady && !(trimmed.isEmpty && attachments.items.isEmpty)
    }

    /// Whether the text of a message may be changed: of one's own, as long as it is there.
    public func canEdit(_ message: Message) -> Bool { isOwn(message) && message.sequence != nil && !message.isDeleted }

    /// Whether a message may be deleted: one's own, and in a group of one's own any.
    public func canDelete(_ message: Message) -> Bool {
        message.sequence != nil && !message.isDeleted && (isOwn(message) || conversation?.owner == user)
    }

    private var trimmed: String { field.trimmingCharacters(in: .whitespacesAndNewlines) }

    // MARK: What happens

    /// Follows the conversation until its task is cancelled.
    public func run() async {
        async let typists: Void = typing.run()
        async let list: Void = followConversation()
        async let refused: Void = followRefusals()
        for await newer in repository.messages(in: id) {
            messages = newer.messages
            // What was being changed is gone.
            if let editing, newer.contains(where: { $0.id == editing.id && $0.isDeleted }) { cancelEditing() }
            hasEarlier = await repository.hasEarlier(in: id)
            if isVisible { await markRead() }
        }
        await typists
        await list
        await refused
    }

    private func followRefusals() async {
        for await changes in repository.refusedChanges {
            refusedChanges = changes.filter { $0.conversationId == id }
        }
    }

    private func followConversation() async {
        for await list in conversations.conversationList { conversation = list.first { $0.id == id } }
    }

    private func markRead() async {
        let last = messages.last { $0.sequence != nil && !isOwn($0) }?.sequence ?? 0
        guard last > marked else { return }
        marked = last
        await conversations.markRead(in: id, upTo: last)
    }

    // MARK: What the user does

    /// Sends what is written, with the ``attachments``, or changes the message that is ``editing``. What cannot be sent is
    /// back where it was.
    public func send() async {
        guard canSend else { return }
        let text = trimmed
        errorMessage = nil
        if let editing { return await change(editing, to: text) }
        field = ""
        typing.stop()
        let files = attachments.take()
        let priority = (isPriority, reason)
        let why = isPriority ? reason.trimmingCharacters(in: .whitespacesAndNewlines) : ""
        let message = Message(
            conversationId: id, senderId: user, text: text, attachments: files.compactMap(\.attachment),
            isPriority: isPriority, priorityReason: why.isEmpty ? nil : why)
        (isPriority, reason) = (false, "")
        guard await !attempt({ try await self.repository.send(message) }) else { return }
        if field.isEmpty { field = text }
        if !isPriority { (isPriority, reason) = priority }
        attachments.putBack(files)
    }

    private func change(_ message: Message, to text: String) async {
        guard await attempt({ try await self.repository.edit(message, text: text) }) else { return }
        // Another one may have been chosen meanwhile.
        if editing?.id == message.id { cancelEditing() }
    }

    /// Puts a message's text into the field, to be changed. What stands there is back afterwards.
    public func beginEditing(_ message: Message) {
        guard canEdit(message) else { return }
        if editing == nil {
            draft = field
            typing.stop()
        }
        (editing, errorMessage) = (message, nil)
        field = message.text
    }

    /// Leaves the message as it is, and puts back what stood in the field before ``beginEditing(_:)``.
    public func cancelEditing() {
        guard editing != nil else { return }
        (editing, field, draft) = (nil, draft, "")
    }

    /// Deletes a message, if ``canDelete(_:)``.
    public func delete(_ message: Message) async {
        guard canDelete(message) else { return }
        await attempt { try await self.repository.delete(message) }
    }

    /// Sends a message again that has failed.
    public func retry(_ message: Message) async { await attempt { try await self.repository.retry(message.id) } }

    /// Drops a message that has failed.
    public func discard(_ message: Message) async { await attempt { try await self.repository.discard(message.id) } }

    /// Makes a change again that was refused.
    public func retry(_ change: MessageChange) async { await attempt { try await self.repository.retry(change.id) } }

    /// Drops a change that was refused.
    public func discard(_ change: MessageChange) async {
        await attempt { try await self.repository.discard(change.id) }
    }

    /// Adds the page before the oldest message, unless that is under way.
    public func loadEarlier(limit: Int = 50) async {
        guard hasEarlier, !isLoadingEarlier else { return }
        isLoadingEarlier = true
        defer { isLoadingEarlier = false }
        await attempt { self.hasEarlier = try await self.repository.loadEarlier(in: self.id, limit: limit) }
    }

    @discardableResult
    private func attempt<Value>(_ body: () async throws -> Value) async -> Bool {
        errorMessage = nil
        do {
            _ = try await body()
            return true
        } catch is CancellationError {
        } catch {
            errorMessage = error.localizedDescription
        }
        return false
    }
}
