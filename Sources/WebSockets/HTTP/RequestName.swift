/// A request's name in logs of this server and of others: from its client or a proxy (`X-Request-Id`), otherwise
/// generated.
struct RequestName {
    /// In bytes. A longer name, or one with anything but letters, digits, `-`, `_` and `.`, is not used, because it
    /// appears in logs.
    static let longest = 64

    /// Differs between loops and processes.
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
