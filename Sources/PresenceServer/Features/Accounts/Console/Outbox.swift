import Foundation
import PresenceCore

/// The mails in the data directory's `outbox`, where they are written if no mail server is set.
public struct Outbox {
    /// A mail in the outbox.
    public struct Entry: Encodable, Sendable {
        public let file: String
        public let date: String
        public let to: String
        public let subject: String
        /// The link in its text, with its token; `nil` for a mail without one.
        public let link: String?
    }

    private let dataDirectory: String
    private var folder: String { dataDirectory + "/outbox" }

    public init(_ configuration: ServerConfiguration) { dataDirectory = configuration.dataPath }

    /// The mails, the oldest first.
    ///
    /// - Throws: ``ConsoleFailure`` if the outbox cannot be read. If only the outbox is missing in an existing data directory,
    ///   it is empty.
    public func entries() throws(ConsoleFailure) -> [Entry] {
        var status = stat()
        guard stat(dataDirectory, &status) == 0 else {
            throw ConsoleFailure(
                "the data directory \(dataDirectory) cannot be used: \(String(cString: strerror(errno)))")
        }
        guard stat(folder, &status) == 0 || errno != ENOENT else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".eml") }.sorted()
                .compactMap(entry)
        } catch {
            throw ConsoleFailure("\(folder) cannot be read")
        }
    }

    /// `nil` if the file was removed meanwhile.
    private func entry(_ name: String) -> Entry? {
        guard let data = FileManager.default.contents(atPath: folder + "/" + name) else { return nil }
        let text = String(decoding: data, as: UTF8.self).replacing("\r\n", with: "\n")
        let parts = text.split(separator: "\n\n", maxSplits: 1)
        var heads: [String: String] = [:]
        for line in (parts.first ?? "").replacing("\n ", with: " ").split(separator: "\n") {
            let words = line.split(separator: ":", maxSplits: 1)
            if words.count == 2 { heads[words[0].lowercased()] = words[1].trimmingCharacters(in: .whitespaces) }
        }
        let link = parts.dropFirst().first?.split(whereSeparator: \.isWhitespace).first { word in
            ["http://", "https://"].contains { word.hasPrefix($0) }
        }
        return Entry(
            file: folder + "/" + name, date: heads["date"] ?? "", to: heads["to"] ?? "",
            subject: EncodedWords.decoded(heads["subject"] ?? ""),
            link: link.map(String.init))
    }
}
