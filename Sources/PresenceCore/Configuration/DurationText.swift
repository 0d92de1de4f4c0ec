import PresenceProtocol

/// Durations in the form of settings: a whole number and a unit, `500ms`, `20s`, `5m`, `24h`, `7d`.
///
/// The unit is required, because a bare `20` could mean seconds or milliseconds.
package enum DurationText {
    private static let units: [(name: String, milliseconds: Milliseconds)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
    ]

    /// How an error message describes the form.
    package static let form = "a whole number with a unit: 500ms, 20s, 5m, 24h or 7d"

    /// Parses a duration; `nil` for any other text, or if it does not fit into 64 bits.
    package static func parse(_ text: String) -> Milliseconds? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let number = Milliseconds(String(decoding: digits, as: UTF8.self)),
            let unit = units.first(where: { $0.name.utf8.elementsEqual(text.utf8.dropFirst(digits.count)) })
        else { return nil }
        let (duration, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : duration
    }

    /// Formats a duration in the largest unit that divides it.
    package static func format(_ duration: Milliseconds) -> String {
        // Days are not used, because a day is commonly written as 24h.
        let unit = units.dropFirst().first { duration != 0 && duration.isMultiple(of: $0.milliseconds) } ?? ("s", 1_000)
        return "\(duration / unit.milliseconds)\(unit.name)"
    }
}
