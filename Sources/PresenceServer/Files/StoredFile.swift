import Passwords
import PresenceCore
import PresenceProtocol

/// The name under which a picture or another file is kept: 128 random bits, as 32 hexadecimal digits. What is new has a new
/// name, so what is served under one never changes. It is drawn into the partition of what it belongs to, so one script knows
/// both.
struct StoredName: Hashable, Sendable {
    let text: String
    /// As keys have it.
    var id: Identifier { Identifier(text)! }

    private static let bytes = 16

    init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.bytes * 2,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.text = String(text)
    }

    /// One that nobody has.
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

/// A file as clients name it: a picture that this server has made, its thumbnail, or bytes as they came.
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

        /// What the storage is told that it is.
        var type: String { self == .bytes ? "application/octet-stream" : "image/jpeg" }
    }

    let name: StoredName
    let kind: Kind

    init(_ name: StoredName, _ kind: Kind) {
        self.name = name
        self.kind = kind
    }

    /// `nil` for any other text: only such a name ever becomes a path.
    init?(_ text: String) {
        guard
            let kind = Kind.allCases.first(where: {
                text.utf8.count == 32 + $0.end.utf8.count && text.hasSuffix($0.end)
            }),
            let name = StoredName(text.dropLast(kind.end.count))
        else { return nil }
        self.init(name, kind)
    }

    /// As paths and addresses have it.
    var text: String { name.text + kind.end }
}
