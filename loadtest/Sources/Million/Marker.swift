/// A recognisable change: a status text with its maker and its time.
struct Marker: Equatable {
    var user: Int
    /// The clock is the same for every process of the machine.
    var made: Instant

    private static let beginning = "marker "
    /// The eight bytes before a text in an event.
    private static let key = Array(#""text":""#.utf8).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }

    var text: String { "\(Self.beginning)\(user) \(made.nanoseconds)" }

    init(user: Int, made: Instant) {
        self.user = user
        self.made = made
    }

    /// Parses a status text; `nil` for any other.
    init?(_ text: String?) {
        guard let text, text.hasPrefix(Self.beginning) else { return nil }
        let numbers = text.dropFirst(Self.beginning.count).split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 2 else { return nil }
        self.init(user: Int(numbers[0]), made: Instant(nanoseconds: numbers[1]))
    }

    /// Whether a message may contain a marker, by its bytes, so that others need not be decoded.
    static func isPossible(in message: UnsafeRawBufferPointer) -> Bool {
        let last = message.count - 8 - beginning.utf8.count
        guard last >= 0 else { return false }
        for offset in 0...last where message.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == key {
            return message[(offset + 8)...].starts(with: beginning.utf8)
        }
        return false
    }
}
