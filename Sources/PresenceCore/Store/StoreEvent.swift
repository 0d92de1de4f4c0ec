import PresenceProtocol

/// An event published by a script: `KIND subject version at rest`; the rest depends on the kind.
///
/// The bytes are borrowed, and parts are decoded on demand.
package struct StoreEvent {
    /// A person's presence register; the rest is its body after the version. All other letters belong to features.
    package static let presence = UInt8(ascii: "P")
    /// A person's profile register; the rest is as for `presence`.
    package static let profile = UInt8(ascii: "F")

    /// Not a change: the rest is the name of the request that causes the partition's next event (`RequestTrace`).
    package static let request = UInt8(ascii: "@")

    /// The letter of the event's kind.
    package let kind: UInt8
    /// The id of its subject, for look-ups; `subject` decodes it.
    package let subjectBytes: UnsafeRawBufferPointer
    package let version: Int64
    package let at: Timestamp
    package let rest: UnsafeRawBufferPointer

    /// `nil` for a message that no script of this program publishes.
    package init?(_ payload: UnsafeRawBufferPointer) {
        guard payload.count > 2 else { return nil }
        var index = 2
        guard let subject = Self.word(in: payload, &index),
            let version = Self.integer(in: payload, &index), let at = Self.integer(in: payload, &index)
        else { return nil }
        kind = payload[0]
        subjectBytes = subject
        self.version = version
        self.at = at
        rest = UnsafeRawBufferPointer(rebasing: payload[min(index, payload.count)...])
    }

    package var subject: Identifier? { Identifier(String(decoding: subjectBytes, as: UTF8.self)) }

    /// The words of the rest.
    package var words: [String] {
        rest.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func word(in payload: UnsafeRawBufferPointer, _ index: inout Int) -> UnsafeRawBufferPointer? {
        guard index < payload.count else { return nil }
        let end = payload[index...].firstIndex(of: 0x20) ?? payload.count
        defer { index = end + 1 }
        return UnsafeRawBufferPointer(rebasing: payload[index..<end])
    }

    private static func integer(in payload: UnsafeRawBufferPointer, _ index: inout Int) -> Int64? {
        var value: Int64 = 0
        let start = index
        while index < payload.count, (0x30...0x39).contains(payload[index]) {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            guard !overflow, product <= Int64.max - 9 else { return nil }
            value = product + Int64(payload[index] - 0x30)
            index += 1
        }
        guard index > start, index == payload.count || payload[index] == 0x20 else { return nil }
        index += 1
        return value
    }
}
