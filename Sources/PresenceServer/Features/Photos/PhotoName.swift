import Passwords
import PresenceCore
import PresenceProtocol

/// The name of a picture: 128 random bits, as 32 hexadecimal digits. A new picture has a new name, so what is served under one
/// never changes. It was drawn into the partition of its user, so one script knows both.
struct PhotoName: Hashable, Sendable {
    let text: String
    /// As keys have it.
    var id: Identifier { Identifier(text)! }

    private static let bytes = 16

    init?(_ text: String) {
        guard text.utf8.count == Self.bytes * 2,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.text = text
    }

    /// One that nobody has.
    init(near user: UserID, in partitions: Partitions) {
        let partition = partitions.index(of: user)
        while true {
            let text = Sodium.random(Self.bytes).hexadecimal
            guard partitions.index(of: Identifier(text)!) == partition else { continue }
            self.text = text
            return
        }
    }
}

/// A file of a picture, as clients name it: the photo, or its thumbnail.
struct PhotoFile: Hashable, Sendable {
    let photo: PhotoName
    let isThumbnail: Bool

    private static let (end, thumbnailEnd) = (".jpg", "-small.jpg")
    /// Where they are served.
    static let path = "/v1/photos/"
    /// What an address begins with as profiles hold it: the rest is put before it when it is told. Clients cannot give such a one.
    static let mark = "photo:"

    init(_ photo: PhotoName, isThumbnail: Bool) {
        self.photo = photo
        self.isThumbnail = isThumbnail
    }

    /// `nil` for any other text: only such a name ever becomes a path.
    init?(_ name: String) {
        guard name.hasSuffix(Self.end) else { return nil }
        isThumbnail = name.hasSuffix(Self.thumbnailEnd)
        guard let photo = PhotoName(String(name.dropLast((isThumbnail ? Self.thumbnailEnd : Self.end).count))) else {
            return nil
        }
        self.photo = photo
    }

    /// As profiles hold it.
    var stored: String { Self.mark + name }

    var name: String { photo.text + (isThumbnail ? Self.thumbnailEnd : Self.end) }
}
