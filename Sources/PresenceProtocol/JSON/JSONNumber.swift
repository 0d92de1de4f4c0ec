/// A JSON number in a protocol that has only integers.
public enum JSONNumber: Hashable, Sendable {
    case integer(Int64)
    /// An integer beyond 64 bits.
    case tooLarge
    /// Written with a fraction or an exponent, whatever its value: `1.0` and `1e3` too.
    case fraction
}

extension JSONValue {
    /// The number, `nil` for any other kind.
    public var number: JSONNumber? {
        guard kind == .number else { return nil }
        let isNegative = start.load(as: UInt8.self) == UInt8(ascii: "-")
        // 18 digits cannot overflow: only longer numbers need checks.
        let safe = min(count, 18)
        var magnitude: UInt64 = 0
        for index in (isNegative ? 1 : 0)..<safe {
            let digit = (start + index).load(as: UInt8.self) &- UInt8(ascii: "0")
            guard digit < 10 else { return .fraction }
            magnitude = magnitude &* 10 &+ UInt64(digit)
        }
        var overflows = false
        for index in safe..<count {
            let digit = (start + index).load(as: UInt8.self) &- UInt8(ascii: "0")
            guard digit < 10 else { return .fraction }
            let (tenfold, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tenfold.addingReportingOverflow(UInt64(digit))
            magnitude = sum
            overflows = overflows || overflow || carry
        }
        let limit = UInt64(Int64.max) + (isNegative ? 1 : 0)
        if overflows || magnitude > limit { return .tooLarge }
        return .integer(Int64(truncatingIfNeeded: isNegative ? 0 &- magnitude : magnitude))
    }
}
