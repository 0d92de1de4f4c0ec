/// A change as it is recognised in a delivered message: whose it is, and which of theirs.
struct NumberedChange: Equatable {
    /// Counts the people who change, from 0.
    var changer: Int32
    /// Counts the changes of one person, from 1.
    var number: Int32
}

/// How a change carries its number through our server: as text that a person could have written, of the same length
/// whichever number it is, so that all events have the same size.
enum NumberedText {
    private static let beginning = "change "

    /// - Parameter padding: so many more characters.
    static func text(_ number: Int, padding: Int = 0) -> String {
        beginning + zeroPadded(number, digits: 7) + String(repeating: ".", count: padding)
    }

    /// The number in `text`; 0 for any other text, or none.
    static func number(in text: String?) -> Int {
        guard let text, text.hasPrefix(beginning) else { return 0 }
        return Int(text.dropFirst(beginning.count).prefix { $0 != "." }) ?? 0
    }
}

/// How a change is written into what a peer's server carries: `load/00012/0000042/xxx…`, found again by its bytes alone,
/// whatever the server puts around it. It needs no escaping in JSON.
enum NumberedPayload {
    private static let beginning = Array("load/".utf8)
    /// `load/`, five digits, `/`, seven digits, `/`.
    static let shortest = 19

    static func bytes(_ change: NumberedChange, length: Int) -> String {
        let mark = "load/\(zeroPadded(Int(change.changer), digits: 5))/\(zeroPadded(Int(change.number), digits: 7))/"
        return mark + String(repeating: "x", count: max(0, length - mark.utf8.count))
    }

    /// The changes in a message; a server may put several into one.
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
