import Foundation
import PresenceProtocol

extension Mail {
    /// The mail in the form of RFC 5322, with lines that end in CR LF. Its text is sent unencoded, so that no encoding breaks a
    /// link, unless a line is too long. With HTML it has both forms (RFC 2046, 5.1.4), the better one last; lines of HTML may be long, so that one is encoded.
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
            "From: \(sender)", "To: \(to)", "Subject: \(EncodedWords.header(subject))",
            "Date: \(formatter.string(from: Date(timeIntervalSince1970: Double(date) / 1_000)))",
            "Message-ID: <\(id)@\(domain)>", "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
        ]
        // Names of users may make a line too long for mail servers (RFC 5321, 4.5.3.1.6).
        let isShort = text.split(separator: "\n").allSatisfy { $0.utf8.count <= Self.longestLine }
        let plain = [
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: \(isShort ? "8bit" : "quoted-printable")", "",
            isShort ? Self.lines(text) : QuotedPrintable.encoded(text),
        ]
        guard let html else { return Self.joined(head + plain) }
        // The id has random letters, so no text has this line.
        let boundary = "presence-\(id)"
        return Self.joined(
            head + ["Content-Type: multipart/alternative; boundary=\"\(boundary)\"", "", "--\(boundary)"] + plain
                + [
                    "--\(boundary)", "Content-Type: text/html; charset=utf-8",
                    "Content-Transfer-Encoding: quoted-printable", "", QuotedPrintable.encoded(html),
                    "--\(boundary)--", "",
                ])
    }

    private static let longestLine = 998

    private static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
    }

    private static func joined(_ lines: [String]) -> [UInt8] { Array(lines.joined(separator: "\r\n").utf8) }
}

/// Texts of headers beyond ASCII (RFC 2047).
enum EncodedWords {
    /// Bytes of text in one word, of which 75 characters are allowed.
    private static let most = 42
    private static let (begin, end) = ("=?utf-8?B?", "?=")

    /// - Parameter text: One line.
    static func header(_ text: String) -> String {
        if Mail.isHeader(text), !text.contains("=?") { return text }
        var words: [[UInt8]] = [[]]
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if words[words.count - 1].count + bytes.count > most { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { begin + Data($0).base64EncodedString() + end }.joined(separator: "\r\n ")
    }

    /// The text of a header from ``header(_:)``, unfolded.
    static func decoded(_ header: String) -> String {
        let words = header.split(separator: " ")
        guard !words.isEmpty, words.allSatisfy({ $0.hasPrefix(begin) && $0.hasSuffix(end) }) else { return header }
        let bytes = words.compactMap { Data(base64Encoded: String($0.dropFirst(begin.count).dropLast(end.count))) }
        return String(decoding: bytes.joined(), as: UTF8.self)
    }
}

/// RFC 2045, 6.7.
enum QuotedPrintable {
    private static let longest = 76

    static func encoded(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(Array($0.utf8)) }
            .joined(separator: "\r\n")
    }

    private static func line(_ bytes: [UInt8]) -> String {
        var (lines, line): ([String], String) = ([], "")
        for (index, byte) in bytes.enumerated() {
            let isPlain = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=")
            // A space at the end would be lost.
            let isSpace = [0x20, 0x09].contains(byte) && index + 1 < bytes.count
            let hex = String(byte, radix: 16, uppercase: true)
            let word = isPlain || isSpace ? String(UnicodeScalar(byte)) : "=" + (byte < 16 ? "0" : "") + hex
            // One more is for the = of a line that continues.
            if line.utf8.count + word.utf8.count > longest - 1 {
                lines.append(line + "=")
                line = ""
            }
            line += word
        }
        return (lines + [line]).joined(separator: "\r\n")
    }
}
