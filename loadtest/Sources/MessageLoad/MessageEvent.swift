import Glibc

/// The necessary parts of a `message` event or a `sent` answer, found without decoding the rest: many thousands arrive
/// a second.
struct MessageEvent {
    enum Kind { case event, answer }

    let kind: Kind
    /// The number in the message's id, which is `m` and a number in this run.
    let number: Int
    /// Its place in its conversation.
    let seq: Int

    /// `nil` for every other message.
    init?(_ text: UnsafeRawBufferPointer) {
        if Self.begins(text, with: #"{"type":"message","#) {
            kind = .event
        } else if Self.begins(text, with: #"{"type":"sent","#) {
            kind = .answer
        } else {
            return nil
        }
        guard let message = Self.end(of: #""message":{"id":"m"#, in: text, from: 0),
            let number = Self.number(text, at: message),
            let place = Self.end(of: #""seq":"#, in: text, from: message), let seq = Self.number(text, at: place)
        else { return nil }
        (self.number, self.seq) = (number, seq)
    }

    /// Whether it is an event of a list of conversations.
    static func isOfList(_ text: UnsafeRawBufferPointer) -> Bool { begins(text, with: #"{"type":"conversation","#) }

    private static func begins(_ text: UnsafeRawBufferPointer, with part: StaticString) -> Bool {
        text.count >= part.utf8CodeUnitCount && memcmp(text.baseAddress!, part.utf8Start, part.utf8CodeUnitCount) == 0
    }

    /// The end of `part` in the text.
    private static func end(of part: StaticString, in text: UnsafeRawBufferPointer, from: Int) -> Int? {
        let length = part.utf8CodeUnitCount
        guard text.count >= from + length else { return nil }
        let found = (from...text.count - length).first { memcmp(text.baseAddress! + $0, part.utf8Start, length) == 0 }
        return found.map { $0 + length }
    }

    private static func number(_ text: UnsafeRawBufferPointer, at start: Int) -> Int? {
        var (number, place) = (0, start)
        while place < text.count, (0x30...0x39).contains(text[place]) {
            number = number &* 10 &+ Int(text[place] - 0x30)
            place += 1
        }
        return place > start ? number : nil
    }
}
