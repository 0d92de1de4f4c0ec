import Foundation
import PresenceKit

/// A file that is to be uploaded, so that a message can have it attached.
public struct AttachmentFile: Hashable, Sendable {
    /// Where its bytes are.
    public enum Content: Hashable, Sendable {
        /// In memory.
        case data(Data)
        /// In a file, which is read while it is sent, and has to stay until then.
        case file(URL)
    }

    /// Where its bytes are.
    public var content: Content
    /// What it is called, as others are offered it for saving; `nil` for no name. At most 255 bytes of UTF-8, without
    /// slashes.
    public var name: String?
    /// Its media type. `image/jpeg` and `image/png` become pictures with thumbnails; everything else is kept as it is.
    public var contentType: String

    /// A file in memory.
    ///
    /// - Parameter contentType: its media type; if it is left out, by the extension of the name.
    public init(_ data: Data, name: String? = nil, contentType: String? = nil) {
        content = .data(data)
        self.name = name
        self.contentType = contentType ?? Self.contentType(of: name)
    }

    /// A file on this device. It is sent in pieces, however large it is.
    ///
    /// - Parameters:
    ///   - name: what it is called; if it is left out, as it is here.
    ///   - contentType: its media type; if it is left out, by the extension of the name.
    public init(file: URL, name: String? = nil, contentType: String? = nil) {
        content = .file(file)
        self.name = name ?? file.lastPathComponent
        self.contentType = contentType ?? Self.contentType(of: self.name)
    }

    /// The media type by a name's extension: one that servers serve as such, or `application/octet-stream`.
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

    /// How large it is, in bytes.
    ///
    /// - Throws: `validationFailed` with the field `file` if that cannot be read, or it is not a file.
    public func size() throws(PresenceError) -> Int {
        switch content {
        case .data(let data): return data.count
        case .file(let url):
            // What a link leads to is what is sent.
            let path = url.resolvingSymlinksInPath().path
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            guard let attributes, attributes[.type] as? FileAttributeType == .typeRegular,
                let size = attributes[.size] as? NSNumber, FileManager.default.isReadableFile(atPath: path)
            else { throw PresenceError(.validationFailed, "file cannot be read", field: "file") }
            return size.intValue
        }
    }

    /// Looks at what no server takes: an empty file, or a media type that is none. How large a file may be, the server says.
    ///
    /// - Returns: how large it is, in bytes.
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

/// How an upload goes: how much was sent, any number of times; then the attachment, once.
public enum AttachmentUpload: Hashable, Sendable {
    /// How much of the file was sent, from 0 to 1. It begins again where a lost connection made it begin again.
    case progress(Double)
    /// It is stored: what a message's `attachments` are made of.
    case uploaded(MessageAttachment)
}
