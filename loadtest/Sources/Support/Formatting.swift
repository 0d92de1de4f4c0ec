import Foundation

/// `1234567.891` as `1,234,567.9`, whatever the locale.
func formatted(_ number: Double, digits: Int = 1) -> String {
    let text = String(format: "%.\(digits)f", number)
    let parts = text.split(separator: ".", maxSplits: 1)
    let fraction = parts.count == 2 ? "." + parts[1] : ""
    return formatted(Int(parts[0]) ?? 0, isNegative: text.hasPrefix("-")) + fraction
}

/// `1234567` as `1,234,567`.
func formatted(_ number: Int) -> String { formatted(number, isNegative: number < 0) }

private func formatted(_ number: Int, isNegative: Bool) -> String {
    var groups: [Substring] = []
    var digits = Substring(String(number.magnitude))
    while digits.count > 3 {
        groups.append(digits.suffix(3))
        digits = digits.dropLast(3)
    }
    groups.append(digits)
    return (isNegative ? "-" : "") + groups.reversed().joined(separator: ",")
}
