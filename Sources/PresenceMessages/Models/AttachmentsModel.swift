import Foundation
import Observation
import PresenceKit

/// The attachments of the next message of a conversation. Each file is uploaded as soon as it is attached, with
/// progress, retry and removal.
///
/// ```swift
/// List(model.attachments.items) { AttachmentRow($0.name, progress: $0.progressText, error: $0.errorMessage) }
/// ```
@MainActor @Observable
public final class AttachmentsModel {
    /// One file and the state of its upload.
    public struct Item: Hashable, Sendable, Identifiable {
        /// The state of a file's upload.
        public enum State: Hashable, Sendable {
            /// The fraction that was sent, from 0 to 1.
            case uploading(Double)
            /// The file is uploaded and can be sent.
            case uploaded(MessageAttachment)
            /// The reason as a text for users, and whether a retry may succeed.
            case failed(String, canRetry: Bool)
        }

        /// Local to this device; not the attachment's id.
        public let id = UUID()
        /// The uploaded file.
        public let file: AttachmentFile
        /// The state of the upload.
        public internal(set) var state = State.uploading(0)

        /// The name of the file; `File` without one.
        public var name: String { file.name ?? Sentence.file.text() }
        /// A text such as `Uploading... 47%`; `nil` unless the file is being uploaded.
        public var progressText: String? {
            if case .uploading(let part) = state { Sentence.uploading.text(Int(part * 100)) } else { nil }
        }
        /// The attachment for the message; `nil` before it is uploaded.
        public var attachment: MessageAttachment? {
            if case .uploaded(let attachment) = state { attachment } else { nil }
        }
        /// Why the upload failed, as a text for users.
        public var errorMessage: String? {
            if case .failed(let message, _) = state { message } else { nil }
        }
        /// Whether ``AttachmentsModel/retry(_:)`` may succeed.
        public var canRetry: Bool {
            if case .failed(_, let canRetry) = state { canRetry } else { false }
        }
    }

    /// The files in the order in which they were attached.
    public private(set) var items: [Item] = []
    /// Why the last file was not accepted, as a text for users.
    public private(set) var errorMessage: String?

    private let repository: any MessageRepository
    private let conversation: String
    private var uploads: [UUID: Task<Void, Never>] = [:]

    /// Creates a model of the attachments for one conversation.
    public init(_ messages: any MessageRepository, conversation: String) {
        repository = messages
        self.conversation = conversation
    }

    /// Whether all files are uploaded.
    public var isReady: Bool { items.allSatisfy { $0.attachment != nil } }

    /// Uploads a file for the next message. Returns when the upload has succeeded or failed. If the task is cancelled,
    /// the file is removed.
    public func attach(_ file: AttachmentFile) async {
        errorMessage = nil
        guard items.count < Message.Rule.maximumAttachments else {
            return errorMessage = Sentence.tooManyFiles.text(Message.Rule.maximumAttachments)
        }
        let item = Item(file: file)
        items.append(item)
        await begin(item)
    }

    /// Repeats a failed upload.
    public func retry(_ item: Item) async {
        guard items.first(where: { $0.id == item.id })?.canRetry == true else { return }
        set(item.id, .uploading(0))
        await begin(item)
    }

    /// Removes a file and cancels its upload.
    public func remove(_ item: Item) {
        errorMessage = nil
        uploads.removeValue(forKey: item.id)?.cancel()
        items.removeAll { $0.id == item.id }
    }

    /// Removes all files, because they are being sent.
    func take() -> [Item] {
        defer { items = [] }
        return items
    }

    /// Restores files that could not be sent.
    func putBack(_ taken: [Item]) { items.insert(contentsOf: taken, at: 0) }

    private func begin(_ item: Item) async {
        let task = Task { await upload(item) }
        uploads[item.id] = task
        _ = await task.resultForCaller
        if uploads[item.id] == task { uploads[item.id] = nil }
    }

    private func upload(_ item: Item) async {
        var state: Item.State?
        do {
            for try await step in repository.upload(item.file, to: conversation) {
                switch step {
                case .progress(let part): set(item.id, .uploading(part))
                case .saved(let attachment): state = .uploaded(attachment)
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
