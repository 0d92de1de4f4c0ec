/// The output of Redis' MONITOR command.
extension ScriptKeyTests {
    /// The quoted words of a line of `MONITOR`, with its escapes undone.
    static func words(_ line: String) -> [String] {
        var words: [String] = []
        var word: [UInt8]?
        var bytes = Array(line.utf8)[...]
        while let byte = bytes.popFirst() {
            switch (byte, word) {
            case (UInt8(ascii: "\""), nil): word = []
            case (UInt8(ascii: "\""), let done?):
                words.append(String(decoding: done, as: UTF8.self))
                word = nil
            case (UInt8(ascii: "\\"), .some):
                guard let escaped = bytes.popFirst() else { continue }
                switch escaped {
                case UInt8(ascii: "n"): word?.append(10)
                case UInt8(ascii: "r"): word?.append(13)
                case UInt8(ascii: "t"): word?.append(9)
                case UInt8(ascii: "x"):
                    let digits = String(decoding: bytes.prefix(2), as: UTF8.self)
                    bytes = bytes.dropFirst(2)
                    word?.append(UInt8(digits, radix: 16) ?? 0)
                default: word?.append(escaped)
                }
            case (_, .some): word?.append(byte)
            default: break
            }
        }
        return words
    }
}
