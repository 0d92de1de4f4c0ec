/// The formats of pictures that the server makes small and harmless, recognised by a file's first bytes.
///
/// Any upload that begins so is handled as a picture, whatever its media type, because photos contain their location.
enum PictureFormat {
    /// How JPEG and PNG files begin.
    private static let beginnings: [[UInt8]] = [[0xFF, 0xD8, 0xFF], [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]]
    /// In bytes.
    static let longestBeginning = 8

    static func begins(_ bytes: [UInt8]) -> Bool { beginnings.contains { bytes.starts(with: $0) } }
}
