import Foundation

/// The progress of an upload: any number of fractions from 0 to 1, then the stored file, once.
public enum Upload<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The fraction that was sent, from 0 to 1.
    case progress(Double)
    /// The file is stored: a picture also in the profile, an attachment for a message.
    case saved(Value)
}

/// A stored picture: at most 2,048 pixels a side, without metadata.
public struct Photo: Codable, Hashable, Sendable {
    /// The URL of the picture. Its content never changes.
    public var url: URL
    /// The URL of a small version; `nil` if there is none.
    public var thumbnailURL: URL?

    /// Creates a picture from known URLs.
    public init(url: URL, thumbnailURL: URL? = nil) {
        self.url = url
        self.thumbnailURL = thumbnailURL
    }
}

extension Photo {
    /// The rule for pictures, with texts for users.
    public enum Rule {
        /// The largest upload, in bytes: 5 MiB.
        public static let maximumBytes = 5 << 20
        /// The text for a picture of more than ``maximumBytes``.
        public static var tooLarge: String { Sentence.photoTooLarge.text() }
        /// The text for a file that is neither JPEG nor PNG.
        public static var notAnImage: String { Sentence.photoNotAnImage.text() }

        /// The fault of a picture, as a text for users; `nil` if the form finds none. Only the server can check whether it
        /// can be decoded.
        public static func fault(in picture: Data) -> String? {
            if picture.count > maximumBytes { return tooLarge }
            return mediaType(of: picture) == nil ? notAnImage : nil
        }

        /// The media type according to the first bytes: JPEG or PNG; `nil` for anything else.
        public static func mediaType(of picture: Data) -> String? {
            if picture.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
            if picture.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
            return nil
        }
    }
}
