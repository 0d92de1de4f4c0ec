import Foundation

/// Something beside a message's text, stored elsewhere.
public struct MessageAttachment: Codable, Hashable, Sendable, Identifiable {
    /// How it is to be shown.
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// A picture; a film; anything else, to be downloaded.
        case image, video, file
    }

    /// The app's own, or as the server gave it to an upload.
    public let id: String
    /// How it is to be shown.
    public var type: Kind
    /// https; http for loopback hosts only.
    public var url: String
    /// The same for a small picture of it.
    public var thumbnailURL: String?
    /// How large the file is, in bytes.
    public var sizeBytes: Int64

    /// Makes an attachment of a file that is stored already; by default with an id of its own.
    public init(
        id: String = UUID().uuidString, type: Kind, url: String, thumbnailURL: String? = nil, sizeBytes: Int64
    ) {
        self.id = id
        self.type = type
        self.url = url
        self.thumbnailURL = thumbnailURL
        self.sizeBytes = sizeBytes
    }
}

/// An earlier text of a message.
public struct MessageEdit: Codable, Hashable, Sendable {
    /// What the message said before.
    public var text: String
    /// When it was replaced.
    public var editedAt: Date

    /// Makes an earlier text.
    public init(text: String, editedAt: Date) {
        self.text = text
        self.editedAt = editedAt
    }
}
