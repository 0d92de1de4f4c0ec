import Foundation

/// Something beside a message's text, stored elsewhere.
public struct MessageAttachment: Codable, Hashable, Sendable, Identifiable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        case image, video, file
    }

    /// The app's own.
    public let id: String
    public var type: Kind
    /// https.
    public var url: String
    /// https.
    public var thumbnailURL: String?
    public var sizeBytes: Int64

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
    public var text: String
    /// When it was replaced.
    public var editedAt: Date

    public init(text: String, editedAt: Date) {
        self.text = text
        self.editedAt = editedAt
    }
}
