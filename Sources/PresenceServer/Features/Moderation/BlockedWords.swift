import EventLoops
import Foundation
import Installation
import Logging
import PresenceCore

/// The words and phrases of `messages.blockedWords`.
///
/// A line is compared with whole words, in any case, so that no other word that contains it is refused. A line in a script
/// without spaces between words, or without a letter or digit, is compared with any part of a text.
struct BlockedWords: Sendable, Equatable {
    private var phrases: Set<String> = []
    /// The numbers of words that phrases have.
    private var lengths: [Int] = []
    private var parts = BlockedParts([])

    static let mostLines = 100_000
    /// Words of one phrase: a text is compared with each length.
    static let mostWords = 8
    /// Lines that are compared with any part of a text.
    static let mostParts = 1_000

    /// - Throws: what is wrong with the list.
    init(_ text: String) throws(StartFailure) {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
        guard lines.count <= Self.mostLines else { throw StartFailure("has more than \(Self.mostLines) lines") }
        var parts: [String] = []
        for line in lines {
            let (text, words) = Self.words(line)
            if words.isEmpty || text.unicodeScalars.contains(where: Self.isOfUnspacedScript) {
                guard !text.isEmpty else { throw StartFailure("has a line without a visible character") }
                parts.append(text)
            } else {
                guard words.count <= Self.mostWords else {
                    throw StartFailure("has a line with more than \(Self.mostWords) words")
                }
                phrases.insert(words.joined(separator: " "))
                if !lengths.contains(words.count) { lengths.append(words.count) }
            }
        }
        guard parts.count <= Self.mostParts else {
            throw StartFailure("has more than \(Self.mostParts) lines that are compared with parts of words")
        }
        self.parts = BlockedParts(parts)
    }

    init() {}

    var isEmpty: Bool { phrases.isEmpty && parts.isEmpty }

    /// Whether a text has one of them.
    func areIn(_ text: String) -> Bool {
        let (text, words) = Self.words(text)
        if parts.areIn(text) { return true }
        return lengths.contains { length in
            guard words.count >= length else { return false }
            return words.indices.dropLast(length - 1).contains {
                phrases.contains(words[$0..<$0 + length].joined(separator: " "))
            }
        }
    }

    /// A text in lower case and without invisible characters, and its words.
    private static func words(_ text: String) -> (String, [Substring]) {
        var text = text.lowercased()
        if !text.utf8.allSatisfy({ $0 < 0x80 }) {
            text.unicodeScalars.removeAll(where: \.properties.isDefaultIgnorableCodePoint)
        }
        return (text, text.split { !$0.isLetter && !$0.isNumber })
    }

    /// Thai, Lao, Khmer, Burmese, kana and Han.
    private static func isOfUnspacedScript(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x30FF, 0x3400...0x9FFF, 0x20000...0x3FFFF:
            true
        default: false
        }
    }

    // MARK: The file

    /// Blocks: for the start, and for threads apart.
    static func read(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> BlockedWords {
        let file = configuration[Moderation.blockedWords]
        guard !file.isEmpty else { return BlockedWords() }
        do throws(StartFailure) {
            let data = try PlainFile.read(file)
            guard let text = String(validating: data, as: UTF8.self) else { throw StartFailure("is not UTF-8") }
            return try BlockedWords(text)
        } catch {
            throw InvalidConfiguration(
                key: Moderation.blockedWords.key,
                reason: error.message.hasPrefix(file) ? error.message : "\(file) \(error.message)")
        }
    }
}

/// The words that a server's shards use.
final class CurrentBlockedWords: Sendable {
    private let current: Locked<BlockedWords>
    /// The reason that was logged last, until the file is usable again.
    private let complaint = Locked<String?>(nil)

    /// Reads the file at the server's start. `Moderation.check` has accepted it before.
    init(_ configuration: ServerConfiguration) { current = Locked((try? .read(configuration)) ?? BlockedWords()) }

    var words: BlockedWords { current.withLock { $0 } }

    /// Reads the file again. If it is unusable, the words stay, and the reason is logged once.
    func reload(_ configuration: ServerConfiguration, _ logger: Logger) async {
        let result = await PlainFile.apart { Result { try BlockedWords.read(configuration) } }
        switch result {
        case .success(let words):
            complaint.withLock { $0 = nil }
            guard words != self.words else { return }
            current.withLock { $0 = words }
            logger.notice("blocked words read anew")
        case .failure(let error):
            let isNew = complaint.withLock { complaint in
                defer { complaint = "\(error)" }
                return complaint != "\(error)"
            }
            if isNew {
                logger.error("blocked words not read anew: the old ones stay", metadata: ["reason": "\(error)"])
            }
        }
    }
}
