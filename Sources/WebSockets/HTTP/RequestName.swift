/// What a request is called in logs, here and elsewhere: as its client or a proxy says (`X-Request-Id`), else as it is made up.
struct RequestName {
    /// In bytes. What is longer, or has anything but letters, digits, `-`, `_` and `.`, is not taken: it goes into logs.
    static let longest = 64

    /// Differs from that of other loops and processes.
    private let prefix = String(UInt32.random(in: .min ... .max), radix: 36)
    private var count: UInt64 = 0

    /// The next request's name.
    mutating func next(_ given: String?) -> String {
        if let given, Self.isOne(given) { return given }
        count += 1
        return prefix + "-" + String(count, radix: 36)
    }

    private static func isOne(_ text: String) -> Bool {
        (1...longest).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
                }
            }
    }
}
