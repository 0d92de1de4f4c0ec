import Foundation

/// A record as one line of JSON.
struct JSONLine: Hashable, Sendable {
    let text: String

    init(_ record: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(record) else {
            preconditionFailure("records consist of strings, whole numbers and finite latencies: \(record)")
        }
        text = Self.harmless(String(decoding: data, as: UTF8.self))
    }

    /// Escapes characters that JSON allows but a terminal should not get: controls beyond ASCII, and invisible marks.
    /// They only occur inside strings, so the meaning stays the same.
    private static func harmless(_ json: String) -> String {
        guard json.unicodeScalars.contains(where: isRisky) else { return json }
        var text = String.UnicodeScalarView()
        for scalar in json.unicodeScalars {
            guard isRisky(scalar) else {
                text.append(scalar)
                continue
            }
            for unit in UTF16.encode(scalar)! {
                let digits = String(unit, radix: 16)
                text.append(contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars)
            }
        }
        return String(text)
    }

    private static func isRisky(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value == 0x7F }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
