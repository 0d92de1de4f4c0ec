import Foundation

/// A file attached to a message, stored elsewhere.
public struct MessageAttachment: Codable, Hashable, Sendable, Identifiable {
    /// The kind of presentation.
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// A picture, a video, or any other file to download.
        case image, video, file
    }

    /// An id of the app, or the one that the server returned for an upload.
    public let id: String
    /// The kind of presentation.
    public var type: Kind
    /// The URL: https, or http for loopback hosts only.
    public var url: String
    /// The URL of a small picture, under the same rule.
    public var thumbnailURL: String?
    /// The size of the file in bytes.
    public var sizeBytes: Int64

    /// Creates an attachment for a stored file; by default with a new id.
    public init(
        id: String = UUID().uuidString, type: Kind, url: String, thumbnailURL: String? = nil, sizeBytes: Int64
    ) {
        (self.id, self.type, self.url) = (id, type, url)
        (self.thumbnailURL, self.sizeBytes) = (thumbnailURL, sizeBytes)
    }
}

/// An earlier text of a message.
public struct MessageEdit: Codable, Hashable, Sendable {
    /// The text before the edit.
    public var text: String
    /// When it was replaced.
    public var editedAt: Date

    /// Creates an earlier text.
    public init(text: String, editedAt: Date) {
        self.text = text
        self.editedAt = editedAt
    }
}
