import Foundation
import PresenceProtocol

/// A mail that is to be sent, as it waits in Redis: a line each for id, address and subject, then the text.
struct Mail: Sendable, Equatable {
    /// Unique, and in the order of time: the name of its file, and part of its `Message-ID`. `MADE-NAME`, or with a token
    /// `MADE-NAME-UNTIL`: when it was made, and when the token is over, in ms since 1970. The script that makes the token puts
    /// that there.
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

    /// `nil` for what no server has written: nothing of it may get into a header.
    init?(_ encoded: String) {
        let parts = encoded.split(separator: "\n", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let to = EmailAddress(parts[1]), !parts[0].isEmpty,
            parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D }),
            Self.isHeader(parts[2])
        else { return nil }
        self.init(id: parts[0], to: to, subject: parts[2], text: parts[3])
    }

    /// Whether it can stand in a header as it is.
    static func isHeader(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// The mail as servers take it (RFC 5322): lines end in CR LF. Its text is sent as it is, so that no encoding breaks a
    /// link.
    ///
    /// - Parameters:
    ///   - sender: As it stands in `From`.
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

    /// The address of `Name <address>`, or of an address alone.
    static func address(in sender: String) -> String {
        guard let open = sender.firstIndex(of: "<"), let close = sender.lastIndex(of: ">"), open < close else {
            return sender
        }
        return String(sender[sender.index(after: open)..<close])
    }
}
