import Foundation
import Observation
import PresenceKit

/// One conversation on a screen: its messages, the typing users, and the text that the user writes.
///
/// ```swift
/// List(model.messages) { MessageRow($0, status: model.statusText(of: $0)) }
///     .task { await model.run() }
/// ```
@MainActor @Observable
public final class ConversationModel {
    /// The id of the conversation.
    public let id: String
    /// The signed-in user.
    public let user: String
    /// Oldest first; messages being sent are at the end.
    public var messages: [Message] {
        access(keyPath: \.messages)
        return rows
    }
    /// Whether the messages come from this device, and the server has not confirmed them since the launch.
    public private(set) var isStale = false
    /// `nil` until it is known, and after the user has left it.
    public private(set) var conversation: ChatConversation?
    /// The other users who are typing.
    public let typing: TypingModel
    /// The attachments of the next message.
    public let attachments: AttachmentsModel
    /// Whether ``loadEarlier(limit:)`` may add messages.
    public private(set) var hasEarlier = false
    /// Whether an earlier page is being loaded.
    public private(set) var isLoadingEarlier = false
    /// The message whose text is being edited.
    public private(set) var editing: Message?
    /// Queued changes of this conversation that the server rejected. Each stays until ``retry(_:)-(MessageChange)`` or
    /// ``discard(_:)-(MessageChange)``.
    public private(set) var refusedChanges: [MessageChange] = []
    /// Why the last operation failed, as a text for users.
    public private(set) var errorMessage: String?

    /// The content of the text field: a new message, or the one being ``editing``. Others see that the user is typing.
    public var text: String {
        get { field }
        set {
            guard newValue != field else { return }
            field = newValue
            errorMessage = nil
            if editing == nil { typing.textChanged(newValue) }
        }
    }

    /// Whether the next message is marked as urgent; reset when it is sent. It does not affect a message being
    /// ``editing``.
    public var isPriority = false
    /// The user's reason for the urgency, cut to the maximum length while it is typed. It is only sent with
    /// ``isPriority``.
    public var priorityReason: String {
        get { reason }
        set { reason = String(newValue.prefix(Message.Rule.maximumReasonCharacters)) }
    }

    /// Whether the conversation is visible: shown messages then count as read.
    public var isVisible = false {
        didSet { if isVisible, !oldValue { Task { await markRead() } } }
    }

    private let repository: any MessageRepository
    private let name: (String) -> String
    /// Not a property of the macro, whose setter compares the two lists, row by row.
    @ObservationIgnored private var rows: [Message] = []
    private var field = ""
    private var reason = ""
    /// The text in the field before ``beginEditing(_:)``.
    private var draft = ""
    /// The last message that was reported to the server as read.
    private var marked: Int64 = 0

    /// - Parameters:
    ///   - user: the signed-in user.
    ///   - pause: the time without a key press after which typing ends.
    ///   - name: returns the displayed name of a user.
    public init(
        conversation: String, user: String, messages: any MessageRepository, typing: PresenceClient,
        pause: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock(),
        name: @escaping (String) -> String = { $0 }
    ) {
        id = conversation
        self.user = user
        repository = messages
        attachments = AttachmentsModel(messages, conversation: conversation)
        self.name = name
        self.typing = TypingModel(typing, conversation: conversation, pause: pause, clock: clock, name: name)
    }

    // MARK: Values

    /// The title of the conversation; empty until it is known.
    public var title: String {
        guard let conversation else { return "" }
        let names = conversation.participants.map { ($0, name($0)) }
        return conversation.displayName(for: user, names: Dictionary(names) { $1 })
    }

    /// Whether the user wrote a message.
    public func isOwn(_ message: Message) -> Bool { message.senderId == user }

    /// The displayed name of the sender.
    public func sender(of message: Message) -> String { name(message.senderId) }

    /// The status beside a message of this user; `nil` for others' and deleted messages.
    public func statusText(of message: Message) -> String? {
        guard isOwn(message), !message.isDeleted else { return nil }
        switch message.status {
        case .sending: return Sentence.sending.text()
        case .sent: return Sentence.sent.text()
        case .delivered where message.readCount > 0: return Sentence.readBy.text(message.readCount)
        case .delivered: return Sentence.delivered.text()
        case .read: return Sentence.read.text()
        case .failed: return Sentence.notSent.text((message.failure ?? PresenceError(.badRequest)).localizedDescription)
        }
    }

