import Foundation
import PresenceKit

/// A file to be uploaded as an attachment of a message.
public struct AttachmentFile: Hashable, Sendable {
    /// The content of a file.
    public enum Content: Hashable, Sendable {
        /// In memory.
        case data(Data)
        /// A file on disk. It is read during the upload and must exist until then.
        case file(URL)
    }

    /// The content of the file.
    public var content: Content
    /// The name that others see when they save the file, or `nil`. At most 255 bytes of UTF-8, without slashes.
    public var name: String?
    /// The media type. Files of `image/jpeg` and `image/png` become pictures with thumbnails; all others are stored
    /// unchanged.
    public var contentType: String

    /// Creates a file from data in memory.
    ///
    /// - Parameter contentType: the media type; by default that of the name's extension.
    public init(_ data: Data, name: String? = nil, contentType: String? = nil) {
        content = .data(data)
        self.name = name
        self.contentType = contentType ?? Self.contentType(of: name)
    }

    /// Creates a file from one on this device. It is sent in pieces, so it may be large.
    ///
    /// - Parameters:
    ///   - name: the name; by default that of the file on this device.
    ///   - contentType: the media type; by default that of the name's extension.
    public init(file: URL, name: String? = nil, contentType: String? = nil) {
        content = .file(file)
        self.name = name ?? file.lastPathComponent
        self.contentType = contentType ?? Self.contentType(of: self.name)
    }

    /// The media type of a name's extension, or `application/octet-stream` if the extension is unknown.
    private static func contentType(of name: String?) -> String {
        let parts = (name ?? "").split(separator: ".")
        return types[parts.last?.lowercased() ?? ""] ?? "application/octet-stream"
    }

    private static let types = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "ogg": "audio/ogg", "wav": "audio/wav",
        "pdf": "application/pdf", "zip": "application/zip",
    ]

    /// The size in bytes.
    ///
    /// - Throws: `validationFailed` with the field `file` if the size cannot be read, or it is not a regular file.
    public func size() throws(PresenceError) -> Int {
        switch content {
        case .data(let data): return data.count
        case .file(let url):
            // The target of a symbolic link is sent.
            let path = url.resolvingSymlinksInPath().path
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            guard let attributes, attributes[.type] as? FileAttributeType == .typeRegular,
                let size = attributes[.size] as? NSNumber, FileManager.default.isReadableFile(atPath: path)
            else { throw PresenceError(.validationFailed, "file cannot be read", field: "file") }
            return size.intValue
        }
    }

    /// Validates the file: it must not be empty, and the media type must be well-formed. Only the server knows the
    /// maximum size.
    ///
    /// - Returns: the size in bytes.
    /// - Throws: `validationFailed` with the field `file` or `contentType`.
    @discardableResult
    public func check() throws(PresenceError) -> Int {
        let isPlain = contentType.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        guard isPlain, contentType.split(separator: "/").count == 2 else {
            throw PresenceError(.validationFailed, "contentType is not a media type", field: "contentType")
        }
        let size = try size()
        guard size > 0 else { throw PresenceError(.validationFailed, "file must not be empty", field: "file") }
        return size
    }
}
