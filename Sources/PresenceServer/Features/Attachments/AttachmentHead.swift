import PresenceProtocol
import WebSockets

/// The properties of an upload stated in its request, before the body.
struct AttachmentHead: Equatable {
    /// `video` is playable in browsers.
    enum Kind: String { case image, video, file }

    /// The file's name on the client's device, if the client sent one.
    let name: String?
    private(set) var kind: Kind
    /// The media type with which the file is served; `nil` for `application/octet-stream`, and for pictures, because the server
    /// serves a version of its own.
    private(set) var type: String?

    /// In bytes of UTF-8, the limit of file systems.
    static let longestName = 255
    /// Media types of pictures that the server makes small and harmless, including unofficial names that programs use.
    private static let images = ["image/jpeg", "image/png", "image/jpg", "image/pjpeg", "image/x-png"]
    /// Media types that run no code in browsers; everything else is served as bytes.
    private static let harmless = [
        "application/pdf", "application/zip", "audio/aac", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/wav",
        "image/gif",
        "image/webp", "video/mp4", "video/quicktime", "video/webm",
    ]

    /// - Parameters:
    ///   - query: The query of the request's target; `name` is percent-encoded.
    ///   - type: The header `Content-Type`.
    /// - Throws: The reason why the name is invalid.
    init(query: String, type: String?) throws(DecodingFailure) {
        name = try Self.name(query)
        let type = (type ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        kind = Self.images.contains(type) ? .image : type.hasPrefix("video/") ? .video : .file
        self.type = Self.harmless.contains(type) ? type : nil
    }

    mutating func becomePicture() { (kind, type) = (.image, nil) }

    private static func name(_ query: String) throws(DecodingFailure) -> String? {
        let values = query.split(separator: "&").compactMap { pair -> Substring? in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts[0] == "name" ? parts.count > 1 ? parts[1] : "" : nil
        }
        guard let value = values.first else { return nil }
        guard values.count == 1 else { throw .invalid("name", "must be given only once") }
        // A plus sign stays a plus sign: this is not form encoding.
        guard let bytes = decoded(value), let name = String(validating: bytes, as: UTF8.self) else {
            throw .invalid("name", "must be percent-encoded UTF-8")
        }
        guard (1...longestName).contains(bytes.count) else {
            throw .invalid("name", "must be 1 to \(longestName) bytes long")
        }
        guard name.unicodeScalars.allSatisfy(FreeText.allows) else {
            throw .invalid("name", "must be without control and bidirectional-control characters")
        }
        guard !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }), name != ".",
            name != ".."
        else { throw .invalid("name", "must be a file's name without its folders") }
        return name
    }

    /// `nil` if a percent sign is not followed by two digits.
    private static func decoded(_ text: Substring) -> [UInt8]? {
        var (bytes, rest): ([UInt8], Substring.UTF8View) = ([], text.utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.utf8.count == 2, digits.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2D }),
                let value = UInt8(digits, radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

/// The header that offers a file for saving (RFC 6266).
enum AttachmentDisposition {
    /// `attachment`, with the name in ASCII and encoded by RFC 8187, because clients read either.
    static func text(_ name: String?) -> String {
        guard let name else { return "attachment" }
        let plain = name.unicodeScalars.map { scalar -> Character in
            let isPlain = (0x20...0x7E).contains(scalar.value) && !["\"", "\\", "%"].contains(scalar)
            return isPlain ? Character(scalar) : "_"
        }
        let encoded = name.utf8.map { byte in
            isPlain(byte) ? String(UnicodeScalar(byte)) : "%" + [byte].hexadecimal.uppercased()
        }
        return "attachment; filename=\"\(String(plain))\"; filename*=UTF-8''\(encoded.joined())"
    }

    /// RFC 8187, 3.2.1: `attr-char`.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$&+-.^_`|~".utf8.contains(byte)
        }
    }
}