    /// The fault of the text, as a text for users; `nil` for an empty field.
    public var textError: String? { trimmed.isEmpty ? nil : Message.Rule.fault(in: trimmed) }

    /// Whether ``send()`` has something to send: a valid text that differs from that of the edited message, or uploaded
    /// files with or without a text.
    public var canSend: Bool {
        guard textError == nil else { return false }
        if let editing { return !trimmed.isEmpty && trimmed != editing.text }
        return attachments.isReady && !(trimmed.isEmpty && attachments.items.isEmpty)
    }

    /// Whether the text of a message can be edited: a sent message of this user that is not deleted.
    public func canEdit(_ message: Message) -> Bool { isOwn(message) && message.sequence != nil && !message.isDeleted }

    /// Whether a message can be deleted: the user's own, and any in a group that the user owns.
    public func canDelete(_ message: Message) -> Bool {
        message.sequence != nil && !message.isDeleted && (isOwn(message) || conversation?.owner == user)
    }

    private var trimmed: String { field.trimmingCharacters(in: .whitespacesAndNewlines) }

    // MARK: Observing

    /// Observes the conversation until its task is cancelled.
    public func run() async {
        async let typists: Void = typing.run()
        async let list: Void = observeConversation()
        async let refused: Void = observeRefusals()
        for await newer in repository.messages(in: id) {
            withMutation(keyPath: \.messages) { rows = newer.messages }
            isStale = newer.isStale
            // The edited message was deleted.
            if let editing, newer.changes.changed.contains(editing.id), newer[editing.id]?.isDeleted == true {
                cancelEditing()
            }
            hasEarlier = await repository.hasEarlier(in: id)
            if isVisible { await markRead() }
        }
        await typists
        await list
        await refused
    }

    private func observeRefusals() async {
        for await changes in repository.refusedChanges {
            refusedChanges = changes.filter { $0.conversationId == id }
        }
    }

    private func observeConversation() async {
        for await list in repository.conversationList { conversation = list.first { $0.id == id } }
    }

    private func markRead() async {
        let last = messages.last { $0.sequence != nil && !isOwn($0) }?.sequence ?? 0
        guard last > marked else { return }
        marked = last
        await repository.markRead(in: id, upTo: last)
    }

    // MARK: Actions

    /// Sends the text with the ``attachments``, or changes the message being ``editing``. If that fails, text and
    /// attachments are restored.
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
        // The user may have started to edit another message in the meantime.
        if editing?.id == message.id { cancelEditing() }
    }

    /// Puts a message's text into the field for editing. The current text is restored afterwards.
    public func beginEditing(_ message: Message) {
        guard canEdit(message) else { return }
        if editing == nil {
            draft = field
            typing.stop()
        }
        (editing, errorMessage) = (message, nil)
        field = message.text
    }

    /// Ends editing without a change, and restores the text from before ``beginEditing(_:)``.
    public func cancelEditing() {
        guard editing != nil else { return }
        (editing, field, draft) = (nil, draft, "")
    }

    /// Deletes a message, if ``canDelete(_:)``.
    public func delete(_ message: Message) async {
        guard canDelete(message) else { return }
        await attempt { try await self.repository.delete(message) }
    }

    /// Sends a failed message again.
    public func retry(_ message: Message) async { await attempt { try await self.repository.retry(message.id) } }

    /// Discards a failed message.
    public func discard(_ message: Message) async { await attempt { try await self.repository.discard(message.id) } }

    /// Makes a rejected change again.
    public func retry(_ change: MessageChange) async { await attempt { try await self.repository.retry(change.id) } }

    /// Discards a rejected change.
    public func discard(_ change: MessageChange) async {
        await attempt { try await self.repository.discard(change.id) }
    }

    /// Loads the page before the oldest message, unless one is being loaded.
    public func loadEarlier(limit: Int = 50) async {
        guard hasEarlier, !isLoadingEarlier else { return }
        isLoadingEarlier = true
        defer { isLoadingEarlier = false }
        await attempt { self.hasEarlier = try await self.repository.loadEarlier(in: self.id, limit: limit) }
    }

    @discardableResult
    private func attempt<Value>(_ body: @MainActor () async throws -> Value) async -> Bool {
        errorMessage = nil
        var isDone = false
        let fault = await failure {
            _ = try await body()
            isDone = true
        }
        if let fault { errorMessage = fault }
        return isDone
    }
}
