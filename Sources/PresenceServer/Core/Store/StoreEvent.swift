import PresenceProtocol

/// What a script published: `KIND subject version at rest`, the rest as the kind wants it.
///
/// The bytes are lent; nothing is decoded that is not asked for.
struct StoreEvent {
    enum Kind: UInt8 {
        /// A person's presence register; the rest is its body after the version.
        case presence = 0x50  // P
        /// A person's profile register, likewise.
        case profile = 0x46  // F
        /// What a user chose: `chosen clearAt text`.
        case ownStatus = 0x4F  // O
        /// A session gave way to a younger one of the same device: its id.
        case replaced = 0x58  // X
        /// All sessions of a user were ended by an administrator.
        case disconnected = 0x44  // D
        /// Tokens of a user that were issued before `at` are worthless.
        case revoked = 0x52  // R
        /// Who types in a conversation: `USER:MS USER:MS`.
        case typing = 0x54  // T
        /// Who takes part in a conversation now.
        case participants = 0x43  // C
        /// Who may see a user has changed: `PRESENCE LASTSEEN CONTACTS BLOCKS LIST +ID -ID`, or `LIST *` of many ids.
        case policy = 0x56  // V
        /// `presenced doctor` asks an incarnation whether it holds sessions: `CHANNEL INCARNATION SESSION SESSION …`.
        case question = 0x51  // Q
    }

    let kind: Kind
    /// The id of whom or what it is about; as `subject` for whoever needs more than to look it up.
    let subjectBytes: UnsafeRawBufferPointer
    let version: Int64
    let at: Timestamp
    let rest: UnsafeRawBufferPointer

    /// `nil` for what no script of ours publishes.
    init?(_ payload: UnsafeRawBufferPointer) {
        guard payload.count > 2, let kind = Kind(rawValue: payload[0]) else { return nil }
        var index = 2
        guard let subject = Self.word(in: payload, &index),
            let version = Self.integer(in: payload, &index), let at = Self.integer(in: payload, &index)
        else { return nil }
        self.kind = kind
        subjectBytes = subject
        self.version = version
        self.at = at
        rest = UnsafeRawBufferPointer(rebasing: payload[min(index, payload.count)...])
    }

    var subject: Identifier? { Identifier(String(decoding: subjectBytes, as: UTF8.self)) }

    /// The rest's words.
    var words: [String] {
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
