import PresenceProtocol

/// The hours in which a user wants no pushes, by the clocks of a time zone.
///
/// A period begins on one of `days`, and ends on the same day or, if `to` is not after `from`, on the next one. When
/// clocks change, quiet wins: if a local time occurs twice, a period begins at the first and ends at the second. A local time that is
/// skipped counts as if the clocks had not been changed.
struct QuietHours: Decodable, Sendable, Equatable {
    /// A time of day, `HH:MM`.
    struct Time: Decodable, Sendable, Equatable {
        let minutes: Int64

        init?(_ text: String) {
            let bytes = Array(text.utf8)
            let digits = [0, 1, 3, 4].compactMap { bytes.indices.contains($0) ? Int64(bytes[$0]) - 0x30 : nil }
            guard bytes.count == 5, bytes[2] == UInt8(ascii: ":"), digits.allSatisfy({ (0...9).contains($0) }) else {
                return nil
            }
            let (hours, minutes) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
            guard hours < 24, minutes < 60 else { return nil }
            self.minutes = hours * 60 + minutes
        }

        init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            guard let time = Self(text) else {
                throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
            }
            self = time
        }

        var text: String {
            func two(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }
            return two(minutes / 60) + ":" + two(minutes % 60)
        }
    }

    /// Pushes that quiet hours do not hold.
    enum Exception: String, Decodable, CaseIterable, Sendable { case urgent }

    let timezone: String
    let from: Time
    let to: Time
    /// The days on which a period begins: 1 is Monday, 7 Sunday. In order, each once.
    let days: [Int64]
    let allow: [Exception]

    private static let day: Int64 = 86_400

    var json: String {
        let allowed = allow.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
        return #"{"timezone":\#(JSONWriter.encoded(timezone)),"from":"\#(from.text)","to":"\#(to.text)","#
            + #""days":[\#(days.map(String.init).joined(separator: ","))],"allow":[\#(allowed)]}"#
    }

    /// The end of the period that a time is in, or of the last one if others follow without a gap; `nil` outside of any.
    ///
    /// - Parameter time: In ms since 1970.
    func end(at time: Timestamp, in zone: ZoneRules) -> Timestamp? {
        let now = time.dividedDown(by: 1_000)
        let today = (now + zone.offset(at: now)).dividedDown(by: Self.day)
        var end: Int64?
        // As many days as without a gap follow each other at most, and the one before.
        for date in today - 1...today + 8 where days.contains((date + 3).remainder(by: 7) + 1) {
            let last = to.minutes > from.minutes ? date : date + 1
            let begin = zone.instants(of: date * Self.day + from.minutes * 60).lowerBound
            let over = zone.instants(of: last * Self.day + to.minutes * 60).upperBound
            if begin <= end ?? now, over > end ?? now { end = over }
        }
        return end.map { $0 * 1_000 }
    }
}

extension Int64 {
    func dividedDown(by divisor: Int64) -> Int64 { (self - remainder(by: divisor)) / divisor }
    func remainder(by divisor: Int64) -> Int64 { (self % divisor + divisor) % divisor }
}
