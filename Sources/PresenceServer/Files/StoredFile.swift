import Passwords
import PresenceCore
import PresenceProtocol

/// The name of a stored picture or file: 128 random bits as 32 hexadecimal digits. New content gets a new name, so the content
/// of a name never changes. The name is drawn until it lies in its owner's partition, so that one script can handle both.
struct StoredName: Hashable, Sendable {
    let text: String
    /// The form in keys.
    var id: Identifier { Identifier(text)! }

    private static let bytes = 16

    init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.bytes * 2,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.text = String(text)
    }

    /// Draws a new name.
    init(near owner: Identifier, in partitions: Partitions) {
        let partition = partitions.index(of: owner)
        while true {
            let text = Sodium.random(Self.bytes).hexadecimal
            guard partitions.index(of: Identifier(text)!) == partition else { continue }
            self.text = text
            return
        }
    }
}

/// A file as clients name it: a picture made by this server, its thumbnail, or the uploaded bytes.
struct StoredFile: Hashable, Sendable {
    enum Kind: CaseIterable, Sendable {
        case picture, thumbnail, bytes

        fileprivate var end: String {
            switch self {
            case .picture: ".jpg"
            case .thumbnail: "-small.jpg"
            case .bytes: ".bin"
            }
        }

        /// The media type given to the storage.
        var type: String { self == .bytes ? "application/octet-stream" : "image/jpeg" }
    }

    let name: StoredName
    let kind: Kind

    init(_ name: StoredName, _ kind: Kind) {
        self.name = name
        self.kind = kind
    }

    /// `nil` for any other text, so only valid names become paths.
    init?(_ text: String) {
        guard
            let kind = Kind.allCases.first(where: {
                text.utf8.count == 32 + $0.end.utf8.count && text.hasSuffix($0.end)
            }),
            let name = StoredName(text.dropLast(kind.end.count))
        else { return nil }
        self.init(name, kind)
    }

    /// The form in paths and addresses.
    var text: String { name.text + kind.end }
}
