import Foundation

/// Values in lines of output.
enum OneLine {
    static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts, numbers and booleans can always be encoded.
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// - Parameter time: In ms since 1970.
    static func date(_ time: Int64) -> String {
        Date(timeIntervalSince1970: Double(time / 1_000)).formatted(.iso8601)
    }
}
