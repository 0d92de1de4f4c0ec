import Foundation

/// Where pictures of the own user go to.
public protocol PhotoRepository: Sendable {
    /// Uploads a picture, JPEG or PNG, and shows it in the profile. The upload begins at once; cancelling the task that
    /// iterates, or dropping the stream, ends it, and the former picture stays.
    ///
    /// Throws ``UserError/invalid(field:reason:)`` for a picture that cannot be used; after any other error the same call
    /// again is a retry.
    func uploadPhoto(_ picture: Data) -> AsyncThrowingStream<PhotoUpload, any Error>
    /// Removes the picture from the profile; that there is none is no error.
    func removePhoto() async throws
}

/// How an upload goes: how much was sent, from 0 to 1, any number of times; then the picture, once.
public enum PhotoUpload: Hashable, Sendable {
    /// How much of the picture was sent, from 0 to 1.
    case progress(Double)
    /// It is stored, and in the profile.
    case saved(Photo)
}

/// A picture as it is stored: at most 2,048 pixels a side, without metadata.
public struct Photo: Codable, Hashable, Sendable {
    /// The picture; it does not change behind its address.
    public var url: URL
    /// The same picture, small; `nil` where there is none.
    public var thumbnailURL: URL?

    /// Makes a picture of addresses that are known.
    public init(url: URL, thumbnailURL: URL? = nil) {
        self.url = url
        self.thumbnailURL = thumbnailURL
    }
}

/// What a picture must be, with the texts that people are shown.
public enum PhotoRule {
    /// The largest upload, in bytes: 5 MiB.
    public static let maximumBytes = 5 << 20
    /// What people are shown for a picture of more than ``maximumBytes``.
    public static let tooLarge = "Image is too large. Maximum size is 5MB."
    /// What people are shown for anything but a JPEG or PNG.
    public static let notAnImage = "Failed to process image"

    /// What is wrong with a picture, for people; `nil` if nothing is. Whether it can be shown, only the server can tell.
    public static func fault(in picture: Data) -> String? {
        if picture.count > maximumBytes { return tooLarge }
        return mediaType(of: picture) == nil ? notAnImage : nil
    }

    /// The media type, by the first bytes: JPEG or PNG; `nil` for anything else.
    public static func mediaType(of picture: Data) -> String? {
        if picture.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if picture.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        return nil
    }
}
