import Foundation
import Observation
import PresenceKit
import PresenceMessages

/// The files that the next message of a conversation is to have attached: each is uploaded at once, with progress, retry and
/// removal.
///
/// ```swift
/// List(model.attachments.items) { AttachmentRow($0.name, progress: $0.progressText, error: $0.errorMessage) }
/// ```
@MainActor @Observable
public final class AttachmentsModel {
    /// One file, and how far it is.
    public struct Item: Hashable, Sendable, Identifiable {
        /// How far a file is.
        public enum State: Hashable, Sendable {
            /// How much of it was sent, from 0 to 1.
            case uploading(Double)
            /// It can be sent.
            case uploaded(MessageAttachment)
            /// Why it was not uploaded, for people, and whether that may be otherwise if it is tried again.
            case failed(String, canRetry: Bool)
        }

        /// Made here; not the attachment's.
        public let id = UUID()
        /// What is uploaded.
        public let file: AttachmentFile
        /// How far it is.
        public internal(set) var state = State.uploading(0)

        /// What it is called; `File` without a name.
        public var name: String { file.name ?? "File" }
        /// Such as `Uploading... 47%`; `nil` while it is not uploaded.
        public var progressText: String? {
            if case .uploading(let part) = state { "Uploading... \(Int(part * 100))%" } else { nil }
        }
        /// What a message has; `nil` before it is uploaded.
        public var attachment: MessageAttachment? {
            if case .uploaded(let attachment) = state { attachment } else { nil }
        }
        /// Why it was not uploaded, for people.
        public var errorMessage: String? {
            if case .failed(let message, _) = state { message } else { nil }
        }
        /// Whether ``AttachmentsModel/retry(_:)`` may help.
        public var canRetry: Bool {
            if case .failed(_, let canRetry) = state { canRetry } else { false }
        }
    }

    /// In the order in which they were attached.
    public private(set) var items: [Item] = []
    /// Why the last file was not taken, for people.
    public private(set) var errorMessage: String?

    private let repository: any MessageRepository
    private let conversation: String
    private var uploads: [UUID: Task<Void, Never>] = [:]

    /// Makes a model of the files for one conversation.
    public init(_ messages: any MessageRepository, conversation: String) {
        repository = messages
        self.conversation = conversation
    }

    /// Whether all of them can be sent.
    public var isReady: Bool { items.allSatisfy { $0.attachment != nil } }

    /// Uploads a file for the next message. It returns when that is done, or has failed; where the task is cancelled, the file
    /// is removed.
    public func attach(_ file: AttachmentFile) async {
        errorMessage = nil
        guard items.count < MessageRule.maximumAttachments else {
            return errorMessage = "At most \(MessageRule.maximumAttachments) files can be attached."
        }
        let item = Item(file: file)
        items.append(item)
        await begin(item)
    }

    /// Uploads a file again that has failed.
    public func retry(_ item: Item) async {
        guard items.first(where: { $0.id == item.id })?.canRetry == true else { return }
        set(item.id, .uploading(0))
        await begin(item)
    }

    /// Removes a file; its upload ends.
    public func remove(_ item: Item) {
        errorMessage = nil
        uploads.removeValue(forKey: item.id)?.cancel()
        items.removeAll { $0.id == item.id }
    }

    /// Removes all of them, because they are being sent.
    func take() -> [Item] {
        defer { items = [] }
        return items
    }

    /// What was taken could not be sent.
    func putBack(_ taken: [Item]) { items.insert(contentsOf: taken, at: 0) }

    private func begin(_ item: Item) async {
        let task = Task { await upload(item) }
        uploads[item.id] = task
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        if uploads[item.id] == task { uploads[item.id] = nil }
    }

    private func upload(_ item: Item) async {
        var state: Item.State?
        do {
            for try await step in repository.upload(item.file, to: conversation) {
                switch step {
                case .progress(let part): set(item.id, .uploading(part))
                case .uploaded(let attachment): state = .uploaded(attachment)
                }
            }
        } catch is CancellationError {
        } catch {
            let canRetry = (error as? PresenceError)?.isPassing ?? true
            state = .failed(error.localizedDescription, canRetry: canRetry)
        }
        if let state, !Task.isCancelled { set(item.id, state) } else { items.removeAll { $0.id == item.id } }
    }

    private func set(_ id: UUID, _ state: Item.State) {
        if let index = items.firstIndex(where: { $0.id == id }) { items[index].state = state }
    }
}
