import Foundation
import PresenceProtocol

/// A mail to be sent, in its form in Redis: one line each for id, address and subject, then the text.
struct Mail: Sendable, Equatable {
    /// Unique, and sorted by time: the name of the mail's file, and part of its `Message-ID`. `MADE-NAME`, or with a token
    /// `MADE-NAME-UNTIL`: the times of the mail's creation and the token's expiry, in ms since 1970. The script that stores the
    /// token appends its expiry.
    let id: String
    let to: String
    let subject: String
    let text: String

    var encoded: String { [id, to, subject, text].joined(separator: "\n") }

    init(id: String, to: EmailAddress, subject: String, text: String) {
        self.id = id
        self.to = to.text
        self.subject = subject
        self.text = text
    }

    /// `nil` for a text that no server has written, so that nothing foreign gets into a header.
    init?(_ encoded: String) {
        let parts = encoded.split(separator: "\n", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let to = EmailAddress(parts[1]), !parts[0].isEmpty,
            parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D }),
            Self.isHeader(parts[2])
        else { return nil }
        self.init(id: parts[0], to: to, subject: parts[2], text: parts[3])
    }

    /// Whether a text can be used in a header unchanged.
    static func isHeader(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// The mail in the form of RFC 5322, with lines that end in CR LF. Its text is sent unencoded, so that no encoding breaks a
    /// link.
    ///
    /// - Parameters:
    ///   - sender: The value of the header `From`.
    ///   - date: In ms since 1970.
    func message(from sender: String, at date: Timestamp) -> [UInt8] {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss Z"
        let domain = Self.address(in: sender).split(separator: "@").last ?? "localhost"
        let head = [
            "From: \(sender)", "To: \(to)", "Subject: \(subject)",
            "Date: \(formatter.string(from: Date(timeIntervalSince1970: Double(date) / 1_000)))",
            "Message-ID: <\(id)@\(domain)>", "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit", "", "",
        ].joined(separator: "\r\n")
        return Array(
            (head + text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")).utf8)
    }

    /// The address in `Name <address>`, or in a bare address.
    static func address(in sender: String) -> String {
        guard let open = sender.firstIndex(of: "<"), let close = sender.lastIndex(of: ">"), open < close else {
            return sender
        }
        return String(sender[sender.index(after: open)..<close])
    }
}
