/// A change as it is recognised in a delivered message: its changer, and its number.
struct NumberedChange: Equatable {
    /// Counts the changers, from 0.
    var changer: Int32
    /// Counts the changes of one person, from 1.
    var number: Int32
}

/// The number of a change as text for our server: a plausible status text whose length does not depend on the number,
/// so that all events have the same size.
enum NumberedText {
    private static let beginning = "change "

    /// - Parameter padding: the number of additional characters.
    static func text(_ number: Int, padding: Int = 0) -> String {
        beginning + zeroPadded(number, digits: 7) + String(repeating: ".", count: padding)
    }

    /// The number in `text`; 0 for any other text, or none.
    static func number(in text: String?) -> Int {
        guard let text, text.hasPrefix(beginning) else { return 0 }
        return Int(text.dropFirst(beginning.count).prefix { $0 != "." }) ?? 0
    }
}

/// The number of a change in a peer's payload: `load/00012/0000042/xxx…`, recognised by its bytes alone, whatever the
/// server puts around it. It needs no escaping in JSON.
enum NumberedPayload {
    private static let beginning = Array("load/".utf8)
    /// `load/`, five digits, `/`, seven digits, `/`.
    static let shortest = 19

    static func bytes(_ change: NumberedChange, length: Int) -> String {
        let mark = "load/\(zeroPadded(Int(change.changer), digits: 5))/\(zeroPadded(Int(change.number), digits: 7))/"
        return mark + String(repeating: "x", count: max(0, length - mark.utf8.count))
    }

    /// The changes in a message; a server may combine several.
    static func changes(in message: UnsafeRawBufferPointer) -> [NumberedChange] {
        var found: [NumberedChange] = []
        var place = 0
        while place + shortest <= message.count {
            if message[place] == beginning[0], let change = change(at: place, in: message) {
                found.append(change)
                place += shortest
            } else {
                place += 1
            }
        }
        return found
    }

    private static func change(at place: Int, in message: UnsafeRawBufferPointer) -> NumberedChange? {
        func number(_ range: Range<Int>) -> Int32? {
            var number: Int32 = 0
            for index in range {
                let digit = message[place + index]
                guard (0x30...0x39).contains(digit) else { return nil }
                number = number * 10 + Int32(digit - 0x30)
            }
            return message[place + range.upperBound] == UInt8(ascii: "/") ? number : nil
        }
        guard beginning.indices.allSatisfy({ message[place + $0] == beginning[$0] }), let changer = number(5..<10),
            let number = number(11..<18)
        else { return nil }
        return NumberedChange(changer: changer, number: number)
    }
}

/// `42` as `0000042`.
func zeroPadded(_ number: Int, digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
}
