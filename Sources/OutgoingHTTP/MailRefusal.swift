/// A mail server's rejection. Its text may be logged: it is truncated, and the envelope's addresses and all other words
/// with an @ are removed.
public struct MailRefusal: Sendable, Hashable, CustomStringConvertible {
    public let code: Int
    public let sentence: String
    /// The server had accepted the sender, so the rejection is about this mail's recipients or text.
    public let isOfMail: Bool

    public init(code: Int, sentence: String = "", isOfMail: Bool) {
        self.code = code
        self.sentence = sentence
        self.isOfMail = isOfMail
    }

    static let longest = 200

    /// - Parameter lines: The raw reply, a code before each line.
    init(code: Int, lines: [String], of mail: OutgoingMail, isOfMail: Bool) {
        let locals = Set(mail.recipients.map { $0.prefix { $0 != "@" }.lowercased() })
        let text = lines.map { $0.dropFirst(4) }.joined(separator: " ")
        var sentence = ""
        var word = ""
        func end() {
            let isName = word.contains("@") || locals.contains(word.lowercased())
            sentence += isName ? "…" : word
            word = ""
        }
        for scalar in text.unicodeScalars {
            let isPrintable = (0x21...0x7E).contains(scalar.value)
            if isPrintable, !"<>()[]\"',;:".unicodeScalars.contains(scalar) {
                word.unicodeScalars.append(scalar)
                continue
            }
            end()
            if isPrintable {
                sentence.unicodeScalars.append(scalar)
            } else if !sentence.isEmpty, sentence.last != " " {
                sentence += " "
            }
        }
        end()
        while sentence.last == " " { sentence.removeLast() }
        self.init(code: code, sentence: String(sentence.prefix(Self.longest)), isOfMail: isOfMail)
    }

    public var description: String { sentence.isEmpty ? "\(code)" : "\(code) \(sentence)" }
}
