import PresenceProtocol

/// A mail to be sent, in its form in Redis: one line each for id, address and subject, then the text, in English; then, after a form
/// feed, the order by which it is written in the recipient's language.
struct Mail: Sendable, Equatable {
    /// Unique, and sorted by time: the name of the mail's file, and part of its `Message-ID`. `MADE-NAME`, or with a token
    /// `MADE-NAME-UNTIL`: the times of the mail's creation and the token's expiry, in ms since 1970. The script that stores the
    /// token appends its expiry.
    let id: String
    let to: String
    var subject: String
    var text: String
    var html: String?
    /// `nil` for a mail of a server of an earlier version.
    private(set) var order: MailContents?

    private static let separator: Character = "\u{C}"

    var encoded: String {
        let mail = [id, to, subject, text].joined(separator: "\n")
        return order?.encoded.map { mail + String(Self.separator) + $0 } ?? mail
    }

    init(id: String, to: EmailAddress, subject: String, text: String, _ order: MailContents? = nil) {
        self.id = id
        self.to = to.text
        self.subject = subject
        self.text = text
        self.order = order
    }

    /// `nil` for a text that no server has written, so that nothing foreign gets into a header.
    init?(_ encoded: String) {
        let halves = encoded.split(separator: Self.separator, maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves[0].split(separator: "\n", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let to = EmailAddress(parts[1]), !parts[0].isEmpty,
            parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D }),
            Self.isHeader(parts[2])
        else { return nil }
        self.init(
            id: parts[0], to: to, subject: parts[2], text: parts[3], halves.count > 1 ? MailContents(halves[1]) : nil)
    }

    /// Whether a text can be used in a header unchanged.
    static func isHeader(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// The address in `Name <address>`, or in a bare address.
    static func address(in sender: String) -> String {
        guard let open = sender.firstIndex(of: "<"), let close = sender.lastIndex(of: ">"), open < close else {
            return sender
        }
        return String(sender[sender.index(after: open)..<close])
    }
}
